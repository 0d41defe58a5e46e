"""Dropout of features of any kind."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from hypergnn._utils.checks import check_number
from hypergnn.functional.checks import Features
from hypergnn.kernels.dropout import unseeded_dropout
from hypergnn.structures.sparse_features import SparseFeatures, csr_tensor, uncompiled


def dropout(x: Features, p: float = 0.5, training: bool = True) -> Features:
    """Zero each entry with probability ``p`` and divide the others by ``1 - p``.

    What :func:`torch.nn.functional.dropout` does, which is slower on a CPU and fails for sparse features. Here they
    stay sparse, and only the stored entries are drawn for. ``torch.manual_seed`` decides what is dropped.

    Args:
        x: Features, ``(..., N, F)``: dense, sparse CSR, or :class:`hypergnn.structures.SparseFeatures`.
        p: The probability, at least 0 and below 1.
        training: Whether to drop anything; pass ``self.training`` in a module.

    Returns:
        The features after dropout, of the same kind; ``x`` itself if nothing is dropped.

    Raises:
        TypeError: If ``x`` is neither dense nor sparse CSR.
        ValueError: If ``p`` is not a probability, or sparse CSR features need a gradient.

    Example:
        >>> words = torch.eye(100).to_sparse_csr()
        >>> dropout(words, 0.5).values().unique()
        tensor([0., 2.])
        >>> dropout(words, 0.5, training=False) is words
        True
    """
    p = check_number("p", p, below=1)
    if not isinstance(x, SparseFeatures):
        if not isinstance(x, Tensor):
            raise TypeError(f"x must be a torch tensor or SparseFeatures; got {type(x).__name__}.")
        if x.layout not in (torch.strided, torch.sparse_csr):
            raise TypeError(f"x must be dense or sparse CSR; got {x.layout}. Convert it, e.g. x.to_sparse_csr().")
        if x.layout == torch.sparse_csr and x.requires_grad and training:
            raise ValueError("sparse CSR features must not require a gradient; pass x.detach(), or dense features.")
    if p == 0 or not training:
        return x
    if isinstance(x, SparseFeatures):
        return replace(x, values=unseeded_dropout(x.values, p))
    return _dropped_csr(x, p) if x.layout == torch.sparse_csr else unseeded_dropout(x, p)


@uncompiled
def _dropped_csr(x: Tensor, p: float) -> Tensor:
    return csr_tensor(x.crow_indices(), x.col_indices(), unseeded_dropout(x.values(), p), x.shape)
