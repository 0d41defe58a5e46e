"""Operators that do several steps at once, for the compiled backend; :mod:`hypergnn.kernels.composed` says which.

A gradient of a gradient, and whatever ``torch.func`` transforms, is taken of the composed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from hypergnn.kernels import composed, ops
from hypergnn.kernels.cpu import backend
from hypergnn.kernels.ops import Operator
from hypergnn.structures.incidence import Incidence


def _again(form: Callable[..., Tensor], inputs: Sequence[Any], needed: Sequence[bool], grad: Tensor) -> list[Any]:
    """The gradient by a differentiable way: that of the composed form."""
    with torch.enable_grad():
        own = [one.view_as(one) if need else one for one, need in zip(inputs, needed, strict=True)]
        wanted = [one for one, need in zip(own, needed, strict=True) if need]
        found = iter(torch.autograd.grad(form(*own), wanted, grad, create_graph=True, allow_unused=True))
    return [next(found) if need else None for need in needed]


def _dropped_sum(x: Tensor, values: Tensor, keys: Tensor, rate: float, by: Incidence) -> Tensor:
    return backend.dropped_sum(x, by, values, rate, keys)


def _fake_dropped_sum(x: Tensor, values: Tensor, keys: Tensor, rate: float, by: Incidence) -> Tensor:
    return x.new_empty(x.shape[0], by.n_rows, x.shape[2])


def _save_dropped_sum(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, values, keys, ctx.rate, ctx.by = inputs
    ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, values, keys)


def _backward_dropped_sum(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, values, keys = ctx.saved_tensors
    grad_x = dropped_sum(grad, values, keys, ctx.rate, ctx.by.T) if ctx.needs_input_grad[0] else None
    if not ctx.needs_input_grad[1]:
        return grad_x, None
    dots = ops.incidence_dot(grad.unsqueeze(2), x.unsqueeze(2), ctx.by).squeeze(2)
    return grad_x, ops.seeded_dropout(dots, ctx.rate, keys, None).sum(0)


dropped_sum = Operator(
    "dropped_sum",
    ("Tensor x", "Tensor values", "Tensor keys", "float rate"),
    _dropped_sum,
    _fake_dropped_sum,
    _save_dropped_sum,
    _backward_dropped_sum,
    composed.dropped_sum,
    incidences=("by",),
)


def _gather(x: Tensor, by: Incidence, values: Tensor | None, inner: Tensor | None) -> Tensor:
    if values is not None and inner is not None:
        x, inner = backend.scale_rows(x, inner), None
    return backend.gather(x, by, values, inner=inner)


def _transition(
    x: Tensor,
    left: Tensor | None,
    middle: Tensor | None,
    right: Tensor | None,
    values: Tensor | None,
    receiver_values: Tensor | None,
    learned: bool,
    senders: Incidence,
    receivers: Incidence,
) -> tuple[Tensor, Tensor]:
    """The result, and the sums of the hyperedges if a factor is learned, whose gradient needs them."""
    if not learned:
        if values is not None and right is not None:
            x, right = backend.scale_rows(x, right), None
        out = backend.transition(x, senders, receivers, values, receiver_values, left, middle, right)
        return out, x.new_empty(0)
    sums = _gather(x, senders.T, values, right)  # Sᵀ right x  (batch, M, heads, F)
    back = values if receiver_values is None else receiver_values
    return backend.gather(backend.scale_rows(sums, middle), receivers, back, outer=left), sums


def _fake_transition(x: Tensor, *given: Any) -> tuple[Tensor, Tensor]:
    learned, senders, receivers = given[-3:]
    sums = (x.shape[0], senders.n_columns, *x.shape[2:]) if learned else (0,)
    return x.new_empty(x.shape[0], receivers.n_rows, *x.shape[2:]), x.new_empty(sums)


def _save_transition(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    x, *factors, ctx.learned, ctx.senders, ctx.receivers = inputs
    ctx.save_for_backward(x if ctx.learned else None, *factors, output[1])
    ctx.set_materialize_grads(False)


def _backward_transition(ctx: Any, grad: Tensor | None, _: Tensor | None) -> tuple[Tensor | None, ...]:
    x, left, middle, right, values, receiver_values, sums = ctx.saved_tensors
    sides, needed = (ctx.senders, ctx.receivers), ctx.needs_input_grad[:6]
    if grad is None:
        return ()
    if not ctx.learned:  # T x with a fixed T: the gradient is that of its transpose, from receivers to senders
        back = (values, None) if receiver_values is None else (receiver_values, values)
        return (transition(grad, right, middle, left, *back, False, ctx.receivers, ctx.senders)[0],)
    inputs = (x, left, middle, right, values, receiver_values)
    if ops.is_differentiated():
        form: Any = composed.transition
        return tuple(_again(lambda *given: form(*given, True, *sides)[0], inputs, needed, grad))
    found = transition_gradients(grad, *inputs, sums, *sides)
    return tuple(one if need else None for one, need in zip(found, needed, strict=True))


def _transition_gradients(
    grad: Tensor,
    x: Tensor,
    left: Tensor | None,
    middle: Tensor | None,
    right: Tensor | None,
    values: Tensor | None,
    receiver_values: Tensor | None,
    sums: Tensor,
    senders: Incidence,
    receivers: Incidence,
) -> tuple[Tensor, ...]:
    back = values if receiver_values is None else receiver_values
    back_sums = _gather(grad, receivers.T, back, left)  # (batch, M, heads, F)
    grad_x = backend.gather(backend.scale_rows(back_sums, middle), senders, values, outer=right)
    by_middle = backend.row_dots(sums, back_sums)
    # Values that both sides share are those of the same pairs; without values, the shortcut is for the same pairs only.
    if receiver_values is None and (values is not None or senders.offsets is receivers.offsets):
        sizes = ((left, x.shape[1]), (middle, sums.shape[1]), (right, x.shape[1]))
        scalings = [x.new_ones(1, size, 1) if one is None else one for one, size in sizes]
        by_value, by_left, by_right = backend.transition_gradients(grad, x, sums, back_sums, values, scalings, senders)
        by_receiver_value = x.new_empty(0)
    else:
        by_value, by_right = _one_side(x, back_sums, middle, right, values, senders)
        by_receiver_value, by_left = _one_side(grad, sums, middle, left, back, receivers)
    found = (by_left, by_middle, by_right, by_value, by_receiver_value)
    given = (left, middle, right, values, receiver_values)
    return grad_x, *(_like(one, other) for one, other in zip(found, given, strict=True))


def _one_side(
    rows: Tensor, sums: Tensor, middle: Tensor | None, outer: Tensor | None, values: Tensor | None, pairs: Incidence
) -> tuple[Tensor, Tensor]:
    """Gradients for the values of one side's pairs and for what scales that side's rows."""
    dots = backend.incidence_dot(rows, backend.scale_rows(sums, middle), pairs)  # (batch, pairs, heads)
    by_outer = backend.value_sums(dots if values is None else dots * values, None, pairs)
    if outer is not None:
        dots = dots * outer.index_select(1, pairs.rows())
    return dots, by_outer


def _like(grad: Tensor, given: Tensor | None) -> Tensor:
    """The gradient summed over what ``given`` was shared by: trials, heads."""
    return grad.new_empty(0) if given is None else grad.sum_to_size(given.shape)


def _fake_transition_gradients(grad: Tensor, *inputs: Any) -> tuple[Tensor, ...]:
    return tuple(grad.new_empty(0 if one is None else one.shape) for one in inputs[:6])


_FACTORS = ("Tensor? left", "Tensor? middle", "Tensor? right", "Tensor? values", "Tensor? receiver_values")

transition_gradients = Operator(
    "transition_gradients",
    ("Tensor grad", "Tensor x", *_FACTORS, "Tensor sums"),
    _transition_gradients,
    _fake_transition_gradients,
    incidences=("senders", "receivers"),
    n_results=6,
)
transition = Operator(
    "transition",
    ("Tensor x", *_FACTORS, "bool learned"),
    _transition,
    _fake_transition,
    _save_transition,
    _backward_transition,
    composed.transition,
    incidences=("senders", "receivers"),
    n_results=2,
)


def _value_sums(values: Tensor, weight: Tensor | None, by: Incidence) -> Tensor:
    return backend.value_sums(values, weight, by)


def _fake_value_sums(values: Tensor, weight: Tensor | None, by: Incidence) -> Tensor:
    return values.new_empty(values.shape[0], by.n_rows, values.shape[2])


def _save_value_sums(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    values, weight, ctx.by = inputs
    ctx.save_for_backward(values, weight)


def _backward_value_sums(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    needed = ctx.needs_input_grad[:2]
    if ops.is_differentiated() or needed[1]:
        form: Any = composed.value_sums
        return tuple(_again(lambda *given: form(*given, ctx.by), ctx.saved_tensors, needed, grad))
    return (spread(grad, ctx.saved_tensors[1], ctx.by),)


def _spread(grad: Tensor, weight: Tensor | None, by: Incidence) -> Tensor:
    return backend.spread(grad, weight, by)


def _fake_spread(grad: Tensor, weight: Tensor | None, by: Incidence) -> Tensor:
    return grad.new_empty(grad.shape[0], by.n_pairs, grad.shape[2])


spread = Operator("spread", ("Tensor grad", "Tensor? weight"), _spread, _fake_spread, incidences=("by",))
value_sums = Operator(
    "value_sums",
    ("Tensor values", "Tensor? weight"),
    _value_sums,
    _fake_value_sums,
    _save_value_sums,
    _backward_value_sums,
    composed.value_sums,
    incidences=("by",),
)


def _inverse(degree: Tensor, root: bool, least: float) -> Tensor:
    return backend.inverse(degree, root, least)


def _fake_inverse(degree: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(degree, memory_format=torch.contiguous_format)


def _save_inverse(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, ctx.root, _ = inputs
    ctx.save_for_backward(output)


def _backward_inverse(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    (output,) = ctx.saved_tensors
    if ops.is_differentiated():
        slope = -0.5 * output**3 if ctx.root else -(output**2)
        return (grad * slope,)
    return (inverse_gradient(grad, output, ctx.root),)


def _inverse_gradient(grad: Tensor, output: Tensor, root: bool) -> Tensor:
    return backend.inverse_gradient(grad, output, root)


inverse_gradient = Operator(
    "inverse_gradient", ("Tensor grad", "Tensor output", "bool root"), _inverse_gradient, _fake_inverse
)
inverse = Operator(
    "inverse",
    ("Tensor degree", "bool root", "float least"),
    _inverse,
    _fake_inverse,
    _save_inverse,
    _backward_inverse,
    composed.inverse,
)


def _attend(ours: Tensor, theirs: Tensor, slope: float, by: Incidence) -> Tensor:
    return backend.attend(ours, theirs, slope, by)


def _fake_attend(ours: Tensor, theirs: Tensor, slope: float, by: Incidence) -> Tensor:
    return ours.new_empty(ours.shape[0], by.n_pairs, ours.shape[2])


def _save_attend(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ours, theirs, ctx.slope, ctx.by = inputs
    ctx.save_for_backward(output, ours, theirs)


def _backward_attend(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    softmax, *scores = ctx.saved_tensors
    if ops.is_differentiated():
        needed = ctx.needs_input_grad[:2]
        form: Any = composed.attend
        return tuple(_again(lambda *given: form(*given, ctx.slope, ctx.by), scores, needed, grad))
    grads: tuple[Tensor, Tensor] = attend_gradients(grad, softmax, *scores, ctx.slope, ctx.by)
    return grads


def _attend_gradients(
    grad: Tensor, softmax: Tensor, ours: Tensor, theirs: Tensor, slope: float, by: Incidence
) -> tuple[Tensor, Tensor]:
    return backend.attend_gradients(grad, softmax, ours, theirs, slope, by)


def _fake_attend_gradients(
    grad: Tensor, softmax: Tensor, ours: Tensor, theirs: Tensor, *_: Any
) -> tuple[Tensor, Tensor]:
    return ours.new_empty(ours.shape), theirs.new_empty(theirs.shape)


attend_gradients = Operator(
    "attend_gradients",
    ("Tensor grad", "Tensor softmax", "Tensor ours", "Tensor theirs", "float slope"),
    _attend_gradients,
    _fake_attend_gradients,
    incidences=("by",),
    n_results=2,
)
attend = Operator(
    "attend",
    ("Tensor ours", "Tensor theirs", "float slope"),
    _attend,
    _fake_attend,
    _save_attend,
    _backward_attend,
    composed.attend,
    incidences=("by",),
)


def _head_scores(x: Tensor, vectors: Tensor) -> Tensor:
    return backend.head_scores(x, vectors)


def _fake_head_scores(x: Tensor, vectors: Tensor) -> Tensor:
    return x.new_empty(vectors.shape[1], *x.shape[:3])


def _save_head_scores(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward_head_scores(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    if ops.is_differentiated():
        return tuple(_again(composed.head_scores, ctx.saved_tensors, ctx.needs_input_grad, grad))
    grads: tuple[Tensor, Tensor] = head_scores_gradients(grad, *ctx.saved_tensors)
    return grads


def _head_scores_gradients(grad: Tensor, x: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    return backend.head_scores_gradients(grad, x, vectors)


def _fake_head_scores_gradients(grad: Tensor, x: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), vectors.new_empty(vectors.shape)


head_scores_gradients = Operator(
    "head_scores_gradients",
    ("Tensor grad", "Tensor x", "Tensor vectors"),
    _head_scores_gradients,
    _fake_head_scores_gradients,
    n_results=2,
)
head_scores = Operator(
    "head_scores",
    ("Tensor x", "Tensor vectors"),
    _head_scores,
    _fake_head_scores,
    _save_head_scores,
    _backward_head_scores,
    composed.head_scores,
)


def _fake_elu_dropout(x: Tensor, *_: Any) -> Tensor:
    return x.new_empty(x.shape)


def _save_elu_dropout(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, bias, ctx.rate, keys, places = inputs
    ctx.save_for_backward(output, keys, places)
    ctx.has_bias = bias is not None


def _backward_elu_dropout(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    output, keys, places = ctx.saved_tensors
    if not ops.is_differentiated():
        grad_x, grad_bias = elu_dropout_gradient(grad, output, ctx.has_bias, ctx.rate, keys, places)
    else:
        dropped = grad if keys is None else ops.seeded_dropout(grad, ctx.rate, keys, places)
        grad_x = dropped * (1 + (1 - ctx.rate) * output.clamp(max=0))
        grad_bias = _of_bias(grad_x)
    return grad_x, grad_bias if ctx.has_bias else None


def _of_bias(grad: Tensor) -> Tensor:
    """The gradient of a bias ``(trials, F)``, or ``(F,)`` without trials."""
    return grad.flatten(1, -2).sum(1) if grad.dim() > 2 else grad.sum(0)


def _fake_elu_dropout_gradient(grad: Tensor, y: Tensor, has_bias: bool, *_: Any) -> tuple[Tensor, Tensor]:
    width = y.shape[-1] if has_bias else 0
    return y.new_empty(y.shape), y.new_empty(*y.shape[:1] if y.dim() > 2 else (), width)


_DRAWING = ("float rate", "Tensor? keys", "Tensor? places")

elu_dropout_gradient = Operator(
    "elu_dropout_gradient",
    ("Tensor grad", "Tensor y", "bool has_bias", *_DRAWING),
    backend.elu_dropout_gradient,
    _fake_elu_dropout_gradient,
    n_results=2,
)
elu_dropout = Operator(
    "elu_dropout",
    ("Tensor x", "Tensor? bias", *_DRAWING),
    backend.elu_dropout,
    _fake_elu_dropout,
    _save_elu_dropout,
    _backward_elu_dropout,
    composed.elu_dropout,
)


def _backward_relu_dropout(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    output, *_ = ctx.saved_tensors
    if not ops.is_differentiated():
        grad_x, grad_bias = relu_dropout_gradient(grad, output, ctx.has_bias, ctx.rate)
    else:
        grad_x = grad * ~(output <= 0) * (1 / (1 - ctx.rate))
        grad_bias = _of_bias(grad_x)
    return grad_x, grad_bias if ctx.has_bias else None


relu_dropout_gradient = Operator(
    "relu_dropout_gradient",
    ("Tensor grad", "Tensor y", "bool has_bias", "float rate"),
    backend.relu_dropout_gradient,
    _fake_elu_dropout_gradient,
    n_results=2,
)
relu_dropout = Operator(
    "relu_dropout",
    ("Tensor x", "Tensor? bias", *_DRAWING),
    backend.relu_dropout,
    _fake_elu_dropout,
    _save_elu_dropout,
    _backward_relu_dropout,
    composed.relu_dropout,
)


def _cross_entropy(scores: Tensor, classes: Tensor, rows: Tensor) -> Tensor:
    return backend.cross_entropy(scores, classes, rows)


def _fake_cross_entropy(scores: Tensor, classes: Tensor, rows: Tensor) -> Tensor:
    return scores.new_empty(scores.shape[0])


def _save_cross_entropy(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward_cross_entropy(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    if ops.is_differentiated():
        return tuple(_again(composed.cross_entropy, ctx.saved_tensors, ctx.needs_input_grad, grad))
    return (cross_entropy_gradient(grad, *ctx.saved_tensors),)


def _cross_entropy_gradient(grad: Tensor, scores: Tensor, classes: Tensor, rows: Tensor) -> Tensor:
    return backend.cross_entropy_gradient(grad, scores, classes, rows)


def _fake_cross_entropy_gradient(grad: Tensor, scores: Tensor, *_: Tensor) -> Tensor:
    return scores.new_empty(scores.shape)


cross_entropy_gradient = Operator(
    "cross_entropy_gradient",
    ("Tensor grad", "Tensor scores", "Tensor classes", "Tensor rows"),
    _cross_entropy_gradient,
    _fake_cross_entropy_gradient,
)
cross_entropy = Operator(
    "cross_entropy",
    ("Tensor scores", "Tensor classes", "Tensor rows"),
    _cross_entropy,
    _fake_cross_entropy,
    _save_cross_entropy,
    _backward_cross_entropy,
    composed.cross_entropy,
)
