"""The elementary operators: sums, inner products and softmax over groups, products of trials, dropout.

Shapes: ``x`` ``(batch, members, heads, features)``, values ``(batch, pairs, heads)``. Gradients flow backwards to any
order, since each gradient is made of these operators again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.library import custom_op
from torch.nn import Parameter

from hypergnn.kernels import dispatch, transformed
from hypergnn.kernels.dispatch import Backend, backend_for
from hypergnn.structures.incidence import Incidence

_PAIRS = "Tensor {0}_0, Tensor {0}_1, Tensor? {0}_2, Tensor {0}_3, Tensor {0}_4, Tensor? {0}_5"
"""An incidence in the signature of a custom operator: its six tensors."""


class Operator:
    """One step for autograd, ``torch.compile`` and ``torch.export``.

    ``torch.compile`` and ``torch.export`` see a custom operator that takes the incidence as six tensors; ``torch.func``
    sees the operations of ``plain``. Plain tensors take a shortcut with the same rules, because calling a
    custom operator costs more than the work on a small hypergraph.

    Args:
        name: Its name among the operators of torch.
        arguments: Type and name of each argument but the incidences, as torch writes them: ``"Tensor? values"``.
        forward: What it computes.
        fake: Shapes of the result.
        save: ``setup_context`` of :class:`torch.autograd.Function`.
        backward: The gradients of the first arguments; the others have none.
        plain: What it computes, in operations that ``torch.func`` and forward mode can transform.
        incidences: Names of the arguments that are incidences, which come last.
        n_results: How many tensors it returns; more than one in a tuple.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        forward: Callable[..., Any],
        fake: Callable[..., Any],
        save: Callable[[Any, tuple[Any, ...], Any], None] | None = None,
        backward: Callable[..., Any] | None = None,
        plain: Callable[..., Any] | None = None,
        *,
        incidences: Sequence[str] = (),
        n_results: int = 1,
    ) -> None:
        """Register the operator."""
        self.n_arguments, self.n_pairs = len(arguments) + len(incidences), len(incidences)
        flat = ", ".join([*arguments, *map(_PAIRS.format, incidences)])
        result = "Tensor" if n_results == 1 else f"({', '.join(['Tensor'] * n_results)})"
        self.forward, self.plain = forward, plain
        checked = _checking(forward, self.n_pairs)
        run = self._packing(lambda *given: _contiguous(checked(*given)))
        self.traced = custom_op(f"hypergnn::{name}", run, mutates_args=(), schema=f"({flat}) -> {result}")
        self.traced.register_fake(self._packing(fake))
        self.apply: Callable[..., Any] | None = None
        if save is not None and backward is not None:
            n_flat = self.n_arguments + 5 * self.n_pairs
            self.traced.register_autograd(
                _padded(backward, n_flat),
                setup_context=lambda ctx, inputs, output: save(ctx, self._packed(inputs), output),
            )
            self.apply = _shortcut(name, forward, save, _padded(backward, self.n_arguments))

    def __call__(self, *arguments: Any) -> Any:
        """Compute; the first argument is a tensor."""
        if not is_plain(arguments[0]):
            if self.plain is not None and not torch.compiler.is_compiling() and is_transformed():
                return self.plain(*arguments)
            split = self.n_arguments - self.n_pairs
            return self.traced(*arguments[:split], *(one for pairs in arguments[split:] for one in pairs))
        if self.apply is None or not torch.is_grad_enabled():
            return self.forward(*arguments)
        return self.apply(*arguments)

    def _packed(self, flat: Sequence[Any]) -> tuple[Any, ...]:
        split = self.n_arguments - self.n_pairs
        pairs = (Incidence(*flat[start : start + 6]) for start in range(split, len(flat), 6))
        return *flat[:split], *pairs

    def _packing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *flat: function(*self._packed(flat))


def _contiguous(made: Any) -> Any:
    """Results laid out as the fake ones are, which compiled programs rely on."""
    return made.contiguous() if isinstance(made, Tensor) else tuple(one.contiguous() for one in made)


def is_plain(x: Tensor) -> bool:
    """Whether ``x`` is an ordinary tensor and the program is neither traced nor transformed."""
    if torch.compiler.is_compiling():
        return False
    return type(x) in (Tensor, Parameter) and not is_transformed()


def is_transformed() -> bool:
    """Whether a transformation of ``torch.func`` or a level of forward-mode derivatives is active.

    Example:
        >>> seen = []
        >>> _ = torch.func.grad(lambda x: [seen.append(is_transformed()), x][1])(torch.tensor(1.0))
        >>> seen, is_transformed()
        ([True], False)
    """
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def is_differentiated() -> bool:
    """Whether a gradient must be made of operations that can be differentiated or transformed again."""
    return torch.is_grad_enabled() or is_transformed()


def _checking(forward: Callable[..., Any], n_pairs: int) -> Callable[..., Any]:
    """The same, once the incidences among its arguments, which come last, are checked."""

    def run(*arguments: Any) -> Any:
        for pairs in arguments[len(arguments) - n_pairs :]:
            pairs.check()
        return forward(*arguments)

    return run


def _padded(backward: Callable[..., Any], n_arguments: int) -> Callable[..., Any]:
    """The gradients with ``None`` for all arguments that have none."""

    def run(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        if grads[0] is not None and torch._C._functorch.is_legacy_batchedtensor(grads[0]):
            raise NotImplementedError(
                "gradients of hypergnn cannot be batched by is_grads_batched=True or vectorize=True: use "
                "torch.func.jacrev or torch.func.vmap."
            )
        found = backward(ctx, *grads)
        return *found, *[None] * (n_arguments - len(found))

    return run


def _shortcut(name: str, forward: Callable[..., Any], save: Callable[..., None], backward: Any) -> Callable[..., Any]:
    """The same rules for autograd alone."""

    def run(ctx: Any, *inputs: Any) -> Any:
        output = forward(*inputs)
        save(ctx, inputs, output)
        return output

    methods = {"forward": staticmethod(run), "backward": staticmethod(backward)}
    function = type(name, (torch.autograd.Function,), methods)
    return function.apply  # type: ignore[attr-defined,no-any-return]


_known_backends: dict[tuple[str, str, torch.dtype], Backend] = {}


def _backend(x: Tensor) -> Backend:
    """The backend for tensors like ``x``, looked up once for each kind of them."""
    key = (dispatch.wanted, x.device.type, x.dtype)
    if key not in _known_backends:
        _known_backends[key] = backend_for(x)
    return _known_backends[key]


def _segment_sum(x: Tensor, values: Tensor | None, by: Incidence) -> Tensor:
    return _backend(x).segment_sum(x, values, by)


def _fake_segment_sum(x: Tensor, values: Tensor | None, by: Incidence) -> Tensor:
    return x.new_empty(x.shape[0], by.n_rows, *x.shape[2:])


def _save_segment_sum(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, values, ctx.by = inputs
    x_needs_grad, values_need_grad = ctx.needs_input_grad[:2]
    ctx.values_are_shared = values is not None and values.shape[0] < x.shape[0]
    ctx.save_for_backward(x if values_need_grad else None, values if x_needs_grad else None)


def _backward_segment_sum(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, values = ctx.saved_tensors
    x_needs_grad, values_need_grad = ctx.needs_input_grad[:2]
    grad_x = segment_sum(grad, values, ctx.by.T) if x_needs_grad else None
    grad_values = incidence_dot(grad, x, ctx.by) if values_need_grad else None
    if grad_values is not None and ctx.values_are_shared:
        grad_values = grad_values.sum(0, keepdim=True)
    return grad_x, grad_values


segment_sum = Operator(
    "segment_sum",
    ("Tensor x", "Tensor? values"),
    _segment_sum,
    _fake_segment_sum,
    _save_segment_sum,
    _backward_segment_sum,
    transformed.segment_sum,
    incidences=("by",),
)
"""Rows of ``x`` summed per group, each pair times its value: a sparse matrix times ``x``."""


def _incidence_dot(rows: Tensor, columns: Tensor, by: Incidence) -> Tensor:
    return _backend(rows).incidence_dot(rows, columns, by)


def _fake_incidence_dot(rows: Tensor, columns: Tensor, by: Incidence) -> Tensor:
    return rows.new_empty(rows.shape[0], by.n_pairs, rows.shape[2])


def _save_pair(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    one, other, *by = inputs
    ctx.by = by[0] if by else None
    ctx.save_for_backward(one, other)


def _backward_incidence_dot(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    rows, columns = ctx.saved_tensors
    rows_need_grad, columns_need_grad = ctx.needs_input_grad[:2]
    grad_rows = segment_sum(columns, grad, ctx.by) if rows_need_grad else None
    return grad_rows, segment_sum(rows, grad, ctx.by.T) if columns_need_grad else None


incidence_dot = Operator(
    "incidence_dot",
    ("Tensor rows", "Tensor columns"),
    _incidence_dot,
    _fake_incidence_dot,
    _save_pair,
    _backward_incidence_dot,
    transformed.incidence_dot,
    incidences=("by",),
)
"""Inner product of both ends of each pair."""


def _segment_argmax(x: Tensor, by: Incidence) -> Tensor:
    return _backend(x).segment_argmax(x, by)


def _fake_segment_argmax(x: Tensor, by: Incidence) -> Tensor:
    return x.new_empty(x.shape[0], by.n_rows, x.shape[2], dtype=torch.int64)


segment_argmax = Operator("segment_argmax", ("Tensor x",), _segment_argmax, _fake_segment_argmax, incidences=("by",))
"""Which member of each group has the largest entry of ``(batch, members, features)``."""


def _segment_softmax(logits: Tensor, by: Incidence) -> Tensor:
    return _backend(logits).segment_softmax(logits, by)


def _fake_like(values: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(values, memory_format=torch.contiguous_format)


def _save_softmax(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.by = inputs[1]
    ctx.save_for_backward(output)


def _backward_segment_softmax(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    (softmax,) = ctx.saved_tensors
    return (softmax * (grad - segment_total(softmax * grad, ctx.by)),)


segment_softmax = Operator(
    "segment_softmax",
    ("Tensor logits",),
    _segment_softmax,
    _fake_like,
    _save_softmax,
    _backward_segment_softmax,
    transformed.segment_softmax,
    incidences=("by",),
)
"""Softmax within each group."""


def _segment_total(values: Tensor, by: Incidence) -> Tensor:
    return _backend(values).segment_total(values, by)


def _save_grouping(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.by = inputs[1]


def _backward_segment_total(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return (segment_total(grad, ctx.by),)


segment_total = Operator(
    "segment_total",
    ("Tensor values",),
    _segment_total,
    _fake_like,
    _save_grouping,
    _backward_segment_total,
    transformed.segment_total,
    incidences=("by",),
)
"""For each pair the sum of values over its group: a symmetric matrix, its own gradient."""


def _matmul(x: Tensor, projection: Tensor) -> Tensor:
    return _backend(x).matmul(x, projection)


def _fake_matmul(x: Tensor, projection: Tensor) -> Tensor:
    return x.new_empty(projection.shape[0], x.shape[1], projection.shape[2])


def _matmul_backward(x: Tensor, grad: Tensor) -> Tensor:
    return _backend(x).matmul_backward(x, grad)


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


matmul = Operator(
    "matmul",
    ("Tensor x", "Tensor projection"),
    _matmul,
    _fake_matmul,
    _save_pair,
    _backward_matmul,
    transformed.matmul,
)
"""``(batch or 1, rows, F)`` times ``(batch, F, F')``, each trial computed by itself."""
matmul_backward = Operator(
    "matmul_backward",
    ("Tensor x", "Tensor grad"),
    _matmul_backward,
    _fake_matmul_backward,
    _save_pair,
    _backward_matmul_backward,
    transformed.matmul_backward,
)
"""Gradient of :data:`matmul` for its second factor."""


def _seeded_dropout(x: Tensor, rate: float, keys: Tensor, places: Tensor | None) -> Tensor:
    return _backend(x).seeded_dropout(x, rate, keys, places)


def _save_keys(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, ctx.rate, keys, places = inputs
    ctx.save_for_backward(keys, places)


def _backward_seeded_dropout(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return (seeded_dropout(grad, ctx.rate, *ctx.saved_tensors),)


seeded_dropout = Operator(
    "seeded_dropout",
    ("Tensor x", "float rate", "Tensor keys", "Tensor? places"),
    _seeded_dropout,
    _fake_like,
    _save_keys,
    _backward_seeded_dropout,
    transformed.seeded_dropout,
)
"""Dropout that is a function of two keys per trial."""
