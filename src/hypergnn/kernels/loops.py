"""Sums over groups of incidences, compiled by numba when they are first called and kept on disk.

Each kernel takes a range of groups and runs in one thread without Python's lock. A sum keeps a stretch of the row that
it makes in registers while it walks the members: :func:`_adder` writes those instructions itself, since a compiler
cannot know that the rows it reads are not those that it writes. A group of more than ``PIECE`` members is summed piece
by piece, and so gives the same bits however its pieces were dealt to threads.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils

from hypergnn.kernels.lanes import (
    FUSE,
    HALF,
    WIDTH,
    WORD,
    Lanes,
    at,
    constant,
    intrinsic,
    lanes,
    load,
    put,
    repeat,
    store,
)

Array = npt.NDArray[Any]
Kernel = Callable[..., Any]

PIECE = 2048
"""Members that are summed at a time."""


def compiled(function: Kernel) -> Kernel:
    """Compile a kernel on its first call, and keep it on disk where there is a folder to keep it in."""
    try:
        return _compile(function, cache=True)
    except RuntimeError:  # no folder can be written: compile anew in each process
        return _compile(function, cache=False)


def _compile(function: Kernel, *, cache: bool) -> Kernel:
    fastmath = {"contract", "reassoc", "nsz"}
    kernel: Any = numba.njit(cache=cache, nogil=True, error_model="numpy", fastmath=fastmath)(function)
    if cache:  # numba would look at the kernel's own file only, though what it inlines stands in others
        kernel._cache._cache_file._source_stamp = _sources()
    return kernel  # type: ignore[no-any-return]


@functools.cache
def _sources() -> str:
    """A digest of all that is compiled."""
    digest = hashlib.sha256()
    for name in ("lanes", "loops", "heads", "elementwise"):
        digest.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    return digest.hexdigest()


inlined = numba.njit(inline="always")


@inlined
def copy(source: Array, target: Array) -> None:
    """``target[:] = source``, where that is so short that calling a function for it does not pay."""
    for k in range(source.size):
        target[k] = source[k]


@inlined
def random_bits(place: Any, first: Any, second: Any) -> Any:
    """32 bits for a place under two keys: two rounds of a mixing function, as in the torch backend."""
    bits = np.uint32(np.uint32(place) + first)
    bits = np.uint32((bits ^ (bits >> np.uint32(16))) * np.uint32(0x7FEB352D))
    bits = np.uint32((bits ^ (bits >> np.uint32(15))) * np.uint32(0x846CA68B))
    bits = np.uint32((bits ^ (bits >> np.uint32(16))) ^ second)
    bits = np.uint32((bits ^ (bits >> np.uint32(16))) * np.uint32(0x7FEB352D))
    bits = np.uint32((bits ^ (bits >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(bits ^ (bits >> np.uint32(16)) ^ np.uint32(0x80000000))


def _whole(builder: Any, address: Any, index: Any, kind: Any) -> Any:
    return builder.sext(builder.load(at(builder, address, index, kind)), WORD)


def _plus(builder: Any, index: Any, by: int) -> Any:
    return builder.add(index, ir.Constant(WORD, by))


def _adder(n_vectors: int, n_lanes: int, weighting: str, each: bool = False) -> Any:
    """An intrinsic that sums some columns of some rows, ``n_vectors`` stretches of ``n_lanes`` each.

    ``out[first + c] = outer[scale] Σ_p f_p x[members[p] * width + column + c]``, p from begin to end, where a stretch
    starts ``gap`` columns after the one before it. The factor ``f_p`` is 1, ``factors[p * heads + head]`` (weighting
    ``"in order"``) or ``factors[places[p] * heads + head]`` (``"by place"``). With ``each``, every stretch has a head
    and a scale of its own, one after the other.
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
        number: Any,
        index: Any,
    ) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            out, first, x, column, width, gap, members, factors, head, heads, places, outer, scale, begin, end, *_ = (
                values
            )
            kind, id_kind = context.get_value_type(number), context.get_value_type(index)
            shifts = [builder.mul(gap, ir.Constant(WORD, k)) for k in range(n_vectors)]
            totals = [cgutils.alloca_once(builder, ir.VectorType(kind, n_lanes)) for _ in shifts]
            for total in totals:
                builder.store(constant(kind, 0.0, n_lanes), total)

            def repeated(array: Any, index: Any, k: int) -> Any:
                place = at(builder, array, _plus(builder, index, k if each else 0), kind)
                return repeat(builder, builder.load(place), n_lanes)

            with cgutils.for_range_slice(builder, begin, end, ir.Constant(WORD, 1), WORD) as (place, _):
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

        return types.void(*[types.intp] * 15, number, index), emit

    return add_rows


def _sweeper(n_vectors: int, n_lanes: int, weighting: str, each: bool = False) -> Kernel:
    """A function that sums the same columns of all groups: what it reads of ``x`` stays in the cache."""
    add_rows = _adder(n_vectors, n_lanes, weighting, each)

    @inlined
    def sweep(
        out: int,
        x: int,
        column: int,
        width: int,
        gap: int,
        members: int,
        factors: int,
        head: int,
        heads: int,
        places: int,
        outer: int,
        step: int,
        offsets: Array,
        start: int,
        stop: int,
        number: float,
        index: int,
    ) -> None:
        for group in range(start, stop):
            begin, end = np.intp(offsets[group]), np.intp(offsets[group + 1])
            if end - begin <= PIECE:
                at, scale = group * width + column, group * step + (head if step > 1 else 0)
                add_rows(
                    out,
                    at,
                    x,
                    column,
                    width,
                    gap,
                    members,
                    factors,
                    head,
                    heads,
                    places,
                    outer,
                    scale,
                    begin,
                    end,
                    number,
                    index,
                )

    return sweep


def _summer(weighting: str) -> Kernel:
    """A function that sums whole rows. Stretches may overlap: what lies in two of them is computed twice, equally."""
    wide, half, eight = (_sweeper(n, 8, weighting) for n in (8, 4, 1))
    by_head = _sweeper(8, 8, weighting, each=True)
    two_fours, two_twos, one = (_sweeper(n, n_lanes, weighting) for n, n_lanes in ((2, 4), (2, 2), (1, 1)))

    @inlined
    def sum_rows(
        out: int,
        x: int,
        heads: int,
        features: int,
        members: int,
        factors: int,
        places: int,
        outer: int,
        step: int,
        offsets: Array,
        start: int,
        stop: int,
        number: float,
        index: int,
    ) -> None:
        w, head = heads * features, 0
        while features == 8 and step != 1 and head + 8 <= heads:
            by_head(
                out,
                x,
                head * 8,
                w,
                8,
                members,
                factors,
                head,
                heads,
                places,
                outer,
                step,
                offsets,
                start,
                stop,
                number,
                index,
            )
            head += 8
        while head < heads:
            c, last = head * features, (head + 1) * features
            while c + 64 <= last:
                wide(
                    out,
                    x,
                    c,
                    w,
                    8,
                    members,
                    factors,
                    head,
                    heads,
                    places,
                    outer,
                    step,
                    offsets,
                    start,
                    stop,
                    number,
                    index,
                )
                c += 64
            while c + 32 <= last:
                half(
                    out,
                    x,
                    c,
                    w,
                    8,
                    members,
                    factors,
                    head,
                    heads,
                    places,
                    outer,
                    step,
                    offsets,
                    start,
                    stop,
                    number,
                    index,
                )
                c += 32
            while features >= 8 and c < last:
                c = min(c, last - 8)
                eight(
                    out,
                    x,
                    c,
                    w,
                    8,
                    members,
                    factors,
                    head,
                    heads,
                    places,
                    outer,
                    step,
                    offsets,
                    start,
                    stop,
                    number,
                    index,
                )
                c += 8
            gap = features - 4 if features >= 4 else features - 2
            if 4 <= features < 8:
                two_fours(
                    out,
                    x,
                    c,
                    w,
                    gap,
                    members,
                    factors,
                    head,
                    heads,
                    places,
                    outer,
                    step,
                    offsets,
                    start,
                    stop,
                    number,
                    index,
                )
            elif 2 <= features < 4:
                two_twos(
                    out,
                    x,
                    c,
                    w,
                    gap,
                    members,
                    factors,
                    head,
                    heads,
                    places,
                    outer,
                    step,
                    offsets,
                    start,
                    stop,
                    number,
                    index,
                )
            elif features == 1:
                one(
                    out,
                    x,
                    c,
                    w,
                    1,
                    members,
                    factors,
                    head,
                    heads,
                    places,
                    outer,
                    step,
                    offsets,
                    start,
                    stop,
                    number,
                    index,
                )
            head += 1

    return sum_rows


_sum, _sum_in_order, _sum_by_place = _summer(""), _summer("in order"), _summer("by place")


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
    start: int,
    stop: int,
) -> int:
    """Sum rows per group: ``out_g = outer_g Σ_p values_p x_m``, for each trial and head.

    Shapes: ``x`` and ``out`` ``(trials, rows, width)``; ``values`` ``(trials or 1, entries, heads)``, incidence ``p``
    having the entry ``places[p]``, or the entry ``p`` if there are no places; ``outer`` ``(trials or 1, rows, heads or
    1)``, a group having the entries from ``step`` times its number on. Values of size 0 are ones. Groups of more than
    ``PIECE`` members are left out; returned is how many there are.
    """
    width, size = x.shape[2], x.itemsize
    features = width // heads
    number, index = x.dtype.type(0), members.dtype.type(0)
    ids, where = members.ctypes.data, places.ctypes.data
    for trial in range(x.shape[0]):
        rows = x.ctypes.data + trial * x.shape[1] * width * size
        sums = out.ctypes.data + trial * out.shape[1] * width * size
        given = values.ctypes.data + (trial if values.shape[0] > 1 else 0) * values.shape[1] * values.shape[2] * size
        last = outer.ctypes.data + (trial if outer.shape[0] > 1 else 0) * outer.shape[1] * outer.shape[2] * size
        if values.size == 0:
            _sum(sums, rows, heads, features, ids, 0, 0, last, step, offsets, start, stop, number, index)
        elif places.size == 0:
            _sum_in_order(sums, rows, heads, features, ids, given, 0, last, step, offsets, start, stop, number, index)
        else:
            _sum_by_place(
                sums, rows, heads, features, ids, given, where, last, step, offsets, start, stop, number, index
            )
    giants = 0
    for group in range(start, stop):
        giants += offsets[group + 1] - offsets[group] > PIECE
    return giants


@compiled
def gather_dropped(
    x: Array,
    values: Array,
    position: Array,
    keys: Array,
    threshold: int,
    scale: float,
    offsets: Array,
    members: Array,
    out: Array,
    start: int,
    stop: int,
) -> int:
    """As :func:`gather` with one head and one trial's values for all, some of them dropped, the others scaled."""
    width, size = x.shape[2], x.itemsize
    number, index, one = x.dtype.type(0), members.dtype.type(0), np.ones(1, x.dtype)
    kept, factors = np.empty(4 * PIECE, np.bool_), np.empty(4 * PIECE, x.dtype)
    ids, ends = np.empty(4 * PIECE, members.dtype), np.empty(4 * PIECE + 1, members.dtype)
    giants = 0
    for trial in range(x.shape[0]):
        rows = x.ctypes.data + trial * x.shape[1] * width * size
        first, second = keys[trial, 0], keys[trial, 1]
        group, giants = start, 0
        while group < stop:  # as many groups at a time as there is room for
            base, begin = group, np.intp(offsets[group])
            if offsets[group + 1] - begin > PIECE:
                giants += 1
                group += 1
                continue
            while group < stop and group - base < 4 * PIECE and offsets[group + 1] - begin <= 4 * PIECE:
                if offsets[group + 1] - offsets[group] > PIECE:
                    break
                group += 1
            drawn = np.intp(offsets[group]) - begin
            if position.size:
                for k in range(drawn):
                    kept[k] = random_bits(position[begin + k], first, second) >= threshold
            else:
                for k in range(drawn):
                    kept[k] = random_bits(begin + k, first, second) >= threshold
            left, k = 0, 0
            ends[0] = 0
            for one_of in range(base, group):
                for place in range(offsets[one_of], offsets[one_of + 1]):
                    ids[left] = members[place]
                    factors[left] = scale * values[position[place] if position.size else place]
                    left += kept[k]
                    k += 1
                ends[one_of - base + 1] = left
            sums = out.ctypes.data + (trial * out.shape[1] + base) * width * size
            weights, chosen = factors.ctypes.data, ids.ctypes.data
            _sum_in_order(
                sums, rows, 1, width, chosen, weights, 0, one.ctypes.data, 0, ends, 0, group - base, number, index
            )
    return giants


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
) -> int:
    """:func:`gather` there and back in one call."""
    giants: int = gather(x, values, places, offsets, members, middle, middle_step, sums, heads, 0, sums.shape[1])
    back = (back_values, back_places, back_offsets, back_members)
    giants += gather(sums, *back, outer, step, out, heads, 0, out.shape[1])
    return giants


def _dotter(n_vectors: int) -> Any:
    """An intrinsic for the inner product of two stretches of ``8 * n_vectors`` numbers: ``Σ_k x[i + k] y[j + k]``."""

    @intrinsic
    def dot(typing: Any, x: Any, i: Any, y: Any, j: Any, number: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            total = constant(context.get_value_type(number), 0.0)
            for product in _products(builder, values, context.get_value_type(number), n_vectors):
                total = builder.fadd(total, product, FUSE)
            for half in (4, 2, 1):
                mask = ir.Constant(ir.VectorType(HALF, WIDTH), [(k + half) % WIDTH for k in range(WIDTH)])
                total = builder.fadd(total, builder.shuffle_vector(total, total, mask), FUSE)
            return builder.extract_element(total, ir.Constant(HALF, 0))

        return number(types.intp, types.intp, types.intp, types.intp, number), emit

    return dot


@intrinsic
def _dot_eight(typing: Any, x: Any, i: Any, y: Any, j: Any, number: Any) -> Any:
    """Inner products of eight heads of eight features each: ``Σ_k x[i + 8 h + k] y[j + 8 h + k]`` for each lane h."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        rows = _products(builder, values, context.get_value_type(number), WIDTH)
        pairs = [ir.Constant(ir.VectorType(HALF, WIDTH), list(range(odd, 2 * WIDTH, 2))) for odd in (0, 1)]
        while len(rows) > 1:  # add neighbours of two rows into one, until one is left
            rows = [
                builder.fadd(*(builder.shuffle_vector(one, other, pair) for pair in pairs))
                for one, other in zip(rows[::2], rows[1::2], strict=True)
            ]
        return rows[0]

    return Lanes(number)(types.intp, types.intp, types.intp, types.intp, number), emit


def _products(builder: Any, values: Any, kind: Any, n_vectors: int) -> list[Any]:
    x, i, y, j, _ = values
    both = [
        (load(builder, x, _plus(builder, i, k), kind), load(builder, y, _plus(builder, j, k), kind))
        for k in range(0, WIDTH * n_vectors, WIDTH)
    ]
    return [builder.fmul(ours, theirs, FUSE) for ours, theirs in both]


_dot_wide, _dot_narrow = _dotter(4), _dotter(1)


@inlined
def dot(x: int, i: int, y: int, j: int, width: int, number: float) -> float:
    """``Σ_k x[i + k] y[j + k]`` for k below ``width``, ``x`` and ``y`` addresses of numbers like ``number``."""
    total, k = number, 0
    while k + 32 <= width:
        total += _dot_wide(x, i + k, y, j + k, number)
        k += 32
    while k + 8 <= width:
        total += _dot_narrow(x, i + k, y, j + k, number)
        k += 8
    while k < width:
        total += _dot_one(x, i + k, y, j + k, number)
        k += 1
    return total


@intrinsic
def _dot_one(typing: Any, x: Any, i: Any, y: Any, j: Any, number: Any) -> Any:
    """``x[i] y[j]``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        x, i, y, j, _ = values
        kind = context.get_value_type(number)
        return builder.fmul(builder.load(at(builder, x, i, kind)), builder.load(at(builder, y, j, kind)), FUSE)

    return number(types.intp, types.intp, types.intp, types.intp, number), emit


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
    number, found = rows.dtype.type(0), np.empty(heads, rows.dtype)
    for trial in range(rows.shape[0]):
        ours = rows.ctypes.data + trial * rows.shape[1] * width * rows.itemsize
        theirs = columns.ctypes.data + trial * columns.shape[1] * width * rows.itemsize
        for group in range(start, stop):
            for place in range(offsets[group], offsets[group + 1]):
                i, j = group * width, np.intp(members[place]) * width
                dots(ours, i, theirs, j, heads, width // heads, found, number)
                incidence = np.intp(position[place]) if position.size else place
                copy(found, out[trial, incidence])


@compiled
def row_dots(x: Array, y: Array, heads: int, out: Array, start: int, stop: int) -> None:
    """Inner products of the rows of two arrays, for each trial and head."""
    width = x.shape[2]
    number, found = x.dtype.type(0), np.empty(heads, x.dtype)
    for trial in range(x.shape[0]):
        ours = x.ctypes.data + trial * x.shape[1] * width * x.itemsize
        theirs = y.ctypes.data + trial * x.shape[1] * width * x.itemsize
        for n in range(start, stop):
            dots(ours, n * width, theirs, n * width, heads, width // heads, found, number)
            copy(found, out[trial, n])


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
    """Gradients of a transition for its values and for the scalings of its vertices, one vertex after the other.

    ``sums`` are those of the hyperedges on the way there, ``back`` those of the gradient on the way back, both before
    the scaling in the middle. Scalings ``(trials or 1, rows, heads)``; values of size 0 are ones.
    """
    width, size, wide = x.shape[2], x.itemsize, heads - heads % 8
    number = x.dtype.type(0)
    ours, theirs = np.empty(heads, x.dtype), np.empty(heads, x.dtype)
    our, their = ours.ctypes.data, theirs.ctypes.data
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
            for head in range(heads):
                grad_left[trial, vertex, head] = 0
                grad_right[trial, vertex, head] = 0
            for place in range(np.intp(offsets[vertex]), np.intp(offsets[vertex + 1])):
                group = np.intp(members[place])
                i, j, at_vertex, at_group = vertex * width, group * width, vertex * heads, group * heads
                dots(grads, i, there, j, heads, width // heads, ours, number)
                dots(rows, i, here, j, heads, width // heads, theirs, number)
                for head in range(0, wide, 8):
                    factor = lanes(middles_at, at_group + head, number)
                    to_left, to_right = factor * lanes(our, head, number), factor * lanes(their, head, number)
                    if values.size:
                        value = lanes(given.ctypes.data, place * heads + head, number)
                        by_left = lanes(lefts_at, at_vertex + head, number) * to_left
                        by_right = lanes(rights_at, at_vertex + head, number) * to_right
                        put(found.ctypes.data, place * heads + head, by_left + by_right)
                        to_left, to_right = value * to_left, value * to_right
                    put(left_to, at_vertex + head, lanes(left_to, at_vertex + head, number) + to_left)
                    put(right_to, at_vertex + head, lanes(right_to, at_vertex + head, number) + to_right)
                for head in range(wide, heads):
                    to_left, to_right = middles[group, head] * ours[head], middles[group, head] * theirs[head]
                    if values.size:
                        found[place, head] = lefts[vertex, head] * to_left + rights[vertex, head] * to_right
                        to_left, to_right = given[place, head] * to_left, given[place, head] * to_right
                    grad_left[trial, vertex, head] += to_left
                    grad_right[trial, vertex, head] += to_right


@compiled
def thin_product(x: Array, projection: Array, out: Array, start: int, stop: int) -> None:
    """``x`` ``(trials or 1, rows, F)`` with few columns times ``projection`` ``(trials, F, F')``: a row is a group."""
    depth, width = projection.shape[1], projection.shape[2]
    number, one = x.dtype.type(0), np.ones(1, x.dtype)
    size = (stop - start) * depth
    ends, ids = np.arange(0, size + 1, depth).astype(np.int32), (np.arange(size) % depth).astype(np.int32)
    for trial in range(projection.shape[0]):
        factors = x.ctypes.data + ((trial if x.shape[0] > 1 else 0) * x.shape[1] + start) * depth * x.itemsize
        columns = projection.ctypes.data + trial * depth * width * x.itemsize
        products = out.ctypes.data + (trial * out.shape[1] + start) * width * x.itemsize
        _sum_in_order(
            products,
            columns,
            1,
            width,
            ids.ctypes.data,
            factors,
            0,
            one.ctypes.data,
            0,
            ends,
            0,
            stop - start,
            number,
            ids.dtype.type(0),
        )
