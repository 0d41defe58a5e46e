"""Files of shards, written by executors: one task holds one shard, and nobody holds the whole. NumPy only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

from hypergnn._utils.routing import Sharers, routes
from hypergnn.persistence import array_files
from hypergnn.spark.messages import whole

Array = npt.NDArray[Any]

KIND, FORMAT = "Shard", 1
EXISTS, PAIR, VERTEX, HYPEREDGE = range(4)
"""What a row describes: only its shard, an incidence, a vertex or a hyperedge."""
ROWS = "to int, kind int, first long, second long, size long, weight double, sharers array<int>, x array<float>"
WRITTEN = "number int, vertices long, incidences long, bytes long, sha256 string, problem string"
PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class ShardWriter:
    """Writes the shard of each group of rows, and returns a row about the file.

    | kind | first | second | size | weight | sharers | x |
    |---|---|---|---|---|---|---|
    | incidence | vertex | hyperedge | | | | |
    | vertex | vertex | class | incidences of the whole before it | part of the split | | features |
    | hyperedge | hyperedge | | members | weight | its processes | |
    """

    folder: str
    content: str
    labels: list[int]
    n_vertices: int
    n_hyperedges: int
    n_incidences: int
    most: tuple[int, int]
    """The most rows that a process sends or receives, in each round."""
    width: int | None
    """Number of features; ``None`` if there are none."""
    vertices_before: list[int]
    """Vertices of the shards before each."""

    def __call__(self, key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        """Write the shard of one group."""
        number = self.labels.index(key[0].as_py())
        kind = rows["kind"].to_numpy()
        parts = [rows.filter(pa.array(kind == one)) for one in (PAIR, VERTEX, HYPEREDGE)]
        if not Path(self.folder).is_dir():
            text = f"path must be on storage that the driver and all executors share; an executor has no {self.folder}."
            return _answer(number, 0, 0, 0, "", text)
        arrays, about = self._shard(number, *parts)
        path = Path(self.folder, f"shard-{number}.safetensors")
        found = array_files.write(path, KIND, FORMAT, about, arrays)  # a task that runs twice writes the same
        return _answer(number, parts[1].num_rows, parts[0].num_rows, path.stat().st_size, found, None)

    def _shard(
        self, number: int, pairs: pa.Table, vertices: pa.Table, hyperedges: pa.Table
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        by_vertex, by_hyperedge = (np.argsort(one["first"].to_numpy()) for one in (vertices, hyperedges))
        vertex, hyperedge = vertices["first"].to_numpy()[by_vertex], hyperedges["first"].to_numpy()[by_hyperedge]
        weight = hyperedges["weight"].to_numpy()[by_hyperedge]
        arrays = _incidence(pairs, vertex, hyperedge)
        before = vertices["size"].to_numpy()[by_vertex]
        degree = np.diff(arrays["offsets"])
        starts = np.repeat(before - arrays["offsets"][:-1], degree)
        members = sparse.csr_array(
            (np.ones(arrays["members"].size), arrays["members"], arrays["offsets"]), shape=(vertex.size, hyperedge.size)
        )
        arrays |= {
            "weight": weight,
            "vertex_degree": members @ weight,
            "hyperedge_degree": hyperedges["size"].to_numpy()[by_hyperedge].astype(np.float64),
            "vertices": vertex,
            "hyperedges": hyperedge,
            "places": starts + np.arange(arrays["members"].size),
        }
        counts = {}
        for name, one, most in zip(
            ("there", "back"),
            routes(number, _sharers(hyperedges, hyperedge, by_hyperedge), len(self.labels)),
            self.most,
            strict=True,
        ):
            arrays |= {f"{name}_sent": one.sent, f"{name}_received": one.received}
            counts[name] = {"sent": one.n_sent, "received": one.n_received, "most": most}
        if self.width is not None:
            arrays |= self._features(number, vertices, by_vertex)
        about = {"content": self.content, "number": number, "shards": len(self.labels), "routes": counts}
        return arrays, about | {"vertices": self.n_vertices, "hyperedges": self.n_hyperedges}

    def _features(self, number: int, vertices: pa.Table, order: Array) -> dict[str, Array]:
        values = whole(vertices["x"])
        x = values.flatten().to_numpy(zero_copy_only=False).reshape(order.size, self.width or 0)
        part = vertices["weight"].to_numpy()[order]
        found = {
            "x": x[order].astype(np.float32, copy=False),
            "y": vertices["second"].to_numpy()[order],
            "entries_before": np.array([self.vertices_before[number] * (self.width or 0)]),
        }
        return found | {name: np.flatnonzero(part == place) for place, name in enumerate(PARTS)}


def _incidence(pairs: pa.Table, vertex: Array, hyperedge: Array) -> dict[str, Array]:
    """The pairs of a shard in both orders, with numbers of its own."""
    rows = np.searchsorted(vertex, pairs["first"].to_numpy())
    columns = np.searchsorted(hyperedge, pairs["second"].to_numpy())
    index = np.int32 if max(vertex.size, hyperedge.size, rows.size) < np.iinfo(np.int32).max else np.int64
    given = (np.ones(rows.size, np.int8), (rows.astype(index), columns.astype(index)))
    by_row = sparse.coo_array(given, shape=(vertex.size, hyperedge.size)).tocsr()
    by_row.sort_indices()
    by_row.data = np.arange(rows.size, dtype=index)
    by_column = by_row.tocsc()
    found = {
        "offsets": by_row.indptr,
        "members": by_row.indices,
        "back_offsets": by_column.indptr,
        "back_members": by_column.indices,
        "back_position": by_column.data,
    }
    return {name: array.astype(index, copy=False) for name, array in found.items()}


def _sharers(rows: pa.Table, hyperedge: Array, order: Array) -> Sharers:
    """The processes of the hyperedges of a shard, in the order of their numbers."""
    lists = whole(rows["sharers"]).take(pa.array(order))
    ends = np.concatenate([[0], np.cumsum(lists.value_lengths().to_numpy(zero_copy_only=False))]).astype(np.int64)
    return Sharers(hyperedge, ends, lists.flatten().to_numpy(zero_copy_only=False).astype(np.int64))


def _answer(number: int, vertices: int, incidences: int, size: int, sha256: str, problem: str | None) -> pa.Table:
    columns = {
        "number": pa.array([number], pa.int32()),
        "vertices": pa.array([vertices], pa.int64()),
        "incidences": pa.array([incidences], pa.int64()),
        "bytes": pa.array([size], pa.int64()),
        "sha256": pa.array([sha256]),
        "problem": pa.array([problem], pa.string()),
    }
    return pa.table(columns)
