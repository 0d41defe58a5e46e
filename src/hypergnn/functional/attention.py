r"""Hypergraph attention: an incidence that is learned takes the place of ``H`` everywhere in the convolution.

    T = D_R^-a · R · W B^-1 · Sᵀ · D_S^-b        R_ie, S_ie = softmax_e LeakyReLU(a·[x_i P ‖ u_e P])

``D`` and ``B`` are the degrees of the attended incidence, and gradients flow through them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

import torch
from torch import Tensor

from hypergnn import kernels
from hypergnn._utils.checks import check_choice
from hypergnn.functional.checks import (
    Features,
    check_features,
    check_heads,
    check_hypergraph,
    check_like,
    check_slope,
)
from hypergnn.functional.convolution import NORMALIZATIONS, Normalization, Scalings, inverse, sizes
from hypergnn.functional.means import hyperedge_mean
from hypergnn.functional.projection import to_dense
from hypergnn.functional.shares import attend_in_parts, row_transition
from hypergnn.structures.base import TwoSided
from hypergnn.structures.block import Block
from hypergnn.structures.incidence import Incidence

SoftmaxOver = Literal["hyperedges", "vertices"]
SOFTMAX_OVER = ("hyperedges", "vertices")
Drop = Callable[[Tensor, Incidence], Tensor]
"""Dropout of values of pairs, given the values and the pairs."""


def hyperedge_features(x: Features, H: TwoSided) -> Tensor:
    """Features of each hyperedge when none are given: those of its centroid, else the mean of its members.

    Args:
        x: ``(..., N, F)``.
        H: The hypergraph.

    Returns:
        ``(..., M, F)``; 0 for an empty hyperedge without a centroid.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3, centroid=[0, -1])
        >>> hyperedge_features(torch.tensor([[2.0], [4.0], [6.0]]), H).tolist()
        [[2.0], [5.0]]
    """
    check_hypergraph(H)
    check_features(x, H.n_vertices, H.device)
    x = to_dense(x)
    if H.parts is not None:
        return _features_in_parts(x, H)
    if H.is_centred:
        return x if _are_own_centroids(H) else x.index_select(-2, cast(Tensor, H.centroid))
    mean = hyperedge_mean(x, H)  # B^-1 Sᵀ X  (..., M, F)
    if H.centroid is None:
        return mean
    return torch.where((H.centroid >= 0).unsqueeze(-1), x.index_select(-2, H.centroid.clamp(min=0)), mean)


def _features_in_parts(x: Tensor, H: TwoSided) -> Tensor:
    """The same if other processes hold some of the vertices: one of them gives the row of a centroid."""
    if H.centroid is None or H.has_centroid is None:
        return hyperedge_mean(x, H)
    has, is_here = H.has_centroid.unsqueeze(-1), (H.centroid >= 0).unsqueeze(-1)
    own = x.index_select(-2, H.centroid.clamp(min=0)) if x.shape[-2] else x.new_zeros(*x.shape[:-2], *has.shape)
    given = torch.where(is_here, own, torch.where(has, 0, kernels.segment_sum(x, by=H.senders.T)))  # (..., M, F)
    size = torch.where(has, 1, inverse(H._hyperedge_degree.to(x.dtype)).unsqueeze(-1))
    return size * kernels.total(given, H.parts)


def attention_incidence(
    x: Tensor,
    x_hyperedge: Tensor | None,
    H: TwoSided,
    a_vertex: Tensor,
    a_hyperedge: Tensor,
    *,
    softmax_over: SoftmaxOver = "hyperedges",
    negative_slope: float = 0.2,
    of: Literal["senders", "receivers"] = "senders",
) -> Tensor:
    """Attended incidence: softmax of ``LeakyReLU(a·[x_i P ‖ u_e P])``, with ``a = [a_vertex ‖ a_hyperedge]``.

    Args:
        x: Projected vertex features ``x P``, ``(..., N, heads, F')``.
        x_hyperedge: Projected hyperedge features ``u P``, ``(..., M, heads, F')``; those of
            :func:`hyperedge_features` if ``None``.
        H: The hypergraph, or a block of one.
        a_vertex: Half of the weight vector ``a``, ``(..., heads, F')``.
        a_hyperedge: The other half, ``(..., heads, F')``.
        softmax_over: ``"hyperedges"`` of each vertex (the paper), or ``"vertices"`` of each hyperedge.
        negative_slope: Slope of LeakyReLU below 0.
        of: Whose incidences: those of the ``"senders"``, or those of the ``"receivers"``, which are others in a
            directed hypergraph.

    Returns:
        ``(..., n_incidences, heads)`` in the order of ``H.senders`` or ``H.receivers``; sums to 1 per group.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2)
        >>> zero = torch.zeros(1, 3)
        >>> attention_incidence(torch.rand(2, 1, 3), torch.rand(2, 1, 3), H, zero, zero).squeeze(-1)
        tensor([1.0000, 0.5000, 0.5000])
    """
    check_choice("softmax_over", softmax_over, SOFTMAX_OVER)
    check_slope(negative_slope)
    check_choice("of", of, ("senders", "receivers"))
    if of == "senders" and isinstance(H, Block) and not H.attention:
        raise ValueError(
            "H must hold all hyperedges of its senders, whose softmax runs over them; make the block with "
            "around(vertices, attention=True)."
        )
    vertex_score, hyperedge_score = attention_scores(x, x_hyperedge, H, a_vertex, a_hyperedge)
    pairs = H.senders
    if of == "receivers":
        pairs, vertex_score = H.receivers, vertex_score if H.rows is None else vertex_score.index_select(-2, H.rows)
    if softmax_over == "hyperedges":
        return kernels.attend(vertex_score, hyperedge_score, pairs, negative_slope)  # (..., n_incidences, heads)
    return attend_over_vertices(vertex_score, hyperedge_score, H, pairs, negative_slope)


def attend_over_vertices(
    vertex_score: Tensor, hyperedge_score: Tensor, H: TwoSided, pairs: Incidence, negative_slope: float
) -> Tensor:
    """Softmax over the vertices of each hyperedge, ``(..., n_pairs, heads)``, of vertices × hyperedges ``pairs``."""
    if H.parts is None:
        return kernels.attend(hyperedge_score, vertex_score, pairs.T, negative_slope)
    return attend_in_parts(vertex_score, hyperedge_score, pairs, negative_slope, H.parts)


def attention_scores(
    x: Tensor, x_hyperedge: Tensor | None, H: TwoSided, a_vertex: Tensor, a_hyperedge: Tensor
) -> tuple[Tensor, Tensor]:
    """``a_vertex·x_i P`` of each sender and ``a_hyperedge·u_e P`` of each hyperedge, ``(..., N or M, heads)``."""
    check_hypergraph(H)
    check_heads("x", x, H.n_vertices, H.device)
    check_like("a_vertex", a_vertex, x, tuple(x.shape[-2:]), "one entry per head and feature")
    check_like("a_hyperedge", a_hyperedge, x, tuple(x.shape[-2:]), "one entry per head and feature")
    if x_hyperedge is None:  # u is linear in x, and so is its score
        vertex_score, score = kernels.head_scores(x, a_vertex, a_hyperedge)  # (..., N, heads)
        return vertex_score, hyperedge_features(score, H)
    check_heads("x_hyperedge", x_hyperedge, H.n_hyperedges, H.device)
    check_like("x_hyperedge", x_hyperedge, x, tuple(x.shape[-2:]), "the heads and features of x")
    return kernels.head_scores(x, a_vertex)[0], kernels.head_scores(x_hyperedge, a_hyperedge)[0]


def hypergraph_attention(
    x: Tensor,
    H: TwoSided,
    incidence: Tensor,
    *,
    normalization: Normalization = "row",
    weight: Tensor | None = None,
    dropped: Tensor | None = None,
    receiver_incidence: Tensor | None = None,
) -> Tensor:
    """Hypergraph convolution with an attended incidence in every place of ``H``, in ``D`` and in ``B`` as well.

    Args:
        x: Projected vertex features, ``(..., N, heads, F')``.
        H: The hypergraph, or a block of one.
        incidence: Attended incidence, ``(..., n_incidences, heads)``, non-negative.
        normalization: As in :func:`hypergraph_conv`.
        weight: Hyperedge weights in place of ``H.weight``, ``(..., M)``.
        dropped: The incidence after dropout, which is then what propagates; ``D`` and ``B`` stay those of
            ``incidence``.
        receiver_incidence: Attended incidence of the receivers, where they have incidences of their own: in a directed
            hypergraph, or for new vertices.

    Returns:
        ``(..., N, heads, F')``; for a block, a row per vertex that it makes.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2)
        >>> hypergraph_attention(torch.ones(2, 1, 3), H, torch.tensor([[1.0], [0.5], [0.5]]))[:, 0, 0]
        tensor([1., 1.])
    """
    check_choice("normalization", normalization, NORMALIZATIONS)
    check_hypergraph(H)
    if H.shares_pairs != (receiver_incidence is None):
        raise ValueError(
            "receiver_incidence must be given where receivers have incidences of their own, and only there: "
            "attention_incidence(…, of='receivers')."
        )
    if normalization == "symmetric" and isinstance(H, Block) and not H.attention:
        raise ValueError(
            "H must hold all hyperedges of its senders, whose degrees are sums over them; make the block with "
            "around(vertices, attention=True), or use normalization='row'."
        )
    check_heads("x", x, H.n_vertices, H.device)
    per_incidence = (H.n_incidences, x.shape[-2])
    check_like("incidence", incidence, x, per_incidence, "one entry per incidence and head")
    if weight is not None:
        check_like("weight", weight, x, (H.n_hyperedges,), "one entry per hyperedge")
    if dropped is not None:
        check_like("dropped", dropped, x, per_incidence, "one entry per incidence and head")
    if receiver_incidence is None and normalization == "row":
        return row_transition(x, H, incidence, H.weight.to(x.dtype) if weight is None else weight, dropped)
    if receiver_incidence is not None:
        per_incidence = (H.receivers.n_pairs, x.shape[-2])
        check_like("receiver_incidence", receiver_incidence, x, per_incidence, "one entry per incidence and head")
    return _attended_transition(
        x,
        H,
        incidence,
        normalization=normalization,
        weight=weight,
        dropped=dropped,
        of_receivers=receiver_incidence,
    )


def attended_conv(
    x: Tensor,
    x_hyperedge: Tensor | None,
    H: TwoSided,
    a_vertex: Tensor,
    a_hyperedge: Tensor,
    *,
    normalization: Normalization,
    softmax_over: SoftmaxOver = "hyperedges",
    negative_slope: float = 0.2,
    weight: Tensor | None = None,
    dropped: Tensor | None = None,
    drop: Drop | None = None,
) -> tuple[Tensor, Tensor]:
    """:func:`attention_incidence` and the convolution with it, which need not sum degrees that its softmax makes 1.

    Args:
        x: As in :func:`attention_incidence`.
        x_hyperedge: As there.
        H: As there.
        a_vertex: As there.
        a_hyperedge: As there.
        normalization: As in :func:`hypergraph_conv`.
        softmax_over: As in :func:`attention_incidence`.
        negative_slope: As there.
        weight: Hyperedge weights in place of ``H.weight``, ``(..., M)``.
        dropped: ``x`` after dropout, which is then what propagates; the scores are those of ``x``.
        drop: Dropout of the incidence, given with the pairs that it belongs to; degrees are taken before it.

    Returns:
        ``T x``, ``(..., N, heads, F')``, for a block a row per vertex that it makes; and the attended incidence of the
        senders, ``(..., n_incidences, heads)``.
    """
    scored = (x, x_hyperedge, H, a_vertex, a_hyperedge)
    incidence = attention_incidence(*scored, softmax_over=softmax_over, negative_slope=negative_slope)
    received = None
    if not H.shares_pairs:
        options: dict[str, Any] = {"softmax_over": softmax_over, "negative_slope": negative_slope}
        received = attention_incidence(*scored, **options, of="receivers")
    out = _attended_transition(
        x if dropped is None else dropped,
        H,
        incidence,
        normalization=normalization,
        weight=weight,
        dropped=None if drop is None else drop(incidence, H.senders),
        of_receivers=received,
        dropped_of_receivers=None if drop is None or received is None else drop(received, H.receivers),
        softmax_over=softmax_over,
    )
    return out, incidence


def _attended_transition(
    x: Tensor,
    H: TwoSided,
    incidence: Tensor,
    *,
    normalization: Normalization,
    weight: Tensor | None,
    dropped: Tensor | None,
    of_receivers: Tensor | None,
    dropped_of_receivers: Tensor | None = None,
    softmax_over: SoftmaxOver | None = None,
) -> Tensor:
    """Convolve with an attended incidence in every place of ``H``; arguments as for :func:`hypergraph_attention`.

    Args:
        x: Projected vertex features.
        H: The hypergraph, or a block of one.
        incidence: Attended incidence of the senders.
        normalization: As in :func:`hypergraph_conv`.
        weight: Hyperedge weights in place of ``H.weight``.
        dropped: The incidence after dropout.
        of_receivers: Attended incidence of the receivers, if their pairs are not among those of the senders.
        dropped_of_receivers: The same after dropout.
        softmax_over: Which softmax has made the incidence, whose sums of 1 are then not taken; ``None`` for any other.
    """
    left, middle, right = _attended_scalings(H, incidence, normalization, weight, of_receivers, softmax_over)
    values = incidence if dropped is None else dropped
    factors = {"left": left, "middle": middle, "right": right, "values": values}
    if of_receivers is not None:
        received = of_receivers if dropped_of_receivers is None else dropped_of_receivers
        return kernels.transition(x, H.senders, H.receivers, **factors, receiver_values=received, parts=H.parts)
    # Receivers have the attention that they have as senders: all senders receive, and those that are made remain.
    out = kernels.transition(x, H.senders, H.senders, **factors, parts=H.parts)
    return out if H.rows is None else out.index_select(-3, H.rows)


def attended_scalings(
    H: TwoSided, incidence: Tensor, normalization: Normalization, of_receivers: Tensor | None = None
) -> Scalings:
    """``D_R^-a``, ``W B^-1`` and ``D_S^-b`` of any attended incidence, ``(..., rows, heads or 1)`` each; ``None`` is 1.

    The first is that of all senders where the receivers share their pairs.

    Args:
        H: The hypergraph, or a block of one.
        incidence: Attended incidence of the senders.
        normalization: As in :func:`hypergraph_conv`.
        of_receivers: Attended incidence of the receivers, if their pairs are not among those of the senders.
    """
    return _attended_scalings(H, incidence, normalization, None, of_receivers, None)


def _attended_scalings(
    H: TwoSided,
    incidence: Tensor,
    normalization: Normalization,
    given: Tensor | None,
    of_receivers: Tensor | None,
    softmax_over: SoftmaxOver | None,
) -> Scalings:
    """The same; ``given`` are weights in place of ``H.weight``, and sums of the given softmax are known to be 1."""
    dtype = incidence.dtype
    if normalization == "none":
        return None, (H.weight.to(dtype) if given is None else given).unsqueeze(-1), None
    if given is None:
        weight = H.derived(("relative weight", dtype), lambda: _relative_weight(H, dtype))
    else:
        weight = _relative(given, H)
    middle = None if weight is None else weight.unsqueeze(-1)  # W
    if softmax_over != "vertices":
        size = inverse(sizes(incidence, H))  # B^-1  (..., M, heads)
        middle = size if middle is None else middle * size
    if softmax_over == "hyperedges" and weight is None:
        return None, middle, None  # D is 1
    if of_receivers is None:
        degree = kernels.value_sums(incidence, H.senders, weight)  # D  (..., senders, heads)
        return (inverse(degree), middle, None) if normalization == "row" else _roots(degree, middle, degree)
    degree = kernels.value_sums(of_receivers, H.receivers, weight)  # D_R  (..., receivers, heads)
    if normalization == "row":
        return inverse(degree), middle, None
    return _roots(degree, middle, kernels.value_sums(incidence, H.senders, weight))


def _roots(receiver_degree: Tensor, middle: Tensor | None, sender_degree: Tensor) -> Scalings:
    root = inverse(receiver_degree, root=True)
    return root, middle, root if sender_degree is receiver_degree else inverse(sender_degree, root=True)


def _relative(weight: Tensor, H: TwoSided) -> Tensor:
    """Weights over the largest of them: no factor of ``W`` changes ``T``, and this one keeps ``D`` from vanishing."""
    if H.parts is None:
        return weight / weight.detach().amax(-1, keepdim=True) if weight.shape[-1] > 0 else weight
    lowest = weight.new_zeros(*weight.shape[:-1], 1)
    own = torch.cat([weight.detach(), lowest], -1).amax(-1, keepdim=True)
    return weight / H.parts.highest_of_all(own)


def _relative_weight(H: TwoSided, dtype: torch.dtype) -> Tensor | None:
    """The same of a hypergraph's own weights; ``None`` where they are seen to be all alike."""
    weight = _relative(H.weight.to(dtype), H)
    is_seen = type(weight) is Tensor and not torch.compiler.is_compiling()
    return None if is_seen and bool((weight == 1).all()) else weight


def _are_own_centroids(H: TwoSided) -> bool:
    """Whether hyperedge ``e`` is known to be centred on vertex ``e``, so that nothing need be gathered.

    ``False`` while a program is traced, because the answer depends on data; it then gathers in any case.
    """
    if H.n_hyperedges != H.n_vertices or torch.compiler.is_compiling():
        return False
    return H.derived("own centroids", lambda: _counts_from_0(cast(Tensor, H.centroid)))


def _counts_from_0(ids: Tensor) -> bool:
    is_seen = type(ids) is Tensor and ids.device.type != "meta"
    return is_seen and bool((ids == torch.arange(ids.shape[0], device=ids.device)).all())
