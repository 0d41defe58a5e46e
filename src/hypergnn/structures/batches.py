"""Several hypergraphs as one: their disjoint union, which knows whose vertices and hyperedges it holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from hypergnn._utils.checks import Names
from hypergnn._utils.times import joined_times
from hypergnn.structures.base import STATIC
from hypergnn.structures.hypergraph import Hypergraph

_MOST_EMPTY = 10_000
"""How many more members than vertices and hyperedges there may be: only a file needs no room for empty ones."""


@dataclass(frozen=True, eq=False, repr=False)
class HypergraphBatch(Hypergraph):
    """The disjoint union of some hypergraphs, the members of the batch; make one with :func:`batch`.

    It is a hypergraph, and every layer takes it. Nothing flows between members, so each gets what it gets alone.

    Attributes:
        vertex_member: Which member each vertex belongs to, ``(N,)`` int64, ascending.
        hyperedge_member: Which member each hyperedge belongs to, ``(M,)`` int64, ascending.
        n_members: Number of members, empty ones included.

    Example:
        >>> from hypergnn import batch
        >>> triangle = Hypergraph.from_hyperedges([[0, 1, 2]], n_vertices=3)
        >>> both = batch([triangle, Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2)])
        >>> both
        HypergraphBatch(2 members, 5 vertices, 3 hyperedges, 6 incidences)
        >>> both.vertex_member.tolist(), both.hyperedge_member.tolist()
        ([0, 0, 0, 1, 1], [0, 1, 1])
    """

    vertex_member: Tensor | None = None
    hyperedge_member: Tensor | None = None
    n_members: int = field(default=1, metadata=STATIC)

    def __post_init__(self) -> None:
        """Take everything for one member if nothing else is said."""
        super().__post_init__()
        for name, size in (("vertex_member", self.n_vertices), ("hyperedge_member", self.n_hyperedges)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, torch.zeros(size, dtype=torch.int64, device=self.device))

    def split(self) -> list[Hypergraph]:
        """The members, as they were.

        Example:
            >>> from hypergnn import batch
            >>> one, other = Hypergraph.from_hyperedges([[0, 1]], 2), Hypergraph.from_hyperedges([[0], []], 1)
            >>> [member.to_hyperedges() for member in batch([one, other]).split()]
            [[[0, 1]], [[0], []]]
        """
        vertices, hyperedges = (
            _starts(self.vertex_member, self.n_members),
            _starts(self.hyperedge_member, self.n_members),
        )
        vertex, hyperedge = self._vertex_ids.cpu().numpy(), self._hyperedge_ids.cpu().numpy()
        weight = self.weight.cpu().numpy()
        centroid = None if self.centroid is None else self.centroid.cpu().numpy()
        members = []
        for own, edges in zip(_slices(vertices), _slices(hyperedges), strict=True):
            places = slice(*np.searchsorted(vertex, [own.start, own.stop]))
            around = None if centroid is None else np.where(centroid[edges] < 0, -1, centroid[edges] - own.start)
            member = Hypergraph.from_incidence(
                vertex[places] - own.start,
                hyperedge[places] - edges.start,
                own.stop - own.start,
                edges.stop - edges.start,
                weight[edges],
                None if around is None or (around < 0).all() else around,
                _own_names(self.vertex_names, own),
                _own_names(self.hyperedge_names, edges),
                None if self.time is None else self.time[edges],
            )
            members.append(member.to(self.device))
        return members

    def _here(self) -> HypergraphBatch:
        raise TypeError("a batch cannot be edited; edit its members, batch.split(), and join them with hg.batch([…]).")

    def _to_tensors(self) -> dict[str, Tensor]:
        own = {"n_members": torch.tensor([self.n_members])}
        return (
            super()._to_tensors() | own | {name: getattr(self, name) for name in ("vertex_member", "hyperedge_member")}
        )

    @classmethod
    def _from_tensors(cls, stored: Any, labels: Mapping[str, Any]) -> HypergraphBatch:
        n_members = int(stored.take("n_members", torch.ones(1, dtype=torch.int64)))
        members = {name: stored.take(name) for name in ("vertex_member", "hyperedge_member")}
        whole = cast(HypergraphBatch, super()._from_tensors(stored, labels))
        most = whole.n_vertices + whole.n_hyperedges + _MOST_EMPTY
        if not 0 <= n_members <= most:
            raise ValueError(f"its n_members must be at most {most}; got {n_members}.")
        for (name, member), size in zip(members.items(), (whole.n_vertices, whole.n_hyperedges), strict=True):
            is_valid = member.shape == (size,) and member.dtype == torch.int64 and not bool((member.diff() < 0).any())
            if not is_valid or (size and not 0 <= int(member[0]) <= int(member[-1]) < n_members):
                raise ValueError(f"its {name} must be {size} ascending int64 numbers below {n_members}.")
        return replace(whole, **members, n_members=n_members)

    def _check_content(self) -> None:
        super()._check_content()
        of_vertex, of_hyperedge = cast(Tensor, self.vertex_member), cast(Tensor, self.hyperedge_member)
        if not torch.equal(of_vertex[self.incidence.rows().long()], of_hyperedge[self.incidence.members.long()]):
            raise ValueError("a hyperedge of it holds vertices of another member.")
        if self.centroid is not None:
            has = self.centroid >= 0
            if not torch.equal(of_vertex[self.centroid[has]], of_hyperedge[has]):
                raise ValueError("a hyperedge of it has its centroid in another member.")
        for names in (self.vertex_names, self.hyperedge_names):
            if names is not None and not all(isinstance(one, tuple) and len(one) == 2 for one in names.tolist()):
                raise ValueError("its names must be pairs of a member and a name.")

    def _rebuilt(self) -> HypergraphBatch:
        members = {name: getattr(self, name) for name in ("vertex_member", "hyperedge_member", "n_members")}
        return replace(cast(HypergraphBatch, super()._rebuilt()), **members)

    def _sizes(self) -> str:
        return f"{self.n_members} members, {super()._sizes()}"


def batch(hypergraphs: Sequence[Hypergraph]) -> HypergraphBatch:
    """Join hypergraphs into one, side by side: vertices and hyperedges of the first, then those of the next, and so on.

    Put their features one below the other, ``torch.cat([x1, x2])``. Weights, centroids and times stay as they are. If
    some vertices have names, all become pairs ``(member, name)``, with the number in place of a missing name. The same
    holds for hyperedges.

    Args:
        hypergraphs: The members, at least one, on one device.

    Raises:
        TypeError: If a member is not a hypergraph.
        ValueError: If there is none, they are on different devices, or only some have times.

    Example:
        >>> import torch, hypergnn as hg
        >>> one = hg.Hypergraph.from_hyperedges([[0, 1, 2]], n_vertices=3)
        >>> other = hg.Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2)
        >>> layer, x1, x2 = hg.HypergraphConv(4, 2), torch.rand(3, 4), torch.rand(2, 4)
        >>> out = layer(torch.cat([x1, x2]), hg.batch([one, other]))
        >>> torch.testing.assert_close(out[3:], layer(x2, other))
    """
    if not isinstance(hypergraphs, Iterable) or isinstance(hypergraphs, str):
        raise TypeError(f"hypergraphs must be a sequence of Hypergraph; got {type(hypergraphs).__name__}.")
    members = list(hypergraphs)
    for place, one in enumerate(members):
        if not isinstance(one, Hypergraph):
            raise TypeError(f"hypergraphs must be a sequence of Hypergraph; number {place} is a {type(one).__name__}.")
    if not members:
        raise ValueError("hypergraphs must hold at least one hypergraph; got none.")
    devices = {str(one.device) for one in members}
    if len(devices) > 1:
        raise ValueError(f"hypergraphs must be on one device; got {', '.join(sorted(devices))}. Move some with .to().")
    n_vertices, n_hyperedges = [one.n_vertices for one in members], [one.n_hyperedges for one in members]
    if len(members) > sum(n_vertices) + sum(n_hyperedges) + _MOST_EMPTY:
        raise ValueError(f"hypergraphs must hold at most {_MOST_EMPTY} empty ones; got {len(members)} hypergraphs.")
    first_vertex, first_hyperedge = _before(n_vertices), _before(n_hyperedges)
    shifted = zip(members, first_vertex, strict=True)
    whole = HypergraphBatch.from_incidence(
        np.concatenate([one._vertex_ids.cpu().numpy() + first for one, first in shifted]),
        np.concatenate(
            [one._hyperedge_ids.cpu().numpy() + first for one, first in zip(members, first_hyperedge, strict=True)]
        ),
        sum(n_vertices),
        sum(n_hyperedges),
        np.concatenate([one.weight.cpu().numpy() for one in members]),
        _centroids(members, first_vertex),
        _names([one.vertex_names for one in members], n_vertices),
        _names([one.hyperedge_names for one in members], n_hyperedges),
        joined_times([one.time for one in members], n_hyperedges),
    )
    numbers = torch.arange(len(members))
    return replace(
        cast(HypergraphBatch, whole),
        vertex_member=numbers.repeat_interleave(torch.tensor(n_vertices)),
        hyperedge_member=numbers.repeat_interleave(torch.tensor(n_hyperedges)),
        n_members=len(members),
    ).to(members[0].device)


def _before(sizes: list[int]) -> list[int]:
    return list(accumulate(sizes, initial=0))[:-1]


def _starts(member: Tensor | None, n_members: int) -> list[int]:
    """Where each member begins, and where the last one ends."""
    ascending = torch.zeros(0) if member is None else member.cpu()
    return list(map(int, np.searchsorted(ascending.numpy(), np.arange(n_members + 1))))


def _slices(starts: list[int]) -> list[slice]:
    return [slice(start, stop) for start, stop in pairwise(starts)]


def _centroids(members: Sequence[Hypergraph], first_vertex: Sequence[int]) -> Any:
    if all(one.centroid is None for one in members):
        return None
    found = []
    for one, first in zip(members, first_vertex, strict=True):
        own = np.full(one.n_hyperedges, -1) if one.centroid is None else one.centroid.cpu().numpy()
        found.append(np.where(own < 0, -1, own + first))
    return np.concatenate(found)


def _names(names: Sequence[Names | None], sizes: Sequence[int]) -> Names | None:
    """Pairs of member and name; ``None`` if no member has names."""
    if all(own is None for own in names):
        return None
    pairs = [
        (number, name)
        for number, (own, size) in enumerate(zip(names, sizes, strict=True))
        for name in (range(size) if own is None else own.tolist())
    ]
    found = np.empty(len(pairs), dtype=object)
    found[:] = pairs
    return found


def _own_names(names: Names | None, own: slice) -> Any:
    return None if names is None else [name for _, name in names[own]]
