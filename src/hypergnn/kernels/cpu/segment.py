"""Sums of rows in the compiled backend: over groups, there and back, with dropout, and of large groups by walking."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hypergnn.kernels.cpu import dropped_loops, large_groups, segment_loops, threads
from hypergnn.kernels.cpu.attention import sum_values
from hypergnn.kernels.cpu.buffers import NO_INDEX, Array, array_of, drawing_of, ids_of, index_of, new
from hypergnn.kernels.cpu.large_groups import PIECE, LargeGroups
from hypergnn.kernels.cpu.pointwise import bias_of, elu_dropout
from hypergnn.structures.incidence import Incidence

CACHED = 1 << 16
"""Numbers that the cache of a core holds beside others."""
_ONE = {kind: np.ones((1, 1, 8), kind) for kind in "fd"}
_NOTHING = {kind: np.empty((0, 0, 0), kind) for kind in "fd"}
_NO_BIAS = {kind: np.empty((0, 0), kind) for kind in "fd"}


def segment_sum(x: Tensor, values: Tensor | None, by: Incidence) -> Tensor:
    """``(batch, members, heads, features)`` summed per group: ``(batch, groups, heads, features)``."""
    return gather(x, by, values)


def gather(
    x: Tensor,
    by: Incidence,
    values: Tensor | None = None,
    *,
    inner: Tensor | None = None,
    outer: Tensor | None = None,
) -> Tensor:
    """:func:`segment_sum` with rows scaled before or after.

    Args:
        x: ``(batch, members, heads, features)``.
        by: The grouping.
        values: ``(batch or 1, incidences, heads)``.
        inner: Factor of each member, ``(batch or 1, members, heads or 1)``; not together with values.
        outer: Factor of each group, ``(batch or 1, groups, heads or 1)``.
    """
    batch, _, n_heads, features = x.shape
    if features == 1 and values is not None and outer is None:
        return sum_values(values.expand(batch, -1, -1), x.squeeze(-1), by).unsqueeze(-1)
    rows, ids = array_of(x).reshape(batch, x.shape[1], n_heads * features), ids_of(by.members)
    kind = rows.dtype.char
    entries = _entries(values, by.position, inner, by.members, n_heads, kind)
    last, found = _outer(outer, kind), None
    if values is None and n_heads == 1:
        found = large_groups.large_groups(by, rows.shape[2] * rows.itemsize)
    most = PIECE if found is None else min(PIECE, found.most)

    def sum_range(ends: Array, scale: bool, out: Array, start: int, stop: int) -> Any:
        factors = last if scale else _outer(None, kind)
        return segment_loops.gather(rows, *entries, ends, ids, *factors, out, n_heads, most, start, stop)

    out = new(x, batch, by.n_rows, n_heads, features)
    made = array_of(out).reshape(batch, by.n_rows, n_heads * features)
    _in_pieces(sum_range, ids_of(by.offsets), made, outer, None if found is None else found.most)
    if found is not None:
        total = _walk(rows, inner, found)
        made[:, found.groups] = total if outer is None else total * array_of(outer)[:, found.groups]
    return out


def _walk(rows: Array, factor: Tensor | None, found: LargeGroups) -> Array:
    """The sums of large groups, ``(batch, groups, width)``, by walking the rows of each trial."""
    (batch, _, width), n_blocks = rows.shape, found.bounds.size - 1
    like = torch.from_numpy(rows[:0])
    parts, wholes = (array_of(new(like, n_blocks, n, width)) for n in (found.groups.size, found.n_giants))
    factors = np.empty((1, 0), rows.dtype) if factor is None else array_of(factor).reshape(factor.shape[:2])
    total = np.empty((batch, found.groups.size, width), rows.dtype)
    for trial in range(batch):
        own = factors[trial if factors.shape[0] > 1 else 0]
        arrays = (rows[trial], own, found.offsets, found.members, found.bounds, parts, wholes)
        threads.by_range(segment_loops.scatter, n_blocks, found.members.size * width, *arrays)
        parts.sum(0, out=total[trial])
        total[trial, : found.n_giants] += wholes.sum(0)
    return total


def transition(
    x: Tensor,
    senders: Incidence,
    receivers: Incidence,
    values: Tensor | None,
    receiver_values: Tensor | None,
    left: Tensor | None,
    middle: Tensor | None,
    right: Tensor | None,
    *,
    activates: bool = False,
    bias: Tensor | None = None,
) -> Tensor:
    """``left R middle Sᵀ right x``, the last one only without values; or ELU of that, plus a bias if there is one."""
    if x.dim() == 4:
        n_heads, rows = x.shape[2], array_of(x).reshape(*x.shape[:2], x.shape[2] * x.shape[3])
    else:
        n_heads, rows = 1, array_of(x) if x.dim() == 3 else array_of(x)[None]
    batch, n_rows, width = rows.shape
    n_groups, n_back = senders.back_offsets.shape[0] - 1, receivers.offsets.shape[0] - 1
    shape = (*x.shape[:-2], n_back, width) if x.dim() < 4 else (batch, n_back, *x.shape[2:])
    back_values = values if receiver_values is None else receiver_values

    def in_two() -> Tensor:
        wide = x.reshape(batch, n_rows, n_heads, width // n_heads)
        between = gather(wide, senders.T, values, inner=right, outer=middle)
        out = gather(between, receivers, back_values, outer=left).view(shape)
        return elu_dropout(out, bias, 0.0, None, None) if activates else out

    work = senders.members.shape[0] * batch * width
    is_far = max(n_rows, n_groups, n_back) * width * rows.itemsize > large_groups.CACHE  # the same sums in any thread
    if is_far or (work >= 2 * threads.WORTH_A_THREAD and threads.threads_for(work) > 1):
        return in_two()
    kind = rows.dtype.char
    added = _NO_BIAS[kind]
    if activates:
        added = np.zeros((batch, width), rows.dtype) if bias is None else bias_of(bias, rows)
    between, out = new(x, batch, n_groups, width), new(x, *shape)
    giants = segment_loops.two_gathers(
        rows,
        *_entries(values, senders.back_position, right, senders.back_members, n_heads, kind),
        ids_of(senders.back_offsets),
        ids_of(senders.back_members),
        *_outer(middle, kind),
        array_of(between),
        *_entries(back_values, receivers.position, None, receivers.members, n_heads, kind),
        ids_of(receivers.offsets),
        ids_of(receivers.members),
        *_outer(left, kind),
        array_of(out).reshape(batch, n_back, width),
        n_heads,
        added,
    )
    return in_two() if giants else out


def _entries(
    values: Tensor | None, position: Tensor | None, inner: Tensor | None, members: Tensor, n_heads: int, kind: str
) -> tuple[Array, Array]:
    """Factors of the incidences as the kernels take them: entries, and which of them each incidence has."""
    if values is not None:
        return array_of(values), index_of(position)
    if inner is not None:
        return array_of(inner if n_heads == 1 else inner.expand(-1, -1, n_heads)), ids_of(members)
    return _NOTHING[kind], NO_INDEX


def _outer(outer: Tensor | None, kind: str) -> tuple[Array, int]:
    """Factors of the groups as the kernels take them: entries, and how many each group has."""
    return (_ONE[kind], 0) if outer is None else (array_of(outer), outer.shape[2])


def dropped_sum(x: Tensor, by: Incidence, values: Tensor, rate: float, keys: Tensor) -> Tensor:
    """:func:`segment_sum` of ``x`` ``(batch, members, features)`` with dropout of values, each trial its own."""
    rows, ends = array_of(x), ids_of(by.offsets)
    drawing = drawing_of(keys, rate, rows.dtype)
    out = new(x, x.shape[0], ends.size - 1, x.shape[2])
    (trials, n_rows, width), n_groups, n_incidences = x.shape, ends.size - 1, by.n_pairs
    blocks = -(-n_rows // dropped_loops.BLOCK)
    if n_groups * width <= CACHED < n_rows * width // 4 and blocks * n_groups + n_rows <= n_incidences:
        parts = new(x, trials, blocks, n_groups, width)
        walked = (
            rows,
            array_of(values),
            index_of(by.back_position),
            *drawing,
            ids_of(by.back_offsets),
            ids_of(by.back_members),
            array_of(parts),
        )
        if not any(threads.by_range(dropped_loops.scatter_dropped, blocks, n_incidences * trials * width, *walked)):
            array_of(parts).sum(1, out=array_of(out))
            return out
    given, ids = (array_of(values), index_of(by.position), *drawing), ids_of(by.members)

    def sum_range(ends: Array, scale: bool, out: Array, start: int, stop: int) -> Any:
        return dropped_loops.gather_dropped(rows, *given, ends, ids, out, start, stop)

    _in_pieces(sum_range, ends, array_of(out), None)
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
    n_threads = threads.threads_for(int(ends[-1]) * batch * width)
    if n_threads == 1:
        n_giants = sum_range(ends, True, out, 0, ends.size - 1)
    else:
        n_giants = sum(
            threads.run_all(
                [partial(sum_range, ends, True, out, *bounds) for bounds in threads.even_ranges(ends, n_threads)],
                n_threads,
            )
        )
    if n_giants == 0 or (largest is not None and largest <= PIECE):
        return
    jobs, pieces, sizes = [], {}, np.diff(ends)
    for giant in np.flatnonzero((sizes > PIECE) & (sizes <= (largest or ends[-1]))).tolist():
        cuts = np.append(np.arange(ends[giant], ends[giant + 1], PIECE), ends[giant + 1]).astype(ends.dtype)
        pieces[giant] = part = np.empty((batch, cuts.size - 1, width), out.dtype)
        step = -(-part.shape[1] // (4 * n_threads))
        starts = range(0, part.shape[1], step)
        jobs += [partial(sum_range, cuts, False, part, start, min(start + step, part.shape[1])) for start in starts]
    threads.run_all(jobs, n_threads)
    for giant, part in pieces.items():
        total = part[:, 0].copy()
        for piece in range(1, part.shape[1]):  # in their order, whichever thread summed them
            total += part[:, piece]
        if outer is not None:
            factor = array_of(outer[:, giant, :, None])  # (batch or 1, heads or 1, 1)
            total = (total.reshape(batch, factor.shape[1], -1) * factor).reshape(batch, width)
        out[:, giant] = total
