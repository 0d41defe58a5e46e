"""The elementary operators in torch operations that every transformation knows: ``torch.func`` and forward mode.

``torch.func.grad``, ``vjp``, ``jvp``, ``vmap``, ``jacrev``, ``jacfwd`` and ``hessian`` replace each operation by a rule
of its own, and compiled loops have none. While such a transformation is active, these forms compute the same. They
gather, and so hold a tensor of incidences × features: that is the price.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hypergnn.structures.incidence import Incidence


def segment_sum(x: Tensor, values: Tensor | None, by: Incidence) -> Tensor:
    """``(batch, members, heads, features)`` summed per group: ``(batch, groups, heads, features)``."""
    _, members, position = by[:3]
    gathered = x.index_select(1, members)
    if values is not None:
        own = values if position is None else values.index_select(1, position)
        gathered = gathered * own.unsqueeze(-1)
    return _sum_per_group(gathered, by)


def incidence_dot(rows: Tensor, columns: Tensor, by: Incidence) -> Tensor:
    """Inner product of both ends of each incidence: ``(batch, incidences, heads)``."""
    products = rows.index_select(1, by.rows()) * columns.index_select(1, by.members)
    return _ungrouped(products.sum(-1), by)


def segment_softmax(logits: Tensor, by: Incidence) -> Tensor:
    """Softmax within each group: ``(batch, incidences, heads)``."""
    grouped, rows = _grouped(logits, by), by.rows()
    index = rows.long().view(1, -1, 1).expand(grouped.shape)
    lowest = grouped.new_full((grouped.shape[0], by.n_rows, grouped.shape[2]), -torch.inf)
    highest = lowest.scatter_reduce(1, index, grouped.detach(), "amax")
    powers = (grouped - highest.index_select(1, rows)).exp()
    return _ungrouped(powers / _sum_per_group(powers, by).index_select(1, rows), by)


def segment_total(values: Tensor, by: Incidence) -> Tensor:
    """For each incidence, the sum of ``values`` over its group: ``(batch, incidences, heads)``."""
    return _ungrouped(_sum_per_group(_grouped(values, by), by).index_select(1, by.rows()), by)


def matmul(x: Tensor, projection: Tensor) -> Tensor:
    """``(batch or 1, rows, F)`` times ``(batch, F, F')``."""
    return x @ projection


def matmul_backward(x: Tensor, grad: Tensor) -> Tensor:
    """Gradient of :func:`matmul` for the projection: ``xᵀ grad`` for each trial."""
    return x.transpose(1, 2) @ grad


def seeded_dropout(x: Tensor, rate: float, keys: Tensor, places: Tensor | None) -> Tensor:
    """Refuse: the dropout of trials is drawn from counters, which no transformation sees."""
    raise RuntimeError(
        "dropout of seeded trials cannot be transformed by torch.func or forward-mode derivatives: call eval() first."
    )


def _grouped(values: Tensor, by: Incidence) -> Tensor:
    return values if by.position is None else values.index_select(1, by.position)


def _ungrouped(grouped: Tensor, by: Incidence) -> Tensor:
    return grouped if by.position is None else grouped.index_select(1, by.position.argsort())


def _sum_per_group(gathered: Tensor, by: Incidence) -> Tensor:
    """Sums of ``(batch, pairs, ...)``, in grouped order, over each group: ``(batch, groups, ...)``."""
    zeros = gathered.new_zeros(gathered.shape[0], by.n_rows, *gathered.shape[2:])
    return zeros.index_add(1, by.rows(), gathered)
