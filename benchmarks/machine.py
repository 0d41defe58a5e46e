"""Description of the machine that was measured."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hypergnn.training.environment import environment

_PEERS = ("torch-geometric", "dhg", "numba")


def describe(threads: int) -> dict[str, Any]:
    """CPU, cores, threads, memory and versions, in JSON types; nothing that identifies the computer."""
    return {
        **environment(),
        **{name: _version(name) for name in _PEERS},
        "threads": threads,
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "backend": os.environ.get("HYPERGNN_BACKEND", "auto"),
        "load": round(os.getloadavg()[0], 2),
    }


def free_bytes() -> int:
    """Memory that a process can use without swapping."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) * 1024


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
