"""Write ``docs/performance.md``, its plot and ``docs/scaling.md`` from the results: ``python -m benchmarks.report``."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from string import Template
from typing import Any

from benchmarks import beyond, scaling
from benchmarks.measuring import Spread, ratios
from hypergnn.persistence.files import write_atomic

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results.json"
RANDOM_PROPAGATION = ROOT / "benchmarks" / "random_propagation.json"
PAGE = ROOT / "docs" / "performance.md"
PLOT = ROOT / "docs" / "images" / "growth.svg"
TEMPLATE = Path(__file__).parent / "performance.md.in"

NOT_MEASURED = "not measured"
Cases = dict[str, Any]


@dataclass(frozen=True)
class Bar:
    """A bound that a measured number must meet."""

    what: str
    bar: float
    measured: Callable[[Cases], Spread | None]
    at_most: bool = False

    def row(self, cases: Cases) -> str:
        """A row of the table: name, bound, median, quartiles, and whether the bound is met."""
        found = self.measured(cases)
        sign = "≤" if self.at_most else "≥"
        if found is None:
            return _row(self.what, f"{sign} {self.bar:g}", NOT_MEASURED, "", "")
        reached = found.median <= self.bar if self.at_most else found.median >= self.bar
        spread = "" if found.lower == found.upper else f"{_number(found.lower)} to {_number(found.upper)}"
        return _row(self.what, f"{sign} {self.bar:g}", _number(found.median), spread, "yes" if reached else "no")


def main(arguments: list[str]) -> int:
    """Write the pages and the plot."""
    results = json.loads(Path(arguments[0]).read_text() if arguments else RESULTS.read_text())
    PLOT.parent.mkdir(exist_ok=True)
    write_atomic(PAGE, page(results).encode())
    if "growth" in results["cases"]:
        from benchmarks.plot import growth_plot

        write_atomic(PLOT, growth_plot(results["cases"]["growth"]))
    write_atomic(scaling.PAGE, scaling.page(results=results).encode())
    print(f"written: {PAGE.relative_to(ROOT)}, {scaling.PAGE.relative_to(ROOT)}")
    return 0


def page(results: dict[str, Any], suites: beyond.Suites | None = None) -> str:
    """The text of ``docs/performance.md``; of batches and several processes, what is recorded if omitted."""
    cases = results["cases"]
    warning = "**This was a quick run with small sizes: its numbers show that everything runs, and nothing else.**\n\n"
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        quick=warning if results["quick"] else "",
        bars="\n".join(bar.row(cases) for bar in BARS),
        speed="\n".join(_speed_rows(cases)),
        memory=_memory(cases.get("large-conv")),
        large=_large(cases.get("large-conv")),
        growth=_growth(cases.get("growth")),
        bandwidth=_bandwidth(cases.get("bandwidth")),
        random_propagation=_random_propagation(json.loads(RANDOM_PROPAGATION.read_text())),
        beyond=beyond.section(beyond.recorded() if suites is None else suites),
        repetitions=results["repetitions"],
        machine="\n".join(_machine_rows(results["machine"])),
    )


def _against_pyg(name: str) -> Callable[[Cases], Spread | None]:
    return lambda cases: ratios(cases[name]["peers"]["PyG"]) if name in cases else None


def _memory_ratio(cases: Cases) -> Spread | None:
    memory = cases.get("large-conv", {}).get("memory", {})
    if any("peak_bytes" not in memory.get(name, {}) for name in ("ours", "PyG")):
        return None
    return Spread.of([memory["ours"]["peak_bytes"] / memory["PyG"]["peak_bytes"]])


def _growth_ratio(cases: Cases) -> Spread | None:
    return ratios(cases["growth"]["last_step"]) if "growth" in cases else None


def _bandwidth_share(cases: Cases) -> Spread | None:
    return ratios(_faster_stream(cases["bandwidth"])[1]) if "bandwidth" in cases else None


BARS = (
    Bar("train Hyper-Conv, trials together: PyG's time / ours", 45, _against_pyg("train-conv-together")),
    Bar("train Hyper-Conv, one trial: PyG's time / ours", 18, _against_pyg("train-conv-alone")),
    Bar("train Hyper-Attention, trials together: PyG's time / ours", 30, _against_pyg("train-attention-together")),
    Bar("forward pass of Hyper-Conv: PyG's time / ours", 11, _against_pyg("forward-conv")),
    Bar("large convolution: PyG's time / ours", 18, _against_pyg("large-conv")),
    Bar("large convolution: our memory / PyG's", 0.16, _memory_ratio, at_most=True),
    Bar("ten times as many incidences: time / time before", 11, _growth_ratio, at_most=True),
    Bar("large convolution: share of the memory's bandwidth", 0.42, _bandwidth_share),
)


def _speed_rows(cases: Cases) -> list[str]:
    rows = []
    for name, case in cases.items():
        if name in ("growth", "bandwidth"):
            continue
        label = f"`{name}`" + (f", {case['trials']} trials" if case.get("trials", 1) > 1 else "")
        for peer, pair in case["peers"].items():
            ratio, threads = ratios(pair), f"{case['threads']} / {pair['threads']}"
            spread = f"{_number(ratio.lower)} to {_number(ratio.upper)}"
            ours, theirs = _time(median(pair["ours"])), _time(median(pair["theirs"]))
            rows.append(_row(label, peer, ours, theirs, threads, _number(ratio.median), spread))
    return rows or [_row(NOT_MEASURED, "", "", "", "", "", "")]


def _random_propagation(found: dict[str, Any]) -> str:
    """What ``python -m benchmarks.random_propagation`` has found."""
    times = found["peers"]["plain loop"]
    ours, theirs = (_time(median(times[whose])) for whose in ("ours", "theirs"))
    text = (
        f"- `python -m benchmarks.random_propagation`: {found['trials']} trials of random propagation on Cora, trained "
        f"together, take {ours} per trial and epoch; a plain loop over one trial takes {theirs}, {found['ratio']:.0f} "
        "times as long."
    )
    return "\n".join(textwrap.wrap(text, 124, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


def _memory(case: dict[str, Any] | None) -> str:
    if case is None:
        return _row(NOT_MEASURED, "")
    return "\n".join(_row(name, _memory_text(one)) for name, one in case["memory"].items())


def _memory_text(one: dict[str, Any]) -> str:
    if "peak_bytes" in one:
        return _bytes(one["peak_bytes"])
    asked = f", asked for {_bytes(one['asked_bytes'])} at once" if one.get("asked_bytes") else ""
    return f"{one['outcome']}{asked} (limit {_bytes(one['limit_bytes'])})"


def _large(case: dict[str, Any] | None) -> str:
    if case is None:
        return f"Its size was {NOT_MEASURED}."
    counts = [f"{_count(case[what])} {what}" for what in ("vertices", "hyperedges", "incidences", "features")]
    return f"{', '.join(counts)}; the largest hyperedge has {_count(case['largest_hyperedge'])} members."


def _growth(case: dict[str, Any] | None) -> str:
    if case is None:
        return _row(NOT_MEASURED, "", "")
    return "\n".join(
        _row(_count(int(size)), _time(seconds), _time_or_text(case["PyG"].get(size, NOT_MEASURED)))
        for size, seconds in case["ours"].items()
    )


def _bandwidth(case: dict[str, Any] | None) -> str:
    if case is None:
        return f"The bandwidth was {NOT_MEASURED}."
    rates = {name: _bytes(1 / median(pair["theirs"])) for name, pair in case["peers"].items()}
    name, pair = _faster_stream(case)
    text = (
        f"In this run: copy {rates['copy']}/s, triad {rates['triad']}/s over arrays of {_bytes(case['array_bytes'])} "
        f"each; the step of {_bytes(case['bytes'])} ran at {_bytes(1 / median(pair['ours']))}/s, "
        f"{100 * ratios(pair).median:.0f} % of the {name}."
    )
    return textwrap.fill(text, 120)


def _faster_stream(case: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The faster of copy and triad."""
    streams: dict[str, dict[str, Any]] = case["peers"]
    return min(streams.items(), key=lambda item: median(item[1]["theirs"]))


def _machine_rows(machine: dict[str, Any]) -> list[str]:
    shown = {**machine, "memory_bytes": _bytes(machine["memory_bytes"])}
    return [_row(name.removesuffix("_bytes"), "none" if value is None else str(value)) for name, value in shown.items()]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _count(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _number(value: float) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}"


def _time_or_text(value: float | str) -> str:
    return value if isinstance(value, str) else _time(value)


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def _bytes(number: float) -> str:
    return f"{number / 1e9:.3g} GB" if number >= 1e9 else f"{number / 1e6:.3g} MB"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
