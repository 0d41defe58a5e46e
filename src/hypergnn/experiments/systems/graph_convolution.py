"""Graph Convolutional Network in its original architecture.

    Z = Â ReLU(Â X P₁) P₂        Â = D̃^-1/2 (A + I) D̃^-1/2

Kipf and Welling, "Semi-supervised classification with graph convolutional networks" (2017,
https://arxiv.org/abs/1609.02907). The settings are theirs: 16 hidden features, dropout 0.5, an L2 penalty of 5e-4 on
the first layer, 200 epochs with a window of 10, features divided by their row sums, no bias. The window is that of the
validation cross-entropy, to which their program adds the L2 penalty. The layers are our ``GraphConv``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities, SettingsByDataset
from hypergnn.experiments.systems.learning import TwoLayers, Window, learn, seeded
from hypergnn.experiments.systems.reaching import Reaching
from hypergnn.experiments.systems.structure import features_of, graph_of
from hypergnn.layers.convolution import GraphConv


@dataclass(frozen=True)
class GraphConvolutionalNetwork(SettingsByDataset):
    """Two graph convolutions with ReLU and dropout.

    Example:
        >>> from hypergnn import datasets
        >>> GraphConvolutionalNetwork(epochs=3).fit(datasets.load("digits"), seed=0).shape
        (1797, 10)
    """

    name: ClassVar[str] = "gcn"
    title: ClassVar[str] = "Graph Convolutional Network"
    is_deterministic: ClassVar[bool] = False

    hidden: int = 16
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    """L2 penalty of the first layer."""
    epochs: int = 200
    window: int = 10
    """Stop when the validation loss exceeds the mean of so many last ones."""

    def fit(self, data: Dataset, seed: int) -> Probabilities:
        """Train from a seed; probabilities of each class for every vertex."""
        x, graph = features_of(data), graph_of(data)
        with seeded(seed):
            first = GraphConv(data.n_features, self.hidden, bias=False)
            network = TwoLayers(first, GraphConv(self.hidden, data.n_classes, bias=False), self.dropout)
            groups = network.decayed(self.weight_decay)
            return learn(
                network,
                Reaching(network, x, graph),
                data,
                groups=groups,
                learning_rate=self.learning_rate,
                epochs=self.epochs,
                stopping=Window(self.window),
            )
