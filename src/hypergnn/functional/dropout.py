"""Dropout of features of any kind."""

from __future__ import annotations

import torch
from torch import Tensor

from hypergnn._utils.checks import check_number
from hypergnn.functional.checks import Features
from hypergnn.functional.projection import drop
from hypergnn.structures.sparse_features import SparseFeatures


def dropout(x: Features, p: float = 0.5, training: bool = True) -> Features:
    """Zero each entry with probability ``p`` and divide the others by ``1 - p``.

    The same as :func:`torch.nn.functional.dropout`, which fails for sparse features. Here they stay sparse, and only
    the stored entries are drawn for.

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
        >>> _ = torch.manual_seed(0)
        >>> words = torch.eye(3).to_sparse_csr()
        >>> dropout(words, 0.5).to_dense()
        tensor([[0., 0., 0.],
                [0., 0., 0.],
                [0., 0., 2.]])
    """
    p = check_number("p", p, below=1)
    if not isinstance(x, SparseFeatures):
        if not isinstance(x, Tensor):
            raise TypeError(f"x must be a torch tensor or SparseFeatures; got {type(x).__name__}.")
        if x.layout not in (torch.strided, torch.sparse_csr):
            raise TypeError(f"x must be dense or sparse CSR; got {x.layout}. Convert it, e.g. x.to_sparse_csr().")
        if x.layout == torch.sparse_csr and x.requires_grad and training:
            raise ValueError("sparse CSR features must not require a gradient; pass x.detach(), or dense features.")
    return drop(x, p) if training else x
