"""Pairs (row, column) in both orders: what every sparse product of the package runs over.

The incidences of a hypergraph, the links of a graph and the non-zeros of sparse features are all such pairs. Their
*canonical* order is by row, then by column; whatever has one entry per pair (attention, for example) follows it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

Ids = npt.NDArray[np.integer[Any]]


class Incidence(NamedTuple):
    """A set of pairs, grouped by row; :attr:`T` is the same set grouped by column.

    The pairs of row ``r`` are ``offsets[r]:offsets[r + 1]``, and ``members`` holds their columns. ``position`` says
    where each of them stands in the canonical order; ``None`` means that they are in it. The fields ``back_…`` are the
    same for the columns.

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
        return cls(
            offsets=torch.from_numpy(by_row.indptr.astype(index, copy=False)),
            members=torch.from_numpy(by_row.indices.astype(index, copy=False)),
            position=None,
            back_offsets=torch.from_numpy(by_column.indptr.astype(index, copy=False)),
            back_members=torch.from_numpy(by_column.indices.astype(index, copy=False)),
            back_position=torch.from_numpy(by_column.data),
        )

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

    def rows(self) -> Tensor:
        """The row of each pair, ``(n_pairs,)``, in the order of :attr:`members`."""
        return torch.repeat_interleave(self.offsets.diff(), output_size=self.n_pairs)

    def to(self, device: torch.device | str) -> Incidence:
        """The same pairs on ``device``."""
        moved: list[Any] = [None if one is None else one.to(device) for one in self]
        return Incidence(*moved)

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
        ends = self.offsets.cpu().numpy().astype(np.int64)
        starts, sizes = ends[rows], ends[rows + 1] - ends[rows]
        before = np.cumsum(sizes) - sizes
        return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum())), sizes


def _by_row(rows: Ids, columns: Ids, shape: tuple[int, int], count: type[np.integer[Any]]) -> sparse.csr_array:
    """How often each pair occurs."""
    return sparse.coo_array((np.ones(rows.size, dtype=count), (rows, columns)), shape=shape).tocsr()


def _repetition(rows: Ids, columns: Ids, shape: tuple[int, int]) -> str:
    counts = _by_row(rows, columns, shape, np.int64)
    place = counts.data.argmax()
    vertex = np.searchsorted(counts.indptr, place, side="right") - 1
    return (
        f"incidences must be unique; vertex {vertex} stands {counts.data[place]} times in hyperedge "
        f"{counts.indices[place]}. Remove the repetitions, e.g. with numpy.unique(pairs, axis=0)."
    )
