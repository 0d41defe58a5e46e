"""What can be computed before training: once per ``fit``, shared by all batches and workers.

The scores of a few vertices depend on a part of the structure only, and the first transition of constant features is
constant. Both are computed here, with the positions that make dropout on a part drop the same entries as dropout on
the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from hypergnn.datasets import Dataset
from hypergnn.functional.checks import Features
from hypergnn.functional.projection import n_entries, select_rows, to_dense
from hypergnn.loader.receptive_field import Reached, Structure, Vertices, receptive_field
from hypergnn.models import KINDS, Config, Network
from hypergnn.models.network import OWN_LAYERS, Step
from hypergnn.models.random_propagation import mean_of_powers
from hypergnn.structures.base import Direction, TwoSided, ways
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

    def seen_by(self, network: Network) -> Task:
        """The task with the weights that the network gives the hyperedges."""
        return replace(self, structures={name: network.weighted(one) for name, one in self.structures.items()})


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
    share: float = 1.0
    """The rows of this process over those of all processes that train together."""


class Together(Protocol):
    """Processes that train together, each with a part of the vertices. All call the same methods in the same order."""

    def total(self, value: Tensor) -> Tensor:
        """The sum over all processes, without a gradient."""

    def add_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Give each process the sum of the gradients of all."""


@dataclass(frozen=True)
class Plan:
    """A task with everything that is computed before training."""

    task: Task
    training: Part
    """The part that the training loss depends on."""
    validation: Part | None
    """The part that the validation loss depends on; ``None`` without validation vertices."""
    together: Together | None = None
    """The other processes, if each holds a part of the vertices."""
    start: Mapping[str, Tensor] | None = None
    """Parameters that every trial starts from; drawn from its seed if ``None``."""

    @classmethod
    def of(cls, task: Task, config: Config) -> Plan:
        """Compute everything about a task that does not change during training."""
        network = Network.empty(config, task.n_features, task.n_classes)
        task = task.seen_by(network)
        is_dynamic, directions = KINDS[config.model].is_dynamic, _directions(network, config)
        if is_dynamic or config.hyperedge_features != "members" or config.needs_all_vertices or len(directions) > 1:
            steps = network._steps(task.structures, network.n_steps)  # each row depends on all of them
            if config.norm == "batch":
                return cls(task, *_propagated(task, network, steps))
            training = _whole(task, task.train, steps)
            if not task.val.numel():
                return cls(task, training, None)
            if not config.is_random:
                return cls(task, training, _whole(task, task.val, steps))
            return cls(task, training, _part(task, task.val, config, network, None))
        known = _known_transition(task, config, network)
        training = _part(task, task.train, config, network, known if config.first_dropout == 0 else None)
        return cls(task, training, _part(task, task.val, config, network, known) if task.val.numel() else None)

    def with_steps(self, steps: list[Step]) -> Plan:
        """The plan with other structures, one for each layer, in both parts."""
        validation = None if self.validation is None else replace(self.validation, steps=steps)
        return replace(self, training=replace(self.training, steps=steps), validation=validation)


def _directions(network: Network, config: Config) -> set[Direction]:
    """Which ways the layers follow hyperedges; layers of the caller's may have one of their own."""
    return {getattr(layer, "direction", config.direction) for layer in network.layers} or {config.direction}


def _known_transition(task: Task, config: Config, network: Network) -> Tensor | None:
    """``T X`` of the first layer if ``T`` is not learned and the product saves time; else ``None``.

    It saves time if it has at most as many entries as ``X`` and ``T`` together, which always holds for dense features,
    and if another layer follows: the last layer is computed for some vertices only.
    """
    kind = KINDS[config.model]
    if config.is_residual or config.is_random:  # a dense layer comes first
        return None
    structures = [task.structures[name] for name in kind.structures]
    costs = n_entries(task.x) + sum(one.n_terms for one in structures)
    if len(network.layers) == 1 or kind.has_attention or not structures or task.x.shape.numel() > costs:
        return None
    if config.direction == "both" or config.weights == "learned" or not network.is_uniform:
        return None
    first = network.layers[0]
    if type(first) not in OWN_LAYERS or getattr(first, "weight_score", None) is not None:
        return None
    if _directions(network, config) != {config.direction}:
        return None
    propagate: Callable[..., Tensor] | None = getattr(first, "_propagate", None)
    if propagate is None:  # a layer whose transition and projection cannot be told apart
        return None
    with torch.no_grad():
        return propagate(
            task.x, *[ways(one, config.direction)[0] if isinstance(one, TwoSided) else one for one in structures]
        )


def _propagated(task: Task, network: Network, steps: list[Step]) -> tuple[Part, Part | None]:
    """Both parts of random propagation with batch normalisation, which propagates all columns of dense features.

    In evaluation the propagated features are constant, so only their rows of validation vertices are needed.
    """
    x = to_dense(task.x)
    known = mean_of_powers(x, network.structures, steps)
    training = replace(_whole(task, task.train, steps), x=x, known=known)
    if not task.val.numel():
        return training, None
    made, rows = task.val.unique(return_inverse=True)
    weight = None if task.weight is None else task.weight[made]
    validation = Part(x=x[made], steps=steps, y=task.y[made], rows=rows, known=known[made], weight=weight)
    return training, validation


def _whole(task: Task, vertices: Tensor, steps: list[Step]) -> Part:
    """The part of some vertices whose scores depend on everything."""
    return Part(x=task.x, steps=steps, y=task.y, rows=vertices, weight=task.weight)


def _part(task: Task, vertices: Tensor, config: Config, network: Network, known: Tensor | None) -> Part:
    kind, n_vertices = KINDS[config.model], task.y.shape[0]
    structures: dict[str, Structure] = {name: task.structures[name] for name in kind.structures}
    n_layers = network.n_steps if known is None else network.n_steps - 1
    learns_weights = any(getattr(layer, "weight_score", None) is not None for layer in network.layers)
    (direction,) = _directions(network, config)
    reached = receptive_field(
        structures,
        vertices.cpu().numpy(),
        n_layers,
        n_vertices=n_vertices,
        attention=kind.has_attention or learns_weights,
        direction=direction,
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
            of_ways = [block for one in layer.blocks.values() for block in _blocks(one)]
            places |= {id(one): read.int() for one in (step, *of_ways)}
        for name, pairs in layer.pairs.items():
            for block, of_block in zip(_blocks(layer.blocks[name]), pairs, strict=True):
                own = getattr(block, "senders", None) if name == "hypergraph" else getattr(block, "links", None)
                if own is not None:
                    places[id(own)] = torch.from_numpy(of_block.astype(np.int32)).to(task.y.device)
    made = _index(reached[-1].made, task, n_vertices)
    if made is not None:
        places[id(steps)] = made.int()
    return places


def _blocks(block: Any) -> tuple[Any, ...]:
    """A block, or those of both directions."""
    return block if isinstance(block, tuple) else (block,)


def _index(vertices: Vertices, task: Task, n_vertices: int) -> Tensor | None:
    """The vertices as a tensor; ``None`` if they are all vertices."""
    return None if vertices.size == n_vertices else torch.from_numpy(vertices).to(task.y.device)
