r"""Readout: one row of features per member of a batch.

sum_k = Σ_{i in k} x_i        mean_k = sum_k / |k|        max_k = max_{i in k} x_i, feature by feature
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from hypergnn import kernels
from hypergnn._utils.checks import check_choice
from hypergnn.functional.checks import Features, check_features
from hypergnn.functional.projection import to_dense
from hypergnn.structures.batches import HypergraphBatch
from hypergnn.structures.incidence import Incidence

Reduce = Literal["sum", "mean", "max"]
REDUCE = ("sum", "mean", "max")


def readout(x: Features, H: HypergraphBatch, *, reduce: Reduce = "mean") -> Tensor:
    """Sum, mean or maximum of the features of each member's vertices.

    Args:
        x: Features of the vertices of all members, ``(..., N, F)``.
        H: The batch.
        reduce: ``"sum"``, ``"mean"``, or ``"max"`` feature by feature, whose gradient vertices with the same maximum
            share.

    Returns:
        ``(..., n_members, F)``; 0 for a member without vertices.

    Example:
        >>> from hypergnn import Hypergraph, batch
        >>> both = batch([Hypergraph.from_hyperedges([[0, 1]], 2), Hypergraph.from_hyperedges([[0]], 1)])
        >>> readout(torch.tensor([[1.0], [3.0], [5.0]]), both).tolist()
        [[2.0], [5.0]]
    """
    check_choice("reduce", reduce, REDUCE)
    if not isinstance(H, HypergraphBatch):
        raise TypeError(f"H must be a HypergraphBatch; got {type(H).__name__}. Make one with hypergnn.batch([H]).")
    check_features(x, H.n_vertices, H.device)
    x = to_dense(x)
    if reduce == "max":
        member = H.vertex_member.unsqueeze(-1).expand(x.shape)  # type: ignore[union-attr]
        nothing = x.new_zeros(*x.shape[:-2], H.n_members, x.shape[-1])
        return nothing.scatter_reduce(-2, member, x, "amax", include_self=False)
    members = H.derived("members", lambda: _vertices_of_members(H))
    total = kernels.segment_sum(x, by=members)  # (..., n_members, F)
    if reduce == "sum":
        return total
    size = members.offsets.diff().to(x.dtype).clamp(min=1).unsqueeze(-1)  # (n_members, 1)
    return total / size


def _vertices_of_members(H: HypergraphBatch) -> Incidence:
    """Members × vertices; the vertices of a member stand together."""
    member, index = H.vertex_member, H.incidence.members.dtype
    numbers = torch.arange(H.n_members + 1, device=H.device)
    vertices = torch.arange(H.n_vertices + 1, device=H.device, dtype=index)
    offsets = torch.searchsorted(member, numbers).to(index)  # type: ignore[arg-type]
    return Incidence(offsets, vertices[:-1], None, vertices, member.to(index), vertices[:-1])  # type: ignore[union-attr]
