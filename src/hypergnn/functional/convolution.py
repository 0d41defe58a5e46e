r"""Hypergraph convolution: a transition that the structure fixes, applied to features.

    T = D_R^-a · R · W B^-1 · Sᵀ · D_S^-b        a + b = 1: row (1, 0), symmetric (1/2, 1/2)

``S`` says which vertices a hyperedge gathers from, ``R`` which vertices gather from it. In a hypergraph both are the
paper's ``H``; in a block they are the vertices that a layer reads and those that it makes.
"""

from __future__ import annotations

from typing import Literal, cast

import torch
from torch import Tensor

from hypergnn import kernels
from hypergnn._utils.checks import check_choice
from hypergnn.functional.checks import Features, check_features, check_hypergraph, check_like
from hypergnn.functional.projection import check_projection, project, project_if_cheaper
from hypergnn.structures.base import TwoSided, derived
from hypergnn.structures.block import Block
from hypergnn.structures.incidence import Incidence

Normalization = Literal["symmetric", "row", "none"]
Scalings = tuple[Tensor | None, Tensor | None, Tensor | None]

NORMALIZATIONS = ("symmetric", "row", "none")


def hypergraph_conv(
    x: Features,
    H: TwoSided,
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
        H: The hypergraph, or a block of one.
        normalization: Which ``T``.
        projection: ``P``, ``(..., F, F')``.
        weight: Hyperedge weights in place of ``H.weight``, ``(..., M)``; gradients flow into them. They must be
            positive, which is not checked.

    Returns:
        ``(..., N, F)``, or ``(..., N, F')`` with a projection; for a block, a row per vertex that it makes.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4, weight=[1.0, 3.0])
        >>> hypergraph_conv(torch.eye(4), H, normalization="row")[1]
        tensor([0.0833, 0.3333, 0.3333, 0.2500])
    """
    check_hypergraph(H)
    check_features(x, H.n_vertices, H.device)
    if weight is not None:
        check_like("weight", weight, x, (H.n_hyperedges,), "one entry per hyperedge")
    narrow, after = _projected(x, projection, H)  # X P, where that is cheaper than T X
    if weight is not None:
        weight = weight.to(narrow.dtype)
        narrow = narrow.expand(*torch.broadcast_shapes(narrow.shape[:-2], weight.shape[:-1]), *narrow.shape[-2:])
    left, middle, right = scalings(H, normalization, narrow.dtype, weight)  # D_R^-a, W B^-1, D_S^-b
    factors = {"left": left, "middle": middle, "right": right}
    out = kernels.transition(narrow, H.senders, H.receivers, **factors, parts=H.parts)
    return out if after is None else project(out, after)


def activated_conv(
    x: Features, H: TwoSided, normalization: Normalization, projection: Tensor, bias: Tensor | None
) -> Tensor:
    """ELU of :func:`hypergraph_conv` plus a bias, ``(..., N, F')``."""
    narrow, after = _projected(x, projection, H)
    narrow = narrow.to(projection.dtype)  # whatever autocast has multiplied in
    left, middle, right = scalings(H, normalization, narrow.dtype)
    factors = {"left": left, "middle": middle, "right": right}
    if after is None and H.parts is None:
        return kernels.activated_transition(narrow, H.senders, H.receivers, **factors, bias=bias)
    out = kernels.transition(narrow, H.senders, H.receivers, **factors, parts=H.parts)
    return kernels.elu_dropout(out if after is None else project(out, after).to(projection.dtype), bias)


def _projected(x: Features, projection: Tensor | None, H: TwoSided) -> tuple[Tensor, Tensor | None]:
    """``X P``, or ``X`` and what is left to multiply by: a sampled block reads many more rows than it makes."""
    is_dense = isinstance(x, Tensor) and x.layout == torch.strided
    if projection is None or not is_dense or not (isinstance(H, Block) and H.is_sampled):
        return project_if_cheaper(x, projection)
    check_projection(projection, x)
    (n_features, width), n_pairs = projection.shape[-2:], H.senders.n_pairs + H.receivers.n_pairs
    cost_before = (H.n_vertices * n_features + n_pairs) * width
    cost_after = (n_pairs + H.n_receivers * width) * n_features
    return (cast(Tensor, x), projection) if cost_after < cost_before else project_if_cheaper(x, projection)


def vertex_degree(H: TwoSided, *, incidence: Tensor | None = None, weight: Tensor | None = None) -> Tensor:
    """Degree of each vertex that receives, ``D_ii = Σ_e W_e H_ie``.

    Args:
        H: The hypergraph.
        incidence: Attended incidence of the receivers, ``(..., n_incidences, heads)``; zeros and ones if omitted.
        weight: Hyperedge weights in place of ``H.weight``, ``(..., M)``.

    Returns:
        ``(..., N)``, or ``(..., N, heads)`` with an attended incidence.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3, weight=[1.0, 3.0])
        >>> vertex_degree(H).tolist()
        [1.0, 4.0, 3.0]
    """
    check_hypergraph(H)
    _check_entries(H, incidence, weight, H.receivers.n_pairs)
    if incidence is not None:
        return kernels.value_sums(incidence, H.receivers, H.weight.to(incidence.dtype) if weight is None else weight)
    if weight is None:
        return H._receiver_degree.clone()
    return kernels.segment_sum(weight.unsqueeze(-1), by=H.receivers).squeeze(-1)


def hyperedge_degree(H: TwoSided, *, incidence: Tensor | None = None) -> Tensor:
    """Degree of each hyperedge, ``B_e = Σ_i H_ie``: ``(M,)``, or ``(..., M, heads)`` with an attended incidence.

    Example:
        >>> from hypergnn import Hypergraph
        >>> hyperedge_degree(Hypergraph.from_hyperedges([[0, 1], [2]], n_vertices=3)).tolist()
        [2.0, 1.0]
    """
    check_hypergraph(H)
    _check_entries(H, incidence, None, H.senders.n_pairs)
    return H.hyperedge_degree() if incidence is None else sizes(incidence, H)


def sizes(incidence: Tensor, H: TwoSided) -> Tensor:
    """``B`` of an attended incidence, ``(..., M, heads)``: its sums over the members of each hyperedge."""
    return kernels.total(kernels.value_sums(incidence, H.senders.T), H.parts)


def gathered(x: Tensor, H: TwoSided) -> Tensor:
    """``Sᵀ X``, ``(..., M, F)``: the sum of the rows of each hyperedge's senders."""
    return kernels.total(kernels.segment_sum(x, by=H.senders.T), H.parts)


def scalings(H: TwoSided, normalization: Normalization, dtype: torch.dtype, weight: Tensor | None = None) -> Scalings:
    """What stands left of ``R``, between ``R`` and ``Sᵀ``, and right of ``Sᵀ`` in ``T``; ``None`` is 1.

    Returns:
        ``(1, rows, 1)`` each for the structure alone, which is cached; ``(..., rows, 1)`` with given weights.
    """
    if weight is None:
        return derived(H, ("scalings", normalization, dtype), lambda: _fixed_scalings(H, normalization, dtype))
    check_choice("normalization", normalization, NORMALIZATIONS)
    if isinstance(H, Block) and H.is_sampled:
        raise ValueError(
            "H must hold all hyperedges of its vertices, whose degrees are sums of the given weights; got a sampled "
            "block. Use fanout=None, or fixed weights."
        )
    if normalization == "none":
        return None, weight.unsqueeze(-1), None
    middle = weight.unsqueeze(-1) * inverse(H._hyperedge_degree.to(dtype).unsqueeze(-1))  # W B^-1
    receiver_degree = _weighted_degree(weight, H.receivers)  # D_R  (..., receivers, 1)
    if normalization == "row":
        return inverse(receiver_degree), middle, None
    root = inverse(receiver_degree, root=True)
    if H.receivers is H.senders:
        return root, middle, root
    if isinstance(H, Block) and not H.attention:
        raise ValueError(
            "H must hold all hyperedges of its senders, whose degrees are sums of the given weights; make the block "
            "with around(vertices, attention=True), or use normalization='row'."
        )
    return root, middle, inverse(_weighted_degree(weight, H.senders), root=True)


def _fixed_scalings(H: TwoSided, normalization: Normalization, dtype: torch.dtype) -> Scalings:
    check_choice("normalization", normalization, NORMALIZATIONS)
    if isinstance(H, Block) and H.receiver_scale is not None and H.hyperedge_scale is not None:
        return _sampled_scalings(H, normalization, dtype, H.receiver_scale, H.hyperedge_scale)
    weight = H.weight.to(dtype)[None, :, None]  # W  (1, M, 1)
    if normalization == "none":
        return None, weight, None
    middle = weight * inverse(H._hyperedge_degree.to(dtype)[None, :, None])  # W B^-1
    receiver_degree = H._receiver_degree.to(dtype)[None, :, None]  # D_R  (1, receivers, 1)
    if normalization == "row":
        return inverse(receiver_degree), middle, None
    root = inverse(receiver_degree, root=True)
    if H.receivers is H.senders:
        return root, middle, root
    return root, middle, inverse(H._sender_degree.to(dtype)[None, :, None], root=True)


def _sampled_scalings(
    H: Block, normalization: Normalization, dtype: torch.dtype, receiver_scale: Tensor, hyperedge_scale: Tensor
) -> Scalings:
    """The same for a sampled block, scaled so that the mean over all samples is ``T`` of the whole hypergraph."""
    left = receiver_scale.to(dtype)[None, :, None]
    if normalization == "none":
        return left, (H.weight * hyperedge_scale).to(dtype)[None, :, None], None
    # B counts the members that were drawn, whose mean stands for that of all members.
    middle = H.weight.to(dtype)[None, :, None] * inverse(H._hyperedge_degree.to(dtype)[None, :, None])
    receiver_degree = H._receiver_degree.to(dtype)[None, :, None]
    if normalization == "row":
        return left * inverse(receiver_degree), middle, None
    root = inverse(H._sender_degree.to(dtype)[None, :, None], root=True)
    return left * inverse(receiver_degree, root=True), middle, root


def _weighted_degree(weight: Tensor, pairs: Incidence) -> Tensor:
    """``Σ_e W_e`` over the hyperedges of each row, ``(..., rows, 1)``."""
    return kernels.segment_sum(weight.unsqueeze(-1), by=pairs)


def inverse(degree: Tensor, *, root: bool = False) -> Tensor:
    """``1 / degree``, or its square root; 0 where there is no degree.

    No degree is one whose inverse square, the largest power in the gradient, would overflow: 0, or attention that has
    rounded to nothing.
    """
    return kernels.inverse(degree, root=root, least=torch.finfo(degree.dtype).tiny ** 0.5)


def _check_entries(H: TwoSided, incidence: Tensor | None, weight: Tensor | None, n_pairs: int) -> None:
    like = next((one for one in (incidence, weight) if isinstance(one, Tensor)), torch.empty(0))
    if weight is not None:
        check_like("weight", weight, like, (H.n_hyperedges,), "one entry per hyperedge")
    if incidence is not None:
        heads = like.shape[-1] if like.dim() else 1
        check_like("incidence", incidence, like, (n_pairs, heads), "one entry per incidence and head")
