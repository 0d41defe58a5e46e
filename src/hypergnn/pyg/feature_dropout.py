"""Dropout that leaves zeros alone, for features that are mostly zeros."""

from __future__ import annotations

from torch import nn

from hypergnn import functional
from hypergnn.functional.checks import Features
from hypergnn.pyg.known import sparse_if_few


def dropout(x: Features, p: float = 0.5, training: bool = True) -> Features:
    """In place of ``torch.nn.functional.dropout``: features that are mostly zeros come back sparse.

    Torch draws a number for each entry, for bags of words a hundred for every word. Here constant features of which at
    most a tenth are not zero are converted once, and numbers are drawn for those only. Layers take the result like any
    features. What needs a gradient, and what is not mostly zeros, stays dense.

    Args:
        x: Features, ``(N, F)``.
        p: The probability, at least 0 and below 1.
        training: Whether to drop anything.

    Example:
        >>> import torch
        >>> words = torch.eye(400)
        >>> dropout(words, 0.5)
        SparseFeatures(400, 400)
        >>> dropout(torch.ones(400, 400), 0.5).shape
        torch.Size([400, 400])
    """
    return functional.dropout(sparse_if_few(x) if training else x, p, training)


class Dropout(nn.Dropout):
    """In place of ``torch.nn.Dropout``: :func:`dropout` as a module.

    Args:
        p: The probability.

    Example:
        >>> import torch
        >>> Dropout(0.6).train()(torch.eye(400))
        SparseFeatures(400, 400)
    """

    def __init__(self, p: float = 0.5) -> None:
        """Remember the probability."""
        super().__init__(p)

    def forward(self, x: Features) -> Features:  # type: ignore[override]
        """Drop entries in training."""
        return dropout(x, self.p, self.training)
