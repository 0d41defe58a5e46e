"""The portable backend: plain torch, any device. ``embedding_bag`` gathers and sums without storing gathered rows."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from hypergnn.structures.incidence import Incidence

CHUNK = 1 << 18  # elements per gather, where a gather cannot be avoided; they fit into a cache
LINE = 64
"""Bytes to which a matrix is aligned for a product."""


def segment_sum(x: Tensor, values: Tensor | None, by: Incidence) -> Tensor:
    """``(batch, members, heads, features)`` summed per group: ``(batch, groups, heads, features)``."""
    batch, _, heads, features = x.shape
    offsets, members, position = by[:3]
    out = x.new_zeros(batch, by.n_rows, heads, features)
    if members.shape[0] == 0 or out.numel() == 0:
        return out
    if values is not None and position is not None:
        values = values[:, position]
    for trial in range(batch):
        for head in range(heads):
            out[trial, :, head] = embedding_bag(
                members,
                x[trial, :, head].contiguous(),
                offsets,
                mode="sum",
                per_sample_weights=None if values is None else values[trial % values.shape[0], :, head].contiguous(),
                include_last_offset=True,
            )
    return out


def incidence_dot(rows: Tensor, columns: Tensor, by: Incidence) -> Tensor:
    """Inner product of both ends of each incidence: ``(batch, incidences, heads)``."""
    batch, _, heads, features = rows.shape
    offsets, members, position = by[:3]
    out = rows.new_empty(batch, members.shape[0], heads)
    group_of = _group_of(offsets)
    place = torch.arange(members.shape[0], device=members.device) if position is None else position.long()
    step = max(CHUNK // max(batch * heads * features, 1), 1)
    for groups, others, places in zip(group_of.split(step), members.split(step), place.split(step), strict=True):
        products = rows.index_select(1, groups) * columns.index_select(1, others)  # (batch, step, heads, features)
        out.index_copy_(1, places, products.sum(-1))
    return out


def segment_argmax(x: Tensor, by: Incidence) -> Tensor:
    """The member with the largest entry, the first of several: ``(batch, groups, features)`` int64, -1 if none."""
    batch, n_members, features = x.shape
    out = torch.full((batch, by.n_rows, features), -1, dtype=torch.int64, device=x.device)
    if by.n_pairs == 0 or out.numel() == 0:
        return out
    offsets, members, group_of = by.offsets.long(), by.members.long(), _group_of(by.offsets)
    step = max(CHUNK // by.n_pairs, 1)
    for trial in range(batch):
        for start in range(0, features, step):
            rows = x[trial, :, start : start + step].index_select(0, members)  # (pairs, step)
            highest = torch.segment_reduce(rows, "max", offsets=offsets, axis=0)
            is_one = rows == highest.index_select(0, group_of)
            candidates = torch.where(is_one, members.unsqueeze(-1), n_members)
            least = torch.full_like(highest, n_members, dtype=torch.int64)
            least.scatter_reduce_(0, group_of.unsqueeze(-1).expand_as(candidates), candidates, "amin")
            out[trial, :, start : start + step] = torch.where(least < n_members, least, -1)
    return out


def segment_softmax(logits: Tensor, by: Incidence) -> Tensor:
    """Softmax within each group: ``(batch, incidences, heads)``."""
    offsets, _, position = by[:3]
    if logits.numel() == 0:
        return torch.empty_like(logits)
    grouped = logits if position is None else logits[:, position]
    group_of = _group_of(offsets)
    highest = torch.segment_reduce(grouped.movedim(1, 0), "max", offsets=offsets.long(), axis=0)  # (groups, ...)
    powers = (grouped - highest[group_of].movedim(0, 1)).exp()
    return _ungroup(powers / _sum_per_group(powers, offsets, group_of), position)


def segment_total(values: Tensor, by: Incidence) -> Tensor:
    """For each incidence, the sum of ``values`` over its group: ``(batch, incidences, heads)``."""
    offsets, _, position = by[:3]
    if values.numel() == 0:
        return torch.empty_like(values)
    grouped = values if position is None else values[:, position]
    return _ungroup(_sum_per_group(grouped, offsets, _group_of(offsets)), position)


def matmul(x: Tensor, projection: Tensor, out: Tensor | None = None) -> Tensor:
    """``(batch or 1, rows, F)`` times ``(batch, F, F')``, trial by trial, so that no trial depends on the others."""
    out = x.new_empty(projection.shape[0], x.shape[1], projection.shape[2]) if out is None else out
    for trial in range(projection.shape[0]):
        _multiply(x[trial if x.shape[0] > 1 else 0], projection[trial], out[trial])
    return out


def matmul_backward(x: Tensor, grad: Tensor) -> Tensor:
    """Gradient of :func:`matmul` for the projection: ``xᵀ grad`` for each trial."""
    out = x.new_empty(grad.shape[0], x.shape[2], grad.shape[2])
    for trial in range(grad.shape[0]):
        _multiply(_aligned(x[trial if x.shape[0] > 1 else 0]).T, grad[trial], out[trial])
    return out


def _multiply(x: Tensor, projection: Tensor, out: Tensor) -> None:
    """A product whose bits do not depend on where its matrices lie: libraries may round differently by alignment."""
    x, projection = _aligned(x), _aligned(projection)
    if out.data_ptr() % LINE:
        out.copy_(x @ projection)
    else:
        torch.mm(x, projection, out=out)


def _aligned(x: Tensor) -> Tensor:
    return x.clone() if x.data_ptr() % LINE else x


def seeded_dropout(x: Tensor, rate: float, keys: Tensor, places: Tensor | None) -> Tensor:
    """Zero entries of ``x`` ``(trials, rows, ...)`` with probability ``rate`` and scale the others.

    Whether an entry is dropped depends only on the keys of its trial, ``(trials, 2)``, and on its position within the
    trial: two rounds of a 32-bit mixing function, one per key. If ``x`` holds some rows of a larger array, ``places``
    are their positions in it.
    """
    flat = x.reshape(x.shape[0], prod(x.shape[1:]))
    out = torch.empty_like(flat)
    position = torch.arange(flat.shape[1], dtype=torch.int32, device=x.device)
    if places is not None:
        width = prod(x.shape[2:])
        position = (places.int().unsqueeze(1) * width + position[:width]).flatten()
    bits, spare = torch.empty_like(position), torch.empty_like(position)
    for trial, (first, second) in enumerate(keys.tolist()):  # one by one, so that its numbers stay in the cache
        torch.add(position, first, out=bits)
        _mix_(bits, spare)
        _mix_(bits.bitwise_xor_(second), spare)
        remains = bits >= round(rate * (1 << 32)) - (1 << 31)
        torch.mul(flat[trial], remains, out=out[trial])
    return out.mul_(1 / (1 - rate)).reshape(x.shape)


def adam(parameter: Tensor, mean: Tensor, square: Tensor) -> Callable[[Tensor, float, float, int], None]:
    """An in-place step of Adam (betas 0.9 and 0.999, L2 penalty) that takes gradient, rate, decay and step number."""

    def step(grad: Tensor, rate: float, decay: float, number: int) -> None:
        grad = grad + decay * parameter
        mean.lerp_(grad, 0.1)
        square.mul_(0.999).addcmul_(grad, grad, value=0.001)
        root = (square / (1 - 0.999**number)).sqrt_().add_(1e-8)
        parameter.addcdiv_(mean, root, value=-rate / (1 - 0.9**number))

    return step


def _mix_(bits: Tensor, spare: Tensor) -> None:
    """Mix 32-bit integers in place: every output bit depends on every input bit. Shifts are unsigned."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B - (1 << 32)), (16, 1)):
        torch.bitwise_right_shift(bits, shift, out=spare)
        bits.bitwise_xor_(spare.bitwise_and_((1 << (32 - shift)) - 1))
        if factor != 1:
            bits.mul_(factor)


def _group_of(offsets: Tensor) -> Tensor:
    sizes = offsets.diff()
    return torch.repeat_interleave(torch.arange(sizes.shape[0], device=offsets.device), sizes)


def _sum_per_group(values: Tensor, offsets: Tensor, group_of: Tensor) -> Tensor:
    """For each incidence, in grouped order, the sum of ``values`` over its group, ``(batch, incidences, heads)``."""
    sums = torch.segment_reduce(values.movedim(1, 0).contiguous(), "sum", offsets=offsets.long(), axis=0)
    return sums[group_of].movedim(0, 1)


def _ungroup(grouped: Tensor, position: Tensor | None) -> Tensor:
    if position is None:
        return grouped.contiguous()
    out = torch.empty(grouped.shape, dtype=grouped.dtype, device=grouped.device)
    out[:, position] = grouped
    return out
