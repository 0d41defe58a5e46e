"""Time and peak memory of a step of one library, in its own process with limited memory."""

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

SHARE = 0.5  # the fraction of the available memory that a process may use
LONGEST = 10.0  # steps of at least this many seconds are not repeated
_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "bad_alloc", "Cannot allocate memory", "alloc_failed")


def run(name: str, n_incidences: int, *, threads: int, seconds: float, repetitions: int = 0) -> dict[str, Any]:
    """Measure a library in a new process.

    Args:
        name: ``"ours"`` or the name of a peer.
        n_incidences: The size of the hypergraph.
        threads: Maximum number of torch threads.
        seconds: When to give up.
        repetitions: How many further steps to time; only one if a step takes long.

    Returns:
        ``outcome``: ``"measured"``, ``"out of memory"`` or another reason. If measured, also ``peak_bytes``, the peak
        of the first step above the inputs, and ``seconds``, the times of the further steps.
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
    raise RuntimeError(f"{name} failed in its own process:\n{child.stderr}")


def main(order: dict[str, Any]) -> dict[str, Any]:
    """Measure in this process."""
    import torch

    from benchmarks.large import conv_step, sized
    from benchmarks.measuring import Contestant, prepare

    torch.set_num_threads(order["threads"])
    conv_step(order["name"], sized(10_000))(
        2
    )  # imports, compiles and starts threads, which does not depend on the size
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
    """Limit the memory of this process to ``more`` bytes above what it uses now."""
    size = _status("VmSize") + more
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _settled() -> int:
    """Return free memory to the system, reset the peak, and return the memory in use in bytes."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _status("VmRSS")


def _status(what: str) -> int:
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(what)) * 1024


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
