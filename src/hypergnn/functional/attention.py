"""Attention: an incidence that is learned, and the convolution with it."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from hypergnn._utils.checks import check_choice, check_features, check_like
from hypergnn.functional.convolution import (
    NORMALIZATIONS,
    SOFTMAX_OVER,
    Normalization,
    SoftmaxOver,
    apply_transition,
    check_hypergraph,
    hyperedge_degree,
    inverse,
)
from hypergnn.functional.projection import Features, to_dense
from hypergnn.kernels import attend, head_scores, segment_sum
from hypergnn.structures.hypergraph import Hypergraph


def hyperedge_features(x: Features, H: Hypergraph) -> Tensor:
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
    check_hypergraph(H)
    check_features(x, H.n_vertices, H.device)
    x = to_dense(x)
    if H.is_centred:
        centroid = cast(Tensor, H.centroid)
        is_own = H.n_hyperedges == H.n_vertices and H.derived("own", lambda: _counts_from_0(centroid))
        return x if is_own else x.index_select(-2, centroid)
    mean = inverse(hyperedge_degree(H).to(x.dtype)).unsqueeze(-1) * segment_sum(x, by=H.hyperedges)
    if H.centroid is None:
        return mean
    return torch.where((H.centroid >= 0).unsqueeze(-1), x.index_select(-2, H.centroid.clamp(min=0)), mean)


def attention_incidence(
    x: Tensor,
    x_hyperedge: Tensor | None,
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
        x_hyperedge: Projected hyperedge features ``u P``, ``(..., M, heads, F')``; those of
            :func:`hyperedge_features` if ``None``.
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
    check_hypergraph(H)
    check_heads("x", x, H.n_vertices, H.device)
    check_like("a_vertex", a_vertex, x, tuple(x.shape[-2:]), "one entry per head and feature")
    check_like("a_hyperedge", a_hyperedge, x, tuple(x.shape[-2:]), "one entry per head and feature")
    if x_hyperedge is None:  # u is linear in x, and so is its score
        vertex_score, score = head_scores(x, a_vertex, a_hyperedge)  # (..., N, heads)
        hyperedge_score = hyperedge_features(score, H)  # (..., M, heads)
    else:
        check_heads("x_hyperedge", x_hyperedge, H.n_hyperedges, H.device)
        check_like("x_hyperedge", x_hyperedge, x, tuple(x.shape[-2:]), "the heads and features of x")
        (vertex_score,) = head_scores(x, a_vertex)
        (hyperedge_score,) = head_scores(x_hyperedge, a_hyperedge)
    if softmax_over == "hyperedges":
        return attend(vertex_score, hyperedge_score, H.vertices, negative_slope)  # (..., n_incidences, heads)
    return attend(hyperedge_score, vertex_score, H.hyperedges, negative_slope)


def hypergraph_attention(
    x: Tensor,
    H: Hypergraph,
    incidence: Tensor,
    *,
    normalization: Normalization = "row",
    weight: Tensor | None = None,
    dropped: Tensor | None = None,
    softmax_over: SoftmaxOver | None = None,
) -> Tensor:
    """Hypergraph convolution with an attended incidence in every place of ``H``, in ``D`` and in ``B`` as well.

    Args:
        x: Projected vertex features, ``(..., N, heads, F')``.
        H: The hypergraph.
        incidence: Attended incidence, ``(..., n_incidences, heads)``, non-negative.
        normalization: As in :func:`hypergraph_conv`.
        weight: Hyperedge weights in place of ``H.weight``, ``(..., M)``.
        dropped: The incidence after dropout, which is then what propagates; ``D`` and ``B`` stay those of
            ``incidence``.
        softmax_over: Of which softmax :func:`attention_incidence` made the incidence; the degrees that are 1 because
            of it are then not summed, where weights are seen to be alike. They are if it is omitted, and then the
            incidence may be any.

    Returns:
        ``(..., N, heads, F')``.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2)
        >>> hypergraph_attention(torch.ones(2, 1, 3), H, torch.tensor([[1.0], [0.5], [0.5]]))[:, 0, 0]
        tensor([1., 1.])
    """
    check_choice("normalization", normalization, NORMALIZATIONS)
    if softmax_over is not None:
        check_choice("softmax_over", softmax_over, SOFTMAX_OVER)
    check_hypergraph(H)
    check_heads("x", x, H.n_vertices, H.device)
    per_incidence = (H.n_incidences, x.shape[-2])
    check_like("incidence", incidence, x, per_incidence, "one entry per incidence and head")
    if weight is not None:
        check_like("weight", weight, x, (H.n_hyperedges,), "one entry per hyperedge")
    if dropped is not None:
        check_like("dropped", dropped, x, per_incidence, "one entry per incidence and head")
    return apply_transition(x, H, normalization, weight, incidence, dropped, softmax_over)


def check_heads(name: str, x: Tensor, n_rows: int, device: torch.device) -> None:
    """Raise unless ``x`` is a tensor of features ``(..., n_rows, heads, features)``."""
    is_tensor = isinstance(x, Tensor)
    if is_tensor and x.dim() < 3:
        raise ValueError(f"{name} must have shape (..., {n_rows}, heads, features); got {tuple(x.shape)}.")
    rows = "vertex" if name == "x" else "hyperedge"
    check_features(x.flatten(-2) if is_tensor else x, n_rows, device, name=name, rows=rows)


def _counts_from_0(ids: Tensor) -> bool:
    return bool((ids == torch.arange(ids.shape[0], device=ids.device)).all())
