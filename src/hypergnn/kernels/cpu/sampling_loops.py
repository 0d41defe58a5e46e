"""Loops that draw the neighbours of vertices: hyperedges by weight, members evenly, all from counters.

A draw is a pure function of a key, the id of the vertex or hyperedge that draws, and a number. So it is the same in any
process and in any order. Ids come from files that nobody may have read yet: every id is compared with the size of what
it indexes, and a loop that meets a wrong one stops and says so by its result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hypergnn.kernels.cpu.jit import Array, compiled, inlined
from hypergnn.kernels.cpu.simd import AHEAD, fetch_row

_WEYL = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_UNIT = 1.0 / (1 << 53)
LANES = 32
"""Number of rows that are drawn for side by side."""
_FEW = 12
"""Number of places up to which they are sorted by comparing all neighbours."""


@inlined
def _mixed(state: Any) -> Any:
    """64 bits that depend on all bits of the state (the finaliser of splitmix64)."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))


@inlined
def _stream(key: Any, owner: Any) -> Any:
    """The random numbers of one vertex or hyperedge."""
    return _mixed(_mixed(key + np.uint64(owner) * _WEYL) ^ key)


@inlined
def _uniform(stream: Any, number: Any) -> Any:
    """A number of at least 0 and below 1."""
    return np.float64(np.int64(_mixed(stream + np.uint64(number + 1) * _WEYL) >> np.uint64(11))) * _UNIT


@inlined
def _evenly(streams: Array, sizes: Array, wanted: Any, chosen: Array) -> None:
    """Draw ``wanted`` of the places of each of some rows, each set equally likely, in ascending order (Floyd).

    Rows are drawn for side by side, one lane each, so that a processor computes several at once.

    Args:
        streams: The random numbers of each row, ``(LANES,)``.
        sizes: Its number of places.
        wanted: How many places to draw, fewer than each row has.
        chosen: Room for them, ``(wanted, LANES)``.
    """
    is_taken = np.empty(LANES, np.bool_)
    for number in range(wanted):
        for lane in range(LANES):
            last = sizes[lane] - wanted + number
            chosen[number, lane] = min(np.int64(_uniform(streams[lane], number) * (last + 1)), last)
            is_taken[lane] = False
        for other in range(number):
            for lane in range(LANES):
                is_taken[lane] |= chosen[other, lane] == chosen[number, lane]
        for lane in range(LANES):
            chosen[number, lane] = sizes[lane] - wanted + number if is_taken[lane] else chosen[number, lane]
    if wanted > _FEW:
        for lane in range(LANES):
            own = chosen[:wanted, lane].copy()
            own.sort()
            chosen[:wanted, lane] = own
        return
    for end in range(wanted - 1, 0, -1):
        for place in range(end):
            for lane in range(LANES):
                low = min(chosen[place, lane], chosen[place + 1, lane])
                high = max(chosen[place, lane], chosen[place + 1, lane])
                chosen[place, lane], chosen[place + 1, lane] = low, high


@inlined
def _by_weight(stream: Any, share: Array, wanted: Any, chosen: Array) -> Any:
    """Draw ``wanted`` places, each with the probability ``share`` of at most 1; the shares sum to ``wanted``.

    Two places at a time compete until one of them is drawn or out (the pivotal method), so that the probability of each
    is exactly its share. Returns how many were drawn, in ascending order.
    """
    n_drawn, holder = 0, 0
    rest = share[0]
    for place in range(1, share.size):
        other = share[place]
        both = rest + other
        draw = _uniform(stream, place)
        if both < 1:
            if both > 0 and draw * both >= rest:
                holder = place
            rest = both
            continue
        over = both - 1  # what is left for the loser
        if draw * (1 - over) < 1 - other or over >= 1:
            chosen[n_drawn] = holder
            holder = place
        else:
            chosen[n_drawn] = place
        n_drawn += 1
        rest = over
    if n_drawn < wanted and rest > 0.5:  # 1, up to rounding
        chosen[n_drawn] = holder
        n_drawn += 1
    kept = chosen[:n_drawn]
    kept.sort()
    return n_drawn


@compiled
def sizes_of(rows: Array, offsets: Array, most: int, n_pairs: int, ends: Array) -> int:
    """Where the draws of each row end: all of its pairs, at most ``most``. Returns the longest row; -1 if damaged."""
    longest, index = 0, offsets.dtype.type(0)
    for place in range(rows.size):
        if place + 2 * AHEAD < rows.size:
            fetch_row(offsets.ctypes.data, int(rows[place + 2 * AHEAD]), 1, index)
        begin, end = np.int64(offsets[rows[place]]), np.int64(offsets[rows[place] + 1])
        if begin < 0 or end < begin or end > n_pairs:
            return -1
        longest = max(longest, int(end - begin))
        ends[place + 1] = ends[place] + min(end - begin, most)
    return longest


@compiled
def draw_evenly(
    rows: Array, offsets: Array, members: Array, n_columns: int, key: Any, ends: Array, drawn: Array
) -> bool:
    """Draw members of each row evenly, ascending; all of them where there is room. Returns whether all are in range.

    Args:
        rows: The rows that draw.
        offsets: Where the members of each row of the whole begin.
        members: The members.
        n_columns: What members must be below.
        key: The key of the draws.
        ends: Where the draws of each row end, from :func:`sizes_of`.
        drawn: Room for the draws.
    """
    most, chosen = 0, np.empty((0, LANES), np.int64)
    waiting, sizes, n_waiting = np.zeros(LANES, np.int64), np.empty(LANES, np.int64), 0
    streams, index = np.zeros(LANES, np.uint64), members.dtype.type(0)
    n_wrong, n_done = 0, 0
    for place in range(rows.size + 1):
        if n_waiting == LANES or (place == rows.size and n_waiting > 0):
            _evenly(streams, sizes, most, chosen)
            n_wrong += _look_up(drawn, n_done, ends[waiting[0]], members, n_columns)  # fetched in the meantime
            n_done = ends[waiting[0]]
            for lane in range(n_waiting):
                first, begin = ends[waiting[lane]], np.int64(offsets[rows[waiting[lane]]])
                for number in range(most):
                    drawn[first + number] = begin + chosen[number, lane]
                    fetch_row(members.ctypes.data, int(begin + chosen[number, lane]), 1, index)
            n_waiting = 0
        if place == rows.size:
            break
        begin, size = np.int64(offsets[rows[place]]), np.int64(offsets[rows[place] + 1] - offsets[rows[place]])
        if ends[place + 1] - ends[place] < size:
            if most == 0:  # the same for all rows that have more
                most = ends[place + 1] - ends[place]
                chosen = np.empty((most, LANES), np.int64)
                sizes[:] = most + 1  # of lanes that nobody waits in
            waiting[n_waiting], sizes[n_waiting] = place, size
            streams[n_waiting] = _stream(key, rows[place])
            n_waiting += 1
        else:
            fetch_row(members.ctypes.data, int(begin), 1, index)
            for number in range(size):
                drawn[ends[place] + number] = begin + number
    return bool(n_wrong + _look_up(drawn, n_done, drawn.size, members, n_columns) == 0)


@inlined
def _look_up(drawn: Array, start: Any, stop: Any, members: Array, n_columns: int) -> Any:
    """Replace places by the members that stand there; returns how many of them are out of range."""
    n_wrong = 0
    for place in range(start, stop):
        member = np.int64(members[drawn[place]])
        n_wrong += int((member < 0) | (member >= n_columns))
        drawn[place] = member
    return n_wrong


@inlined
def _shares(weights: Array, wanted: Any, share: Array) -> None:
    """The probability of each place: proportional to its weight, at most 1, and ``wanted`` in all."""
    share[:] = 0.0
    sure = 0
    while True:
        total = 0.0
        for place in range(weights.size):
            if share[place] < 1:
                total += weights[place]
        factor, more = (wanted - sure) / total if total > 0 else 0.0, 0
        for place in range(weights.size):
            if share[place] < 1 and weights[place] * factor >= 1:
                share[place] = 1.0
                more += 1
        sure += more
        if more == 0 or sure >= wanted:
            break
    for place in range(weights.size):
        if share[place] < 1:
            share[place] = weights[place] * factor if sure < wanted else 0.0


@compiled
def draw_by_weight(
    rows: Array,
    offsets: Array,
    members: Array,
    n_columns: int,
    weight: Array,
    key: Any,
    longest: int,
    ends: Array,
    drawn: Array,
    factor: Array,
) -> bool:
    """Draw members of each row with probabilities proportional to their weights; see :func:`draw_evenly`.

    ``factor`` becomes the inverse of the probability of each draw: 1 for those that were sure to be drawn.
    """
    chosen, share, weights = np.empty(longest + 1, np.int64), np.empty(longest), np.empty(longest)
    for place in range(rows.size):
        begin, size = np.int64(offsets[rows[place]]), np.int64(offsets[rows[place] + 1] - offsets[rows[place]])
        first, wanted = ends[place], ends[place + 1] - ends[place]
        for number in range(size):
            member = np.int64(members[begin + number])
            if member < 0 or member >= n_columns:
                return False
            weights[number] = weight[member]
        if wanted == size:
            for number in range(size):
                drawn[first + number], factor[first + number] = members[begin + number], 1.0
            continue
        own = share[:size]
        _shares(weights[:size], wanted, own)
        found = _by_weight(_stream(key, rows[place]), own, wanted, chosen)
        for number in range(wanted):
            pick = chosen[min(number, found - 1)]
            drawn[first + number] = members[begin + pick]
            factor[first + number] = 1.0 / own[pick] if number < found else 0.0
    return True


@inlined
def _ones(word: Any) -> Any:
    """Number of ones among 64 bits."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def mark(ids: Array, words: Array) -> None:
    """Set the bit of each id; negative ids are none."""
    for place in range(ids.size):
        if ids[place] >= 0:
            words[ids[place] >> 6] |= np.uint64(1) << np.uint64(ids[place] & 63)


@compiled
def count(words: Array, before: Array) -> int:
    """Write how many bits are set before each word, and return how many there are."""
    total = 0
    for place in range(words.size):
        before[place] = total
        if words[place] != 0:
            total += _ones(words[place])
    return total


@compiled
def list_marked(words: Array, listed: Array) -> None:
    """Write the ids whose bits are set, ascending."""
    number = 0
    for place in range(words.size):
        word = words[place]
        while word != 0:
            lowest = word & (~word + np.uint64(1))
            listed[number] = place * 64 + _ones(lowest - np.uint64(1))
            number += 1
            word ^= lowest


@compiled
def ranks(ids: Array, words: Array, before: Array, found: Array) -> None:
    """Write the rank of each id among those whose bits are set; -1 for a negative id."""
    for place in range(ids.size):
        found[place] = -1
        if ids[place] >= 0:
            lower = (np.uint64(1) << np.uint64(ids[place] & 63)) - np.uint64(1)
            found[place] = before[ids[place] >> 6] + _ones(words[ids[place] >> 6] & lower)


@compiled
def number_by_use(used: Array, numbers: Array, order: Array, n_known: int) -> int:
    """Replace ranks by numbers in the order of their first use; negative ranks are none.

    Args:
        used: The ranks in the order in which they are used, which become numbers.
        numbers: The number of each rank, -1 where it has none yet.
        order: The rank of each number.
        n_known: How many numbers there are already.

    Returns:
        How many there are then.
    """
    for place in range(used.size):
        rank = used[place]
        if rank < 0:
            continue
        if numbers[rank] < 0:
            numbers[rank] = n_known
            order[n_known] = rank
            n_known += 1
        used[place] = numbers[rank]
    return n_known


@compiled
def sort_groups(offsets: Array, members: Array) -> None:
    """Sort the members of each group."""
    for group in range(offsets.size - 1):
        begin, end = offsets[group], offsets[group + 1]
        if end - begin > _FEW:
            own = members[begin:end].copy()
            own.sort()
            members[begin:end] = own
            continue
        for place in range(begin + 1, end):
            member, free = members[place], place
            while free > begin and members[free - 1] > member:
                members[free] = members[free - 1]
                free -= 1
            members[free] = member


@compiled
def transpose(
    offsets: Array, members: Array, back_offsets: Array, back_members: Array, position: Array, inverts: bool
) -> None:
    """Group pairs by member: where each group begins, its rows ascending, and the place of each of its pairs.

    With ``inverts``, ``position`` becomes the inverse: where each of the given pairs stands among those by member.
    """
    back_offsets[:] = 0
    for place in range(members.size):
        back_offsets[members[place] + 1] += 1
    for group in range(1, back_offsets.size):
        back_offsets[group] += back_offsets[group - 1]
    filled = back_offsets[:-1].copy()
    for row in range(offsets.size - 1):
        for place in range(offsets[row], offsets[row + 1]):
            target = filled[members[place]]
            filled[members[place]] += 1
            back_members[target] = row
            if inverts:
                position[place] = target
            else:
                position[target] = place


@compiled
def gather_rows(x: Array, rows: Array, out: Array) -> None:
    """Copy rows of a matrix that may be mapped from a file, converting them to the type of ``out``."""
    width, number = x.shape[1], x.dtype.type(0)
    for place in range(rows.size):
        if place + AHEAD < rows.size:
            fetch_row(x.ctypes.data, np.intp(rows[place + AHEAD]) * width, width, number)
        row, target = x[rows[place]], out[place]
        for column in range(width):
            target[column] = row[column]
