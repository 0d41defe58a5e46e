"""Checks of pairs that are stored in both orders: compiled loops look at no bounds, so somebody has to, once.

A set of pairs is sound if every loop over it stays inside its arrays and both orders hold the same pairs. The checks
read each array about once, in stretches, and need little memory beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

STRETCH = 1 << 20
"""Number of pairs that are looked at together."""


def check_ids_alike(tensors: Sequence[Tensor]) -> None:
    """Raise unless all are one-dimensional tensors of ids in memory order, of one integer type, on one device."""
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"ids must be tensors; got {type(tensor).__name__}.")
        if tensor.layout != torch.strided or tensor.dim() != 1 or tensor.dtype not in (torch.int32, torch.int64):
            raise ValueError(f"ids must be int32 or int64, all alike; got {tensor.dtype} {tuple(tensor.shape)}.")
    first = tensors[0]
    for tensor in tensors:
        if tensor.dtype != first.dtype:
            raise ValueError(f"ids must be int32 or int64, all alike; got {tensor.dtype} {tuple(tensor.shape)}.")
        if tensor.device != first.device:
            raise ValueError(f"ids must be on one device; got {first.device} and {tensor.device}.")
        if not tensor.is_contiguous():
            raise ValueError("ids must be contiguous; call .contiguous().")


def check_offsets(offsets: Tensor, n_pairs: int) -> None:
    """Raise unless offsets ascend from 0 to the number of pairs."""
    if offsets.shape[0] == 0:
        raise ValueError("offsets must not be empty: they start with 0.")
    first, last = int(offsets[0]), int(offsets[-1])
    if first != 0 or last != n_pairs or bool((offsets.diff() < 0).any()):
        raise ValueError(f"offsets must ascend from 0 to {n_pairs}; got {first} to {last}.")


def check_range(name: str, ids: Tensor, size: int) -> None:
    """Raise unless all ids are at least 0 and below ``size``."""
    if ids.shape[0] == 0:
        return
    low, high = (int(one) for one in torch.aminmax(ids))
    if low < 0 or high >= size:
        raise ValueError(f"{name} must hold ids from 0 to {size - 1}; got {low if low < 0 else high}.")


def check_order(offsets: Tensor, members: Tensor) -> None:
    """Raise unless the members of each group ascend without repetition."""
    n_pairs = members.shape[0]
    is_first = torch.zeros(n_pairs + 1, dtype=torch.bool, device=members.device)
    is_first[offsets.long()] = True
    for start in range(0, n_pairs - 1, STRETCH):
        stop = min(start + STRETCH, n_pairs - 1)
        ascends = members[start + 1 : stop + 1] > members[start:stop]
        if not bool((ascends | is_first[start + 1 : stop + 1]).all()):
            raise ValueError("the ids of each group must ascend without repetition.")


def check_both_orders(
    offsets: Tensor, members: Tensor, back_offsets: Tensor, back_members: Tensor, position: Tensor | None
) -> None:
    """Raise unless pairs grouped by row, in canonical order, are those grouped by column.

    Args:
        offsets: Where each row begins.
        members: The column of each pair.
        back_offsets: Where each column begins.
        back_members: The row of each pair, grouped by column.
        position: Where each pair of a column stands in the canonical order; in the same place if omitted.
    """
    columns = torch.repeat_interleave(back_offsets.diff(), output_size=members.shape[0])
    for start in range(0, members.shape[0], STRETCH):
        own = slice(start, start + STRETCH)
        rows = back_members[own]
        places = torch.arange(start, start + rows.shape[0], device=rows.device) if position is None else position[own]
        is_in_row = (offsets.index_select(0, rows) <= places) & (places < offsets[1:].index_select(0, rows))
        if not bool((is_in_row & (members.index_select(0, places) == columns[own])).all()):
            raise ValueError("the pairs grouped by row must be those grouped by column.")


def check_placed(pairs: Sequence[Tensor], back: Sequence[Tensor]) -> None:
    """Raise unless both groupings hold the same pairs at the same places, which are those in a larger array.

    Args:
        pairs: Offsets, members and places, grouped by row.
        back: The same, grouped by column.
    """
    (offsets, members, places), (back_offsets, back_members, back_places) = pairs, back
    n_pairs = members.shape[0]
    placed, order = places.sort()
    back_placed, back_order = back_places.sort()
    if bool((placed.diff() <= 0).any()) or not torch.equal(placed, back_placed):
        raise ValueError("each pair must have its own place, the same in both orders.")
    rows = torch.repeat_interleave(offsets.diff(), output_size=n_pairs)
    columns = torch.repeat_interleave(back_offsets.diff(), output_size=n_pairs)
    same_rows = torch.equal(rows[order], back_members.to(rows.dtype)[back_order])
    if not (same_rows and torch.equal(members.to(columns.dtype)[order], columns[back_order])):
        raise ValueError("the pairs grouped by row must be those grouped by column.")
