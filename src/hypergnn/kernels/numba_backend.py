"""The compiled backend for CPUs: tensors as arrays, and ranges of their rows dealt to threads.

Threads are as many as torch has. What one of them computes does not depend on how many there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hypergnn.kernels import dots, elementwise, heads, memory, products, sums, torch_backend
from hypergnn.kernels.large_groups import PIECE, LargeGroups, beyond_caches, large_groups
from hypergnn.kernels.loops import Array

WORTH_A_THREAD = 1 << 23
"""Multiplications that a thread must have to do to be worth waking."""
NARROW = 16
"""Columns or rows up to which a projection is multiplied here; larger products are torch's."""
SMALL = 64
"""Rows up to which one with any number of columns is, too."""
CACHED = 1 << 16
"""Numbers that the cache of a core holds beside others."""
_NO_INDEX = np.empty(0, dtype=np.int32)
_NO_KEYS = np.empty((0, 2), dtype=np.uint32)
_ONE = {kind: np.ones((1, 1, 8), kind) for kind in "fd"}
_NOTHING = {kind: np.empty((0, 0, 0), kind) for kind in "fd"}

Grouping = tuple[Tensor, Tensor, Tensor | None]


def segment_sum(x: Tensor, values: Tensor | None, offsets: Tensor, members: Tensor, position: Tensor | None) -> Tensor:
    """``(batch, members, heads, features)`` summed per group: ``(batch, groups, heads, features)``."""
    return gather(x, (offsets, members, position), values)


def gather(
    x: Tensor,
    by: Grouping,
    values: Tensor | None = None,
    *,
    back: Grouping | None = None,
    inner: Tensor | None = None,
    outer: Tensor | None = None,
) -> Tensor:
    """:func:`segment_sum` with rows scaled before or after.

    Args:
        x: ``(batch, members, heads, features)``.
        by: The grouping: offsets, members and position.
        values: ``(batch or 1, incidences, heads)``.
        back: The reverse grouping, if large groups may be summed by it.
        inner: Factor of each member, ``(batch or 1, members, heads or 1)``; not together with values.
        outer: Factor of each group, ``(batch or 1, groups, heads or 1)``.
    """
    offsets, members, _ = by
    batch, _, n_heads, features = x.shape
    if features == 1 and values is not None and outer is None:
        return sum_values(values.expand(batch, -1, -1), x.squeeze(-1), by).unsqueeze(-1)
    rows, ids = _array(x).reshape(batch, x.shape[1], n_heads * features), _ids(members)
    entries = _entries(by, values, inner, n_heads, rows.dtype)
    last, found = _outer(outer, rows.dtype), None
    if back is not None and values is None and n_heads == 1:
        found = large_groups(offsets, back[0], back[1], rows.shape[2] * rows.itemsize)
    most = PIECE if found is None else min(PIECE, found.most)

    def sum_range(ends: Array, scale: bool, out: Array, start: int, stop: int) -> Any:
        factors = last if scale else _outer(None, rows.dtype)
        return sums.gather(rows, *entries, ends, ids, *factors, out, n_heads, most, start, stop)

    out = _new(x, batch, offsets.shape[0] - 1, n_heads, features)
    made = _array(out).reshape(batch, offsets.shape[0] - 1, n_heads * features)
    _in_pieces(sum_range, _ids(offsets), made, outer, None if found is None else found.most)
    if found is not None:
        total = _walk(rows, inner, found)
        made[:, found.groups] = total if outer is None else total * _array(outer)[:, found.groups]
    return out


def _walk(rows: Array, factor: Tensor | None, found: LargeGroups) -> Array:
    """The sums of large groups, ``(batch, groups, width)``, by walking the rows of each trial."""
    (batch, _, width), n_blocks = rows.shape, found.bounds.size - 1
    like = torch.from_numpy(rows[:0])
    parts, wholes = (_array(_new(like, n_blocks, n, width)) for n in (found.groups.size, found.n_giants))
    factors = np.empty((1, 0), rows.dtype) if factor is None else _array(factor).reshape(factor.shape[:2])
    total = np.empty((batch, found.groups.size, width), rows.dtype)
    for trial in range(batch):
        own = factors[trial if factors.shape[0] > 1 else 0]
        arrays = (rows[trial], own, found.offsets, found.members, found.bounds, parts, wholes)
        _by_range(sums.scatter, n_blocks, found.members.size * width, *arrays)
        parts.sum(0, out=total[trial])
        total[trial, : found.n_giants] += wholes.sum(0)
    return total


def transition(
    x: Tensor,
    there: Grouping,
    back: Grouping,
    values: Tensor | None,
    left: Tensor | None,
    middle: Tensor | None,
    right: Tensor | None,
    *,
    activates: bool = False,
    bias: Tensor | None = None,
) -> Tensor:
    """``left H middle Hᵀ right x``, the last one only without values; or ELU of that, plus a bias if there is one."""
    if x.dim() == 4:
        n_heads, rows = x.shape[2], _array(x).reshape(*x.shape[:2], x.shape[2] * x.shape[3])
    else:
        n_heads, rows = 1, _array(x) if x.dim() == 3 else _array(x)[None]
    batch, _, width = rows.shape
    n_groups, n_back = there[0].shape[0] - 1, back[0].shape[0] - 1
    shape = (*x.shape[:-2], n_back, width) if x.dim() < 4 else (batch, n_back, *x.shape[2:])

    def in_two() -> Tensor:
        wide = x.reshape(batch, rows.shape[1], n_heads, width // n_heads)
        between = gather(wide, there, values, back=back, inner=right, outer=middle)
        out = gather(between, back, values, back=there, outer=left).view(shape)
        return elu_dropout(out, bias, 0.0, None, None, None) if activates else out

    is_far = beyond_caches(max(rows.shape[1], n_groups) * width * rows.itemsize)  # the same sums in any thread
    if is_far or _threads(there[1].shape[0] * batch * width) > 1:
        return in_two()
    added = _bias(bias, rows)
    if activates and bias is None:
        added = np.zeros((batch, width), rows.dtype)
    between, out = _new(x, batch, n_groups, width), _new(x, *shape)
    giants = sums.two_gathers(
        rows,
        *_entries(there, values, right, n_heads, rows.dtype),
        _ids(there[0]),
        _ids(there[1]),
        *_outer(middle, rows.dtype),
        _array(between),
        *_entries(back, values, None, n_heads, rows.dtype),
        _ids(back[0]),
        _ids(back[1]),
        *_outer(left, rows.dtype),
        _array(out).reshape(batch, n_back, width),
        n_heads,
        added,
    )
    return in_two() if giants else out


def _entries(
    by: Grouping, values: Tensor | None, inner: Tensor | None, n_heads: int, dtype: Any
) -> tuple[Array, Array]:
    """Factors of the incidences as the kernels take them: entries, and which of them each incidence has."""
    if values is not None:
        return _array(values), _index(by[2])
    if inner is not None:
        return _array(inner if n_heads == 1 else inner.expand(-1, -1, n_heads)), _ids(by[1])
    return _NOTHING[dtype.char], _NO_INDEX


def _outer(outer: Tensor | None, dtype: Any) -> tuple[Array, int]:
    """Factors of the groups as the kernels take them: entries, and how many each group has."""
    return (_ONE[dtype.char], 0) if outer is None else (_array(outer), outer.shape[2])


def dropped_sum(x: Tensor, there: Grouping, back: Grouping, values: Tensor, rate: float, keys: Tensor) -> Tensor:
    """:func:`segment_sum` of ``x`` ``(batch, members, features)`` with dropout of values, each trial its own."""
    rows, ends = _array(x), _ids(there[0])
    drawing = _dropout(keys, rate, rows.dtype)
    out = _new(x, x.shape[0], ends.size - 1, x.shape[2])
    (trials, n_rows, width), n_groups, n_incidences = x.shape, ends.size - 1, back[1].shape[0]
    blocks = -(-n_rows // sums.BLOCK)
    if n_groups * width <= CACHED < n_rows * width // 4 and blocks * n_groups + n_rows <= n_incidences:
        parts = _new(x, trials, blocks, n_groups, width)
        walked = (rows, _array(values), _index(back[2]), *drawing, _ids(back[0]), _ids(back[1]), _array(parts))
        if not any(_by_range(sums.scatter_dropped, blocks, n_incidences * trials * width, *walked)):
            _array(parts).sum(1, out=_array(out))
            return out
    given, ids = (_array(values), _index(there[2]), *drawing), _ids(there[1])

    def sum_range(ends: Array, scale: bool, out: Array, start: int, stop: int) -> Any:
        return sums.gather_dropped(rows, *given, ends, ids, out, start, stop)

    _in_pieces(sum_range, ends, _array(out), None)
    return out


def _in_pieces(
    sum_range: Callable[[Array, bool, Array, int, int], Any],
    ends: Array,
    out: Array,
    outer: Tensor | None,
    largest: int | None = None,
) -> None:
    """Sum all groups of at most ``largest`` members, those with very many piece by piece, in as many threads as pay."""
    batch, _, width = out.shape
    threads = _threads(int(ends[-1]) * batch * width)
    if threads == 1:
        n_giants = sum_range(ends, True, out, 0, ends.size - 1)
    else:
        n_giants = sum(_run([partial(sum_range, ends, True, out, *bounds) for bounds in _even(ends, threads)], threads))
    if n_giants == 0 or (largest is not None and largest <= PIECE):
        return
    jobs, pieces, sizes = [], {}, np.diff(ends)
    for giant in np.flatnonzero((sizes > PIECE) & (sizes <= (largest or ends[-1]))).tolist():
        cuts = np.append(np.arange(ends[giant], ends[giant + 1], PIECE), ends[giant + 1]).astype(ends.dtype)
        pieces[giant] = part = np.empty((batch, cuts.size - 1, width), out.dtype)
        step = -(-part.shape[1] // (4 * threads))
        starts = range(0, part.shape[1], step)
        jobs += [partial(sum_range, cuts, False, part, start, min(start + step, part.shape[1])) for start in starts]
    _run(jobs, threads)
    for giant, part in pieces.items():
        total = part[:, 0].copy()
        for piece in range(1, part.shape[1]):  # in their order, whoever summed them
            total += part[:, piece]
        if outer is not None:
            factor = _array(outer[:, giant, :, None])  # (batch or 1, heads or 1, 1)
            total = (total.reshape(batch, factor.shape[1], -1) * factor).reshape(batch, width)
        out[:, giant] = total


def incidence_dot(rows: Tensor, columns: Tensor, offsets: Tensor, members: Tensor, position: Tensor | None) -> Tensor:
    """Inner product of both ends of each incidence: ``(batch, incidences, heads)``."""
    n_heads = rows.shape[2]
    out = _new(rows, rows.shape[0], members.shape[0], n_heads)
    ends = (_array(rows.flatten(2)), _array(columns.flatten(2)))
    grouping = (_ids(offsets), _ids(members), _index(position))
    _by_group(dots.incidence_dots, offsets, out.numel() * rows.shape[3], *ends, *grouping, n_heads, _array(out))
    return out


def row_dots(x: Tensor, y: Tensor) -> Tensor:
    """Inner products of the rows of ``(batch, n, heads, features)`` and the same: ``(batch, n, heads)``."""
    out = _new(x, *x.shape[:3])
    arrays = (_array(x.flatten(2)), _array(y.flatten(2)), x.shape[2], _array(out))
    _by_range(dots.row_dots, x.shape[1], x.numel(), *arrays)
    return out


def sum_values(values: Tensor, weight: Tensor | None, by: Grouping) -> Tensor:
    """``Σ weight_m values_p`` of each group, ``(batch, groups, heads)``; weight ``(batch, members, heads)``."""
    offsets, members, position = by
    out = _new(values, values.shape[0], offsets.shape[0] - 1, values.shape[2])
    factors = np.empty((0, 0, 0), _array(values).dtype) if weight is None else _array(weight)
    grouping = (_ids(offsets), _ids(members), _index(position))
    _by_group(heads.sum_values, offsets, values.numel(), _array(values), factors, *grouping, _array(out))
    return out


def value_sums(values: Tensor, weight: Tensor | None, by: Grouping) -> Tensor:
    """:func:`sum_values` with weights that heads share, ``(batch or 1, members)``."""
    batch, _, n_heads = values.shape
    return sum_values(values, None if weight is None else weight.unsqueeze(-1).expand(batch, -1, n_heads), by)


def spread(grad: Tensor, weight: Tensor | None, by: Grouping) -> Tensor:
    """Gradient of :func:`value_sums` for the values, ``(batch, incidences, heads)``; trials share the weights."""
    offsets, members, position = by
    out, grads = _new(grad, grad.shape[0], members.shape[0], grad.shape[2]), _array(grad)
    factors = np.empty(0, grads.dtype) if weight is None else _array(weight[0])
    arrays = (grads, factors, _ids(offsets), _ids(members), _index(position), _array(out))
    _by_group(heads.spread, offsets, out.numel(), *arrays)
    return out


def scale_rows(x: Tensor, factor: Tensor | None) -> Tensor:
    """``x`` ``(batch, n, heads, features)`` times ``factor`` ``(batch or 1, n, heads or 1)``."""
    if factor is None:
        return x
    out = _new(x, *x.shape)
    rows, scaled = (_array(one).reshape(x.shape[0], x.shape[1], x.shape[2] * x.shape[3]) for one in (x, out))
    _by_range(heads.scale_rows, rows.shape[1], rows.size, rows, _array(factor), scaled)
    return out


def inverse(degree: Tensor, root: bool, least: float) -> Tensor:
    """``1 / degree``, or its root; 0 where there is no more than the least degree."""
    out = _new(degree, *degree.shape)
    given = _array(degree).reshape(-1)
    _by_range(
        elementwise.inverse, given.size, 4 * given.size, given, root, given.dtype.type(least), _array(out).reshape(-1)
    )
    return out


def inverse_gradient(grad: Tensor, inverse: Tensor, root: bool) -> Tensor:
    """Gradient of :func:`inverse` from its outcome."""
    out = _new(inverse, *inverse.shape)
    arrays = [_array(one).reshape(-1) for one in (grad, inverse)]
    _by_range(elementwise.inverse_gradient, out.numel(), 4 * out.numel(), *arrays, root, _array(out).reshape(-1))
    return out


def segment_softmax(logits: Tensor, offsets: Tensor, position: Tensor | None) -> Tensor:
    """Softmax within each group: ``(batch, incidences, heads)``."""
    out = _new(logits, *logits.shape)
    arrays = (_array(logits), _ids(offsets), _index(position), _array(out))
    _by_group(elementwise.softmax, offsets, 8 * out.numel(), *arrays)
    return out


def segment_total(values: Tensor, offsets: Tensor, position: Tensor | None) -> Tensor:
    """For each incidence the sum of ``values`` over its group: ``(batch, incidences, heads)``."""
    out = _new(values, *values.shape)
    _by_group(elementwise.totals, offsets, out.numel(), _array(values), _ids(offsets), _index(position), _array(out))
    return out


def transition_gradients(
    grad: Tensor,
    x: Tensor,
    sums: Tensor,
    back: Tensor,
    values: Tensor | None,
    scalings: Sequence[Tensor],
    by: Grouping,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of a transition for its values, and for what scales the vertices after it and before it."""
    offsets, members, _ = by
    batch, _, n_heads, _ = x.shape
    wide = [_array(one.flatten(2)) for one in (grad, x, sums, back)]
    given = np.empty((0, 0, 0), wide[0].dtype) if values is None else _array(values)
    out = [_new(x, batch, n, n_heads) for n in (0 if values is None else members.shape[0], x.shape[1], x.shape[1])]
    factors = [_array(one.expand(-1, -1, n_heads)) for one in scalings]
    arrays = (*wide, given, *factors, _ids(offsets), _ids(members), n_heads, *map(_array, out))
    _by_group(dots.transition_gradients, offsets, 2 * members.shape[0] * batch * n_heads * x.shape[3], *arrays)
    return out[0], out[1], out[2]


def attend(ours: Tensor, theirs: Tensor, slope: float, by: Grouping) -> Tensor:
    """Softmax per group of LeakyReLU of the sum of both ends' scores: ``(batch, incidences, heads)``."""
    offsets, members, position = by
    out = _new(ours, ours.shape[0], members.shape[0], ours.shape[2])
    scores = (_array(ours), _array(theirs), _array(ours).dtype.type(slope))
    grouping = (_ids(offsets), _ids(members), _index(position))
    _by_group(heads.attend, offsets, 8 * out.numel(), *scores, *grouping, _array(out))
    return out


def attend_gradients(
    grad: Tensor, softmax: Tensor, ours: Tensor, theirs: Tensor, slope: float, by: Grouping, back: Grouping
) -> tuple[Tensor, Tensor]:
    """Gradients of :func:`attend` for the scores of groups and members."""
    offsets, members, position = by
    change, own = _new(softmax, *softmax.shape), _new(ours, *ours.shape)
    scores = (_array(ours), _array(theirs), _array(ours).dtype.type(slope))
    grouping = (_ids(offsets), _ids(members), _index(position))
    arrays = (_array(grad), _array(softmax), *scores, *grouping, _array(change), _array(own))
    _by_group(heads.attend_gradient, offsets, 4 * grad.numel(), *arrays)
    return own, sum_values(change, None, back)


def head_scores(x: Tensor, vectors: Tensor) -> Tensor:
    """Inner products per head: ``(k, batch, n, heads)`` from ``(batch, n, heads, F)`` and ``(batch, k, heads, F)``."""
    out = _new(x, vectors.shape[1], *x.shape[:3])
    arrays = (_array(x.flatten(2)), _array(vectors.flatten(2)), x.shape[3], _array(out))
    _by_range(elementwise.head_scores, x.shape[1], out.numel() * x.shape[3], *arrays)
    return out


def head_scores_gradients(grad: Tensor, x: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of :func:`head_scores` for both."""
    grad_x = _new(x, *x.shape)
    blocks = -(-x.shape[1] // elementwise.BLOCK)
    parts = np.empty((x.shape[0], blocks, vectors.shape[1], x.shape[2] * x.shape[3]), _array(x).dtype)
    arrays = (_array(grad), _array(x.flatten(2)), _array(vectors.flatten(2)), x.shape[3], _array(grad_x.flatten(2)))
    _by_range(elementwise.head_scores_gradient, blocks, 4 * grad.numel() * x.shape[3], *arrays, parts)
    return grad_x, torch.from_numpy(parts.sum(1)).reshape(vectors.shape)


def matmul(x: Tensor, projection: Tensor) -> Tensor:
    """``(batch or 1, rows, F)`` times ``(batch, F, F')``, one trial at a time: no trial depends on its neighbours."""
    depth, width = projection.shape[1:]
    out = _new(x, projection.shape[0], x.shape[1], width)
    if depth == 0:
        return out.zero_()
    if min(depth, width) > NARROW and depth > SMALL:
        return torch_backend.matmul(x, projection, out)
    _by_range(products.product, x.shape[1], out.numel() * depth, _array(x), _array(projection), _array(out))
    return out


def matmul_backward(x: Tensor, grad: Tensor) -> Tensor:
    """Gradient of :func:`matmul` for the projection: ``xᵀ grad`` of each trial."""
    if grad.shape[2] > NARROW:
        return torch_backend.matmul_backward(x, grad)
    blocks = -(-x.shape[1] // elementwise.BLOCK)
    parts = np.empty((grad.shape[0], blocks, grad.shape[2], x.shape[2]), _array(x).dtype)
    _by_range(elementwise.narrow_gradient, blocks, grad.numel() * x.shape[2], _array(x), _array(grad), parts)
    return torch.from_numpy(parts.sum(1)).transpose(1, 2)


def seeded_dropout(x: Tensor, rate: float, keys: Tensor, places: Tensor | None) -> Tensor:
    """As :func:`hypergnn.kernels.torch_backend.seeded_dropout`, bit for bit."""
    out = _new(x, *x.shape)
    shape = (x.shape[0], x.shape[1] if x.dim() > 1 else 1, prod(x.shape[2:]))
    rows, dropped = (_array(one).reshape(shape) for one in (x, out))
    arrays = (rows, *_dropout(keys, rate, rows.dtype), _index(places), dropped)
    _by_range(elementwise.dropout, rows.shape[1], 4 * rows.size, *arrays)
    return out


def elu_dropout(
    x: Tensor, bias: Tensor | None, rate: float, keys: Tensor | None, places: Tensor | None, rows: Tensor | None
) -> Tensor:
    """As :func:`hypergnn.kernels.composed.elu_dropout`."""
    out = _new(x, *x.shape[:-2], x.shape[-2] if rows is None else rows.shape[0], x.shape[-1])
    given, made = _by_trial(x), _by_trial(out)
    drawing = _dropout(keys, rate, given.dtype)
    arrays = (given, _bias(bias, given), *drawing, _index(places), _index(rows), made)
    _by_range(elementwise.elu_dropout, made.shape[1], 8 * made.size, *arrays)
    return out


def elu_dropout_gradient(
    grad: Tensor,
    y: Tensor,
    has_bias: bool,
    rate: float,
    keys: Tensor | None,
    places: Tensor | None,
    rows: Tensor | None,
    n_rows: int,
) -> tuple[Tensor, Tensor]:
    """Gradients of :func:`elu_dropout` from its outcome ``y``, for ``x`` with its ``n_rows`` and for the bias."""
    outcome = _by_trial(y)
    out, grads = _new(y, *y.shape[:-2], n_rows, y.shape[-1]), _array(grad).reshape(outcome.shape)
    if rows is not None and rows.shape[0] == 0:
        out.zero_()
    blocks = -(-outcome.shape[1] // elementwise.BLOCK)
    parts = np.empty((outcome.shape[0], blocks, outcome.shape[2] if has_bias else 0), outcome.dtype)
    drawing = _dropout(keys, rate, outcome.dtype)
    arrays = (grads, outcome, *drawing, _index(places), _index(rows), _by_trial(out), parts)
    _by_range(elementwise.elu_dropout_gradient, blocks, 4 * outcome.size, *arrays)
    by_bias = torch.from_numpy(parts.sum(1))
    return out, by_bias if y.dim() > 2 else by_bias[0]


def cross_entropy(scores: Tensor, classes: Tensor, rows: Tensor) -> Tensor:
    """As :func:`hypergnn.kernels.composed.cross_entropy`."""
    out = _new(scores, scores.shape[0])
    elementwise.cross_entropy(_array(scores), _ids(classes), _ids(rows), _array(out))
    return out


def cross_entropy_gradient(grad: Tensor, scores: Tensor, classes: Tensor, rows: Tensor) -> Tensor:
    """Gradient of :func:`cross_entropy` for the scores."""
    given = _array(scores)
    out = np.zeros_like(given)
    elementwise.cross_entropy_gradient(given, _ids(classes), _ids(rows), _array(grad), out)
    return torch.from_numpy(out)


def _by_trial(x: Tensor) -> Array:
    """Rows of ``(trials, ..., F)``, or of one trial if there is no such axis, ``(trials, rows, F)``."""
    return _array(x).reshape(x.shape[0] if x.dim() > 2 else 1, -1, x.shape[-1])


def _bias(bias: Tensor | None, rows: Array) -> Array:
    return np.empty((0, 0), rows.dtype) if bias is None else _array(bias).reshape(-1, rows.shape[2])


def adam(parameter: Tensor, mean: Tensor, square: Tensor) -> Callable[[Tensor, float, float, int], None]:
    """As :func:`hypergnn.kernels.torch_backend.adam`; the parameter must be contiguous, for it is changed in place."""
    if not parameter.is_contiguous():
        raise ValueError("parameter must be contiguous; make it so by .contiguous().")
    entries, means, squares = (_array(one).reshape(one.shape[0], -1) for one in (parameter, mean, square))
    kind, width = entries.dtype.type, entries.shape[1]

    def step(grad: Tensor, rate: float, decay: float, number: int) -> None:
        numbers = (kind(rate / (1 - 0.9**number)), kind(decay), kind(1 / (1 - 0.999**number)))
        slopes = _array(grad).reshape(entries.shape)
        _by_range(elementwise.adam_step, width, 4 * entries.size, entries, slopes, means, squares, *numbers)

    return step


def _new(like: Tensor, *shape: int) -> Tensor:
    """An empty tensor of the same dtype."""
    return memory.empty(shape, like.dtype)


def _array(tensor: Tensor) -> Array:
    if tensor.requires_grad:
        tensor = tensor.detach()
    array: Array = (tensor if tensor.is_contiguous() else _new(tensor, *tensor.shape).copy_(tensor)).numpy()
    return array


def _ids(ids: Tensor) -> Array:
    """Indices of a structure, which never need a gradient and lie in order."""
    array: Array = ids.numpy()
    return array


def _index(position: Tensor | None) -> Array:
    return _NO_INDEX if position is None else _ids(position)


def _dropout(keys: Tensor | None, rate: float, dtype: Any) -> tuple[Array, Any, Any]:
    """Keys, threshold and scale as the kernels take them."""
    array = _NO_KEYS if keys is None else _array(keys).view(np.uint32)
    return array, np.uint32(min(round(rate * (1 << 32)), (1 << 32) - 1)), dtype.type(1 / (1 - rate))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="hypergnn")


if hasattr(os, "register_at_fork"):  # a child has none of the threads, and may find their queue locked for ever
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _threads(work: int) -> int:
    return 1 if work < 2 * WORTH_A_THREAD else min(torch.get_num_threads(), work // WORTH_A_THREAD)


def _run(jobs: Sequence[Callable[[], Any]], threads: int) -> list[Any]:
    """Run all jobs, this thread among the others; what they return, in any order."""
    if threads == 1:
        return [job() for job in jobs]
    waiting, done = iter(jobs), []

    def work() -> None:
        for job in iter(lambda: next(waiting, None), None):
            done.append(job())

    helpers = [_pool().submit(work) for _ in range(threads - 1)]
    work()
    for helper in helpers:
        if not helper.cancel():  # it has begun
            helper.result()
    return done


def _by_group(kernel: Callable[..., None], offsets: Tensor, work: int, *arrays: Any) -> None:
    """Run a kernel over all groups."""
    threads = _threads(work)
    if threads == 1:
        kernel(*arrays, 0, offsets.shape[0] - 1)
        return
    _run([partial(kernel, *arrays, *bounds) for bounds in _even(_ids(offsets), threads)], threads)


def _by_range(kernel: Callable[..., Any], size: int, work: int, *arrays: Any) -> list[Any]:
    """Run a kernel over rows that are equally long; what it returned for each range of them."""
    threads = min(_threads(work), max(size, 1))
    if threads == 1:
        return [kernel(*arrays, 0, size)]
    bounds = [size * k // (4 * threads) for k in range(4 * threads + 1)]
    return _run([partial(kernel, *arrays, a, b) for a, b in pairwise(bounds) if b > a], threads)


def _even(offsets: Array, threads: int) -> list[tuple[int, int]]:
    """Ranges of groups with about as many incidences, a few for each thread."""
    ends = np.linspace(0, int(offsets[-1]), 4 * threads + 1)[1:-1]
    bounds = [0, *np.searchsorted(offsets[:-1], ends).tolist(), offsets.size - 1]
    return [(a, b) for a, b in pairwise(bounds) if b > a]
