"""The charts of a page as files, on a white background, with a title and a key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn._utils.extras import import_extra
from hypergnn.persistence.files import write_atomic
from hypergnn.report.charts import embedding
from hypergnn.report.drawing import Drawing
from hypergnn.report.insight import Insight
from hypergnn.report.page import Chart

FORMATS = ("svg", "png", "pdf")
_WIDTH = 460
_PIXELS = 3.0
"""Pixels of a PNG per unit of the chart, high enough for print."""


def check_formats(formats: Sequence[str]) -> None:
    """Raise if a format is not known, or if its library is not installed.

    Example:
        >>> check_formats(["svg", "gif"])
        Traceback (most recent call last):
        ValueError: formats must be a list of 'svg', 'png' or 'pdf'; got ['svg', 'gif'].
    """
    if isinstance(formats, str) or not formats or not set(formats) <= set(FORMATS):
        given = formats if isinstance(formats, str) else list(formats)
        raise ValueError(f"formats must be a list of 'svg', 'png' or 'pdf'; got {given!r}.")
    if set(formats) != {"svg"}:
        _converter()


def save(
    charts: Sequence[Chart],
    maps: Sequence[tuple[Insight, npt.NDArray[np.float32], str]],
    folder: Path,
    formats: Sequence[str] = ("svg",),
) -> None:
    """Write each chart, and the map of each network, as ``<name>.<format>``.

    Args:
        charts: The charts.
        maps: Networks with their maps and labels.
        folder: The folder, created if missing.
        formats: Among ``"svg"``, ``"png"`` and ``"pdf"``; the last two need the extra ``figures``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    named = {chart.name: chart.chart.figure(chart.caption, chart.key, _WIDTH) for chart in charts}
    key = "t-SNE of the hidden features; the colour is the true class"
    named |= {f"map-{label}": _map(insight, places).figure(label, key, _WIDTH) for insight, places, label in maps}
    for name, drawn in named.items():
        stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        for one in dict.fromkeys(formats):
            write_atomic(folder / f"{stem}.{one}", _converted(drawn, one))


def _converted(figure: str, target: str) -> bytes:
    if target == "svg":
        return figure.encode()
    convert = _converter()
    content: bytes = convert.svg_to_png(figure, scale=_PIXELS) if target == "png" else convert.svg_to_pdf(figure)
    return content


def _converter() -> Any:
    return import_extra("vl_convert", "figures", "figures as PNG or PDF")


def _map(insight: Insight, places: npt.NDArray[np.float32]) -> Drawing:
    """A square map with a legend of its classes."""
    names = [name.replace("_", " ") for name in insight.data.class_names]
    rows = [
        {"x": float(x), "y": float(y), "colour": int(number)}
        for (x, y), number in zip(places, insight.data.y, strict=True)
    ]
    return embedding(rows, names, _WIDTH)
