"""Variance Reduction: a graph convolutional network trained on one drawn neighbour per vertex with control variates.

    (Â h)_v ≈ Σ_u Â_vu μ̄_u + Σ_{u drawn} [n Â_vu (μ_u - μ̄_u) + √n Â_vu (h_u - μ_u)]

Chen, Zhu and Song, "Stochastic training of graph convolutional networks with variance reduction" (2018,
https://arxiv.org/abs/1710.10568). ``h`` are the hidden activations with dropout, ``μ`` those without, ``μ̄`` the ones
stored when a vertex was last computed. A vertex draws itself (n = 1) and one of its n neighbours. The first product
``Â X`` is computed once. Hidden width 32, batches of 1000, dropout 0.5, L2 penalty 5e-4, learning rate 0.01, 200 epochs
and a window of 10 are published; the window is that of the validation cross-entropy, as in our graph convolutional
network. Predictions use all neighbours.

Batches and neighbours are drawn by our ``NeighborLoader``, for which a link is a pair of hyperedges with one tail and
one head each. Its blocks have the sum over the drawn neighbours times n, which is exactly ``n Â`` between the scales of
the degrees, and ``√n Â`` after a division by √n. The control variates are our own:
:class:`hypergnn.models.ControlVariates` computes all activations again before each epoch. With one batch per epoch, as
here, it would have no difference ``μ - μ̄`` to estimate. It also does not scale the noise of dropout by √n.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities, SettingsByDataset
from hypergnn.experiments.systems.learning import Groups, Window, learn, of_all, seeded
from hypergnn.experiments.systems.structure import adjacency_of, as_features, normalized
from hypergnn.functional.checks import Features
from hypergnn.functional.convolution import hypergraph_conv
from hypergnn.functional.projection import drop, project
from hypergnn.layers.base import glorot
from hypergnn.loader import NeighborLoader
from hypergnn.structures.block import Block
from hypergnn.structures.directed import DirectedHypergraph


class _Network(nn.Module):
    def __init__(self, n_features: int, hidden: int, n_classes: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.empty(n_features, hidden))
        self.second = nn.Parameter(torch.empty(hidden, n_classes))
        glorot(self.first, n_features, hidden, None)
        glorot(self.second, hidden, n_classes, None)


def as_hyperedges(adjacency: sparse.csr_array) -> DirectedHypergraph:
    """A graph as a directed hypergraph: each link is two hyperedges, from one of its ends to the other and back.

    Example:
        >>> as_hyperedges(sparse.csr_array([[0, 1], [1, 0]])).to_hyperedges()
        [([1], [0]), ([0], [1])]
    """
    links = adjacency.tocoo()
    ends, number = np.concatenate([links.col, links.row]), np.tile(np.arange(links.nnz), 2)
    role = np.repeat(["tail", "head"], links.nnz)
    return DirectedHypergraph.from_incidence(ends, number, role, adjacency.shape[0], links.nnz)


@dataclass
class StoredActivations:
    """Estimates ``Â h`` of the vertices of a batch from themselves, their drawn neighbours and what is stored."""

    transition: sparse.csr_array
    """``Â``, ``(N, N)``, with a diagonal."""
    stored: Tensor
    """``μ̄``, ``(N, hidden)``, updated by each estimate."""
    _root: Tensor = field(init=False, repr=False)  # degrees to the power of -1/2, (N, 1)

    def __post_init__(self) -> None:
        """Read the degrees from the diagonal, which has their inverse."""
        self._root = torch.from_numpy(self.transition.diagonal()).sqrt().to(self.stored.dtype).unsqueeze(-1)

    def estimate(self, block: Block, h: Tensor, mean: Tensor) -> Tensor:
        """``Â h`` of the vertices that a sampled block makes, ``(made, hidden)``.

        Args:
            block: The drawn neighbours, each the only tail of a hyperedge.
            h: The activations of the vertices that the block reads, with dropout.
            mean: The same without dropout, ``μ``.
        """
        assert block.receiver_scale is not None
        before = self.stored[block.read]
        noise_scale = block.receiver_scale.rsqrt().to(h.dtype).unsqueeze(-1)  # √n / n
        change, noise = (self._root[block.read] * one for one in (mean - before, h - mean))
        drawn = hypergraph_conv(change, block, normalization="none")  # n times that of the neighbour
        drawn = drawn + noise_scale * hypergraph_conv(noise, block, normalization="none")
        own = change + noise
        drawn = drawn + (own if block.rows is None else own[block.rows])
        exact = project(as_features(self.transition[block.made.numpy()]), self.stored)  # Â μ̄
        self.stored[block.read] = mean.detach()
        return exact + self._root[block.made] * drawn


@dataclass(frozen=True)
class VarianceReduction(SettingsByDataset):
    """Two graph convolutions, the second estimated with control variates in training.

    Example:
        >>> from hypergnn import datasets
        >>> VarianceReduction(epochs=3).fit(datasets.load("digits"), seed=0).shape
        (1797, 10)
    """

    name: ClassVar[str] = "variance-reduction"
    title: ClassVar[str] = "Variance Reduction"
    is_deterministic: ClassVar[bool] = False

    hidden: int = 32
    neighbours: int = 1
    """Neighbours that a vertex draws, besides itself."""
    dropout: float = 0.5
    batch_size: int = 1000
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    """L2 penalty of the first layer."""
    epochs: int = 200
    window: int = 10
    """Stop when the validation loss exceeds the mean of so many last ones."""

    def fit(self, data: Dataset, seed: int) -> Probabilities:
        """Train from a seed; probabilities of each class for every vertex."""
        adjacency = adjacency_of(data, self.title)
        transition = normalized(sparse.csr_array(adjacency + sparse.eye_array(adjacency.shape[0])))
        x, whole = as_features(transition @ data.scaled("row")), as_features(transition)
        loader = NeighborLoader(
            as_hyperedges(adjacency),
            x,
            data.y,
            vertices=data.train,
            batch_size=self.batch_size,
            fanout=[(self.neighbours, 1)],
            seed=seed,
            prefetch=0,
        )
        with seeded(seed):
            network = _Network(data.n_features, self.hidden, data.n_classes)
            with torch.no_grad():
                activations = StoredActivations(transition, project(x, network.first).relu())

            def losses() -> Iterator[Tensor]:
                for batch in loader:
                    mean = project(batch.x, network.first).relu()
                    dropped = project(drop(batch.x, self.dropout), network.first).relu()
                    h = nn.functional.dropout(dropped, self.dropout)
                    scores = activations.estimate(batch.blocks[0], h, mean) @ network.second
                    assert batch.y is not None
                    yield nn.functional.cross_entropy(scores, batch.y)

            groups: Groups = [
                {"params": [network.first], "weight_decay": self.weight_decay},
                {"params": [network.second]},
            ]
            return learn(
                network,
                of_all(lambda: exact_scores(x, whole, network.first, network.second)),
                data,
                groups=groups,
                learning_rate=self.learning_rate,
                epochs=self.epochs,
                stopping=Window(self.window),
                losses=losses,
            )


def exact_scores(x: Features, transition: Features, first: Tensor, second: Tensor) -> Tensor:
    """``Â ReLU(X P₁) P₂`` with all neighbours; ``x`` is ``Â X`` already."""
    return project(transition, project(x, first).relu()) @ second
