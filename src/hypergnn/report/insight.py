"""The inside of a trained network: probabilities, hidden features, the attention of each incidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hypergnn.datasets import Dataset
from hypergnn.explanations.parts import attention_of
from hypergnn.explanations.question import run_network
from hypergnn.models import KINDS, check_structures
from hypergnn.persistence.models import SavedModel
from hypergnn.training.plan import Task

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Insight:
    """What a network computes for every vertex of a dataset."""

    data: Dataset
    model: SavedModel
    probability: Floats
    """Of each class, ``(N, n_classes)``."""
    hidden: Floats
    """Input of the last layer, ``(N, F)``; the features of the data if there is only one layer."""
    attention: Floats | None
    """Attended incidence, ``(n_incidences, heads of all layers)``; ``None`` without attention to hyperedges."""
    heads: tuple[str, ...]
    """The name of each column of :attr:`attention`: the layer, and the head if the layer has several."""

    @property
    def accuracy(self) -> float:
        """On the test vertices, in percent."""
        right = self.probability[self.data.test].argmax(axis=1) == self.data.y[self.data.test]
        return float(100 * right.mean()) if right.size else float("nan")


def look(model: SavedModel, data: Dataset) -> Insight:
    """Run a network on a dataset and collect what passes between its layers.

    Args:
        model: The result of :func:`hypergnn.load`.
        data: The dataset that the network was trained on.

    Raises:
        ValueError: If the dataset lacks a structure that the network needs.

    Example:
        >>> import tempfile, hypergnn as hg
        >>> data = hg.datasets.load("digits")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = hg.training.fit(data, hg.models.Config("hyper-attention", max_epochs=2), out=folder)
        ...     insight = look(hg.load(f"{folder}/model.safetensors"), data)
        >>> insight.hidden.shape, insight.attention.shape, insight.heads[-2:]
        ((1797, 64), (19767, 9), ('1.8', '2'))
    """
    network = model.network.eval()
    given = {"graph": data.graph, "hypergraph": data.hypergraph}
    check_structures(network.config.model, given, data.name)
    task = Task.of(data, network.config)
    structures = [task.structures[name] for name in KINDS[network.config.model].structures]
    with torch.no_grad():
        scores, calls = run_network(network, task.x, structures)
        attended = [attention_of(call).incidence for call in calls]  # each (n_incidences, heads), or None
    hidden = calls[-1].x
    learned = [incidence for incidence in attended if incidence is not None]
    return Insight(
        data,
        model,
        probability=scores.softmax(-1).numpy(),
        hidden=hidden.numpy() if isinstance(hidden, Tensor) else _dense(data),
        attention=torch.cat(learned, dim=-1).numpy() if learned else None,
        heads=tuple(name for number, one in enumerate(learned, start=1) for name in _names(number, one.shape[-1])),
    )


def _names(layer: int, n_heads: int) -> list[str]:
    return [str(layer)] if n_heads == 1 else [f"{layer}.{head}" for head in range(1, n_heads + 1)]


def _dense(data: Dataset) -> Floats:
    """Sparse features as an array, for networks with a single layer."""
    features: Floats = np.asarray(data.x.todense(), dtype=np.float32)  # type: ignore[union-attr]
    return features
