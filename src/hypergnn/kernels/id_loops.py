"""Loops over ids in NumPy arrays: what mini-batches draw, and which process gets a vertex.

They have no gradient and need numba, which is imported at the first call. They write into arrays of the caller and
check no bounds beyond those that they say they do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn.kernels.dispatch import compiled

Array = npt.NDArray[Any]


def sizes_of(rows: Array, offsets: Array, most: int, n_pairs: int, ends: Array) -> int:
    """Where the draws of each row end: all of its pairs, at most ``most``. Returns the longest row; -1 if damaged."""
    return int(compiled.sampling_loops.sizes_of(rows, offsets, most, n_pairs, ends))


def draw_evenly(
    rows: Array, offsets: Array, members: Array, n_columns: int, key: np.uint64, ends: Array, drawn: Array
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
    return bool(compiled.sampling_loops.draw_evenly(rows, offsets, members, n_columns, key, ends, drawn))


def draw_by_weight(
    rows: Array,
    offsets: Array,
    members: Array,
    n_columns: int,
    weight: Array,
    key: np.uint64,
    longest: int,
    ends: Array,
    drawn: Array,
    factor: Array,
) -> bool:
    """Draw members of each row with probabilities proportional to their weights; see :func:`draw_evenly`.

    ``factor`` becomes the inverse of the probability of each draw: 1 for those that were sure to be drawn.
    """
    loop = compiled.sampling_loops.draw_by_weight
    return bool(loop(rows, offsets, members, n_columns, weight, key, longest, ends, drawn, factor))


def mark(ids: Array, words: Array) -> None:
    """Set the bit of each id; negative ids are none."""
    compiled.sampling_loops.mark(ids, words)


def count(words: Array, before: Array) -> int:
    """Write how many bits are set before each word, and return how many there are."""
    return int(compiled.sampling_loops.count(words, before))


def list_marked(words: Array, listed: Array) -> None:
    """Write the ids whose bits are set, ascending."""
    compiled.sampling_loops.list_marked(words, listed)


def ranks(ids: Array, words: Array, before: Array, found: Array) -> None:
    """Write the rank of each id among those whose bits are set; -1 for a negative id."""
    compiled.sampling_loops.ranks(ids, words, before, found)


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
    return int(compiled.sampling_loops.number_by_use(used, numbers, order, n_known))


def sort_groups(offsets: Array, members: Array) -> None:
    """Sort the members of each group."""
    compiled.sampling_loops.sort_groups(offsets, members)


def transpose(
    offsets: Array, members: Array, back_offsets: Array, back_members: Array, position: Array, inverts: bool
) -> None:
    """Group pairs by member: where each group begins, its rows ascending, and the place of each of its pairs.

    With ``inverts``, ``position`` becomes the inverse: where each of the given pairs stands among those by member.
    """
    compiled.sampling_loops.transpose(offsets, members, back_offsets, back_members, position, inverts)


def gather_rows(x: Array, rows: Array, out: Array) -> None:
    """Copy rows of a matrix that may be mapped from a file, converting them to the type of ``out``."""
    compiled.sampling_loops.gather_rows(x, rows, out)


def breadth_first(
    offsets: Array, members: Array, back_offsets: Array, back_members: Array, most: int, order: Array
) -> None:
    """Number the vertices breadth first, from the first vertex of each component.

    Hyperedges with more than ``most`` members are not followed: they join everything and would make the order random.
    """
    compiled.partition_loops.breadth_first(offsets, members, back_offsets, back_members, most, order)


def stream(
    order: Array,
    offsets: Array,
    members: Array,
    back_offsets: Array,
    counts: Array,
    process: Array,
    load: Array,
    most: float,
    refines: bool,
) -> int:
    """Give each vertex, in this order, to the process where most of its hyperedges are; return how many have moved.

    Args:
        order: The vertices.
        offsets: Of the hyperedges of each vertex.
        members: The hyperedges.
        back_offsets: Of the members of each hyperedge.
        counts: Members of each hyperedge in each process so far, ``(M, processes)``; updated.
        process: The process of each vertex, -1 if it has none yet; updated.
        load: The cost of each process so far; updated. A vertex costs one, and each of its incidences one.
        most: The largest cost that a process may have.
        refines: Whether to count which hyperedges would no longer be cut, and not how many members are there.
    """
    loop = compiled.partition_loops.stream
    return int(loop(order, offsets, members, back_offsets, counts, process, load, most, refines))
