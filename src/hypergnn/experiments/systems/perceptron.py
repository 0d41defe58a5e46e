"""Multilayer Perceptron: two dense layers that see the features and no structure.

    Z = ReLU(X P₁) P₂

The row of Kipf and Welling, "Semi-supervised classification with graph convolutional networks" (2017,
https://arxiv.org/abs/1609.02907), and their settings: those of the graph convolutional network, without bias.
Training stops by the cross-entropy of the validation vertices, to which their program adds the L2 penalty. The layers
are our ``Dense``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities, SettingsByDataset
from hypergnn.experiments.systems.learning import TwoLayers, Window, learn, seeded
from hypergnn.experiments.systems.reaching import Reaching
from hypergnn.experiments.systems.structure import features_of
from hypergnn.layers.convolution import Dense


@dataclass(frozen=True)
class MultilayerPerceptron(SettingsByDataset):
    """Two dense layers with ReLU and dropout.

    Example:
        >>> from hypergnn import datasets
        >>> MultilayerPerceptron(epochs=3).fit(datasets.load("digits"), seed=0).shape
        (1797, 10)
    """

    name: ClassVar[str] = "mlp"
    title: ClassVar[str] = "Multilayer Perceptron"
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
        x = features_of(data)
        with seeded(seed):
            first = Dense(data.n_features, self.hidden, bias=False)
            network = TwoLayers(first, Dense(self.hidden, data.n_classes, bias=False), self.dropout)
            groups = network.decayed(self.weight_decay)
            return learn(
                network,
                Reaching(network, x, None),
                data,
                groups=groups,
                learning_rate=self.learning_rate,
                epochs=self.epochs,
                stopping=Window(self.window),
            )
