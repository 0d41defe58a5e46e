"""Inner products of rows, and the gradients that consist of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from hypergnn.kernels.cpu.jit import Array, compiled, inlined
from hypergnn.kernels.cpu.simd import (
    AHEAD,
    FAR,
    FUSE,
    HALF,
    WIDTH,
    Lanes,
    alike,
    constant,
    fetch_row,
    intrinsic,
    lanes,
    load,
    load_some,
    plus,
    put,
)

_PAIRS = ((0, 2, 8, 10, 4, 6, 12, 14), (1, 3, 9, 11, 5, 7, 13, 15))
"""The even lanes of two vectors, the lower halves of both first; and the odd lanes."""
_HALVES = ((0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15))
"""The lower halves of two vectors, and the upper halves."""


def _dotter(n_vectors: int) -> Any:
    """An intrinsic for the inner product of ``8 * n_vectors`` consecutive numbers: ``Σ_k x[i + k] y[j + k]``."""

    @intrinsic
    def dot(typing: Any, x: Any, i: Any, y: Any, j: Any, number: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            total = constant(context.get_value_type(number), 0.0)
            for product in _products(builder, values, context.get_value_type(number), n_vectors):
                total = builder.fadd(total, product, FUSE)
            return _sum(builder, total)

        return number(types.intp, types.intp, types.intp, types.intp, number), emit

    return dot


@intrinsic
def _dot_eight(typing: Any, x: Any, i: Any, y: Any, j: Any, number: Any) -> Any:
    """Inner products of eight heads of eight features each: ``Σ_k x[i + 8 h + k] y[j + 8 h + k]`` for each lane h."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        rows = _products(builder, values, context.get_value_type(number), WIDTH)
        for _ in range(2):  # add adjacent lanes of two rows into one row, separately for each half
            rows = [_fold(builder, one, other, _PAIRS) for one, other in zip(rows[::2], rows[1::2], strict=True)]
        return _fold(builder, rows[0], rows[1], _HALVES)

    return Lanes(number)(types.intp, types.intp, types.intp, types.intp, number), emit


def _fold(builder: Any, one: Any, other: Any, masks: Any) -> Any:
    """Select lanes from both vectors by each of two masks, and add the selections."""
    chosen = [ir.Constant(ir.VectorType(HALF, WIDTH), list(mask)) for mask in masks]
    return builder.fadd(*(builder.shuffle_vector(one, other, mask) for mask in chosen))


def _sum(builder: Any, vector: Any) -> Any:
    """The sum of all lanes."""
    for half in (4, 2, 1):
        mask = ir.Constant(ir.VectorType(HALF, WIDTH), [(k + half) % WIDTH for k in range(WIDTH)])
        vector = builder.fadd(vector, builder.shuffle_vector(vector, vector, mask), FUSE)
    return builder.extract_element(vector, ir.Constant(HALF, 0))


def _products(builder: Any, values: Any, kind: Any, n_vectors: int) -> list[Any]:
    x, i, y, j, _ = values
    both = [
        (load(builder, x, plus(builder, i, k), kind), load(builder, y, plus(builder, j, k), kind))
        for k in range(0, WIDTH * n_vectors, WIDTH)
    ]
    return [builder.fmul(ours, theirs, FUSE) for ours, theirs in both]


_dot_wide, _dot_narrow = _dotter(4), _dotter(1)


@inlined
def dot(x: int, i: int, y: int, j: int, width: int, number: float) -> float:
    """``Σ_k x[i + k] y[j + k]`` for k below ``width``; ``x`` and ``y`` are addresses, ``number`` gives the type."""
    total, k = number, 0
    while k + 32 <= width:
        total += _dot_wide(x, i + k, y, j + k, number)
        k += 32
    while k + 8 <= width:
        total += _dot_narrow(x, i + k, y, j + k, number)
        k += 8
    if k < width:
        total += _dot_rest(x, i + k, y, j + k, width - k, number)
    return total


@intrinsic
def _dot_rest(typing: Any, x: Any, i: Any, y: Any, j: Any, size: Any, number: Any) -> Any:
    """The inner product of fewer than eight consecutive numbers."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        x, i, y, j, size, _ = values
        kind = context.get_value_type(number)
        ours, theirs = (load_some(builder, array, index, kind, size) for array, index in ((x, i), (y, j)))
        return _sum(builder, builder.fmul(ours, theirs, FUSE))

    return number(*[types.intp] * 5, number), emit


@inlined
def dots(x: int, i: int, y: int, j: int, heads: int, features: int, target: Array, number: float) -> None:
    """``target[h] = Σ_k x[i + h features + k] y[j + h features + k]``."""
    head = 0
    while features == 8 and head + 8 <= heads:
        put(target.ctypes.data, head, _dot_eight(x, i + 8 * head, y, j + 8 * head, number))
        head += 8
    while features == 1 and head + 8 <= heads:
        put(target.ctypes.data, head, lanes(x, i + head, number) * lanes(y, j + head, number))
        head += 8
    while head < heads:
        target[head] = dot(x, i + head * features, y, j + head * features, features, number)
        head += 1


@inlined
def _eight_dots(x: int, i: int, y: int, j: int, features: int, scratch: Array, number: float) -> Any:
    """The inner products of eight heads, as in :func:`dots`, in one vector."""
    if features == 8:
        return _dot_eight(x, i, y, j, number)
    dots(x, i, y, j, 8, features, scratch, number)
    return lanes(scratch.ctypes.data, 0, number)


@compiled
def incidence_dots(
    rows: Array,
    columns: Array,
    offsets: Array,
    members: Array,
    position: Array,
    heads: int,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Inner product of both ends of each incidence, for each trial and head."""
    width = rows.shape[2]
    number = rows.dtype.type(0)
    reach = members.size if columns.shape[1] * width * columns.itemsize > FAR else 0
    for trial in range(rows.shape[0]):
        ours = rows.ctypes.data + trial * rows.shape[1] * width * rows.itemsize
        theirs = columns.ctypes.data + trial * columns.shape[1] * width * rows.itemsize
        for group in range(start, stop):
            for place in range(offsets[group], offsets[group + 1]):
                if place + AHEAD < reach:
                    fetch_row(theirs, np.intp(members[place + AHEAD]) * width, width, number)
                i, j = group * width, np.intp(members[place]) * width
                incidence = np.intp(position[place]) if position.size else place
                dots(ours, i, theirs, j, heads, width // heads, out[trial, incidence], number)


@compiled
def row_dots(x: Array, y: Array, heads: int, out: Array, start: int, stop: int) -> None:
    """Inner products of the rows of two arrays, for each trial and head."""
    width = x.shape[2]
    number = x.dtype.type(0)
    for trial in range(x.shape[0]):
        ours = x.ctypes.data + trial * x.shape[1] * width * x.itemsize
        theirs = y.ctypes.data + trial * x.shape[1] * width * x.itemsize
        for n in range(start, stop):
            dots(ours, n * width, theirs, n * width, heads, width // heads, out[trial, n], number)


@compiled
def transition_gradients(
    grad: Array,
    x: Array,
    sums: Array,
    back: Array,
    values: Array,
    left: Array,
    middle: Array,
    right: Array,
    offsets: Array,
    members: Array,
    heads: int,
    grad_values: Array,
    grad_left: Array,
    grad_right: Array,
    start: int,
    stop: int,
) -> None:
    """Gradients of a transition with respect to its values and to the scalings of its vertices, vertex by vertex.

    ``sums`` are the sums at the hyperedges in the forward pass, ``back`` those of the gradient in the backward pass,
    both before the middle scaling. Scalings are ``(trials or 1, rows, heads)``; values of size 0 stand for ones.
    """
    width, size, wide = x.shape[2], x.itemsize, heads - heads % 8
    features = width // heads
    number = x.dtype.type(0)
    reach = members.size if sums.shape[1] * width * size > FAR else 0
    scratch = np.empty(8, x.dtype)
    for trial in range(x.shape[0]):
        shift, group_shift = trial * x.shape[1] * width * size, trial * sums.shape[1] * width * size
        grads, rows = grad.ctypes.data + shift, x.ctypes.data + shift
        there, here = sums.ctypes.data + group_shift, back.ctypes.data + group_shift
        lefts, middles = left[trial if left.shape[0] > 1 else 0], middle[trial if middle.shape[0] > 1 else 0]
        rights = right[trial if right.shape[0] > 1 else 0]
        given = values[trial if values.shape[0] > 1 else 0] if values.size else rights
        found = grad_values[trial] if values.size else grad_left[trial]
        lefts_at, middles_at, rights_at = lefts.ctypes.data, middles.ctypes.data, rights.ctypes.data
        left_to, right_to = grad_left[trial].ctypes.data, grad_right[trial].ctypes.data
        for vertex in range(start, stop):
            first, last = np.intp(offsets[vertex]), np.intp(offsets[vertex + 1])
            for head in range(0, wide, 8):
                at_vertex = vertex * heads + head
                by_left, by_right = lanes(lefts_at, at_vertex, number), lanes(rights_at, at_vertex, number)
                left_sum, right_sum = alike(number), alike(number)
                for place in range(first, last):
                    if place + AHEAD < reach:
                        later = np.intp(members[place + AHEAD]) * width + head * features
                        fetch_row(there, later, 8 * features, number)
                        fetch_row(here, later, 8 * features, number)
                    group = np.intp(members[place])
                    i, j = vertex * width + head * features, group * width + head * features
                    factor = lanes(middles_at, group * heads + head, number)
                    to_left = factor * _eight_dots(grads, i, there, j, features, scratch, number)
                    to_right = factor * _eight_dots(rows, i, here, j, features, scratch, number)
                    if values.size:
                        value = lanes(given.ctypes.data, place * heads + head, number)
                        put(found.ctypes.data, place * heads + head, by_left * to_left + by_right * to_right)
                        to_left, to_right = value * to_left, value * to_right
                    left_sum, right_sum = left_sum + to_left, right_sum + to_right
                put(left_to, at_vertex, left_sum)
                put(right_to, at_vertex, right_sum)
            for head in range(wide, heads):
                one_left, one_right = number, number
                for place in range(first, last):
                    group = np.intp(members[place])
                    i, j = vertex * width + head * features, group * width + head * features
                    our_dot = middles[group, head] * dot(grads, i, there, j, features, number)
                    their_dot = middles[group, head] * dot(rows, i, here, j, features, number)
                    if values.size:
                        found[place, head] = lefts[vertex, head] * our_dot + rights[vertex, head] * their_dot
                        our_dot, their_dot = given[place, head] * our_dot, given[place, head] * their_dot
                    one_left += our_dot
                    one_right += their_dot
                grad_left[trial, vertex, head] = one_left
                grad_right[trial, vertex, head] = one_right
