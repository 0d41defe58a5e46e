"""Manifold Regularization: Laplacian-regularised least squares, in closed form.

    P = argmin 1/l Σ_{i labelled} |x_i P - y_i|² + γ_A |P|² + γ_I/N² tr(Pᵀ Xᵀ L X P)
      = (1/l X_lᵀ X_l + γ_A I + γ_I/N² Xᵀ L X)^-1 1/l X_lᵀ Y_l

Belkin, Niyogi and Sindhwani, "Manifold regularization" (2006, https://www.jmlr.org/papers/v7/belkin06a.html), with a
linear kernel and a constant feature for the bias, which is not penalised; ``L = D - A``, and ``y_i`` is a one-hot code.
The numbers of the row were first quoted without settings; ours are chosen on the validation vertices. The
system of equations is solved by SciPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse
from scipy.special import softmax

from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities, SettingsByDataset
from hypergnn.experiments.systems.structure import adjacency_of

_SMALLEST = 1e-10


@dataclass(frozen=True)
class ManifoldRegularization(SettingsByDataset):
    """Linear least squares with penalties on the weights and on differences between neighbours.

    Probabilities are the softmax of the fitted values: least squares has none of its own.

    Example:
        >>> from hypergnn import datasets
        >>> ManifoldRegularization().fit(datasets.load("digits"), seed=0).shape
        (1797, 10)
    """

    name: ClassVar[str] = "manifold-regularization"
    title: ClassVar[str] = "Manifold Regularization"
    is_deterministic: ClassVar[bool] = True
    settings_of: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "citeseer": {"ambient": 1e-3},
        "pubmed": {"ambient": 1e-2},
    }

    ambient: float = 1e-4
    """The factor γ_A of the squared weights."""
    intrinsic: float = 1e4
    """The factor γ_I of the squared differences between neighbours."""

    def fit(self, data: Dataset, seed: int) -> Probabilities:  # noqa: ARG002
        """Solve; probabilities of each class for every vertex."""
        adjacency = adjacency_of(data, self.title)
        laplacian = sparse.diags_array(np.asarray(adjacency.sum(axis=1))) - adjacency
        x = unit_rows(data.x)  # (N, F + 1)
        labelled, targets = x[data.train], np.eye(data.n_classes)[data.y[data.train]]
        penalty = np.full(x.shape[1], self.ambient)
        penalty[-1] = _SMALLEST
        smoothness = _dense(x.T @ (laplacian @ x)) * (self.intrinsic / x.shape[0] ** 2)
        left = _dense(labelled.T @ labelled) / data.train.size + np.diag(penalty) + smoothness
        weights = linalg.solve(left, labelled.T @ targets / data.train.size, assume_a="pos")
        fitted: Probabilities = softmax(x @ weights, axis=1)
        return fitted


def unit_rows(features: Any) -> Any:
    """Rows scaled to length 1, with a constant last feature, float64; a row of zeros stays so, up to that feature.

    Example:
        >>> unit_rows(np.array([[3.0, 4.0]])).tolist()
        [[0.6, 0.8, 1.0]]
    """
    one = np.ones((features.shape[0], 1))
    if sparse.issparse(features):
        x = sparse.csr_array(features, dtype=np.float64)
        length = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
        scale = np.divide(1, length, out=np.zeros_like(length), where=length > 0)
        return sparse.csr_array(sparse.hstack([sparse.diags_array(scale) @ x, one]))
    length = np.linalg.norm(features.astype(np.float64), axis=1, keepdims=True)
    return np.hstack([np.divide(features, length, out=np.zeros(features.shape), where=length > 0), one])


def _dense(matrix: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)
