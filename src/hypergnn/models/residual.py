"""Deep networks: an initial residual and an identity mapping around the transition of any layer.

``x₀ = σ(X P₀)``, then for each layer ``x' = σ(((1-α) T x + α x₀)((1-β) I + β W))`` with ``β = ln(θ / l + 1)``, then a
dense layer, as in `Chen et al. <https://arxiv.org/abs/2007.02133>`_. A transition commutes with a projection, so the
bracket is the projection of the layer: attention is taken over the mapped rows, with heads as always.

Where the activations of all layers would take much memory, only those between groups of layers are stored, and those
within a group are computed again in the backward pass, with the same dropout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from hypergnn.functional.checks import Features
from hypergnn.functional.projection import drop, project
from hypergnn.kernels.dropout import activate, dropout, resumable
from hypergnn.layers import Dense, Layer
from hypergnn.models.catalogue import KINDS
from hypergnn.models.own_layers import has_hooks, one_way
from hypergnn.models.pair_norm import pair_norm
from hypergnn.structures.base import TwoSided, ways

if TYPE_CHECKING:
    from hypergnn.models.config import Config
    from hypergnn.models.network import Network

__all__ = ["RECOMPUTED", "build", "outputs", "scores"]

RECOMPUTED = 1 << 26
"""Entries of the activations of all layers beyond which they are computed again in the backward pass."""


def build(
    config: Config, n_features: int, n_classes: int, options: dict[str, Any]
) -> tuple[nn.ModuleList, nn.ModuleDict]:
    """The layers, each with the share of the identity in its mapping, and the dense ones before and after them."""
    n_ways = 2 if config.direction == "both" else 1
    width = n_ways * config.hidden * config.heads
    make = KINDS[config.model].layer
    layers = [make(width, config.hidden, heads=config.heads, bias=False, **options) for _ in range(config.depth)]
    if config.residual == "initial":
        for number, layer in enumerate(layers, 1):
            layer._identity = max(0.0, 1 - math.log(config.theta / number + 1))
    ends = {"first": Dense(n_features, width), "last": Dense(width, n_classes)}
    return nn.ModuleList(layers), nn.ModuleDict(ends)


def scores(network: Network, x: Features, steps: Sequence[tuple[Any, ...]], *, hidden: bool = False) -> Tensor:
    """The scores; or, if ``hidden``, what the last dense layer gets."""
    config = network.config
    rate = config.dropout if network.training else 0.0
    last = network.ends["last"]
    start = _start(network, drop(x, config.first_dropout if network.training else 0.0, of=steps[0]))
    state = dropout(start, rate, of=steps[0]), start * (config.alpha / (1 - config.alpha))
    is_divided = any(getattr(one, "parts", None) is not None for one in steps[0])  # all processes must do the same
    groups = _groups(len(steps), start) if network.training and start.requires_grad and not is_divided else 1
    size = -(-len(steps) // groups)
    for begin in range(0, len(steps), size):
        run = partial(_run, network, steps, range(begin, min(begin + size, len(steps))), 0.0 if hidden else rate)
        if groups == 1:
            state = run(*state)
        else:
            state = cast(tuple[Tensor, Tensor], checkpoint(run, *state, use_reentrant=False, context_fn=resumable))
    return state[0] if hidden else last(state[0])


def outputs(network: Network, x: Features, steps: Sequence[tuple[Any, ...]]) -> list[Tensor]:
    """The output of each layer, without dropout."""
    start, alpha = _start(network, x), network.config.alpha
    state, found = (start, start * (alpha / (1 - alpha))), []
    for number in range(len(steps)):
        state = _run(network, steps, range(number, number + 1), 0.0, *state)
        found.append(state[0])
    return found


def _start(network: Network, x: Features) -> Tensor:
    """``x₀``."""
    first, by = cast(Dense, network.ends["first"]), network.config.activation
    if has_hooks(first):
        return activate(first(x), None, 0.0, by=by)
    return activate(first._linear(x), first.bias, 0.0, by=by)


def _groups(n_layers: int, x: Tensor) -> int:
    """The number of groups of layers that are computed again in the backward pass; 1 if none are.

    A group stores its input, and two such tensors per layer while it is computed again.
    """
    return 1 if n_layers * x.numel() <= RECOMPUTED else math.isqrt(2 * n_layers)


def _run(
    network: Network, steps: Sequence[tuple[Any, ...]], numbers: range, last_rate: float, x: Tensor, start: Tensor
) -> tuple[Tensor, Tensor]:
    """Some of the layers: their output, with the dropout of what follows, and the scaled ``x₀`` of the same rows."""
    config = network.config
    rate = config.dropout if network.training else 0.0
    for number in numbers:
        structures, is_last = steps[number], number + 1 == len(steps)
        rows = one_way(structures[0]).rows
        start = start if rows is None else start.index_select(-2, rows)
        linear = _mixed(cast(Layer, network.layers[number]), x, start, structures, config.alpha)
        if config.norm == "pair":
            linear = pair_norm(linear)
        next_rows = steps if is_last else steps[number + 1]  # of the list itself: the rows that its last step makes
        x = activate(linear, None, last_rate if is_last else rate, of=next_rows, by=config.activation)
    return x, start


def _mixed(layer: Layer, x: Tensor, start: Tensor, structures: tuple[Any, ...], alpha: float) -> Tensor:
    """``((1-α) T x + α x₀) P`` with the mapping of the layer, or ``(1-α) f(x) + α x₀`` if it has none.

    ``start`` is ``α/(1-α) x₀``, and ``1-α`` scales the mapping, which is smaller than the rows.
    """
    linear: Callable[..., Tensor] = layer if has_hooks(layer) else layer._linear  # it has no bias
    if layer._identity is None:
        return (linear(x, *structures) + start) * (1 - alpha)
    mapping = layer._mapping()  # (..., width, width)
    propagate: Callable[..., Tensor] | None = getattr(layer, "_propagate", None)
    if layer.direction == "forward" and propagate is not None and not has_hooks(layer):
        own = [ways(one, "forward")[0] if isinstance(one, (TwoSided, tuple)) else one for one in structures]
        return layer._projected(propagate(x, *own).add_(start), mapping * (1 - alpha))
    return (linear(x, *structures) + project(start, mapping)) * (1 - alpha)
