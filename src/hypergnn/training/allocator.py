"""Memory that is freed and wanted again at once."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypergnn.kernels.cpu import buffers

_TRIM, _MAP = -1, -3  # glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD
_MOST_MAPPED = 32 << 20  # the largest that glibc allows, and what it comes to by itself
_KEPT, _KEPT_AFTERWARDS = 1 << 30, 64 << 20


@contextmanager
def kept_memory() -> Iterator[None]:
    """Have what is freed in the block kept, and given back to the system afterwards.

    Every epoch wants the same memory again. What has gone back to the system meanwhile comes page by page, each cleared
    first: a third of the time of training. Kept is what the kernels lend, and what the C library frees, up to a
    gigabyte; the latter only by glibc.

    Example:
        >>> with kept_memory():
        ...     pass
    """
    try:
        library = ctypes.CDLL(None)
        set_option: Any = library.mallopt
        give_back: Any = library.malloc_trim
    except (AttributeError, OSError, TypeError):
        set_option = give_back = _do_nothing
    set_option(_MAP, _MOST_MAPPED)
    set_option(_TRIM, _KEPT)
    try:
        with buffers.kept():
            yield
    finally:
        set_option(_TRIM, _KEPT_AFTERWARDS)
        give_back(0)


def _do_nothing(*_: int) -> None:
    pass
