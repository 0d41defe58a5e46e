"""Chebyshev: spectral convolution with Chebyshev polynomials of the Laplacian.

    X' = Σ_{k ≤ K} T_k(L̃) X P_k        L̃ = 2 L / λ_max - I        T_k(L̃) = 2 L̃ T_{k-1}(L̃) - T_{k-2}(L̃)

Defferrard, Bresson and Vandergheynst, "Convolutional neural networks on graphs with fast localized spectral filtering"
(2016, https://arxiv.org/abs/1606.09375), as measured by Kipf and Welling (https://arxiv.org/abs/1609.02907) with the
settings of their graph convolutional network. They give K = 2 and 3, and the quoted row has the better of them for each
dataset: 2 on Cora, 3 on Citeseer and Pubmed. We choose on the validation vertices, which take 2 on Pubmed. The window
is that of the validation cross-entropy, to which their program adds the L2 penalty. The layer is our own and λ_max its
bound 2, so that L̃ = -D^-1/2 A D^-1/2. By Clenshaw's recurrence it propagates the few projected features instead of all
given ones, which PyG's ``ChebConv`` propagates; the tests compare both. 124 articles of Citeseer and three of Pubmed
cite themselves; as in their program, ``A`` has these loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities, SettingsByDataset
from hypergnn.experiments.systems.learning import TwoLayers, Window, learn, of_all, seeded
from hypergnn.experiments.systems.structure import adjacency_of, as_features, features_of, normalized
from hypergnn.functional.checks import Features
from hypergnn.functional.projection import project
from hypergnn.layers.base import glorot


class ChebyshevLayer(nn.Module):
    """A polynomial of the scaled Laplacian, of degree ``order``, without bias.

    Example:
        >>> ChebyshevLayer(5, 2, order=3)(torch.rand(4, 5), torch.eye(4)).shape
        torch.Size([4, 2])
    """

    def __init__(self, in_features: int, out_features: int, order: int) -> None:
        """Create and draw one projection per power."""
        super().__init__()
        self.order = order
        self.projection = nn.Parameter(torch.empty(in_features, (order + 1) * out_features))
        glorot(self.projection, in_features, out_features, None)

    def forward(self, x: Features, laplacian: Features) -> Tensor:
        """Filter ``x`` with the scaled Laplacian L̃, ``(N, N)``."""
        terms = project(x, self.projection).chunk(self.order + 1, -1)  # X P_k, each (N, F')
        later, last = torch.zeros_like(terms[0]), terms[-1]
        for term in reversed(terms[1:-1]):
            later, last = last, term + 2 * project(laplacian, last) - later
        return terms[0] + project(laplacian, last) - later if self.order else terms[0]


@dataclass(frozen=True)
class Chebyshev(SettingsByDataset):
    """Two layers of Chebyshev polynomials with ReLU and dropout.

    Example:
        >>> from hypergnn import datasets
        >>> Chebyshev(epochs=3).fit(datasets.load("digits"), seed=0).shape
        (1797, 10)
    """

    name: ClassVar[str] = "chebyshev"
    title: ClassVar[str] = "Chebyshev"
    is_deterministic: ClassVar[bool] = False
    settings_of: ClassVar[Mapping[str, Mapping[str, Any]]] = {"citeseer": {"order": 3}}

    order: int = 2
    """The largest power K."""
    hidden: int = 16
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    """L2 penalty of the first layer."""
    epochs: int = 200
    window: int = 10
    """Stop when the validation loss exceeds the mean of so many last ones."""
    loops: bool = True
    """Keep the links of vertices to themselves that the data has."""

    def fit(self, data: Dataset, seed: int) -> Probabilities:
        """Train from a seed; probabilities of each class for every vertex."""
        x = features_of(data)
        laplacian = as_features(-normalized(adjacency_of(data, self.title, loops=self.loops)))
        with seeded(seed):
            first = ChebyshevLayer(data.n_features, self.hidden, self.order)
            network = TwoLayers(first, ChebyshevLayer(self.hidden, data.n_classes, self.order), self.dropout)
            groups = network.decayed(self.weight_decay)
            return learn(
                network,
                of_all(lambda: network(x, laplacian)),
                data,
                groups=groups,
                learning_rate=self.learning_rate,
                epochs=self.epochs,
                stopping=Window(self.window),
            )
