r"""MoNet on hypergraphs: Gaussian kernels over pseudo-coordinates of each incidence.

    x_i' = D_i^-1 Σ_k Σ_e w_k(u_ie) W_e m_e P_k        w_k(u) = exp(-½ Σ_d (u_d - μ_kd)² / σ_kd²)

``m_e`` is the mean of the senders of ``e``. With one hyperedge per vertex of a graph, from that vertex to its
neighbours, this is MoNet of the graph.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hypergnn import kernels
from hypergnn.functional.convolution import gathered, inverse
from hypergnn.structures.base import TwoSided

_NARROWEST = 1e-15


def monet_conv(
    x: Tensor,
    H: TwoSided,
    mean: Tensor,
    spread: Tensor,
    *,
    coordinates: Tensor | None = None,
    normalization: str = "row",
) -> Tensor:
    """The terms of MoNet, one for each kernel; their sum over the kernels is its output.

    Args:
        x: Features projected for each kernel, ``x P_k``, ``(..., N, kernels, F')``.
        H: The hypergraph, or a block of one.
        mean: ``μ``, ``(..., kernels, dimensions)``.
        spread: ``σ``, ``(..., kernels, dimensions)``.
        coordinates: ``u``, pseudo-coordinates of each incidence of the receivers, ``(n_incidences, dimensions)``; by
            default the inverse square roots of the number of hyperedges of the vertex and of the number of vertices of
            the hyperedge.
        normalization: ``"row"`` divides by the degree of the vertex, ``"none"`` does not.

    Returns:
        ``(..., receivers, kernels, F')``.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> wide = torch.full((1, 2), 1e9)
        >>> monet_conv(torch.tensor([1.0, 2.0, 3.0, 5.0]).view(4, 1, 1), H, torch.zeros(1, 2), wide).flatten()
        tensor([2., 2., 3., 4.])
    """
    dtype = x.dtype
    u = _from_degrees(H, dtype) if coordinates is None else coordinates
    values = gaussians(u, mean, spread)  # w_k(u_ie)  (..., n_incidences, kernels)
    scale = (H.weight.to(dtype) * inverse(H._hyperedge_degree.to(dtype))).unsqueeze(-1)  # W B^-1  (M, 1)
    message = scale * gathered(x.flatten(-2), H)  # W_e m_e P_k  (..., M, kernels * F')
    by_kernel = message.reshape(*message.shape[:-1], *x.shape[-2:])
    out = kernels.segment_sum(by_kernel, by=H.receivers, values=values)  # Σ_e  (..., receivers, kernels, F')
    if normalization == "row":
        out = out * inverse(H._receiver_degree.to(dtype)).unsqueeze(-1).unsqueeze(-1)  # D^-1
    if H.receiver_scale is not None:
        out = out * H.receiver_scale.to(dtype).unsqueeze(-1).unsqueeze(-1)
    return out


def gaussians(u: Tensor, mean: Tensor, spread: Tensor) -> Tensor:
    """``exp(-½ Σ_d (u_d - μ_kd)² / σ_kd²)`` of each row of ``u``, ``(..., rows, kernels)``."""
    power = u.new_zeros(*mean.shape[:-2], u.shape[-2], mean.shape[-2])
    for d in range(u.shape[-1]):  # never rows × kernels × dimensions
        precision = 1 / (_NARROWEST + spread[..., d].square())
        power = power + (u[..., d, None] - mean[..., None, :, d]).square() * precision.unsqueeze(-2)
    return (-0.5 * power).exp()


def _from_degrees(H: TwoSided, dtype: torch.dtype) -> Tensor:
    """The coordinates that sizes in the whole give, whatever the weights, ``(n_incidences, 2)``."""
    pairs = H.receivers

    def make() -> Tensor:
        count = pairs.offsets.diff() if H.receiver_count is None else H.receiver_count
        vertex, size = (one.to(dtype).clamp(min=1).rsqrt() for one in (count, H.hyperedge_degree()))
        place = pairs.back_position
        rows = pairs.rows() if place is None else torch.empty_like(place).scatter(0, place.long(), pairs.back_members)
        return torch.stack([vertex[rows.long()], size[pairs.members.long()]], -1)

    return H.derived(("coordinates", dtype), make)
