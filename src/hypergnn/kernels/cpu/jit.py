"""Compilation of the loops by numba, on their first call, with a cache on disk; they release the interpreter lock."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from hypergnn.kernels.cpu.cache import KernelFiles

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError("numba must be allowed to compile: NUMBA_DISABLE_JIT is set.")

Array = npt.NDArray[Any]
Kernel = Callable[..., Any]

SOURCES = (
    "large_groups",
    "simd",
    "jit",
    "segment_loops",
    "dropped_loops",
    "gemm_loops",
    "dot_loops",
    "attention_loops",
    "pointwise_loops",
    "pooling_loops",
    "partition_loops",
    "sampling_loops",
)
"""The modules with compiled functions, and with the constants compiled into them."""


def compiled(function: Kernel) -> Kernel:
    """Compile a kernel on its first call, and cache it on disk if a cache folder is writable."""
    try:
        return _compile(function, cache=True)
    except RuntimeError:  # no writable folder: compile again in each process
        return _compile(function, cache=False)


def _compile(function: Kernel, *, cache: bool) -> Kernel:
    fastmath = {"contract", "reassoc", "nsz"}
    kernel: Any = numba.njit(cache=cache, nogil=True, error_model="numpy", fastmath=fastmath)(function)
    if cache:
        own = kernel._cache
        own._cache_file = KernelFiles(Path(own.cache_path) / "kernels", own._impl.filename_base, _sources())
    return kernel  # type: ignore[no-any-return]


@functools.cache
def _sources() -> str:
    """A digest of all compiled sources, for kernels inline functions of other files, and of what compiles them."""
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    for name in SOURCES:
        digest.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    return digest.hexdigest()


inlined = numba.njit(inline="always")


@inlined
def random_bits(place: Any, first: Any, second: Any) -> Any:
    """32 random bits for a position under two keys: two rounds of a mixing function, as in the torch backend."""
    bits = np.uint32(np.uint32(place) + first)
    bits = np.uint32((bits ^ (bits >> np.uint32(16))) * np.uint32(0x7FEB352D))
    bits = np.uint32((bits ^ (bits >> np.uint32(15))) * np.uint32(0x846CA68B))
    bits = np.uint32((bits ^ (bits >> np.uint32(16))) ^ second)
    bits = np.uint32((bits ^ (bits >> np.uint32(16))) * np.uint32(0x7FEB352D))
    bits = np.uint32((bits ^ (bits >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(bits ^ (bits >> np.uint32(16)) ^ np.uint32(0x80000000))
