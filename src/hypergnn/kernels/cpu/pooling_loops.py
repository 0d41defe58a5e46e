"""The largest row of each group, feature by feature."""

from __future__ import annotations

import numpy as np

from hypergnn.kernels.cpu.jit import Array, compiled


@compiled
def largest_members(x: Array, offsets: Array, members: Array, most: Array, out: Array, start: int, stop: int) -> None:
    """Which member of each group has the largest entry of each column, the first of several; -1 for an empty group.

    Shapes: ``x`` ``(trials, members, width)``, ``out`` ``(trials, groups, width)``; ``most`` is scratch, like ``out``.
    """
    width = x.shape[2]
    for trial in range(x.shape[0]):
        rows = x[trial]
        for group in range(start, stop):
            begin, end = offsets[group], offsets[group + 1]
            which, highest = out[trial, group], most[trial, group]
            if begin == end:
                which[:] = -1
                continue
            first = np.intp(members[begin])
            for k in range(width):
                highest[k] = rows[first, k]
                which[k] = first
            for place in range(begin + 1, end):
                member = np.intp(members[place])
                row = rows[member]
                for k in range(width):
                    if row[k] > highest[k]:
                        highest[k] = row[k]
                        which[k] = member
