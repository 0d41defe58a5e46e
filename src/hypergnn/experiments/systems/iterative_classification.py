"""Iterative Classification Algorithm: a classifier on the features and on the labels of the neighbours, run repeatedly.

    y_i ← argmax_c [w_c·x_i + v_c·counts(y_j : j ∈ N(i))]        ten times, in a random order

Sen et al., "Collective classification in network data" (2008), as measured by Kipf and Welling
(https://arxiv.org/abs/1609.02907): a logistic regression on the features labels every vertex; from these labels a
second one learns on the features and the labels of the neighbours, and then visits all vertices without a label in a
random order, ten times. The labels of training vertices stay. Whether neighbours are counted or given as shares, and
the strength of the penalty, are chosen on the validation vertices, as there. Both classifiers are scikit-learn's, each
class against the rest, as was its default then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities, SettingsByDataset
from hypergnn.experiments.systems.linear import Floats, LinearScores, logistic_regression, shares
from hypergnn.experiments.systems.structure import adjacency_of


@dataclass(frozen=True)
class IterativeClassification(SettingsByDataset):
    """Logistic regression on features and on the labels of neighbours.

    Example:
        >>> from hypergnn import datasets
        >>> IterativeClassification(iterations=1).fit(datasets.load("digits"), seed=0).shape
        (1797, 10)
    """

    name: ClassVar[str] = "ica"
    title: ClassVar[str] = "Iterative Classification Algorithm"
    is_deterministic: ClassVar[bool] = False
    settings_of: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "pubmed": {"neighbours": "share", "inverse_penalty": 10.0}
    }

    neighbours: Literal["count", "share"] = "count"
    """Whether the labels of the neighbours are counted, or divided by their number."""
    inverse_penalty: float = 0.1
    """The inverse strength C of the L2 penalty of both classifiers."""
    iterations: int = 10

    def fit(self, data: Dataset, seed: int) -> Probabilities:
        """Classify in the order of a seed; probabilities of each class for every vertex."""
        adjacency = adjacency_of(data, self.title)
        if self.neighbours == "share":
            degree = np.maximum(np.asarray(adjacency.sum(axis=1)), 1)
            adjacency = sparse.csr_array(sparse.diags_array(1 / degree) @ adjacency)
        known, n_classes = data.y[data.train], data.n_classes
        labels = logistic_regression(data.x[data.train], known, n_classes, self.inverse_penalty)(data.x).argmax(axis=1)
        labels[data.train] = known
        counts = adjacency @ np.eye(n_classes)[labels]  # (N, n_classes)
        both = _joined(data.x[data.train], counts[data.train])
        classifier = logistic_regression(both, known, n_classes, self.inverse_penalty)
        own = LinearScores(classifier.weights[: data.n_features], classifier.bias)(data.x)  # w_c·x_i
        visited = np.setdiff1d(np.arange(labels.size), data.train)
        rng = np.random.default_rng(seed)
        orders = [rng.permutation(visited) for _ in range(self.iterations)]
        return shares(visit(adjacency, own, classifier.weights[data.n_features :], labels, orders))


def visit(
    adjacency: sparse.csr_array,
    own: Floats,
    by_neighbour: Floats,
    labels: npt.NDArray[np.int64],
    orders: list[npt.NDArray[np.int64]],
) -> Floats:
    """Label vertices one after the other, each from the labels that its neighbours have by then.

    Args:
        adjacency: ``(N, N)``; how much each neighbour counts.
        own: Scores from the features of each vertex, ``(N, n_classes)``.
        by_neighbour: What a neighbour of each class adds to the scores, ``(n_classes, n_classes)``.
        labels: The labels to start from, ``(N,)``; changed.
        orders: The vertices of each iteration, in their order.

    Returns:
        The last scores of each vertex.
    """
    scores: Floats = own + adjacency @ by_neighbour[labels]
    offsets, neighbours, weight = adjacency.indptr.tolist(), adjacency.indices, adjacency.data
    for vertex in np.concatenate(orders).tolist() if orders else []:
        near = slice(offsets[vertex], offsets[vertex + 1])
        scores[vertex] = own[vertex] + weight[near] @ by_neighbour[labels[neighbours[near]]]
        labels[vertex] = scores[vertex].argmax()
    return scores


def _joined(x: Any, counts: Floats) -> Any:
    return sparse.csr_array(sparse.hstack([x, counts])) if sparse.issparse(x) else np.hstack([x, counts])
