"""PairNorm: rows keep their distances on average, however many layers follow each other."""

from __future__ import annotations

from torch import Tensor

_LEAST = 1e-6


def pair_norm(x: Tensor) -> Tensor:
    """Rows minus their mean, scaled to a mean squared length of 1, as in `Zhao and Akoglu
    <https://arxiv.org/abs/1909.12223>`_; ``(..., N, F)``.

    Example:
        >>> import torch
        >>> pair_norm(torch.tensor([[1.0], [3.0]])).flatten()
        tensor([-1.0000,  1.0000])
    """  # noqa: D205
    centred = x - x.mean(-2, keepdim=True)
    lengths = centred.square().sum(-1, keepdim=True).mean(-2, keepdim=True)  # (..., 1, 1)
    return centred * (lengths + _LEAST).rsqrt()
