"""The loss of each trial: cross-entropy for classes, squared error for numbers, either with a weight per vertex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from torch import Tensor

from hypergnn.kernels import cross_entropy

Floats = npt.NDArray[np.float64]


class Losses(NamedTuple):
    """The losses of the trials that are trained together, passed to ``on_epoch`` after each epoch.

    Example:
        >>> losses = Losses(seeds=(0, 1), train=np.array([0.5, 0.7]), val=None)
        >>> float(losses.train.mean())
        0.6
    """

    seeds: tuple[int, ...]
    """The seeds of the trials still in training."""
    train: Floats
    """The training loss of each trial in this epoch."""
    val: Floats | None
    """The validation loss of each trial after this epoch; ``None`` without validation vertices."""


def losses_of(scores: Tensor, y: Tensor, rows: Tensor, weight: Tensor | None = None) -> Tensor:
    """The loss of each trial over some rows of its scores, ``(trials,)``.

    Args:
        scores: ``(trials, N, outputs)``.
        y: Classes, ``(N,)``, for cross-entropy; or floating-point targets, ``(N, outputs)``, for the squared error.
        rows: Which rows.
        weight: The weight of each row of the scores, ``(N,)``; equal if omitted.

    Example:
        >>> import torch
        >>> scores, targets = torch.tensor([[[1.0], [3.0]]]), torch.tensor([[1.0], [1.0]])
        >>> losses_of(scores, targets, torch.tensor([0, 1])), losses_of(scores, targets, torch.tensor([1]))
        (tensor([2.]), tensor([4.]))
        >>> losses_of(scores, targets, torch.tensor([0, 1]), torch.tensor([3.0, 1.0]))
        tensor([1.])
    """
    if y.is_floating_point():
        errors = (scores.index_select(1, rows) - y.index_select(0, rows)).square().mean(-1)  # (trials, rows)
    elif weight is None:
        return cross_entropy(scores, y, rows)
    else:
        shares = scores.index_select(1, rows).log_softmax(-1)  # (trials, rows, classes)
        own = y.index_select(0, rows).expand(shares.shape[0], -1).unsqueeze(-1)
        errors = -shares.gather(-1, own).squeeze(-1)
    if weight is None:
        return errors.mean(-1)
    chosen = weight.index_select(0, rows)
    return (errors * (chosen / chosen.sum())).sum(-1)


def sum_of(tensors: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of one shape, in their order."""
    total = tensors[0]
    for one in tensors[1:]:
        total = total + one
    return total


def disagreement(draws: Sequence[Tensor], temperature: float | None) -> Tensor:
    """How far several draws of the scores are from their consensus, ``(trials,)``.

    The squared distance of the probabilities of each draw to the sharpened mean of all draws, averaged over draws and
    vertices. The consensus is a target: no gradient flows into it.

    Args:
        draws: Scores of each draw, ``(trials, N, outputs)``.
        temperature: The consensus is sharpened by the exponent ``1 / temperature``. ``None`` for numbers instead of
            classes: the consensus is then the mean of the draws themselves.

    Example:
        >>> import torch
        >>> draws = [torch.tensor([[[0.0, 0.0]]]), torch.tensor([[[0.0, 0.0]]])]
        >>> disagreement(draws, temperature=0.5)
        tensor([0.])
    """
    shares = list(draws) if temperature is None else [one.softmax(-1) for one in draws]
    agreed = sum_of([one.detach() for one in shares]) / len(shares)  # (trials, N, outputs)
    if temperature is not None:
        agreed = agreed.pow(1 / temperature)
        agreed = agreed / agreed.sum(-1, keepdim=True)
    return sum_of([(one - agreed).square().sum(-1).mean(-1) for one in shares]) / len(shares)


def is_true(answer: object) -> bool:
    """Whether a callback has returned ``True``, Python's or NumPy's; nothing else stops training.

    Example:
        >>> is_true(np.float64(0.1) < 0.2), is_true(None), is_true(3)
        (True, False, False)
    """
    return isinstance(answer, (bool, np.bool_)) and bool(answer)
