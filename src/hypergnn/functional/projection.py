"""The projection ``X P`` of features of any kind, and on which side of the transition it comes."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from hypergnn import kernels
from hypergnn.functional.checks import Features, check_like
from hypergnn.kernels.checks import check_csr
from hypergnn.kernels.dropout import draw, dropout
from hypergnn.structures.sparse_features import SparseFeatures, csr_tensor, uncompiled


def n_entries(x: Features) -> int:
    """How many entries of the features are stored.

    Example:
        >>> import torch
        >>> n_entries(torch.eye(3)), n_entries(torch.eye(3).to_sparse_csr())
        (9, 3)
    """
    if isinstance(x, SparseFeatures):
        return x.entries.n_pairs
    return x.values().shape[0] if x.layout == torch.sparse_csr else x.numel()


def project(x: Features, projection: Tensor) -> Tensor:
    """``X P``: ``(..., N, F')`` from ``x`` ``(..., N, F)`` of any kind and ``projection`` ``(..., F, F')``.

    Example:
        >>> project(torch.ones(2, 3), torch.ones(3, 1)).flatten()
        tensor([3., 3.])
    """
    check_projection(projection, x)
    return _product(x, projection)


def project_if_cheaper(x: Features, projection: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Multiply by ``P`` first where that makes the rows narrower; what is left of ``P`` comes after ``T``."""
    if projection is None:
        return to_dense(x), None
    check_projection(projection, x)
    if isinstance(x, SparseFeatures) or x.layout == torch.sparse_csr or projection.shape[-1] <= x.shape[-1]:
        return _product(x, projection), None
    return x, projection


def drop(x: Features, rate: float, of: object = None) -> Features:
    """Dropout of features: of all entries if they are dense, of the stored ones if they are sparse.

    Args:
        x: The features.
        rate: The probability.
        of: As in :func:`hypergnn.kernels.dropout.dropout`.
    """
    if rate == 0:
        return x
    if isinstance(x, SparseFeatures):
        drawn = draw(rate)
        if drawn is None:
            return replace(x, values=dropout(x.values, rate))
        return replace(x, keys=_shifted(drawn.keys, x.shift), dropout=drawn.rate)
    return _drop_csr(x, rate) if x.layout == torch.sparse_csr else dropout(x, rate, of)


def _shifted(keys: Tensor, shift: int) -> Tensor:
    """Keys that drop at place 0 what the given ones drop at place ``shift``: the first is added to the place."""
    if shift == 0:
        return keys
    wrapped = (keys[:, :1].long() + shift + (1 << 31)) % (1 << 32) - (1 << 31)
    return torch.cat([wrapped.int(), keys[:, 1:]], 1)


@uncompiled
def _drop_csr(x: Tensor, rate: float) -> Tensor:
    return csr_tensor(x.crow_indices(), x.col_indices(), dropout(x.values(), rate), x.shape)


def select_rows(x: Features, rows: Tensor | None) -> Features:
    """Some rows of the features, ascending if they are sparse; all of them if ``rows`` is ``None``."""
    if rows is None:
        return x
    return x.select_rows(rows) if isinstance(x, SparseFeatures) else x.index_select(-2, rows)


def to_dense(x: Features) -> Tensor:
    """The features with all their zeros."""
    if isinstance(x, SparseFeatures):
        return _product(x, torch.eye(x.shape[-1], dtype=x.dtype, device=x.device))
    return x.to_dense() if x.layout == torch.sparse_csr else x


def _product(x: Features, projection: Tensor) -> Tensor:
    if isinstance(x, SparseFeatures):
        return _prepared_product(x, projection)
    if x.layout == torch.sparse_csr:
        return _csr_product(x, projection)
    if projection.dim() == 3 and (x.dim() == 2 or (x.dim() == 3 and x.shape[0] in (1, projection.shape[0]))):
        return kernels.matmul(x, projection)
    if x.dim() == projection.dim() == 2 and not (x.device.type != "meta" and torch.is_autocast_enabled(x.device.type)):
        return kernels.matmul(x, projection.unsqueeze(0)).squeeze(0)
    return x @ projection


def _prepared_product(x: SparseFeatures, projection: Tensor) -> Tensor:
    if x.keys is None:
        return kernels.segment_sum(projection.unsqueeze(-2), x.entries, x.values.unsqueeze(-1)).squeeze(-2)
    trials = x.keys.shape[0]
    own = projection if projection.shape[:-2] == (trials,) else projection.expand(trials, *projection.shape[-2:])
    return kernels.segment_sum(own, x.entries, x.values, kernels.Dropout(x.dropout, x.keys))


def _csr_product(x: Tensor, projection: Tensor) -> Tensor:
    if projection.dim() != 3:
        return kernels.csr_matmul(x, projection)
    check_csr(x)
    side_by_side = x @ projection.movedim(0, 1).flatten(1)  # (N, trials * F')
    trials, _, width = projection.shape
    return side_by_side.reshape(-1, trials, width).movedim(1, 0)


def check_projection(projection: object, x: Features) -> None:
    """Raise unless ``projection`` is a matrix, or one per trial, with a row per feature of ``x``."""
    width = projection.shape[-1] if isinstance(projection, Tensor) and projection.dim() >= 2 else 1
    check_like("projection", projection, x, (x.shape[-1], width), "one row per feature of x")
