"""The hot loops: sums, inner products and softmax over groups of incidences.

Each is a torch operator of its own, so that autograd, ``torch.compile`` and ``torch.export`` treat it as one step, and
none ever holds a tensor of incidences × features. Shapes: ``x`` is ``(..., members, features)``, or
``(..., members, heads, features)`` together with values ``(..., incidences, heads)``. Values follow the canonical
order of the incidences whichever way they are grouped.

Gradients flow backwards, as often as wanted. Forward-mode derivatives (``torch.func.jvp``) are not defined for
operators of this kind: torch gives zero for them.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op

from hypergnn.incidence import Segments
from hypergnn.kernels import torch_backend as backend

__all__ = ["matmul", "seeded_dropout", "segment_softmax", "segment_sum"]


def segment_sum(x: Tensor, by: Segments, values: Tensor | None = None) -> Tensor:
    """Sum, per group, the rows of ``x`` that belong to it: a sparse matrix times ``x``.

    Args:
        x: ``(..., members, features)``, or ``(..., members, heads, features)`` if there are values.
        by: The grouping.
        values: Factor of each incidence and head, ``(..., incidences, heads)``; all ones if omitted.

    Returns:
        ``(..., groups, features)`` or ``(..., groups, heads, features)``; exactly 0 for an empty group.
    """
    wide = x.unsqueeze(-2) if values is None else x  # (..., members, heads, features)
    batch = wide.shape[:-3]
    flat_values = None
    if values is not None:
        batch = torch.broadcast_shapes(batch, values.shape[:-2])
        flat_values = values.expand(*batch, *values.shape[-2:]).reshape(prod(batch), *values.shape[-2:])
    flat = wide.expand(*batch, *wide.shape[-3:]).reshape(prod(batch), *wide.shape[-3:])
    total: Tensor = _segment_sum(flat, flat_values, *by).reshape(*batch, by.n_groups, *wide.shape[-2:])
    return total.squeeze(-2) if values is None else total


def segment_softmax(logits: Tensor, by: Segments) -> Tensor:
    """Softmax of ``logits``, ``(..., incidences, heads)``, over the incidences of each group."""
    flat = logits.reshape(prod(logits.shape[:-2]), *logits.shape[-2:])
    softmax: Tensor = _segment_softmax(flat, by.offsets, by.position)
    return softmax.reshape(logits.shape)


def matmul(x: Tensor, projection: Tensor) -> Tensor:
    """``x`` ``(trials or none, N, F)`` times ``projection`` ``(trials, F, F')``, each trial computed by itself."""
    product: Tensor = _matmul(x if x.dim() == 3 else x.unsqueeze(0), projection)
    return product


def seeded_dropout(x: Tensor, rate: float, keys: Tensor) -> Tensor:
    """Dropout of ``x`` ``(trials, ...)`` that depends on each trial's two int32 ``keys``, ``(trials, 2)``, only."""
    dropped: Tensor = _seeded_dropout(x, rate, keys)
    return dropped


@custom_op("hypergnn::segment_sum", mutates_args=())
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
    return backend.segment_sum(x, values, offsets, members, position)


@_segment_sum.register_fake
def _(x: Tensor, values: Tensor | None, offsets: Tensor, *_: Tensor | None) -> Tensor:
    return x.new_empty(x.shape[0], offsets.shape[0] - 1, *x.shape[2:])


def _save_segment_sum(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, values, *by = inputs
    x_needs_grad, values_need_grad = ctx.needs_input_grad[:2]
    ctx.save_for_backward(x if values_need_grad else None, values if x_needs_grad else None, *by)


def _backward_segment_sum(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, values, *saved = ctx.saved_tensors
    by = Segments(*saved)
    x_needs_grad, values_need_grad = ctx.needs_input_grad[:2]
    grad_x = _segment_sum(grad, values, *by.reversed()) if x_needs_grad else None
    grad_values = _incidence_dot(grad, x, *by) if values_need_grad else None
    return grad_x, grad_values, None, None, None, None, None, None


_segment_sum.register_autograd(_backward_segment_sum, setup_context=_save_segment_sum)


@custom_op("hypergnn::incidence_dot", mutates_args=())
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
    return backend.incidence_dot(rows, columns, offsets, members, position)


@_incidence_dot.register_fake
def _(rows: Tensor, columns: Tensor, offsets: Tensor, members: Tensor, *_: Tensor | None) -> Tensor:
    return rows.new_empty(rows.shape[0], members.shape[0], rows.shape[2])


def _save_inputs(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward_incidence_dot(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    rows, columns, *saved = ctx.saved_tensors
    by = Segments(*saved)
    grad_rows = _segment_sum(columns, grad, *by)
    grad_columns = _segment_sum(rows, grad, *by.reversed())
    return grad_rows, grad_columns, None, None, None, None, None, None


_incidence_dot.register_autograd(_backward_incidence_dot, setup_context=_save_inputs)


@custom_op("hypergnn::segment_softmax", mutates_args=())
def _segment_softmax(logits: Tensor, offsets: Tensor, position: Tensor | None) -> Tensor:
    return backend.segment_softmax(logits, offsets, position)


@_segment_softmax.register_fake
def _(logits: Tensor, offsets: Tensor, position: Tensor | None) -> Tensor:
    return torch.empty_like(logits, memory_format=torch.contiguous_format)


def _save_softmax(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(output, *inputs[1:])


def _backward_segment_softmax(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    softmax, offsets, position = ctx.saved_tensors
    return softmax * (grad - _segment_total(softmax * grad, offsets, position)), None, None


_segment_softmax.register_autograd(_backward_segment_softmax, setup_context=_save_softmax)


@custom_op("hypergnn::segment_total", mutates_args=())
def _segment_total(values: Tensor, offsets: Tensor, position: Tensor | None) -> Tensor:
    """For each incidence the sum of ``values`` over its group: a symmetric matrix, its own gradient."""
    return backend.segment_total(values, offsets, position)


@_segment_total.register_fake
def _(values: Tensor, offsets: Tensor, position: Tensor | None) -> Tensor:
    return torch.empty_like(values, memory_format=torch.contiguous_format)


def _save_grouping(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[1:])


def _backward_segment_total(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return _segment_total(grad, *ctx.saved_tensors), None, None


_segment_total.register_autograd(_backward_segment_total, setup_context=_save_grouping)


@custom_op("hypergnn::matmul", mutates_args=())
def _matmul(x: Tensor, projection: Tensor) -> Tensor:
    return backend.matmul(x, projection)


@_matmul.register_fake
def _(x: Tensor, projection: Tensor) -> Tensor:
    return x.new_empty(projection.shape[0], x.shape[1], projection.shape[2])


@custom_op("hypergnn::matmul_backward", mutates_args=())
def _matmul_backward(x: Tensor, grad: Tensor) -> Tensor:
    return backend.matmul_backward(x, grad)


@_matmul_backward.register_fake
def _(x: Tensor, grad: Tensor) -> Tensor:
    return x.new_empty(grad.shape[0], x.shape[2], grad.shape[2])


def _backward_matmul(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, projection = ctx.saved_tensors
    grad = grad.contiguous()
    x_needs_grad, projection_needs_grad = ctx.needs_input_grad
    grad_x = _matmul(grad, projection.transpose(1, 2)) if x_needs_grad else None
    if grad_x is not None and x.shape[0] == 1:
        grad_x = grad_x.sum(0, keepdim=True)
    return grad_x, _matmul_backward(x, grad) if projection_needs_grad else None


_matmul.register_autograd(_backward_matmul, setup_context=_save_inputs)


@custom_op("hypergnn::seeded_dropout", mutates_args=())
def _seeded_dropout(x: Tensor, rate: float, keys: Tensor) -> Tensor:
    return backend.seeded_dropout(x, rate, keys)


@_seeded_dropout.register_fake
def _(x: Tensor, rate: float, keys: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _save_keys(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, ctx.rate, keys = inputs
    ctx.save_for_backward(keys)


def _backward_seeded_dropout(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return _seeded_dropout(grad, ctx.rate, *ctx.saved_tensors), None, None


_seeded_dropout.register_autograd(_backward_seeded_dropout, setup_context=_save_keys)
