"""A step of one contestant in a process of its own, with a limit to its memory: how long, and how much memory."""

from __future__ import annotations

import ctypes
import gc
import json
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.machine import free_bytes

SHARE = 0.5  # of the free memory that a process may take
LONGEST = 10.0  # seconds of a step that is not repeated
_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "bad_alloc", "Cannot allocate memory", "alloc_failed")


def run(name: str, n_incidences: int, *, threads: int, seconds: float, repetitions: int = 0) -> dict[str, Any]:
    """Measure a contestant elsewhere.

    Args:
        name: ``"ours"`` or the name of a peer.
        n_incidences: The size of the hypergraph.
        threads: Threads of torch, for times at most.
        seconds: When to give up.
        repetitions: How many further steps to time; one, where it takes long.

    Returns:
        ``outcome``, one of ``"measured"``, ``"out of memory"`` or how it ended otherwise; if measured, ``peak_bytes``
        above the inputs in the first step, and ``seconds`` of the further ones.
    """
    limit = int(SHARE * free_bytes())
    order = {"name": name, "size": n_incidences, "threads": threads, "limit": limit, "repetitions": repetitions}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.isolated", json.dumps(order)]
    try:
        child = subprocess.run(
            command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return {"outcome": f"not finished after {seconds:g} s", "limit_bytes": limit}
    if child.returncode == 0:
        answer: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
        return answer
    if child.returncode < 0:
        return {"outcome": f"ended by signal {-child.returncode}", "limit_bytes": limit}
    if any(sign in child.stderr for sign in _OUT_OF_MEMORY) or "MemoryError" in child.stderr:
        asked = re.search(r"tried to allocate (\d+) bytes", child.stderr)
        return {
            "outcome": "out of memory",
            "limit_bytes": limit,
            "asked_bytes": int(asked[1]) if asked else None,
        }
    raise RuntimeError(f"{name} must run in a process of its own; it failed with\n{child.stderr}")


def main(order: dict[str, Any]) -> dict[str, Any]:
    """Measure in this process."""
    import torch

    from benchmarks.large import conv_step, sized
    from benchmarks.measuring import Contestant, prepare

    torch.set_num_threads(order["threads"])
    conv_step(order["name"], sized(10_000))(2)  # imports, compiled code and threads are no matter of size
    H = sized(order["size"])
    _limit(order["limit"])
    step = conv_step(order["name"], H)
    before = _settled()
    step(1)
    peak = _status("VmHWM")
    result = {"outcome": "measured", "peak_bytes": peak - before}
    if not order["repetitions"]:
        return result
    ready = prepare(Contestant(order["name"], step), seconds=0.0, all_threads=order["threads"], is_warm=True)
    times = [ready.seconds_per_unit()]
    while len(times) < order["repetitions"] and times[0] < LONGEST:
        times.append(ready.seconds_per_unit())
    return {**result, "seconds": times}


def _limit(more: int) -> None:
    """Let the process take so many bytes more than it has, and no others."""
    size = _status("VmSize") + more
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _settled() -> int:
    """Give back what is free, forget the peak so far, and tell the memory that is held now."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _status("VmRSS")


def _status(what: str) -> int:
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(what)) * 1024


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
