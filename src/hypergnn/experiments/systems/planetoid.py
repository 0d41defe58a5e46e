"""Planetoid, transductive: embeddings that predict contexts, trained together with a classifier.

    context loss = -Σ log softmax(e_i W + b)_c        for contexts c of vertex i; or with drawn ones instead of all,
                 = -Σ log σ(±w_c·e_i)                 + for contexts c of vertex i, - for drawn ones
    class loss   = CE(softmax([p_x ‖ p_e] P), y) + CE(p_x, y) + CE(p_e, y)
    p_x = softmax(x P_x),  p_e = softmax(e P_e)

Yang, Cohen and Salakhutdinov, "Revisiting semi-supervised learning with graph embeddings" (2016,
https://arxiv.org/abs/1603.08861). The context of a vertex is a vertex near it in a random walk, itself included, or a
training vertex of its class. Embeddings are trained on 2000 batches of class contexts, then on batches of graph
contexts, then with the class loss. Settings, initial values and the order of the steps are those of the authors'
program: 50 dimensions, walks of 10 steps, a window of 3, gradient descent with rates 0.1 and 0.01. Its defaults, a
softmax over all vertices and 70 graph batches, are those for Citeseer, and others are to be tuned for other datasets
(https://github.com/kimiyoung/planetoid/issues/2). Here drawn contexts or a softmax and the number of graph batches are
chosen on the validation vertices, and features of other sizes than 0 and 1 are scaled. Their program has no end and
keeps the parameters with the best accuracy on the vertices that it is evaluated on; this one keeps those of the best
epoch on the validation vertices. The number of epochs is ours. Re-implemented as a whole; the inductive variant is left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, ClassVar

import numba
import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities, SettingsByDataset
from hypergnn.experiments.systems.learning import BestAccuracy, learn, seeded
from hypergnn.experiments.systems.structure import adjacency_of, as_features
from hypergnn.experiments.systems.walks import Ids, random_walks, window_pairs
from hypergnn.functional.checks import Features
from hypergnn.functional.projection import project
from hypergnn.layers.base import glorot


class Classifier(nn.Module):
    """The classifier on features and embeddings."""

    def __init__(self, n_vertices: int, n_features: int, n_classes: int, dimensions: int) -> None:
        """Draw the embeddings and the parameters."""
        super().__init__()
        self.embedding = nn.Parameter(0.01 * torch.randn(n_vertices, dimensions))
        self.of_features = nn.Parameter(torch.empty(n_features, n_classes))
        self.of_embedding = nn.Parameter(torch.empty(dimensions, n_classes))
        self.of_both = nn.Parameter(torch.empty(2 * n_classes, n_classes))
        self.bias = nn.Parameter(torch.zeros(3, n_classes))
        for one in (self.of_features, self.of_embedding, self.of_both):
            glorot(one, one.shape[0], one.shape[1], None)

    def forward(self, x: Features, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of some vertices with the features ``x``: from both, from features and from embeddings alone."""
        from_x = project(x, self.of_features) + self.bias[0]
        from_e = self.embedding[rows] @ self.of_embedding + self.bias[1]
        both = torch.cat([from_x.softmax(-1), from_e.softmax(-1)], -1) @ self.of_both + self.bias[2]
        return both, from_x, from_e  # each (rows, n_classes)


@dataclass(frozen=True)
class Planetoid(SettingsByDataset):
    """Embeddings of vertices that predict classes and contexts.

    Example:
        >>> from hypergnn import datasets
        >>> Planetoid(label_batches=5, graph_batches=5, epochs=5).fit(datasets.load("digits"), seed=0).shape
        (1797, 10)
    """

    name: ClassVar[str] = "planetoid"
    title: ClassVar[str] = "Planetoid"
    is_deterministic: ClassVar[bool] = False
    settings_of: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "cora": {"negative": 5},
        "pubmed": {"negative": 5, "graph_batches": 2000},
    }

    dimensions: int = 50
    walk: int = 10
    """Steps of a walk."""
    window: int = 3
    negative: int = 0
    """Contexts drawn for each pair; 0 for a softmax over all vertices."""
    label_batches: int = 2000
    graph_batches: int = 70
    label_pairs: int = 100
    """Pairs of a batch of class contexts."""
    graph_walks: int = 200
    """Walks of a batch of graph contexts."""
    context_rate: float = 0.01
    """Learning rate of the context loss."""
    learning_rate: float = 0.1
    epochs: int = 2000

    def fit(self, data: Dataset, seed: int) -> Probabilities:
        """Train from a seed; probabilities of each class for every vertex."""
        adjacency = adjacency_of(data, self.title)
        n_vertices, x, rng = adjacency.shape[0], _around_one(data.x), np.random.default_rng(seed)
        known, seen = as_features(x[data.train]), as_features(x[data.val])
        train, y = torch.from_numpy(data.train), torch.from_numpy(data.y)
        with seeded(seed):
            network = Classifier(n_vertices, data.n_features, data.n_classes, self.dimensions)
            self.embed(network.embedding.detach(), data, adjacency, rng)

            def losses() -> Iterator[Tensor]:
                yield torch.stack([nn.functional.cross_entropy(one, y[train]) for one in network(known, train)]).sum()

            def scores(val: Tensor | None) -> Tensor:
                both: Tensor = (
                    network(as_features(x), torch.arange(n_vertices))[0] if val is None else network(seen, val)[0]
                )
                return both

            return learn(
                network,
                scores,
                data,
                groups=[{"params": list(network.parameters())}],
                learning_rate=self.learning_rate,
                epochs=self.epochs,
                stopping=BestAccuracy(),
                losses=losses,
                optimizer=torch.optim.SGD,
            )

    def embed(self, own: Tensor, data: Dataset, adjacency: sparse.csr_array, rng: np.random.Generator) -> None:
        """Train embeddings on class contexts, then on graph contexts, in place."""
        n_vertices = own.shape[0]
        kind = SampledContexts if self.negative else Contexts
        context = kind(n_vertices, self.dimensions)
        for pairs in islice(label_contexts(data.train, data.y[data.train], self.label_pairs, rng), self.label_batches):
            drawn = other_classes(pairs[:, 0], data.train, data.y, self.negative, rng)
            context.descend(own, pairs, drawn, self.context_rate)
        linked = np.flatnonzero(np.diff(adjacency.indptr))
        for begin in islice(_batches(linked, self.graph_walks, rng), self.graph_batches):
            pairs = window_pairs(random_walks(adjacency, begin, self.walk + 1, rng), self.window)
            drawn = rng.integers(n_vertices, size=(len(pairs), self.negative))
            context.descend(own, pairs, drawn, self.context_rate)


class Contexts:
    """The softmax over all vertices that embeddings are trained to predict contexts with."""

    def __init__(self, n_vertices: int, dimensions: int) -> None:
        """Draw the weights."""
        self.weight = torch.empty(n_vertices, dimensions)
        self.bias = torch.zeros(n_vertices)
        glorot(self.weight, dimensions, n_vertices, None)

    def descend(self, own: Tensor, pairs: Ids, drawn: Ids, rate: float) -> None:  # noqa: ARG002
        """One step down the context loss, summed over pairs of a vertex and a context, ``(pairs, 2)``, in place.

        The softmax of a vertex is computed once, however many contexts it has.
        """
        vertices, place, count = np.unique(pairs[:, 0], return_inverse=True, return_counts=True)
        rows = torch.from_numpy(vertices)
        before = own[rows]  # (vertices, dimensions)
        slope = torch.addmm(self.bias, before, self.weight.T).softmax(-1)  # of the loss by the scores
        slope *= torch.from_numpy(count).to(slope.dtype).unsqueeze(-1)
        there = torch.from_numpy(place), torch.from_numpy(pairs[:, 1])
        slope.index_put_(there, torch.tensor(-1.0, dtype=slope.dtype), accumulate=True)
        own[rows] = torch.addmm(before, slope, self.weight, alpha=-rate)
        self.weight.addmm_(slope.T, before, alpha=-rate)
        self.bias.sub_(slope.sum(0), alpha=rate)


class SampledContexts:
    """Context vectors, trained to tell real contexts from random ones."""

    def __init__(self, n_vertices: int, dimensions: int) -> None:
        """Draw the vectors."""
        self.weight = 0.01 * torch.randn(n_vertices, dimensions)

    def descend(self, own: Tensor, pairs: Ids, drawn: Ids, rate: float) -> None:
        """One step down the context loss, summed over pairs and those drawn for them, ``(pairs, n)``, in place."""
        others = np.stack([np.repeat(pairs[:, 0], drawn.shape[1]), drawn.ravel()], 1)
        sign = np.repeat(np.array([1, -1], np.float32), [len(pairs), len(others)])
        arrays = own.numpy(), self.weight.numpy()
        before = (one.copy() for one in arrays)
        _compiled()(*arrays, *before, np.concatenate([pairs, others]), sign, rate)


@cache
def _compiled() -> Callable[..., None]:
    compiled: Callable[..., None] = numba.njit(nogil=True, fastmath=True)(_add_gradients)
    return compiled


def _add_gradients(own, context, own_before, context_before, pairs, sign, rate):  # type: ignore[no-untyped-def]
    for number in range(pairs.shape[0]):
        one, other = pairs[number, 0], pairs[number, 1]
        score = (own_before[one] * context_before[other]).sum()
        pull = rate * sign[number] / (1 + np.exp(sign[number] * score))  # -∂loss/∂score · rate
        for column in range(own.shape[1]):
            own[one, column] += pull * context_before[other, column]
            context[other, column] += pull * own_before[one, column]


def _around_one(x: Any) -> Any:
    """Features with non-zeros of mean size 1: bags of words stay as they are, and the rates fit all others too."""
    size = np.abs(x.data if sparse.issparse(x) else x[x != 0]).mean() if x.size else 1.0
    return x * np.float32(1 / size)


def label_contexts(train: Ids, y: Ids, size: int, rng: np.random.Generator) -> Iterator[Ids]:
    """Batches of pairs of training vertices of one class; none if there is only one class."""
    order = np.argsort(y, kind="stable")
    first_of, count = np.searchsorted(y[order], y), np.bincount(y)[y]  # of the class of each training vertex
    while count[0] < y.size:
        one = rng.integers(y.size, size=size)
        place = first_of[one] + (rng.random(size) * count[one]).astype(np.int64)
        yield np.stack([train[one], train[order[place]]], 1)


def other_classes(vertices: Ids, train: Ids, y: Ids, n: int, rng: np.random.Generator) -> Ids:
    """For each of some training vertices ``n`` that are of another class, ``(vertices, n)``."""
    order = train[np.argsort(y[train], kind="stable")]
    first, count = (np.searchsorted(y[order], y[vertices], side=side) for side in ("left", "right"))
    count -= first
    among = (rng.random((vertices.size, n)) * (train.size - count)[:, None]).astype(np.int64)
    found: Ids = order[among + count[:, None] * (among >= first[:, None])]
    return found


def _batches(vertices: Ids, size: int, rng: np.random.Generator) -> Iterator[Ids]:
    """Batches of vertices, in another order each time they are through; none if there are no vertices."""
    while vertices.size:
        order = rng.permutation(vertices)
        yield from (order[start : start + size] for start in range(0, order.size, size))
