"""Several processes against one: a training step over shards, growth with size, trials on Dask; and structures alone.

``python -m benchmarks.several --cases shard-step`` measures a case and adds it to ``benchmarks/several.json``; other
cases in that file stay as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import describe
from hypergnn.persistence.files import write_atomic

RESULTS = Path(__file__).parent / "several.json"
ROOT = Path(__file__).parents[1]
SIZES = {"vertices": 1_000_000, "hyperedges": 500_000, "incidences": 20_000_000}
ROUNDS = 3


def shard_step(quick: bool) -> dict[str, Any]:
    """A training step: two processes with one thread each against one process with two threads."""
    sizes = {name: size // 100 for name, size in SIZES.items()} if quick else SIZES
    with tempfile.TemporaryDirectory() as folder:
        prepared = _run(
            [sys.executable, "-m", "benchmarks.shard_step", "prepare", folder, json.dumps(sizes)], threads=1
        )
        return {**sizes, **prepared, **_against_one(folder, 1 if quick else ROUNDS)}


def shard_growth(quick: bool) -> dict[str, Any]:
    """Time, memory and bytes of a step for sizes ten times apart, with one process and with two."""
    found: dict[str, Any] = {}
    for n_incidences in (100_000, 1_000_000) if quick else (100_000, 1_000_000, 10_000_000, 100_000_000):
        sizes = {"vertices": n_incidences // 20, "hyperedges": n_incidences // 40, "incidences": n_incidences}
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "benchmarks.shard_step", "prepare", folder, json.dumps(sizes)]
            found[str(n_incidences)] = {**sizes, **_run(command, threads=1), **_against_one(folder, 1)}
        print(f"{n_incidences} incidences: {found[str(n_incidences)]}", file=sys.stderr, flush=True)
    return found


def structure(quick: bool) -> dict[str, Any]:
    """Time and memory of building, loading and one step, each in a process of its own."""
    sizes = {name: size // 100 for name, size in SIZES.items()} if quick else SIZES
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.structure_cost"]
        parts = {
            part: _run([*command, part, folder, json.dumps(sizes)], threads=1)
            for part in ("draw", "build", "load", "step")
        }
    return {**sizes, **{part: found for part, found in parts.items() if found}}


def trials_on_dask(quick: bool) -> dict[str, Any]:
    """A hundred trials on two Dask workers of one thread each against the local pool of two."""
    command = [sys.executable, "-m", "benchmarks.trials_on_dask", "8" if quick else "100"]
    return _run(command, threads=1)


CASES: dict[str, Callable[[bool], dict[str, Any]]] = {
    "shard-step": shard_step,
    "shard-growth": shard_growth,
    "structure": structure,
    "trials-on-dask": trials_on_dask,
}


def main(arguments: list[str] | None = None) -> int:
    """Measure the chosen cases, and write each to the file as soon as it is finished."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.several", description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="small sizes: a check that everything runs")
    options = parser.parse_args(arguments)
    for name in options.cases:
        started = time.monotonic()
        result = CASES[name](options.quick)
        print(f"{name}, {time.monotonic() - started:.0f} s: {json.dumps(result)}", file=sys.stderr, flush=True)
        known = json.loads(options.out.read_text()) if options.out.exists() else {"cases": {}}
        known["machine"] = describe(2)
        known["cases"][name] = {"quick": options.quick, **result}
        write_atomic(options.out, (json.dumps(known, indent=1) + "\n").encode())
    return 0


def _against_one(folder: str, rounds: int) -> dict[str, Any]:
    """Seconds and peak memory of a step, in turn."""
    one, two = [], []
    several = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    for _ in range(rounds):
        one.append(_run([sys.executable, "-m", "benchmarks.shard_step", "one", folder], threads=2))
        two.append(_run([*several, "-m", "benchmarks.shard_step", "several", folder], threads=1))
    times = [median(one_run["seconds"] for one_run in runs) for runs in (one, two)]
    memory = [max(one_run["peak_bytes"] for one_run in runs) for runs in (one, two)]
    return {
        "seconds": {"one": times[0], "two": times[1]},
        "peak_bytes": {"one": memory[0], "two": memory[1]},
        "start_bytes": median(one_run["start_bytes"] for one_run in one),
        "exchange": {name: two[0][name] for name in ("exchange_seconds", "bytes_sent", "n_exchanges")},
        "times": times[1] / times[0],
        "memory": memory[1] / memory[0],
    }


def _run(command: list[str], *, threads: int) -> dict[str, Any]:
    """Run a script and return what it prints last, a line of JSON."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": path}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{ended.stderr}")
    answer: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return answer


if __name__ == "__main__":
    sys.exit(main())
