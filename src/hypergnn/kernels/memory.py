"""Memory for what the kernels make.

What is large is mapped once, in large pages, and lent: when the last array or tensor that looks at it is gone, it waits
for the next. The system may take back what waits whenever it is short, but until then a step of training does not ask
for its memory page by page, each cleared first, as it would of the C library, which gives up all that is large as soon
as it is freed.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Sequence
from contextlib import suppress
from math import prod

import numpy as np
import torch
from torch import Tensor

LARGE = 4 << 20
"""Bytes from which on memory is lent."""

_LENDS = hasattr(mmap, "MADV_FREE") and hasattr(mmap, "MADV_HUGEPAGE")
_idle: list[mmap.mmap] = []


def empty(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """A tensor whose entries are whatever they were, and begin where the processor fetches memory: at 64 bytes.

    Rows that straddle such places are read more slowly, by a tenth to a fifth; NumPy's arrays begin at any 16 bytes.

    Example:
        >>> empty((2708, 64), torch.float32).shape
        torch.Size([2708, 64])
    """
    count = prod(shape)
    if count * dtype.itemsize < LARGE or not _LENDS:
        return torch.empty(shape, dtype=dtype)
    block = _borrow(count * dtype.itemsize)
    lent = np.frombuffer(block, np.uint8)
    weakref.finalize(lent, _give_back, block).atexit = False
    return torch.from_numpy(lent)[: count * dtype.itemsize].view(dtype).view(*shape)


def _borrow(size: int) -> mmap.mmap:
    """The smallest idle block that is large enough and not far too large, or a new one in place of some idle ones."""
    fitting = [block for block in _idle if size <= len(block) <= size + size // 4]
    for block in sorted(fitting, key=len):
        with suppress(ValueError):  # another thread has taken it
            _idle.remove(block)
            return block
    missing = size
    with suppress(IndexError):
        while missing > 0:
            missing -= len(_idle.pop(0))
    block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    block.madvise(mmap.MADV_HUGEPAGE)
    return block


def _give_back(block: mmap.mmap) -> None:
    block.madvise(mmap.MADV_FREE)
    _idle.append(block)


def _forget() -> None:
    """After a fork: what was idle lies in the parent's memory, and using it would copy it."""
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
