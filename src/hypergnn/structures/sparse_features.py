"""Sparse features prepared for training: a bag of words that is multiplied by a projection again and again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor

from hypergnn.structures.base import STATIC, Structure
from hypergnn.structures.incidence import Incidence

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
        >>> x
        SparseFeatures(2, 2)
    """

    entries: Incidence
    """Rows × features; ``position`` says where the non-zeros stand among the values."""
    values: Tensor
    """The non-zeros, ``(nnz,)``, in the order of their rows; those of other rows may be among them."""
    keys: Tensor | None = None
    """Two for each trial, ``(trials, 2)``, if each drops other non-zeros."""
    dropout: float = field(default=0.0, metadata=STATIC)
    """The share of non-zeros that are dropped."""

    @classmethod
    def from_scipy(cls, matrix: sparse.csr_array, dtype: torch.dtype = torch.float32) -> SparseFeatures:
        """Prepare a SciPy sparse matrix."""
        from scipy import sparse

        ordered = sparse.csr_array(matrix, copy=not matrix.has_canonical_format)
        ordered.sum_duplicates()
        rows = np.repeat(np.arange(ordered.shape[0]), np.diff(ordered.indptr))
        entries = Incidence.from_pairs(rows, ordered.indices.astype(np.int64), *ordered.shape)
        return cls(entries, values=torch.tensor(ordered.data, dtype=dtype))

    @property
    def shape(self) -> torch.Size:
        """``(N, F)``, or ``(trials, N, F)`` after dropout that each trial draws for itself."""
        trials = () if self.keys is None else self.keys.shape[:1]
        return torch.Size((*trials, self.entries.n_rows, self.entries.n_columns))

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def device(self) -> torch.device:
        """Where the arrays are."""
        return self.values.device

    def select_rows(self, rows: Tensor) -> SparseFeatures:
        """Some rows, ascending. Dropout drops the same of them as when they stand among all.

        Example:
            >>> from scipy.sparse import csr_array
            >>> x = SparseFeatures.from_scipy(csr_array([[1.0, 0], [0, 2], [3, 4]]))
            >>> x.select_rows(torch.tensor([0, 2]))
            SparseFeatures(2, 2)
        """
        if bool((rows.diff() <= 0).any()):
            raise ValueError("rows must ascend, without repetition.")
        numbers = rows.cpu().numpy().astype(np.int64)
        places, sizes = self.entries.pairs_of(numbers)
        columns = self.entries.members.cpu().numpy()[places]
        own = Incidence.from_pairs(np.repeat(np.arange(numbers.size), sizes), columns, numbers.size, self.shape[-1])
        position = places if self.entries.position is None else self.entries.position.cpu().numpy()[places]
        among = torch.from_numpy(position).to(own.members.dtype)
        placed = own._replace(position=among, back_position=among[cast(Tensor, own.back_position)])
        return SparseFeatures(placed.to(self.device), self.values, self.keys, self.dropout)

    def __repr__(self) -> str:
        """Sizes at a glance."""
        return f"SparseFeatures{tuple(self.shape)}"
