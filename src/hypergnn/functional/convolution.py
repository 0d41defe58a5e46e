"""Degrees and the convolution: ``T`` fixed by the structure, or by an attended incidence in its place."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from hypergnn import kernels
from hypergnn._utils.checks import check_choice, check_features, check_like, check_structure
from hypergnn.functional.projection import Features, project, project_if_cheaper
from hypergnn.kernels import activated_transition, elu_dropout, fixed_transition, segment_sum, transition, value_sums
from hypergnn.structures.hypergraph import Hypergraph

Normalization = Literal["symmetric", "row", "none"]
SoftmaxOver = Literal["hyperedges", "vertices"]
Scalings = tuple[Tensor | None, Tensor | None, Tensor | None]

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
    _check_entries(H, incidence, weight)
    if incidence is None:
        return H.vertex_degree() if weight is None else segment_sum(weight.unsqueeze(-1), by=H.vertices).squeeze(-1)
    return value_sums(incidence, H.vertices, H.weight.to(incidence.dtype) if weight is None else weight)


def hyperedge_degree(H: Hypergraph, *, incidence: Tensor | None = None) -> Tensor:
    """Degree of each hyperedge, ``B_e = Σ_i H_ie``: ``(M,)``, or ``(..., M, heads)`` with an attended incidence.

    Example:
        >>> hyperedge_degree(Hypergraph.from_hyperedges([[0, 1], [2]], n_vertices=3)).tolist()
        [2.0, 1.0]
    """
    _check_entries(H, incidence, None)
    if incidence is None:
        return H.hyperedge_degree()
    return value_sums(incidence, H.hyperedges)


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
        weight: Hyperedge weights in place of ``H.weight``, ``(..., M)``; gradients flow into them. They must be
            positive, which is not checked.

    Returns:
        ``(..., N, F)``, or ``(..., N, F')`` with a projection.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4, weight=[1.0, 3.0])
        >>> hypergraph_conv(torch.eye(4), H, normalization="row")[1]
        tensor([0.0833, 0.3333, 0.3333, 0.2500])
    """
    check_choice("normalization", normalization, NORMALIZATIONS)
    check_hypergraph(H)
    check_features(x, H.n_vertices, H.device)
    if weight is not None:
        check_like("weight", weight, x, (H.n_hyperedges,), "one entry per hyperedge")
    narrow, projection = project_if_cheaper(x, projection)
    out = apply_transition(narrow, H, normalization, weight)
    return out if projection is None else project(out, projection)


def activated_conv(
    x: Features, H: Hypergraph, normalization: Normalization, projection: Tensor, bias: Tensor | None
) -> Tensor:
    """ELU of :func:`hypergraph_conv` plus a bias, ``(..., N, F')``; in one step where the projection comes first."""
    narrow, after = project_if_cheaper(x, projection)
    if after is not None:
        return elu_dropout(project(apply_transition(narrow, H, normalization, None), after), bias)
    return activated_transition(narrow, H.hyperedges, *_fixed_scalings(H, normalization, narrow.dtype), bias)


def apply_transition(
    x: Tensor,
    H: Hypergraph,
    normalization: Normalization,
    weight: Tensor | None,
    incidence: Tensor | None = None,
    dropped: Tensor | None = None,
    softmax_over: SoftmaxOver | None = None,
) -> Tensor:
    """``T X`` for features ``(..., N, F)``, or ``(..., N, heads, F)`` with an attended incidence."""
    if incidence is None and weight is None:
        return fixed_transition(x, H.hyperedges, *_fixed_scalings(H, normalization, x.dtype))
    left, middle, right = scalings(H, normalization, x.dtype, weight, incidence, softmax_over)
    values = incidence if dropped is None else dropped
    return transition(x, H.hyperedges, values, left=left, middle=middle, right=right)


def _fixed_scalings(H: Hypergraph, normalization: Normalization, dtype: torch.dtype) -> Scalings:
    """Those of the structure alone, ``(1, rows, 1)`` each."""

    def make() -> Scalings:
        left, middle, right = (None if one is None else one[None] for one in scalings(H, normalization, dtype))
        return left, middle, right

    return H.derived(("scalings", normalization, dtype), make)


def scalings(
    H: Hypergraph,
    normalization: Normalization,
    dtype: torch.dtype,
    given_weight: Tensor | None = None,
    incidence: Tensor | None = None,
    softmax_over: SoftmaxOver | None = None,
) -> Scalings:
    """What scales vertices, hyperedges and vertices again in ``T``, ``(..., rows, heads or 1)`` each; ``None`` is 1.

    Where the incidence is known to be a softmax over the vertices of each hyperedge, these have degree 1, and so have
    vertices where it is one over their hyperedges and all of those weigh the same.
    """
    own = H.weight.to(dtype) if given_weight is None else given_weight
    if normalization == "none":
        return None, own.unsqueeze(-1), None  # W
    weight: Tensor | None = own
    degree: Tensor | None = None
    size: Tensor | None = None
    if incidence is None:
        degree = vertex_degree(H, weight=given_weight).to(dtype).unsqueeze(-1)  # D  (..., N, 1)
        size = hyperedge_degree(H).to(own.dtype).unsqueeze(-1)  # B  (M, 1)
    else:
        if given_weight is None:
            weight = H.derived(("relative weight", dtype), lambda: _relative_weight(H, dtype))
        else:
            weight = _relative(given_weight)
        if softmax_over != "hyperedges" or weight is not None:
            degree = value_sums(incidence, H.vertices, weight)  # D  (..., N, heads)
        if softmax_over != "vertices":
            size = value_sums(incidence, H.hyperedges)  # B  (..., M, heads)
    middle = _over(weight, size)  # W B^-1
    if degree is None:
        return None, middle, None
    if normalization == "row":
        return inverse(degree), middle, None  # D^-1
    root = inverse(degree, root=True)  # D^-1/2
    return root, middle, root


def _over(weight: Tensor | None, size: Tensor | None) -> Tensor | None:
    """``W B^-1``, where ``None`` is 1."""
    if size is None:
        return None if weight is None else weight.unsqueeze(-1)
    return inverse(size) if weight is None else weight.unsqueeze(-1) * inverse(size)


def _relative(weight: Tensor) -> Tensor:
    """Weights over the largest of them: no factor of ``W`` changes ``T``, and this one keeps ``D`` from vanishing."""
    return weight / weight.detach().amax(-1, keepdim=True) if weight.shape[-1] > 0 else weight


def _relative_weight(H: Hypergraph, dtype: torch.dtype) -> Tensor | None:
    """The same of a hypergraph's own weights; ``None`` where they are seen to be all alike."""
    weight = _relative(H.weight.to(dtype))
    is_seen = type(weight) is Tensor and not torch.compiler.is_compiling()
    return None if is_seen and bool((weight == 1).all()) else weight


def check_hypergraph(H: object) -> None:
    """Raise unless ``H`` is a hypergraph."""
    check_structure("H", H, Hypergraph, "from_incidence(vertex, hyperedge, n_vertices, n_hyperedges)")


def _check_entries(H: Hypergraph, incidence: Tensor | None, weight: Tensor | None) -> None:
    check_hypergraph(H)
    like = next((one for one in (incidence, weight) if isinstance(one, Tensor)), torch.empty(0))
    if weight is not None:
        check_like("weight", weight, like, (H.n_hyperedges,), "one entry per hyperedge")
    if incidence is not None:
        heads = like.shape[-1] if like.dim() else 1
        check_like("incidence", incidence, like, (H.n_incidences, heads), "one entry per incidence and head")


def inverse(degree: Tensor, *, root: bool = False) -> Tensor:
    """``1 / degree``, or its square root; 0 where there is no degree.

    No degree is one whose inverse square, the largest power in the gradient, would overflow: 0, or attention that has
    rounded to nothing.
    """
    return kernels.inverse(degree, root=root, least=torch.finfo(degree.dtype).tiny ** 0.5)
