"""Logistic regression for several classes, all folds at once.

The folds see the same rows and differ in which of them count. Their parameters stand side by side, so one product
with the features serves all of them. If there are more features than rows, the rows are first rotated into the space
that they span: with a quadratic penalty no optimal parameters lie outside of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.optimize import minimize

Array = npt.NDArray[Any]

_STEPS = 150
_ROTATED = 1000
"""More rows are not rotated: the rotation would take longer than it saves."""


@dataclass(frozen=True)
class Rotated:
    """Rows in a space of at most as many dimensions as there are rows.

    Attributes:
        x: The rows, ``(n, r)``, dense or CSR.
        basis: Turns parameters of this space into those of the features, ``(F, r)``; ``None`` if they are the same.
    """

    x: Any
    basis: Any = None

    @classmethod
    def of(cls, x: Any) -> Rotated:
        """Rotate the rows if that makes them narrower."""
        n, n_features = x.shape
        if n_features <= n or n > _ROTATED:
            return cls(x if hasattr(x, "tocsr") else np.asarray(x, dtype=np.float64))
        products = x @ x.T
        values, vectors = eigh(products.toarray() if hasattr(products, "toarray") else products)
        used = values > max(values[-1], 1e-12) * 1e-10
        root = np.sqrt(values[used])
        return cls(vectors[:, used] * root, x.T @ (vectors[:, used] / root))

    def widened(self, parameters: Array) -> Array:
        """Parameters of the features, ``(folds, n_classes, F + 1)``, from those of this space."""
        if self.basis is None:
            return parameters
        return np.concatenate([parameters[..., :-1] @ self.basis.T, parameters[..., -1:]], axis=-1)


def fit_softmax(x: Any, y: Array, counts: Array, n_classes: int, strength: float) -> Array:
    """Minimise ``Σ_i count_i · loss_i + ½ |P|² / strength`` for each fold; the intercepts are not penalised.

    Args:
        x: Features of the rows, ``(n, F)``, dense or CSR.
        y: Classes of the rows, ``(n,)``.
        counts: How much each row counts in each fold, ``(folds, n)``.
        n_classes: Number of classes.
        strength: ``C`` of scikit-learn: large for little regularisation.

    Returns:
        The parameters, ``(folds, n_classes, F + 1)``; the last column holds the intercepts.

    Example:
        >>> x, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
        >>> parameters = fit_softmax(x, y, np.ones((1, 4)), 2, 10.0)
        >>> predict_softmax(x, parameters)[0].argmax(0).tolist()
        [0, 0, 1, 1]
    """
    (n, n_features), n_folds = x.shape, counts.shape[0]
    shape = (n_classes, n_folds, n_features + 1)
    target = (np.arange(n_classes)[:, None, None] == y) * counts  # (classes, folds, n)
    scale = 1 / max(1.0, float(counts.sum(1).max()))
    columns = x.T.tocsr() if hasattr(x, "tocsr") else np.ascontiguousarray(x.T)

    def loss(flat: Array) -> tuple[float, Array]:
        parameters = flat.reshape(shape)
        slopes = parameters[..., :-1].reshape(n_classes * n_folds, n_features)
        scores = _product(slopes, columns, x).reshape(n_classes, n_folds, n) + parameters[..., -1:]
        top = scores.max(0)
        p = np.exp(scores - top)
        total = p.sum(0)
        value = (counts * (np.log(total) + top)).sum() - (target * scores).sum()
        error = p * (counts / total) - target
        gradient = np.empty(shape)
        flat_error = error.reshape(n_classes * n_folds, n)
        gradient[..., :-1] = (flat_error @ x).reshape(n_classes, n_folds, n_features) + parameters[..., :-1] / strength
        gradient[..., -1] = error.sum(-1)
        return scale * float(value + (slopes**2).sum() / (2 * strength)), scale * gradient.ravel()

    options = {"maxiter": _STEPS, "maxcor": 10, "ftol": 1e-6, "gtol": 1e-5}
    found = minimize(loss, np.zeros(int(np.prod(shape))), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x.reshape(shape).swapaxes(0, 1))


def predict_softmax(x: Any, parameters: Array) -> Array:
    """The probabilities of each fold, ``(folds, n_classes, n)``."""
    n_folds, n_classes, width = parameters.shape
    scores = _product(parameters[..., :-1].reshape(n_folds * n_classes, width - 1), None, x).reshape(
        n_folds, n_classes, x.shape[0]
    )
    scores = scores + parameters[..., -1:]
    p = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(p / p.sum(1, keepdims=True))


def _product(slopes: Array, columns: Any, x: Any) -> Array:
    """The scores, ``(parameters, n)``."""
    if hasattr(x, "tocsr"):
        return np.ascontiguousarray((x @ slopes.T).T)
    return np.asarray(slopes @ (x.T if columns is None else columns))
