"""Memory for what the kernels make, and tensors as the arrays that they take.

Large buffers are mapped once, in huge pages if they fill any, and reused: when the last array or tensor that looks at
one is gone, it waits for the next. The system may take back waiting buffers whenever it is short of memory, unless
they are small or :func:`reused <reused_buffers>`. The C library would give up everything large as soon as it is freed,
and get it back page by page, each cleared first. Small arrays come from the C library.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[Any]

LARGE = 1 << 17
"""Bytes from which on memory comes from the pool."""
KEPT_LARGE = 4 << 20
"""The same while buffers are reused and the C library, which is quicker, does not give up what is freed either."""
LARGE_PAGE = 2 << 20
"""Bytes of a huge page."""
SPARE = 1 << 26
"""Bytes that may wait in the pool without being offered to the system, which costs more than reusing them."""
ROOM = 1.5
"""Most bytes in use and waiting, as a multiple of the most that were in use at a time."""

NO_INDEX = np.empty(0, dtype=np.int32)
_NO_KEYS = np.empty((0, 2), dtype=np.uint32)

_POOLS = hasattr(mmap, "MADV_FREE") and hasattr(mmap, "MADV_HUGEPAGE")


class _InUse(weakref.ref[Any]):
    """A buffer that is in use until its array is gone."""

    __slots__ = ("block",)
    block: mmap.mmap


_in_use: dict[int, _InUse] = {}
_released: list[_InUse] = []
_idle: list[mmap.mmap] = []
_keepers: list[object] = []  # a list, because threads change it and its operations are atomic
_most = 0
_c_library_keeps = False


def empty(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """An uninitialised tensor, aligned to the 64 bytes that a processor fetches at a time.

    Rows that straddle such a boundary are read 10 to 20 % more slowly; NumPy aligns its arrays to 16 bytes only.

    Example:
        >>> empty((2708, 64), torch.float32).shape
        torch.Size([2708, 64])
    """
    size = prod(shape) * dtype.itemsize
    if size < (KEPT_LARGE if _keepers and _c_library_keeps else LARGE) or not _POOLS:
        return _example(dtype).new_empty(shape)  # takes half the time of torch.empty
    block = _take(size)
    array: Any = np.ndarray(shape, _example(dtype).numpy().dtype, block)
    used = _InUse(array, _released.append)  # not Python code, which an interrupt could stop
    used.block = block
    _in_use[id(used)] = used
    return torch.from_numpy(array)


@cache
def _example(dtype: torch.dtype) -> Tensor:
    return torch.empty(0, dtype=dtype, device="cpu")


@contextmanager
def reused_buffers() -> Iterator[None]:
    """Within the block, waiting buffers are not offered to the system, because they are needed again soon."""
    _keepers.append(None)
    try:
        yield
    finally:
        with suppress(IndexError):  # in a child, forked within the block
            _keepers.pop()
        release()


def trust_c_library() -> None:
    """Leave small buffers to the C library, which in this process does not give up what is freed."""
    global _c_library_keeps
    _c_library_keeps = True


def release() -> None:
    """Give all waiting buffers back to the system."""
    global _most
    _collect(offers=False)
    _idle.clear()
    _most = 0


def _take(size: int) -> mmap.mmap:
    """An idle buffer of this size, or the smallest that is at most twice as large, or a new one.

    For a new one, those that have waited longest are dropped if there are more than a training step needs.
    """
    global _most
    _collect()
    for block in reversed(_idle):
        if len(block) == size:
            with suppress(ValueError):  # another thread has taken it
                _idle.remove(block)
                return block
    in_use = sum(len(used.block) for used in list(_in_use.values())) + size
    _most = max(_most, in_use)
    fitting = [block for block in _idle if size <= len(block) <= 2 * size]
    for block in sorted(fitting, key=len):
        with suppress(ValueError):  # another thread has taken it
            _idle.remove(block)
            return block
    surplus = in_use + sum(map(len, list(_idle))) - ROOM * _most
    with suppress(IndexError):
        while surplus > 0:
            surplus -= len(_idle.pop(0))
    try:
        block = _map(size)
    except OSError:
        _idle.clear()  # which may free enough
        try:
            block = _map(size)
        except OSError as error:
            raise MemoryError(f"The system has no {size / 1e9:.1f} GB of memory left.") from error
    if size >= LARGE_PAGE:
        _advise(block, "MADV_HUGEPAGE")
    return block


def _map(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _collect(*, offers: bool = True) -> None:
    """Move released buffers to the idle ones; offer them to the system if there are many."""
    with suppress(IndexError):
        while _released:
            used = _released.pop(0)
            _in_use.pop(id(used), None)
            if offers and not _keepers and len(used.block) + sum(map(len, list(_idle))) > SPARE:
                _advise(used.block, "MADV_FREE")
            _idle.append(used.block)


def _start_afresh() -> None:
    _keepers.clear()
    release()


def _advise(block: mmap.mmap, name: str) -> None:
    with suppress(OSError):  # it is only advice
        block.madvise(getattr(mmap, name))


if hasattr(os, "register_at_fork"):  # idle buffers are the parent's: using them would copy them
    os.register_at_fork(after_in_child=_start_afresh)


def new(like: Tensor, *shape: int) -> Tensor:
    """An empty tensor of the same dtype."""
    return empty(shape, like.dtype)


def array_of(tensor: Tensor) -> Array:
    """The numbers of a tensor, copied only where they do not lie one after the other."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    array: Array = (tensor if tensor.is_contiguous() else new(tensor, *tensor.shape).copy_(tensor)).numpy()
    return array


def ids_of(ids: Tensor) -> Array:
    """Indices of a structure, which never need a gradient and lie in order."""
    array: Array = ids.numpy()
    return array


def index_of(position: Tensor | None) -> Array:
    """Indices that may not be there: then none."""
    return NO_INDEX if position is None else ids_of(position)


def drawing_of(keys: Tensor | None, rate: float, dtype: Any) -> tuple[Array, Any, Any]:
    """Keys, threshold and scale as the kernels take them."""
    array = _NO_KEYS if keys is None else array_of(keys).view(np.uint32)
    return array, np.uint32(min(round(rate * (1 << 32)), (1 << 32) - 1)), dtype.type(1 / (1 - rate))
