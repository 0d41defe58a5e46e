"""The charts of a page as files for papers: PNG and SVG, on white paper."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn._utils.extras import import_extra
from hypergnn.persistence.files import write_atomic
from hypergnn.report.charts import embedding, theme
from hypergnn.report.insight import Insight
from hypergnn.report.page import Chart

_WIDTH = 460
_PIXELS = 3.0
"""Pixels of a PNG for each of the chart's units: fit for print."""


def save(charts: Sequence[Chart], maps: Sequence[tuple[Insight, npt.NDArray[np.float32], str]], folder: Path) -> None:
    """Write each chart, and the map of each network, as ``<name>.png`` and ``<name>.svg``.

    Args:
        charts: The charts.
        maps: Networks with their maps and labels.
        folder: Where to; made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    named = {chart.name: chart.chart for chart in charts}
    named |= {f"map-{label}": _map(insight, places) for insight, places, label in maps}
    for name, chart in named.items():
        stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        for ending, content in _drawn(chart).items():
            write_atomic(folder / f"{stem}.{ending}", content)


def _drawn(chart: Any) -> dict[str, bytes]:
    convert = import_extra("vl_convert", "report", "figures")
    specification = chart.properties(width=_WIDTH).to_dict()
    specification["config"] = {**theme("light"), "background": "white"}
    return {
        "svg": convert.vegalite_to_svg(specification).encode(),
        "png": convert.vegalite_to_png(specification, scale=_PIXELS),
    }


def _map(insight: Insight, places: npt.NDArray[np.float32]) -> Any:
    """A square map with its classes beside it."""
    names = [name.replace("_", " ") for name in insight.data.class_names]
    rows = [
        {"x": float(x), "y": float(y), "colour": int(number), "label": names[number] if number >= 0 else "unknown"}
        for (x, y), number in zip(places.round(4), insight.data.y, strict=True)
    ]
    return embedding(rows, legend=names).properties(height=_WIDTH)
