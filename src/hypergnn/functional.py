"""The paper's equations as pure functions of features and structure: a transition ``T`` applied to ``X``.

The projection ``P`` may be given, and is then multiplied on the cheaper side of ``T``; the activation ``σ`` is left to
the caller. ``T`` is never formed: a product with it is two sums over incidences with diagonal scalings between.
Isolated vertices and empty hyperedges contribute and receive exactly 0. All functions take leading batch axes.
Section 3 of the paper, equation by equation, is mapped in ``docs/paper_map.md``.
"""

from __future__ import annotations

from typing import Literal, cast

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from hypergnn.checks import check_choice, check_features, check_like
from hypergnn.features import SparseFeatures
from hypergnn.graph import Graph
from hypergnn.hypergraph import Hypergraph
from hypergnn.kernels import matmul, segment_softmax, segment_sum

Features = Tensor | SparseFeatures
Normalization = Literal["symmetric", "row", "none"]
SoftmaxOver = Literal["hyperedges", "vertices"]

NORMALIZATIONS = ("symmetric", "row", "none")
SOFTMAX_OVER = ("hyperedges", "vertices")


def vertex_degree(H: Hypergraph, *, incidence: Tensor | None = None, weight: Tensor | None = None) -> Tensor:
    """Degree of each vertex, ``D_ii = Σ_e W_e H_ie``.

    Args:
        H: The hypergraph.
        incidence: Attended incidence, ``(..., n_incidences, heads)``; zeros and ones if omitted.
        weight: Hyperedge weights in place of ``H.weight``, ``(..., M)``.

    Returns:
        ``(..., N)``, or ``(..., N, heads)`` with an attended incidence.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3, weight=[1.0, 3.0])
        >>> vertex_degree(H).tolist()
        [1.0, 4.0, 3.0]
    """
    if incidence is None:
        return H.degree if weight is None else segment_sum(weight.unsqueeze(-1), by=H.vertices).squeeze(-1)
    weight = H.weight.to(incidence.dtype) if weight is None else weight
    heads = incidence.shape[-1]
    per_head = weight[..., None, None].expand(*weight.shape, heads, 1)  # (..., M, heads, 1)
    return segment_sum(per_head, by=H.vertices, values=incidence).squeeze(-1)


def hyperedge_degree(H: Hypergraph, *, incidence: Tensor | None = None) -> Tensor:
    """Degree of each hyperedge, ``B_e = Σ_i H_ie``: ``(M,)``, or ``(..., M, heads)`` with an attended incidence.

    Example:
        >>> hyperedge_degree(Hypergraph.from_hyperedges([[0, 1], [2]], n_vertices=3)).tolist()
        [2.0, 1.0]
    """
    if incidence is None:
        return H.size
    ones = incidence.new_ones(H.n_vertices, incidence.shape[-1], 1)  # (N, heads, 1)
    return segment_sum(ones, by=H.hyperedges, values=incidence).squeeze(-1)


def project(x: Features, projection: Tensor) -> Tensor:
    """``X P``: ``(..., N, F')`` from ``x`` ``(..., N, F)`` of any kind and ``projection`` ``(..., F, F')``.

    Example:
        >>> project(torch.ones(2, 3), torch.ones(3, 1)).flatten()
        tensor([3., 3.])
    """
    check_like("projection", projection, x, (x.shape[-1], projection.shape[-1]), "one row per feature of x")
    if isinstance(x, SparseFeatures):
        return x.project(projection)
    return matmul(x, projection) if projection.dim() == 3 and x.layout == torch.strided else x @ projection


def hypergraph_conv(
    x: Features,
    H: Hypergraph,
    *,
    normalization: Normalization = "symmetric",
    projection: Tensor | None = None,
    weight: Tensor | None = None,
) -> Tensor:
    """Hypergraph convolution, ``T X`` or ``T X P``.

    ``T`` is ``D^-1/2 H W B^-1 Hᵀ D^-1/2`` (``"symmetric"``), ``D^-1 H W B^-1 Hᵀ`` (``"row"``) or ``H W Hᵀ``
    (``"none"``).

    Args:
        x: Vertex features ``X``, ``(..., N, F)``, dense or sparse CSR.
        H: The hypergraph.
        normalization: Which ``T``.
        projection: ``P``, ``(..., F, F')``.
        weight: Hyperedge weights in place of ``H.weight``, ``(..., M)``; gradients flow into them.

    Returns:
        ``(..., N, F)``, or ``(..., N, F')`` with a projection.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4, weight=[1.0, 3.0])
        >>> hypergraph_conv(torch.eye(4), H, normalization="row")[1]
        tensor([0.0833, 0.3333, 0.3333, 0.2500])
    """
    check_choice("normalization", normalization, NORMALIZATIONS)
    check_features(x, H.n_vertices, H.device)
    if weight is not None:
        check_like("weight", weight, x, (H.n_hyperedges,), "one entry per hyperedge")
    narrow, projection = _project_if_cheaper(x, projection)
    out = _apply_transition(narrow, H, normalization, weight)
    return out if projection is None else project(out, projection)


def hyperedge_features(x: Tensor, H: Hypergraph) -> Tensor:
    """Features of each hyperedge when nobody gave any: those of its centroid, else the mean of its members.

    Args:
        x: ``(..., N, F)``.
        H: The hypergraph.

    Returns:
        ``(..., M, F)``; 0 for an empty hyperedge without a centroid.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3, centroid=[0, -1])
        >>> hyperedge_features(torch.tensor([[2.0], [4.0], [6.0]]), H).tolist()
        [[2.0], [5.0]]
    """
    check_features(x, H.n_vertices, H.device)
    if H.is_centred:
        return x.index_select(-2, cast(Tensor, H.centroid))
    mean = inverse(H.size.to(x.dtype)).unsqueeze(-1) * segment_sum(x, by=H.hyperedges)
    if H.centroid is None:
        return mean
    return torch.where((H.centroid >= 0).unsqueeze(-1), x.index_select(-2, H.centroid.clamp(min=0)), mean)


def attention_incidence(
    x: Tensor,
    x_hyperedge: Tensor,
    H: Hypergraph,
    a_vertex: Tensor,
    a_hyperedge: Tensor,
    *,
    softmax_over: SoftmaxOver = "hyperedges",
    negative_slope: float = 0.2,
) -> Tensor:
    """Attended incidence: softmax of ``LeakyReLU(a·[x_i P ‖ u_e P])``, with ``a = [a_vertex ‖ a_hyperedge]``.

    Args:
        x: Projected vertex features ``x P``, ``(..., N, heads, F')``.
        x_hyperedge: Projected hyperedge features ``u P``, ``(..., M, heads, F')``.
        H: The hypergraph.
        a_vertex: Half of the weight vector ``a``, ``(..., heads, F')``.
        a_hyperedge: The other half, ``(..., heads, F')``.
        softmax_over: ``"hyperedges"`` of each vertex (the paper), or ``"vertices"`` of each hyperedge.
        negative_slope: Slope of LeakyReLU below 0.

    Returns:
        ``(..., n_incidences, heads)`` in the order of ``H.vertex`` and ``H.hyperedge``; sums to 1 per group.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2)
        >>> zero = torch.zeros(1, 3)
        >>> attention_incidence(torch.rand(2, 1, 3), torch.rand(2, 1, 3), H, zero, zero).squeeze(-1)
        tensor([1.0000, 0.5000, 0.5000])
    """
    check_choice("softmax_over", softmax_over, SOFTMAX_OVER)
    _check_heads("x", x, H.n_vertices, H.device)
    _check_heads("x_hyperedge", x_hyperedge, H.n_hyperedges, H.device)
    check_like("x_hyperedge", x_hyperedge, x, tuple(x.shape[-2:]), "the heads and features of x")
    check_like("a_vertex", a_vertex, x, tuple(x.shape[-2:]), "one entry per head and feature")
    check_like("a_hyperedge", a_hyperedge, x, tuple(x.shape[-2:]), "one entry per head and feature")
    vertex_score = (x * a_vertex.unsqueeze(-3)).sum(-1)  # (..., N, heads)
    hyperedge_score = (x_hyperedge * a_hyperedge.unsqueeze(-3)).sum(-1)  # (..., M, heads)
    score = vertex_score.index_select(-2, H.vertex) + hyperedge_score.index_select(-2, H.hyperedge)
    logits = leaky_relu(score, negative_slope)  # (..., n_incidences, heads)
    return segment_softmax(logits, by=H.vertices if softmax_over == "hyperedges" else H.hyperedges)


def hypergraph_attention(
    x: Tensor,
    H: Hypergraph,
    incidence: Tensor,
    *,
    normalization: Normalization = "row",
    weight: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Hypergraph convolution with an attended incidence in every place of ``H``, in ``D`` and in ``B`` as well.

    Args:
        x: Projected vertex features, ``(..., N, heads, F')``.
        H: The hypergraph.
        incidence: Attended incidence, ``(..., n_incidences, heads)``, non-negative.
        normalization: As in :func:`hypergraph_conv`.
        weight: Hyperedge weights in place of ``H.weight``, ``(..., M)``.
        mask: Factor of each incidence, ``(..., n_incidences, heads)``, applied after ``D`` and ``B`` were taken;
            dropout of incidences is such a mask.

    Returns:
        ``(..., N, heads, F')``.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2)
        >>> hypergraph_attention(torch.ones(2, 1, 3), H, torch.tensor([[1.0], [0.5], [0.5]]))[:, 0, 0]
        tensor([1., 1.])
    """
    check_choice("normalization", normalization, NORMALIZATIONS)
    _check_heads("x", x, H.n_vertices, H.device)
    per_incidence = (H.n_incidences, x.shape[-2])
    check_like("incidence", incidence, x, per_incidence, "one entry per incidence and head")
    if weight is not None:
        check_like("weight", weight, x, (H.n_hyperedges,), "one entry per hyperedge")
    if mask is not None:
        check_like("mask", mask, x, per_incidence, "one entry per incidence and head")
    return _apply_transition(x, H, normalization, weight, incidence, mask)


def graph_conv(
    x: Features, graph: Graph, *, normalization: Normalization = "symmetric", projection: Tensor | None = None
) -> Tensor:
    """Graph convolution with the renormalisation trick (GCN*), ``T X`` or ``T X P``.

    ``T`` is ``D̃^-1/2 (A + I) D̃^-1/2`` (``"symmetric"``), ``D̃^-1 (A + I)`` (``"row"``) or ``A + I`` (``"none"``).

    Args:
        x: Vertex features, ``(..., N, F)``, dense or sparse CSR.
        graph: The graph.
        normalization: Which ``T``.
        projection: ``P``, ``(..., F, F')``.

    Example:
        >>> graph_conv(torch.eye(2), Graph.from_links([0], [1], n_vertices=2))
        tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]])
    """
    check_choice("normalization", normalization, NORMALIZATIONS)
    check_features(x, graph.n_vertices, graph.device)
    out, projection = _project_if_cheaper(x, projection)
    degree = graph.degree.to(x.dtype).unsqueeze(-1)  # D̃  (N, 1), at least 1
    if normalization == "symmetric":
        out = degree.rsqrt() * out  # D̃^-1/2 X
    out = segment_sum(out, by=graph.targets)  # (A + I) X
    if normalization == "symmetric":
        out = degree.rsqrt() * out
    elif normalization == "row":
        out = out / degree
    return out if projection is None else project(out, projection)


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
        >>> graph = Graph.from_links([0], [1], n_vertices=2)
        >>> attention_links(torch.rand(2, 1, 3), graph, torch.zeros(1, 3), torch.zeros(1, 3)).squeeze(-1)
        tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    _check_heads("x", x, graph.n_vertices, graph.device)
    check_like("a_target", a_target, x, tuple(x.shape[-2:]), "one entry per head and feature")
    check_like("a_source", a_source, x, tuple(x.shape[-2:]), "one entry per head and feature")
    target_score = (x * a_target.unsqueeze(-3)).sum(-1)  # (..., N, heads)
    source_score = (x * a_source.unsqueeze(-3)).sum(-1)
    score = target_score.index_select(-2, graph.target) + source_score.index_select(-2, graph.source)
    return segment_softmax(leaky_relu(score, negative_slope), by=graph.targets)


def graph_attention(x: Tensor, graph: Graph, attention: Tensor) -> Tensor:
    """Sum of the neighbours' features by attention: ``(..., N, heads, F')`` from the same shape.

    Example:
        >>> graph = Graph.from_links([0], [1], n_vertices=2)
        >>> graph_attention(torch.tensor([[[2.0]], [[4.0]]]), graph, torch.full((4, 1), 0.5)).flatten()
        tensor([3., 3.])
    """
    _check_heads("x", x, graph.n_vertices, graph.device)
    check_like("attention", attention, x, (graph.target.shape[0], x.shape[-2]), "one entry per directed link and head")
    return segment_sum(x, by=graph.targets, values=attention)


def mean_conv(
    x: Features,
    graph: Graph,
    H: Hypergraph,
    *,
    normalization: Normalization = "symmetric",
    projection: Tensor | None = None,
) -> Tensor:
    """Mean of a graph's and a hypergraph's transition with one projection: ``(T_graph + T_hypergraph)/2 X P``.

    Example:
        >>> graph, H = Graph.from_links([0], [1], n_vertices=2), Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
        >>> mean_conv(torch.eye(2), graph, H)
        tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]])
    """
    _check_same_vertices(graph, H)
    x, projection = _project_if_cheaper(x, projection)
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
    mask: Tensor | None = None,
) -> Tensor:
    """Mean of a graph's and a hypergraph's attended transition: ``(T_graph + T_hypergraph)/2 X``.

    Args:
        x: Features under the one projection, ``(..., N, heads, F')``.
        graph: The graph.
        H: The hypergraph.
        attention: From :func:`attention_links`.
        incidence: From :func:`attention_incidence`.
        normalization: Of the hypergraph's transition.
        mask: As in :func:`hypergraph_attention`.
    """
    _check_same_vertices(graph, H)
    pairwise = graph_attention(x, graph, attention)
    return (pairwise + hypergraph_attention(x, H, incidence, normalization=normalization, mask=mask)) / 2


def inverse(degree: Tensor, power: float = 1.0) -> Tensor:
    """``degree ** -power``, 0 where there is no degree; the mask comes before the division.

    No degree is one whose inverse square, the largest power in the gradient, would overflow: 0, or attention that has
    rounded to nothing.
    """
    present = degree > torch.finfo(degree.dtype).tiny ** 0.5
    return torch.where(present, torch.where(present, degree, 1).pow(-power), 0)


def _apply_transition(
    x: Tensor,
    H: Hypergraph,
    normalization: Normalization,
    weight: Tensor | None,
    incidence: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """``T X`` for features ``(..., N, F)``, or ``(..., N, heads, F)`` with an attended incidence."""
    degree = vertex_degree(H, incidence=incidence, weight=weight).to(x.dtype).unsqueeze(-1)  # D  (..., N, [heads,] 1)
    weight = H.weight.to(x.dtype) if weight is None else weight
    size = hyperedge_degree(H, incidence=incidence).to(x.dtype).unsqueeze(-1)  # B  (..., M, [heads,] 1)
    weight = weight.unsqueeze(-1) if incidence is None else weight[..., None, None]  # W  (..., M, [1,] 1)
    if incidence is not None and mask is not None:
        incidence = incidence * mask
    if normalization == "symmetric":
        x = inverse(degree, 0.5) * x  # D^-1/2 X
    hyperedge_sum = segment_sum(x, by=H.hyperedges, values=incidence)  # Hᵀ X  (..., M, [heads,] F)
    if normalization != "none":
        weight = weight * inverse(size)  # W B^-1
    x = segment_sum(weight * hyperedge_sum, by=H.vertices, values=incidence)  # H W B^-1 Hᵀ X
    if normalization != "none":
        x = inverse(degree, 0.5 if normalization == "symmetric" else 1.0) * x  # D^-1/2 or D^-1 times that
    return x


def _project_if_cheaper(x: Features, projection: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Multiply by ``P`` first where that makes the rows narrower; what is left of ``P`` comes after ``T``."""
    if projection is None:
        return to_dense(x), None
    if isinstance(x, SparseFeatures) or x.layout == torch.sparse_csr or projection.shape[-1] <= x.shape[-1]:
        return project(x, projection), None
    return x, projection


def to_dense(x: Features) -> Tensor:
    """The features with all their zeros."""
    is_sparse = isinstance(x, SparseFeatures) or x.layout == torch.sparse_csr
    return x.to_dense() if is_sparse else cast(Tensor, x)


def _check_heads(name: str, x: Tensor, n_rows: int, device: torch.device) -> None:
    if x.dim() < 3:
        raise ValueError(f"{name} must have shape (..., {n_rows}, heads, features); got {tuple(x.shape)}.")
    check_features(x.flatten(-2), n_rows, device, name=name, rows="vertex" if name == "x" else "hyperedge")


def _check_same_vertices(graph: Graph, H: Hypergraph) -> None:
    if graph.n_vertices != H.n_vertices:
        raise ValueError(
            f"graph and hypergraph must have the same vertices; got {graph.n_vertices} and {H.n_vertices}."
        )
