"""Logistic regression of each class against the rest, by scikit-learn, as in the classifiers of that time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

Floats = npt.NDArray[np.float64]
_SURE = 30.0
"""The size of the score where no or all training vertices are of a class."""


@dataclass(frozen=True)
class LinearScores:
    """Scores ``x W + b`` of each class."""

    weights: Floats
    """``(F, n_classes)``."""
    bias: Floats
    """``(n_classes,)``."""

    def __call__(self, x: Any) -> Floats:
        """The scores of rows, ``(rows, n_classes)``."""
        scores: Floats = np.asarray(x @ self.weights) + self.bias
        return scores


def logistic_regression(x: Any, y: npt.NDArray[np.int64], n_classes: int, inverse_penalty: float) -> LinearScores:
    """Fit a logistic regression of each class against the rest.

    Args:
        x: Features of the training vertices.
        y: Their classes.
        n_classes: The number of all classes; some may have no training vertex.
        inverse_penalty: The inverse strength C of the L2 penalty.

    Example:
        >>> scores = logistic_regression(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 2, 2]), 3, 10.0)
        >>> scores(np.array([[0.0], [3.0]])).argmax(axis=1).tolist()
        [0, 2]
    """
    from sklearn.linear_model import LogisticRegression

    weights, bias = np.zeros((x.shape[1], n_classes)), np.zeros(n_classes)
    for number in range(n_classes):
        is_own = y == number
        if is_own.all() or not is_own.any():
            bias[number] = _SURE if is_own.all() else -_SURE
            continue
        fitted = LogisticRegression(C=inverse_penalty, solver="liblinear").fit(x, is_own)
        weights[:, number], bias[number] = fitted.coef_[0], fitted.intercept_[0]
    return LinearScores(weights, bias)


def shares(scores: Floats) -> Floats:
    """Probabilities from scores of each class against the rest: their logistic function, scaled to sum to 1.

    Example:
        >>> shares(np.array([[0.0, 0.0]])).tolist()
        [[0.5, 0.5]]
    """
    each = expit(scores.clip(-500, 500))
    probabilities: Floats = each / each.sum(axis=1, keepdims=True)
    return probabilities
