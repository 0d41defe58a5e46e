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
"""Bytes from which on memory is lent."""
KEPT_LARGE = 4 << 20
"""The same while buffers are reused and the C library, which is quicker, does not give up what is freed either."""
LARGE_PAGE = 2 << 20
"""Bytes of a large page."""
SPARE = 1 << 26
"""Bytes that may wait without being offered to the system, which takes longer than to lend them."""
ROOM = 1.5
"""How much there may be, lent and waiting, for each byte of the most that was lent whenever a block was mapped."""

NO_INDEX = np.empty(0, dtype=np.int32)
_NO_KEYS = np.empty((0, 2), dtype=np.uint32)

_LENDS = hasattr(mmap, "MADV_FREE") and hasattr(mmap, "MADV_HUGEPAGE")


class _Loan(weakref.ref[Any]):
    """A block that is lent until an array is gone."""

    __slots__ = ("block",)
    block: mmap.mmap


_loans: dict[int, _Loan] = {}
_ended: list[_Loan] = []
_idle: list[mmap.mmap] = []
_keepers: list[object] = []  # not a number: threads change it, and these operations are whole
_most = 0
_c_library_keeps = False


def empty(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """A tensor whose entries are whatever they were, and begin where the processor fetches memory: at 64 bytes.

    Rows that straddle such places are read more slowly, by a tenth to a fifth; NumPy's arrays begin at any 16 bytes.

    Example:
        >>> empty((2708, 64), torch.float32).shape
        torch.Size([2708, 64])
    """
    size = prod(shape) * dtype.itemsize
    if size < (KEPT_LARGE if _keepers and _c_library_keeps else LARGE) or not _LENDS:
        return _example(dtype).new_empty(shape)  # in half the time of torch.empty
    block = _borrow(size)
    array: Any = np.ndarray(shape, _example(dtype).numpy().dtype, block)
    loan = _Loan(array, _ended.append)  # no line of Python may run there: it would take an interrupt upon itself
    loan.block = block
    _loans[id(loan)] = loan
    return torch.from_numpy(array)


@cache
def _example(dtype: torch.dtype) -> Tensor:
    return torch.empty(0, dtype=dtype, device="cpu")


@contextmanager
def reused_buffers() -> Iterator[None]:
    """Within the block the system does not get what waits: where all is wanted again soon, to offer it costs time."""
    _keepers.append(None)
    try:
        yield
    finally:
        with suppress(IndexError):  # in a child, forked within the block
            _keepers.pop()
        release()


def trust_c_library() -> None:
    """Note that the C library of this process keeps what is freed: small buffers are then left to it."""
    global _c_library_keeps
    _c_library_keeps = True


def release() -> None:
    """Give all memory that waits back to the system."""
    global _most
    _collect(offers=False)
    _idle.clear()
    _most = 0


def _borrow(size: int) -> mmap.mmap:
    """An idle block of this size, or the smallest that is large enough and not far too large, or a new one.

    With a new one those go that have waited longest, if there are more than a step of training has use for.
    """
    global _most
    _collect()
    for block in reversed(_idle):
        if len(block) == size:
            with suppress(ValueError):  # another thread has taken it
                _idle.remove(block)
                return block
    lent = sum(len(loan.block) for loan in list(_loans.values())) + size
    _most = max(_most, lent)
    fitting = [block for block in _idle if size <= len(block) <= 2 * size]
    for block in sorted(fitting, key=len):
        with suppress(ValueError):  # another thread has taken it
            _idle.remove(block)
            return block
    surplus = lent + sum(map(len, list(_idle))) - ROOM * _most
    with suppress(IndexError):
        while surplus > 0:
            surplus -= len(_idle.pop(0))
    try:
        block = _map(size)
    except OSError:
        _idle.clear()  # it may be enough
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
    """Let what was lent and came back wait for the next; until then, the system may have it if it is much."""
    with suppress(IndexError):
        while _ended:
            loan = _ended.pop(0)
            _loans.pop(id(loan), None)
            if offers and not _keepers and len(loan.block) + sum(map(len, list(_idle))) > SPARE:
                _advise(loan.block, "MADV_FREE")
            _idle.append(loan.block)


def _begin_anew() -> None:
    _keepers.clear()
    release()


def _advise(block: mmap.mmap, name: str) -> None:
    with suppress(OSError):  # a system may not heed it
        block.madvise(getattr(mmap, name))


if hasattr(os, "register_at_fork"):  # what waits lies in the parent's memory: using it would copy it
    os.register_at_fork(after_in_child=_begin_anew)


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
