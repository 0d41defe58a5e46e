"""The page itself: what stands on it, and how it becomes one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from hypergnn import __version__
from hypergnn._utils.extras import import_extra
from hypergnn.report.charts import COLOURS, PALETTE, embedding, theme


@dataclass(frozen=True)
class Chart:
    """A chart with its words."""

    name: str
    chart: Any
    caption: str
    detail: str = ""

    @property
    def alt(self) -> str:
        """What it shows, for those who cannot see it."""
        return f"{self.caption}. {self.detail}".strip()

    @property
    def room(self) -> int:
        """Pixels from top to bottom, axis and legend included, so that nothing moves when it is drawn."""
        return int(self.chart.height) + 50


@dataclass(frozen=True)
class Fact:
    """A number of the headline."""

    number: str
    words: str


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, and whether it holds in these runs: ``holds``, ``fails`` or ``open``."""

    kind: str
    verdict: str
    words: str


@dataclass(frozen=True)
class CellView:
    """A cell of a table in words."""

    name: str = ""
    measured: str = ""
    lines: Sequence[str] = ()
    verdict: str = ""
    kind: str = ""


@dataclass(frozen=True)
class RowView:
    """A row of a table."""

    label: str
    cells: Sequence[CellView]


@dataclass(frozen=True)
class ComparisonView:
    """A comparison of two cells in words."""

    words: str
    difference: str
    pooled: str
    welch: str
    published: str
    verdict: str
    kind: str


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


@dataclass
class Page:
    """All that stands on a page."""

    title: str
    lead: str
    facts: Sequence[Fact] = ()
    findings: Sequence[Finding] = ()
    findings_note: str = ""
    tables: Sequence[TableView] = ()
    distributions: Sequence[Chart] = ()
    trials_note: str = ""
    """Why the trials are not shown, if they are not."""
    curves: Sequence[Chart] = ()
    curves_note: str = ""
    """Which curves are not shown though there are some, and why."""
    datasets: dict[str, Any] = field(default_factory=dict)
    networks: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Why a network, or all of them, has no place in the explorer."""
    environment: Sequence[tuple[str, str]] = ()

    @property
    def held(self) -> list[Finding]:
        """The findings that bear the paper out."""
        return [finding for finding in self.findings if finding.kind == "holds"]

    @property
    def charts(self) -> list[Chart]:
        """All charts but the map, in the order of the page."""
        return [*(chart for table in self.tables for chart in table.charts), *self.distributions, *self.curves]


def render(page: Page) -> str:
    """The page as HTML, scripts, styles and data included.

    Example:
        >>> text = render(Page("A run", "One trial."))
        >>> "<h1>A run</h1>" in text, "<script src" in text
        (True, False)
    """
    jinja2 = import_extra("jinja2", "report", "a report")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(_file("page.html"))
    specs = {chart.name: _specification(chart.chart) for chart in page.charts}
    if page.networks:
        specs["map"] = _specification(embedding())
    themes = {"light": theme("light"), "dark": theme("dark")}
    scripts = [_bundle(), "\n".join(map(_file, ("charts.js", "unpacking.js", "explorer.js")))]
    text: str = template.render(
        page=page,
        version=__version__,
        css=_colours() + _file("page.css"),
        charts=as_json({"specs": specs, "themes": themes, "palette": PALETTE}),
        networks=as_json({"datasets": page.datasets, "networks": page.networks}),
        scripts=scripts,
        digests=map(_digest, scripts),
    )
    return text


def _specification(chart: Any) -> dict[str, Any]:
    """A chart as Vega-Lite reads it, as wide as its place; colours come from the page's theme."""
    found: dict[str, Any] = chart.properties(width="container").to_dict()
    del found["config"], found["$schema"]
    found["autosize"] = {"type": "fit-x", "contains": "padding"}
    return found


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one module, of the version that the charts are written for."""
    convert = import_extra("vl_convert", "report", "a report")
    version = ".".join(import_extra("altair", "report").SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    text: str = convert.javascript_bundle(vl_version=version if version in convert.get_vegalite_versions() else None)
    return text.replace("</script", "<\\/script")


def as_json(value: Any) -> str:
    """JSON that cannot end the element that it stands in."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


def _digest(script: str) -> str:
    """What the page's content policy knows a script by: no other script runs in it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _colours() -> str:
    """The colours as variables of the page's style."""
    light, dark = (
        " ".join(f"--{name}: {value};" for name, value in COLOURS[paper].items()) for paper in ("light", "dark")
    )
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def _file(name: str) -> str:
    return (files("hypergnn.report") / name).read_text(encoding="utf-8")
