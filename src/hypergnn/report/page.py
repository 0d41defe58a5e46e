"""The page: its parts, and how they become one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from hypergnn import __version__
from hypergnn._utils.extras import import_extra
from hypergnn.experiments.verdicts import Verdict
from hypergnn.report.colours import COLOURS, PALETTE, UNKNOWN
from hypergnn.report.drawing import STEP, WIDEST, Drawing, marks_style


@dataclass(frozen=True)
class Chart:
    """A chart with its texts."""

    name: str
    chart: Drawing
    caption: str
    detail: str = ""
    key: str = ""
    """What the marks mean, for a figure that stands alone; the page has legends."""

    @cached_property
    def svg(self) -> str:
        """The chart for the page; colours come from the style sheet."""
        return self.chart.inline(self.alt)

    @property
    def alt(self) -> str:
        """A description for screen readers."""
        return f"{self.caption}. {self.detail}".strip()


@dataclass(frozen=True)
class Fact:
    """A number in the header of the page."""

    number: str
    words: str


@dataclass(frozen=True)
class Finding:
    """A claim of the paper and its verdict."""

    verdict: Verdict
    words: str


@dataclass(frozen=True)
class CellView:
    """A cell of a table as text."""

    name: str = ""
    measured: str = ""
    lines: Sequence[str] = ()
    verdict: Verdict | None = None


@dataclass(frozen=True)
class RowView:
    """A row of a table."""

    label: str
    cells: Sequence[CellView]


@dataclass(frozen=True)
class ComparisonView:
    """A comparison of two cells as text."""

    words: str
    difference: str
    pooled: str
    welch: str
    published: str
    verdict: Verdict


@dataclass(frozen=True)
class PartView:
    """A further table below a table, such as costs: what it shows, its titles and its rows."""

    caption: str
    words: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class TableView:
    """A table of the paper with its charts and tests."""

    name: str
    short: str
    title: str
    note: str
    caption: str
    corner: str
    columns: Sequence[str]
    rows: Sequence[RowView]
    has_published: bool
    charts: Sequence[Chart] = ()
    tests: Sequence[ComparisonView] = ()
    parts: Sequence[PartView] = ()


@dataclass
class Page:
    """The content of a page."""

    title: str
    lead: str
    facts: Sequence[Fact] = ()
    findings: Sequence[Finding] = ()
    findings_note: str = ""
    tables: Sequence[TableView] = ()
    distributions: Sequence[Chart] = ()
    trials_note: str = ""
    """Why the trials are not shown, if they are not."""
    trials_differ: str = "The trials of a row differ only in their seed."
    is_of_runs: bool = True
    """Whether it is about networks in run folders, which have curves and can be explored."""
    curves: Sequence[Chart] = ()
    curves_note: str = ""
    """Which curves are left out, and why."""
    datasets: dict[str, Any] = field(default_factory=dict)
    networks: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Which networks are not in the explorer, and why."""
    environment: Sequence[tuple[str, str]] = ()

    @property
    def held(self) -> list[Finding]:
        """The claims that hold."""
        return [finding for finding in self.findings if finding.verdict == Verdict.HOLDS]

    @property
    def against(self) -> list[Finding]:
        """The claims that do not hold."""
        return [finding for finding in self.findings if finding.verdict != Verdict.HOLDS]

    @property
    def charts(self) -> list[Chart]:
        """All charts except the map, in the order of the page."""
        return [*(chart for table in self.tables for chart in table.charts), *self.distributions, *self.curves]


def render(page: Page) -> str:
    """The page as HTML, with scripts, styles and data.

    Example:
        >>> text = render(Page("A run", "One trial."))
        >>> "<h1>A run</h1>" in text, "<script src" in text
        (True, False)
    """
    jinja2 = import_extra("jinja2", "report", "a report")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(_file("page.html"))
    script = _script()
    text: str = template.render(
        page=page,
        version=__version__,
        css=_css(),
        networks=as_json({"datasets": page.datasets, "networks": page.networks, "palette": [*PALETTE, UNKNOWN]}),
        script=script,
        digest=_digest(script),
    )
    return text


def weight(page: Page) -> int:
    """Bytes of the script, the style and the charts of a page: all that is large, except networks."""
    parts = (_script(), _css(), _file("page.html"), *(chart.svg for chart in page.charts))
    return sum(len(text.encode()) for text in parts)


@cache
def _script() -> str:
    return "\n".join(map(_file, ("charts.js", "unpacking.js", "map.js", "explorer.js")))


@cache
def _css() -> str:
    names = "\n".join(f".left-{steps} {{ padding-left: {STEP * steps}px; }}" for steps in range(WIDEST + 1))
    return "\n".join([_colours(), marks_style(), names, _file("page.css")])


def as_json(value: Any) -> str:
    """JSON that cannot close the element around it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


def _digest(script: str) -> str:
    """The digest of a script for the page's content policy, which allows no other script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _colours() -> str:
    """The colours as CSS variables."""
    light, dark = (
        " ".join(f"--{name}: {value};" for name, value in COLOURS[paper].items()) for paper in ("light", "dark")
    )
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def _file(name: str) -> str:
    return (files("hypergnn.report") / name).read_text(encoding="utf-8")
