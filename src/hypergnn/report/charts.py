"""The charts of a report, made with Vega-Altair. Colours come from the theme, light or dark.

A chart is as wide as its place on the page; :mod:`hypergnn.report.figures` gives it a fixed width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hypergnn._utils.extras import import_extra

Rows = Sequence[Mapping[str, Any]]

PALETTE = (
    "#3b6fb6",
    "#e0912f",
    "#3a9d6e",
    "#c4524a",
    "#8a63b8",
    "#45aec4",
    "#a98232",
    "#d673a5",
    "#7d8f3a",
    "#868c96",
)
"""Colours of the classes, legible on light and dark backgrounds."""

COLOURS: dict[Literal["light", "dark"], dict[str, str]] = {
    "light": {
        "paper": "#fbfaf7",
        "card": "#ffffff",
        "ink": "#1c2126",
        "soft": "#5b646c",
        "line": "#e3e0d8",
        "accent": "#0b6a72",
        "other": "#b8693a",
        "wash": "#eef4f3",
        "warn": "#9a4a12",
        "warn-wash": "#fbf1e6",
        "heat": "55%",
    },
    "dark": {
        "paper": "#13171a",
        "card": "#1a2024",
        "ink": "#e8e6e1",
        "soft": "#a2abb2",
        "line": "#2d353a",
        "accent": "#5fc3bd",
        "other": "#e3a06c",
        "wash": "#1c2b2c",
        "warn": "#eba35c",
        "warn-wash": "#2d241b",
        "heat": "45%",
    },
}
"""Colours of the page and its charts on a light and a dark background; ``heat`` is the largest share of accent in a
cell, chosen so that text stays legible on it."""

_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif'
_ROW = 34
"""Height of a row of a chart, in pixels."""


def theme(paper: Literal["light", "dark"]) -> dict[str, Any]:
    """Vega-Lite's configuration for charts on a light or dark background.

    Example:
        >>> theme("dark")["style"]["measured"]["color"]
        '#5fc3bd'
    """
    colours = COLOURS[paper]
    accent, ink, soft, line = (colours[name] for name in ("accent", "ink", "soft", "line"))
    text = {"labelColor": soft, "titleColor": soft, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 400}
    return {
        "background": "transparent",
        "font": _FONT,
        "view": {"stroke": None},
        "axis": {**text, "gridColor": line, "domain": False, "ticks": False, "labelPadding": 8, "titlePadding": 10},
        "axisX": {"tickCount": 6, "labelOverlap": True},
        "axisY": {"labelLimit": 210},
        "legend": {**text, "orient": "top", "title": None, "symbolStrokeWidth": 2},
        "range": {"category": [accent, colours["other"]]},
        "style": {
            "measured": {"color": accent, "filled": True, "size": 90, "opacity": 1},
            "interval": {"color": accent, "strokeWidth": 2.5, "opacity": 0.55},
            "published": {"color": ink, "filled": False, "strokeWidth": 1.6, "size": 80, "opacity": 1},
            "spread": {"color": ink, "strokeWidth": 1, "opacity": 0.5},
            "trial": {"color": accent, "size": 34, "opacity": 0.35},
            "mean": {"color": ink, "opacity": 1},
            "members": {"color": ink, "filled": False, "strokeWidth": 1.3, "size": 60, "opacity": 0.8},
            "chosen": {"color": ink, "filled": False, "strokeWidth": 3, "size": 260, "opacity": 1},
        },
    }


def dots(rows: Rows) -> Any:
    """Measured means with their intervals, and published means, one row per method.

    Args:
        rows: Each with ``row``, ``mean``, ``low`` and ``high`` (``None`` if nothing was measured), ``published`` and
            its range ``from`` and ``to`` (``None`` if there is none).
    """
    alt = _altair()
    base = _rows(alt, rows)
    tooltip = _tooltip(alt, rows)
    parts = {
        "spread": base.mark_rule(style="spread", aria=False).encode(x="from:Q", x2="to:Q"),
        "published": base.mark_point(style="published", shape="diamond").encode(x="published:Q", tooltip=tooltip),
        "interval": base.mark_rule(style="interval", aria=False).encode(x="low:Q", x2="high:Q"),
        "measured": base.mark_point(style="measured", shape="circle").encode(x="mean:Q", tooltip=tooltip),
    }
    fields = {"spread": "from", "published": "published", "interval": "low", "measured": "mean"}
    layers = [part for name, part in parts.items() if any(row[fields[name]] is not None for row in rows)]
    scale = alt.Scale(zero=False, nice=True, padding=12)
    layers[0] = layers[0].encode(x=alt.X(layers[0].encoding.x.shorthand, title="test accuracy, %", scale=scale))
    return alt.layer(*layers).properties(height=_ROW * len(rows))


def trials(rows: Rows, order: Sequence[str]) -> Any:
    """A dot per trial, and a line at the mean of each row.

    Args:
        rows: Each with ``row``, ``seed`` and ``value``.
        order: The rows from top to bottom.
    """
    alt = _altair()
    scattered = [{**row, "lift": _lift(row["seed"])} for row in rows]
    base = alt.Chart(alt.InlineData(values=scattered)).encode(
        y=alt.Y("row:N", sort=list(order), title=None), x=alt.X("value:Q", title="test accuracy, %", scale=_loose(alt))
    )
    dots_ = base.mark_circle(style="trial").encode(
        yOffset=alt.YOffset("lift:Q", scale=alt.Scale(domain=[-0.7, 0.7])),
        tooltip=[alt.Tooltip("row:N"), alt.Tooltip("seed:Q"), alt.Tooltip("value:Q", format=".1f")],
    )
    mean = base.mark_tick(style="mean", thickness=2, size=_ROW * 0.7).encode(x=alt.X("mean(value):Q"))
    return alt.layer(dots_, mean).properties(height=(_ROW + 8) * len(order))


def lines(rows: Rows, x_title: str, *, doubling: bool = False) -> Any:
    """Accuracy against a setting: measured as lines with their intervals, published as diamonds.

    Args:
        rows: Each with ``row``, ``x``, ``mean``, ``low``, ``high`` and ``published``.
        x_title: The name of the setting.
        doubling: Whether the axis of the setting is logarithmic.
    """
    alt = _altair()
    ticks = sorted({row["x"] for row in rows})
    scale = alt.Scale(type="log", base=2, nice=False, padding=12) if doubling else alt.Scale(zero=False, padding=12)
    x = alt.X("x:Q", title=x_title, axis=alt.Axis(values=ticks, grid=False, labelOverlap=False), scale=scale)
    legend = alt.Legend(symbolOpacity=1, symbolType="stroke")
    colour = alt.Color("row:N", sort=None, scale=alt.Scale(range="category"), legend=legend)
    y = alt.Y("mean:Q", title="test accuracy, %", scale=_loose(alt))
    base = alt.Chart(alt.InlineData(values=list(rows))).encode(x=x, color=colour)
    tooltip = _tooltip(alt, rows)
    layers = [
        base.mark_area(opacity=0.18, aria=False).encode(y=alt.Y("low:Q", title="test accuracy, %"), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_circle(size=45, opacity=1).encode(y=y, tooltip=tooltip),
    ]
    if any(row["published"] is not None for row in rows):  # Vega warns about an empty layer
        published = base.mark_point(shape="diamond", size=80, filled=False, strokeWidth=1.6)
        layers.append(published.encode(y="published:Q", tooltip=tooltip))
    return alt.layer(*layers).properties(height=280)


def curves(rows: Rows) -> Any:
    """The losses of each trial against the epoch.

    Args:
        rows: Each with ``epoch``, ``loss``, ``part`` and ``seed``.
    """
    alt = _altair()
    return (
        alt.Chart(alt.InlineData(values=list(rows)))
        .mark_line(strokeWidth=1.4, opacity=0.55, interpolate="monotone")
        .encode(
            x=alt.X("epoch:Q", title="epoch", axis=alt.Axis(grid=False)),
            y=alt.Y("loss:Q", title="loss", scale=alt.Scale(zero=False, nice=True)),
            color=alt.Color("part:N", sort=None, scale=alt.Scale(range="category")),
            detail="seed:N",
        )
        .properties(height=320)
    )


def embedding(points: Rows = (), legend: Sequence[str] = ()) -> Any:
    """The map of a network's vertices. The page fills in the points, and which are ``chosen`` and ``members``.

    Args:
        points: Each with ``x``, ``y``, ``colour`` (number of the class, -1 if unknown) and ``label``.
        legend: Names of the classes for a legend beside the map; none if omitted.
    """
    alt = _altair()

    def place(field: str) -> dict[str, Any]:
        return {"axis": None, "scale": alt.Scale(domain=[-0.02, 1.02]), "field": field, "type": "quantitative"}

    def layer(name: str) -> Any:
        return alt.Chart(alt.NamedData(name=name)).encode(x=alt.X(**place("x")), y=alt.Y(**place("y")))

    domain: list[Any] = list(legend) or [-1, *range(len(PALETTE))]
    colours = [*PALETTE] * (len(legend) // len(PALETTE) + 1) if legend else ["#9aa1a8", *PALETTE]
    number = "datum.label" if legend else f"datum.colour < 0 ? -1 : datum.colour % {len(PALETTE)}"
    dots_ = (
        layer("points")
        .transform_calculate(number=number)
        .mark_circle(size=min(max(70_000 / max(len(points), 1), 6), 30), opacity=0.72)
        .encode(
            color=alt.Color(
                "number:N",
                scale=alt.Scale(domain=domain, range=colours[: len(domain)]),
                legend=alt.Legend(orient="right", symbolOpacity=1) if legend else None,
            ),
            tooltip=alt.Tooltip("label:N", title=" "),
        )
    )
    marks = [layer(name).mark_point(style=name, shape="circle", tooltip=None) for name in ("members", "chosen")]
    chart = alt.layer(dots_, *marks).properties(height=440)
    chart.datasets = {"points": list(points), "members": [], "chosen": []}
    return chart


def _altair() -> Any:
    return import_extra("altair", "report", "a report")


def _rows(alt: Any, rows: Rows) -> Any:
    order = [row["row"] for row in rows]
    return alt.Chart(alt.InlineData(values=list(rows))).encode(y=alt.Y("row:N", sort=order, title=None))


def _tooltip(alt: Any, rows: Rows) -> list[Any]:
    """The tooltip of a point, with the fields that the rows have."""
    known = {name for row in rows for name, value in row.items() if value is not None}
    fields = [("mean", "measured"), ("low", "interval from"), ("high", "to"), ("published", "published")]
    numbers = [alt.Tooltip(f"{name}:Q", title=title, format=".2f") for name, title in fields if name in known]
    return [alt.Tooltip("row:N", title=" "), *numbers]


def _loose(alt: Any) -> Any:
    return alt.Scale(zero=False, nice=True, padding=10)


def _lift(seed: int) -> float:
    """The height of a trial within its row, -0.5 to 0.5: evenly spread, and the same in every drawing."""
    return round((seed * 0.6180339887) % 1 - 0.5, 3)
