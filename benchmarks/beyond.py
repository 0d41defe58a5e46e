"""The section of ``docs/performance.md`` on batches, several processes, Dask and Spark, from what was recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
SUITES = ("batches", "several", "spark")
Suites = Mapping[str, dict[str, Any]]

_HEAD = """| what | bar | measured | reached | command |
|---|---|---|---|---|"""
_NOTHING = (
    "`make bench` measures training on sampled batches, in several processes, on Dask and on Spark, and `python -m\n"
    "benchmarks.report` writes the table into this section."
)
_HOW = (
    "Each case is measured in one run, with both contestants taking turns; see `benchmarks/batches.py`, `several.py`\n"
    "and `spark.py`."
)


class Line(NamedTuple):
    """A number of a case, and the bound that it must meet."""

    what: str
    suite: str
    case: str
    number: tuple[str, ...]
    """Where the number stands in the case."""
    bar: float | None
    at_most: bool = False
    unit: float = 1.0
    """What the number is divided by."""

    @property
    def full_name(self) -> str:
        """The name by which the case is chosen."""
        return f"{self.suite}.{self.case}"

    def row(self, suites: Suites) -> str:
        """A row of the table; a number of small sizes reaches nothing."""
        case = suites.get(self.suite, {}).get("cases", {}).get(self.case)
        sign = "≤" if self.at_most else "≥"
        bar = "" if self.bar is None else f"{sign} {self.bar:g}"
        found = None if case is None else _number(case, self.number)
        if case is None or found is None:
            return f"| {self.what} | {bar} | not measured | | `{self.full_name}` |"
        value = abs(found) / self.unit
        shown = f"{value:.3g}"
        if case.get("quick") or case.get("scale", 1) != 1:
            return f"| {self.what} | {bar} | {shown}, small sizes | | `{self.full_name}` |"
        reached = (
            "" if self.bar is None else "yes" if (value <= self.bar if self.at_most else value >= self.bar) else "no"
        )
        return f"| {self.what} | {bar} | {shown} | {reached} | `{self.full_name}` |"


LINES = (
    Line(
        "sampled training, 1 million vertices, 20 million incidences: peak memory, GB",
        "batches",
        "memory",
        ("peak_bytes",),
        1.5,
        True,
        1e9,
    ),
    Line("the same: time per step of a sampler in NumPy with our layers / ours", "batches", "speed", ("ratio",), 5),
    Line("the same, drawing batches only, computing time of one thread", "batches", "speed", ("sampling_ratio",), None),
    Line(
        "the same if drawing took no time: layers bound the ratio",
        "batches",
        "speed",
        ("bound_if_sampling_were_free",),
        None,
    ),
    Line("Pubmed: accuracy, sampled against full batch, points", "batches", "pubmed", ("difference",), 0.5, True),
    *(
        Line(f"200 thousand generated vertices, {how}: the same, points", "batches", "generated", place, 0.5, True)
        for how, place in (
            ("fan-out 5x5", ("alone", "difference")),
            ("fan-out 10x10", ("with_more_draws", "difference")),
            ("fan-out 5x5 and control variates", ("with_control_variates", "difference")),
        )
    ),
    Line(
        "two shards against one process with two threads: time of a step",
        "several",
        "shard-step",
        ("times",),
        1.25,
        True,
    ),
    Line("the same: memory per process", "several", "shard-step", ("memory",), 0.65, True),
    Line(
        "100 trials on two Dask workers against the local pool of two: time",
        "several",
        "trials-on-dask",
        ("times",),
        1.15,
        True,
    ),
    Line(
        "Spark, 10 million incidences, 32 features: time of plain DataFrames / ours", "spark", "narrow", ("ratio",), 1.5
    ),
    Line("Spark, 2 million incidences, 128 features: the same", "spark", "wide", ("ratio",), 3.5),
    Line(
        "Spark, half of all incidences in one hyperedge: time / that of the even case",
        "spark",
        "hub",
        ("time_ratio",),
        1.3,
        True,
    ),
    Line("the same: peak memory of a task", "spark", "hub", ("memory_ratio",), 1.5, True),
    Line("Spark, ten times as many incidences: time / time before", "spark", "growth", ("ratio",), 12, True),
)


def recorded(folder: Path = FOLDER) -> Suites:
    """The files of results that exist, by suite."""
    paths = {name: folder / f"{name}.json" for name in SUITES}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def section(suites: Suites) -> str:
    """The text of the section: how to measure if nothing is recorded, else a table and the machines."""
    if not any(one.get("cases") for one in suites.values()):
        return _NOTHING
    rows = "\n".join(line.row(suites) for line in LINES)
    machines = sorted({_shown(one) for suite in suites.values() for one in _machines(suite)})
    return f"{_HEAD}\n{rows}\n\nMeasured on {'; '.join(machines)}.\n\n{_HOW}"


def _number(case: dict[str, Any], path: tuple[str, ...]) -> float | None:
    found: Any = case
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return None if found is None else float(found)


def _machines(suite: dict[str, Any]) -> list[dict[str, Any]]:
    found = [suite.get("machine"), *(case.get("machine") for case in suite.get("cases", {}).values())]
    return [one for one in found if one is not None]


def _shown(machine: dict[str, Any]) -> str:
    return f"{machine.get('cpu', 'an unknown CPU')} with {machine.get('cores', machine.get('threads', '?'))} cores"
