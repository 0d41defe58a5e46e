"""Features as a matrix of finite floating-point numbers, whatever library they come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils.checks import check_has_values, check_sparse
from hypergnn._utils.extras import library_of

_NOT_NUMBERS = "Encode text and categories first, or turn them into hyperedges with construct.from_attributes."


def as_matrix(X: Any, *, name: str = "X", may_be_empty: bool = False) -> Any:
    """Return features as a floating-point array ``(N, F)``, or as CSR if sparse; raise unless all are finite."""
    if isinstance(X, Tensor):
        X = _from_torch(X, name)
    if sparse.issparse(X):
        check_sparse(name, X)
    if sparse.issparse(X) and X.ndim == 2:
        matrix = _with_narrow_indices(sparse.csr_array(X))
    elif library_of(X) == "pyarrow":
        matrix = np.column_stack([column.to_numpy() for column in X.columns])
    else:
        matrix = X if sparse.issparse(X) else np.asarray(X)
    if matrix.ndim != 2 or (0 in matrix.shape and not may_be_empty):
        most = "" if may_be_empty else ", at least one of each"
        raise ValueError(f"{name} must have shape (points, features){most}; got {matrix.shape}.")
    if matrix.dtype.kind == "O":
        matrix = _object_as_float(matrix, name)
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers; got {matrix.dtype}. {_NOT_NUMBERS}")
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    _check_finite(matrix, name)
    return matrix


def _from_torch(X: Tensor, name: str) -> Any:
    check_has_values(name, X)
    X = X.detach().cpu()
    if X.dtype == torch.bfloat16:  # NumPy has no bfloat16
        X = X.float()
    if X.layout == torch.strided or X.dim() != 2 or X.dense_dim():
        return X.to_dense().numpy()
    if X.layout == torch.sparse_csr:  # as it is: torch follows its indices unchecked
        parts = (X.values().numpy(), X.col_indices().numpy(), X.crow_indices().numpy())
        return sparse.csr_array(parts, shape=tuple(X.shape))
    entries = X.to_sparse_coo().coalesce()
    return sparse.coo_array((entries.values().numpy(), tuple(entries.indices().numpy())), shape=tuple(X.shape))


def _with_narrow_indices(matrix: sparse.csr_array) -> sparse.csr_array:
    """The same matrix with 32-bit indices, which scikit-learn requires, unless it is too large for them."""
    if max(matrix.nnz, *matrix.shape) >= 2**31:
        return matrix
    indices, indptr = (part.astype(np.int32, copy=False) for part in (matrix.indices, matrix.indptr))
    return sparse.csr_array((matrix.data, indices, indptr), shape=matrix.shape)


def _object_as_float(matrix: npt.NDArray[Any], name: str) -> npt.NDArray[np.float64]:
    try:
        return matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold real numbers: {error}. {_NOT_NUMBERS}") from error


def _check_finite(matrix: Any, name: str) -> None:
    stored = matrix.data if sparse.issparse(matrix) else matrix
    is_finite = np.isfinite(stored)
    if is_finite.all():
        return
    culprit = int(np.flatnonzero(~is_finite)[0])
    value = stored.flat[culprit]
    if sparse.issparse(matrix):
        row, column = int(np.searchsorted(matrix.indptr, culprit, side="right")) - 1, matrix.indices[culprit]
    else:
        row, column = divmod(culprit, matrix.shape[1])
    raise ValueError(
        f"{name} must hold finite numbers; row {row}, column {column} is {value}. Fill in or drop missing values."
    )
