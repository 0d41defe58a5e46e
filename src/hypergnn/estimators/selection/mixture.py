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
_MANY = 100
"""From this number of labels on, accuracies are precise enough to tell candidates apart."""


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


def towards_the_most_accurate(members: Array, weights: Array, known: Known) -> Array:
    """Move the weights towards the candidate that is right most often, if the mixture is clearly right less often.

    Likelihood and accuracy may disagree if classes are many: a forest that names the right class more often than all
    others, with small probabilities, gets a small weight. Clearly is by two standard errors, of at least 100 labels.

    Args:
        members: Probabilities of each candidate for the labelled rows, ``(members, n, n_classes)``.
        weights: The weights of the mixture, ``(members,)``.
        known: The labels.
    """
    if known.size < _MANY:
        return weights
    best = int(np.argmax([_right(one, known).mean() for one in members]))
    ahead = _right(members[best], known) - _right(mixed(members, weights), known)
    if ahead.mean() <= 2 * ahead.std() / known.size**0.5:
        return weights
    alone = np.eye(len(weights))[best]
    moved = [(1 - share) * weights + share * alone for share in (0.25, 0.5, 0.75, 1.0)]
    chosen = max(moved, key=lambda one: float(_right(mixed(members, one), known).mean()))
    counted = np.where(chosen >= min(_LEAST, chosen.max()), chosen, 0.0)
    return np.asarray(counted / counted.sum())


def _right(p: Array, known: Known) -> Array:
    """How much each labelled row counts if it is predicted, else 0, ``(n,)``."""
    count = np.ones(known.size) if known.weight is None else known.weight
    return np.where(p.argmax(1) == known.y, count, 0.0)


def mixed(members: Array, weights: Array) -> Array:
    """The mixture, ``(n, n_classes)``."""
    return np.asarray(np.tensordot(weights, members, axes=1))
