"""The projection ``X P`` of features of any kind, and on which side of the transition it comes."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from hypergnn._utils.checks import check_like
from hypergnn.kernels import matmul, ops
from hypergnn.kernels.dispatch import is_compiled
from hypergnn.structures.sparse_features import SparseFeatures

Features = Tensor | SparseFeatures


def n_entries(x: Features) -> int:
    """How many entries of the features are stored.

    Example:
        >>> import torch
        >>> n_entries(torch.eye(3)), n_entries(torch.eye(3).to_sparse_csr())
        (9, 3)
    """
    if isinstance(x, SparseFeatures):
        return x.values.shape[0]
    return x.values().shape[0] if x.layout == torch.sparse_csr else x.numel()


def project(x: Features, projection: Tensor) -> Tensor:
    """``X P``: ``(..., N, F')`` from ``x`` ``(..., N, F)`` of any kind and ``projection`` ``(..., F, F')``.

    Example:
        >>> project(torch.ones(2, 3), torch.ones(3, 1)).flatten()
        tensor([3., 3.])
    """
    check_projection(projection, x)
    return _product(x, projection)


def _product(x: Features, projection: Tensor) -> Tensor:
    if isinstance(x, SparseFeatures):
        return x.project(projection)
    if x.layout == torch.strided and projection.dim() == 3:
        fits = x.dim() == 2 or (x.dim() == 3 and x.shape[0] in (1, projection.shape[0]))
        return matmul(x, projection) if fits else x @ projection
    if projection.dim() != 3:
        is_plain = x.layout == torch.strided and x.dim() == projection.dim() == 2
        if is_plain and not torch.is_autocast_enabled(x.device.type):
            return matmul(x, projection.unsqueeze(0)).squeeze(0)
        if _is_constant_csr(x, projection):
            return _csr_product(x, projection)
        return x @ projection
    side_by_side = x @ projection.movedim(0, 1).flatten(1)  # (N, trials * F')
    trials, _, width = projection.shape
    return side_by_side.reshape(-1, trials, width).movedim(1, 0)


def _is_constant_csr(x: Tensor, projection: Tensor) -> bool:
    """Whether ``x`` is sparse and nothing is to be differentiated, so that its rows are all that is needed."""
    learned = torch.is_grad_enabled() and (x.requires_grad or projection.requires_grad)
    return not learned and x.layout == torch.sparse_csr and is_compiled(x.device.type, x.dtype)


def _csr_product(x: Tensor, projection: Tensor) -> Tensor:
    """``X P`` by the compiled loops, several times as fast as torch's."""
    by = (x.crow_indices(), x.col_indices(), None)
    columns, values = projection.unsqueeze(0).unsqueeze(2), x.values().view(1, -1, 1)
    product: Tensor = ops.segment_sum(columns, values, *by, *by)
    return product.view(x.shape[0], projection.shape[1])


def check_projection(projection: object, x: Features) -> None:
    """Raise unless ``projection`` is a matrix, or one per trial, with a row per feature of ``x``."""
    width = projection.shape[-1] if isinstance(projection, Tensor) and projection.dim() >= 2 else 1
    check_like("projection", projection, x, (x.shape[-1], width), "one row per feature of x")


def project_if_cheaper(x: Features, projection: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Multiply by ``P`` first where that makes the rows narrower; what is left of ``P`` comes after ``T``."""
    if projection is None:
        return to_dense(x), None
    check_projection(projection, x)
    if isinstance(x, SparseFeatures) or x.layout == torch.sparse_csr or projection.shape[-1] <= x.shape[-1]:
        return _product(x, projection), None
    return x, projection


def to_dense(x: Features) -> Tensor:
    """The features with all their zeros."""
    is_sparse = isinstance(x, SparseFeatures) or x.layout == torch.sparse_csr
    return x.to_dense() if is_sparse else cast(Tensor, x)
