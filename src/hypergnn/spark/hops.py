"""One hop of a program on an executor: read a block and what it has received, compute, send."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hypergnn.spark.blocks import HyperedgeBlock, VertexBlock, stacked
from hypergnn.spark.messages import Array, ids_as_bytes, ids_from_bytes, problem, read, table, whole, written
from hypergnn.spark.programs import Program, Sent

SUMS, WIDTH, STATE, EXTRA = "sums", "width", "state ", "state extra"
_ROWS = 1 << 16  # of the result, in one batch


@dataclass(frozen=True)
class Begin:
    """The first hop: features of a block of vertices become sums at hyperedges."""

    program: Program
    labels: list[int]
    dtype: str
    width: int | None
    """Number of features that the program takes; ``None`` for any."""

    def __call__(self, key: tuple[Any, ...], features: pa.Table, block_rows: pa.Table) -> pa.Table:
        """Columns ``vertex`` and ``values``, and the messages that a block is stored as."""
        label = key[0].as_py()
        block = VertexBlock.read(read(block_rows))
        found = arranged(features, block, self.dtype)
        if isinstance(found, str):
            return table(problem(label, found))
        x, extra = found
        if not len(x):
            return table([])
        if self.width not in (None, x.shape[1]):
            return table(problem(label, f"the model takes {self.width} features per vertex; got {x.shape[1]}."))
        sent = self.program.begin(block, x)
        rows = [*written(label, WIDTH, 0, np.array([x.shape[1]]))]
        if len(extra):
            rows += written(label, EXTRA, 0, ids_as_bytes(extra))
        return table([*rows, *_sent(sent, block, label, self.labels)])


@dataclass(frozen=True)
class Combine:
    """A hop at the hyperedges: sums of all blocks become what their members receive."""

    program: Program
    number: int
    labels: list[int]

    def __call__(self, key: tuple[Any, ...], messages: pa.Table, block_rows: pa.Table) -> pa.Table:
        """Messages of blocks of vertices, and those that a block of hyperedges is stored as."""
        own = self.labels.index(key[0].as_py())
        parts = read(messages).get(SUMS, {})
        if not parts:
            return table([])
        block = HyperedgeBlock.read(read(block_rows))
        sums = self.program.combine(self.number, block, block.total(parts))
        sources = sorted(parts)
        del parts
        return table(row for one in sources for row in written(self.labels[one], SUMS, own, block.returned(one, sums)))


@dataclass(frozen=True)
class Proceed:
    """A hop at the vertices between two rounds."""

    program: Program
    number: int
    labels: list[int]

    def __call__(self, key: tuple[Any, ...], messages: pa.Table, block_rows: pa.Table) -> pa.Table:
        """Messages of blocks of hyperedges and of the hop before, and those that a block is stored as."""
        label = key[0].as_py()
        block = VertexBlock.read(read(block_rows))
        sums, state = _answer(messages)
        extra = state.pop("extra", None)
        sent = self.program.proceed(self.number, block, sums, state)
        rows = [] if extra is None else [*written(label, EXTRA, 0, extra)]
        return table([*rows, *_sent(sent, block, label, self.labels)])


@dataclass(frozen=True)
class End:
    """The last hop: a row for each vertex."""

    program: Program
    names: tuple[str, str]
    dtype: str

    def __call__(self, key: tuple[Any, ...], messages: pa.Table, block_rows: pa.Table) -> pa.Table:  # noqa: ARG002
        """Messages of blocks of hyperedges and of the hop before, and those that a block is stored as."""
        block = VertexBlock.read(read(block_rows))
        sums, state = _answer(messages)
        ids = block.ids
        extra = state.pop("extra", None)
        if extra is not None:
            more = ids_from_bytes(extra)
            ids = pa.concat_arrays([ids, more]) if len(ids) else more
        values = pa.from_numpy_dtype(np.dtype(self.dtype))
        schema = pa.schema([(self.names[0], ids.type), (self.names[1], pa.list_(values))])
        if not state:
            return pa.Table.from_batches([], schema=schema)
        out = self.program.end(block, sums, state)
        return pa.Table.from_batches(list(_batches(ids, out.astype(self.dtype, copy=False), schema)), schema=schema)


def _batches(ids: pa.Array, out: Array, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    width = out.shape[1]
    for start in range(0, len(out), _ROWS):
        part = out[start : start + _ROWS]
        offsets = pa.array(np.arange(len(part) + 1, dtype=np.int32) * width)
        lists = pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(part).reshape(-1)))
        yield pa.RecordBatch.from_arrays([ids[start : start + _ROWS], lists.cast(schema.field(1).type)], schema=schema)


def _sent(sent: Sent, block: VertexBlock, label: int, labels: list[int]) -> Iterator[pa.RecordBatch]:
    own = labels.index(label)
    for place, to in enumerate(labels):
        start, stop = block.bounds[place : place + 2]
        if stop > start and sent.sums.shape[1]:
            yield from written(to, SUMS, own, sent.sums[start:stop])
    for name, array in sent.state.items():
        yield from written(label, f"{STATE}{name}", 0, array)


def _answer(messages: pa.Table) -> tuple[Array, dict[str, Array]]:
    """What was received from the hyperedges, a row per slot, and what the block remembers."""
    received = read(messages)
    parts = received.pop(SUMS, {})
    state = {name.removeprefix(STATE): arrays[0] for name, arrays in received.items() if name.startswith(STATE)}
    return stacked(parts), state


def arranged(features: pa.Table, block: VertexBlock, dtype: str) -> tuple[Array, pa.Array] | str:
    """Features in the order of the block's vertices, then those of isolated ones, whose ids follow; or a problem."""
    has_keys = "vertex key" in features.column_names
    keys, values = whole(features["vertex key" if has_keys else "vertex"]), whole(features["values"])
    ids = whole(features["vertex"])
    if keys.null_count:
        return "features must have no null ids of vertices; some are null."
    bad = _first_bad(values)
    if bad is not None:
        return (
            f"features must be an array of numbers for each vertex, without nulls; that of {ids[bad].as_py()!r} is not."
        )
    sizes = pc.list_value_length(values).to_numpy(zero_copy_only=False)
    if len(sizes) and sizes.min() != sizes.max():
        low, high = int(sizes.argmin()), int(sizes.argmax())
        return (
            f"features must have the same length for all vertices; vertex {ids[low].as_py()!r} has {sizes[low]} "
            f"numbers, vertex {ids[high].as_py()!r} has {sizes[high]}."
        )
    width = int(sizes[0]) if len(sizes) else 0
    rows: Array = values.flatten().to_numpy(zero_copy_only=False).reshape(len(sizes), width)
    place = pc.index_in(keys, value_set=block.keys.cast(keys.type)).fill_null(-1).to_numpy(zero_copy_only=False)
    is_extra = place < 0
    extra = ids.filter(pa.array(is_extra)) if is_extra.any() else ids[:0]
    counts = np.bincount(place[~is_extra], minlength=block.n)
    wrong = _miscounted(counts, block, keys.filter(pa.array(is_extra)) if len(extra) else keys[:0])
    if wrong is not None:
        return wrong
    x = np.empty((block.n + len(extra), width), dtype)
    place = place.copy()
    place[is_extra] = block.n + np.arange(len(extra))
    x[place] = rows
    return x, extra


def _first_bad(values: pa.Array) -> int | None:
    """The first row that is null or holds a null."""
    if values.null_count:
        return int(pc.index(values.is_null(), True).as_py())
    flat = values.flatten()
    if flat.null_count:
        return int(np.searchsorted(values.offsets.to_numpy(), pc.index(flat.is_null(), True).as_py(), side="right")) - 1
    return None


def _miscounted(counts: Array, block: VertexBlock, extra: pa.Array) -> str | None:
    missing = np.flatnonzero(counts == 0)
    if missing.size:
        return (
            "features must have a row for each vertex of the hypergraph; vertex "
            f"{block.ids[int(missing[0])].as_py()!r} has none. Add the missing rows, e.g. with zeros, or leave these "
            "vertices out of the hypergraph."
        )
    twice = block.ids[int(counts.argmax())] if counts.size and counts.max() > 1 else None
    if twice is None and len(extra) > len(extra.unique()):
        twice = next(one["values"] for one in extra.value_counts() if one["counts"].as_py() > 1)
    if twice is None:
        return None
    return f"features must have one row per vertex; vertex {twice.as_py()!r} has several. Aggregate them first."
