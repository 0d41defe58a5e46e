"""Shards for several processes: Spark numbers and divides, executors write, and the driver writes the head.

The driver holds what has an entry per shard, the labels, and, while there are few incidences, their numbers in order to
divide them well. Everything else stays with the executors.
"""

from __future__ import annotations

import json
import os
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hypergnn._utils.checks import check_size
from hypergnn._utils.routing import largest_rounds
from hypergnn.datasets import from_tables
from hypergnn.persistence.files import sync_folder, write_atomic
from hypergnn.spark.dividing import both, divided, key_of, numbered, with_features
from hypergnn.spark.exchange import label_of, with_key
from hypergnn.spark.frames import check_column, check_frame, named
from hypergnn.spark.numbering import labels as labels_of
from hypergnn.spark.shard_files import (
    EXISTS,
    FORMAT,
    HYPEREDGE,
    PAIR,
    PARTS,
    ROWS,
    VERTEX,
    WRITTEN,
    ShardWriter,
)

_NOWHERE = len(PARTS)


class Labels(NamedTuple):
    """Classes and split of the labelled vertices, which the driver holds."""

    class_names: tuple[str, ...]
    rows: DataFrame
    """Columns ``v``, ``y`` and ``part``."""
    split: dict[str, int]


def write_shards(
    pairs: DataFrame,
    path: str | os.PathLike[str],
    n: int,
    vertex: str,
    features: tuple[DataFrame, str] | None,
    labels: DataFrame | None,
    process: DataFrame | None,
) -> None:
    """Write the folder of shards.

    Args:
        pairs: Distinct incidences, columns ``vertex``, ``hyperedge`` and perhaps ``weight``.
        path: The new folder.
        n: Number of shards.
        vertex: The caller's name of the column of vertices.
        features: A frame, and its column of arrays.
        labels: As the caller has given them.
        process: The process of each vertex, as the caller has given it.
    """
    check_size("n", n, minimum=1)
    if labels is not None and features is None:
        raise ValueError("labels must be combined with features: a network learns from both.")
    files = import_module("hypergnn.distributed.files")
    folder = Path(path).absolute()
    files._check_new(folder)
    aside = folder.with_name(f".{folder.name}.{uuid4().hex[:16]}.tmp")
    stored: list[DataFrame] = []
    try:
        aside.mkdir(parents=True)
        head = _written(pairs, aside, n, vertex, features, labels, process, stored)
        write_atomic(aside / files.HEAD, json.dumps(head, indent=2).encode() + b"\n")
        sync_folder(aside)
        os.rename(aside, folder)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    finally:
        for frame in stored:
            frame.unpersist()
    sync_folder(folder.parent)


def _written(
    pairs: DataFrame,
    aside: Path,
    n: int,
    vertex: str,
    features: tuple[DataFrame, str] | None,
    labels: DataFrame | None,
    process: DataFrame | None,
    stored: list[DataFrame],
) -> dict[str, Any]:
    """Let the executors write all shards, and return what ``shards.json`` says."""
    keyed = with_key(with_key(pairs, "vertex"), "hyperedge")
    degrees = keyed.groupBy(*both(keyed, "vertex")).agg(F.count("*").alias("degree"))
    width = None
    if features is not None:
        degrees, width = with_features(degrees, *features, vertex)
    vertices, n_vertices, n_incidences = numbered(degrees, "vertex", "v", stored)
    if not n_vertices:
        raise ValueError("the hypergraph must have at least one incidence to be divided; it has none.")
    vertices = divided(vertices, keyed, n, vertex, process, n_incidences, stored)
    known = vertices.select(key_of(keyed, "vertex"), "v", "p")
    placed = keyed.join(known, key_of(keyed, "vertex"))
    weight = F.first("weight") if "weight" in keyed.columns else F.lit(1.0)
    sharers = F.sort_array(F.collect_set("p"))
    edges = placed.groupBy(key_of(keyed, "hyperedge")).agg(
        F.count("*").alias("degree"), weight.alias("weight"), sharers.alias("sharers")
    )
    hyperedges, n_hyperedges, _ = numbered(edges, "hyperedge", "e", stored)
    found = None if labels is None else _labelled(labels, vertices, vertex)
    sizes = _sizes(vertices, hyperedges, n)
    own, content = labels_of(n), f"spark-{aside.name}"
    before = np.concatenate([[0], np.cumsum(sizes["vertices"])[:-1]]).tolist()
    writer = ShardWriter(str(aside), content, own, n_vertices, n_hyperedges, n_incidences, sizes["most"], width, before)
    pairs_of_shards = placed.join(hyperedges.select(key_of(keyed, "hyperedge"), "e"), key_of(keyed, "hyperedge"))
    rows = _rows(pairs_of_shards, _rows_of_vertices(vertices, found, width), hyperedges, own)
    _write_all(rows, writer, sizes)
    _write_names(vertices, aside)
    about = None if width is None else _about(content, sizes, width, found, vertex, (n_vertices, n_hyperedges))
    even = n_incidences / n
    return {
        "format": FORMAT,
        "shards": n,
        "content": content,
        "sizes": {"vertices": n_vertices, "hyperedges": n_hyperedges, "incidences": n_incidences},
        "cut": {"hyperedges": sizes["cut"], "copies": sizes["copies"], "balance": max(sizes["incidences"]) / even},
        "data": about,
    }


def _labelled(labels: DataFrame, vertices: DataFrame, vertex: str) -> Labels:
    """Classes and split, as :func:`hypergnn.datasets.from_tables` reads them."""
    check_frame("labels", labels)
    check_column("labels", labels, "vertex", vertex)
    check_column("labels", labels, "label", "label")
    parts = [F.col("split").cast("string").alias("split")] if "split" in labels.columns else []
    given = with_key(labels.select(named(vertex).alias("vertex"), F.col("label").cast("string"), *parts), "vertex")
    key = key_of(given, "vertex")
    found = given.join(vertices.select(key, "v"), key, "left").sort("v").toArrow()
    if found["v"].null_count:
        lost = found.filter(pc.is_null(found["v"]))["vertex"][0].as_py()
        raise ValueError(f"labels must name only vertices that have features; {lost!r} has none.")
    names = [str(one) for one in found["vertex"].to_pylist()]
    table = {"vertex": names} | {
        name: found[name].to_pylist() for name in ("label", "split") if name in found.schema.names
    }
    data = from_tables(incidences={"vertex": names, "hyperedge": ["all"] * len(names)}, labels=table)
    part = np.full(len(names), _NOWHERE)
    for place, name in enumerate(PARTS):
        part[getattr(data, name)] = place
    rows = pa.table({"v": found["v"], "y": pa.array(data.y, pa.int64()), "part": pa.array(part, pa.float64())})
    split = {name: int(getattr(data, name).size) for name in PARTS}
    return Labels(tuple(data.class_names), vertices.sparkSession.createDataFrame(rows), split)


def _rows_of_vertices(vertices: DataFrame, found: Labels | None, width: int | None) -> DataFrame:
    if found is None:
        known = vertices.withColumn("y", F.lit(-1).cast("long")).withColumn("part", F.lit(float(_NOWHERE)))
    else:
        known = vertices.join(found.rows, "v", "left").fillna({"y": -1, "part": float(_NOWHERE)})
    return known if width is not None else known.withColumn("x", F.lit(None).cast("array<float>"))


def _sizes(vertices: DataFrame, hyperedges: DataFrame, n: int) -> dict[str, Any]:
    """Vertices and incidences of each shard, the cut, and the largest rounds: a few numbers per shard."""
    held = {
        row["p"]: row
        for row in vertices.groupBy("p").agg(F.count("*").alias("n"), F.sum("degree").alias("z")).collect()
    }
    size = F.size("sharers")
    owner = F.element_at("sharers", (F.pmod(F.col("e"), size) + 1).cast("int"))
    spread = hyperedges.select(size.alias("size"), owner.alias("owner"), F.explode("sharers").alias("p"))
    to_owner = (F.col("size") > 2) & (F.col("p") != F.col("owner"))
    rounds = [
        (spread.where("size = 2"), "p"),
        (spread.where(to_owner), "p"),
        (spread.where(to_owner), "owner"),
    ]
    counted = np.zeros((3, n), np.int64)
    for place, (frame, by) in enumerate(rounds):
        for row in frame.groupBy(F.col(by).alias("p")).count().collect():
            counted[place, row["p"]] = row["count"]
    cut = hyperedges.agg(F.count_if(size > 1).alias("cut"), F.sum(size - 1).alias("copies")).collect()[0]
    return {
        "vertices": [held[one]["n"] if one in held else 0 for one in range(n)],
        "incidences": [held[one]["z"] if one in held else 0 for one in range(n)],
        "most": largest_rounds(*counted),
        "cut": int(cut["cut"]),
        "copies": int(cut["copies"] or 0),
    }


def _rows(pairs: DataFrame, vertices: DataFrame, hyperedges: DataFrame, own: list[int]) -> DataFrame:
    """All rows that the shards are made of; see :class:`ShardWriter`."""
    session = pairs.sparkSession
    schema = session.createDataFrame([], ROWS).schema

    def row(frame: DataFrame, kind: int, **columns: Any) -> DataFrame:
        given = {"to": label_of(F.col("p"), own), "kind": F.lit(kind)} | columns
        return frame.select(*(given.get(one.name, F.lit(None)).cast(one.dataType).alias(one.name) for one in schema))

    every = session.createDataFrame([(one,) for one in range(len(own))], "p int")  # shards without vertices exist, too
    spread = hyperedges.withColumn("p", F.explode("sharers"))
    parts = [
        row(every, EXISTS),
        row(pairs, PAIR, first=F.col("v"), second=F.col("e")),
        row(
            vertices,
            VERTEX,
            first=F.col("v"),
            second=F.col("y"),
            size=F.col("before"),
            weight=F.col("part"),
            x=F.col("x"),
        ),
        row(
            spread,
            HYPEREDGE,
            first=F.col("e"),
            size=F.col("degree"),
            weight=F.col("weight"),
            sharers=F.col("sharers"),
        ),
    ]
    together = parts[0]
    for part in parts[1:]:
        together = together.unionByName(part)
    return together


def _write_all(rows: DataFrame, writer: ShardWriter, sizes: dict[str, Any]) -> None:
    """Let the executors write, and compare what they say with what is there."""

    def call(key: Any, table: pa.Table) -> pa.Table:
        return writer(key, table)

    n = len(writer.labels)
    answers = rows.repartition(n, "to").groupBy("to").applyInArrow(call, WRITTEN).collect()
    for row in answers:
        if row["problem"]:
            raise ValueError(row["problem"])
    found = {row["number"]: row for row in answers}
    for number in range(n):
        path, written = Path(writer.folder, f"shard-{number}.safetensors"), found.get(number)
        expected = (sizes["vertices"][number], sizes["incidences"][number])
        if written is None or (written["vertices"], written["incidences"]) != expected:
            raise RuntimeError(f"shard {number} must have {expected[0]} vertices; Spark has lost some of its rows.")
        if not path.is_file() or path.stat().st_size != written["bytes"]:
            raise ValueError(
                f"path must be on storage that the driver and all executors share; {path.name} has not arrived here."
            )


def _write_names(vertices: DataFrame, aside: Path) -> None:
    """Names of the vertices, in the order of their numbers."""
    local = import_module("hypergnn.spark.local")
    files = import_module("hypergnn.distributed.files")
    ids = import_module("hypergnn.spark.messages").whole(vertices.select("v", "vertex").sort("v").toArrow()["vertex"])
    stored, how = files.name_tensors.to_tensor(local.names_of(ids))
    files.tensor_files.write(aside / files.NAMES, "Names", files.FORMAT, {"how": how}, {"names": stored})


def _about(
    content: str, sizes: dict[str, Any], width: int, found: Labels | None, vertex: str, shape: tuple[int, int]
) -> dict[str, Any]:
    """What the head says about the dataset, as :func:`hypergnn.training.description.describe_data` would."""
    classes = [] if found is None else list(found.class_names)
    split = dict.fromkeys(PARTS, 0) if found is None else found.split
    return {
        "name": "spark",
        "class_names": classes,
        "feature_names": [f"feature {place}" for place in range(width)],
        "construction": f"{vertex} × hyperedge",
        "source": "Spark",
        "encoding": None,
        "split": split,
        "description": {
            "name": "spark",
            "vertices": shape[0],
            "hyperedges": shape[1],
            "incidences": sum(sizes["incidences"]),
            "links": None,
            "features": width,
            "classes": classes,
            "split": {name: f"{count} vertices, {content}" for name, count in split.items()},
            "content": content,
        },
    }
