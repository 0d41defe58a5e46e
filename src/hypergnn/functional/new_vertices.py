"""Rows that read the hyperedges of a hypergraph without being part of it: how a trained network meets new data."""

from __future__ import annotations

from torch import Tensor

from hypergnn._utils.checks import check_choice
from hypergnn.functional.convolution import NORMALIZATIONS, Normalization, check_hypergraph, scalings
from hypergnn.functional.projection import Features, to_dense
from hypergnn.kernels import segment_sum
from hypergnn.structures.hypergraph import Hypergraph


def hypergraph_read(
    x: Features,
    H: Hypergraph,
    readers: Hypergraph,
    *,
    normalization: Normalization = "symmetric",
    weight: Tensor | None = None,
    incidence: Tensor | None = None,
    reading: Tensor | None = None,
) -> Tensor:
    """What new rows gather from the hyperedges of ``H``: ``T_R X`` with ``T_R = D_R^-1/2 R W B^-1 Hᵀ D^-1/2``.

    ``R`` is the incidence of the new rows and ``D_R`` their degree. They stand on the left of the transition only:
    hyperedges and vertices of ``H`` stay what they are, and no new row depends on another. A row with the memberships
    of a vertex gathers what that vertex gathers.

    Args:
        x: Features of the vertices of ``H``, ``(..., N, F)``; with attention ``(..., N, heads, F')``.
        H: The hypergraph.
        readers: The new rows as vertices, with the hyperedges of ``H`` and their weights.
        normalization: Which transition, as in :func:`hypergraph_conv`.
        weight: Hyperedge weights in place of ``H.weight``, ``(..., M)``.
        incidence: Attended incidence of ``H``, ``(..., n_incidences, heads)``.
        reading: Attended incidence of ``readers``, given together with ``incidence``.

    Returns:
        ``(..., rows, F)`` or ``(..., rows, heads, F')``.

    Example:
        >>> import torch
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3)
        >>> new = Hypergraph.from_hyperedges([[0], []], n_vertices=1)
        >>> hypergraph_read(torch.tensor([[2.0], [4.0], [9.0]]), H, new, normalization="row")
        tensor([[3.]])
    """
    check_choice("normalization", normalization, NORMALIZATIONS)
    check_hypergraph(H)
    check_hypergraph(readers)
    if readers.n_hyperedges != H.n_hyperedges:
        raise ValueError(f"readers must have the {H.n_hyperedges} hyperedges of H; got {readers.n_hyperedges}.")
    dense = to_dense(x)
    _, middle, right = scalings(H, normalization, dense.dtype, weight, incidence)
    left = scalings(readers, normalization, dense.dtype, weight, reading)[0]
    sums = segment_sum(_scaled(dense, right), by=H.hyperedges, values=incidence)  # Hᵀ D^-1/2 X  (..., M, F)
    return _scaled(segment_sum(_scaled(sums, middle), by=readers.vertices, values=reading), left)  # (..., rows, F)


def _scaled(x: Tensor, factor: Tensor | None) -> Tensor:
    """Rows, or rows and heads, times a factor ``(..., rows, heads or 1)``."""
    if factor is None:
        return x
    return x * (factor.unsqueeze(-1) if factor.dim() < x.dim() else factor)
