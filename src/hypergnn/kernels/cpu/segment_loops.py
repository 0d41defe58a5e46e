"""Sums of rows over groups of incidences.

Each kernel takes a range of groups. While it goes through the members of a group, it keeps some columns of the sum in
registers. :func:`_adder` emits these instructions itself, since the compiler cannot know that input and output rows do
not overlap. A group of more than ``PIECE`` members is summed in pieces, so its bits do not depend on the threads that
sum the pieces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from hypergnn.kernels.cpu.jit import Array, Kernel, compiled, inlined
from hypergnn.kernels.cpu.large_groups import PIECE
from hypergnn.kernels.cpu.pointwise_loops import STRETCH, elu_of
from hypergnn.kernels.cpu.simd import (
    AHEAD,
    FAR,
    FUSE,
    LINE,
    WORD,
    alike,
    at,
    constant,
    fetch_row,
    intrinsic,
    lanes,
    load,
    plus,
    prefetch,
    put,
    repeat,
    store,
)


def _whole(builder: Any, address: Any, index: Any, kind: Any) -> Any:
    return builder.sext(builder.load(at(builder, address, index, kind)), WORD)


def _adder(n_vectors: int, n_lanes: int, weighting: str, each: bool = False) -> Any:
    """An intrinsic that sums some columns of some rows: ``n_vectors`` vectors of ``n_lanes`` columns each.

    ``out[first + c] = outer[scale] Σ_p f_p x[members[p] * width + column + c]``, p from begin to end, where each vector
    starts ``gap`` columns after the previous one. The factor ``f_p`` is 1, ``factors[p * heads + head]`` (weighting
    ``"in order"``) or ``factors[places[p] * heads + head]`` (``"by place"``). With ``each``, consecutive vectors use
    consecutive heads and scales. Members before ``reach`` are prefetched.
    """

    @intrinsic
    def add_rows(
        typing: Any,
        out: Any,
        first: Any,
        x: Any,
        column: Any,
        width: Any,
        gap: Any,
        members: Any,
        factors: Any,
        head: Any,
        heads: Any,
        places: Any,
        outer: Any,
        scale: Any,
        begin: Any,
        end: Any,
        reach: Any,
        number: Any,
        index: Any,
    ) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            out, first, x, column, width, gap, members, factors, head, heads, places, outer, scale, *ends = values
            begin, end, reach, *_ = ends
            kind, id_kind = context.get_value_type(number), context.get_value_type(index)
            shifts = [builder.mul(gap, ir.Constant(WORD, k)) for k in range(n_vectors)]
            totals = [cgutils.alloca_once(builder, ir.VectorType(kind, n_lanes)) for _ in shifts]
            for total in totals:
                builder.store(constant(kind, 0.0, n_lanes), total)

            def repeated(array: Any, index: Any, k: int) -> Any:
                place = at(builder, array, plus(builder, index, k if each else 0), kind)
                return repeat(builder, builder.load(place), n_lanes)

            with cgutils.for_range_slice(builder, begin, end, ir.Constant(WORD, 1), WORD) as (place, _):
                later = plus(builder, place, AHEAD)
                with builder.if_then(builder.icmp_signed("<", later, reach), likely=False):
                    row = builder.add(builder.mul(_whole(builder, members, later, id_kind), width), column)
                    for k in range(0, n_vectors * n_lanes, LINE):
                        prefetch(builder, x, plus(builder, row, k), kind)
                    if weighting == "by place":
                        entry = builder.mul(_whole(builder, places, later, id_kind), heads)
                        prefetch(builder, factors, builder.add(entry, head), kind)
                row = builder.add(builder.mul(_whole(builder, members, place, id_kind), width), column)
                if weighting:
                    entry = place if weighting == "in order" else _whole(builder, places, place, id_kind)
                    factor = builder.add(builder.mul(entry, heads), head)
                for k, (shift, total) in enumerate(zip(shifts, totals, strict=True)):
                    part = load(builder, x, builder.add(row, shift), kind, n_lanes)
                    if weighting:
                        part = builder.fmul(part, repeated(factors, factor, k), FUSE)
                    builder.store(builder.fadd(builder.load(total), part, FUSE), total)
            for k, (shift, total) in enumerate(zip(shifts, totals, strict=True)):
                scaled = builder.fmul(builder.load(total), repeated(outer, scale, k))
                store(builder, scaled, out, builder.add(first, shift))
            return context.get_dummy_value()

        return types.void(*[types.intp] * 16, number, index), emit

    return add_rows


def _sweeper(n_vectors: int, n_lanes: int, weighting: str, each: bool = False) -> Kernel:
    """A function that sums the same columns of all groups, so that these columns of ``x`` stay in the cache."""
    add_rows = _adder(n_vectors, n_lanes, weighting, each)

    @inlined
    def sweep(given: Any, column: int, gap: int, head: int) -> None:
        (out, x, heads, features), (members, factors, places), (outer, step), groups, number, index = given
        offsets, start, stop, most, reach = groups
        width = heads * features
        for group in range(start, stop):
            begin, end = np.intp(offsets[group]), np.intp(offsets[group + 1])
            if end - begin <= most:
                first, scale = group * width + column, group * step + (head if step > 1 else 0)
                rows = (out, first, x, column, width, gap, members)
                add_rows(*rows, factors, head, heads, places, outer, scale, begin, end, reach, number, index)

    return sweep


def _summer(weighting: str) -> Kernel:
    """A function that sums whole rows. Vectors may overlap: common columns are computed twice, with equal bits."""
    wide, half, quarter = (_sweeper(n, 16, weighting) for n in (4, 2, 1))
    eight = _sweeper(1, 8, weighting)
    by_head = _sweeper(8, 8, weighting, each=True)
    two_fours, two_twos, one = (_sweeper(n, n_lanes, weighting) for n, n_lanes in ((2, 4), (2, 2), (1, 1)))

    @inlined
    def sum_rows(given: Any) -> None:
        (_, _, heads, features), _, (_, step), _, _, _ = given
        head = 0
        while features == 8 and step != 1 and head + 8 <= heads:
            by_head(given, head * 8, 8, head)
            head += 8
        while head < heads:
            column, last = head * features, (head + 1) * features
            while column + 64 <= last:
                wide(given, column, 16, head)
                column += 64
            while column + 32 <= last:
                half(given, column, 16, head)
                column += 32
            while column + 16 <= last:
                quarter(given, column, 16, head)
                column += 16
            while features >= 8 and column < last:
                column = min(column, last - 8)
                eight(given, column, 8, head)
                column += 8
            if 4 <= features < 8:
                two_fours(given, column, features - 4, head)
            elif 2 <= features < 4:
                two_twos(given, column, features - 2, head)
            elif features == 1:
                one(given, column, 1, head)
            head += 1

    return sum_rows


_sum, sum_in_order, _sum_by_place = _summer(""), _summer("in order"), _summer("by place")


@compiled
def gather(
    x: Array,
    values: Array,
    places: Array,
    offsets: Array,
    members: Array,
    outer: Array,
    step: int,
    out: Array,
    heads: int,
    most: int,
    start: int,
    stop: int,
) -> int:
    """Sum rows per group: ``out_g = outer_g Σ_p values_p x_m``, for each trial and head.

    Shapes: ``x`` and ``out`` are ``(trials, rows, width)``. ``values`` are ``(trials or 1, entries, heads)``; incidence
    ``p`` uses entry ``places[p]``, or entry ``p`` if ``places`` is empty. ``outer`` is ``(trials or 1, rows, heads or
    1)``; the entries of a group start at ``step`` times its number. Values of size 0 stand for ones. Groups of more
    than ``most`` members are left out; the function returns their number.
    """
    width, size = x.shape[2], x.itemsize
    features = width // heads
    number, index = x.dtype.type(0), members.dtype.type(0)
    ids, where = members.ctypes.data, places.ctypes.data
    reach = members.size if x.shape[1] * width * size > FAR else 0
    for trial in range(x.shape[0]):
        rows = x.ctypes.data + trial * x.shape[1] * width * size
        sums = out.ctypes.data + trial * out.shape[1] * width * size
        given = values.ctypes.data + (trial if values.shape[0] > 1 else 0) * values.shape[1] * values.shape[2] * size
        last = outer.ctypes.data + (trial if outer.shape[0] > 1 else 0) * outer.shape[1] * outer.shape[2] * size
        ends, groups = (sums, rows, heads, features), (offsets, start, stop, most, reach)
        if values.size == 0:
            _sum((ends, (ids, 0, 0), (last, step), groups, number, index))
        elif places.size == 0:
            sum_in_order((ends, (ids, given, 0), (last, step), groups, number, index))
        else:
            _sum_by_place((ends, (ids, given, where), (last, step), groups, number, index))
    left_out = 0
    for group in range(start, stop):
        left_out += offsets[group + 1] - offsets[group] > most
    return left_out


@inlined
def add_row(target: Array, place: Any, factor: float, x: Array, row: Any) -> None:
    """``target_place += factor x_row``, for rows of ``(rows, width)``."""
    width, size, number, many = x.shape[1], x.itemsize, x.dtype.type(0), alike(factor)
    to, source = target.ctypes.data + place * width * size, x.ctypes.data + row * width * size
    for k in range(0, width - 7, 8):
        put(to, k, lanes(to, k, number) + many * lanes(source, k, number))
    for k in range(width - width % 8, width):
        target[place, k] += factor * x[row, k]


@compiled
def scatter(
    x: Array,
    factor: Array,
    offsets: Array,
    members: Array,
    bounds: Array,
    parts: Array,
    wholes: Array,
    start: int,
    stop: int,
) -> None:
    """Sum a few groups by reading the rows of ``x`` ``(rows, width)`` in order, each of them once.

    Row ``n`` times ``factor_n`` is added to the groups ``members[offsets[n]:offsets[n + 1]]``; a ``factor`` of size 0
    stands for ones. ``parts`` are ``(blocks, groups, width)``; block ``b`` has the rows from ``bounds[b]`` to
    ``bounds[b + 1]``. The first groups, as many as ``wholes`` ``(blocks, giants, width)`` has, have more than ``PIECE``
    members: after ``PIECE`` members, their sum is moved to ``wholes`` and starts again, since long sums lose precision.
    """
    width, number, one = x.shape[1], x.dtype.type(0), x.dtype.type(1)
    for block in range(start, stop):
        part, whole = parts[block], wholes[block]
        part[:], whole[:] = 0, 0
        counts = np.zeros(whole.shape[0], np.int32)
        for row in range(bounds[block], bounds[block + 1]):
            many = factor[row] if factor.size else one
            for place in range(offsets[row], offsets[row + 1]):
                if place + AHEAD < members.size:
                    fetch_row(part.ctypes.data, np.intp(members[place + AHEAD]) * width, width, number)
                group = np.intp(members[place])
                add_row(part, group, many, x, row)
                if group < counts.size:
                    counts[group] += 1
                    if counts[group] == PIECE:
                        add_row(whole, group, one, part, group)
                        part[group] = 0
                        counts[group] = 0


@compiled
def two_gathers(
    x: Array,
    values: Array,
    places: Array,
    offsets: Array,
    members: Array,
    middle: Array,
    middle_step: int,
    sums: Array,
    back_values: Array,
    back_places: Array,
    back_offsets: Array,
    back_members: Array,
    outer: Array,
    step: int,
    out: Array,
    heads: int,
    bias: Array,
) -> int:
    """:func:`gather` there and back in one call, then ELU with a ``bias`` ``(trials, width)`` unless that is empty."""
    given = (values, places, offsets, members, middle, middle_step)
    giants: int = gather(x, *given, sums, heads, PIECE, 0, sums.shape[1])
    back = (back_values, back_places, back_offsets, back_members)
    giants += gather(sums, *back, outer, step, out, heads, PIECE, 0, out.shape[1])
    n_rows = max(1, STRETCH // max(out.shape[2], 1))
    added = np.empty((n_rows if bias.size else 0, out.shape[2]), out.dtype)
    for trial in range(out.shape[0] if bias.size else 0):
        added[:] = bias[trial]
        for low in range(0, out.shape[1], n_rows):
            rows = out[trial, low : low + n_rows].reshape(-1)
            elu_of(rows, added.reshape(-1), rows)
    return giants
