"""Write ``docs/scaling.md``: formulas of what each way costs, beside what was recorded, and extrapolated."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from string import Template
from typing import Any, NamedTuple

from benchmarks import beyond

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "scaling.md"
TEMPLATE = Path(__file__).parent / "scaling.md.in"
RESULTS = Path(__file__).parent / "results.json"
WIDTHS = (64, 16)
"""Widths in which the two layers of the measured network sum."""
BYTES = 4
NOT_MEASURED = "not measured"
_UNCHECKED = """\
`python -m benchmarks.every --cases several.shard-growth several.shard-step` compares the formulas with 10⁵ to 10⁸
incidences, and `python -m benchmarks.report` writes the table into this section."""
_HOW_CHECKED = """\
`python -m benchmarks.several --cases shard-growth shard-step` measures 10⁵ to 10⁸ incidences, as far as they fit, with
20 incidences per vertex, 40 per hyperedge and Pareto sizes. A network with two layers, 64 → 64 → 16, which sums rows of
64 and of 16 numbers; two processes:"""
_WHY = """\
The start is the memory of a process before it has any data: Python, torch and the compiled loops. The bytes agree
because they are counted from the routes that the exchange uses. The time is that of β as measured in
[Performance](performance.md#bandwidth), the bandwidth of reading memory in order; a sum reads rows in any order."""


class Sizes(NamedTuple):
    """A hypergraph: N, M and Z."""

    vertices: int
    hyperedges: int
    incidences: int

    @classmethod
    def shaped(cls, n_incidences: int) -> Sizes:
        """With 20 incidences per vertex and 40 per hyperedge."""
        return cls(n_incidences // 20, n_incidences // 40, n_incidences)


def crossing(copies: int, width: int, processes: int) -> float:
    """Bytes that a process sends in one exchange: 2 κ F b / P."""
    return 2 * copies * width * BYTES / processes


def memory(sizes: Sizes, width: int, layers: int) -> float:
    """Bytes of one process: 12 Z + (L + 4) N F b + 2 M F b."""
    rows = (layers + 4) * sizes.vertices + 2 * sizes.hyperedges
    return 12 * sizes.incidences + rows * width * BYTES


def memory_of_shard(sizes: Sizes, width: int, layers: int, copies: int, processes: int) -> float:
    """Bytes of one of several processes: (12 Z + (L + 4) N F b + (M + κ) F b) / P."""
    rows = (layers + 4) * sizes.vertices + sizes.hyperedges + copies
    return (12 * sizes.incidences + rows * width * BYTES) / processes


def seconds(n_incidences: int, widths: tuple[int, ...], bandwidth: float) -> float:
    """Seconds of a step of one process: 4 Z (F b + 4) / β for each layer."""
    return sum(4 * n_incidences * (width * BYTES + 4) / bandwidth for width in widths)


def page(suites: beyond.Suites | None = None, results: dict[str, Any] | None = None) -> str:
    """The text of ``docs/scaling.md``; of what is recorded if omitted."""
    known = beyond.recorded() if suites is None else suites
    several: dict[str, Any] = known.get("several", {}).get("cases", {})
    if results is None:
        results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cases": {}}
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        structure=_structure(several.get("structure")),
        checked=_checked(several, _bandwidth(results)),
        extrapolated=_extrapolated(),
    )


def _structure(case: dict[str, Any] | None) -> str:
    """What one process needs beside the limits of the tests; the limits alone if nothing was measured."""

    def row(what: str, limit: str, *path: str, unit: str = "GB") -> str:
        if case is None:
            return f"| {what} | {limit} |" if limit else ""
        found: Any = case
        for name in path:
            found = None if found is None else found.get(name)
        text = NOT_MEASURED if found is None else f"{found / 1e9:.3g} GB" if unit == "GB" else f"{found:.2g} s"
        return f"| {what} | {text} | {limit} |"

    rows = [
        row("`from_incidence`, processor time", "15 s", "build", "seconds", unit="s"),
        row("`from_incidence`, peak memory above the input arrays", "0.5 GB", "build", "peak_bytes"),
        row("the hypergraph itself", "", "build", "bytes"),
        row("size of the file", "0.35 GB", "build", "file_bytes"),
        row("`load`, processor time", "1 s", "load", "seconds", unit="s"),
        row("`load`, memory", "0.05 GB", "load", "bytes"),
        row("`load(verify=True)`, processor time", "", "load", "verify_seconds", unit="s"),
        row("one training step as above, peak memory of the whole process", "8 GB", "step", "peak_bytes"),
    ]
    head = (
        "| | limit in the tests |\n|---|---|" if case is None else "| | measured | limit in the tests |\n|---|---|---|"
    )
    return "\n".join([head, *filter(None, rows), *_small([case])])


def _bandwidth(results: dict[str, Any]) -> float | None:
    """Bytes per second of the memory, from the case ``bandwidth``."""
    case = results["cases"].get("bandwidth")
    return None if case is None else max(1 / median(pair["theirs"]) for pair in case["peers"].values())


def _checked(several: dict[str, Any], bandwidth: float | None) -> str:
    growth = several.get("shard-growth") or {}
    cases = [case for case in growth.values() if isinstance(case, dict)]
    cases += [several["shard-step"]] if "shard-step" in several else []
    if not cases:
        return _UNCHECKED
    head = (
        "| incidences | κ | bytes sent per exchange, formula | measured | memory of one process beyond the start, "
        "formula | measured | time of one process, formula | measured |\n|---|---|---|---|---|---|---|---|"
    )
    rows = [_checked_row(case, bandwidth) for case in sorted(cases, key=lambda case: case["incidences"])]
    table = "\n".join([head, *rows, *_small([growth, several.get("shard-step")])])
    return f"{_HOW_CHECKED}\n\n{table}\n\n{_WHY}"


def _checked_row(case: dict[str, Any], bandwidth: float | None) -> str:
    sizes = Sizes(case["vertices"], case["hyperedges"], case["incidences"])
    copies = case.get("copies")
    sent = NOT_MEASURED if copies is None else _bytes(crossing(copies, WIDTHS[0], 2))
    start = case.get("start_bytes")
    used = NOT_MEASURED if start is None else _bytes(case["peak_bytes"]["one"] - start)
    time = NOT_MEASURED if bandwidth is None else _time(seconds(sizes.incidences, WIDTHS, bandwidth))
    cells = [
        f"{sizes.incidences:,}",
        NOT_MEASURED if copies is None else f"{copies:,}",
        sent,
        _bytes(case["exchange"]["bytes_sent"]),
        _bytes(memory(sizes, WIDTHS[0], len(WIDTHS))),
        used,
        time,
        _time(case["seconds"]["one"]),
    ]
    return f"| {' | '.join(cells)} |"


def _small(cases: list[dict[str, Any] | None]) -> list[str]:
    is_quick = any(case is not None and case.get("quick") for case in cases)
    return ["", "**This was a quick run with small sizes.**"] if is_quick else []


def _extrapolated() -> str:
    """The formulas for sizes that no machine here holds; what is assumed stands in the text around the table."""
    width, layers, bandwidth, network = 64, 2, 200e9, 12.5e9
    columns = []
    for n_incidences, machines, share, hashed in ((10**9, 8, 1, 1), (10**12, 256, 3, 9)):
        sizes = Sizes.shaped(n_incidences)
        copies = share * sizes.hyperedges
        one = seconds(n_incidences, (width,) * layers, bandwidth)
        sent = 2 * layers * crossing(copies, width, machines)
        held = memory_of_shard(sizes, width, layers, copies, machines)
        rows = 1024 * (1 + 25 + 25**2)
        hop = 2 * (1 + hashed) * sizes.hyperedges * width * BYTES
        columns.append(
            [
                f"{sizes.vertices / 1e6:,g} million, {sizes.hyperedges / 1e6:,g} million",
                f"{_bytes(12 * n_incidences)}, {_bytes((layers + 4) * sizes.vertices * width * BYTES)}",
                f"{_bytes(memory(sizes, width, layers))}; {_time(one)} a step",
                f"{machines} machines, {_bytes(held)} each; κ = {share} M: "
                f"{_bytes(sent)} cross per machine; {_time(one / machines)} + {_time(sent / network)} a step",
                f"{rows:,} rows, {_bytes(rows * width * BYTES)}, a step; "
                f"{_bytes(12 * n_incidences + sizes.vertices * width * BYTES)} on its disk",
                f"{machines} machines; κ = {hashed} M: {_bytes(hop)} cross per hop, "
                f"{_bytes(hop / machines)} per machine",
            ]
        )
    names = (
        "vertices, hyperedges",
        "structure; features, activations and gradients",
        "one process, full batch",
        "shards",
        "sampled batches, 1024 vertices, 5 × 5 in two layers, at most",
        "Spark",
    )
    lines = [f"| {name} | {few} | {many} |" for name, few, many in zip(names, *columns, strict=True)]
    return "\n".join(["| | 10⁹ incidences | 10¹² incidences |", "|---|---|---|", *lines])


def _bytes(number: float) -> str:
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number / 1e3:.3g} kB"


def _time(value: float) -> str:
    return f"{value:,.0f} s" if value >= 10 else f"{value:.2g} s" if value >= 1 else f"{1e3 * value:.3g} ms"
