"""The hot loops: sums, products and softmax over groups of incidences, and the steps of a layer made of them.

Each is one step for autograd, ``torch.compile`` and ``torch.export``, and none ever holds a tensor of incidences ×
features. Shapes: ``x`` is ``(..., members, features)``, or ``(..., members, heads, features)`` together with values
``(..., incidences, heads)``. Values follow the canonical order of the incidences whichever way they are grouped.

Two backends compute the same: loops compiled by numba for CPUs, which fuse several steps, and plain torch for any
device (:mod:`hypergnn.kernels.dispatch`). Gradients of any order are defined. While ``torch.func`` transforms the
program, or derivatives are taken in forward mode, operations that torch can transform take the place of the loops.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from math import prod
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor

from hypergnn.kernels import checks, composed, dispatch, ops, split
from hypergnn.kernels.dispatch import AdamStep, compiled, is_compiled
from hypergnn.kernels.ops import is_transformed
from hypergnn.structures.incidence import KNOWN, Incidence, Known

__all__ = [
    "AdamStep",
    "Dropout",
    "activated_transition",
    "adam_step",
    "attend",
    "cross_entropy",
    "csr_matmul",
    "elu_dropout",
    "head_scores",
    "in_plain_torch",
    "inverse",
    "is_transformed",
    "matmul",
    "matmul_gradient",
    "pair_dot",
    "relu_dropout",
    "seeded_dropout",
    "segment_max",
    "segment_softmax",
    "segment_sum",
    "total",
    "transition",
    "value_sums",
]


class Dropout(NamedTuple):
    """Which entries are dropped: a function of a trial's keys and of their place, never held as a mask."""

    rate: float
    keys: Tensor  # (trials, 2) int32, on the CPU
    places: Tensor | None = None  # (rows,) the numbers of the rows among all; 0, 1, 2, … if omitted


def segment_sum(x: Tensor, by: Incidence, values: Tensor | None = None, dropout: Dropout | None = None) -> Tensor:
    """Sum, per group, the rows of ``x`` that belong to it: a sparse matrix times ``x``.

    Args:
        x: ``(..., members, features)``, or ``(..., members, heads, features)`` if there are values.
        by: The grouping.
        values: Factor of each incidence and head, ``(..., incidences, heads)``; all ones if omitted.
        dropout: Dropout of the values of each trial; ``x`` is then ``(trials, members, features)`` and the values are
            ``(incidences,)``, shared by the trials.

    Returns:
        ``(..., groups, features)`` or ``(..., groups, heads, features)``; exactly 0 for an empty group.
    """
    own = 2 if values is None or dropout is not None else 3
    known = _known(by)
    if x.dim() < own or x.shape[-own] != known.n_columns:
        raise ValueError(f"x must have {known.n_columns} rows, one per member; got {tuple(x.shape)}.")
    if dropout is not None:
        _check_dropped(x, by, known, values, dropout)
    elif values is not None:
        _check_values("values", values, by, known, x.shape[-2], x)
    if dropout is not None and values is not None:
        total: Tensor = _steps(x).dropped_sum(x, values, dropout.keys, dropout.rate, by)
        return total
    wide = x.unsqueeze(-2) if values is None else x  # (..., members, heads, features)
    batch = wide.shape[:-3] if values is None else _batch(wide.shape[:-3], values.shape[:-2])
    flat_values = None if values is None else _shared(values, batch)
    total = ops.segment_sum(_flat(wide, batch, 3), flat_values, by)
    return total.reshape(*batch, by.n_rows, *x.shape[-1 if values is None else -2 :])


def transition(
    x: Tensor,
    senders: Incidence,
    receivers: Incidence,
    *,
    left: Tensor | None = None,
    middle: Tensor | None = None,
    right: Tensor | None = None,
    values: Tensor | None = None,
    receiver_values: Tensor | None = None,
    parts: split.Adds | None = None,
) -> Tensor:
    """Rows of the senders summed per hyperedge, and these summed per receiver: ``left R middle Sᵀ right x``.

    Args:
        x: ``(..., senders, features)``, or ``(..., senders, heads, features)`` if there are values.
        senders: ``S``, senders × hyperedges.
        receivers: ``R``, receivers × hyperedges.
        left: Factor of each row of the result, ``(..., receivers, heads or 1)``; 1 if omitted.
        middle: Factor of each hyperedge, ``(..., hyperedges, heads or 1)``.
        right: Factor of each row before the sums, ``(..., senders, heads or 1)``.
        values: Factor of each pair of ``S`` and head, ``(..., pairs, heads)``; all ones if omitted.
        receiver_values: The same for ``R``, where its pairs are others.
        parts: Adds up the sums of the hyperedges if other processes hold some of the senders.

    Returns:
        The shape of ``x`` with a row per receiver, and with the trials of all factors.
    """
    own = 2 if values is None else 3
    are_fixed = _check_sides(x, own, senders, receivers, left, middle, right)
    step: Callable[..., tuple[Tensor, Tensor]] = _steps(x).transition if parts is None else split.transition(parts)
    if are_fixed and values is None and receiver_values is None:
        flat = x if x.dim() == 3 else _flat(x, x.shape[:-2], 2)
        out = step(flat, left, middle, right, None, None, False, senders, receivers)[0]
        return out if x.dim() == 3 else out.reshape(*x.shape[:-2], *out.shape[-2:])
    _check_both_values(x, senders, receivers, values, receiver_values)
    factors = (left, middle, right, values, receiver_values)
    batch = _batch(x.shape[:-own], *[one.shape[:-2] for one in factors if one is not None and one.dim() > 2])
    flat_factors = [None if one is None else _shared(one, batch) for one in factors]
    flat, is_learned = _flat(x, batch, own), _any_learned(*flat_factors)
    if own == 2 and is_learned:
        flat = flat.unsqueeze(2)
    out = step(flat, *flat_factors, is_learned, senders, receivers)[0]
    shape = (*batch, receivers.n_rows, *x.shape[1 - own :])
    return out if out.shape == shape else out.reshape(shape)


def activated_transition(
    x: Tensor,
    senders: Incidence,
    receivers: Incidence,
    *,
    left: Tensor | None,
    middle: Tensor | None,
    right: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    """ELU of :func:`transition` plus a bias, ``(trials or none, F)``; in one step where nothing is learned."""
    are_fixed = _check_sides(x, 2, senders, receivers, left, middle, right)
    if not are_fixed or x.dim() > 3 or _any_learned(x, bias) or not ops.is_plain(x) or _steps(x) is composed:
        return elu_dropout(transition(x, senders, receivers, left=left, middle=middle, right=right), bias)
    x, bias = _of_trials(x, bias)
    factors = (None, None, left, middle, right)
    activated: Tensor = compiled.backend.transition(x, senders, receivers, *factors, activates=True, bias=bias)
    return activated


def value_sums(values: Tensor, by: Incidence, weight: Tensor | None = None) -> Tensor:
    """Sums of ``values`` ``(..., incidences, heads)`` over the incidences of each group, ``(..., groups, heads)``.

    Args:
        values: ``(..., incidences, heads)``.
        by: The grouping.
        weight: Factor of each member, ``(..., members)``; ``None`` is 1.
    """
    known = _known(by)
    _check_values("values", values, by, known, values.shape[-1], values)
    if weight is not None and not _ends_in(weight, values, known.n_columns):
        checks.check_ends("weight", weight, (known.n_columns,), "one entry per member", values)
    batch = values.shape[:-2] if weight is None else _batch(values.shape[:-2], weight.shape[:-1])
    weights = None if weight is None else weight[None]
    if weight is not None and weight.dim() > 1:
        weights = weight.expand(*batch, weight.shape[-1]).reshape(prod(batch), weight.shape[-1])
    flat = _flat(values, batch, 2)
    is_own = weights is not None and (weights.shape[0] > 1 or _any_learned(weights))
    sums: Tensor = (composed if is_own else _steps(values)).value_sums(flat, weights, by)
    return sums.reshape(*batch, *sums.shape[1:])


def total(sums: Tensor, parts: split.Adds | None) -> Tensor:
    """Sums of hyperedges ``(..., M, F)`` over all processes; the sums themselves if this process holds all vertices."""
    if parts is None:
        return sums
    return split.total(_flat(sums, sums.shape[:-2], 2), parts).reshape(sums.shape)


def inverse(degree: Tensor, *, root: bool, least: float) -> Tensor:
    """``1 / degree``, or its root; 0 where there is no more than the least degree."""
    inverted: Tensor = _steps(degree).inverse(degree, root, least)
    return inverted


def attend(ours: Tensor, theirs: Tensor, by: Incidence, slope: float) -> Tensor:
    """Attention of groups to their members: softmax per group of LeakyReLU of the sum of both scores.

    Args:
        ours: Scores of the groups, ``(..., groups, heads)``.
        theirs: Scores of the members, ``(..., members, heads)``.
        by: The grouping.
        slope: Slope of LeakyReLU below 0.

    Returns:
        ``(..., incidences, heads)``.
    """
    known, n_heads = _in_order(by), ours.shape[-1]
    if not _ends_in(ours, ours, known.n_rows, n_heads):
        checks.check_ends("ours", ours, (known.n_rows, n_heads), "one entry per group and head")
    if not _ends_in(theirs, ours, known.n_columns, n_heads):
        checks.check_ends("theirs", theirs, (known.n_columns, n_heads), "one entry per member and head", ours)
    batch = _batch(ours.shape[:-2], theirs.shape[:-2])
    softmax: Tensor = _steps(ours).attend(_flat(ours, batch, 2), _flat(theirs, batch, 2), slope, by)
    return softmax.reshape(*batch, *softmax.shape[-2:])


def head_scores(x: Tensor, *vectors: Tensor) -> tuple[Tensor, ...]:
    """Inner products of ``x`` ``(..., n, heads, features)`` with each of some vectors ``(..., heads, features)``."""
    if x.dim() < 3:
        checks.check_dense("x", x, 3)
    for one in vectors:
        if not _ends_in(one, x, *x.shape[-2:]):
            checks.check_ends("vectors", one, tuple(x.shape[-2:]), "one entry per head and feature", x)
    batch = _batch(x.shape[:-3], *[one.shape[:-2] for one in vectors])
    together = torch.stack([_flat(one, batch, 2) for one in vectors], 1)  # (batch, k, heads, features)
    scores: Tensor = _steps(x).head_scores(_flat(x, batch, 3), together)
    return tuple(one.reshape(*batch, *x.shape[-3:-1]) for one in scores.unbind(0))


def pair_dot(ours: Tensor, theirs: Tensor, by: Incidence) -> Tensor:
    """Inner product, head by head, of both ends of each incidence.

    Args:
        ours: Rows of the groups, ``(..., groups, heads, features)``.
        theirs: Rows of the members, ``(..., members, heads, features)``.
        by: The grouping.

    Returns:
        ``(..., incidences, heads)``.
    """
    known = _in_order(by)
    checks.check_dense("ours", ours, 3)
    if not _ends_in(ours, ours, known.n_rows, *ours.shape[-2:]):
        checks.check_ends("ours", ours, (known.n_rows, *ours.shape[-2:]), "one row per group")
    if not _ends_in(theirs, ours, known.n_columns, *ours.shape[-2:]):
        ends = (known.n_columns, *ours.shape[-2:])
        checks.check_ends("theirs", theirs, ends, "one row per member, with the heads and features of ours", ours)
    batch = _batch(ours.shape[:-3], theirs.shape[:-3])
    dots: Tensor = ops.incidence_dot(_flat(ours, batch, 3), _flat(theirs, batch, 3), by)
    return dots.reshape(*batch, *dots.shape[-2:])


def segment_max(x: Tensor, by: Incidence) -> Tensor:
    """The largest entry per group of the rows of ``x`` ``(..., members, features)``, feature by feature.

    The gradient goes to the member that has it, the first of several.

    Returns:
        ``(..., groups, features)``; 0 for an empty group.
    """
    known = _known(by)
    checks.check_dense("x", x, 2)
    checks.check_ends("x", x, (known.n_columns, x.shape[-1]), "a row per member")
    batch = x.shape[:-2]
    flat = _flat(x, batch, 2)
    which = ops.segment_argmax(flat.detach(), by)  # (trials, groups, features)
    found = flat.gather(1, which.clamp(min=0)) if flat.shape[1] else flat.new_zeros(which.shape)
    return found.masked_fill(which < 0, 0).reshape(*batch, by.n_rows, x.shape[-1])


def segment_softmax(logits: Tensor, by: Incidence) -> Tensor:
    """Softmax of ``logits``, ``(..., incidences, heads)``, over the incidences of each group."""
    if not _ends_in(logits, logits, _in_order(by).n_places, logits.shape[-1]):
        checks.check_ends("logits", logits, (by.n_pairs, logits.shape[-1]), "one entry per incidence and head")
    softmax: Tensor = ops.segment_softmax(_flat(logits, logits.shape[:-2], 2), by)
    return softmax.reshape(logits.shape)


def matmul(x: Tensor, projection: Tensor) -> Tensor:
    """``x`` ``(trials or none, N, F)`` times ``projection`` ``(trials, F, F')``, each trial computed by itself."""
    wide = x if x.dim() == 3 else x.unsqueeze(0)
    (trials, _, depth), shape = wide.shape if wide.dim() == 3 else (0, 0, 0), projection.shape
    is_fitting = len(shape) == 3 and depth == shape[1] and (trials == shape[0] or trials == 1)
    if not is_fitting or x.dtype != projection.dtype:
        checks.check_product(x, projection)
    product: Tensor = ops.matmul(wide, projection)
    return product


def matmul_gradient(x: Tensor, grad: Tensor) -> Tensor:
    """``xᵀ grad`` of ``(trials, N, F)`` and ``(trials, N, F')``, as in the gradient of :func:`matmul`."""
    checks.check_rows_alike(x, grad)
    product: Tensor = ops.matmul_backward(x, grad)
    return product


def csr_matmul(x: Tensor, projection: Tensor) -> Tensor:
    """A sparse CSR tensor times a matrix; by the compiled loops, several times as fast, where nothing is learned."""
    checks.check_ends("projection", projection, (x.shape[-1], projection.shape[-1]), "a row per feature", x)
    checks.check_csr(x)
    is_more = x.dim() != 2 or projection.dim() != 2 or not ops.is_plain(projection)
    if is_more or _any_learned(x, projection) or _steps(x) is composed:
        return x @ projection
    rows = (x.crow_indices(), x.col_indices(), None)
    columns, values = projection.unsqueeze(0).unsqueeze(2), x.values().view(1, -1, 1)
    product: Tensor = ops.segment_sum(columns, values, Incidence(*rows, *rows))
    return product.view(x.shape[0], projection.shape[1])


def cross_entropy(scores: Tensor, classes: Tensor, rows: Tensor) -> Tensor:
    """Mean cross-entropy of each trial, ``(trials,)``, over some rows of ``scores`` ``(trials, N, classes)``.

    Args:
        scores: The scores.
        classes: The class of each row, ``(N,)``.
        rows: Which rows.
    """
    checks.check_classes(scores, classes, rows)
    losses: Tensor = _steps(scores).cross_entropy(scores, classes, rows)
    return losses


def seeded_dropout(x: Tensor, dropout: Dropout) -> Tensor:
    """Dropout of ``x``, ``(trials, rows, ...)``."""
    checks.check_dense("x", x, 1)
    checks.check_draws(x, x.shape[0], x.shape[1] if x.dim() > 1 else 1, dropout)
    dropped: Tensor = ops.seeded_dropout(x, dropout.rate, dropout.keys, dropout.places)
    return dropped


def elu_dropout(x: Tensor, bias: Tensor | None = None, dropout: Dropout | None = None) -> Tensor:
    """ELU of ``x`` ``(trials or none, ..., N, F)`` plus ``bias`` ``(trials or none, F)``, then dropout if given."""
    return _activated("elu_dropout", x, bias, dropout)


def relu_dropout(x: Tensor, bias: Tensor | None = None, dropout: Dropout | None = None) -> Tensor:
    """The same with ReLU."""
    return _activated("relu_dropout", x, bias, dropout)


def _activated(name: str, x: Tensor, bias: Tensor | None, dropout: Dropout | None) -> Tensor:
    checks.check_dense("x", x, 2)
    rate, keys, places = (0.0, None, None) if dropout is None else dropout
    x, bias = _of_trials(x, bias)
    if dropout is not None:
        checks.check_draws(x, x.shape[0] if x.dim() > 2 else 1, prod(x.shape[1:-1] or x.shape[:1]), dropout)
    activated: Tensor = getattr(_steps(x), name)(x, bias, rate, keys, places)
    return activated


def adam_step(parameter: Tensor, mean: Tensor, square: Tensor) -> AdamStep:
    """The step of Adam of one parameter, which updates it and both of its moments in place.

    Returns:
        A function of the gradient, the learning rate, the factor of the L2 penalty and the number of the step.
    """
    return dispatch.backend_for(parameter).adam(parameter, mean, square)


def in_plain_torch() -> AbstractContextManager[None]:
    """Within the block, all threads compute in plain torch, which formats of other programs can express."""
    return dispatch.using("torch")


def _of_trials(x: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Give ``x`` and ``bias`` the same trial axis, or none if neither has one."""
    if bias is None:
        return x, bias
    if bias.shape[-1] != x.shape[-1]:
        raise ValueError(f"bias must have {x.shape[-1]} entries, one per feature; got {tuple(bias.shape)}.")
    if bias.dtype != x.dtype or bias.device != x.device or bias.dim() > 2:
        checks.check_alike("bias", bias, x)
        raise ValueError(f"bias must have shape (trials or none, {x.shape[-1]}); got {tuple(bias.shape)}.")
    if bias.dim() == 2 and x.dim() > 2 and bias.shape[0] not in (1, x.shape[0]):
        raise ValueError(f"bias must have {x.shape[0]} trials, as x has; got {tuple(bias.shape)}.")
    if x.dim() == bias.dim() == 2:
        return x.expand(bias.shape[0], *x.shape), bias
    return x, bias if x.dim() == 2 or bias.shape[:-1] == x.shape[:1] else bias.expand(x.shape[0], -1)


def _known(pairs: Incidence) -> Known:
    """What is known of pairs, which are sound and unchanged; or raise.

    The same as :meth:`Incidence.check <hypergnn.structures.Incidence.check>`, but quicker if they are known already.
    """
    if not torch.compiler.is_compiling():
        known = KNOWN.get(tuple(map(id, pairs)))
        offsets, members, position, back_offsets, back_members, back_position = pairs
        if known is not None and known.changes >= 0:
            changes = offsets._version + members._version + back_offsets._version + back_members._version
            changes += 0 if position is None else position._version
            if known.changes == changes + (0 if back_position is None else back_position._version):
                return known
        known = pairs.check()
        if known is not None:
            return known
    return Known(-1, pairs.n_pairs, pairs.n_rows, pairs.n_columns)


def _in_order(pairs: Incidence) -> Known:
    """The same; raise if the pairs are some rows of a larger grouping, so that results per incidence have no order."""
    known = _known(pairs)
    if known.n_places != pairs.members.shape[0]:
        raise ValueError("by must be a complete grouping; got one that selects some rows of a larger one.")
    return known


def _ends_in(x: Tensor, like: Tensor, *ends: int) -> bool:
    """Whether the last axes are these, and the dtype is the same."""
    return x.shape[-len(ends) :] == ends and x.dtype == like.dtype


def _check_sides(
    x: Tensor,
    n_own: int,
    senders: Incidence,
    receivers: Incidence,
    left: Tensor | None,
    middle: Tensor | None,
    right: Tensor | None,
) -> bool:
    """Raise unless there is a row for each sender, and a factor for each receiver, hyperedge and sender if any.

    Returns:
        Whether no factor is learned and each, ``(1, rows, 1)``, is the same for all trials and heads.
    """
    sent = _known(senders)
    received = sent if receivers is senders else _known(receivers)
    shape, dtype = x.shape, x.dtype
    if len(shape) < n_own or shape[-n_own] != sent.n_rows:
        raise ValueError(f"x must have {sent.n_rows} rows, one per member; got {tuple(shape)}.")
    if received.n_columns != sent.n_columns:
        raise ValueError(f"receivers must have the {sent.n_columns} hyperedges of the senders.")
    are_fixed, learning = True, torch.is_grad_enabled()
    for name, one, size in (
        ("left", left, received.n_rows),
        ("middle", middle, sent.n_columns),
        ("right", right, sent.n_rows),
    ):
        if one is None:
            continue
        own = one.shape
        if own != (1, size, 1):
            are_fixed = False
            n_heads = shape[-2] if n_own == 3 else 1
            if len(own) < 2 or own[-2] != size or (own[-1] != 1 and own[-1] != n_heads):
                raise ValueError(f"{name} must have shape (..., {size}, {n_heads} or 1); got {tuple(own)}.")
        if one.dtype != dtype:
            checks.check_alike(name, one, x)
        if learning and one.requires_grad:
            are_fixed = False
    return are_fixed


def _check_both_values(
    x: Tensor, senders: Incidence, receivers: Incidence, values: Tensor | None, receiver_values: Tensor | None
) -> None:
    """Raise unless the values of both sides are given, one for each pair and head."""
    if values is None:
        if receiver_values is not None:
            raise ValueError("receiver_values must come with values of the senders.")
        return
    _check_values("values", values, senders, _known(senders), x.shape[-2], x)
    if receiver_values is not None:
        _check_values("receiver_values", receiver_values, receivers, _known(receivers), x.shape[-2], x)
    elif receivers is not senders and any(one is not other for one, other in zip(senders, receivers, strict=True)):
        raise ValueError("receiver_values must be given: the pairs of the receivers are not those of the senders.")


def _check_values(name: str, values: Tensor, by: Incidence, known: Known, n_heads: int, x: Tensor) -> None:
    """Raise unless there is a value per incidence and head; a selection of rows may get the values of all rows."""
    if _ends_in(values, x, known.n_places, n_heads):
        return
    checks.check_dense(name, values, 2)
    given, n_incidences = values.shape[-2], by.n_pairs
    may_be_some = by.position is not None and by.back_position is not None and not values.requires_grad
    if given < known.n_places or (given > n_incidences and not may_be_some) or values.shape[-1] != n_heads:
        heads = "" if values.shape[-1] == n_heads else f" and {n_heads} heads"
        shape = tuple(values.shape)
        raise ValueError(f"{name} must have an entry for each of {n_incidences} incidences{heads}; got {shape}.")
    checks.check_alike(name, values, x)


def _check_dropped(x: Tensor, by: Incidence, known: Known, values: Tensor | None, dropout: Dropout) -> None:
    """Raise unless values that the trials share can be dropped for each of them."""
    if values is None:
        raise ValueError("values must be given with dropout, which drops some of them.")
    if x.dim() != 3 or values.dim() != 1:
        raise ValueError("x must be (trials, members, features) and values (incidences,) with dropout.")
    _check_values("values", values.unsqueeze(-1), by, known, 1, x)
    checks.check_draws(x, x.shape[0], values.shape[0], dropout)


_known_steps: dict[tuple[str, str, torch.dtype], ModuleType] = {}


def _steps(x: Tensor) -> ModuleType:
    """The operators of several steps: fused, or composed of elementary ones."""
    if torch.compiler.is_compiling():
        return compiled.fused if is_compiled(x.device.type, x.dtype) else composed
    key = (dispatch.wanted, x.device.type, x.dtype)
    if key not in _known_steps:
        _known_steps[key] = compiled.fused if is_compiled(x.device.type, x.dtype) else composed
    return _known_steps[key]


def _batch(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of the trials of all."""
    if len(shapes) == 1:
        return shapes[0]
    different = {shape for shape in shapes if shape}
    return tuple(torch.broadcast_shapes(*different)) if len(different) > 1 else next(iter(different), ())


def _flat(x: Tensor, batch: tuple[int, ...], n_own: int) -> Tensor:
    """Expand the leading axes of ``x`` to ``batch`` and flatten them into one; the last ``n_own`` axes stay."""
    if x.dim() == n_own + 1 and x.shape[:1] == batch:
        return x
    if not batch:
        return x.unsqueeze(0)
    own = x.shape[x.dim() - n_own :]
    return x.expand(*batch, *own).reshape(prod(batch), *own)


def _shared(x: Tensor, batch: tuple[int, ...]) -> Tensor:
    """The same for a tensor with two axes of its own; one trial if all trials share it."""
    if x.dim() == 2:
        return x.unsqueeze(0)
    return x.reshape(1, *x.shape[-2:]) if prod(x.shape[:-2]) == 1 else _flat(x, batch, 2)


def _any_learned(*tensors: Tensor | None) -> bool:
    return torch.is_grad_enabled() and any(one is not None and one.requires_grad for one in tensors)
