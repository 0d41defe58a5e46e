"""Sums over groups of incidences, compiled by numba when they are first called and kept on disk.

Each kernel takes a range of groups and runs in one thread without Python's lock. A sum keeps a stretch of the row that
it makes in registers while it walks the members: :func:`_adder` writes those instructions itself, since a compiler
cannot know that the rows it reads are not those that it writes. A group of more than ``PIECE`` members is summed piece
by piece, and so gives the same bits however its pieces were dealt to threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numba.extending
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils

Array = npt.NDArray[Any]
Kernel = Callable[..., Any]
intrinsic: Callable[[Kernel], Any] = numba.extending.intrinsic

PIECE = 2048
"""Members that are summed at a time."""
WORD = ir.IntType(64)
FUSE = ("contract",)
"""A product and the sum it goes into may become one instruction."""


def compiled(function: Kernel) -> Kernel:
    """Compile a kernel on its first call, and keep it on disk where there is a folder to keep it in."""
    try:
        return _compile(function, cache=True)
    except RuntimeError:  # no folder can be written: compile anew in each process
        return _compile(function, cache=False)


def _compile(function: Kernel, *, cache: bool) -> Kernel:
    fastmath = {"contract", "reassoc", "nsz"}
    kernel: Kernel = numba.njit(cache=cache, nogil=True, error_model="numpy", fastmath=fastmath)(function)
    return kernel


inlined = numba.njit(inline="always")


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


class _Emitter:
    """Writes the instructions of an intrinsic whose arguments are addresses and whole numbers.

    Addresses instead of arrays, because numba counts references to arrays even in the innermost loop.
    """

    def __init__(self, builder: Any, number: Any, lanes: int) -> None:
        self.builder, self.number, self.lanes = builder, number, lanes
        self.vector = ir.VectorType(number, lanes)
        self.alignment = {ir.FloatType(): 4, ir.DoubleType(): 8}[number]

    def zero(self) -> Any:
        return ir.Constant(self.vector, [0.0] * self.lanes)

    def at(self, address: Any, index: Any, kind: Any) -> Any:
        pointer = self.builder.inttoptr(address, kind.as_pointer())
        return self.builder.gep(pointer, [index])

    def whole(self, address: Any, index: Any, kind: Any) -> Any:
        return self.builder.sext(self.builder.load(self.at(address, index, kind)), WORD)

    def sum(self, *indices: Any) -> Any:
        total = indices[0]
        for one in indices[1:]:
            total = self.builder.add(total, ir.Constant(WORD, one) if isinstance(one, int) else one)
        return total

    def load(self, address: Any, index: Any) -> Any:
        pointer = self.builder.bitcast(self.at(address, index, self.number), self.vector.as_pointer())
        return self.builder.load(pointer, align=self.alignment)

    def store(self, value: Any, address: Any, index: Any) -> None:
        pointer = self.builder.bitcast(self.at(address, index, self.number), self.vector.as_pointer())
        self.builder.store(value, pointer, align=self.alignment)

    def repeated(self, address: Any, index: Any) -> Any:
        """One number in all lanes."""
        empty = ir.Constant(self.vector, ir.Undefined)
        value = self.builder.load(self.at(address, index, self.number))
        first = self.builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(first, empty, zeros)


def _adder(n_vectors: int, lanes: int, weighting: str, each: bool = False) -> Any:
    """An intrinsic that sums some columns of some rows, ``n_vectors`` stretches of ``lanes`` columns each.

    ``out[at + c] = outer[scale] Σ_p f_p x[members[p] * width + column + c]``, p from begin to end, where a stretch
    starts ``gap`` columns after the one before it. The factor ``f_p`` is 1, ``factors[p * heads + head]`` (weighting
    ``"in order"``) or ``factors[places[p] * heads + head]`` (``"by place"``). With ``each``, every stretch has a head
    and a scale of its own, one after the other.
    """

    @intrinsic
    def add_rows(
        typing: Any,
        out: Any,
        at: Any,
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
            out, at, x, column, width, gap, members, factors, head, heads, places, outer, scale, begin, end, *_ = values
            to = _Emitter(builder, context.get_value_type(number), lanes)
            id_type = context.get_value_type(index)
            shifts = [builder.mul(gap, ir.Constant(WORD, k)) for k in range(n_vectors)]
            totals = [cgutils.alloca_once(builder, to.vector) for _ in shifts]
            for total in totals:
                builder.store(to.zero(), total)
            with cgutils.for_range_slice(builder, begin, end, ir.Constant(WORD, 1), WORD) as (place, _):
                row = builder.add(builder.mul(to.whole(members, place, id_type), width), column)
                if weighting:
                    entry = place if weighting == "in order" else to.whole(places, place, id_type)
                    factor = builder.add(builder.mul(entry, heads), head)
                for k, (shift, total) in enumerate(zip(shifts, totals, strict=True)):
                    part = to.load(x, builder.add(row, shift))
                    if weighting:
                        part = builder.fmul(part, to.repeated(factors, to.sum(factor, k if each else 0)), FUSE)
                    builder.store(builder.fadd(builder.load(total), part, FUSE), total)
            for k, (shift, total) in enumerate(zip(shifts, totals, strict=True)):
                scaled = builder.fmul(builder.load(total), to.repeated(outer, to.sum(scale, k if each else 0)))
                to.store(scaled, out, builder.add(at, shift))
            return context.get_dummy_value()

        return types.void(*[types.intp] * 15, number, index), emit

    return add_rows


def _summer(weighting: str) -> Kernel:
    """A function that sums whole rows. Stretches may overlap: what lies in two of them is computed twice, equally."""
    wide, eight, by_head = (_adder(n, 8, weighting, each) for n, each in ((4, False), (1, False), (4, True)))
    two_fours, two_twos, one = (_adder(n, lanes, weighting) for n, lanes in ((2, 4), (2, 2), (1, 1)))

    @inlined
    def sum_rows(
        out: int,
        at: int,
        x: int,
        heads: int,
        features: int,
        members: int,
        factors: int,
        places: int,
        outer: int,
        scale: int,
        step: int,
        begin: int,
        end: int,
        number: float,
        index: int,
    ) -> None:
        width, head = heads * features, 0
        while features == 8 and step == 1 and head + 4 <= heads:
            c, s = head * 8, scale + head
            by_head(
                out, at + c, x, c, width, 8, members, factors, head, heads, places, outer, s, begin, end, number, index
            )
            head += 4
        while head < heads:
            c, stop, s = head * features, (head + 1) * features, scale + head * step
            while c + 32 <= stop:
                wide(
                    out,
                    at + c,
                    x,
                    c,
                    width,
                    8,
                    members,
                    factors,
                    head,
                    heads,
                    places,
                    outer,
                    s,
                    begin,
                    end,
                    number,
                    index,
                )
                c += 32
            while c < stop and features >= 8:
                c = min(c, stop - 8)
                eight(
                    out,
                    at + c,
                    x,
                    c,
                    width,
                    8,
                    members,
                    factors,
                    head,
                    heads,
                    places,
                    outer,
                    s,
                    begin,
                    end,
                    number,
                    index,
                )
                c += 8
            if features >= 4 and c < stop:
                gap = features - 4
                two_fours(
                    out,
                    at + c,
                    x,
                    c,
                    width,
                    gap,
                    members,
                    factors,
                    head,
                    heads,
                    places,
                    outer,
                    s,
                    begin,
                    end,
                    number,
                    index,
                )
            elif features >= 2 and c < stop:
                gap = features - 2
                two_twos(
                    out,
                    at + c,
                    x,
                    c,
                    width,
                    gap,
                    members,
                    factors,
                    head,
                    heads,
                    places,
                    outer,
                    s,
                    begin,
                    end,
                    number,
                    index,
                )
            elif c < stop:
                one(
                    out,
                    at + c,
                    x,
                    c,
                    width,
                    1,
                    members,
                    factors,
                    head,
                    heads,
                    places,
                    outer,
                    s,
                    begin,
                    end,
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
    out: Array,
    heads: int,
    start: int,
    stop: int,
) -> int:
    """Sum rows per group: ``out_g = outer_g Σ_p values_p x_m``, for each trial and head.

    Shapes: ``x`` and ``out`` ``(trials, rows, width)``; ``values`` ``(trials or 1, entries, heads)``, incidence ``p``
    having the entry ``places[p]``, or the entry ``p`` if there are no places; ``outer`` ``(trials or 1, rows, heads)``,
    or with the last axis 1. Values of size 0 are ones. Groups of more than ``PIECE`` members are left out; returned
    is how many there are.
    """
    giants = 0
    width = x.shape[2]
    number, index = x.dtype.type(0), members.dtype.type(0)
    size, ids, where = x.itemsize, members.ctypes.data, places.ctypes.data
    step = 1 if outer.shape[2] == heads else 0
    for trial in range(x.shape[0]):
        rows = x.ctypes.data + trial * x.shape[1] * width * size
        sums = out.ctypes.data + trial * out.shape[1] * width * size
        given = values.ctypes.data + (trial if values.shape[0] > 1 else 0) * values.shape[1] * values.shape[2] * size
        last = outer.ctypes.data + (trial if outer.shape[0] > 1 else 0) * outer.shape[1] * outer.shape[2] * size
        for group in range(start, stop):
            at, scale = group * width, group * outer.shape[2] if outer.shape[1] > 1 else 0
            begin, end = np.intp(offsets[group]), np.intp(offsets[group + 1])
            if end - begin > PIECE:
                giants += 1
                continue
            if values.size == 0:
                _sum(sums, at, rows, heads, width // heads, ids, 0, 0, last, scale, step, begin, end, number, index)
            elif places.size == 0:
                _sum_in_order(
                    sums, at, rows, heads, width // heads, ids, given, 0, last, scale, step, begin, end, number, index
                )
            else:
                _sum_by_place(
                    sums,
                    at,
                    rows,
                    heads,
                    width // heads,
                    ids,
                    given,
                    where,
                    last,
                    scale,
                    step,
                    begin,
                    end,
                    number,
                    index,
                )
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
    giants = 0
    width = x.shape[2]
    number, index = x.dtype.type(0), members.dtype.type(0)
    one = np.ones(1, x.dtype)
    kept = np.empty(4 * PIECE, np.bool_)
    ids, factors = np.empty(PIECE, members.dtype), np.empty(PIECE, x.dtype)
    chosen, weights, last = ids.ctypes.data, factors.ctypes.data, one.ctypes.data
    for trial in range(x.shape[0]):
        rows = x.ctypes.data + trial * x.shape[1] * width * x.itemsize
        sums = out.ctypes.data + trial * out.shape[1] * width * x.itemsize
        first, second = keys[trial, 0], keys[trial, 1]
        base, known = np.intp(0), np.intp(0)
        for group in range(start, stop):
            begin, end = np.intp(offsets[group]), np.intp(offsets[group + 1])
            if end - begin > PIECE:
                giants += 1
                continue
            if end > known:  # draw for this group and as many after it as there is room for, since that vectorises
                base, known = begin, min(begin + kept.size, np.intp(offsets[stop]))
                if position.size:
                    for k in range(known - base):
                        kept[k] = random_bits(position[base + k], first, second) >= threshold
                else:
                    for k in range(known - base):
                        kept[k] = random_bits(base + k, first, second) >= threshold
            size = 0
            for place in range(begin, end):
                ids[size] = members[place]
                factors[size] = scale * values[position[place] if position.size else place]
                size += kept[place - base]
            _sum_in_order(sums, group * width, rows, 1, width, chosen, weights, 0, last, 0, 0, 0, size, number, index)
    return giants


def _dotter(n_vectors: int) -> Any:
    """An intrinsic for the inner product of two stretches of ``8 * n_vectors`` numbers: ``Σ_k x[i + k] y[j + k]``."""

    @intrinsic
    def dot(typing: Any, x: Any, i: Any, y: Any, j: Any, number: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            x, i, y, j, _ = values
            to = _Emitter(builder, context.get_value_type(number), 8)
            total = to.zero()
            for k in range(0, 8 * n_vectors, 8):
                product = builder.fmul(to.load(x, to.sum(i, k)), to.load(y, to.sum(j, k)), FUSE)
                total = builder.fadd(total, product, FUSE)
            for half in (4, 2, 1):
                mask = ir.Constant(ir.VectorType(ir.IntType(32), 8), [(k + half) % 8 for k in range(8)])
                total = builder.fadd(total, builder.shuffle_vector(total, total, mask), FUSE)
            return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))

        return number(types.intp, types.intp, types.intp, types.intp, number), emit

    return dot


@intrinsic
def _dot_eight(typing: Any, x: Any, i: Any, y: Any, j: Any, out: Any, at: Any, number: Any) -> Any:
    """Inner products of eight heads of eight features each: ``out[at + h] = Σ_k x[i + 8 h + k] y[j + 8 h + k]``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        x, i, y, j, out, at, _ = values
        to = _Emitter(builder, context.get_value_type(number), 8)
        rows = [builder.fmul(to.load(x, to.sum(i, k)), to.load(y, to.sum(j, k))) for k in range(0, 64, 8)]
        while len(rows) > 1:  # add neighbours of two rows into one, until one is left
            pairs = [ir.Constant(ir.VectorType(ir.IntType(32), 8), list(range(odd, 16, 2))) for odd in (0, 1)]
            rows = [
                builder.fadd(*(builder.shuffle_vector(one, other, pair) for pair in pairs))
                for one, other in zip(rows[::2], rows[1::2], strict=True)
            ]
        to.store(rows[0], out, at)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 6, number), emit


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
        to = _Emitter(builder, context.get_value_type(number), 1)
        ours, theirs = (builder.load(to.at(*one, to.number)) for one in ((x, i), (y, j)))
        return builder.fmul(ours, theirs, FUSE)

    return number(types.intp, types.intp, types.intp, types.intp, number), emit


@inlined
def dots(x: int, i: int, y: int, j: int, heads: int, features: int, out: int, target: Array, number: float) -> None:
    """``target[h] = Σ_k x[i + h features + k] y[j + h features + k]``; ``out`` is the address of ``target``."""
    head = 0
    if features == 8:
        while head + 8 <= heads:
            _dot_eight(x, i + 8 * head, y, j + 8 * head, out, head, number)
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
                dots(ours, i, theirs, j, heads, width // heads, found.ctypes.data, found, number)
                incidence = position[place] if position.size else place
                for head in range(heads):
                    out[trial, incidence, head] = found[head]


@compiled
def row_dots(x: Array, y: Array, heads: int, out: Array, start: int, stop: int) -> None:
    """Inner products of the rows of two arrays, for each trial and head."""
    width = x.shape[2]
    number, found = x.dtype.type(0), np.empty(heads, x.dtype)
    for trial in range(x.shape[0]):
        ours = x.ctypes.data + trial * x.shape[1] * width * x.itemsize
        theirs = y.ctypes.data + trial * x.shape[1] * width * x.itemsize
        for n in range(start, stop):
            dots(ours, n * width, theirs, n * width, heads, width // heads, found.ctypes.data, found, number)
            for head in range(heads):
                out[trial, n, head] = found[head]


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
    width, size = x.shape[2], x.itemsize
    number = x.dtype.type(0)
    ours, theirs = np.empty(heads, x.dtype), np.empty(heads, x.dtype)
    for trial in range(x.shape[0]):
        shift, group_shift = trial * x.shape[1] * width * size, trial * sums.shape[1] * width * size
        grads, rows = grad.ctypes.data + shift, x.ctypes.data + shift
        there, here = sums.ctypes.data + group_shift, back.ctypes.data + group_shift
        lefts = left[trial if left.shape[0] > 1 else 0]
        middles = middle[trial if middle.shape[0] > 1 else 0]
        rights = right[trial if right.shape[0] > 1 else 0]
        for vertex in range(start, stop):
            for head in range(heads):
                grad_left[trial, vertex, head] = 0
                grad_right[trial, vertex, head] = 0
            for place in range(offsets[vertex], offsets[vertex + 1]):
                group = np.intp(members[place])
                i, j = vertex * width, group * width
                dots(grads, i, there, j, heads, width // heads, ours.ctypes.data, ours, number)
                dots(rows, i, here, j, heads, width // heads, theirs.ctypes.data, theirs, number)
                for head in range(heads):
                    factor = middles[group, head]
                    to_left, to_right = factor * ours[head], factor * theirs[head]
                    if values.size:
                        value = values[trial if values.shape[0] > 1 else 0, place, head]
                        grad_values[trial, place, head] = (
                            lefts[vertex, head] * to_left + rights[vertex, head] * to_right
                        )
                        to_left, to_right = value * to_left, value * to_right
                    grad_left[trial, vertex, head] += to_left
                    grad_right[trial, vertex, head] += to_right


@compiled
def sum_values(
    values: Array, weight: Array, offsets: Array, members: Array, position: Array, out: Array, start: int, stop: int
) -> None:
    """``Σ_p weight_m values_p`` of each group, for each trial and head; no weight if that has size 0."""
    for trial in range(values.shape[0]):
        for group in range(start, stop):
            for head in range(values.shape[2]):
                out[trial, group, head] = 0
            for place in range(offsets[group], offsets[group + 1]):
                incidence, member = position[place] if position.size else place, members[place]
                if weight.size:
                    for head in range(values.shape[2]):
                        out[trial, group, head] += weight[trial, member, head] * values[trial, incidence, head]
                else:
                    for head in range(values.shape[2]):
                        out[trial, group, head] += values[trial, incidence, head]


@compiled
def thin_product(x: Array, projection: Array, out: Array, start: int, stop: int) -> None:
    """``x`` ``(trials or 1, rows, F)`` with few columns times ``projection`` ``(trials, F, F')``."""
    depth, width = projection.shape[1], projection.shape[2]
    number, one = x.dtype.type(0), np.ones(1, x.dtype)
    rows = np.arange(depth).astype(np.int32)
    index, ids, last = rows.dtype.type(0), rows.ctypes.data, one.ctypes.data
    for trial in range(projection.shape[0]):
        source = x.ctypes.data + (trial if x.shape[0] > 1 else 0) * x.shape[1] * depth * x.itemsize
        columns = projection.ctypes.data + trial * depth * width * x.itemsize
        products = out.ctypes.data + trial * out.shape[1] * width * x.itemsize
        for n in range(start, stop):
            factors = source + n * depth * x.itemsize
            _sum_in_order(products, n * width, columns, 1, width, ids, factors, 0, last, 0, 0, 0, depth, number, index)
