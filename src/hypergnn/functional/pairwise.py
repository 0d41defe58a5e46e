"""The pairwise special cases, GCN* and GAT*, and the mean of a graph's and a hypergraph's transition."""

from __future__ import annotations

import torch
from torch import Tensor

from hypergnn._utils.checks import check_choice, check_features, check_like, check_structure
from hypergnn.functional.attention import check_heads, hypergraph_attention
from hypergnn.functional.convolution import (
    NORMALIZATIONS,
    Normalization,
    SoftmaxOver,
    check_hypergraph,
    hypergraph_conv,
)
from hypergnn.functional.projection import Features, project, project_if_cheaper
from hypergnn.kernels import attend, head_scores, segment_sum
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.shared_graph import SharedGraph


def graph_conv(
    x: Features,
    graph: Graph | SharedGraph,
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
    factors = graph.derived((normalization, x.dtype), lambda: _factors(graph, normalization, x.dtype))
    out = graph.neighbour_sum(out, *factors)  # T X
    return out if projection is None else project(out, projection)


def link_scalings(graph: Graph | SharedGraph, normalization: Normalization) -> tuple[Tensor | None, Tensor | None]:
    """What stands left and right of ``A + I`` in ``T``, one factor per vertex, ``(N,)`` float64; ``None`` for ones."""
    if normalization == "none":
        return None, None
    if normalization == "row":
        return graph.degree.reciprocal(), None  # D̃^-1, at least 1
    root = graph.degree.rsqrt()  # D̃^-1/2
    return root, root


def _factors(graph: Graph | SharedGraph, normalization: Normalization, dtype: torch.dtype) -> tuple[Tensor | None, ...]:
    """What makes ``T`` of ``A + I`` in the sum over neighbours."""
    left, right = link_scalings(graph, normalization)
    factors = () if left is None else graph.factors(left, right)
    return tuple(None if one is None else one.to(dtype) for one in factors)


def attention_links(
    x: Tensor, graph: Graph, a_target: Tensor, a_source: Tensor, *, negative_slope: float = 0.2
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
    check_heads("x", x, graph.n_vertices, graph.device)
    check_like("a_target", a_target, x, tuple(x.shape[-2:]), "one entry per head and feature")
    check_like("a_source", a_source, x, tuple(x.shape[-2:]), "one entry per head and feature")
    target_score, source_score = head_scores(x, a_target, a_source)  # (..., N, heads)
    return attend(target_score, source_score, graph.targets, negative_slope)


def graph_attention(x: Tensor, graph: Graph, attention: Tensor) -> Tensor:
    """Sum of the neighbours' features by attention: ``(..., N, heads, F')`` from the same shape.

    Example:
        >>> import torch
        >>> graph = Graph.from_links([0], [1], n_vertices=2)
        >>> graph_attention(torch.tensor([[[2.0]], [[4.0]]]), graph, torch.full((4, 1), 0.5)).flatten()
        tensor([3., 3.])
    """
    check_graph(graph)
    check_heads("x", x, graph.n_vertices, graph.device)
    check_like("attention", attention, x, (graph.target.shape[0], x.shape[-2]), "one entry per directed link and head")
    return segment_sum(x, by=graph.targets, values=attention)


def mean_conv(
    x: Features,
    graph: Graph | SharedGraph,
    H: Hypergraph,
    *,
    normalization: Normalization = "symmetric",
    projection: Tensor | None = None,
) -> Tensor:
    """Mean of a graph's and a hypergraph's transition with one projection: ``(T_graph + T_hypergraph)/2 X P``.

    Example:
        >>> import torch
        >>> graph, H = Graph.from_links([0], [1], n_vertices=2), Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
        >>> mean_conv(torch.eye(2), graph, H)
        tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]])
    """
    _check_same_vertices(graph, H, may_be_shared=True)
    check_features(x, graph.n_vertices, graph.device)
    x, projection = project_if_cheaper(x, projection)
    out = (graph_conv(x, graph, normalization=normalization) + hypergraph_conv(x, H, normalization=normalization)) / 2
    return out if projection is None else project(out, projection)


def mean_attention(
    x: Tensor,
    graph: Graph,
    H: Hypergraph,
    attention: Tensor,
    incidence: Tensor,
    *,
    normalization: Normalization = "row",
    dropped: Tensor | None = None,
    softmax_over: SoftmaxOver | None = None,
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
        softmax_over: The same.

    Example:
        >>> import torch
        >>> graph, H = Graph.from_links([0], [1], n_vertices=2), Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
        >>> mean_attention(torch.ones(2, 1, 3), graph, H, torch.full((4, 1), 0.5), torch.ones(2, 1))[:, 0, 0]
        tensor([1., 1.])
    """
    _check_same_vertices(graph, H)
    pairwise = graph_attention(x, graph, attention)
    of_hypergraph = hypergraph_attention(
        x, H, incidence, normalization=normalization, dropped=dropped, softmax_over=softmax_over
    )
    return (pairwise + of_hypergraph) / 2


def check_graph(graph: object, *, may_be_shared: bool = False) -> None:
    """Raise unless ``graph`` is a graph, one that lists its links unless ``may_be_shared``."""
    if may_be_shared and isinstance(graph, SharedGraph):
        return
    check_structure("graph", graph, Graph, "from_links(source, target, n_vertices)")


def _check_same_vertices(graph: Graph | SharedGraph, H: Hypergraph, *, may_be_shared: bool = False) -> None:
    check_graph(graph, may_be_shared=may_be_shared)
    check_hypergraph(H)
    if graph.n_vertices != H.n_vertices:
        raise ValueError(
            f"graph and hypergraph must have the same vertices; got {graph.n_vertices} and {H.n_vertices}."
        )
