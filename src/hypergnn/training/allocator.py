"""Allocator options of worker processes, which free and reuse the same memory every epoch."""

from __future__ import annotations

import ctypes

from hypergnn.kernels.memory import trust_c_library

_TRIM, _MAP = -1, -3  # glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD
_MOST_MAPPED = 32 << 20  # the maximum of glibc, which its own heuristic approaches
_MOST_FREE = 1 << 30


def keep_freed_memory() -> None:
    """Make glibc keep up to a gigabyte of freed memory in this process; do nothing with other C libraries.

    Every epoch allocates the same memory. Memory returned to the system comes back page by page, and the kernel clears
    each page first, which takes a third of the training time. The option affects the whole process, so it is for
    worker processes only.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    set_option(_MAP, _MOST_MAPPED)
    set_option(_TRIM, _MOST_FREE)
    trust_c_library()
