"""The inside of a trained network: probabilities, hidden features, the attention of each incidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hypergnn.datasets import Dataset
from hypergnn.explanations.parts import Call, attention_of, ways_of
from hypergnn.explanations.question import run_network
from hypergnn.functional.projection import to_dense
from hypergnn.models import KINDS, Ensemble, check_structures
from hypergnn.persistence.models import SavedModel
from hypergnn.structures.base import TwoSided
from hypergnn.structures.hypergraph import Hypergraph
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
    """Attended incidence, ``(n_incidences, heads of all layers)``; ``None`` without attention to hyperedges.

    The incidences are those of ``data.hypergraph.undirected()``; a vertex that does not receive has attention 0.
    """
    heads: tuple[str, ...]
    """The name of each column of :attr:`attention`: the layer, the head if there are several, and the direction if the
    layer follows both."""

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
    if network._form is not None or isinstance(network, Ensemble):
        return _seen_from_outside(model, data, task)
    with torch.no_grad():
        scores, calls = run_network(network, task.x, structures)
        attended = {name: one for number, call in enumerate(calls, start=1) for name, one in _heads(number, call, data)}
    hidden = calls[-1].x
    return Insight(
        data,
        model,
        probability=scores.softmax(-1).numpy(),
        hidden=hidden.numpy() if isinstance(hidden, Tensor) else _dense(data),
        attention=torch.stack(list(attended.values()), dim=-1).numpy() if attended else None,
        heads=tuple(attended),
    )


def _seen_from_outside(model: SavedModel, data: Dataset, task: Task) -> Insight:
    """What a network computes that is not made of layers one after the other."""
    network = model.network
    structures: dict[str, Any] = {name: task.structures[name] for name in network.structures}
    first = network.member(0) if isinstance(network, Ensemble) else network
    with torch.no_grad():
        probability = network(task.x, **structures).softmax(-1).numpy()
        hidden = to_dense(first.hidden(task.x, **structures)).numpy()
    return Insight(data, model, probability=probability, hidden=hidden, attention=None, heads=())


def _heads(layer: int, call: Call, data: Dataset) -> Iterator[tuple[str, Tensor]]:
    """The name and the attention of each head of a layer, ``(n_incidences,)``."""
    for way in ways_of(call):
        incidence = attention_of(call, way).incidence  # (pairs of the receivers, heads)
        if incidence is None or way.H is None:
            continue
        shown = _listed(incidence, way.H, data)
        direction = "" if way.direction is None else f" {way.direction}"
        n_heads = shown.shape[-1]
        for head in range(n_heads):
            name = str(layer) if n_heads == 1 else f"{layer}.{head + 1}"
            yield f"{name}{direction}", shown[:, head]


def _listed(incidence: Tensor, H: TwoSided, data: Dataset) -> Tensor:
    """The attention of receivers at the incidences of the undirected hypergraph, which hold those of the receivers."""
    if isinstance(data.hypergraph, Hypergraph):
        return incidence
    whole = data.hypergraph.undirected()
    keys, own = (
        rows.long() * H.n_hyperedges + columns  # ascending: pairs are in the order of vertices, then of hyperedges
        for rows, columns in ((whole._vertex_ids, whole._hyperedge_ids), (H.receivers.rows(), H.receivers.members))
    )
    shown = incidence.new_zeros(whole.n_incidences, incidence.shape[-1])
    shown[torch.searchsorted(keys, own)] = incidence
    return shown


def _dense(data: Dataset) -> Floats:
    """Sparse features as an array, for networks with a single layer."""
    features: Floats = np.asarray(data.x.todense(), dtype=np.float32)  # type: ignore[union-attr]
    return features
