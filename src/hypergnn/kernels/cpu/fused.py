"""Operators that do several steps at once, for the compiled backend; :mod:`hypergnn.kernels.composed` says which.

A gradient of a gradient is taken of the composed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from hypergnn.kernels import composed, ops
from hypergnn.kernels.cpu import backend
from hypergnn.kernels.cpu.arrays import Grouping
from hypergnn.kernels.operator import Operator
from hypergnn.structures.incidence import Segments


def _again(form: Callable[..., Tensor], inputs: Sequence[Any], needed: Sequence[bool], grad: Tensor) -> list[Any]:
    """The gradient by a differentiable way: that of the composed form."""
    with torch.enable_grad():
        own = [one.view_as(one) if need else one for one, need in zip(inputs, needed, strict=True)]
        wanted = [one for one, need in zip(own, needed, strict=True) if need]
        found = iter(torch.autograd.grad(form(*own), wanted, grad, create_graph=True, allow_unused=True))
    return [next(found) if need else None for need in needed]


def _dropped_sum(
    x: Tensor,
    values: Tensor,
    keys: Tensor,
    rate: float,
    offsets: Tensor,
    members: Tensor,
    position: Tensor | None,
    back_offsets: Tensor,
    back_members: Tensor,
    back_position: Tensor | None,
) -> Tensor:
    there, back = (offsets, members, position), (back_offsets, back_members, back_position)
    return backend.dropped_sum(x, there, back, values, rate, keys)


def _fake_dropped_sum(x: Tensor, values: Tensor, keys: Tensor, rate: float, offsets: Tensor, *_: Any) -> Tensor:
    return x.new_empty(x.shape[0], offsets.shape[0] - 1, x.shape[2])


def _save_dropped_sum(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, values, keys, ctx.rate, *by = inputs
    ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, values, keys, *by)


def _backward_dropped_sum(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, values, keys, *saved = ctx.saved_tensors
    by = Segments(*saved)
    grad_x = dropped_sum(grad, values, keys, ctx.rate, *by.reversed()) if ctx.needs_input_grad[0] else None
    grad_values = None
    if ctx.needs_input_grad[1]:
        dots = ops.incidence_dot(grad.unsqueeze(2), x.unsqueeze(2), *by).squeeze(2)
        grad_values = ops.seeded_dropout(dots, ctx.rate, keys, None).sum(0)
    return grad_x, grad_values, *[None] * 8


dropped_sum = Operator("dropped_sum", _dropped_sum, _fake_dropped_sum, _save_dropped_sum, _backward_dropped_sum)


def _gather(
    x: Tensor,
    by: Grouping,
    back: Grouping,
    values: Tensor | None,
    inner: Tensor | None,
) -> Tensor:
    if values is not None and inner is not None:
        x, inner = backend.scale_rows(x, inner), None
    return backend.gather(x, by, values, back=back, inner=inner)


def _transition(
    x: Tensor,
    left: Tensor | None,
    middle: Tensor | None,
    right: Tensor | None,
    values: Tensor | None,
    keep: bool,
    offsets: Tensor,
    members: Tensor,
    position: Tensor | None,
    back_offsets: Tensor,
    back_members: Tensor,
    back_position: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """The outcome, and the sums of the hyperedges if they are to be kept for the gradient."""
    there, back = (offsets, members, position), (back_offsets, back_members, back_position)
    if not keep:
        if values is not None and right is not None:
            x, right = backend.scale_rows(x, right), None
        return backend.transition(x, there, back, values, left, middle, right), x.new_empty(0)
    sums = _gather(x, there, back, values, right)
    scaled = backend.scale_rows(sums, middle)
    return backend.gather(scaled, back, values, back=there, outer=left), sums


def _fake_transition(
    x: Tensor,
    left: Tensor | None,
    middle: Tensor | None,
    right: Tensor | None,
    values: Tensor | None,
    keep: bool,
    offsets: Tensor,
    *_: Tensor | None,
) -> tuple[Tensor, Tensor]:
    kept = (x.shape[0], offsets.shape[0] - 1, *x.shape[2:]) if keep else (0,)
    return torch.empty_like(x, memory_format=torch.contiguous_format), x.new_empty(kept)


def _save_transition(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    x, left, middle, right, values, ctx.keep, *by = inputs
    ctx.save_for_backward(x if ctx.keep else None, left, middle, right, values, output[1], *by)
    ctx.set_materialize_grads(False)


def _backward_transition(ctx: Any, grad: Tensor | None, _: Tensor | None) -> tuple[Tensor | None, ...]:
    x, left, middle, right, values, sums, *saved = ctx.saved_tensors
    by, needed, nothing = Segments(*saved), ctx.needs_input_grad[:5], [None] * 7
    if grad is None:
        return *[None] * 5, *nothing
    if not ctx.keep:  # T x with a fixed T: the gradient is that of its transpose
        return transition(grad, right, middle, left, values, False, *by)[0], *[None] * 4, *nothing
    if torch.is_grad_enabled():
        inputs = (x, left, middle, right, values)
        return *_again(lambda *given: composed.transition(*given, True, *by)[0], inputs, needed, grad), *nothing
    found = transition_gradients(grad, x, left, middle, right, values, sums, *by)
    return *[one if need else None for one, need in zip(found, needed, strict=True)], *nothing


def _transition_gradients(
    grad: Tensor,
    x: Tensor,
    left: Tensor | None,
    middle: Tensor | None,
    right: Tensor | None,
    values: Tensor | None,
    sums: Tensor,
    offsets: Tensor,
    members: Tensor,
    position: Tensor | None,
    back_offsets: Tensor,
    back_members: Tensor,
    back_position: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    there, back = (offsets, members, position), (back_offsets, back_members, back_position)
    back_sums = _gather(grad, there, back, values, left)  # (batch, M, heads, F)
    scaled = backend.scale_rows(back_sums, middle)
    grad_x = backend.gather(scaled, back, values, back=there, outer=right)
    n, m = x.shape[1], sums.shape[1]
    scalings = [x.new_ones(1, k, 1) if one is None else one for one, k in ((left, n), (middle, m), (right, n))]
    by_value, by_left, by_right = backend.transition_gradients(grad, x, sums, back_sums, values, scalings, back)
    by_middle = backend.row_dots(sums, back_sums)
    return grad_x, _like(by_left, left), _like(by_middle, middle), _like(by_right, right), _like(by_value, values)


def _like(grad: Tensor, given: Tensor | None) -> Tensor:
    """The gradient summed over what ``given`` was shared by: trials, heads."""
    return grad.new_empty(0) if given is None else grad.sum_to_size(given.shape)


def _fake_transition_gradients(grad: Tensor, *inputs: Tensor | None) -> tuple[Tensor, ...]:
    return tuple(grad.new_empty(0 if one is None else one.shape) for one in inputs[:5])


transition_gradients = Operator("transition_gradients", _transition_gradients, _fake_transition_gradients)
transition = Operator("transition", _transition, _fake_transition, _save_transition, _backward_transition)


def _value_sums(
    values: Tensor,
    weight: Tensor | None,
    offsets: Tensor,
    members: Tensor,
    position: Tensor | None,
    back_offsets: Tensor,
    back_members: Tensor,
    back_position: Tensor | None,
) -> Tensor:
    return backend.value_sums(values, weight, (offsets, members, position))


def _fake_value_sums(values: Tensor, weight: Tensor | None, offsets: Tensor, *_: Any) -> Tensor:
    return values.new_empty(values.shape[0], offsets.shape[0] - 1, values.shape[2])


def _save_value_sums(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward_value_sums(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    values, weight, *by = ctx.saved_tensors
    needed = ctx.needs_input_grad[:2]
    if torch.is_grad_enabled() or needed[1]:
        found = _again(lambda *given: composed.value_sums(*given, *by), (values, weight), needed, grad)
        return *found, *[None] * 6
    return spread(grad, weight, *by), *[None] * 7


def _spread(
    grad: Tensor,
    weight: Tensor | None,
    offsets: Tensor,
    members: Tensor,
    position: Tensor | None,
    back_offsets: Tensor,
    back_members: Tensor,
    back_position: Tensor | None,
) -> Tensor:
    return backend.spread(grad, weight, (offsets, members, position))


def _fake_spread(grad: Tensor, weight: Tensor | None, offsets: Tensor, members: Tensor, *_: Any) -> Tensor:
    return grad.new_empty(grad.shape[0], members.shape[0], grad.shape[2])


spread = Operator("spread", _spread, _fake_spread)
value_sums = Operator("value_sums", _value_sums, _fake_value_sums, _save_value_sums, _backward_value_sums)


def _inverse(degree: Tensor, root: bool, least: float) -> Tensor:
    return backend.inverse(degree, root, least)


def _fake_inverse(degree: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(degree, memory_format=torch.contiguous_format)


def _save_inverse(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, ctx.root, _ = inputs
    ctx.save_for_backward(output)


def _backward_inverse(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    (output,) = ctx.saved_tensors
    if torch.is_grad_enabled():
        slope = -0.5 * output**3 if ctx.root else -(output**2)
        return grad * slope, None, None
    return inverse_gradient(grad, output, ctx.root), None, None


def _inverse_gradient(grad: Tensor, output: Tensor, root: bool) -> Tensor:
    return backend.inverse_gradient(grad, output, root)


inverse_gradient = Operator("inverse_gradient", _inverse_gradient, _fake_inverse)
inverse = Operator("inverse", _inverse, _fake_inverse, _save_inverse, _backward_inverse)


def _attend(
    ours: Tensor,
    theirs: Tensor,
    slope: float,
    offsets: Tensor,
    members: Tensor,
    position: Tensor | None,
    back_offsets: Tensor,
    back_members: Tensor,
    back_position: Tensor | None,
) -> Tensor:
    return backend.attend(ours, theirs, slope, (offsets, members, position))


def _fake_attend(ours: Tensor, theirs: Tensor, slope: float, offsets: Tensor, members: Tensor, *_: Any) -> Tensor:
    return ours.new_empty(ours.shape[0], members.shape[0], ours.shape[2])


def _save_attend(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ours, theirs, ctx.slope, *by = inputs
    ctx.save_for_backward(output, ours, theirs, *by)


def _backward_attend(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    softmax, ours, theirs, *saved = ctx.saved_tensors
    by, needed = Segments(*saved), ctx.needs_input_grad[:2]
    if torch.is_grad_enabled():
        inputs = (ours, theirs)
        found = _again(lambda *given: composed.attend(*given, ctx.slope, *by), inputs, needed, grad)
        return *found, *[None] * 7
    return *attend_gradients(grad, softmax, ours, theirs, ctx.slope, *by), *[None] * 7


def _attend_gradients(
    grad: Tensor,
    softmax: Tensor,
    ours: Tensor,
    theirs: Tensor,
    slope: float,
    offsets: Tensor,
    members: Tensor,
    position: Tensor | None,
    back_offsets: Tensor,
    back_members: Tensor,
    back_position: Tensor | None,
) -> tuple[Tensor, Tensor]:
    there, back = (offsets, members, position), (back_offsets, back_members, back_position)
    return backend.attend_gradients(grad, softmax, ours, theirs, slope, there, back)


def _fake_attend_gradients(
    grad: Tensor, softmax: Tensor, ours: Tensor, theirs: Tensor, *_: Any
) -> tuple[Tensor, Tensor]:
    return ours.new_empty(ours.shape), theirs.new_empty(theirs.shape)


attend_gradients = Operator("attend_gradients", _attend_gradients, _fake_attend_gradients)


attend = Operator("attend", _attend, _fake_attend, _save_attend, _backward_attend)


def _head_scores(x: Tensor, vectors: Tensor) -> Tensor:
    return backend.head_scores(x, vectors)


def _fake_head_scores(x: Tensor, vectors: Tensor) -> Tensor:
    return x.new_empty(vectors.shape[1], *x.shape[:3])


def _save_head_scores(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward_head_scores(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    if torch.is_grad_enabled():
        return tuple(_again(composed.head_scores, ctx.saved_tensors, ctx.needs_input_grad, grad))
    grads: tuple[Tensor, Tensor] = head_scores_gradients(grad, *ctx.saved_tensors)
    return grads


def _head_scores_gradients(grad: Tensor, x: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    return backend.head_scores_gradients(grad, x, vectors)


def _fake_head_scores_gradients(grad: Tensor, x: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), vectors.new_empty(vectors.shape)


head_scores_gradients = Operator("head_scores_gradients", _head_scores_gradients, _fake_head_scores_gradients)


head_scores = Operator("head_scores", _head_scores, _fake_head_scores, _save_head_scores, _backward_head_scores)


def _fake_elu_dropout(x: Tensor, *given: Any) -> Tensor:
    rows = given[-1]
    return x.new_empty(*x.shape[:-2], x.shape[-2] if rows is None else rows.shape[0], x.shape[-1])


def _save_elu_dropout(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, bias, ctx.rate, keys, places, rows = inputs
    ctx.save_for_backward(output, keys, places, rows)
    ctx.has_bias, ctx.n_rows = bias is not None, x.shape[-2]


def _backward_elu_dropout(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    output, keys, places, rows = ctx.saved_tensors
    if not torch.is_grad_enabled():
        drawing = (ctx.rate, keys, places)
        grad_x, grad_bias = elu_dropout_gradient(grad, output, ctx.has_bias, *drawing, rows, ctx.n_rows)
    else:
        dropped = grad if keys is None else ops.seeded_dropout(grad, ctx.rate, keys, places)
        grad_x = dropped * (1 + (1 - ctx.rate) * output.clamp(max=0))
        grad_bias = grad_x.flatten(1, -2).sum(1) if grad_x.dim() > 2 else grad_x.sum(0)
        if rows is not None:
            whole = grad_x.new_zeros(*grad_x.shape[:-2], ctx.n_rows, grad_x.shape[-1])
            grad_x = whole.index_copy(-2, rows.long(), grad_x)
    return grad_x, grad_bias if ctx.has_bias else None, None, None, None, None


def _fake_elu_dropout_gradient(grad: Tensor, y: Tensor, has_bias: bool, *given: Any) -> tuple[Tensor, Tensor]:
    n_rows, width = given[-1], y.shape[-1] if has_bias else 0
    for_bias = y.new_empty(*y.shape[:1] if y.dim() > 2 else (), width)
    return y.new_empty(*y.shape[:-2], n_rows, y.shape[-1]), for_bias


elu_dropout_gradient = Operator("elu_dropout_gradient", backend.elu_dropout_gradient, _fake_elu_dropout_gradient)
elu_dropout = Operator("elu_dropout", backend.elu_dropout, _fake_elu_dropout, _save_elu_dropout, _backward_elu_dropout)


def _cross_entropy(scores: Tensor, classes: Tensor, rows: Tensor) -> Tensor:
    return backend.cross_entropy(scores, classes, rows)


def _fake_cross_entropy(scores: Tensor, classes: Tensor, rows: Tensor) -> Tensor:
    return scores.new_empty(scores.shape[0])


def _save_cross_entropy(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward_cross_entropy(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    if torch.is_grad_enabled():
        return tuple(_again(composed.cross_entropy, ctx.saved_tensors, ctx.needs_input_grad, grad))
    return cross_entropy_gradient(grad, *ctx.saved_tensors), None, None


def _cross_entropy_gradient(grad: Tensor, scores: Tensor, classes: Tensor, rows: Tensor) -> Tensor:
    return backend.cross_entropy_gradient(grad, scores, classes, rows)


def _fake_cross_entropy_gradient(grad: Tensor, scores: Tensor, *_: Tensor) -> Tensor:
    return scores.new_empty(scores.shape)


cross_entropy_gradient = Operator("cross_entropy_gradient", _cross_entropy_gradient, _fake_cross_entropy_gradient)
cross_entropy = Operator(
    "cross_entropy", _cross_entropy, _fake_cross_entropy, _save_cross_entropy, _backward_cross_entropy
)
