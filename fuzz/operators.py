"""What is done with everything that loads: every operator must work, and give finite numbers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import hypergnn as hg
from hypergnn.distributed.exchange import Exchange
from hypergnn.structures.block import Block

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
    _draw(H, is_valid=is_valid)
    if is_valid:
        _edit(H)
        sizes = (H.n_vertices, H.n_hyperedges)
        again = hg.Hypergraph.from_incidence(H.vertex, H.hyperedge, *sizes, weight=H.weight, centroid=H.centroid)
        for one, other in zip(outputs, _run(again), strict=True):
            _check_close(one, other, "the hypergraph made again")


def use_directed(H: hg.DirectedHypergraph, *, is_valid: bool = True) -> None:
    """Send features through the layers in every direction, and ask for everything that H knows.

    Args:
        H: The directed hypergraph.
        is_valid: Whether H must compute what the same hypergraph made of its tails and heads computes.
    """
    tails, heads = H.to_scipy()
    repr(H), H._repr_html_(), H.tail_degree().sum(), H.head_degree().sum(), H.hyperedge_degree().sum()
    if H.n_vertices > 50_000:
        return
    H.to_hyperedges()
    outputs = _run_directed(H)
    if H.n_vertices:
        block = H.around([H.n_vertices - 1])
        assert isinstance(block, Block)  # one direction, one block
        made = _layers()[0](_features(H.n_vertices)[block.read], block)
        if is_valid:
            _check_close(made, outputs[0][block.made], "a block")
    _draw(H, is_valid=is_valid)
    if is_valid:
        _edit(H)
        again = hg.DirectedHypergraph.from_scipy(tails, heads, weight=H.weight.clone(), centroid=H.centroid)
        for one, other in zip(outputs, _run_directed(again), strict=True):
            _check_close(one, other, "the directed hypergraph made again")
        turned = H.reversed().reversed()
        _check_close(outputs[0], _run(turned)[0], "the hypergraph turned round twice")
        use_hypergraph(H.undirected())


def _draw(H: hg.Hypergraph | hg.DirectedHypergraph, *, is_valid: bool) -> None:
    """Draw the batches of some vertices, and score all vertices part by part."""
    if not H.n_vertices:
        return
    x, some = _features(H.n_vertices), np.arange(min(H.n_vertices, 3))
    for attention in (False, True):
        layer = _layers()[2 if attention else 0]
        for batch in hg.NeighborLoader(
            H, x, vertices=some, fanout=[(2, 2)], batch_size=2, attention=attention, prefetch=0
        ):
            _check_finite(layer(batch.x, batch.blocks[0]).detach())
    whole = next(iter(hg.NeighborLoader(H, x, vertices=some, shuffle=False, prefetch=0)))
    with torch.no_grad():
        made, expected = _layers()[0](whole.x, whole.blocks[0]), _layers()[0](x, H)[some]
        scores = hg.models.infer(_network(), H, x, batch_size=5)
        if is_valid:
            _check_close(made, expected, "a batch of everything")
            _check_close(torch.as_tensor(scores), _network()(x, hypergraph=H), "the network")


def _edit(H: hg.Hypergraph | hg.DirectedHypergraph) -> None:
    """Add vertices and a hyperedge, take them away again, and look at a window of time."""
    named = {"vertex_names": ["\x07 new"]} if H.vertex_names is not None else {}
    if H.n_vertices and H.hyperedge_names is None and H.time is None:
        last = H.n_vertices - 1
        added: Any = H.add([([last], [0])] if isinstance(H, hg.DirectedHypergraph) else [[last]])  # type: ignore[list-item]
        _conv(added)
        less = added.remove([H.n_hyperedges])
        _check_close(_conv(less), _conv(H), "the hypergraph before it was edited")
    with suppress(TypeError, ValueError):  # names of another type
        _conv(H.add_vertices(1, **named))
    if H.n_hyperedges:
        _conv(H.remove([0]))
    if H.time is not None and H.time.size:
        _conv(H.window(H.time.min()))


class _Silent(Exchange):
    """An exchange with processes that send zeros: rows are gathered as for the others, and nothing arrives."""

    def add(self, sums: Tensor) -> Tensor:
        """The sums, of which the rows that others would get are read."""
        for route in (self.there, self.back):
            sums.index_select(1, route.sent), sums.index_select(1, route.received)
            if route.sent.shape[0] != sum(route.n_sent) or route.received.shape[0] != sum(route.n_received):
                raise WrongResultError("a route of another length")
        return sums


def use_shard(shard: Any) -> None:
    """Send features through the layers, as one process of several does."""
    alone = replace(shard, parts=_Silent(shard.parts.there, shard.parts.back))
    for layer in _layers()[:2]:
        _check_finite(_backwards(layer, alone))


def use_rows(data: Any) -> None:
    """Use the features, classes and split of one process."""
    x = data.x.data if hasattr(data.x, "toarray") else data.x  # a sparse matrix may have any number of columns
    if not np.isfinite(x).all() or data.x.shape[0] != data.y.shape[0]:
        raise WrongResultError("features that do not fit")
    for ids in (data.train, data.val, data.test):
        if (data.y[ids] < 0).any() or (data.y[ids] >= len(data.head.data["class_names"])).any():
            raise WrongResultError("classes that do not exist")


def use_state(state: Any, first: int) -> None:
    """Check that what was restored can go on."""
    for one in state.parameters.values():
        _check_finite(one.detach())
    if first < 0 or len(state.curves) != len(state.seeds) or len(state.best_loss) != len(state.seeds):
        raise WrongResultError("a state that does not fit")


def use_trial(trial: Any, n_epochs: int) -> None:
    """Check the result of a trial that went on from a checkpoint, or from its beginning."""
    _check_finite(trial.scores)
    if trial.epochs > n_epochs or any(len(one) != trial.epochs for one in trial.curves.values()):
        raise WrongResultError("a trial of other epochs")


def use_features(rows: Any) -> None:
    """Take rows of features."""
    n_rows, n_columns = rows.shape
    for ids in (np.arange(min(n_rows, 4)), np.array([n_rows - 1] * (n_rows > 0), dtype=np.int64)):
        taken = rows.take(ids)
        if tuple(taken.shape) != (ids.size, n_columns):
            raise WrongResultError("rows of another shape")
    with suppress(ValueError):
        rows.take(np.array([n_rows]))
        raise WrongResultError("a row that does not exist")


def use_any(H: hg.Hypergraph | hg.DirectedHypergraph) -> None:
    """Use a hypergraph, directed or not."""
    if isinstance(H, hg.DirectedHypergraph):
        use_directed(H)
    else:
        use_hypergraph(H)


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
    has_finite = all(bool(one.isfinite().all()) for one in model.network.parameters())
    with torch.no_grad(), nullcontext() if has_finite else suppress(ValueError):  # hyperedges cannot follow NaN
        model.network.eval()(x, graph=_small_graph(), hypergraph=H)
    with suppress(ValueError):  # another number of features, other names
        hg.training.predict(model, _small_data())


def use_estimator(model: Any, rows: Any) -> None:
    """Predict with an estimator, which may fail with any exception: its parts need not fit each other."""
    for name in ("predict", "predict_proba", "transform"):
        with suppress(Exception):
            getattr(model, name)(rows)
    parts: list[Any] = [getattr(model, "estimator_", None), model]
    for part in parts:
        with suppress(Exception):
            part.decision_path(rows)
        with suppress(Exception):
            repr(part)


def use_batch(batch: hg.HypergraphBatch) -> None:
    """Sum up, take apart and convolve."""
    repr(batch)
    x = _features(batch.n_vertices)
    for reduce in ("sum", "max"):
        _check_finite(hg.functional.readout(x, batch, reduce=reduce))
    _check_finite(hg.functional.hypergraph_conv(x, batch))
    if len(batch.split()) != batch.n_members:
        raise WrongResultError("a member was lost")


def use_dataset(data: Any) -> None:
    """Describe a dataset and use its structures."""
    repr(data), data._repr_html_(), data.n_features, data.n_classes
    use_any(data.hypergraph)
    if data.graph is not None:
        use_graph(data.graph)
    if not np.isfinite(data.x.sum() if hasattr(data.x, "sum") else 0):
        raise WrongResultError("features that are not finite")


def _run(H: Any) -> list[Tensor]:
    outputs = [_backwards(layer, H) for layer in _layers()]
    for out in outputs:
        _check_finite(out)
    return outputs


def _run_directed(H: Any) -> list[Tensor]:
    """The outputs of the layers, forwards, and of those that follow hyperedges in other directions."""
    outputs = _run(H) + [_backwards(layer, H) for layer in _directed_layers()]
    for out in outputs:
        _check_finite(out)
    return outputs


def _conv(H: Any) -> Tensor:
    """The output of one layer, forwards."""
    with torch.no_grad():
        out: Tensor = _layers()[0](_features(H.n_vertices), H)
    _check_finite(out)
    return out


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
def _network() -> hg.Network:
    return hg.Network(hg.Config(hidden=2, heads=1), _WIDTH, 2).double().eval()


@cache
def _directed_layers() -> tuple[nn.Module, ...]:
    made = (
        hg.HypergraphConv(_WIDTH, 2, direction="both", learn_weight=True),
        hg.HypergraphConv(_WIDTH, 2, normalization="none", direction="backward"),
        hg.HypergraphConv(_WIDTH, 2, direction="undirected"),
        hg.HypergraphAttention(_WIDTH, 2, heads=2, direction="both"),
        hg.HypergraphAttention(_WIDTH, 2, direction="undirected"),
        hg.layers.SpectralConv(_WIDTH, 2),
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


def _first(layer: nn.Module, structure: Any) -> None:
    if structure.n_vertices <= 50_000:
        layer(_features(structure.n_vertices), structure)


_METHODS: tuple[Callable[[Any], Any], ...] = (
    lambda H: H.to_scipy(),
    lambda H: H.to_hyperedges(),
    lambda H: H.around([0]),
    lambda H: H.remove([0]),
    lambda H: H.add([]),
)
FIRST_USES: dict[type, tuple[Callable[[Any], Any], ...]] = {
    hg.Hypergraph: (*_METHODS, *(partial(_first, one) for one in _layers())),
    hg.HypergraphBatch: (
        lambda batch: hg.functional.readout(_features(batch.n_vertices), batch),
        lambda batch: batch.split(),
        *(partial(_first, one) for one in _layers()),
    ),
    hg.DirectedHypergraph: (
        *_METHODS,
        lambda H: H.undirected(),
        lambda H: H.reversed().to_scipy(),
        *(partial(_first, one) for one in _directed_layers()),
    ),
    hg.Graph: tuple(partial(_first, one) for one in _graph_layers()),
}
"""What may be the first thing that is done with a structure of a file, by its kind."""
