"""The exchange: sums of hyperedges that several processes share are added up; nothing else crosses.

A hyperedge of two processes goes straight from one to the other, in one round. A hyperedge of more has an owner among
them, which adds up what the others send and sends the sum back, in a second round. Every process ends with the same
bits, because additions happen in one place or have two terms only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

from hypergnn.distributed.groups import talking

PIECE = 1 << 23
"""Bytes that a process sends at once: buffers stay small beside the sums."""


@dataclass(frozen=True)
class Route:
    """Which rows to send to each process, and which rows the received ones belong to; both ordered by process."""

    sent: Tensor
    """Own hyperedges whose rows are sent, those for process 0 first, ``(n_sent,)``."""
    received: Tensor
    """Own hyperedges that the rows received belong to, those of process 0 first, ``(n_received,)``."""
    n_sent: tuple[int, ...]
    """How many rows go to each process."""
    n_received: tuple[int, ...]
    """How many rows come from each process."""
    most: int
    """The largest number of rows that a process sends or receives; 0 if nobody needs this round."""

    def to(self, device: torch.device) -> Route:
        """The same with its tensors on a device."""
        moved = (self.sent.to(device), self.received.to(device))
        return Route(*moved, self.n_sent, self.n_received, self.most)


@dataclass(frozen=True)
class Exchange:
    """Adds up rows of hyperedges over processes; see :class:`hypergnn.structures.base.Parts`.

    Args:
        there: The first round: rows for the other process of two, or for the owner.
        back: The second round: sums from the owners.
        group: The process group; the default one if ``None``.
    """

    there: Route
    back: Route
    group: Any = None
    _moved: dict[torch.device, tuple[Route, Route]] = field(default_factory=dict, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the routes; the group belongs to a process."""
        return Exchange, (self.there, self.back)

    def add(self, sums: Tensor) -> Tensor:
        """The sums over all processes, in place, ``(batch, M, ...)``."""
        return self._run(sums, lambda rows, places, arrived: rows.index_add_(0, places, arrived))

    def highest(self, values: Tensor) -> Tensor:
        """The largest values over all processes, in place, ``(batch, M, ...)``."""
        return self._run(values, _keep_larger)

    def highest_of_all(self, value: Tensor) -> Tensor:
        """The largest values over all processes, entry by entry."""
        found = value.detach().clone()
        with talking():
            dist.all_reduce(found, dist.ReduceOp.MAX, group=self.group)
        return found

    def bytes_moved(self, width: int, itemsize: int = 4) -> int:
        """Bytes that this process sends when rows of ``width`` numbers are added up."""
        return (sum(self.there.n_sent) + sum(self.back.n_sent)) * width * itemsize

    def _run(self, rows: Tensor, combine: Callable[[Tensor, Tensor, Tensor], object]) -> Tensor:
        there, back = self._on(rows.device)
        rows = rows.contiguous()

        def merge(places: Tensor, arrived: Tensor) -> None:
            for number, one in enumerate(rows):  # one trial after the other
                combine(one, places, arrived[:, number])

        def replace(places: Tensor, arrived: Tensor) -> None:
            for number, one in enumerate(rows):
                one.index_copy_(0, places, arrived[:, number])

        self._travel(rows, there, merge)
        self._travel(rows, back, replace)
        return rows

    def _travel(self, rows: Tensor, route: Route, arrive: Callable[[Tensor, Tensor], None]) -> None:
        """Send rows along a route in pieces, and give what comes from each process to ``arrive``."""
        width = rows.numel() // max(rows.shape[1], 1) if rows.shape[1] else _width(rows)
        n_pieces = -(-route.most * max(width, 1) * rows.element_size() // PIECE)
        sent, received = _spans(route.n_sent), _spans(route.n_received)
        for piece in range(n_pieces):
            going, coming = _cut(sent, piece, n_pieces), _cut(received, piece, n_pieces)
            chosen = torch.cat([route.sent[start:stop] for start, stop in going])
            out = _selected(rows, chosen)  # (n_sent, batch, ...)
            arrived = out.new_empty(sum(stop - start for start, stop in coming), *out.shape[1:])
            with talking():
                dist.all_to_all_single(arrived, out, _lengths(coming), _lengths(going), group=self.group)
            begin = 0
            for start, stop in coming:  # process by process, so that no row occurs twice
                if stop > start:
                    arrive(route.received[start:stop], arrived[begin : begin + stop - start])
                begin += stop - start

    def _on(self, device: torch.device) -> tuple[Route, Route]:
        if device not in self._moved:
            self._moved[device] = (self.there.to(device), self.back.to(device))
        return self._moved[device]


def _keep_larger(rows: Tensor, places: Tensor, arrived: Tensor) -> None:
    rows[places] = torch.maximum(rows[places], arrived)


def _selected(rows: Tensor, chosen: Tensor) -> Tensor:
    """Rows of hyperedges before all other axes, ``(n, batch, ...)``."""
    if rows.shape[0] == 1:
        return rows[0].index_select(0, chosen).unsqueeze(1)
    return rows.index_select(1, chosen).transpose(0, 1).contiguous()


def _width(rows: Tensor) -> int:
    """Numbers per hyperedge, where there is no hyperedge."""
    size = rows.shape[0]
    for one in rows.shape[2:]:
        size *= one
    return size


def _spans(counts: Sequence[int]) -> list[tuple[int, int]]:
    return list(pairwise(accumulate(counts, initial=0)))


def _cut(spans: Sequence[tuple[int, int]], piece: int, n_pieces: int) -> list[tuple[int, int]]:
    """One piece of each span; both ends of a connection cut the same rows."""
    return [
        (start + (stop - start) * piece // n_pieces, start + (stop - start) * (piece + 1) // n_pieces)
        for start, stop in spans
    ]


def _lengths(spans: Sequence[tuple[int, int]]) -> list[int]:
    return [stop - start for start, stop in spans]
