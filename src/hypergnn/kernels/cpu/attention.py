"""What the compiled backend does for each incidence and head: softmax, inner products, sums of values, gradients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hypergnn.kernels.cpu import attention_loops, dot_loops, pointwise_loops, threads
from hypergnn.kernels.cpu.buffers import array_of, ids_of, index_of, new
from hypergnn.structures.incidence import Incidence


def incidence_dot(rows: Tensor, columns: Tensor, by: Incidence) -> Tensor:
    """Inner product of both ends of each incidence: ``(batch, incidences, heads)``."""
    offsets, members, position = by[:3]
    n_heads = rows.shape[2]
    out = new(rows, rows.shape[0], members.shape[0], n_heads)
    ends = (array_of(rows.flatten(2)), array_of(columns.flatten(2)))
    grouping = (ids_of(offsets), ids_of(members), index_of(position))
    threads.by_group(
        dot_loops.incidence_dots, offsets, out.numel() * rows.shape[3], *ends, *grouping, n_heads, array_of(out)
    )
    return out


def row_dots(x: Tensor, y: Tensor) -> Tensor:
    """Inner products of the rows of ``(batch, n, heads, features)`` and the same: ``(batch, n, heads)``."""
    out = new(x, *x.shape[:3])
    arrays = (array_of(x.flatten(2)), array_of(y.flatten(2)), x.shape[2], array_of(out))
    threads.by_range(dot_loops.row_dots, x.shape[1], x.numel(), *arrays)
    return out


def sum_values(values: Tensor, weight: Tensor | None, by: Incidence) -> Tensor:
    """``Σ weight_m values_p`` of each group, ``(batch, groups, heads)``; weight ``(batch, members, heads)``."""
    offsets, members, position = by[:3]
    out = new(values, values.shape[0], offsets.shape[0] - 1, values.shape[2])
    factors = np.empty((0, 0, 0), array_of(values).dtype) if weight is None else array_of(weight)
    grouping = (ids_of(offsets), ids_of(members), index_of(position))
    threads.by_group(
        attention_loops.sum_values, offsets, values.numel(), array_of(values), factors, *grouping, array_of(out)
    )
    return out


def value_sums(values: Tensor, weight: Tensor | None, by: Incidence) -> Tensor:
    """:func:`sum_values` with weights that heads share, ``(batch or 1, members)``."""
    batch, _, n_heads = values.shape
    return sum_values(values, None if weight is None else weight.unsqueeze(-1).expand(batch, -1, n_heads), by)


def spread(grad: Tensor, weight: Tensor | None, by: Incidence) -> Tensor:
    """Gradient of :func:`value_sums` for the values, ``(batch, incidences, heads)``; trials share the weights."""
    offsets, members, position = by[:3]
    out, grads = new(grad, grad.shape[0], members.shape[0], grad.shape[2]), array_of(grad)
    factors = np.empty(0, grads.dtype) if weight is None else array_of(weight[0])
    arrays = (grads, factors, ids_of(offsets), ids_of(members), index_of(position), array_of(out))
    threads.by_group(attention_loops.spread, offsets, out.numel(), *arrays)
    return out


def scale_rows(x: Tensor, factor: Tensor | None) -> Tensor:
    """``x`` ``(batch, n, heads, features)`` times ``factor`` ``(batch or 1, n, heads or 1)``."""
    if factor is None:
        return x
    out = new(x, *x.shape)
    rows, scaled = (array_of(one).reshape(x.shape[0], x.shape[1], x.shape[2] * x.shape[3]) for one in (x, out))
    threads.by_range(attention_loops.scale_rows, rows.shape[1], rows.size, rows, array_of(factor), scaled)
    return out


def segment_softmax(logits: Tensor, by: Incidence) -> Tensor:
    """Softmax within each group: ``(batch, incidences, heads)``."""
    offsets, _, position = by[:3]
    out = new(logits, *logits.shape)
    arrays = (array_of(logits), ids_of(offsets), index_of(position), array_of(out))
    threads.by_group(pointwise_loops.softmax, offsets, 8 * out.numel(), *arrays)
    return out


def segment_total(values: Tensor, by: Incidence) -> Tensor:
    """For each incidence the sum of ``values`` over its group: ``(batch, incidences, heads)``."""
    offsets, _, position = by[:3]
    out = new(values, *values.shape)
    threads.by_group(
        pointwise_loops.totals,
        offsets,
        out.numel(),
        array_of(values),
        ids_of(offsets),
        index_of(position),
        array_of(out),
    )
    return out


def transition_gradients(
    grad: Tensor,
    x: Tensor,
    sums: Tensor,
    back: Tensor,
    values: Tensor | None,
    scalings: Sequence[Tensor],
    by: Incidence,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of a transition for its values, and for what scales the vertices after it and before it."""
    offsets, members, _ = by[:3]
    batch, _, n_heads, _ = x.shape
    wide = [array_of(one.flatten(2)) for one in (grad, x, sums, back)]
    given = np.empty((0, 0, 0), wide[0].dtype) if values is None else array_of(values)
    out = [new(x, batch, n, n_heads) for n in (0 if values is None else members.shape[0], x.shape[1], x.shape[1])]
    factors = [array_of(one.expand(-1, -1, n_heads)) for one in scalings]
    arrays = (*wide, given, *factors, ids_of(offsets), ids_of(members), n_heads, *map(array_of, out))
    threads.by_group(
        dot_loops.transition_gradients, offsets, 2 * members.shape[0] * batch * n_heads * x.shape[3], *arrays
    )
    return out[0], out[1], out[2]


def attend(ours: Tensor, theirs: Tensor, slope: float, by: Incidence) -> Tensor:
    """Softmax per group of LeakyReLU of the sum of both ends' scores: ``(batch, incidences, heads)``."""
    offsets, members, position = by[:3]
    out = new(ours, ours.shape[0], members.shape[0], ours.shape[2])
    scores = (array_of(ours), array_of(theirs), array_of(ours).dtype.type(slope))
    grouping = (ids_of(offsets), ids_of(members), index_of(position))
    threads.by_group(attention_loops.attend, offsets, 8 * out.numel(), *scores, *grouping, array_of(out))
    return out


def attend_gradients(
    grad: Tensor, softmax: Tensor, ours: Tensor, theirs: Tensor, slope: float, by: Incidence
) -> tuple[Tensor, Tensor]:
    """Gradients of :func:`attend` for the scores of groups and members."""
    offsets, members, position = by[:3]
    change, own = new(softmax, *softmax.shape), new(ours, *ours.shape)
    scores = (array_of(ours), array_of(theirs), array_of(ours).dtype.type(slope))
    grouping = (ids_of(offsets), ids_of(members), index_of(position))
    arrays = (array_of(grad), array_of(softmax), *scores, *grouping, array_of(change), array_of(own))
    threads.by_group(attention_loops.attend_gradient, offsets, 4 * grad.numel(), *arrays)
    return own, sum_values(change, None, by.T)


def head_scores(x: Tensor, vectors: Tensor) -> Tensor:
    """Inner products per head: ``(k, batch, n, heads)`` from ``(batch, n, heads, F)`` and ``(batch, k, heads, F)``."""
    out = new(x, vectors.shape[1], *x.shape[:3])
    arrays = (array_of(x.flatten(2)), array_of(vectors.flatten(2)), x.shape[3], array_of(out))
    threads.by_range(pointwise_loops.head_scores, x.shape[1], out.numel() * x.shape[3], *arrays)
    return out


def head_scores_gradients(grad: Tensor, x: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of :func:`head_scores` for both."""
    grad_x = new(x, *x.shape)
    blocks = -(-x.shape[1] // pointwise_loops.BLOCK)
    parts = np.empty((x.shape[0], blocks, vectors.shape[1], x.shape[2] * x.shape[3]), array_of(x).dtype)
    arrays = (
        array_of(grad),
        array_of(x.flatten(2)),
        array_of(vectors.flatten(2)),
        x.shape[3],
        array_of(grad_x.flatten(2)),
    )
    threads.by_range(pointwise_loops.head_scores_gradient, blocks, 4 * grad.numel() * x.shape[3], *arrays, parts)
    return grad_x, torch.from_numpy(parts.sum(1)).reshape(vectors.shape)
