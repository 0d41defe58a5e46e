"""What the compiled backend does entry by entry: activation, dropout, losses, Adam; and its dense products."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import torch
from torch import Tensor

from hypergnn.kernels.cpu import pointwise_loops, threads
from hypergnn.kernels.cpu.buffers import Array, array_of, drawing_of, ids_of, index_of, new


def inverse(degree: Tensor, root: bool, least: float) -> Tensor:
    """``1 / degree``, or its root; 0 where there is no more than the least degree."""
    out = new(degree, *degree.shape)
    given = array_of(degree).reshape(-1)
    threads.by_range(
        pointwise_loops.inverse,
        given.size,
        4 * given.size,
        given,
        root,
        given.dtype.type(least),
        array_of(out).reshape(-1),
    )
    return out


def inverse_gradient(grad: Tensor, inverse: Tensor, root: bool) -> Tensor:
    """Gradient of :func:`inverse` from its result."""
    out = new(inverse, *inverse.shape)
    arrays = [array_of(one).reshape(-1) for one in (grad, inverse)]
    threads.by_range(
        pointwise_loops.inverse_gradient, out.numel(), 4 * out.numel(), *arrays, root, array_of(out).reshape(-1)
    )
    return out


def seeded_dropout(x: Tensor, rate: float, keys: Tensor, places: Tensor | None) -> Tensor:
    """As :func:`hypergnn.kernels.portable.seeded_dropout`, bit for bit."""
    out = new(x, *x.shape)
    shape = (x.shape[0], x.shape[1] if x.dim() > 1 else 1, prod(x.shape[2:]))
    rows, dropped = (array_of(one).reshape(shape) for one in (x, out))
    arrays = (rows, *drawing_of(keys, rate, rows.dtype), index_of(places), dropped)
    threads.by_range(pointwise_loops.dropout, rows.shape[1], 4 * rows.size, *arrays)
    return out


def elu_dropout(x: Tensor, bias: Tensor | None, rate: float, keys: Tensor | None, places: Tensor | None) -> Tensor:
    """As :func:`hypergnn.kernels.composed.elu_dropout`."""
    return _activated(pointwise_loops.elu_dropout, 8, x, bias, rate, keys, places)


def relu_dropout(x: Tensor, bias: Tensor | None, rate: float, keys: Tensor | None, places: Tensor | None) -> Tensor:
    """As :func:`hypergnn.kernels.composed.relu_dropout`."""
    return _activated(pointwise_loops.relu_dropout, 4, x, bias, rate, keys, places)


def _activated(
    loop: Callable[..., None],
    cost: int,
    x: Tensor,
    bias: Tensor | None,
    rate: float,
    keys: Tensor | None,
    places: Tensor | None,
) -> Tensor:
    out = new(x, *x.shape)
    given, made = _by_trial(x), _by_trial(out)
    drawing = drawing_of(keys, rate, given.dtype)
    arrays = (given, bias_of(bias, given), *drawing, index_of(places), made)
    threads.by_range(loop, made.shape[1], cost * made.size, *arrays)
    return out


def elu_dropout_gradient(
    grad: Tensor,
    y: Tensor,
    has_bias: bool,
    rate: float,
    keys: Tensor | None,
    places: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Gradients of :func:`elu_dropout` from its result ``y``, for ``x`` and for the bias."""
    drawing = (*drawing_of(keys, rate, y.numpy().dtype), index_of(places))
    return _activated_gradient(pointwise_loops.elu_dropout_gradient, grad, y, has_bias, *drawing)


def relu_dropout_gradient(grad: Tensor, y: Tensor, has_bias: bool, rate: float) -> tuple[Tensor, Tensor]:
    """Gradients of :func:`relu_dropout` from its result ``y``, for ``x`` and for the bias."""
    *_, scale = drawing_of(None, rate, y.numpy().dtype)
    return _activated_gradient(pointwise_loops.relu_dropout_gradient, grad, y, has_bias, scale)


def _activated_gradient(
    loop: Callable[..., None], grad: Tensor, y: Tensor, has_bias: bool, *drawing: object
) -> tuple[Tensor, Tensor]:
    made = _by_trial(y)
    out, grads = new(y, *y.shape), array_of(grad).reshape(made.shape)
    blocks = -(-made.shape[1] // pointwise_loops.BLOCK)
    parts = np.empty((made.shape[0], blocks, made.shape[2] if has_bias else 0), made.dtype)
    threads.by_range(loop, blocks, 4 * made.size, grads, made, *drawing, _by_trial(out), parts)
    by_bias = torch.from_numpy(parts.sum(1))
    return out, by_bias if y.dim() > 2 else by_bias[0]


def cross_entropy(scores: Tensor, classes: Tensor, rows: Tensor) -> Tensor:
    """As :func:`hypergnn.kernels.composed.cross_entropy`."""
    out = new(scores, scores.shape[0])
    pointwise_loops.cross_entropy(array_of(scores), ids_of(classes), ids_of(rows), array_of(out))
    return out


def cross_entropy_gradient(grad: Tensor, scores: Tensor, classes: Tensor, rows: Tensor) -> Tensor:
    """Gradient of :func:`cross_entropy` for the scores."""
    given = array_of(scores)
    out = np.zeros_like(given)
    pointwise_loops.cross_entropy_gradient(given, ids_of(classes), ids_of(rows), array_of(grad), out)
    return torch.from_numpy(out)


def adam(parameter: Tensor, mean: Tensor, square: Tensor) -> Callable[[Tensor, float, float, int], None]:
    """As :func:`hypergnn.kernels.portable.adam`; the parameter must be contiguous, for it is changed in place."""
    if not parameter.is_contiguous():
        raise ValueError("parameter must be contiguous; call .contiguous().")
    entries, means, squares = (array_of(one).reshape(one.shape[0], -1) for one in (parameter, mean, square))
    kind, width = entries.dtype.type, entries.shape[1]

    def step(grad: Tensor, rate: float, decay: float, number: int) -> None:
        numbers = (kind(rate / (1 - 0.9**number)), kind(decay), kind(1 / (1 - 0.999**number)))
        slopes = array_of(grad).reshape(entries.shape)
        threads.by_range(pointwise_loops.adam_step, width, 4 * entries.size, entries, slopes, means, squares, *numbers)

    return step


def bias_of(bias: Tensor | None, rows: Array) -> Array:
    """A bias as the kernels take it, ``(trials or 1, width)``; empty if there is none."""
    return np.empty((0, 0), rows.dtype) if bias is None else array_of(bias).reshape(-1, rows.shape[2])


def _by_trial(x: Tensor) -> Array:
    """Rows of ``(trials, ..., F)``, or of one trial if there is no such axis, ``(trials, rows, F)``."""
    trials, *rows = x.shape[:-1] if x.dim() > 2 else (1, *x.shape[:-1])
    return array_of(x).reshape(trials, prod(rows), x.shape[-1])
