"""Several candidates as one: calibrated, and mixed with weights that the labelled rows decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn.estimators.selection.candidates import log_loss
from hypergnn.estimators.selection.known import Known

Array = npt.NDArray[Any]

_SHARPNESS = np.exp(np.linspace(-1.8, 1.8, 13))
_LEAST = 0.03
"""A candidate with a smaller weight is left out."""


def sharpen(p: Array, sharpness: float, floor: float = 1e-3) -> Array:
    """Probabilities to the power of ``sharpness``, normalised, none of them 0.

    Example:
        >>> sharpen(np.array([[0.8, 0.2]]), 2.0, 0.0).round(3).tolist()
        [[0.941, 0.059]]
    """
    powered = np.clip(p, 1e-9, None) ** sharpness
    powered /= powered.sum(1, keepdims=True)
    return np.asarray((1 - floor) * powered + floor / p.shape[1])


def best_sharpness(p: Array, known: Known) -> float:
    """The sharpness with the lowest log-loss, drawn towards 1 if labels are few."""
    losses = [known.size * log_loss(sharpen(p, one), known) + 2 * np.log(one) ** 2 for one in _SHARPNESS]
    return float(_SHARPNESS[int(np.argmin(losses))])


def mixing_weights(members: Array, known: Known, doubt: float = 1.0) -> Array:
    """Weights of a mixture, ``(members,)``, that maximise the likelihood of the labels times a Dirichlet prior.

    Args:
        members: Probabilities of each candidate for the labelled rows, ``(members, n, n_classes)``.
        known: The labels.
        doubt: What counts for each candidate as if so many labels spoke for it. With few labels the weights are
            nearly equal; with many, the labels decide.
    """
    right = np.clip(members[:, np.arange(known.size), known.y], 1e-6, None)  # (members, n)
    count = np.ones(known.size) if known.weight is None else known.weight
    weights = np.full(len(members), 1 / len(members))
    for _ in range(300):
        share = weights[:, None] * right
        share /= share.sum(0)
        new = doubt + (count * share).sum(1)
        new /= new.sum()
        if np.abs(new - weights).max() < 1e-5:
            break
        weights = new
    kept = np.where(weights >= min(_LEAST, weights.max()), weights, 0.0)
    return np.asarray(kept / kept.sum())


def mixed(members: Array, weights: Array) -> Array:
    """The mixture, ``(n, n_classes)``."""
    return np.asarray(np.tensordot(weights, members, axes=1))
