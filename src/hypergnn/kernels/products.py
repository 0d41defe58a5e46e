"""Products of tall matrices with small ones, a tile of the outcome at a time: its sums stay in registers.

Every entry is summed in the order of the features, whatever tile it lies in and whichever thread computes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from hypergnn.kernels.lanes import FUSE, WIDTH, WORD, at, constant, intrinsic, load, plus, repeat, store
from hypergnn.kernels.loops import Array, compiled, inlined

MANY, SOME = 8, 6
"""Rows of a tile with one stretch of eight columns, and with two: as many sums as there are registers for."""


def _tiler(n_rows: int, n_vectors: int) -> Any:
    """An intrinsic for a tile of a product, ``n_rows`` by ``8 * n_vectors``: ``out[r, c] = Σ_k x[r, k] y[k, c]``.

    ``x`` and ``y`` start at the tile's first row and first column and have ``depth`` and ``width`` columns in all; a
    row of ``out`` starts ``gap`` numbers after the one before it.
    """

    @intrinsic
    def multiply(typing: Any, x: Any, depth: Any, y: Any, width: Any, out: Any, gap: Any, number: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            x, depth, y, width, out, gap, _ = values
            kind, one = context.get_value_type(number), ir.Constant(WORD, 1)
            starts = [builder.mul(depth, ir.Constant(WORD, r)) for r in range(n_rows)]
            zero = constant(kind, 0.0)
            totals = [[cgutils.alloca_once_value(builder, zero) for _ in range(n_vectors)] for _ in starts]
            with cgutils.for_range_slice(builder, ir.Constant(WORD, 0), depth, one, WORD) as (k, _):
                line = builder.mul(k, width)
                columns = [load(builder, y, plus(builder, line, WIDTH * v), kind) for v in range(n_vectors)]
                for start, row in zip(starts, totals, strict=True):
                    factor = repeat(builder, builder.load(at(builder, x, builder.add(start, k), kind)))
                    for total, column in zip(row, columns, strict=True):
                        product = builder.fmul(factor, column, FUSE)
                        builder.store(builder.fadd(builder.load(total), product, FUSE), total)
            for r, row in enumerate(totals):
                first = builder.mul(gap, ir.Constant(WORD, r))
                for v, total in enumerate(row):
                    store(builder, builder.load(total), out, plus(builder, first, WIDTH * v))
            return context.get_dummy_value()

        return types.void(*[types.intp] * 6, number), emit

    return multiply


_many_by_8, _one_by_8, _some_by_16, _one_by_16 = _tiler(MANY, 1), _tiler(1, 1), _tiler(SOME, 2), _tiler(1, 2)


@inlined
def _by_16(x: int, depth: int, y: int, width: int, out: int, rows: int, number: float, size: int) -> None:
    """Sixteen columns of all rows."""
    n = 0
    while n + SOME <= rows:
        _some_by_16(x + n * depth * size, depth, y, width, out + n * width * size, width, number)
        n += SOME
    while n < rows:
        _one_by_16(x + n * depth * size, depth, y, width, out + n * width * size, width, number)
        n += 1


@inlined
def _by_8(x: int, depth: int, y: int, width: int, out: int, rows: int, number: float, size: int) -> None:
    """Eight columns of all rows."""
    n = 0
    while n + MANY <= rows:
        _many_by_8(x + n * depth * size, depth, y, width, out + n * width * size, width, number)
        n += MANY
    while n < rows:
        _one_by_8(x + n * depth * size, depth, y, width, out + n * width * size, width, number)
        n += 1


@compiled
def product(x: Array, projection: Array, out: Array, start: int, stop: int) -> None:
    """Some rows of ``x`` ``(trials or 1, rows, F)`` times a small ``projection`` ``(trials, F, F')``."""
    depth, width, size = projection.shape[1], projection.shape[2], x.itemsize
    number, rows = x.dtype.type(0), stop - start
    padded, found = np.zeros((depth if width < 8 else 0, 8), x.dtype), np.empty((MANY, 8), x.dtype)
    for trial in range(projection.shape[0]):
        given = x.ctypes.data + ((trial if x.shape[0] > 1 else 0) * x.shape[1] + start) * depth * size
        columns = projection.ctypes.data + trial * depth * width * size
        made = out.ctypes.data + (trial * out.shape[1] + start) * width * size
        if width < 8:
            for k in range(depth):
                for c in range(width):
                    padded[k, c] = projection[trial, k, c]
            for n in range(0, rows, MANY):
                n_rows = min(MANY, rows - n)
                if n_rows == MANY:
                    _many_by_8(given + n * depth * size, depth, padded.ctypes.data, 8, found.ctypes.data, 8, number)
                else:
                    for r in range(n_rows):
                        of_row = found.ctypes.data + r * 8 * size
                        _one_by_8(given + (n + r) * depth * size, depth, padded.ctypes.data, 8, of_row, 8, number)
                for r in range(n_rows):
                    for c in range(width):
                        out[trial, start + n + r, c] = found[r, c]
            continue
        column = 0
        while column + 16 <= width:
            _by_16(given, depth, columns + column * size, width, made + column * size, rows, number, size)
            column += 16
        while column < width:  # the last eight columns, some of them twice and equally
            column = min(column, width - 8)
            _by_8(given, depth, columns + column * size, width, made + column * size, rows, number, size)
            column += 8
