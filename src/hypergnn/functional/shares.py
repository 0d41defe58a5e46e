r"""Row-normalised attention in shares, which neither vanish nor overflow however small the attention is.

    D_ii^-1 H_ie W_e = share of e among the hyperedges of i = softmax_e (log H_ie + log W_e)

A vertex that all of its hyperedges attend to very little has a degree ``D_ii`` that rounds to 0, but its shares are
ordinary numbers: only the ratios of its attention count. They are taken of the logarithms where these are known, and
else of the attention divided by the largest of its row.
"""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from hypergnn import kernels
from hypergnn.functional.convolution import inverse, sizes
from hypergnn.structures.base import Parts, TwoSided
from hypergnn.structures.incidence import Incidence


def shares_over_vertices(
    vertex_score: Tensor,
    hyperedge_score: Tensor,
    pairs: Incidence,
    weight: Tensor,
    negative_slope: float,
    parts: Parts | None = None,
) -> Tensor:
    """``D^-1 H W`` of the attention that is a softmax over the vertices of each hyperedge, ``(..., n_pairs, heads)``.

    Args:
        vertex_score: Of each vertex, ``(..., N, heads)``.
        hyperedge_score: Of each hyperedge, ``(..., M, heads)``.
        pairs: Vertices × hyperedges.
        weight: Of each hyperedge, ``(M,)``.
        negative_slope: Slope of LeakyReLU below 0.
        parts: If other processes hold some of the vertices.
    """
    logarithm = _logarithms(vertex_score, hyperedge_score, pairs, negative_slope, parts)  # log H_ie
    logs = weight.log().to(logarithm.dtype).index_select(0, pairs.members).unsqueeze(-1)  # log W_e  (n_pairs, 1)
    return kernels.segment_softmax(logarithm + logs, pairs)


def attend_in_parts(
    vertex_score: Tensor, hyperedge_score: Tensor, pairs: Incidence, negative_slope: float, parts: Parts
) -> Tensor:
    """Softmax over the vertices of each hyperedge, some of which other processes hold, ``(..., n_pairs, heads)``."""
    return _logarithms(vertex_score, hyperedge_score, pairs, negative_slope, parts).exp()


def _logarithms(
    vertex_score: Tensor, hyperedge_score: Tensor, pairs: Incidence, negative_slope: float, parts: Parts | None
) -> Tensor:
    """Logarithms of the softmax over the vertices of each hyperedge, ``(..., n_pairs, heads)``."""
    rows, members = pairs.rows(), pairs.members
    scores = vertex_score.index_select(-2, rows) + hyperedge_score.index_select(-2, members)
    scores = leaky_relu(scores, negative_slope)  # (..., n_pairs, heads)
    highest = _largest(scores, members, pairs.n_columns, parts)  # (..., M, heads)
    powers = (scores - highest.index_select(-2, members)).exp()
    sums = kernels.total(kernels.value_sums(powers, pairs.T), parts).clamp(min=1)  # at least 1 where there are members
    return scores - (highest + sums.log()).index_select(-2, members)


def transition_by_shares(x: Tensor, H: TwoSided, incidence: Tensor, shares: Tensor) -> Tensor:
    """``shares · incidenceᵀ x``, ``(..., N, heads, F')``; for a block, a row per vertex that it makes."""
    if not H.shares_pairs:
        return kernels.transition(x, H.senders, H.receivers, values=incidence, receiver_values=shares, parts=H.parts)
    out = kernels.transition(x, H.senders, H.senders, values=incidence, receiver_values=shares, parts=H.parts)
    return out if H.rows is None else out.index_select(-3, H.rows)


def row_transition(x: Tensor, H: TwoSided, incidence: Tensor, weight: Tensor, dropped: Tensor | None) -> Tensor:
    """``D^-1 H W B^-1 Hᵀ x`` with any incidence, however small or large its entries are.

    Each factor ``H`` is divided by the largest entry of its row or column, and so is the degree that divides it.

    Args:
        x: Projected vertex features, ``(..., N, heads, F')``.
        H: The hypergraph, or a block of one.
        incidence: Attended incidence, ``(..., n_pairs, heads)``.
        weight: Hyperedge weights, ``(..., M)``.
        dropped: The incidence after dropout.
    """
    rows, members = H.senders.rows(), H.senders.members
    by_row = _reciprocal(_largest(incidence, rows, H.n_vertices)).index_select(-2, rows)
    by_column = _reciprocal(_largest(incidence, members, H.n_hyperedges, H.parts)).index_select(-2, members)
    weights = weight.index_select(-1, members).unsqueeze(-1)  # W_e  (..., n_pairs, 1)
    again = _reciprocal(_largest(incidence * by_row * weights, rows, H.n_vertices)).index_select(-2, rows)

    def weighted(entries: Tensor) -> Tensor:
        return entries * by_row * weights * again

    size = sizes(incidence * by_column, H)  # B, relative  (..., M, heads)
    degree = kernels.value_sums(weighted(incidence), H.senders)  # D, relative  (..., N, heads)
    entries = incidence if dropped is None else dropped
    values = {"values": entries * by_column, "receiver_values": weighted(entries)}
    scaled = {"left": inverse(degree), "middle": inverse(size)}
    out = kernels.transition(x, H.senders, H.senders, **scaled, **values, parts=H.parts)
    return out if H.rows is None else out.index_select(-3, H.rows)


def _largest(values: Tensor, groups: Tensor, size: int, parts: Parts | None = None) -> Tensor:
    """The largest value of each group, ``(..., size, heads)``, as a constant; -inf for a group without values."""
    index = groups.long().unsqueeze(-1).expand(values.shape)
    lowest = values.new_full((*values.shape[:-2], size, values.shape[-1]), -torch.inf)
    highest = lowest.scatter_reduce(-2, index, values.detach(), "amax")
    if parts is None:
        return highest
    return parts.highest(highest.reshape(prod(highest.shape[:-2]), *highest.shape[-2:])).view(highest.shape)


def _reciprocal(largest: Tensor) -> Tensor:
    return largest.clamp(min=torch.finfo(largest.dtype).tiny).reciprocal()
