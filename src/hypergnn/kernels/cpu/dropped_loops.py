"""Sums of rows over groups with dropped incidences: the remaining incidences are drawn and listed first."""

from __future__ import annotations

from typing import Any

import numpy as np

from hypergnn.kernels.cpu.jit import Array, compiled, inlined, random_bits
from hypergnn.kernels.cpu.large_groups import PIECE
from hypergnn.kernels.cpu.segment_loops import add_row, sum_in_order

BLOCK = 1 << 13
"""Number of rows per block in :func:`scatter_dropped`."""

_EIGHTH = np.uint64(0x0102040810204080)
"""Multiplying eight bytes of 0 or 1 by this collects their bits in the highest byte."""
_TOTAL = np.uint64(0x0101010101010101)
"""Multiplying eight bytes by this leaves their sum in the highest byte."""
_WHICH = np.array([sorted(range(8), key=lambda bit: not mask >> bit & 1) for mask in range(256)], np.uint8)
"""For each byte, the numbers of its bits, set bits first."""


@inlined
def _room(x: Array, members: Array) -> Any:
    """Arrays for :func:`_draw`: factors and members that remain, where each group ends among them, and work arrays.

    The work arrays hold whether each member remains, the numbers of the remaining members, and how many members
    remain before every eighth one.
    """
    return (
        np.empty(4 * PIECE, x.dtype),
        np.empty(4 * PIECE, members.dtype),
        np.empty(4 * PIECE + 1, members.dtype),
        np.zeros(4 * PIECE + 8, np.uint8),
        np.empty(4 * PIECE + 8, np.int32),
        np.empty(4 * PIECE // 8 + 1, np.int32),
    )


@inlined
def _draw(
    values: Array,
    position: Array,
    offsets: Array,
    members: Array,
    first: Any,
    second: Any,
    threshold: int,
    scale: float,
    room: Any,
    base: int,
    stop: int,
) -> int:
    """Draw which members remain, for as many groups from ``base`` on as fit into ``room``.

    Returns the group after the last one drawn, which is ``base`` if that group has more than ``PIECE`` members.
    """
    factors, ids, ends, kept, chosen, before = room
    group, begin = base, np.intp(offsets[base])
    while group < stop and group - base < 4 * PIECE and offsets[group + 1] - begin <= 4 * PIECE:
        if offsets[group + 1] - offsets[group] > PIECE:
            break
        group += 1
    drawn = np.intp(offsets[group]) - begin
    if position.size:
        places = position[begin : begin + drawn]
        for k in range(drawn):
            kept[k] = random_bits(places[k], first, second) >= threshold
    else:
        for k in range(drawn):
            kept[k] = random_bits(begin + k, first, second) >= threshold
    n_eights = (drawn + 7) >> 3
    kept[drawn : 8 * n_eights] = 0
    eights, left = kept.view(np.uint64), np.uintp(0)
    for eight in range(n_eights):
        which = np.uintp((eights[eight] * _EIGHTH) >> np.uint64(56))
        before[eight] = left
        for k in range(8):  # always eight, to avoid a branch: the next eight overwrite the surplus
            chosen[left + np.uintp(k)] = np.int32(8 * eight) + np.int32(_WHICH[which, k])
        left += np.uintp((eights[eight] * _TOTAL) >> np.uint64(56))
    before[n_eights] = left
    if position.size:
        for k in range(left):
            place = begin + chosen[k]
            ids[k], factors[k] = members[place], scale * values[position[place]]
    else:
        for k in range(left):
            place = begin + chosen[k]
            ids[k], factors[k] = members[place], scale * values[place]
    ends[0] = 0
    for one_of in range(base, group):
        end = np.uint64(offsets[one_of + 1] - begin)
        whole, rest = end >> np.uint64(3), end & np.uint64(7)
        ends[one_of - base + 1] = before[whole]
        if rest:
            some = eights[whole] << (np.uint64(64) - np.uint64(8) * rest)
            ends[one_of - base + 1] += (some * _TOTAL) >> np.uint64(56)
    return group


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
    """``segment_loops.gather`` with dropout of the values, for one head and values that all trials share."""
    width, size = x.shape[2], x.itemsize
    number, index, one = x.dtype.type(0), members.dtype.type(0), np.ones(1, x.dtype)
    room = _room(x, members)
    weights, chosen, ends = room[0].ctypes.data, room[1].ctypes.data, room[2]
    giants = 0
    for trial in range(x.shape[0]):
        rows = x.ctypes.data + trial * x.shape[1] * width * size
        first, second = keys[trial, 0], keys[trial, 1]
        base, giants = start, 0
        while base < stop:
            group = _draw(values, position, offsets, members, first, second, threshold, scale, room, base, stop)
            if group == base:
                giants += 1
                base += 1
                continue
            sums = out.ctypes.data + (trial * out.shape[1] + base) * width * size
            groups = (ends, 0, group - base, PIECE, 0)
            matrices = (sums, rows, 1, width)
            sum_in_order((matrices, (chosen, weights, 0), (one.ctypes.data, 0), groups, number, index))
            base = group
    return giants


@compiled
def scatter_dropped(
    x: Array,
    values: Array,
    position: Array,
    keys: Array,
    threshold: int,
    scale: float,
    offsets: Array,
    members: Array,
    parts: Array,
    start: int,
    stop: int,
) -> int:
    """The sums of :func:`gather_dropped`, computed by reading the rows of ``x`` in order.

    The grouping is the transposed one: its groups are the rows of ``x``. This is for sums that all fit into the cache
    of a core. ``parts`` are ``(trials, blocks, sums, width)``, one part per ``BLOCK`` rows, for the blocks from
    ``start`` to ``stop``. Rows with more than ``PIECE`` members are left out; the function returns their number.
    """
    room = _room(x, members)
    factors, ids, ends, _, _, _ = room
    giants = 0
    for trial in range(x.shape[0]):
        first, second = keys[trial, 0], keys[trial, 1]
        giants = 0
        for block in range(start, stop):
            part, rows = parts[trial, block], x[trial]
            part[:] = 0
            base, last = block * BLOCK, min((block + 1) * BLOCK, x.shape[1])
            while base < last:
                group = _draw(values, position, offsets, members, first, second, threshold, scale, room, base, last)
                if group == base:
                    giants += 1
                    base += 1
                    continue
                for row in range(base, group):
                    for p in range(ends[row - base], ends[row - base + 1]):
                        add_row(part, np.intp(ids[p]), factors[p], rows, row)
                base = group
    return giants
