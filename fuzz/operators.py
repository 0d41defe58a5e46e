"""What is done with everything that loads: every operator must work, and give finite numbers."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import hypergnn as hg

_WIDTH = 3


class WrongResultError(Exception):
    """Something loaded, and then an operator gave a wrong or an infinite result."""


class ExecutedError(BaseException):
    """A file has made its reader call a function. Not an Exception, which a reader might catch."""


def ran(*_: object) -> None:
    """What hostile pickles try to call."""
    raise ExecutedError


def use_hypergraph(H: hg.Hypergraph, *, is_valid: bool = True) -> None:
    """Send features through the layers, forwards and backwards, and ask for everything that H knows.

    Args:
        H: The hypergraph.
        is_valid: Whether H must compute what the same hypergraph made of its pairs computes.
    """
    repr(H), H._repr_html_(), H.to_scipy().sum(), H.vertex_degree().sum(), H.hyperedge_degree().sum()
    if H.n_vertices > 50_000:
        return
    H.to_hyperedges()
    outputs = _run(H)
    if H.n_vertices:
        last = H.n_vertices - 1
        block = H.around([last])
        layer = _layers()[0]
        made = layer(_features(H.n_vertices)[block.read], block)
        if is_valid:
            _check_close(made, outputs[0][block.made], "a block")
    if is_valid:
        sizes = (H.n_vertices, H.n_hyperedges)
        again = hg.Hypergraph.from_incidence(H.vertex, H.hyperedge, *sizes, weight=H.weight, centroid=H.centroid)
        for one, other in zip(outputs, _run(again), strict=True):
            _check_close(one, other, "the hypergraph made again")


def use_graph(G: hg.Graph, *, is_valid: bool = True) -> None:
    """Send features through the layers of graphs."""
    repr(G), G.to_scipy().sum(), G.target_degree.sum(), G.source_degree.sum()
    if not 0 < G.n_vertices <= 50_000:
        return
    G.neighbours(0)
    for layer in _graph_layers():
        out = _backwards(layer, G)
        _check_finite(out)
        if is_valid:
            again = hg.Graph.from_links(G.source, G.target, G.n_vertices)
            _check_close(out, _backwards(layer, again), "the graph made again")


def use_model(model: hg.SavedModel) -> None:
    """Predict with a network."""
    repr(model.class_names), repr(model.about), repr(model.network)
    if model.network.n_features > 20_000:
        return
    H = _small()
    x = torch.ones(H.n_vertices, model.network.n_features, dtype=next(model.network.parameters()).dtype)
    with torch.no_grad():
        model.network.eval()(x, graph=_small_graph(), hypergraph=H)
    with suppress(ValueError):  # another number of features, other names
        hg.training.predict(model, _small_data())


def use_dataset(data: Any) -> None:
    """Describe a dataset and use its structures."""
    repr(data), data._repr_html_(), data.n_features, data.n_classes
    use_hypergraph(data.hypergraph)
    if data.graph is not None:
        use_graph(data.graph)
    if not np.isfinite(data.x.sum() if hasattr(data.x, "sum") else 0):
        raise WrongResultError("features that are not finite")


def _run(H: Any) -> list[Tensor]:
    outputs = [_backwards(layer, H) for layer in _layers()]
    for out in outputs:
        _check_finite(out)
    return outputs


def _backwards(layer: nn.Module, structure: Any) -> Tensor:
    x = _features(structure.n_vertices).requires_grad_()
    out: Tensor = layer(x, structure)
    out.square().sum().backward()
    if x.grad is not None:
        _check_finite(x.grad)
    layer.zero_grad()
    return out.detach()


def _features(n_vertices: int) -> Tensor:
    return torch.linspace(-1, 1, n_vertices * _WIDTH, dtype=torch.float64).reshape(n_vertices, _WIDTH)


def _check_finite(out: Tensor) -> None:
    if not bool(out.isfinite().all()):
        raise WrongResultError("a result that is not finite")


def _check_close(one: Tensor, other: Tensor, than: str) -> None:
    if not torch.allclose(one, other, rtol=1e-6, atol=1e-8):
        raise WrongResultError(f"a result other than that of {than}")


@cache
def _layers() -> tuple[nn.Module, ...]:
    made = (
        hg.HypergraphConv(_WIDTH, 2),
        hg.HypergraphConv(_WIDTH, 2, normalization="row"),
        hg.HypergraphAttention(_WIDTH, 2, heads=2),
        hg.HypergraphAttention(_WIDTH, 2, softmax_over="vertices"),
    )
    return tuple(layer.double() for layer in made)


@cache
def _graph_layers() -> tuple[nn.Module, ...]:
    return hg.GraphConv(_WIDTH, 2).double(), hg.GraphAttention(_WIDTH, 2).double()


@cache
def _small() -> hg.Hypergraph:
    return hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3], [3, 4], []], n_vertices=6, weight=[1.0, 2.0, 0.5, 1.0])


@cache
def _small_data() -> hg.Dataset:
    """Data that the valid models fit."""
    vertices, parts = np.arange(6), np.array([0, 1])
    return hg.Dataset(
        name="small",
        x=np.eye(6, 5, dtype=np.float32),
        y=vertices % 3,
        class_names=("a", "b", "c"),
        graph=_small_graph(),
        hypergraph=_small(),
        train=parts,
        val=parts + 2,
        test=parts + 4,
        source="memory",
        feature_names=tuple("abcde"),
    )


@cache
def _small_graph() -> hg.Graph:
    return hg.Graph.from_links([0, 1, 2, 3], [1, 2, 3, 4], 6)
