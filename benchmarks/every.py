"""Every benchmark case, chosen one by one: ``python -m benchmarks.every --cases batches.speed spark.wide``.

Each suite writes its own file of results in ``benchmarks``; ``python -m benchmarks.report`` makes a page of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence

from benchmarks import __main__ as libraries
from benchmarks import batches, cases, several, spark

MAINS: dict[str, Callable[[list[str] | None], int]] = {
    "libraries": libraries.main,
    "batches": batches.main,
    "several": several.main,
    "spark": spark.main,
}
NAMES: dict[str, Iterable[str]] = {
    "libraries": cases.CASES,
    "batches": batches.CASES,
    "several": several.CASES,
    "spark": spark.CASES,
}
ALL = tuple(f"{suite}.{name}" for suite, known in NAMES.items() for name in known)
USUAL = tuple(name for name in ALL if not name.startswith("libraries.") or name.partition(".")[2] in cases.USUAL)
_QUICK = {"spark": ["--scale", "0.01", "--repetitions", "1"]}


def chosen(names: Sequence[str]) -> dict[str, list[str]]:
    """The cases of each suite, in the order of the suites.

    Example:
        >>> chosen(["spark.wide", "batches.speed", "spark.hub"])
        {'batches': ['speed'], 'spark': ['wide', 'hub']}
    """
    found = {suite: [one.partition(".")[2] for one in names if one.startswith(f"{suite}.")] for suite in MAINS}
    return {suite: own for suite, own in found.items() if own}


def main(arguments: list[str] | None = None) -> int:
    """Measure the chosen cases, suite by suite; stop at the first that fails."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.every",
        description="Measure any of the benchmark cases.",
        epilog="Cases of batches, several and spark are added to their files; those of libraries replace theirs, "
        "because they are compared in one run.",
    )
    parser.add_argument("--cases", nargs="+", choices=ALL, default=list(USUAL), metavar="CASE", help=", ".join(ALL))
    parser.add_argument("--quick", action="store_true", help="small sizes: a check that everything runs")
    options = parser.parse_args(arguments)
    for suite, own in chosen(options.cases).items():
        small = _QUICK.get(suite, ["--quick"]) if options.quick else []
        code = MAINS[suite](["--cases", *own, *small])
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
