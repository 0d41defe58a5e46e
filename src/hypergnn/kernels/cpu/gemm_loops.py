"""Products of tall matrices with small ones, computed in tiles whose sums stay in registers.

Every entry is summed in the order of the features, whatever its tile and thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils

from hypergnn.kernels.cpu.jit import Array, Kernel, compiled, inlined
from hypergnn.kernels.cpu.simd import FUSE, WIDTH, WORD, at, constant, intrinsic, load, plus, repeat, store

MANY, SOME = 8, 6
"""Rows of a tile with eight columns, and with sixteen: as many sums as fit into the registers."""
WIDE = 12
"""The same with 32 columns, where registers hold 16 numbers in single precision."""
HAS_WIDE = bool(get_host_cpu_features().get("avx512f", False))
"""Whether they do."""
BLOCK = 48
"""Rows that are multiplied by all columns before the next ones: they stay in the nearest cache. Whole tiles of both."""


def _tiler(n_rows: int, n_vectors: int, lanes: int) -> Any:
    """An intrinsic for a tile of a product, ``n_rows`` by ``lanes * n_vectors``: ``out[r, c] = Σ_k x[r, k] y[k, c]``.

    All three start at the tile's first row or column; ``x`` has ``depth`` columns in all, ``y`` and ``out`` ``width``.
    """

    @intrinsic
    def multiply(typing: Any, x: Any, depth: Any, y: Any, width: Any, out: Any, number: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            x, depth, y, width, out, _ = values
            kind, one = context.get_value_type(number), ir.Constant(WORD, 1)
            starts = [builder.mul(depth, ir.Constant(WORD, r)) for r in range(n_rows)]
            zero = constant(kind, 0.0, lanes)
            totals = [[cgutils.alloca_once_value(builder, zero) for _ in range(n_vectors)] for _ in starts]
            with cgutils.for_range_slice(builder, ir.Constant(WORD, 0), depth, one, WORD) as (k, _):
                line = builder.mul(k, width)
                columns = [load(builder, y, plus(builder, line, lanes * v), kind, lanes) for v in range(n_vectors)]
                for start, row in zip(starts, totals, strict=True):
                    factor = repeat(builder, builder.load(at(builder, x, builder.add(start, k), kind)), lanes)
                    for total, column in zip(row, columns, strict=True):
                        product = builder.fmul(factor, column, FUSE)
                        builder.store(builder.fadd(builder.load(total), product, FUSE), total)
            for r, row in enumerate(totals):
                first = builder.mul(width, ir.Constant(WORD, r))
                for v, total in enumerate(row):
                    store(builder, builder.load(total), out, plus(builder, first, lanes * v))
            return context.get_dummy_value()

        return types.void(*[types.intp] * 5, number), emit

    return multiply


def _sweeper(n_rows: int, n_vectors: int, lanes: int = WIDTH) -> Kernel:
    """A function that computes some columns of all rows, ``n_rows`` at a time and then one by one."""
    several, single = _tiler(n_rows, n_vectors, lanes), _tiler(1, n_vectors, lanes)

    @inlined
    def sweep(x: int, depth: int, y: int, width: int, out: int, rows: int, number: float, size: int) -> None:
        n = 0
        while n + n_rows <= rows:
            several(x + n * depth * size, depth, y, width, out + n * width * size, number)
            n += n_rows
        while n < rows:
            single(x + n * depth * size, depth, y, width, out + n * width * size, number)
            n += 1

    return sweep


_by_8, _by_16, _by_32 = _sweeper(MANY, 1), _sweeper(SOME, 2), _sweeper(WIDE, 2, 16)


@compiled
def product(x: Array, projection: Array, out: Array, start: int, stop: int) -> None:
    """Some rows of ``x`` ``(trials or 1, rows, F)`` times a small ``projection`` ``(trials, F, F')``."""
    depth, width, size = projection.shape[1], projection.shape[2], x.itemsize
    number = x.dtype.type(0)
    padded, found = np.zeros((depth if width < 8 else 0, 8), x.dtype), np.empty((MANY, 8), x.dtype)
    for trial in range(projection.shape[0]):
        given = x.ctypes.data + (trial if x.shape[0] > 1 else 0) * x.shape[1] * depth * size
        columns = projection.ctypes.data + trial * depth * width * size
        made = out.ctypes.data + trial * out.shape[1] * width * size
        if width < 8:
            for k in range(depth):
                for c in range(width):
                    padded[k, c] = projection[trial, k, c]
            for n in range(start, stop, MANY):
                n_rows, of_rows = min(MANY, stop - n), given + n * depth * size
                _by_8(of_rows, depth, padded.ctypes.data, 8, found.ctypes.data, n_rows, number, size)
                for r in range(n_rows):
                    for c in range(width):
                        out[trial, n + r, c] = found[r, c]
            continue
        for n in range(start, stop, BLOCK):
            rows, of_rows, to_rows = min(BLOCK, stop - n), given + n * depth * size, made + n * width * size
            column = 0
            while HAS_WIDE and size == 4 and column + 32 <= width:
                _by_32(of_rows, depth, columns + column * size, width, to_rows + column * size, rows, number, size)
                column += 32
            while column + 16 <= width:
                _by_16(of_rows, depth, columns + column * size, width, to_rows + column * size, rows, number, size)
                column += 16
            while column < width:  # the last eight columns, some of which are computed twice with the same result
                column = min(column, width - 8)
                _by_8(of_rows, depth, columns + column * size, width, to_rows + column * size, rows, number, size)
                column += 8
