"""The elementary operators: sums, inner products and softmax over groups, products of trials, dropout.

Shapes: ``x`` ``(batch, members, heads, features)``, values ``(batch, incidences, heads)``. Gradients flow backwards as
often as wanted, since each gradient is made of these operators again.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hypergnn.kernels.dispatch import backend_for
from hypergnn.kernels.operator import Operator
from hypergnn.structures.incidence import Segments


def _segment_sum(
    x: Tensor,
    values: Tensor | None,
    offsets: Tensor,
    members: Tensor,
    position: Tensor | None,
    back_offsets: Tensor,
    back_members: Tensor,
    back_position: Tensor | None,
) -> Tensor:
    return backend_for(x).segment_sum(x, values, offsets, members, position)


def _fake_segment_sum(x: Tensor, values: Tensor | None, offsets: Tensor, *_: Tensor | None) -> Tensor:
    return x.new_empty(x.shape[0], offsets.shape[0] - 1, *x.shape[2:])


def _save_segment_sum(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, values, *by = inputs
    x_needs_grad, values_need_grad = ctx.needs_input_grad[:2]
    ctx.values_are_shared = values is not None and values.shape[0] < x.shape[0]
    ctx.save_for_backward(x if values_need_grad else None, values if x_needs_grad else None, *by)


def _backward_segment_sum(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, values, *saved = ctx.saved_tensors
    by = Segments(*saved)
    x_needs_grad, values_need_grad = ctx.needs_input_grad[:2]
    grad_x = segment_sum(grad, values, *by.reversed()) if x_needs_grad else None
    grad_values = incidence_dot(grad, x, *by) if values_need_grad else None
    if grad_values is not None and ctx.values_are_shared:
        grad_values = grad_values.sum(0, keepdim=True)
    return grad_x, grad_values, None, None, None, None, None, None


segment_sum = Operator("segment_sum", _segment_sum, _fake_segment_sum, _save_segment_sum, _backward_segment_sum)
"""Rows of ``x`` summed per group, each incidence times its value: a sparse matrix times ``x``."""


def _incidence_dot(
    rows: Tensor,
    columns: Tensor,
    offsets: Tensor,
    members: Tensor,
    position: Tensor | None,
    back_offsets: Tensor,
    back_members: Tensor,
    back_position: Tensor | None,
) -> Tensor:
    return backend_for(rows).incidence_dot(rows, columns, offsets, members, position)


def _fake_incidence_dot(rows: Tensor, columns: Tensor, offsets: Tensor, members: Tensor, *_: Tensor | None) -> Tensor:
    return rows.new_empty(rows.shape[0], members.shape[0], rows.shape[2])


def _save_inputs(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward_incidence_dot(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    rows, columns, *saved = ctx.saved_tensors
    by = Segments(*saved)
    grad_rows = segment_sum(columns, grad, *by)
    grad_columns = segment_sum(rows, grad, *by.reversed())
    return grad_rows, grad_columns, None, None, None, None, None, None


incidence_dot = Operator("incidence_dot", _incidence_dot, _fake_incidence_dot, _save_inputs, _backward_incidence_dot)
"""Inner product of both ends of each incidence."""


def _segment_softmax(logits: Tensor, offsets: Tensor, position: Tensor | None) -> Tensor:
    return backend_for(logits).segment_softmax(logits, offsets, position)


def _fake_like(values: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(values, memory_format=torch.contiguous_format)


def _save_softmax(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(output, *inputs[1:])


def _backward_segment_softmax(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    softmax, offsets, position = ctx.saved_tensors
    return softmax * (grad - segment_total(softmax * grad, offsets, position)), None, None


segment_softmax = Operator("segment_softmax", _segment_softmax, _fake_like, _save_softmax, _backward_segment_softmax)
"""Softmax within each group."""


def _segment_total(values: Tensor, offsets: Tensor, position: Tensor | None) -> Tensor:
    return backend_for(values).segment_total(values, offsets, position)


def _save_grouping(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[1:])


def _backward_segment_total(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return segment_total(grad, *ctx.saved_tensors), None, None


segment_total = Operator("segment_total", _segment_total, _fake_like, _save_grouping, _backward_segment_total)
"""For each incidence the sum of values over its group: a symmetric matrix, its own gradient."""


def _matmul(x: Tensor, projection: Tensor) -> Tensor:
    return backend_for(x).matmul(x, projection)


def _fake_matmul(x: Tensor, projection: Tensor) -> Tensor:
    return x.new_empty(projection.shape[0], x.shape[1], projection.shape[2])


def _matmul_backward(x: Tensor, grad: Tensor) -> Tensor:
    return backend_for(x).matmul_backward(x, grad)


def _fake_matmul_backward(x: Tensor, grad: Tensor) -> Tensor:
    return x.new_empty(grad.shape[0], x.shape[2], grad.shape[2])


def _backward_matmul(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, projection = ctx.saved_tensors
    grad = grad.contiguous()
    x_needs_grad, projection_needs_grad = ctx.needs_input_grad
    grad_x = _like(matmul(grad, projection.transpose(1, 2)), x) if x_needs_grad else None
    return grad_x, matmul_backward(x, grad) if projection_needs_grad else None


def _like(grad: Tensor, x: Tensor) -> Tensor:
    """The gradient for an ``x`` that all trials may share."""
    return grad.sum(0, keepdim=True) if x.shape[0] < grad.shape[0] else grad


def _backward_matmul_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, outer = ctx.saved_tensors
    return _like(matmul(outer, grad.transpose(1, 2)), x), matmul(x, grad)


matmul = Operator("matmul", _matmul, _fake_matmul, _save_inputs, _backward_matmul)
"""``(batch or 1, rows, F)`` times ``(batch, F, F')``, each trial computed by itself."""
matmul_backward = Operator(
    "matmul_backward", _matmul_backward, _fake_matmul_backward, _save_inputs, _backward_matmul_backward
)
"""Gradient of :data:`matmul` for its second factor."""


def _seeded_dropout(x: Tensor, rate: float, keys: Tensor, places: Tensor | None) -> Tensor:
    return backend_for(x).seeded_dropout(x, rate, keys, places)


def _save_keys(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, ctx.rate, keys, places = inputs
    ctx.save_for_backward(keys, places)


def _backward_seeded_dropout(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return seeded_dropout(grad, ctx.rate, *ctx.saved_tensors), None, None, None


seeded_dropout = Operator("seeded_dropout", _seeded_dropout, _fake_like, _save_keys, _backward_seeded_dropout)
"""Dropout that is a function of two keys per trial."""
