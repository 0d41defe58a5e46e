"""What many layers do to a network: how different rows stay, and how much of the gradient reaches the first layer."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.functional import elu

from hypergnn.datasets import Dataset
from hypergnn.functional import hypergraph_conv
from hypergnn.functional.checks import Features
from hypergnn.layers import Layer
from hypergnn.models import Network, residual
from hypergnn.models.pair_norm import pair_norm
from hypergnn.structures.base import TwoSided
from hypergnn.training.losses import losses_of
from hypergnn.training.plan import Task


def dirichlet_energy(x: Tensor, H: TwoSided) -> float:
    """How much rows differ from those that they share hyperedges with, relative to their length.

    ``tr(Xᵀ (I - T) X) / tr(XᵀX)`` with the symmetric transition ``T``: 0 if ``X`` does not change when it is
    propagated, so that nothing is left to tell vertices of a component apart.

    Args:
        x: ``(N, F)``.
        H: The hypergraph.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
        >>> dirichlet_energy(torch.tensor([[1.0], [1.0]]), H), dirichlet_energy(torch.tensor([[1.0], [-1.0]]), H)
        (0.0, 1.0)
    """
    x = x.double()
    length = float(x.square().sum())
    return float((x * (x - hypergraph_conv(x, H))).sum()) / length if length else 0.0


def layer_energies(network: Network, data: Dataset) -> list[float]:
    """The Dirichlet energy of the output of each layer, without dropout.

    Example:
        >>> import hypergnn as hg
        >>> data = hg.datasets.load("digits")
        >>> network = Network(hg.Config(depth=3), data.n_features, data.n_classes)
        >>> len(layer_energies(network, data))
        3
    """
    network, task = network.eval(), Task.of(data, network.config).seen_by(network)
    structures = tuple(task.structures[name] for name in network.structures)
    with torch.no_grad():
        outputs = _outputs(network, task.x, structures)
    return [dirichlet_energy(one, data.hypergraph.undirected()) for one in outputs]


def gradient_norms(network: Network, data: Dataset) -> tuple[float, float]:
    """The length of the gradient of the training loss in the projections of the first and of the last layer.

    Example:
        >>> import hypergnn as hg
        >>> data = hg.datasets.load("digits")
        >>> network = Network(hg.Config(depth=3), data.n_features, data.n_classes)
        >>> all(norm > 0 for norm in gradient_norms(network, data))
        True
    """
    task, network = Task.of(data, network.config), network.eval()
    scores = network(task.x, **{name: task.structures[name] for name in network.structures})
    loss = losses_of(scores.unsqueeze(0), task.y, task.train).sum()
    ends = [cast(Layer, network.layers[place]).projection for place in (0, -1)]
    first, last = torch.autograd.grad(loss, ends)
    return float(first.norm()), float(last.norm())


def _outputs(network: Network, x: Features, structures: tuple[Any, ...]) -> list[Tensor]:
    """What each layer gives after its activation."""
    if network.config.is_residual:
        return residual.outputs(network, x, [structures] * network.config.depth)
    if network.config.is_random:
        raise ValueError("network must have layers one after the other; random propagation has none.")
    found: list[Tensor] = []
    for number, layer in enumerate(network.layers, 1):
        linear = layer(found[-1] if found else x, *structures)
        is_scaled = network.config.norm == "pair" and number < len(network.layers)
        found.append(elu(pair_norm(linear) if is_scaled else linear))
    return found
