"""Arrays as rows of a DataFrame: what blocks send each other, and what they are stored as.

A row of a DataFrame per vertex would cost Spark more than the sums themselves. An array is therefore a few rows of up
to 4 MB, which Spark copies and never looks into.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array = npt.NDArray[Any]
Received = dict[str, dict[int, Array]]
"""Arrays by name and by the block that sent them."""

SCHEMA = "to int, name string, source int, start long, dtype string, width int, data binary"
ARROW = pa.schema(
    [
        ("to", pa.int32()),
        ("name", pa.string()),
        ("source", pa.int32()),
        ("start", pa.int64()),
        ("dtype", pa.string()),
        ("width", pa.int32()),
        ("data", pa.binary()),
    ]
)
PROBLEM = "problem"
_BYTES = 4 << 20


def written(to: int, name: str, source: int, array: Array) -> Iterator[pa.RecordBatch]:
    """The rows of an array of one or two dimensions.

    Args:
        to: The label of the block that gets it.
        name: What it is.
        source: The number of the block that sends it.
        array: Its entries.
    """
    width = array.shape[1] if array.ndim == 2 else -1
    rows = max(1, _BYTES // max(1, array.itemsize * abs(width)))
    for start in range(0, max(1, array.shape[0]), rows):
        part = np.ascontiguousarray(array[start : start + rows])
        sizes = pa.py_buffer(np.array([0, part.nbytes], dtype=np.int32))
        data = pa.Array.from_buffers(pa.binary(), 1, [None, sizes, pa.py_buffer(part.reshape(-1))])
        head = [[to], [name], [source], [start], [array.dtype.str], [width]]
        columns = [pa.array(value, field.type) for value, field in zip(head, ARROW, strict=False)]
        yield pa.RecordBatch.from_arrays([*columns, data], schema=ARROW)


def table(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Rows of several arrays as one table."""
    return pa.Table.from_batches(list(batches), schema=ARROW)


def read(rows: pa.Table) -> Received:
    """The arrays that :func:`written` turned into rows; the rows may come in any order.

    Example:
        >>> sent = table(written(0, "sums", 7, np.eye(2)))
        >>> read(sent)["sums"][7].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    found: dict[tuple[str, int], list[tuple[int, Array]]] = {}
    for batch in rows.to_batches():
        names, sources, starts = (batch.column(name).to_pylist() for name in ("name", "source", "start"))
        dtypes, widths, data = (
            batch.column("dtype").to_pylist(),
            batch.column("width").to_pylist(),
            batch.column("data"),
        )
        for place, key in enumerate(zip(names, sources, strict=True)):
            part: Array = np.frombuffer(data[place].as_buffer(), dtype=np.dtype(dtypes[place]))
            if widths[place] >= 0:
                part = part.reshape(-1, widths[place]) if widths[place] else part.reshape(0, 0)
            found.setdefault(key, []).append((starts[place], part))
    arrays: Received = {}
    for (name, source), parts in found.items():
        parts.sort(key=lambda one: one[0])
        whole = parts[0][1] if len(parts) == 1 else np.concatenate([part for _, part in parts])
        arrays.setdefault(name, {})[source] = whole
    return arrays


def problem(to: int, text: str) -> Iterator[pa.RecordBatch]:
    """A problem with the data, for the driver."""
    return written(to, PROBLEM, 0, np.frombuffer(text.encode(), dtype=np.uint8))


def ids_as_bytes(ids: pa.Array) -> Array:
    """Ids of any type as an array of bytes."""
    batch = pa.RecordBatch.from_arrays([ids], names=["id"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def ids_from_bytes(array: Array) -> pa.Array:
    """The ids that :func:`ids_as_bytes` has made bytes of.

    Example:
        >>> ids_from_bytes(ids_as_bytes(pa.array(["ann", "bob"]))).to_pylist()
        ['ann', 'bob']
    """
    with pa.ipc.open_stream(pa.py_buffer(np.ascontiguousarray(array))) as stream:
        return whole(stream.read_all().column("id"))


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    one = column.combine_chunks()
    if isinstance(one, pa.ChunkedArray):
        return pa.concat_arrays(one.chunks) if one.num_chunks else pa.array([], one.type)
    return one
