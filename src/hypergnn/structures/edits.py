"""Hypergraphs that change: hyperedges and vertices come and go, and each edit gives a new frozen structure.

An edit moves what is there instead of sorting it again: its cost is a few passes over the incidences. Degrees of new
hyperedges are added to those that are there; the degrees of the vertices of removed ones are summed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils.checks import (
    Names,
    as_array,
    as_centroids,
    as_members,
    as_names,
    as_times,
    as_weight,
    check_ids,
    check_n_vertices,
    check_size,
)
from hypergnn._utils.times import joined_times
from hypergnn.structures.base import TwoSided
from hypergnn.structures.incidence import Ids, Incidence

Bools = npt.NDArray[np.bool_]
Side = tuple[Incidence, Tensor]
"""Pairs of vertices and hyperedges, and the weighted degree of each vertex in them."""


class Editable(TwoSided):
    """A structure whose edits return new structures."""

    if TYPE_CHECKING:  # fields of the dataclasses
        vertex_names: Names | None
        hyperedge_names: Names | None
        time: Names | None

    def _sides(self) -> tuple[Side, ...]:
        """Its incidences, each once."""
        raise NotImplementedError

    def _edited(
        self,
        sides: Sequence[Side],
        weight: Tensor,
        centroid: Tensor | None,
        vertex_names: Names | None,
        hyperedge_names: Names | None,
        time: Names | None,
    ) -> Self:
        """The structure with other parts, which are known to be valid."""
        raise NotImplementedError

    def add_vertices(self, n: int, *, vertex_names: Any = None) -> Self:
        """A new structure with ``n`` more vertices, which are in no hyperedge yet.

        Args:
            n: How many.
            vertex_names: Their names, if the vertices have names.

        Example:
            >>> from hypergnn import Hypergraph
            >>> Hypergraph.from_hyperedges([[0, 1]], n_vertices=2).add_vertices(3)
            Hypergraph(5 vertices, 1 hyperedges, 2 incidences)
        """
        n = check_size("n", n)
        here = self._here()
        check_n_vertices(here.n_vertices + n)
        names = _followed("vertex_names", here.vertex_names, vertex_names, here.n_vertices, n)
        sides = [(with_rows(pairs, n), torch.cat([degree, degree.new_zeros(n)])) for pairs, degree in here._sides()]
        parts = (here.weight, here.centroid, names, here.hyperedge_names, here.time)
        return self._there(here._edited(sides, *parts))

    def remove(self, hyperedges: Any) -> Self:
        """A new structure without some hyperedges; the others are numbered from 0 in their order.

        Args:
            hyperedges: Their ids.

        Raises:
            ValueError: If there is no hyperedge with such an id.

        Example:
            >>> from hypergnn import Hypergraph
            >>> Hypergraph.from_hyperedges([[0, 1], [1, 2], [2]], n_vertices=3).remove([1]).to_hyperedges()
            [[0, 1], [2]]
        """
        stays = np.ones(self.n_hyperedges, bool)
        ids = check_ids("hyperedges", hyperedges, 1 << 64, "n_hyperedges", minimum=-(1 << 63))
        unknown = ids[(ids < 0) | (ids >= self.n_hyperedges)]
        if unknown.size:
            raise ValueError(
                f"hyperedges must hold ids of the {self.n_hyperedges} hyperedges that are there, from 0; got "
                f"{unknown[0]}. Those with a name are found by numpy.flatnonzero(H.hyperedge_names == name)."
            )
        stays[ids] = False
        return self._with(stays)

    def window(self, start: Any = None, stop: Any = None) -> Self:
        """A new structure with the hyperedges whose :attr:`time` is at least ``start`` and before ``stop``.

        Args:
            start: A number or a date; from the beginning if omitted.
            stop: A number or a date; to the end if omitted.

        Example:
            >>> from hypergnn import Hypergraph
            >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2], [0, 2]], n_vertices=3, time=[1, 5, 9])
            >>> H.window(1, 9).to_hyperedges()
            [[0, 1], [1, 2]]
        """
        if self.time is None:
            raise ValueError("the hyperedges have no time; make the structure with time=…, one entry per hyperedge.")
        given = (("start", start), ("stop", stop))
        ends = [None if one is None else as_times([one], 1, name) for name, one in given]
        if any(one is not None and (one.dtype.kind == "M") != (self.time.dtype.kind == "M") for one in ends):
            raise TypeError(
                f"start and stop must be of the kind of the times, {self.time.dtype}; got {start!r}, {stop!r}."
            )
        first, last = ends
        if first is not None and last is not None and last[0] < first[0]:
            raise ValueError(f"stop must not be before start; got {start!r} to {stop!r}.")
        stays = np.ones(self.n_hyperedges, bool)
        if first is not None:
            stays &= self.time >= first[0]
        if last is not None:
            stays &= self.time < last[0]
        return self._with(stays)

    def _with(self, stays: Bools) -> Self:
        """The structure with some of its hyperedges."""
        here = self._here()
        which = torch.from_numpy(np.flatnonzero(stays))
        weight = here.weight[which]
        sides = []
        for old, degree in here._sides():
            new = selected(old, stays)
            changed = np.unique(old.back_members.numpy()[np.repeat(~stays, np.diff(old.back_offsets.numpy()))])
            sides.append((new, updated(degree, new, weight, changed)))
        centroid = None if here.centroid is None else here.centroid[which]
        if centroid is not None and not bool((centroid >= 0).any()):
            centroid = None
        names = here.hyperedge_names
        names = None if names is None else as_names("hyperedge_names", names[stays], which.shape[0])
        time = None if here.time is None else here.time[stays]
        return self._there(here._edited(sides, weight, centroid, here.vertex_names, names, time))

    def _joined(self, added: Sequence[Incidence], weight: Any, centroid: Any, hyperedge_names: Any, time: Any) -> Self:
        """The structure with more hyperedges: their pairs on each side, and what else belongs to them."""
        here, n_new = self._here(), added[0].n_columns
        ones = torch.ones(n_new, dtype=torch.float64)
        weights = torch.cat([here.weight, ones if weight is None else torch.from_numpy(as_weight(weight, n_new))])
        names = _followed("hyperedge_names", here.hyperedge_names, hyperedge_names, here.n_hyperedges, n_new)
        times = joined_times([here.time, as_times(time, n_new)], [here.n_hyperedges, n_new])
        new_centroid = as_centroids(centroid, here.n_vertices, n_new)
        parts = [(here.centroid, here.n_hyperedges), (new_centroid, n_new)]
        centroids = None
        if any(one is not None for one, _ in parts):
            centroids = torch.cat([torch.full((n,), -1) if one is None else one.long() for one, n in parts])
        sides = []
        for (old, degree), new in zip(here._sides(), added, strict=True):
            sides.append((side_by_side(old, new), continued(degree, new, weights[here.n_hyperedges :])))
        return self._there(here._edited(sides, weights, centroids, here.vertex_names, names, times))

    def _here(self) -> Self:
        """This structure, checked, on the CPU."""
        self.check()
        return self if self.device.type == "cpu" else self.to("cpu")

    def _there(self, made: Self) -> Self:
        """A structure made of sound parts, on the device of this one."""
        made._trust()
        return made if made.device == self.device else made.to(self.device)


def _followed(name: str, old: Names | None, new: Any, n_old: int, n_new: int) -> Names | None:
    """Old names, then new ones: either both or none."""
    if new is None and (old is None or n_new == 0):
        return old
    if (old is None) != (new is None) and n_old:
        has = "the others have names, so give some" if old is not None else "the others have none, so omit them"
        raise ValueError(f"{name} must be given for new ones if the others have names, and only then: {has}.")
    both = [one for one in (old, None if new is None else as_array(new)) if one is not None]
    return as_names(name, np.concatenate(both), n_old + n_new)


def pairs_of_lists(hyperedges: Iterable[Any], n_vertices: int) -> Incidence:
    """Vertices × hyperedges, from the list of the vertices of each."""
    lists = list(hyperedges)
    are_arrays = bool(lists) and all(_are_ids(one) for one in lists)
    lists = lists if are_arrays else [as_members(members) for members in lists]
    sizes = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    together = np.concatenate(lists) if are_arrays else list(chain.from_iterable(lists))
    vertex = check_ids("vertex", together, n_vertices, "n_vertices")
    return Incidence.from_pairs(vertex, np.repeat(np.arange(len(lists)), sizes), n_vertices, len(lists))


def _are_ids(members: Any) -> bool:
    """Whether the vertices of a hyperedge are an array of signed integers, which join others without a conversion."""
    return isinstance(members, np.ndarray) and members.ndim == 1 and members.dtype.kind == "i"


def side_by_side(old: Incidence, new: Incidence) -> Incidence:
    """The columns of one incidence, then those of another with the same rows."""
    n_pairs = old.n_pairs + new.n_pairs
    index = _index_type(old, max(old.n_rows, old.n_columns + new.n_columns, n_pairs))
    offsets, added = (one.offsets.numpy().astype(index, copy=False) for one in (old, new))
    shift = added[:-1]  # how many new pairs stand before the old ones of each row
    new_places = _spread(added, offsets[1:])
    is_old = np.ones(n_pairs, bool)
    is_old[new_places] = False
    members = np.empty(n_pairs, index)
    members[is_old] = old.members.numpy()
    members[new_places] = new.members.numpy() + index(old.n_columns)
    back_members = np.concatenate([one.back_members.numpy() for one in (old, new)], dtype=index)
    back_position = torch.from_numpy(np.empty(n_pairs, index))
    moved, added_position = back_position.split([old.n_pairs, new.n_pairs])  # written in place: memory is what costs
    torch.index_select(torch.from_numpy(shift), 0, old.back_members, out=moved)
    moved += _back(old)
    added_position.copy_(torch.from_numpy(new_places[_back(new).numpy()]))
    back_offsets = np.concatenate([old.back_offsets.numpy(), new.back_offsets.numpy()[1:] + index(old.n_pairs)])
    arrays = (back_offsets.astype(index, copy=False), back_members, back_position.numpy())
    return Incidence(_tensor(offsets + added), _tensor(members), None, *map(_tensor, arrays)).trusted()


def selected(old: Incidence, stays: Bools) -> Incidence:
    """Some columns of an incidence, in their order."""
    index = old.members.numpy().dtype.type
    number = np.cumsum(stays, dtype=index) - index(1)
    members, offsets = old.members.numpy(), old.offsets.numpy()
    pair_stays = stays[members]
    before = np.concatenate([[0], np.cumsum(pair_stays, dtype=index)]).astype(index, copy=False)
    of_column = np.repeat(stays, np.diff(old.back_offsets.numpy()))
    sizes = np.diff(old.back_offsets.numpy())[stays]
    back_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(index, copy=False)
    back_position = before[_back(old).numpy()[of_column]]
    arrays = (back_offsets, old.back_members.numpy()[of_column], back_position)
    pairs = Incidence(_tensor(before[offsets]), _tensor(number[members[pair_stays]]), None, *map(_tensor, arrays))
    return pairs.trusted()


def with_rows(old: Incidence, n_new: int) -> Incidence:
    """The same pairs with more rows, which are empty."""
    return old._replace(offsets=torch.cat([old.offsets, old.offsets[-1:].expand(n_new)])).trusted()


def updated(degree: Tensor, pairs: Incidence, weight: Tensor, rows: Ids) -> Tensor:
    """The degrees, with those of some rows summed again in the order that a new structure uses."""
    if rows.size == 0:
        return degree
    places, sizes = pairs.pairs_of(rows)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    columns = pairs.members.numpy()[places]
    matrix = sparse.csr_array((np.ones(columns.size), columns, ends), shape=(rows.size, pairs.n_columns))
    new = degree.clone()
    new[torch.from_numpy(rows)] = torch.from_numpy(matrix @ weight.numpy())
    return new


def continued(degree: Tensor, new: Incidence, weight: Tensor) -> Tensor:
    """The degrees plus those of new columns, added one after the other as in a new structure."""
    sums = degree.clone()
    of_pairs = np.repeat(weight.numpy(), np.diff(new.back_offsets.numpy()))  # by column: costs nothing per row
    np.add.at(sums.numpy(), new.back_members.numpy(), of_pairs)
    return sums


def _spread(offsets: Ids, shift: Ids) -> Ids:
    """The place of each pair after those of row ``r`` have moved by ``shift[r]``."""
    return np.arange(offsets[-1], dtype=offsets.dtype) + np.repeat(shift, np.diff(offsets))


def _back(pairs: Incidence) -> Tensor:
    if pairs.back_position is None:
        raise TypeError("pairs must be grouped by row in their canonical order.")
    return pairs.back_position


def _index_type(old: Incidence, largest: int) -> type[np.integer[Any]]:
    fits = largest < np.iinfo(np.int32).max and old.members.dtype == torch.int32
    return np.int32 if fits else np.int64


def _tensor(array: Ids) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))
