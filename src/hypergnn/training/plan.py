"""What can be computed before training: once per ``fit``, shared by all batches and workers.

The scores of a few vertices depend on a part of the structure only, and the first transition of constant features is
constant. Both are computed here, with the positions that make dropout on a part drop the same entries as dropout on
the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from hypergnn.datasets import Dataset
from hypergnn.functional.checks import Features
from hypergnn.functional.projection import n_entries, select_rows
from hypergnn.loader.receptive_field import Reached, Structure, Vertices, receptive_field
from hypergnn.models import KINDS, Config, Network
from hypergnn.models.network import Step
from hypergnn.structures.sparse_features import SparseFeatures


@dataclass(frozen=True)
class Task:
    """A dataset as tensors on one device: a classification, or a regression if ``y`` holds floating-point numbers.

    Without validation vertices, a trial runs for all its epochs and is evaluated with the parameters of the last.
    """

    x: Features
    structures: dict[str, Structure]
    y: Tensor  # classes (N,), or targets (N, n_classes) of a regression
    train: Tensor
    val: Tensor
    test: Tensor
    n_features: int
    n_classes: int
    weight: Tensor | None = None
    """How much each vertex counts in the loss, ``(N,)``; equally if ``None``."""

    @classmethod
    def of(cls, data: Dataset, config: Config, device: str | torch.device = "cpu") -> Task:
        """Convert a dataset, with its features scaled as the configuration says."""
        features = data.scaled(config.feature_scaling)
        x = torch.from_numpy(features) if not hasattr(features, "indptr") else SparseFeatures.from_scipy(features)
        structures = {"graph": data.graph, "hypergraph": data.hypergraph}
        return cls(
            x=x.to(device),
            structures={name: one.to(device) for name, one in structures.items() if one is not None},
            y=torch.from_numpy(data.y).to(device),
            train=torch.from_numpy(data.train).to(device),
            val=torch.from_numpy(data.val).to(device),
            test=torch.from_numpy(data.test).to(device),
            n_features=data.n_features,
            n_classes=data.n_classes,
        )


@dataclass(frozen=True)
class Part:
    """The part of a task that the scores of some vertices depend on."""

    x: Features
    """Features of the vertices that the first layer reads."""
    steps: list[Step]
    """The structures of each layer."""
    y: Tensor
    """The class or the targets of each row of the scores."""
    rows: Tensor
    """The row of each vertex, in the order in which the vertices were given."""
    known: Tensor | None = None
    """``T X`` of the first layer, if it is constant and was computed."""
    weight: Tensor | None = None
    """The weight of each row of the scores in the loss; equal if ``None``."""
    places: dict[int, Tensor] = field(default_factory=dict)
    """Positions in the whole, for dropout on a part: see :func:`hypergnn.kernels.dropout.seeded`."""


@dataclass(frozen=True)
class Plan:
    """A task with everything that is computed before training."""

    task: Task
    training: Part
    """The part that the training loss depends on."""
    validation: Part | None
    """The part that the validation loss depends on; ``None`` without validation vertices."""

    @classmethod
    def of(cls, task: Task, config: Config) -> Plan:
        """Compute everything about a task that does not change during training."""
        known = _known_transition(task, config)
        training = _part(task, task.train, config, known if config.dropout == 0 else None)
        return cls(task, training, _part(task, task.val, config, known) if task.val.numel() else None)


def _known_transition(task: Task, config: Config) -> Tensor | None:
    """``T X`` of the first layer if ``T`` is not learned and the product saves time; else ``None``.

    It saves time if it has at most as many entries as ``X`` and ``T`` together, which always holds for dense features,
    and if another layer follows: the last layer is computed for some vertices only.
    """
    kind = KINDS[config.model]
    structures = [task.structures[name] for name in kind.structures]
    costs = n_entries(task.x) + sum(one.n_terms for one in structures)
    if config.depth == 1 or kind.has_attention or not structures or task.x.shape.numel() > costs:
        return None
    first = Network.empty(config, task.n_features, task.n_classes).layers[0]
    propagate: Callable[..., Tensor] | None = getattr(first, "_propagate", None)
    if propagate is None:  # a layer whose transition and projection cannot be told apart
        return None
    with torch.no_grad():
        return propagate(task.x, *structures)


def _part(task: Task, vertices: Tensor, config: Config, known: Tensor | None) -> Part:
    kind, n_vertices = KINDS[config.model], task.y.shape[0]
    structures: dict[str, Structure] = {name: task.structures[name] for name in kind.structures}
    n_layers = config.depth if known is None else config.depth - 1
    reached = receptive_field(
        structures, vertices.cpu().numpy(), n_layers, n_vertices=n_vertices, attention=kind.has_attention
    )
    if known is not None:  # the first layer then reads exactly the rows that it outputs
        reached.insert(0, Reached({}, reached[0].read, reached[0].read))
    steps: list[Step] = [tuple(layer.blocks.values()) for layer in reached]
    read = _index(reached[0].read, task, n_vertices)
    made, rows = vertices.unique(return_inverse=True)
    return Part(
        x=select_rows(task.x, read),
        steps=steps,
        y=task.y[made],
        rows=rows,
        known=known if known is None or read is None else known[read],
        weight=None if task.weight is None else task.weight[made],
        places=_places(reached, steps, task, n_vertices),
    )


def _places(reached: list[Reached], steps: list[Step], task: Task, n_vertices: int) -> dict[int, Tensor]:
    """The positions in the whole of the vertices that each layer reads and of the pairs that it attends over."""
    places: dict[int, Tensor] = {}
    for layer, step in zip(reached, steps, strict=True):
        read = _index(layer.read, task, n_vertices)
        if read is not None:
            places |= {id(one): read.int() for one in (step, *layer.blocks.values())}
        for name, pairs in layer.pairs.items():
            block = layer.blocks[name]
            own = getattr(block, "senders", None) if name == "hypergraph" else getattr(block, "links", None)
            if own is not None:
                places[id(own)] = torch.from_numpy(pairs.astype(np.int32)).to(task.y.device)
    return places


def _index(vertices: Vertices, task: Task, n_vertices: int) -> Tensor | None:
    """The vertices as a tensor; ``None`` if they are all vertices."""
    return None if vertices.size == n_vertices else torch.from_numpy(vertices).to(task.y.device)
