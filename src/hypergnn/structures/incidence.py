"""Pairs (row, column) in both orders: what every sparse product of the package runs over.

The incidences of a hypergraph, the links of a graph and the non-zeros of sparse features are all such pairs. Their
*canonical* order is by row, then by column; whatever has one entry per pair (attention, for example) follows it.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils import pairs as sound

Ids = npt.NDArray[np.integer[Any]]


class Known(NamedTuple):
    """What is known of pairs that were checked, as long as their tensors live."""

    changes: int
    """How often their tensors had been changed in place when they were checked; -1 if that is not counted."""
    n_places: int
    """Number of entries that values of the pairs must have: the highest position and one more."""
    n_rows: int
    n_columns: int
    links: tuple[ref[Tensor], ...] = ()
    """Weak references that remove this entry when a tensor is deleted, because another tensor may get its id."""


KNOWN: dict[tuple[int, ...], Known] = {}
"""What is known of pairs, by the numbers of their tensors."""


class Incidence(NamedTuple):
    """A set of pairs, grouped by row; :attr:`T` is the same set grouped by column.

    The pairs of row ``r`` are ``offsets[r]:offsets[r + 1]``, and ``members`` holds their columns. ``position`` says
    where each of them stands in the canonical order; ``None`` means that they are in it. The fields ``back_…`` are the
    same for the columns.

    Compiled loops read these tensors themselves. A change in place is noticed and refused by the next call, unless it
    goes through ``.numpy()`` or ``.data``, which torch does not count: never write through these.

    Example:
        >>> pairs = Incidence.from_pairs(np.array([1, 0, 1]), np.array([0, 0, 2]), n_rows=2, n_columns=3)
        >>> pairs.members.tolist(), pairs.T.members.tolist()
        ([0, 0, 2], [0, 1, 1])
    """

    offsets: Tensor  # (n_rows + 1,)
    members: Tensor  # (n_pairs,)
    position: Tensor | None  # (n_pairs,)
    back_offsets: Tensor  # (n_columns + 1,)
    back_members: Tensor  # (n_pairs,)
    back_position: Tensor | None  # (n_pairs,)

    @classmethod
    def from_pairs(cls, rows: Ids, columns: Ids, n_rows: int, n_columns: int) -> Incidence:
        """Sort pairs of ids into both orders, in time linear in their number.

        Beside the result it needs one more array of that size: ids are narrowed here and not by the caller, so that
        nobody holds the narrowed ones once they are sorted.

        Raises:
            ValueError: If a pair occurs twice.
        """
        fits = max(n_rows, n_columns, rows.size) < np.iinfo(np.int32).max
        index = np.int32 if fits else np.int64
        shape = (n_rows, n_columns)
        by_row = _by_row(rows.astype(index, copy=False), columns.astype(index, copy=False), shape, np.int8)
        if by_row.nnz < rows.size:
            raise ValueError(_repetition(rows, columns, shape))
        by_row.data = np.arange(rows.size, dtype=index)
        by_column = by_row.tocsc()
        with torch.inference_mode(False):  # tensors of that mode do not count how often they are changed
            return cls(
                offsets=torch.from_numpy(by_row.indptr.astype(index, copy=False)),
                members=torch.from_numpy(by_row.indices.astype(index, copy=False)),
                position=None,
                back_offsets=torch.from_numpy(by_column.indptr.astype(index, copy=False)),
                back_members=torch.from_numpy(by_column.indices.astype(index, copy=False)),
                back_position=torch.from_numpy(by_column.data),
            ).trusted()

    @property
    def T(self) -> Incidence:
        """The same pairs grouped by column."""
        return Incidence(*self[3:], *self[:3])

    @property
    def n_rows(self) -> int:
        """Number of rows, empty ones included."""
        return self.offsets.shape[0] - 1

    @property
    def n_columns(self) -> int:
        """Number of columns, empty ones included."""
        return self.back_offsets.shape[0] - 1

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return self.members.shape[0]

    def check(self) -> Known | None:
        """Raise unless the pairs are sound, which is looked up the first time only, and unchanged since then.

        Pairs are sound if offsets ascend from 0 to their number, ids are in range and ascend within each group, and
        both orders hold the same pairs. Compiled loops rely on it. Pairs made by :meth:`from_pairs` are known to be.
        Nothing is checked while a program is being traced, or on the device ``meta``.

        Returns:
            What is known of the pairs.

        Raises:
            ValueError: If the pairs are not sound, or one of the tensors was changed in place.

        Example:
            >>> pairs = Incidence.from_pairs(np.array([0, 1]), np.array([2, 0]), n_rows=2, n_columns=3)
            >>> _ = pairs.check()
            >>> pairs._replace(members=torch.tensor([2, 7], dtype=torch.int32)).check()
            Traceback (most recent call last):
            ...
            ValueError: members must hold ids from 0 to 2; got 7.
        """
        if torch.compiler.is_compiling():
            return None
        known = KNOWN.get(tuple(map(id, self)))
        if known is None:
            return self._checked()
        if known.changes != _changes(self):
            raise ValueError(
                "the ids of a structure were changed in place, so that results computed from them no longer hold. "
                "Change a copy, e.g. members.clone(), and build a new structure from it."
            )
        return known

    def trusted(self) -> Incidence:
        """The same pairs, marked as sound; for callers that have made them of pairs that are."""
        n_places = self.n_pairs
        if self.position is not None and self.back_position is not None and n_places:
            n_places = int(self.position.max()) + 1
        for pairs in (self, self.T):
            key = tuple(map(id, pairs))
            links = tuple(ref(one, partial(_forget, key)) for one in pairs if one is not None)
            KNOWN[key] = Known(_changes(pairs), n_places, pairs.n_rows, pairs.n_columns, links)
        return self

    def _checked(self) -> Known | None:
        """Look at all pairs, and remember that they are sound."""
        tensors = [one for one in self if one is not None]
        sound.check_ids_alike(tensors)
        if self.offsets.device.type == "meta" or type(self.offsets) is not Tensor:
            return None
        with torch.no_grad():
            _check_sound(self)
        self.trusted()
        return KNOWN[tuple(map(id, self))]

    def rows(self) -> Tensor:
        """The row of each pair, ``(n_pairs,)``, in the order of :attr:`members`."""
        self.check()
        return torch.repeat_interleave(self.offsets.diff(), output_size=self.n_pairs)

    def to(self, device: torch.device | str) -> Incidence:
        """The same pairs on ``device``."""
        moved: list[Any] = [None if one is None else one.to(device) for one in self]
        pairs = Incidence(*moved)
        return pairs.trusted() if tuple(map(id, self)) in KNOWN and torch.device(device).type != "meta" else pairs

    def select_rows(self, rows: Ids) -> Incidence:
        """The pairs of some rows, numbered from 0 in the order given; the columns stay what they are.

        Example:
            >>> pairs = Incidence.from_pairs(np.array([0, 1, 1]), np.array([0, 0, 2]), n_rows=2, n_columns=3)
            >>> pairs.select_rows(np.array([1])).members.tolist()
            [0, 2]
        """
        places, sizes = self.pairs_of(rows)
        columns = self.members.cpu().numpy()[places]
        return Incidence.from_pairs(np.repeat(np.arange(rows.size), sizes), columns, rows.size, self.n_columns)

    def pairs_of(self, rows: Ids) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Places of the pairs of some rows, one row after the other, and the number of pairs of each row."""
        self.check()
        ends = self.offsets.cpu().numpy().astype(np.int64)
        starts, sizes = ends[rows], ends[rows + 1] - ends[rows]
        before = np.cumsum(sizes) - sizes
        return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum())), sizes


def _forget(key: tuple[int, ...], _: ref[Tensor]) -> None:
    KNOWN.pop(key, None)


def _changes(pairs: Incidence) -> int:
    """How often the tensors were changed in place, all together; -1 in the inference mode, which does not count it."""
    tensors = [one for one in pairs if one is not None]
    return -1 if any(one.is_inference() for one in tensors) else sum(one._version for one in tensors)


def _check_sound(pairs: Incidence) -> None:
    """Raise unless sizes, offsets and ids are those of pairs in both orders."""
    if pairs.position is not None and pairs.back_position is None:
        pairs = pairs.T  # whose canonical order is the first
    offsets, members, position, back_offsets, back_members, back_position = pairs
    n_pairs = members.shape[0]
    lengths = {one.shape[0] for one in (members, position, back_members, back_position) if one is not None}
    if lengths != {n_pairs}:
        raise ValueError(f"there must be {n_pairs} ids in each order; got {sorted(lengths)}.")
    groupings = [(offsets, members, pairs.n_columns)]
    if back_offsets is not offsets or back_members is not members:
        groupings.append((back_offsets, back_members, pairs.n_rows))
    for starts, _, _ in groupings:
        sound.check_offsets(starts, n_pairs)
    for starts, ids, size in groupings:
        sound.check_range("members", ids, size)
        sound.check_order(starts, ids)
    if position is not None and back_position is not None:  # of some rows of sparse features
        sound.check_range("position", position, torch.iinfo(position.dtype).max)
        sound.check_placed((offsets, members, position), (back_offsets, back_members, back_position))
        return
    if back_position is not None:
        sound.check_range("position", back_position, n_pairs)
    is_symmetric = len(groupings) == 1 and back_position is None
    if not is_symmetric:  # else it is its own transpose, and has no values
        sound.check_both_orders(offsets, members, back_offsets, back_members, back_position)


def _by_row(rows: Ids, columns: Ids, shape: tuple[int, int], count: type[np.integer[Any]]) -> sparse.csr_array:
    """How often each pair occurs."""
    return sparse.coo_array((np.ones(rows.size, dtype=count), (rows, columns)), shape=shape).tocsr()


def _repetition(rows: Ids, columns: Ids, shape: tuple[int, int]) -> str:
    counts = _by_row(rows, columns, shape, np.int64)
    place = counts.data.argmax()
    vertex = np.searchsorted(counts.indptr, place, side="right") - 1
    return (
        f"incidences must be unique; vertex {vertex} occurs {counts.data[place]} times in hyperedge "
        f"{counts.indices[place]}. Remove the repetitions, e.g. with numpy.unique(pairs, axis=0)."
    )
