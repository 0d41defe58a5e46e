"""Semi-supervised Embedding: a perceptron whose hidden layer brings neighbours together and others apart.

    loss = cross-entropy + λ [mean_{(i, j) linked} |h_i - h_j|² + mean_{(i, j) drawn} max(0, m - |h_i - h_j|)²]

Weston, Ratle, Mobahi and Collobert, "Deep learning via semi-supervised embedding" (2008), with the embedding loss on
the hidden layer ``h`` of a perceptron. In each step, links and as many pairs of vertices are drawn. The numbers of the
row were first quoted without settings. λ is chosen on the validation vertices; width, margin, pairs and patience are
ours, untuned; dropout, penalty and learning rate are those of the perceptron. The last epoch that was best in
validation loss and accuracy at once predicts. The layers are our ``Dense``, the loss is our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities, SettingsByDataset
from hypergnn.experiments.systems.learning import Patience, TwoLayers, learn, of_all, seeded
from hypergnn.experiments.systems.structure import adjacency_of, features_of
from hypergnn.layers.convolution import Dense


@dataclass(frozen=True)
class SemiSupervisedEmbedding(SettingsByDataset):
    """A perceptron with an embedding loss on its hidden layer.

    Example:
        >>> from hypergnn import datasets
        >>> SemiSupervisedEmbedding(epochs=3).fit(datasets.load("digits"), seed=0).shape
        (1797, 10)
    """

    name: ClassVar[str] = "semi-supervised-embedding"
    title: ClassVar[str] = "Semi-supervised Embedding"
    is_deterministic: ClassVar[bool] = False
    settings_of: ClassVar[Mapping[str, Mapping[str, Any]]] = {"citeseer": {"strength": 10.0}}

    strength: float = 100.0
    """The factor λ of the embedding loss."""
    margin: float = 1.0
    """The distance m beyond which drawn pairs are far enough apart."""
    pairs: int = 2000
    """Links, and as many other pairs, drawn in a step."""
    hidden: int = 64
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    """L2 penalty of the first layer."""
    epochs: int = 200
    patience: int = 50

    def fit(self, data: Dataset, seed: int) -> Probabilities:
        """Train from a seed; probabilities of each class for every vertex."""
        x, y, train = features_of(data), torch.from_numpy(data.y), torch.from_numpy(data.train)
        links = adjacency_of(data, self.title).tocoo()
        ends = torch.stack([torch.from_numpy(one).long() for one in (links.row, links.col)])  # (2, n_directed_links)
        with seeded(seed):
            first = Dense(data.n_features, self.hidden)
            network = TwoLayers(first, Dense(self.hidden, data.n_classes), self.dropout)

            def losses() -> Iterator[Tensor]:
                hidden = network.hidden(x)
                loss = nn.functional.cross_entropy(network.scored(hidden)[train], y[train])
                if ends.shape[1]:
                    near = ends[:, torch.randint(ends.shape[1], (self.pairs,))]
                    far = torch.randint(y.numel(), (2, self.pairs))
                    loss = loss + self.strength * embedding_loss(hidden, near, far, self.margin)
                yield loss

            return learn(
                network,
                of_all(lambda: network(x)),
                data,
                groups=network.decayed(self.weight_decay),
                learning_rate=self.learning_rate,
                epochs=self.epochs,
                stopping=Patience(self.patience, by_both=True),
                losses=losses,
            )


def embedding_loss(h: Tensor, near: Tensor, far: Tensor, margin: float) -> Tensor:
    """The squared distance of pairs that are near, plus the squared lack of distance of pairs that are far.

    Example:
        >>> h = torch.tensor([[0.0], [2.0], [2.5]])
        >>> embedding_loss(h, torch.tensor([[0], [1]]), torch.tensor([[1], [2]]), margin=1.0)
        tensor(4.2500)
    """
    together = (h[near[0]] - h[near[1]]).square().sum(-1)
    distance = ((h[far[0]] - h[far[1]]).square().sum(-1) + 1e-12).sqrt()
    return together.mean() + (margin - distance).relu().square().mean()
