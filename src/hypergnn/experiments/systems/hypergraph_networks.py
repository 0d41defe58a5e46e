"""Feng et al.: hypergraph neural networks, HGNN.

    Z = T ReLU(T X P₁ + b₁) P₂ + b₂        T = D^-1/2 H W B^-1 Hᵀ D^-1/2

Feng et al., "Hypergraph neural networks" (2019, https://arxiv.org/abs/1809.09401). A hyperedge holds an article and all
that it cites or is cited by. Hidden width 16, dropout 0.5, learning rate 0.001 and the L2 penalty 5e-4 are theirs; when
they stopped is not published. Here training ends after 100 epochs in which neither the validation loss nor the
validation accuracy improved, and the last epoch that was best in both predicts. The layers are our ``HypergraphConv``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities, SettingsByDataset
from hypergnn.experiments.systems.learning import Patience, TwoLayers, learn, seeded
from hypergnn.experiments.systems.reaching import Reaching
from hypergnn.experiments.systems.structure import features_of
from hypergnn.layers.convolution import HypergraphConv


@dataclass(frozen=True)
class HypergraphNeuralNetwork(SettingsByDataset):
    """Two symmetric hypergraph convolutions with ReLU and dropout.

    Example:
        >>> from hypergnn import datasets
        >>> HypergraphNeuralNetwork(epochs=3).fit(datasets.load("digits"), seed=0).shape
        (1797, 10)
    """

    name: ClassVar[str] = "hgnn"
    title: ClassVar[str] = "Feng et al."
    is_deterministic: ClassVar[bool] = False

    hidden: int = 16
    dropout: float = 0.5
    learning_rate: float = 0.001
    weight_decay: float = 5e-4
    """L2 penalty of both layers."""
    epochs: int = 2000
    patience: int = 100

    def fit(self, data: Dataset, seed: int) -> Probabilities:
        """Train from a seed; probabilities of each class for every vertex."""
        x, H = features_of(data), data.hypergraph.undirected()
        with seeded(seed):
            first = HypergraphConv(data.n_features, self.hidden)
            network = TwoLayers(first, HypergraphConv(self.hidden, data.n_classes), self.dropout)
            return learn(
                network,
                Reaching(network, x, H),
                data,
                groups=[{"params": list(network.parameters()), "weight_decay": self.weight_decay}],
                learning_rate=self.learning_rate,
                epochs=self.epochs,
                stopping=Patience(self.patience, by_both=True),
            )
