"""The last layer taken apart: its score of one class at one vertex, ``Σ_e (through e) + Σ_j (from j) + skip + bias``.

Through hyperedge ``e`` comes ``left_i H_ie middle_e Σ_j H_je right_j (x_j P)``, where the scalings are those of the
normalisation and ``H`` is attended where attention is learned; all of them as they are in this forward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

import torch
from torch import Tensor

from hypergnn import layers
from hypergnn.functional.attention import attended_scalings
from hypergnn.functional.checks import Features
from hypergnn.functional.convolution import scalings
from hypergnn.functional.pairwise import link_scalings
from hypergnn.functional.projection import project, to_dense
from hypergnn.kernels import segment_sum
from hypergnn.layers import Layer
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.shared_graph import SharedGraph

_ORDER = ("hyperedge", "itself", "link")
PartKind = Literal["hyperedge", "link", "itself", "skip", "bias"]
ATTENTIONS = (layers.HypergraphAttention, layers.GraphAttention, layers.MeanAttention)


@dataclass(frozen=True)
class Part:
    """One part of a score."""

    kind: PartKind
    """Through a hyperedge, over a link, from the vertex itself, through the skip connection, or the bias."""
    number: int | None
    """Of the hyperedge, or of the vertex at the other end of the link."""
    head: int | None
    """Head of the last layer."""
    attention: float | None
    """Attention of the vertex to the hyperedge or neighbour, where the layer learns one."""
    transition: float | None
    """How much of the vertex's row of the transition ``T`` this is."""
    contribution: float
    """What it adds to the score."""
    by_hidden_head: tuple[float, ...]
    """The contribution again, by the head of the layer before from whose features it comes; empty if there is none."""


class Call(NamedTuple):
    """A layer in a forward pass: what it was given, and what it gave before its bias."""

    layer: Layer
    x: Features
    structures: tuple[Any, ...]
    x_hyperedge: Tensor | None
    out: Tensor


class Attention(NamedTuple):
    """What a layer attends to: directed links and incidences, ``(links or incidences, heads)``."""

    links: Tensor | None
    incidence: Tensor | None


class _Ways(NamedTuple):
    """Ways to a vertex, one per hyperedge or neighbour, each with all heads."""

    kind: PartKind
    numbers: list[int]
    attention: Tensor | None  # (ways, heads)
    transition: Tensor  # (ways, heads)
    contribution: Tensor  # (ways, heads, blocks)


def parts_of(call: Call, vertex: int, target: int, n_blocks: int) -> list[Part]:
    """The parts of the score ``target`` of ``vertex``, by attention within each head.

    Args:
        call: The last layer.
        vertex: The vertex.
        target: Number of the score.
        n_blocks: Blocks of features of the same width that ``x`` consists of: the heads of the layer before.
    """
    layer, width = call.layer, call.layer.out_features
    is_concat = layer.aggregate == "concat"
    heads = [target // width] if is_concat else list(range(layer.heads))
    columns = [target] if is_concat else [head * width + target for head in heads]
    values = _by_block(call.x, layer.projection[:, columns], n_blocks)  # (N, heads, blocks)
    found: list[Part] = []
    for ways in _ways(call, vertex, heads, values / len(heads)):
        found += _listed(ways, heads, n_blocks)
    found.sort(key=lambda part: (part.head, _ORDER.index(part.kind), -_importance(part)))
    if layer.skip:
        through = _by_block(call.x, _skip_column(layer, target), n_blocks)[vertex, 0]
        found.append(_part("skip", None, None, None, None, through, n_blocks))
    if layer.bias is not None:
        found.append(Part("bias", None, None, None, None, float(layer.bias[target]), ()))
    return found


def attention_of(call: Call) -> Attention:
    """The attention of a layer; none in a layer that learns none."""
    if not isinstance(call.layer, ATTENTIONS):
        return Attention(None, None)
    given = {} if call.x_hyperedge is None else {"x_hyperedge": call.x_hyperedge}
    _, *attention = call.layer(call.x, *call.structures, return_attention=True, **given)
    if isinstance(call.layer, layers.MeanAttention):
        return Attention(*attention)
    is_pairwise = isinstance(call.layer, layers.GraphAttention)
    return Attention(attention[0], None) if is_pairwise else Attention(None, attention[0])


def _skip_column(layer: Layer, target: int) -> Tensor:
    """What the skip connection multiplies features by for one score, ``(in_features, 1)``."""
    if layer.skip_projection is not None:
        return layer.skip_projection[:, [target]]
    column = torch.zeros_like(layer.projection[:, :1])
    column[target] = 1
    return column


def _by_block(x: Features, projection: Tensor, n_blocks: int) -> Tensor:
    """``X P`` in double precision, apart for each block of features: ``(N, columns, blocks)``."""
    if n_blocks == 1:
        return project(x, projection).double().unsqueeze(-1)
    blocks = to_dense(x).double().unflatten(-1, (n_blocks, -1))  # (N, blocks, F)
    return torch.einsum("nbf,bfc->ncb", blocks, projection.double().unflatten(0, (n_blocks, -1)))


def _ways(call: Call, vertex: int, heads: list[int], values: Tensor) -> Iterator[_Ways]:
    """All ways over which something comes to the vertex."""
    graph = next((one for one in call.structures if isinstance(one, (Graph, SharedGraph))), None)
    H = next((one for one in call.structures if isinstance(one, Hypergraph)), None)
    if graph is None and H is None:
        yield _Ways("itself", [vertex], None, torch.ones(1, len(heads)), values[vertex].unsqueeze(0))
        return
    attention = attention_of(call)
    both: list[_Ways] = []
    if graph is not None:
        both += _over_links(call.layer, graph, vertex, attention.links, heads, values)
    if H is not None:
        both.append(_through_hyperedges(call, H, vertex, attention.incidence, heads, values))
    share = 1.0 if graph is None or H is None else 0.5  # of two transitions the mean is taken
    for ways in both:
        yield ways._replace(transition=share * ways.transition, contribution=share * ways.contribution)


def _through_hyperedges(
    call: Call, H: Hypergraph, vertex: int, attended: Tensor | None, heads: list[int], values: Tensor
) -> _Ways:
    layer = cast(Any, call.layer)
    if attended is None:
        weight = layer.hyperedge_weight(call.x, H) if isinstance(layer, layers.HypergraphConv) else None
        scaled = scalings(H, layer.normalization, layer.projection.dtype, weight)
    else:
        scaled = attended_scalings(H, attended, layer.normalization)
    left, middle, right = (_of_heads(one, heads) for one in scaled)
    incidence = _of_heads(attended, heads)
    if incidence is None:
        incidence = values.new_ones(H.n_incidences, len(heads))
    with_ones = torch.cat([values, torch.ones_like(values[..., :1])], -1)  # of which the row of T itself comes
    sums = segment_sum(_times(with_ones, right), by=H.incidence.T, values=incidence)  # Hᵀ right X P  (M, heads, ...)
    own = slice(*H.incidence.offsets[vertex : vertex + 2].tolist())
    hyperedges = H.hyperedge[own].long()
    through = _times(_times(sums, middle)[hyperedges], incidence[own])
    if left is not None:
        through = left[vertex].unsqueeze(-1) * through
    attention = None if attended is None else incidence[own]
    return _Ways("hyperedge", hyperedges.tolist(), attention, through[..., -1], through[..., :-1])


def _over_links(
    layer: Layer, graph: Graph | SharedGraph, vertex: int, attended: Tensor | None, heads: list[int], values: Tensor
) -> Iterator[_Ways]:
    neighbours = graph.neighbours(vertex)
    if attended is None:
        left, right = link_scalings(graph, cast(Any, layer).normalization)
        entries = values.new_ones(neighbours.shape[0], 1) if right is None else right[neighbours].unsqueeze(-1)
        entries = entries if left is None else left[vertex] * entries
    else:  # of which there is one per link, so that the links are listed
        entries = attended[slice(*cast(Graph, graph).links.offsets[vertex : vertex + 2].tolist())]
    entries = cast(Tensor, _of_heads(entries, heads))
    is_itself = neighbours == vertex
    kinds: tuple[tuple[PartKind, Tensor], ...] = (("itself", is_itself), ("link", ~is_itself))
    for kind, chosen in kinds:
        attention = None if attended is None else entries[chosen]
        over = _times(values[neighbours[chosen]], entries[chosen])
        yield _Ways(kind, neighbours[chosen].tolist(), attention, entries[chosen], over)


def _of_heads(scaling: Tensor | None, heads: list[int]) -> Tensor | None:
    """Some heads' columns of ``(..., rows, heads or 1)``, in double precision."""
    if scaling is None:
        return None
    scaling = scaling.reshape(scaling.shape[-2:])
    return (scaling.expand(-1, len(heads)) if scaling.shape[-1] == 1 else scaling[:, heads]).double()


def _times(x: Tensor, factor: Tensor | None) -> Tensor:
    return x if factor is None else factor.unsqueeze(-1) * x


def _listed(ways: _Ways, heads: list[int], n_blocks: int) -> Iterator[Part]:
    for place, number in enumerate(ways.numbers):
        for column, head in enumerate(heads):
            attention = None if ways.attention is None else float(ways.attention[place, column])
            transition = float(ways.transition[place, column])
            yield _part(ways.kind, number, head, attention, transition, ways.contribution[place, column], n_blocks)


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
