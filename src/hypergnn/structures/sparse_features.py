"""Sparse features, such as bags of words, prepared for repeated products with a projection."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, wraps
from threading import Lock
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from hypergnn._utils.checks import check_sparse
from hypergnn.structures.base import STATIC, Structure
from hypergnn.structures.incidence import Incidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy import sparse

P = ParamSpec("P")
T = TypeVar("T")
_announcing = Lock()


@dataclass(frozen=True, eq=False, repr=False)
class SparseFeatures(Structure):
    """A sparse ``(N, F)`` matrix stored by rows and by columns, so that it and its transpose multiply fast.

    Layers accept it wherever they accept a sparse CSR tensor. Unlike a CSR tensor, it can be multiplied by the
    projections of many trials at once, each with its own dropout.

    Example:
        >>> from scipy.sparse import csr_array
        >>> x = SparseFeatures.from_scipy(csr_array([[0.0, 2.0], [1.0, 0.0]]))
        >>> x
        SparseFeatures(2, 2)
    """

    entries: Incidence
    """Rows × features; ``position`` holds the index of each non-zero in ``values``."""
    values: Tensor
    """The non-zeros, ``(nnz,)``, row by row; after :meth:`select_rows`, those of all original rows."""
    keys: Tensor | None = None
    """The dropout keys of each trial, ``(trials, 2)``; ``None`` without dropout per trial."""
    dropout: float = field(default=0.0, metadata=STATIC)
    """The fraction of non-zeros that are dropped."""
    shift: int = field(default=0, metadata=STATIC)
    """Non-zeros of other processes before these, so that each drops its own."""

    @classmethod
    def from_scipy(cls, matrix: sparse.csr_array, dtype: torch.dtype = torch.float32) -> SparseFeatures:
        """Convert a SciPy sparse matrix."""
        from scipy import sparse

        check_sparse("x", matrix)
        ordered = sparse.csr_array(matrix, copy=not matrix.has_canonical_format)
        ordered.sum_duplicates()
        rows = np.repeat(np.arange(ordered.shape[0]), np.diff(ordered.indptr))
        entries = Incidence.from_pairs(rows, ordered.indices.astype(np.int64), *ordered.shape)
        return cls(entries, values=torch.tensor(ordered.data, dtype=dtype))

    @property
    def shape(self) -> torch.Size:
        """``(N, F)``, or ``(trials, N, F)`` with dropout per trial."""
        trials = () if self.keys is None else self.keys.shape[:1]
        return torch.Size((*trials, self.entries.n_rows, self.entries.n_columns))

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return self.values.device

    def select_rows(self, rows: Tensor) -> SparseFeatures:
        """Select rows, in ascending order. Dropout drops the same entries of them as in the whole matrix.

        Example:
            >>> from scipy.sparse import csr_array
            >>> x = SparseFeatures.from_scipy(csr_array([[1.0, 0], [0, 2], [3, 4]]))
            >>> x.select_rows(torch.tensor([0, 2]))
            SparseFeatures(2, 2)
        """
        if bool((rows.diff() <= 0).any()):
            raise ValueError("rows must ascend without repetition; sort them, e.g. with torch.unique.")
        numbers = rows.cpu().numpy().astype(np.int64)
        places, sizes = self.entries.pairs_of(numbers)
        columns = self.entries.members.cpu().numpy()[places]
        own = Incidence.from_pairs(np.repeat(np.arange(numbers.size), sizes), columns, numbers.size, self.shape[-1])
        position = places if self.entries.position is None else self.entries.position.cpu().numpy()[places]
        among = torch.from_numpy(position).to(own.members.dtype)
        placed = own._replace(position=among, back_position=among[cast(Tensor, own.back_position)])
        return SparseFeatures(placed.to(self.device), self.values, self.keys, self.dropout, self.shift)

    def __repr__(self) -> str:
        """Sizes at a glance."""
        return f"SparseFeatures{tuple(self.shape)}"


def csr_tensor(
    offsets: Tensor, columns: Tensor, values: Tensor, shape: Sequence[int], *, check_invariants: bool = False
) -> Tensor:
    """Make a sparse CSR tensor without torch's warning that such tensors are in beta.

    Args:
        offsets: Where each row begins among the values, and where the last one ends.
        columns: The column of each value.
        values: The values, row by row.
        shape: ``(N, F)``.
        check_invariants: Whether torch checks that the parts fit each other.

    Example:
        >>> csr_tensor(torch.tensor([0, 1, 1]), torch.tensor([2]), torch.tensor([5.0]), (2, 3)).to_dense()
        tensor([[0., 0., 5.],
                [0., 0., 0.]])
    """
    with _announcing:
        _announce_csr()
    return torch.sparse_csr_tensor(offsets, columns, values, size=tuple(shape), check_invariants=check_invariants)


def uncompiled(function: Callable[P, T]) -> Callable[P, T]:
    """Run a function on sparse CSR tensors as it is: ``torch.compile`` does not support them, and fails on some.

    As :func:`torch.compiler.disable`, which imports the compiler; here that is done only if it is in use.
    """
    disabled: list[Callable[P, T]] = []

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        if "torch._dynamo" not in sys.modules:
            return function(*args, **kwargs)
        if not disabled:
            disabled.append(torch.compiler.disable(function))
        return disabled[0](*args, **kwargs)

    return run


@cache
def _announce_csr() -> None:
    """Let torch give its warning, which it gives once in a process, where nobody sees it.

    Once and under a lock: what :func:`warnings.catch_warnings` restores would otherwise depend on other threads.
    """
    nothing = torch.zeros(1, dtype=torch.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor(nothing, nothing[:0], nothing[:0].float(), size=(0, 0))
