"""The charts of a page as PNG and SVG files, on a white background, with a title and a key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn._utils.extras import import_extra
from hypergnn.persistence.files import write_atomic
from hypergnn.report.charts import COLOURS, embedding, theme
from hypergnn.report.insight import Insight
from hypergnn.report.page import Chart

_WIDTH = 460
_PIXELS = 3.0
"""Pixels of a PNG per unit of the chart, high enough for print."""


def save(charts: Sequence[Chart], maps: Sequence[tuple[Insight, npt.NDArray[np.float32], str]], folder: Path) -> None:
    """Write each chart, and the map of each network, as ``<name>.png`` and ``<name>.svg``.

    Args:
        charts: The charts.
        maps: Networks with their maps and labels.
        folder: The folder, created if missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    named = {chart.name: _titled(chart.chart, chart.caption, chart.key) for chart in charts}
    key = "t-SNE of the hidden features; the colour is the true class."
    named |= {f"map-{label}": _titled(_map(insight, places), label, key) for insight, places, label in maps}
    for name, chart in named.items():
        stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        for ending, content in _drawn(chart).items():
            write_atomic(folder / f"{stem}.{ending}", content)


def _titled(chart: Any, title: str, key: str) -> Any:
    """A chart that can be read without the page: with its title, and what its marks mean below it."""
    words = {"text": title, "anchor": "start", "fontWeight": 600, "fontSize": 13, "offset": 8}
    if key:
        words |= {"subtitle": key, "subtitleFontSize": 11, "subtitleColor": COLOURS["light"]["soft"]}
    return chart.properties(title=words)


def _drawn(chart: Any) -> dict[str, bytes]:
    convert = import_extra("vl_convert", "report", "figures")
    specification = chart.properties(width=_WIDTH).to_dict()
    specification["config"] = {**theme("light"), "background": "white"}
    return {
        "svg": convert.vegalite_to_svg(specification).encode(),
        "png": convert.vegalite_to_png(specification, scale=_PIXELS),
    }


def _map(insight: Insight, places: npt.NDArray[np.float32]) -> Any:
    """A square map with a legend of its classes."""
    names = [name.replace("_", " ") for name in insight.data.class_names]
    rows = [
        {"x": float(x), "y": float(y), "colour": int(number), "label": names[number] if number >= 0 else "unknown"}
        for (x, y), number in zip(places.round(4), insight.data.y, strict=True)
    ]
    return embedding(rows, legend=names).properties(height=_WIDTH)
