"""Logistic regression for several classes, all folds at once.

The folds see the same rows and differ in which of them count. Their parameters stand side by side, so one product
with the features serves all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import logsumexp

Array = npt.NDArray[Any]
_STEPS = 150


def fit_softmax(x: Any, y: Array, counts: Array, n_classes: int, strength: float, start: Array | None = None) -> Array:
    """Minimise ``Σ_i count_i · loss_i + ½ |P|² / strength`` for each fold; the intercepts are not penalised.

    Args:
        x: Features of the rows, ``(n, F)``, dense or CSR.
        y: Classes of the rows, ``(n,)``.
        counts: How much each row counts in each fold, ``(folds, n)``.
        n_classes: Number of classes.
        strength: ``C`` of scikit-learn: large for little regularisation.
        start: Parameters to start from.

    Returns:
        The parameters, ``(F + 1, folds, n_classes)``; the last row holds the intercepts.

    Example:
        >>> x, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
        >>> P = fit_softmax(x, y, np.ones((1, 4)), 2, 10.0)
        >>> predict_softmax(x, P)[:, 0].argmax(-1).tolist()
        [0, 0, 1, 1]
    """
    (n, n_features), n_folds = x.shape, counts.shape[0]
    shape = (n_features + 1, n_folds, n_classes)
    used = np.flatnonzero(counts.any(0))
    x, y, counts = x[used], y[used], counts[:, used]
    count = counts.T[:, :, None]  # (n, folds, 1)
    target = count * np.eye(n_classes)[y][:, None, :]  # (n, folds, classes)
    scale = 1 / max(1.0, counts.sum(1).max())
    transposed = x.T.tocsr() if hasattr(x, "tocsr") else x.T

    def loss(flat: Array) -> tuple[float, Array]:
        parameters = flat.reshape(shape)
        scores = (x @ parameters[:-1].reshape(n_features, -1)).reshape(used.size, n_folds, n_classes) + parameters[-1]
        normaliser = logsumexp(scores, axis=2, keepdims=True)
        value = (count * normaliser).sum() - (target * scores).sum() + (parameters[:-1] ** 2).sum() / (2 * strength)
        error = count * np.exp(scores - normaliser) - target
        gradient = np.empty(shape)
        gradient[:-1] = (transposed @ error.reshape(used.size, -1)).reshape(n_features, n_folds, n_classes)
        gradient[:-1] += parameters[:-1] / strength
        gradient[-1] = error.sum(0)
        return scale * float(value), scale * gradient.ravel()

    first = np.zeros(shape) if start is None else start
    options = {"maxiter": _STEPS, "maxcor": 10, "ftol": 1e-7, "gtol": 1e-5}
    found = minimize(loss, first.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x.reshape(shape))


def predict_softmax(x: Any, parameters: Array) -> Array:
    """The probabilities of each fold, ``(n, folds, n_classes)``."""
    n_features, n_folds, n_classes = parameters[:-1].shape
    scores = (x @ parameters[:-1].reshape(n_features, -1)).reshape(-1, n_folds, n_classes) + parameters[-1]
    return np.asarray(np.exp(scores - logsumexp(scores, axis=2, keepdims=True)))
