"""The command line: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, USUAL, measure
from benchmarks.machine import describe
from benchmarks.settings import Settings
from hypergnn.persistence.files import write_atomic

RESULTS = Path(__file__).parent / "results.json"


def main(arguments: list[str] | None = None) -> int:
    """Measure the chosen cases, and write each to the file as soon as it is finished."""
    options = _parse(arguments)
    settings = Settings.quickly() if options.quick else Settings()
    results: dict[str, Any] = {"machine": describe(settings.threads), "quick": settings.quick, "cases": {}}
    results["repetitions"] = settings.repetitions
    start = time.monotonic()
    try:
        for name in options.cases:
            results["cases"][name] = _in_own_process(measure, name, settings, start)
            _write(options.out, results)
    except KeyboardInterrupt:
        measured = ", ".join(results["cases"]) or "nothing"
        print(f"interrupted; {options.out} contains what was measured: {measured}", file=sys.stderr)
        return 130
    print(f"written to {options.out}", file=sys.stderr)
    return 0


def _in_own_process(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function in a new process and return its result, so that no case affects the next one.

    For example, memory that one case has allocated and freed would make later cases of the same process faster.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *given).result()


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure speed and memory of hypergnn, PyG, DHG and torch.sparse, taking turns, in one run. "
        "A run replaces the file of results; python -m benchmarks.report writes docs/performance.md from it.",
        epilog="Run it on an idle machine; it takes about 15 minutes.",
    )
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(USUAL), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE", help="default: benchmarks/results.json")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, few repetitions: a check that everything runs"
    )
    return parser.parse_args(arguments)


def _write(path: Path, results: dict[str, Any]) -> None:
    write_atomic(path, (json.dumps(_rounded(results), indent=1) + "\n").encode())


def _rounded(value: Any) -> Any:
    """Round all numbers to four digits; the rest is noise."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main())
