"""Memory that is freed and wanted again at once, in a worker process of our own."""

from __future__ import annotations

import ctypes

from hypergnn.kernels.cpu import buffers

_TRIM, _MAP = -1, -3  # glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD
_MOST_MAPPED = 32 << 20  # the largest that glibc allows, and what it comes to by itself
_MOST_FREE = 1 << 30


def keep_freed_memory() -> None:
    """Let the C library of this process keep what is freed, up to a gigabyte, as far as it is glibc.

    Every epoch needs the same memory again. What has gone back to the system comes page by page, each cleared first,
    which takes a third of the time of training. The setting holds for the whole process, so it is for workers only.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    set_option(_MAP, _MOST_MAPPED)
    set_option(_TRIM, _MOST_FREE)
    buffers.trust_c_library()
