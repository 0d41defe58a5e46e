"""The two halves of the row-normalised transition, for layers that change the hyperedges in between."""

from __future__ import annotations

from torch import Tensor

from hypergnn import kernels
from hypergnn.functional.checks import check_features, check_hypergraph
from hypergnn.functional.convolution import gathered, inverse
from hypergnn.structures.base import TwoSided


def hyperedge_mean(x: Tensor, H: TwoSided) -> Tensor:
    """The mean of the members of each hyperedge, ``B^-1 Sᵀ X``, ``(..., M, F)``; 0 for an empty one.

    Args:
        x: ``(..., N, F)``.
        H: The hypergraph, or a block of one.

    Example:
        >>> import torch
        >>> from hypergnn import Hypergraph
        >>> hyperedge_mean(torch.tensor([[1.0], [3.0]]), Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2))
        tensor([[2.],
                [3.]])
    """
    check_hypergraph(H)
    check_features(x, H.n_vertices, H.device)
    size = inverse(H._hyperedge_degree.to(x.dtype)).unsqueeze(-1)  # B^-1  (M, 1)
    return size * gathered(x, H)  # B^-1 Sᵀ X  (..., M, F)


def vertex_mean(u: Tensor, H: TwoSided) -> Tensor:
    """The weighted mean of the hyperedges of each vertex, ``D^-1 R W U``, ``(..., N, F)``; 0 for an isolated one.

    Args:
        u: ``(..., M, F)``.
        H: The hypergraph, or a block of one; the result has a row per vertex that it makes.

    Example:
        >>> import torch
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2, weight=[1.0, 3.0])
        >>> vertex_mean(torch.tensor([[2.0], [4.0]]), H)
        tensor([[2.0000],
                [3.5000]])
    """
    check_hypergraph(H)
    check_features(u, H.n_hyperedges, H.device, name="u", rows="hyperedge")
    total = kernels.segment_sum(u * H.weight.to(u.dtype).unsqueeze(-1), by=H.receivers)  # R W U  (..., N, F)
    mean = total * inverse(H._receiver_degree.to(u.dtype)).unsqueeze(-1)  # D_R^-1
    return mean if H.receiver_scale is None else mean * H.receiver_scale.to(u.dtype).unsqueeze(-1)
