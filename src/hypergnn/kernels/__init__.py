"""The hot loops: sums, products and softmax over groups of incidences, and the steps of a layer made of them.

Each is one step for autograd, ``torch.compile`` and ``torch.export``, and none ever holds a tensor of incidences ×
features. Shapes: ``x`` is ``(..., members, features)``, or ``(..., members, heads, features)`` together with values
``(..., incidences, heads)``. Values follow the canonical order of the incidences whichever way they are grouped.

Two backends compute the same: loops compiled by numba for CPUs, which fuse several steps, and plain torch for any
device (:mod:`hypergnn.kernels.dispatch`). Gradients of any order are defined. Forward-mode derivatives
(``torch.func.jvp``) are not defined for operators of this kind: torch gives zero for them.
"""

from __future__ import annotations

from math import prod
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor

from hypergnn.kernels import composed, dispatch, ops
from hypergnn.kernels.dispatch import compiled, is_compiled
from hypergnn.structures.incidence import Incidence

__all__ = [
    "Dropout",
    "activated_transition",
    "attend",
    "cross_entropy",
    "csr_matmul",
    "elu_dropout",
    "head_scores",
    "inverse",
    "matmul",
    "seeded_dropout",
    "segment_max",
    "segment_softmax",
    "segment_sum",
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
    _check_sizes(x, own, by, values)
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

    Returns:
        The shape of ``x`` with a row per receiver, and with the trials of all factors.
    """
    own = 2 if values is None else 3
    _check_rows(x, own, senders)
    if values is None and _are_fixed(left, middle, right):
        flat = x if x.dim() == 3 else _flat(x, x.shape[:-2], 2)
        out: Tensor = _steps(x).transition(flat, left, middle, right, None, None, False, senders, receivers)[0]
        return out if x.dim() == 3 else out.reshape(*x.shape[:-2], *out.shape[-2:])
    if values is not None:
        _check_sizes(x, 3, senders.T, values)
    factors = (left, middle, right, values, receiver_values)
    batch = _batch(x.shape[:-own], *[one.shape[:-2] for one in factors if one is not None and one.dim() > 2])
    flat_factors = [None if one is None else _shared(one, batch) for one in factors]
    flat, is_learned = _flat(x, batch, own), _any_learned(*flat_factors)
    if own == 2 and is_learned:
        flat = flat.unsqueeze(2)
    out = _steps(x).transition(flat, *flat_factors, is_learned, senders, receivers)[0]
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
    is_more = x.dim() > 3 or _any_learned(x, bias) or not ops.is_plain(x)
    if is_more or _steps(x) is composed:
        return elu_dropout(transition(x, senders, receivers, left=left, middle=middle, right=right), bias)
    _check_rows(x, 2, senders)
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
    batch = values.shape[:-2] if weight is None else _batch(values.shape[:-2], weight.shape[:-1])
    weights = None if weight is None else weight[None]
    if weight is not None and weight.dim() > 1:
        weights = weight.expand(*batch, weight.shape[-1]).reshape(prod(batch), weight.shape[-1])
    flat = _flat(values, batch, 2)
    is_own = weights is not None and (weights.shape[0] > 1 or _any_learned(weights))
    sums: Tensor = (composed if is_own else _steps(values)).value_sums(flat, weights, by)
    return sums.reshape(*batch, *sums.shape[1:])


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
    batch = _batch(ours.shape[:-2], theirs.shape[:-2])
    softmax: Tensor = _steps(ours).attend(_flat(ours, batch, 2), _flat(theirs, batch, 2), slope, by)
    return softmax.reshape(*batch, *softmax.shape[-2:])


def head_scores(x: Tensor, *vectors: Tensor) -> tuple[Tensor, ...]:
    """Inner products of ``x`` ``(..., n, heads, features)`` with each of some vectors ``(..., heads, features)``."""
    batch = _batch(x.shape[:-3], *[one.shape[:-2] for one in vectors])
    together = torch.stack([_flat(one, batch, 2) for one in vectors], 1)  # (batch, k, heads, features)
    scores: Tensor = _steps(x).head_scores(_flat(x, batch, 3), together)
    return tuple(one.reshape(*batch, *x.shape[-3:-1]) for one in scores.unbind(0))


def segment_max(x: Tensor, by: Incidence) -> Tensor:
    """The largest entry per group of the rows of ``x`` ``(..., members, features)``, feature by feature.

    The gradient goes to the member that has it, the first of several.

    Returns:
        ``(..., groups, features)``; 0 for an empty group.
    """
    _check_sizes(x, 2, by, None)
    batch = x.shape[:-2]
    flat = _flat(x, batch, 2)
    which = ops.segment_argmax(flat.detach(), by)  # (trials, groups, features)
    found = flat.gather(1, which.clamp(min=0)) if flat.shape[1] else flat.new_zeros(which.shape)
    return found.masked_fill(which < 0, 0).reshape(*batch, by.n_rows, x.shape[-1])


def segment_softmax(logits: Tensor, by: Incidence) -> Tensor:
    """Softmax of ``logits``, ``(..., incidences, heads)``, over the incidences of each group."""
    softmax: Tensor = ops.segment_softmax(_flat(logits, logits.shape[:-2], 2), by)
    return softmax.reshape(logits.shape)


def matmul(x: Tensor, projection: Tensor) -> Tensor:
    """``x`` ``(trials or none, N, F)`` times ``projection`` ``(trials, F, F')``, each trial computed by itself."""
    product: Tensor = ops.matmul(x if x.dim() == 3 else x.unsqueeze(0), projection)
    return product


def csr_matmul(x: Tensor, projection: Tensor) -> Tensor:
    """A sparse CSR tensor times a matrix; by the compiled loops, several times as fast, where nothing is learned."""
    if _any_learned(x, projection) or _steps(x) is composed:
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
    losses: Tensor = _steps(scores).cross_entropy(scores, classes, rows)
    return losses


def seeded_dropout(x: Tensor, dropout: Dropout) -> Tensor:
    """Dropout of ``x``, ``(trials, rows, ...)``."""
    dropped: Tensor = ops.seeded_dropout(x, dropout.rate, dropout.keys, dropout.places)
    return dropped


def elu_dropout(x: Tensor, bias: Tensor | None = None, dropout: Dropout | None = None) -> Tensor:
    """ELU of ``x`` ``(trials or none, ..., N, F)`` plus ``bias`` ``(trials or none, F)``, then dropout if given."""
    rate, keys, places = (0.0, None, None) if dropout is None else dropout
    x, bias = _of_trials(x, bias)
    activated: Tensor = _steps(x).elu_dropout(x, bias, rate, keys, places)
    return activated


def _of_trials(x: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Rows and bias with the same trials, or both without, whichever of them has such."""
    if bias is None:
        return x, bias
    if bias.shape[-1] != x.shape[-1]:
        raise ValueError(f"bias must have {x.shape[-1]} entries, one per feature; got {tuple(bias.shape)}.")
    if x.dim() == bias.dim() == 2:
        return x.expand(bias.shape[0], *x.shape), bias
    return x, bias if x.dim() == 2 or bias.shape[:-1] == x.shape[:1] else bias.expand(x.shape[0], -1)


def _check_rows(x: Tensor, n_own: int, senders: Incidence) -> None:
    """Raise unless there is a row for each sender."""
    n_senders = senders.offsets.shape[0] - 1
    if x.dim() < n_own or x.shape[-n_own] != n_senders:
        raise ValueError(f"x must have {n_senders} rows, one per member; got {tuple(x.shape)}.")


def _check_sizes(x: Tensor, n_own: int, by: Incidence, values: Tensor | None) -> None:
    """Raise unless compiled loops, which look at no bounds, find all that they will read."""
    n_members, n_incidences = by.n_columns, by.n_pairs
    if x.shape[-n_own] != n_members:
        raise ValueError(f"x must have {n_members} rows, one per member; got {tuple(x.shape)}.")
    if values is None:
        return
    given = values.shape[1 - n_own if n_own == 3 else -1]
    may_be_some = by.position is not None and by.back_position is not None and not values.requires_grad
    if given < n_incidences or (given > n_incidences and not may_be_some):
        raise ValueError(f"values must have an entry for each of {n_incidences} incidences; got {tuple(values.shape)}.")
    if values.dtype != x.dtype:
        raise TypeError(f"values must have the dtype of x, {x.dtype}; got {values.dtype}. Convert one by .to().")


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
    """One axis for all trials, whose shape becomes ``batch``, before the ``n_own`` axes that ``x`` has itself."""
    if x.dim() == n_own + 1 and x.shape[:1] == batch:
        return x
    if not batch:
        return x.unsqueeze(0)
    own = x.shape[x.dim() - n_own :]
    return x.expand(*batch, *own).reshape(prod(batch), *own)


def _shared(x: Tensor, batch: tuple[int, ...]) -> Tensor:
    """The same for something with two axes of its own, with one trial if all have it in common."""
    if x.dim() == 2:
        return x.unsqueeze(0)
    return x.reshape(1, *x.shape[-2:]) if prod(x.shape[:-2]) == 1 else _flat(x, batch, 2)


def _are_fixed(*factors: Tensor | None) -> bool:
    """Whether no factor is learned and each, ``(1, rows, 1)``, is the same for all trials and heads."""
    learning = torch.is_grad_enabled()
    for one in factors:
        if one is not None and (one.dim() != 3 or one.shape[0] != 1 or one.shape[2] != 1):
            return False
        if learning and one is not None and one.requires_grad:
            return False
    return True


def _any_learned(*tensors: Tensor | None) -> bool:
    return torch.is_grad_enabled() and any(one is not None and one.requires_grad for one in tensors)
