"""Vertices and hyperedges as numbers, and the process of each vertex, for shards."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hypergnn.spark.building import Coded
from hypergnn.spark.exchange import with_key
from hypergnn.spark.frames import check_column, check_frame, named

DIVIDED_BY_DRIVER = 1 << 26
"""Incidences up to which the driver divides the vertices so that few hyperedges are cut; beyond, a hash does."""


def key_of(frame: DataFrame, name: str) -> str:
    """The column that ids are compared by."""
    return f"{name} key" if f"{name} key" in frame.columns else name


def both(frame: DataFrame, name: str) -> list[str]:
    """The column of ids, and the one that they are compared by if it is another."""
    return list(dict.fromkeys([name, key_of(frame, name)]))


def with_features(degrees: DataFrame, features: DataFrame, column: str, vertex: str) -> tuple[DataFrame, int]:
    """Vertices with features, isolated ones among them, and the number of features; raise if any have none."""
    kind = T.ArrayType(T.FloatType())
    given = with_key(features.select(named(vertex).alias("vertex"), named(column).cast(kind).alias("x")), "vertex")
    key = key_of(given, "vertex")
    lengths = given.agg(
        F.count("*").alias("n"),
        F.count_distinct(key).alias("distinct"),
        F.count_if(F.col(key).isNull()).alias("nulls"),
        F.min(F.size("x")).alias("least"),
        F.max(F.size("x")).alias("most"),
        F.count_if(F.col("x").isNull() | F.exists("x", _is_no_number)).alias("gaps"),
    ).collect()[0]
    if lengths["nulls"]:
        raise ValueError(f"column {vertex!r} of features must hold no nulls; {lengths['nulls']} rows have one.")
    if lengths["distinct"] < lengths["n"]:
        raise ValueError("features must have one row for each vertex; some vertices have several.")
    if lengths["gaps"]:
        raise ValueError(f"features must have no gaps; {lengths['gaps']} vertices have nulls, NaN or infinite values.")
    if lengths["least"] != lengths["most"]:
        raise ValueError(
            f"features must have the same length for all vertices; some have {lengths['least']} numbers, others "
            f"{lengths['most']}."
        )
    lost = degrees.join(given, key, "left_anti").select("vertex")
    if n_lost := lost.count():
        one = lost.first()
        raise ValueError(
            f"features must have a row for each vertex; {n_lost} have none, for example {one and one['vertex']!r}."
        )
    joined = given.join(degrees.select(key, "degree"), key, "left").fillna(0, ["degree"])
    return joined, int(lengths["most"])


def numbered(frame: DataFrame, name: str, number: str, stored: list[DataFrame]) -> tuple[DataFrame, int, int]:
    """Number the ids in ascending order; returns how many there are, and the sum of the column ``degree``.

    The column ``before`` becomes the sum of ``degree`` over all ids before.
    """
    window = Window.partitionBy("part").orderBy(key_of(frame, name))
    earlier = window.rowsBetween(Window.unboundedPreceding, -1)
    inside = (
        frame.sort(key_of(frame, name))
        .withColumn("part", F.spark_partition_id())
        .withColumn("row", F.row_number().over(window).cast("long") - 1)
        .withColumn("earlier", F.coalesce(F.sum("degree").over(earlier), F.lit(0)))
        .persist(StorageLevel.MEMORY_AND_DISK)
    )
    stored.append(inside)
    sizes = inside.groupBy("part").agg(F.count("*").alias("n"), F.sum("degree").alias("degree")).collect()
    n_parts = max((row["part"] for row in sizes), default=-1) + 1
    counts, degrees = np.zeros(n_parts + 1, np.int64), np.zeros(n_parts + 1, np.int64)
    for row in sizes:
        counts[row["part"] + 1], degrees[row["part"] + 1] = row["n"], row["degree"]
    starts = [np.cumsum(one).tolist() for one in (counts, degrees)]
    made = inside.withColumn(number, F.col("row") + _looked_up(starts[0])).withColumn(
        "before", F.col("earlier") + _looked_up(starts[1])
    )
    return made.drop("row", "earlier", "part"), starts[0][-1], starts[1][-1]


def _looked_up(starts: list[int]) -> Column:
    return F.element_at(F.array(*(F.lit(one).cast("long") for one in starts)), F.col("part") + 1)


def divided(
    vertices: DataFrame,
    keyed: DataFrame,
    n: int,
    vertex: str,
    process: DataFrame | None,
    n_incidences: int,
    stored: list[DataFrame],
) -> DataFrame:
    """The vertices with their process in the column ``p``."""
    if process is not None:
        made = _given(vertices, n, vertex, process)
    elif n_incidences > DIVIDED_BY_DRIVER:
        made = vertices.withColumn("p", F.pmod(F.xxhash64("v"), F.lit(n)).cast("int"))
    else:
        made = vertices.join(_with_few_cuts(vertices, keyed, n), "v")
    made = made.persist(StorageLevel.MEMORY_AND_DISK)
    stored.append(made)
    return made


def _given(vertices: DataFrame, n: int, vertex: str, process: DataFrame) -> DataFrame:
    check_frame("process", process)
    check_column("process", process, "vertex", vertex)
    check_column("process", process, "process", "process")
    own = with_key(process.select(named(vertex).alias("vertex"), F.col("process").alias("p")), "vertex")
    key = key_of(own, "vertex")
    if own.groupBy(key).count().where("count > 1").limit(1).count():
        raise ValueError("process must have one row for each vertex; some vertices have several.")
    joined = vertices.join(own.select(key, F.col("p").cast("int").alias("p")), key, "left")
    is_wrong = F.col("p").isNull() | (F.col("p") < 0) | (F.col("p") >= n)
    if bad := joined.where(is_wrong).limit(1).collect():
        got = "none" if bad[0]["p"] is None else bad[0]["p"]
        raise ValueError(f"process must be from 0 to {n - 1} for each vertex; {bad[0]['vertex']!r} has {got}.")
    return joined


def _with_few_cuts(vertices: DataFrame, keyed: DataFrame, n: int) -> DataFrame:
    """The division of the driver, columns ``v`` and ``p``."""
    structures = import_module("hypergnn.structures.hypergraph")
    key, edge = key_of(keyed, "vertex"), key_of(keyed, "hyperedge")
    pairs = keyed.join(vertices.select(key, "v"), key).select("v", edge).toArrow()
    coded = Coded.of(pairs.rename_columns(["v", "hyperedge"]), "hyperedge")
    n_vertices = vertices.count()
    H = structures.Hypergraph.from_incidence(pairs["v"].to_numpy(), coded.codes, n_vertices, len(coded.keys))
    found = import_module("hypergnn.distributed").partition(H, n)
    table = pa.table({"v": pa.array(np.arange(n_vertices)), "p": pa.array(found, pa.int32())})
    return vertices.sparkSession.createDataFrame(table)


def _is_no_number(one: Column) -> Column:
    """Whether an entry is null, NaN or beyond what a float can hold."""
    return one.isNull() | F.isnan(one) | (F.abs(one) == float("inf"))
