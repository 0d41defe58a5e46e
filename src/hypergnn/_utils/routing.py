"""Which rows of hyperedges go to which process, when several processes share hyperedges; in NumPy only.

A hyperedge of two processes goes straight from one to the other. One of more has an owner among them, which adds up
what the others send and sends the sum back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]


class Sharers(NamedTuple):
    """The processes of some hyperedges."""

    hyperedges: Ids
    """Their numbers in the whole."""
    ends: Ids
    """Where the processes of each begin, and where the last ones end."""
    processes: Ids
    """The processes of each hyperedge, ascending."""

    def owners(self) -> Ids:
        """The owner of each hyperedge: its processes take turns; 0 where it has none.

        Example:
            >>> Sharers(np.array([4, 5]), np.array([0, 2, 4]), np.array([0, 3, 0, 3])).owners()
            array([0, 3])
        """
        if not self.processes.size:
            return np.zeros(self.hyperedges.size, np.int64)
        turn = self.hyperedges % np.maximum(np.diff(self.ends), 1)
        owned: Ids = self.processes[np.minimum(self.ends[:-1] + turn, self.processes.size - 1)].astype(np.int64)
        return owned

    def pairs(self) -> tuple[Ids, Ids, Ids]:
        """Of each hyperedge and each of its processes: number of processes, place of the hyperedge, process."""
        sizes = np.diff(self.ends)
        row = np.repeat(np.arange(self.hyperedges.size), sizes)
        return sizes[row], row, self.processes.astype(np.int64)


class Rows(NamedTuple):
    """Rows that a process sends and receives in one round, ordered by the other process, with their numbers."""

    sent: Ids
    received: Ids
    n_sent: tuple[int, ...]
    n_received: tuple[int, ...]


def routes(process: int, sharers: Sharers, n: int) -> tuple[Rows, Rows]:
    """What a process sends and receives, there and back.

    Args:
        process: The process.
        sharers: The processes of its hyperedges.
        n: Number of processes.
    """
    shared, row, other = sharers.pairs()
    is_other = other != process
    shared, row, other = shared[is_other], row[is_other], other[is_other]
    owner, several = sharers.owners()[row], shared > 2
    to_owner, from_owner = several & (owner == other), several & (owner == process)
    there = _rows(row, other, (shared == 2) | to_owner, (shared == 2) | from_owner, n)
    return there, _rows(row, other, from_owner, to_owner, n)


def largest_rounds(direct: Ids, sent: Ids, received: Ids) -> tuple[int, int]:
    """The most rows that a process sends or receives, in each round.

    Args:
        direct: Hyperedges of each process that it shares with one other.
        sent: Hyperedges of each process that it sends to another owner.
        received: Rows that each process receives as an owner.

    Example:
        >>> largest_rounds(np.array([2, 2]), np.array([1, 0]), np.array([0, 1]))
        (3, 1)
    """
    there = np.maximum(direct + sent, direct + received)
    return int(there.max(initial=0)), int(np.maximum(sent, received).max(initial=0))


def _rows(row: Ids, other: Ids, sends: npt.NDArray[np.bool_], receives: npt.NDArray[np.bool_], n: int) -> Rows:
    def ordered(chosen: npt.NDArray[np.bool_]) -> tuple[Ids, tuple[int, ...]]:
        places = np.flatnonzero(chosen)
        places = places[np.argsort(other[places], kind="stable")]
        return row[places], tuple(np.bincount(other[places], minlength=n).tolist())

    (sent, n_sent), (received, n_received) = ordered(sends), ordered(receives)
    return Rows(sent, received, n_sent, n_received)
