"""Count what the tests do to the package, and write the tables of ``docs/reliability.md``.

``python -m benchmarks.reliability`` runs all tests that count their attempts, each fault at every point, and records
the counts in ``benchmarks/reliability.json``. ``--load SECONDS`` runs the load test and records its figures as well;
``--page`` only writes the tables again, with that of the fuzzer, whose counts ``make fuzz`` records in
``benchmarks/fuzz.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hypergnn.persistence.files import write_atomic
from hypergnn.training.environment import environment

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "benchmarks" / "reliability.json"
FUZZED = ROOT / "benchmarks" / "fuzz.json"
PAGE = ROOT / "docs" / "reliability.md"
_VARIABLE = "HYPERGNN_TALLY"


def main(arguments: list[str]) -> int:
    """Run the tests, record their counts and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reliability", description=__doc__)
    parser.add_argument("--load", type=float, metavar="SECONDS", help="run only the load test, for some seconds")
    parser.add_argument("--page", action="store_true", help="only write the tables of the page")
    options = parser.parse_args(arguments)
    recorded: dict[str, Any] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {"counts": [], "load": None}
    if options.load is not None:
        recorded["load"] = {**_load(options.load), "environment": environment()}
    elif not options.page:
        recorded |= {"counts": _count(), "environment": environment()}
    write_atomic(RECORDED, json.dumps(recorded, indent=1).encode() + b"\n")
    write_atomic(PAGE, with_tables(PAGE.read_text(), recorded, json.loads(FUZZED.read_text())).encode())
    print(f"written: {RECORDED.relative_to(ROOT)}, {PAGE.relative_to(ROOT)}")
    return 0


def _count() -> list[dict[str, Any]]:
    """Run the tests that count their attempts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "counts.json")
        command = [sys.executable, "-m", "pytest", "-q", "-m", "drill", "-p", "no:cacheprovider", "tests"]
        environment = os.environ | {_VARIABLE: str(path), "OMP_NUM_THREADS": "1"}
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        counts: list[dict[str, Any]] = json.loads(path.read_text())
    return counts


def _load(seconds: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.load", "--seconds", f"{seconds:g}"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, check=True
    )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def with_tables(page: str, recorded: Mapping[str, Any], of_fuzzer: Mapping[str, Any]) -> str:
    r"""The page with its tables written again.

    Example:
        >>> nothing = {"seconds": 0, "workers": 1, "parsers": {}}
        >>> with_tables("<!-- load: begin --><!-- load: end -->", {"counts": [], "load": None}, nothing)
        '<!-- load: begin -->\nNot measured yet.\n<!-- load: end -->'
    """
    tables = {"attempts": attempts(recorded["counts"]), "fuzz": fuzzed(of_fuzzer), "load": load(recorded["load"])}
    for name, table in tables.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if begin in page:
            before, _, rest = page.partition(begin)
            page = f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"
    return page


def attempts(counts: Iterable[Mapping[str, Any]]) -> str:
    """The table of attempts, survivals and losses, one row per kind.

    Example:
        >>> print(attempts([{"kind": "kills: results", "test": "a::b", "attempts": 3, "survived": 3, "lost": 0}]))
        | what happens | to what | attempts | survived | lost |
        |---|---|--:|--:|--:|
        | kills | results | 3 | 3 | 0 |
        | **all** | | **3** | **3** | **0** |
    """
    columns = ("attempts", "survived", "lost")
    sums: dict[str, list[int]] = {}
    for one in counts:
        row = sums.setdefault(one["kind"], [0, 0, 0])
        for place, name in enumerate(columns):
            row[place] += one[name]
    lines = ["| what happens | to what | attempts | survived | lost |", "|---|---|--:|--:|--:|"]
    for kind, numbers in sorted(sums.items()):
        what, _, where = kind.partition(": ")
        lines.append(f"| {what} | {where} | {' | '.join(map(_grouped, numbers))} |")
    total = [sum(row[place] for row in sums.values()) for place in range(3)]
    lines.append(f"| **all** | | {' | '.join(f'**{_grouped(one)}**' for one in total)} |")
    return "\n".join(lines)


def fuzzed(report: Mapping[str, Any]) -> str:
    """The table of the fuzzer, one row per parser.

    Example:
        >>> counts = {"cases": 9, "refused": 7, "loaded": 2, "findings": 0}
        >>> print(fuzzed({"seconds": 1800.2, "workers": 2, "parsers": {"hif": counts}}))
        In 30 minutes with 2 processes:
        <BLANKLINE>
        | parser | files | refused | loaded and used | findings |
        |---|--:|--:|--:|--:|
        | hif | 9 | 7 | 2 | 0 |
        | **all** | **9** | **7** | **2** | **0** |
    """
    columns = ("cases", "refused", "loaded", "findings")
    lines = [
        f"In {_duration(round(report['seconds']))} with {report['workers']} processes:",
        "",
        "| parser | files | refused | loaded and used | findings |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, counts in sorted(report["parsers"].items()):
        lines.append(f"| {name} | {' | '.join(_grouped(counts[one]) for one in columns)} |")
    total = [sum(counts[one] for counts in report["parsers"].values()) for one in columns]
    lines.append(f"| **all** | {' | '.join(f'**{_grouped(one)}**' for one in total)} |")
    return "\n".join(lines)


def load(figures: Mapping[str, Any] | None) -> str:
    """The table of the load test."""
    if figures is None:
        return "Not measured yet."
    work = ", ".join(f"{_grouped(number)} × {name.replace('_', ' ')}" for name, number in figures["work"].items())
    rows = [f"In {_duration(figures['seconds'])}: {work}.", "", "| | second quarter | last quarter |", "|---|--:|--:|"]
    second, last = figures["quarters"]["second"], figures["quarters"]["last"]
    rows.append(f"| memory, MB (median) | {second['memory'] / 1e6:.0f} | {last['memory'] / 1e6:.0f} |")
    for name in ("threads", "descriptors"):
        rows.append(f"| {name} (median) | {second[name]:g} | {last[name]:g} |")
    rows.append(f"| temporary files left at the end | | {figures['files_left']} |")
    rows.append(f"| processes left at the end | | {figures['processes_left']} |")
    return "\n".join(rows)


def _duration(seconds: float) -> str:
    return f"{seconds:g} seconds" if seconds < 120 else f"{round(seconds / 60, 1):g} minutes"


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
