"""A trained network as a program for executors."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch

from hypergnn.layers import Dense, HypergraphAttention, HypergraphConv
from hypergnn.models import Ensemble, Network
from hypergnn.persistence.models import SavedModel, load
from hypergnn.spark.blocks import HyperedgeBlock, VertexBlock
from hypergnn.spark.messages import Array
from hypergnn.spark.programs import Inference, LayerParameters, Pointwise, Program
from hypergnn.structures.hypergraph import Hypergraph

_KINDS = ("hyper-conv", "hyper-attention", "mlp")


def inference_of(model: str | os.PathLike[str] | SavedModel) -> tuple[Inference | Pointwise, SavedModel]:
    """The program of a model or a model file; raise if the network is of another kind."""
    loaded = model if isinstance(model, SavedModel) else load(model)
    network, config = loaded.network, loaded.network.config
    if config.model not in _KINDS:
        raise ValueError(f"the model must be one of {', '.join(_KINDS)} to predict on Spark; got {config.model}.")
    if config.direction not in ("forward", "undirected"):
        raise ValueError(
            f"the model must follow hyperedges forward to predict on Spark, where they have no direction; got "
            f"{config.direction!r}."
        )
    is_plain = network._form is None and (config.norm, config.weights) == ("none", "given")
    if isinstance(network, Ensemble) or not is_plain or config.hyperedge_features != "members":
        raise ValueError(
            "the model must be a single network of plain layers to predict on Spark: no ensemble, initial residual, "
            "PairNorm, and no weights or features of hyperedges that are computed."
        )
    layers = []
    for number, layer in enumerate(network.layers):
        is_last = number + 1 == len(network.layers)
        layers.append(_parameters(layer, is_activated=not (is_last and network.linear_output)))
    kind = Pointwise if config.model == "mlp" else Inference
    program = kind(tuple(layers), scales_rows=config.feature_scaling == "row")
    _check_same(network, program)
    return program, loaded


def _parameters(layer: Any, *, is_activated: bool) -> LayerParameters:
    attends = type(layer) is HypergraphAttention
    has_more = (
        getattr(layer, "weight_score", None) is not None or getattr(layer, "hyperedge_projection", None) is not None
    )
    if (
        type(layer) not in (Dense, HypergraphConv, HypergraphAttention)
        or has_more
        or (attends and layer.softmax_over != "hyperedges")
    ):
        raise ValueError(f"the layers must be plain convolutions or attentions to predict on Spark; got {layer}.")
    return LayerParameters(
        projection=_array(layer.projection),
        bias=None if layer.bias is None else _array(layer.bias),
        heads=layer.heads,
        aggregate=layer.aggregate,
        normalization=getattr(layer, "normalization", "none"),
        skip=layer.skip,
        skip_projection=None if layer.skip_projection is None else _array(layer.skip_projection),
        is_activated=is_activated,
        scores=(_array(layer.a_vertex), _array(layer.a_hyperedge)) if attends else None,
        negative_slope=layer.negative_slope if attends else 0.0,
    )


def _array(parameter: torch.Tensor) -> Array:
    return np.asarray(parameter.detach().cpu().float().numpy())


def _check_same(network: Network, program: Inference | Pointwise) -> None:
    """Raise unless the program computes what the network computes, on a few vertices."""
    H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3], [3]], n_vertices=5, weight=[1.0, 2.0, 0.5])
    x = torch.rand(5, network.n_features, generator=torch.Generator().manual_seed(0))
    total = x.sum(1, keepdim=True) if program.scales_rows else torch.ones(5, 1)
    with torch.no_grad():
        expected = network.to("cpu").eval()(x / total, hypergraph=H).numpy()
    found = alone(program, H, x.numpy())
    if not np.allclose(found, expected, rtol=1e-3, atol=1e-4):
        raise ValueError(
            "the network has settings that cannot be computed on Spark yet: "
            f"{network.config}. Predict with hypergnn.training.predict instead."
        )


def alone(program: Program, H: Hypergraph, x: Array) -> Array:
    """Run a program over a hypergraph in memory, as one block of vertices and one of hyperedges.

    Example:
        >>> from hypergnn.spark.programs import Propagation
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=3)
        >>> alone(Propagation("row", 1), H, np.array([[2.0], [4.0], [9.0]])).tolist()
        [[3.0], [3.5], [0.0]]
    """
    import pyarrow as pa

    weight, degree = H.weight.numpy(), H.vertex_degree().numpy()
    is_joined = degree > 0
    order = np.argsort(~is_joined, kind="stable")  # isolated vertices come last
    place = np.argsort(order)
    back = H.incidence.T
    n_slots = H.n_hyperedges
    block = VertexBlock(
        ids=(keys := pa.array(order[: is_joined.sum()])),
        keys=keys,
        offsets=back.offsets.numpy(),
        members=place[back.members.numpy()],
        degree=degree[order][: is_joined.sum()],
        weight=weight,
        bounds=np.array([0, n_slots]),
    )
    hyperedges = HyperedgeBlock(H.hyperedge_degree().numpy(), weight, {0: np.arange(n_slots)}, {}, {})
    sent, received = program.begin(block, x[order]), np.zeros((0, 0), x.dtype)
    for number in range(program.rounds):
        received = program.combine(number, hyperedges, hyperedges.total({0: sent.sums}))
        if number + 1 < program.rounds:
            sent = program.proceed(number, block, received, sent.state)
    return program.end(block, received, sent.state)[place]
