"""The pairwise special cases, GCN* and GAT*, and the mean of a graph's and a hypergraph's transition."""

from __future__ import annotations

import torch
from torch import Tensor

from hypergnn import kernels
from hypergnn._utils.checks import check_choice
from hypergnn.functional.attention import hypergraph_attention
from hypergnn.functional.checks import (
    Features,
    check_features,
    check_graph,
    check_heads,
    check_hypergraph,
    check_like,
    check_same_rows,
    check_slope,
)
from hypergnn.functional.convolution import NORMALIZATIONS, Normalization, hypergraph_conv
from hypergnn.functional.projection import project, project_if_cheaper
from hypergnn.structures.base import TwoSided
from hypergnn.structures.block import GraphBlock
from hypergnn.structures.graph import Graph
from hypergnn.structures.incidence import Incidence
from hypergnn.structures.shared_graph import SharedGraph

AnyGraph = Graph | GraphBlock | SharedGraph


def graph_conv(
    x: Features,
    graph: AnyGraph,
    *,
    normalization: Normalization = "symmetric",
    projection: Tensor | None = None,
) -> Tensor:
    """Graph convolution with the renormalisation trick (GCN*), ``T X`` or ``T X P``.

    ``T`` is ``D̃^-1/2 (A + I) D̃^-1/2`` (``"symmetric"``), ``D̃^-1 (A + I)`` (``"row"``) or ``A + I`` (``"none"``).

    Args:
        x: Vertex features, ``(..., N, F)``, dense or sparse CSR.
        graph: The graph.
        normalization: Which ``T``.
        projection: ``P``, ``(..., F, F')``.

    Example:
        >>> import torch
        >>> graph_conv(torch.eye(2), Graph.from_links([0], [1], n_vertices=2))
        tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]])
    """
    check_choice("normalization", normalization, NORMALIZATIONS)
    check_graph(graph, may_be_shared=True)
    check_features(x, graph.n_vertices, graph.device)
    out, projection = project_if_cheaper(x, projection)
    out = _neighbour_sum(out, graph, normalization)  # T X
    return out if projection is None else project(out, projection)


def link_scalings(graph: AnyGraph, normalization: Normalization) -> tuple[Tensor | None, Tensor | None]:
    """What stands left and right of ``A + I`` in ``T``, one factor per vertex, float64; ``None`` for ones."""
    if normalization == "none":
        return None, None
    if normalization == "row":
        return graph.target_degree.reciprocal(), None  # D̃^-1, at least 1
    return graph.target_degree.rsqrt(), graph.source_degree.rsqrt()  # D̃^-1/2


def _neighbour_sum(x: Tensor, graph: AnyGraph, normalization: Normalization) -> Tensor:
    """``T X``: the sum over each vertex's neighbours and itself, scaled; ``(..., N, F)``."""
    factors = graph.derived(
        ("factors", normalization, x.dtype), lambda: _factors(graph, *link_scalings(graph, normalization), x.dtype)
    )
    if not isinstance(graph, SharedGraph):
        return _weighted_sum(x, graph.links, factors[0])  # T X
    of_beginnings = _weighted_sum(x, graph.senders.T, factors[1])  # Gᵀ X  (..., beginnings, F)
    met = kernels.segment_sum(of_beginnings, graph.meetings)  # C Gᵀ X
    return _weighted_sum(met, graph.receivers, factors[0])  # G C Gᵀ X


def _factors(
    graph: AnyGraph, left: Tensor | None, right: Tensor | None, dtype: torch.dtype
) -> tuple[Tensor | None, Tensor | None]:
    """The scalings of the vertices as factors of the pairs that are summed, ``(n_pairs, 1)``."""
    if isinstance(graph, SharedGraph):
        by_receiver = None if left is None else left.index_select(0, graph.receivers.rows())
        by_sender = None if right is None else right.index_select(0, graph.senders.rows())
        return _column(by_receiver, dtype), _column(by_sender, dtype)
    values = None if left is None else left.index_select(0, graph.links.rows())
    if values is not None and right is not None:
        values = values * right.index_select(0, graph.links.members)
    return _column(values, dtype), None


def _column(values: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    return None if values is None else values.unsqueeze(-1).to(dtype)


def _weighted_sum(x: Tensor, by: Incidence, values: Tensor | None) -> Tensor:
    """Sum rows ``(..., members, F)`` per group, each times its value, ``(n_pairs, 1)``, if there are values."""
    if values is None:
        return kernels.segment_sum(x, by)
    return kernels.segment_sum(x.unsqueeze(-2), by, values).squeeze(-2)


def attention_links(
    x: Tensor, graph: Graph | GraphBlock, a_target: Tensor, a_source: Tensor, *, negative_slope: float = 0.2
) -> Tensor:
    """Attention of each vertex to its neighbours and itself (GAT*), ``(..., n_directed_links, heads)``.

    Args:
        x: Projected vertex features, ``(..., N, heads, F')``.
        graph: The graph.
        a_target: Half of the weight vector, for the vertex that receives, ``(..., heads, F')``.
        a_source: The other half, for the neighbour, ``(..., heads, F')``.
        negative_slope: Slope of LeakyReLU below 0.

    Example:
        >>> import torch
        >>> graph = Graph.from_links([0], [1], n_vertices=2)
        >>> attention_links(torch.rand(2, 1, 3), graph, torch.zeros(1, 3), torch.zeros(1, 3)).squeeze(-1)
        tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    check_graph(graph)
    check_slope(negative_slope)
    check_heads("x", x, graph.n_vertices, graph.device)
    check_like("a_target", a_target, x, tuple(x.shape[-2:]), "one entry per head and feature")
    check_like("a_source", a_source, x, tuple(x.shape[-2:]), "one entry per head and feature")
    target_score, source_score = kernels.head_scores(x, a_target, a_source)  # (..., N, heads)
    if graph.rows is not None:
        target_score = target_score.index_select(-2, graph.rows)
    return kernels.attend(target_score, source_score, graph.links, negative_slope)


def graph_attention(x: Tensor, graph: Graph | GraphBlock, attention: Tensor) -> Tensor:
    """Sum of the neighbours' features by attention: ``(..., N, heads, F')`` from the same shape.

    Example:
        >>> import torch
        >>> graph = Graph.from_links([0], [1], n_vertices=2)
        >>> graph_attention(torch.tensor([[[2.0]], [[4.0]]]), graph, torch.full((4, 1), 0.5)).flatten()
        tensor([3., 3.])
    """
    check_graph(graph)
    check_heads("x", x, graph.n_vertices, graph.device)
    check_like("attention", attention, x, (graph.links.n_pairs, x.shape[-2]), "one entry per directed link and head")
    return kernels.segment_sum(x, by=graph.links, values=attention)


def mean_conv(
    x: Features,
    graph: AnyGraph,
    H: TwoSided,
    *,
    normalization: Normalization = "symmetric",
    projection: Tensor | None = None,
) -> Tensor:
    """Mean of a graph's and a hypergraph's transition with one projection: ``(T_graph + T_hypergraph)/2 X P``.

    Example:
        >>> import torch
        >>> from hypergnn import Hypergraph
        >>> graph, H = Graph.from_links([0], [1], n_vertices=2), Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
        >>> mean_conv(torch.eye(2), graph, H)
        tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]])
    """
    check_graph(graph, may_be_shared=True)
    check_hypergraph(H)
    check_same_rows(graph, H)
    check_features(x, graph.n_vertices, graph.device)
    x, projection = project_if_cheaper(x, projection)
    out = (graph_conv(x, graph, normalization=normalization) + hypergraph_conv(x, H, normalization=normalization)) / 2
    return out if projection is None else project(out, projection)


def mean_attention(
    x: Tensor,
    graph: Graph | GraphBlock,
    H: TwoSided,
    attention: Tensor,
    incidence: Tensor,
    *,
    normalization: Normalization = "row",
    dropped: Tensor | None = None,
) -> Tensor:
    """Mean of a graph's and a hypergraph's attended transition: ``(T_graph + T_hypergraph)/2 X``.

    Args:
        x: Features under the one projection, ``(..., N, heads, F')``.
        graph: The graph.
        H: The hypergraph.
        attention: From :func:`attention_links`.
        incidence: From :func:`attention_incidence`.
        normalization: Of the hypergraph's transition.
        dropped: As in :func:`hypergraph_attention`.

    Example:
        >>> import torch
        >>> from hypergnn import Hypergraph
        >>> graph, H = Graph.from_links([0], [1], n_vertices=2), Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
        >>> mean_attention(torch.ones(2, 1, 3), graph, H, torch.full((4, 1), 0.5), torch.ones(2, 1))[:, 0, 0]
        tensor([1., 1.])
    """
    check_graph(graph)
    check_hypergraph(H)
    check_same_rows(graph, H)
    pairwise = graph_attention(x, graph, attention)
    return (pairwise + hypergraph_attention(x, H, incidence, normalization=normalization, dropped=dropped)) / 2
