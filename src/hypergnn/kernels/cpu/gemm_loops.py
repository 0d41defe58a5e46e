"""Products of tall matrices with small ones and with each other, computed in tiles whose sums stay in registers.

Every entry of a product is summed in the order of the features, whatever its tile and thread; every entry of a gradient
in pieces of ``TALL`` rows, which are then added in their order.
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
FLAT = 8
"""The same in a gradient, whose 64 rows are then whole tiles."""
BLOCK = 48
"""Rows that are multiplied by all columns before the next ones: whole tiles of all sizes. With 64 features, they stay
in the nearest cache."""
TALL = 512
"""Rows of two tall matrices that are multiplied before the next ones; with 64 features, they stay in a near cache."""


def _tiler(n_rows: int, n_vectors: int, lanes: int) -> Any:
    """An intrinsic for a tile of a product, ``n_rows`` by ``lanes * n_vectors``: ``out[r, c] = Σ_k x[r, k] y[k, c]``.

    All three start at the tile's first row or column, and the sum has ``depth`` terms. Entries of ``x`` are ``down``
    numbers apart in a column and ``across`` in a row; ``y`` has ``width`` columns in all, ``out`` has ``gap``. The rows
    of ``out`` are stored in ascending order: each may overwrite what the one before has stored beyond its end.
    """

    @intrinsic
    def multiply(
        typing: Any, x: Any, down: Any, across: Any, depth: Any, y: Any, width: Any, out: Any, gap: Any, number: Any
    ) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            x, down, across, depth, y, width, out, gap, _ = values
            kind, one = context.get_value_type(number), ir.Constant(WORD, 1)
            starts = [builder.mul(down, ir.Constant(WORD, r)) for r in range(n_rows)]
            zero = constant(kind, 0.0, lanes)
            totals = [[cgutils.alloca_once_value(builder, zero) for _ in range(n_vectors)] for _ in starts]
            with cgutils.for_range_slice(builder, ir.Constant(WORD, 0), depth, one, WORD) as (k, _):
                line, step = builder.mul(k, width), builder.mul(k, across)
                columns = [load(builder, y, plus(builder, line, lanes * v), kind, lanes) for v in range(n_vectors)]
                for start, row in zip(starts, totals, strict=True):
                    factor = repeat(builder, builder.load(at(builder, x, builder.add(start, step), kind)), lanes)
                    for total, column in zip(row, columns, strict=True):
                        product = builder.fmul(factor, column, FUSE)
                        builder.store(builder.fadd(builder.load(total), product, FUSE), total)
            for r, row in enumerate(totals):
                first = builder.mul(gap, ir.Constant(WORD, r))
                for v, total in enumerate(row):
                    store(builder, builder.load(total), out, plus(builder, first, lanes * v))
            return context.get_dummy_value()

        return types.void(*[types.intp] * 8, number), emit

    return multiply


def _sweeper(n_rows: int, n_vectors: int, lanes: int = WIDTH) -> Kernel:
    """A function that computes some columns of all ``rows`` of ``out``, ``n_rows`` at a time and then one by one."""
    several, single = _tiler(n_rows, n_vectors, lanes), _tiler(1, n_vectors, lanes)

    @inlined
    def sweep(x: int, down: int, across: int, depth: int, y: int, width: int, out: int, gap: int, extent: Any) -> None:
        n, (stop, number, size) = 0, extent
        while n + n_rows <= stop:
            several(x + n * down * size, down, across, depth, y, width, out + n * gap * size, gap, number)
            n += n_rows
        while n < stop:
            single(x + n * down * size, down, across, depth, y, width, out + n * gap * size, gap, number)
            n += 1

    return sweep


_by_8, _by_16, _by_32 = _sweeper(MANY, 1), _sweeper(SOME, 2), _sweeper(WIDE, 2, 16)
_across_32 = _sweeper(FLAT, 2, 16)


@inlined
def _columns(x: int, down: int, across: int, depth: int, y: int, width: int, out: int, extent: Any) -> None:
    """All columns of a product that has eight or more.

    ``extent`` is a triple: how many rows it has, a number of its type, and the bytes of a number.
    """
    column, size = 0, extent[2]
    while HAS_WIDE and size == 4 and column + 32 <= width:
        if across == 1:
            _by_32(x, down, 1, depth, y + column * size, width, out + column * size, width, extent)
        else:
            _across_32(x, 1, across, depth, y + column * size, width, out + column * size, width, extent)
        column += 32
    while column + 16 <= width:
        _by_16(x, down, across, depth, y + column * size, width, out + column * size, width, extent)
        column += 16
    while column < width:  # the last eight columns, some of which are computed twice with the same result
        column = min(column, width - 8)
        _by_8(x, down, across, depth, y + column * size, width, out + column * size, width, extent)
        column += 8


@inlined
def _few_columns(x: int, depth: int, y: Array, out: Array, start: int, stop: int, number: float) -> None:
    """Rows of a product of fewer than eight columns: ``y`` ``(depth, 8)`` is padded with zeros.

    Each row of ``out`` is stored with zeros beyond it, which the next rows overwrite. The last rows are copied: their
    zeros would lie beyond ``stop``.
    """
    width, size, last = out.shape[1], out.itemsize, np.empty((7, 8), out.dtype)
    to, line = out.ctypes.data + start * width * size, y.ctypes.data
    n_copied = min(stop - start, -(-8 // width) - 1)
    n_stored = stop - start - n_copied
    _by_8(x, depth, 1, depth, line, 8, to, width, (n_stored, number, size))
    _by_8(x + n_stored * depth * size, depth, 1, depth, line, 8, last.ctypes.data, 8, (n_copied, number, size))
    for r in range(n_copied):
        for c in range(width):
            out[stop - n_copied + r, c] = last[r, c]


@compiled
def product(x: Array, projection: Array, out: Array, start: int, stop: int) -> None:
    """Some rows of ``x`` ``(trials or 1, rows, F)`` times ``projection`` ``(trials, F, F')``."""
    depth, width, size = projection.shape[1], projection.shape[2], x.itemsize
    number = x.dtype.type(0)
    padded = np.zeros((depth if width < 8 else 0, 8), x.dtype)
    for trial in range(projection.shape[0]):
        given = x.ctypes.data + (trial if x.shape[0] > 1 else 0) * x.shape[1] * depth * size
        if width < 8:
            for k in range(depth):
                for c in range(width):
                    padded[k, c] = projection[trial, k, c]
            _few_columns(given + start * depth * size, depth, padded, out[trial], start, stop, number)
            continue
        columns = projection.ctypes.data + trial * depth * width * size
        made = out.ctypes.data + trial * out.shape[1] * width * size
        for n in range(start, stop, BLOCK):
            extent = (min(BLOCK, stop - n), number, size)
            _columns(given + n * depth * size, depth, 1, depth, columns, width, made + n * width * size, extent)


@compiled
def tall_product(x: Array, grad: Array, parts: Array, start: int, stop: int) -> None:
    """``xᵀ grad`` of some blocks of rows, each the sum of pieces of ``TALL`` rows.

    Shapes: ``x`` ``(trials or 1, rows, F)``, ``grad`` ``(trials, rows, F')`` with F' of at least 8, ``parts``
    ``(trials, blocks, F, F')``.
    """
    n_rows, depth, width, size = x.shape[1], x.shape[2], grad.shape[2], x.itemsize
    number, blocks, pieces = x.dtype.type(0), parts.shape[1], -(-n_rows // TALL)
    piece = np.empty((depth, width), x.dtype)
    for trial in range(grad.shape[0]):
        given = x.ctypes.data + (trial if x.shape[0] > 1 else 0) * n_rows * depth * size
        taken = grad.ctypes.data + trial * n_rows * width * size
        for block in range(start, stop):
            parts[trial, block] = 0
            for n in range(pieces * block // blocks * TALL, pieces * (block + 1) // blocks * TALL, TALL):
                rows, of_rows, columns = min(TALL, n_rows - n), given + n * depth * size, taken + n * width * size
                _columns(of_rows, 1, depth, rows, columns, width, piece.ctypes.data, (depth, number, size))
                parts[trial, block] += piece
