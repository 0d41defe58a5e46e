"""A division of vertices that cuts few hyperedges: a stream of vertices, each to where its hyperedges are already."""

from __future__ import annotations

import numpy as np

from hypergnn.kernels.cpu.jit import Array, compiled


@compiled
def breadth_first(
    offsets: Array, members: Array, back_offsets: Array, back_members: Array, most: int, order: Array
) -> None:
    """Number the vertices breadth first, from the first vertex of each component.

    Hyperedges with more than ``most`` members are not followed: they join everything and would make the order random.
    """
    n_vertices, n_hyperedges = offsets.shape[0] - 1, back_offsets.shape[0] - 1
    seen, followed = np.zeros(n_vertices, np.bool_), np.zeros(n_hyperedges, np.bool_)
    end = 0
    for root in range(n_vertices):
        if seen[root]:
            continue
        seen[root] = True
        order[end] = root
        begin = end
        end += 1
        while begin < end:
            vertex = order[begin]
            begin += 1
            for place in range(offsets[vertex], offsets[vertex + 1]):
                hyperedge = members[place]
                if followed[hyperedge]:
                    continue
                followed[hyperedge] = True
                first, last = back_offsets[hyperedge], back_offsets[hyperedge + 1]
                if last - first > most:
                    continue
                for other in range(first, last):
                    member = back_members[other]
                    if not seen[member]:
                        seen[member] = True
                        order[end] = member
                        end += 1


@compiled
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
    n = load.shape[0]
    gains = np.zeros(n, np.float64)
    moved = 0
    for number in range(order.shape[0]):
        vertex = order[number]
        first, last = offsets[vertex], offsets[vertex + 1]
        cost = 1.0 + (last - first)
        before = process[vertex]
        gains[:] = 0.0
        if before >= 0:
            load[before] -= cost
            for place in range(first, last):
                counts[members[place], before] -= 1
        for place in range(first, last):
            hyperedge = members[place]
            size = back_offsets[hyperedge + 1] - back_offsets[hyperedge]
            if size < 2:
                continue
            for one in range(n):
                there = counts[hyperedge, one]
                if there > 0:
                    gains[one] += 1.0 if refines else (0.1 + there / size) / np.sqrt(size - 1.0)
        best = before
        highest = -np.inf
        for one in range(n):
            room = most - load[one] - cost
            gain = gains[one]
            if not refines:
                gain *= max(1.0 - load[one] / most, 0.0)
            elif one == before:
                gain += 1e-6
            if (room >= 0 or one == before) and (gain > highest or (gain == highest and load[one] < load[best])):
                highest, best = gain, one
        if highest == -np.inf:
            best = np.argmin(load)
        moved += best != before
        process[vertex] = best
        load[best] += cost
        for place in range(first, last):
            counts[members[place], best] += 1
    return moved
