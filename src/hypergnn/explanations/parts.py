"""The terms of the last layer's score for one class and vertex: ``Σ_e (through e) + Σ_j (from j) + skip + bias``.

Hyperedge ``e`` contributes ``left_i H_ie middle_e Σ_j H_je right_j (x_j P)``. The scalings are those of the
normalisation, and ``H`` is the attended incidence in attention layers, both with their values in this forward pass. In
a directed hypergraph the first ``H`` is that of the heads and the second that of the tails; a layer that follows both
directions is the sum of two such layers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast

import torch
from torch import Tensor

from hypergnn import layers
from hypergnn.functional.attention import attended_scalings, attention_incidence
from hypergnn.functional.checks import Features
from hypergnn.functional.convolution import scalings
from hypergnn.functional.pairwise import link_scalings
from hypergnn.functional.projection import project, to_dense
from hypergnn.kernels import segment_sum
from hypergnn.layers import Layer
from hypergnn.structures.base import Direction, TwoSided, ways
from hypergnn.structures.graph import Graph
from hypergnn.structures.shared_graph import SharedGraph

_ORDER = ("hyperedge", "itself", "link")
PartKind = Literal["hyperedge", "link", "itself", "skip", "bias"]
ATTENTIONS = (layers.HypergraphAttention, layers.GraphAttention, layers.MeanAttention)
EXPLAINED = (layers.HypergraphConv, layers.GraphConv, layers.MeanConv, *ATTENTIONS, layers.Dense)
"""The layers whose factors are known here."""


@dataclass(frozen=True)
class Part:
    """One term of a score."""

    kind: PartKind
    """Where it comes from: a hyperedge, a link, the vertex itself, the skip connection or the bias."""
    number: int | None
    """The number of the hyperedge, or of the vertex at the other end of the link."""
    head: int | None
    """Head of the last layer."""
    attention: float | None
    """Attention of the vertex to the hyperedge or neighbour; ``None`` in layers without attention."""
    transition: float | None
    """The sum of the entries of ``T`` in the vertex's row that belong to this term."""
    contribution: float
    """What it adds to the score."""
    by_hidden_head: tuple[float, ...]
    """The contribution split by the head of the previous layer; empty if that layer has no concatenated heads."""
    direction: Direction | None = None
    """Which way the hyperedge was followed, in a layer that follows both; ``None`` in all others."""


class Call(NamedTuple):
    """The call of a layer in a forward pass: its inputs, and its output before the bias."""

    layer: Layer
    x: Features
    structures: tuple[Any, ...]
    x_hyperedge: Tensor | None
    out: Tensor


class Way(NamedTuple):
    """One direction in which a layer follows hyperedges."""

    number: int
    H: TwoSided | None
    """What the layer propagates over in this direction; ``None`` without a hypergraph."""
    direction: Direction | None
    """Its name, in a layer that follows both."""


class Attention(NamedTuple):
    """The attention of a layer over directed links and incidences, each ``(links or incidences, heads)``."""

    links: Tensor | None
    incidence: Tensor | None
    """Of the receivers."""
    sent: Tensor | None
    """Of the senders."""


class _Paths(NamedTuple):
    """Paths to a vertex, one per hyperedge or neighbour, each with all heads."""

    kind: PartKind
    numbers: list[int]
    attention: Tensor | None  # (paths, heads)
    transition: Tensor  # (paths, heads)
    contribution: Tensor  # (paths, heads, blocks)


def parts_of(call: Call, vertex: int, target: int, n_blocks: int) -> list[Part]:
    """The terms of score number ``target`` of ``vertex``, in descending order of attention within each head.

    Args:
        call: The call of the last layer.
        vertex: The vertex.
        target: The column of the score.
        n_blocks: The number of equal blocks of columns in ``x``: the heads of the previous layer.
    """
    layer, width = call.layer, call.layer.out_features
    is_concat = layer.aggregate == "concat"
    every = [target // width] if is_concat else list(range(layer.n_ways * layer.heads))  # heads of all directions
    found: list[Part] = []
    for way in ways_of(call):
        first = way.number * layer.heads
        heads = [number - first for number in every if first <= number < first + layer.heads]
        if not heads:  # of another direction than the score
            continue
        columns = [(first + head) * width + target % width for head in heads]
        values = _by_block(call.x, layer.projection[:, columns], n_blocks)  # (N, heads, blocks)
        for paths in _paths(call, way, vertex, heads, values / len(every)):
            found += _listed(paths, heads, n_blocks, way.direction)
    found.sort(key=lambda part: (part.direction == "backward", part.head, _ORDER.index(part.kind), -_importance(part)))
    if layer.skip:
        through = _by_block(call.x, _skip_column(layer, target), n_blocks)[vertex, 0]
        found.append(_part("skip", None, None, None, None, through, n_blocks))
    if layer.bias is not None:
        found.append(Part("bias", None, None, None, None, float(layer.bias[target]), ()))
    return found


def ways_of(call: Call) -> list[Way]:
    """The directions in which the layer of a call follows hyperedges."""
    H = next((one for one in call.structures if isinstance(one, TwoSided)), None)
    if H is None:
        return [Way(0, None, None)]
    found = ways(H, call.layer.direction)
    names: tuple[Direction | None, ...] = ("forward", "backward") if len(found) > 1 else (None,)
    return [Way(number, one, names[number]) for number, one in enumerate(found)]


def attention_of(call: Call, way: Way) -> Attention:
    """The attention of a layer in one direction; ``None`` where it has none."""
    layer, links, sent = call.layer, None, None
    if isinstance(layer, (layers.GraphAttention, layers.MeanAttention)):
        links = layer(call.x, *call.structures, return_attention=True)[1]
    if way.H is None or not isinstance(layer, (layers.HypergraphAttention, layers.MeanAttention)):
        return Attention(links, None, None)
    projected = layer._project(call.x, way.number)
    given: Tensor | None = None
    options: dict[str, Any] = {"negative_slope": layer.negative_slope}
    if isinstance(layer, layers.HypergraphAttention):
        given = layer._project_hyperedges(call.x_hyperedge, way.H, way.number)
        options["softmax_over"] = layer.softmax_over
    vectors = (layer._of_way(layer.a_vertex, way.number, -2), layer._of_way(layer.a_hyperedge, way.number, -2))
    scored = (projected, given, way.H, *vectors)
    sent = attention_incidence(*scored, **options)
    received = sent if way.H.shares_pairs else attention_incidence(*scored, **options, of="receivers")
    return Attention(links, received, sent)


def _skip_column(layer: Layer, target: int) -> Tensor:
    """The column of the skip projection that belongs to one score, ``(in_features, 1)``."""
    if layer.skip_projection is not None:
        return layer.skip_projection[:, [target]]
    column = torch.zeros_like(layer.projection[:, :1])
    column[target] = 1
    return column


def _by_block(x: Features, projection: Tensor, n_blocks: int) -> Tensor:
    """``X P`` in double precision, separately for each block of features: ``(N, columns, blocks)``."""
    if n_blocks == 1:
        return project(x, projection).double().unsqueeze(-1)
    blocks = to_dense(x).double().unflatten(-1, (n_blocks, -1))  # (N, blocks, F)
    return torch.einsum("nbf,bfc->ncb", blocks, projection.double().unflatten(0, (n_blocks, -1)))


def _paths(call: Call, way: Way, vertex: int, heads: list[int], values: Tensor) -> Iterator[_Paths]:
    """All paths over which the vertex receives features in one direction."""
    graph = next((one for one in call.structures if isinstance(one, (Graph, SharedGraph))), None)
    H = way.H
    if graph is None and H is None:
        yield _Paths("itself", [vertex], None, torch.ones(1, len(heads)), values[vertex].unsqueeze(0))
        return
    attention = attention_of(call, way)
    both: list[_Paths] = []
    if graph is not None:
        both += _over_links(call.layer, graph, vertex, attention.links, heads, values)
    if H is not None:
        both.append(_through_hyperedges(call, H, vertex, attention, heads, values))
    share = 1.0 if graph is None or H is None else 0.5  # the mean of two transitions
    for paths in both:
        yield paths._replace(transition=share * paths.transition, contribution=share * paths.contribution)


def _through_hyperedges(
    call: Call, H: TwoSided, vertex: int, attention: Attention, heads: list[int], values: Tensor
) -> _Paths:
    layer = cast(Any, call.layer)
    received, sent = attention.incidence, attention.sent
    if received is None or sent is None:
        weight = layer.hyperedge_weight(call.x, H) if isinstance(layer, layers.HypergraphConv) else None
        scaled = scalings(H, layer.normalization, layer.projection.dtype, weight)
    else:
        scaled = attended_scalings(H, sent, layer.normalization, of_receivers=None if H.shares_pairs else received)
    left, middle, right = (_of_heads(one, heads) for one in scaled)
    sends, receives = (
        values.new_ones(pairs.n_pairs, len(heads)) if one is None else cast(Tensor, _of_heads(one, heads))
        for pairs, one in ((H.senders, sent), (H.receivers, received))
    )
    with_ones = torch.cat([values, torch.ones_like(values[..., :1])], -1)  # a column of ones sums the entries of T
    sums = segment_sum(_times(with_ones, right), by=H.senders.T, values=sends)  # Sᵀ right X P  (M, heads, ...)
    place = slice(*H.receivers.offsets[vertex : vertex + 2].tolist())
    hyperedges = H.receivers.members[place].long()
    through = _times(_times(sums, middle)[hyperedges], receives[place])
    if left is not None:
        through = left[vertex].unsqueeze(-1) * through
    shown = None if received is None else receives[place]
    return _Paths("hyperedge", hyperedges.tolist(), shown, through[..., -1], through[..., :-1])


def _over_links(
    layer: Layer, graph: Graph | SharedGraph, vertex: int, attended: Tensor | None, heads: list[int], values: Tensor
) -> Iterator[_Paths]:
    neighbours = graph.neighbours(vertex)
    if attended is None:
        left, right = link_scalings(graph, cast(Any, layer).normalization)
        entries = values.new_ones(neighbours.shape[0], 1) if right is None else right[neighbours].unsqueeze(-1)
        entries = entries if left is None else left[vertex] * entries
    else:  # attention has one entry per link, so the links are listed
        entries = attended[slice(*cast(Graph, graph).links.offsets[vertex : vertex + 2].tolist())]
    entries = cast(Tensor, _of_heads(entries, heads))
    is_itself = neighbours == vertex
    kinds: tuple[tuple[PartKind, Tensor], ...] = (("itself", is_itself), ("link", ~is_itself))
    for kind, chosen in kinds:
        attention = None if attended is None else entries[chosen]
        over = _times(values[neighbours[chosen]], entries[chosen])
        yield _Paths(kind, neighbours[chosen].tolist(), attention, entries[chosen], over)


def _of_heads(scaling: Tensor | None, heads: list[int]) -> Tensor | None:
    """The columns of some heads of ``(..., rows, heads or 1)``, in double precision."""
    if scaling is None:
        return None
    scaling = scaling.reshape(scaling.shape[-2:])
    return (scaling.expand(-1, len(heads)) if scaling.shape[-1] == 1 else scaling[:, heads]).double()


def _times(x: Tensor, factor: Tensor | None) -> Tensor:
    return x if factor is None else factor.unsqueeze(-1) * x


def _listed(paths: _Paths, heads: list[int], n_blocks: int, direction: Direction | None) -> Iterator[Part]:
    for place, number in enumerate(paths.numbers):
        for column, head in enumerate(heads):
            attention = None if paths.attention is None else float(paths.attention[place, column])
            transition = float(paths.transition[place, column])
            contribution = paths.contribution[place, column]
            part = _part(paths.kind, number, head, attention, transition, contribution, n_blocks)
            yield replace(part, direction=direction)


def _part(
    kind: PartKind,
    number: int | None,
    head: int | None,
    attention: float | None,
    transition: float | None,
    contribution: Tensor,
    n_blocks: int,
) -> Part:
    split = tuple(contribution.tolist()) if n_blocks > 1 else ()
    return Part(kind, number, head, attention, transition, float(contribution.sum()), split)


def _importance(part: Part) -> float:
    return part.transition or 0.0 if part.attention is None else part.attention
