"""Sparse features prepared for training: a bag of words that is multiplied by a projection again and again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from hypergnn.kernels import Dropout, segment_sum
from hypergnn.kernels.dropout import draw, dropout
from hypergnn.structures.incidence import Grouped, Segments, Structure, group

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False, repr=False)
class SparseFeatures(Structure):
    """A sparse ``(N, F)`` matrix of features in both orders, so that products with it and its transpose are fast.

    Layers take it wherever they take a sparse CSR tensor; unlike that, it may be multiplied by the projections of many
    trials at once, after dropout that each of them draws for itself.

    Example:
        >>> from scipy.sparse import csr_array
        >>> x = SparseFeatures.from_scipy(csr_array([[0.0, 2.0], [1.0, 0.0]]))
        >>> x.project(torch.tensor([[10.0], [20.0]])).tolist()
        [[40.0], [10.0]]
    """

    row: Tensor
    column: Tensor
    row_offsets: Tensor
    column_offsets: Tensor
    column_members: Tensor
    column_position: Tensor
    values: Tensor
    """The non-zeros, ``(nnz,)``, in the order of their rows."""
    position: Tensor | None = None
    """Where the non-zeros of these rows stand among the values, if those of other rows are among them, too."""
    keys: Tensor | None = None
    """Two for each trial, ``(trials, 2)``, if each drops other non-zeros."""
    dropout: float = 0.0
    """How many of them are dropped."""

    @classmethod
    def from_scipy(cls, matrix: sparse.csr_array, dtype: torch.dtype = torch.float32) -> SparseFeatures:
        """Prepare a SciPy sparse matrix."""
        from scipy import sparse

        ordered = sparse.csr_array(matrix, copy=not matrix.has_canonical_format)
        ordered.sum_duplicates()
        rows = np.repeat(np.arange(ordered.shape[0]), np.diff(ordered.indptr))
        grouped = group(rows, ordered.indices.astype(np.int64), *ordered.shape)
        return cls(*grouped, values=torch.tensor(ordered.data, dtype=dtype))

    @property
    def shape(self) -> torch.Size:
        """Shape of the matrix, with that of the trials before it."""
        trials = () if self.keys is None else self.keys.shape[:1]
        return torch.Size((*trials, self.row_offsets.shape[0] - 1, self.column_offsets.shape[0] - 1))

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def device(self) -> torch.device:
        """Where the arrays are."""
        return self.values.device

    def dropped(self, rate: float) -> SparseFeatures:
        """The same features after dropout; inside :func:`~hypergnn.kernels.dropout.seeded`, of each trial its own."""
        drawn = draw(rate) if rate > 0 else None
        if drawn is None:
            return replace(self, values=dropout(self.values, rate))
        return replace(self, keys=drawn.keys, dropout=drawn.rate)

    def rows(self, numbers: Tensor) -> SparseFeatures:
        """Some rows, ascending; dropout drops of them what it drops of them among all.

        Example:
            >>> from scipy.sparse import csr_array
            >>> SparseFeatures.from_scipy(csr_array([[1.0, 0], [0, 2], [3, 4]])).rows(torch.tensor([0, 2])).to_dense()
            tensor([[1., 0.],
                    [3., 4.]])
        """
        if bool((numbers.diff() <= 0).any()):
            raise ValueError("numbers must ascend, no two alike.")
        sizes = self.row_offsets.diff().long()
        chosen = torch.zeros_like(sizes, dtype=torch.bool)
        chosen[numbers] = True
        kept = chosen.repeat_interleave(sizes).nonzero().flatten()
        rows = torch.arange(numbers.shape[0], device=self.device).repeat_interleave(sizes[numbers])
        pairs = (rows.cpu().numpy(), self.column[kept].cpu().numpy())
        grouped = group(*pairs, numbers.shape[0], self.shape[-1])
        position = kept.to(torch.int32 if self.values.shape[0] < 1 << 31 else torch.int64)
        if self.position is not None:
            position = self.position[kept]
        placed = grouped._replace(column_position=position.cpu()[grouped.column_position])
        parts = Grouped(*[one.to(self.device) for one in placed])
        return SparseFeatures(*parts, self.values, position, self.keys, self.dropout)

    def project(self, projection: Tensor) -> Tensor:
        """``X P``: ``(..., N, F')`` from ``(..., F, F')``."""
        by = Segments(
            self.row_offsets,
            self.column,
            self.position,
            self.column_offsets,
            self.column_members,
            self.column_position,
        )
        if self.keys is None:
            return segment_sum(projection.unsqueeze(-2), by, self.values.unsqueeze(-1)).squeeze(-2)
        trials = self.keys.shape[0]
        own = projection if projection.shape[:-2] == (trials,) else projection.expand(trials, *projection.shape[-2:])
        return segment_sum(own, by, self.values, Dropout(self.dropout, self.keys))

    def to_dense(self) -> Tensor:
        """The matrix with all its zeros."""
        return self.project(torch.eye(self.shape[-1], dtype=self.dtype, device=self.device))

    def __repr__(self) -> str:
        """Sizes at a glance."""
        return f"SparseFeatures{tuple(self.shape)}"
