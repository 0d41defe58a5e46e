"""Random propagation: rows are dropped, what is left is averaged over several transitions, and dense layers follow.

``Z = 1/(K+1) Σ_{k ≤ K} T^k (m ∘ X)`` with a mask ``m`` of vertices, then a multilayer perceptron, as in `Feng et al.
<https://arxiv.org/abs/2005.11079>`_. ``T`` is the transition of a graph, of a hypergraph or the mean of both. A mask of
rows commutes with a projection of columns, so the rows are propagated after the first projection: ``Z P = 1/(K+1)
Σ_k T^k (m ∘ X P)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from hypergnn import functional
from hypergnn.functional.checks import Features
from hypergnn.functional.projection import drop, to_dense
from hypergnn.kernels.dropout import activate, draw, dropout
from hypergnn.layers import Dense
from hypergnn.models.batch_norm import BatchNorm
from hypergnn.models.own_layers import has_hooks, one_way
from hypergnn.structures.base import ways

if TYPE_CHECKING:
    from hypergnn.models.config import Config
    from hypergnn.models.network import Network

__all__ = ["dense_layers", "draws", "mean_of_powers", "norms", "scores"]


def dense_layers(config: Config, n_features: int, n_classes: int) -> list[Dense]:
    """The multilayer perceptron after the propagation."""
    width = config.hidden * config.heads
    widths = [n_features, *[width] * (config.depth - 1), n_classes]
    return [Dense(before, after) for before, after in pairwise(widths)]


def norms(config: Config, n_features: int) -> list[BatchNorm]:
    """The batch normalisation before each of the dense layers; none without ``norm="batch"``."""
    widths = [n_features, *[config.hidden * config.heads] * (config.depth - 1)]
    return [BatchNorm(width) for width in widths] if config.norm == "batch" else []


def mean_of_powers(x: Tensor, kind: tuple[str, ...], steps: Sequence[tuple[Any, ...]]) -> Tensor:
    """``1/(K+1) Σ_{k ≤ K} T^k x``, for the rows that the last step makes.

    Args:
        x: ``(..., N, F)``.
        kind: The names of the structures of each step.
        steps: The structures of each step, or blocks of them.

    Example:
        >>> import torch, hypergnn as hg
        >>> H = hg.Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
        >>> mean_of_powers(torch.eye(2), ("hypergraph",), [(H,)])
        tensor([[0.7500, 0.2500],
                [0.2500, 0.7500]])
    """
    total, n = x, len(kind)
    for structures in steps:  # Horner's rule: T (T (… + x) + x) + x
        rows = one_way(structures[0]).rows
        x = x if rows is None else x.index_select(-2, rows)
        *others, propagated = (_TRANSITIONS[name](total, one) for name, one in zip(kind, structures, strict=True))
        for other in others:
            propagated.add_(other)
        total = (propagated if n == 1 else propagated.mul_(1 / n)).add_(x)  # in place: large tensors are slow to make
    return total / (len(steps) + 1)


def scores(
    network: Network,
    x: Features,
    steps: Sequence[tuple[Any, ...]],
    *,
    known: Tensor | None = None,
    hidden: bool = False,
) -> Tensor:
    """The scores of one draw in training, of the mean in evaluation; or, if ``hidden``, what the last layer gets.

    Args:
        network: The network.
        x: Features of the vertices that the first step reads.
        steps: The structures of each step.
        known: With batch normalisation, the mean of the powers for ``x`` itself, if that is known.
        hidden: Whether to stop before the last layer.
    """
    config, layers = network.config, cast(list[Dense], list(network.layers))
    if len(network.norms) > 0:
        layers[0]._check(x)  # before a norm, which would broadcast
        if known is not None and not network.training:
            propagated = known * (1 - config.row_dropout)
        else:
            propagated = mean_of_powers(_masked(to_dense(x), network, of=steps[0]), network.structures, steps)
        return _normalized_scores(network, propagated, steps, hidden=hidden)
    rate = config.dropout if network.training else 0.0
    x = drop(x, config.first_dropout if network.training else 0.0, of=steps[0])
    first, bias = layers[0], layers[0].bias
    linear: Tensor
    if has_hooks(first) or (hidden and len(layers) == 1):  # somebody wants to see Z
        propagated = mean_of_powers(_masked(to_dense(x), network, of=steps[0]), network.structures, steps)
        if hidden and len(layers) == 1:
            return propagated
        linear, bias = first(propagated), None
    else:
        narrow = _masked(first._projected(x, first.projection), network, of=steps[0])
        linear = mean_of_powers(narrow, network.structures, steps)  # (..., N, width)
    for layer in layers[1:]:
        out = activate(linear, bias, rate, by=config.activation)
        if hidden and layer is layers[-1]:
            return out
        linear, bias = (layer(out), None) if has_hooks(layer) else (layer._linear(out), layer.bias)
    scores: Tensor = linear if bias is None else linear + bias.unsqueeze(-2)
    return scores


def draws(network: Network, x: Features, steps: Sequence[tuple[Any, ...]], known: Tensor | None) -> list[Tensor]:
    """The scores of all draws of a training step.

    If half of the rows are dropped, and the mean of the powers is known for ``x`` itself, the draws come in pairs: what
    one drops, the other keeps, so that only one of them has to be propagated.
    """
    config = network.config
    if len(network.norms) == 0 or known is None or config.row_dropout != 0.5:
        return [scores(network, x, steps) for _ in range(config.draws)]
    found: list[Tensor] = []
    while len(found) < config.draws:
        propagated = mean_of_powers(_masked(to_dense(x), network, of=steps[0]), network.structures, steps)
        for one in (propagated, known - propagated)[: config.draws - len(found)]:
            found.append(_normalized_scores(network, one, steps))
    return found


def _normalized_scores(
    network: Network, rows: Tensor, steps: Sequence[tuple[Any, ...]], *, hidden: bool = False
) -> Tensor:
    """The scores of propagated features, with batch normalisation and dropout before each dense layer."""
    config, last = network.config, len(network.layers) - 1
    rate = config.first_dropout
    for number, (norm, layer) in enumerate(zip(network.norms, network.layers, strict=True)):
        own, is_seen = cast(Dense, layer), hidden or has_hooks(norm) or has_hooks(layer)
        is_constant = rows.dim() == 3 and not rows.requires_grad and not is_seen
        drawn = draw(rate) if network.training and rate > 0 and is_constant else None
        if drawn is not None:
            rows = own._with_bias(cast(BatchNorm, norm).product(rows, own.projection, drawn))
        else:
            rows = dropout(norm(rows), rate if network.training else 0.0, of=steps)
            if hidden and number == last:
                break
            rows = own(rows)
        if number < last:
            rows, rate = activate(rows, None, 0.0, by=config.activation), config.dropout
    return rows


def _masked(x: Tensor, network: Network, of: object) -> Tensor:
    """``m ∘ x`` with rows dropped in training, and with their mean in evaluation, ``(..., N, F)``."""
    rate = network.config.row_dropout
    if not network.training:
        return x * (1 - rate) if rate > 0 else x
    trials = cast(Dense, network.layers[0]).projection.shape[:-2]
    ones = x.new_ones(*torch.broadcast_shapes(x.shape[:-2], trials), x.shape[-2], 1)
    return x * (dropout(ones, rate, of) * (1 - rate))  # 0 for each dropped row, 1 for the others


_TRANSITIONS: dict[str, Callable[[Tensor, Any], Tensor]] = {
    "graph": functional.graph_conv,
    "hypergraph": lambda x, H: functional.hypergraph_conv(x, *ways(H, "forward")),
}
