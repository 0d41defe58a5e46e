"""MoNet: convolution by Gaussian kernels over pseudo-coordinates of the links.

    x_i' = Σ_k mean_{j ∈ N(i) ∪ {i}} w_k(v_ij) x_j P_k     w_k(v) = exp(-½ Σ_d (v_d - μ_kd)² / σ_kd²)
    v_ij = tanh(A u_ij + b)                                 u_ij = (deg(i)^-1/2, deg(j)^-1/2)

Monti et al., "Geometric deep learning on graphs and manifolds using mixture model CNNs" (2017,
https://arxiv.org/abs/1611.08402). Three kernels, coordinates from degrees, width 16, dropout 0.5 and learning rate 0.01
are those of public re-implementations; the L2 penalty is chosen on the validation vertices. Training ends after 100
epochs in which neither the validation loss nor the validation accuracy improved, and the last epoch that was best in
both predicts. The layer is our own: the Gaussians of ``HypergraphMoNet``, and one head of our graph attention for each
kernel. It is PyG's ``GMMConv`` without root weight on transformed coordinates; the tests compare both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from hypergnn import functional
from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities, SettingsByDataset
from hypergnn.experiments.systems.learning import Patience, TwoLayers, learn, of_all, seeded
from hypergnn.experiments.systems.structure import features_of, links_of
from hypergnn.functional.checks import Features
from hypergnn.functional.monet import gaussians
from hypergnn.functional.projection import project
from hypergnn.layers.base import glorot
from hypergnn.structures.graph import Graph


class MoNetLayer(nn.Module):
    """A mean over neighbours for each Gaussian kernel, with a bias.

    Example:
        >>> graph = Graph.from_links([0, 1], [1, 2], n_vertices=3)
        >>> MoNetLayer(5, 2, kernels=3)(torch.rand(3, 5), graph, degree_coordinates(graph)).shape
        torch.Size([3, 2])
    """

    def __init__(self, in_features: int, out_features: int, kernels: int) -> None:
        """Create and draw the parameters."""
        super().__init__()
        self.kernels = kernels
        self.projection = nn.Parameter(torch.empty(in_features, kernels * out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        self.mean = nn.Parameter(0.1 * torch.randn(kernels, 2))
        self.spread = nn.Parameter(torch.ones(kernels, 2))
        self.coordinates = nn.Linear(2, 2)
        glorot(self.projection, in_features, out_features, None)

    def forward(self, x: Features, graph: Graph, u: Tensor) -> Tensor:
        """Convolve ``x`` with the pseudo-coordinates ``u`` of the directed links, ``(n_directed_links, 2)``."""
        projected = project(x, self.projection)
        projected = projected.reshape(len(projected), self.kernels, -1)  # (N, kernels, F')
        values = gaussians(self.coordinates(u).tanh(), self.mean, self.spread)  # (n_directed_links, kernels)
        total = functional.graph_attention(projected, graph, values).sum(-2)  # (N, F')
        return total / graph.degree.to(total.dtype).unsqueeze(-1) + self.bias


def degree_coordinates(graph: Graph) -> Tensor:
    """``(deg(i)^-1/2, deg(j)^-1/2)`` of each directed link, loops included, which count in the degrees too."""
    root = graph.degree.rsqrt().float()
    return torch.stack([root[graph._target_ids.long()], root[graph._source_ids.long()]], -1)


@dataclass(frozen=True)
class MoNet(SettingsByDataset):
    """Two layers of Gaussian kernels with ReLU and dropout.

    Example:
        >>> from hypergnn import datasets
        >>> MoNet(epochs=3).fit(datasets.load("digits"), seed=0).shape
        (1797, 10)
    """

    name: ClassVar[str] = "monet"
    title: ClassVar[str] = "MoNet"
    is_deterministic: ClassVar[bool] = False
    settings_of: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "citeseer": {"weight_decay": 5e-3},
        "pubmed": {"weight_decay": 5e-3},
    }

    kernels: int = 3
    hidden: int = 16
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 1e-3
    """L2 penalty of both layers."""
    epochs: int = 1000
    patience: int = 100

    def fit(self, data: Dataset, seed: int) -> Probabilities:
        """Train from a seed; probabilities of each class for every vertex."""
        x, graph = features_of(data), links_of(data, self.title)
        u = degree_coordinates(graph)
        with seeded(seed):
            first = MoNetLayer(data.n_features, self.hidden, self.kernels)
            network = TwoLayers(first, MoNetLayer(self.hidden, data.n_classes, self.kernels), self.dropout)
            return learn(
                network,
                of_all(lambda: network(x, graph, u)),
                data,
                groups=[{"params": list(network.parameters()), "weight_decay": self.weight_decay}],
                learning_rate=self.learning_rate,
                epochs=self.epochs,
                stopping=Patience(self.patience, by_both=True),
            )
