"""The charts of a report.

Colours come from the style sheet, light or dark. A chart is as wide as its place on the page;
:mod:`hypergnn.report.figures` gives it a fixed width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from hypergnn.report.colours import PALETTE, UNKNOWN
from hypergnn.report.drawing import STEP, WIDEST, Drawing
from hypergnn.report.plane import Place, Plane, axis_below, axis_left
from hypergnn.report.scales import Scale
from hypergnn.report.svg import Attributes, Svg, shortened, tag, text_width
from hypergnn.report.words import counted

Rows = Sequence[Mapping[str, Any]]

_ROW = 34
"""Height of a row of a chart, in pixels."""
_TRIAL_ROW = 42
_NUMBERS = 6
"""Room for the numbers and the title of a vertical axis."""
_ACCURACY = "test accuracy, %"
_COLUMNS = 40
"""Most epochs that can be hovered over in a chart of curves."""


def dots(rows: Rows) -> Drawing:
    """Measured means with their intervals, and published means, one row per method.

    Args:
        rows: Each with ``row``, ``mean``, ``low`` and ``high`` (``None`` if nothing was measured), ``published`` and
            its range ``from`` and ``to`` (``None`` if there is none).

    Example:
        >>> row = {"row": "GCN", "mean": 81.5, "low": 81.0, "high": 82.0, "published": 80.0, "from": None, "to": None}
        >>> dots([row]).summary
        'GCN: measured 81.50, 95 % interval 81.00 to 82.00, published 80.00.'
    """
    scale = Scale.over(row[name] for row in rows for name in ("mean", "low", "high", "published", "from", "to"))

    def paint(plane: Plane) -> list[Svg]:
        found = axis_below(plane, scale.ticks(), scale, _ACCURACY, grid=True)
        for at, row in enumerate(rows):
            down = _ROW * (at + 0.5)
            marks = []
            if row["from"] is not None:
                marks.append(plane.line("spread", (scale(row["from"]), down), (scale(row["to"]), down)))
            if row["low"] is not None:
                marks.append(plane.line("interval", (scale(row["low"]), down), (scale(row["high"]), down)))
            if row["published"] is not None:
                marks.append(plane.diamond("published", (scale(row["published"]), down)))
            if row["mean"] is not None:
                marks.append(plane.dot("measured", (scale(row["mean"]), down), 5))
            words = "\n".join([row["row"], *_numbers(row)])
            name = _name(plane, row["row"], down)
            found.append(plane.row(down, _ROW, words, name, tag("g", {"class": "marks"}, *marks)))
        return found

    summary = " ".join(f"{row['row']}: {', '.join(_numbers(row))}." for row in rows)
    return Drawing("dots", _ROW * len(rows), _room([row["row"] for row in rows]), paint, summary)


def trials(rows: Rows, order: Sequence[str]) -> Drawing:
    """A dot per trial, and a line at the mean of each row.

    Args:
        rows: Each with ``row``, ``seed`` and ``value``.
        order: The rows from top to bottom.

    Example:
        >>> trials([{"row": "GCN", "seed": seed, "value": 80.0 + seed} for seed in range(3)], ["GCN"]).summary
        'GCN: 3 trials, mean 81.00, from 80.0 to 82.0.'
    """
    scale = Scale.over(row["value"] for row in rows)
    own = {name: [row for row in rows if row["row"] == name] for name in order}
    means = {name: fmean(row["value"] for row in found) for name, found in own.items()}
    words = {name: _spread([row["value"] for row in found]) for name, found in own.items()}

    def paint(plane: Plane) -> list[Svg]:
        found = axis_below(plane, scale.ticks(), scale, _ACCURACY, grid=True)
        for at, name in enumerate(order):
            down = _TRIAL_ROW * (at + 0.5)
            round_ = [
                plane.dot(
                    None,
                    (scale(row["value"]), down + _lift(row["seed"]) * 0.7 * _TRIAL_ROW),
                    3.2,
                    f"seed {row['seed']}: {row['value']:.1f} %" if plane.is_on_page else "",
                )
                for row in own[name]
            ]
            mean, half = scale(means[name]), 0.35 * _ROW
            line = plane.line("mean", (mean, down - half), (mean, down + half))
            marks = (_name(plane, name, down), tag("g", {"class": "trials"}, *round_), line)
            found.append(plane.row(down, _TRIAL_ROW, f"{name}\n{words[name]}", *marks))
        return found

    summary = " ".join(f"{name}: {words[name]}." for name in order)
    return Drawing("strips", _TRIAL_ROW * len(order), _room(order), paint, summary)


def lines(rows: Rows, x_title: str, *, doubling: bool = False, y_title: str = _ACCURACY) -> Drawing:
    """Accuracy against a setting: measured as lines with their intervals, published as diamonds.

    Args:
        rows: Each with ``row``, ``x``, ``mean``, ``low``, ``high`` and ``published``.
        x_title: The name of the setting.
        doubling: Whether the axis of the setting is logarithmic.
        y_title: The name of what was measured.

    Example:
        >>> row = {"row": "GCN", "x": 4, "mean": 81.5, "low": 81.0, "high": 82.0, "published": None}
        >>> lines([row], "layers").summary
        'layers 4: GCN measured 81.50, 95 % interval 81.00 to 82.00.'
    """
    settings = sorted({row["x"] for row in rows})
    series = list(dict.fromkeys(row["row"] for row in rows))
    across = Scale.over(settings, is_logarithmic=doubling)
    up = Scale.over(row[name] for row in rows for name in ("mean", "low", "high", "published"))
    at = {setting: [row for row in rows if row["x"] == setting] for setting in settings}
    hints = [
        "\n".join([f"{x_title} {setting}", *(f"{row['row']}: {', '.join(_numbers(row))}" for row in at[setting])])
        for setting in settings
    ]

    def paint(plane: Plane) -> list[Svg]:
        found = axis_left(plane, up.ticks(9), up, y_title)
        found += axis_below(plane, [(one, str(one)) for one in settings], across, x_title, grid=False)
        found += plane.columns([across(one) for one in settings], hints)
        for number, name in enumerate(series):
            own = sorted((row for row in rows if row["row"] == name), key=lambda row: row["x"])
            found.append(tag("g", {"class": _series(number)}, *_line(plane, own, across, up)))
        return found

    words = " ".join(
        f"{x_title} {setting}: " + "; ".join(f"{row['row']} {', '.join(_numbers(row))}" for row in at[setting]) + "."
        for setting in settings
    )
    legend = [(_series(number), name) for number, name in enumerate(series)]
    return Drawing("lines", 280, _NUMBERS, paint, words, legend)


def curves(rows: Rows) -> Drawing:
    """The losses of each trial against the epoch.

    Args:
        rows: Each with ``epoch``, ``loss``, ``part`` and ``seed``.

    Example:
        >>> losses = [{"epoch": epoch, "loss": 2.0 / epoch, "part": "training", "seed": 0} for epoch in (1, 2, 4)]
        >>> curves(losses).summary
        'Mean training loss: 2 at first, 0.5 at the end.'
    """
    across = Scale.over((row["epoch"] for row in rows), margin=0.01)
    up = _from_zero([row["loss"] for row in rows])
    parts: dict[str, dict[int, list[tuple[int, float]]]] = {}
    for row in sorted(rows, key=lambda row: row["epoch"]):
        parts.setdefault(row["part"], {}).setdefault(row["seed"], []).append((row["epoch"], row["loss"]))
    epochs = sorted({row["epoch"] for row in rows})

    def paint(plane: Plane) -> list[Svg]:
        found = axis_left(plane, up.ticks(8), up, "loss")
        found += axis_below(plane, across.ticks(9), across, "epoch", grid=False)
        some = epochs[:: math.ceil(len(epochs) / _COLUMNS)]
        found += plane.columns([across(epoch) for epoch in some], [_losses(epoch, parts) for epoch in some])
        for number, own in enumerate(parts.values()):
            drawn = [plane.curve("thin", _places(plane, one, across, up)) for one in own.values()]
            found.append(tag("g", {"class": _series(number)}, *drawn))
        return found

    words = " ".join(f"Mean {part} loss: {_course(list(own.values()))}." for part, own in parts.items())
    legend = [(_series(number), part) for number, part in enumerate(parts)]
    return Drawing("curves", 320, _NUMBERS, paint, words, legend)


def embedding(points: Rows, classes: Sequence[str], height: float) -> Drawing:
    """The map of a network's vertices, with a legend at its right.

    Args:
        points: Each with ``x`` and ``y`` between 0 and 1, and ``colour`` (number of the class, -1 if unknown).
        classes: Names of the classes.
        height: Of the map, in pixels.

    Example:
        >>> embedding([{"x": 0.5, "y": 0.5, "colour": 0}] * 10, ["theory", "practice"], 400).summary
        'Map of 10 vertices in 2 classes.'
    """
    inner = Scale(-0.02, 1.02)
    radius = math.sqrt(min(max(70_000 / max(len(points), 1), 6), 30) / math.pi)  # the more dots, the smaller

    def dot(plane: Plane, point: Mapping[str, Any]) -> Svg:
        at: Attributes = {"cx": plane.across(inner(point["x"])), "cy": plane.height * (1 - inner(point["y"]))}
        return tag("circle", {"fill": _colour(point["colour"]), **at, "r": radius})

    def paint(plane: Plane) -> list[Svg]:
        legend = []
        for number, name in enumerate(classes):
            swatch = tag("circle", {"fill": _colour(number), "cx": 29, "cy": 0, "r": 5})
            words = tag("text", {"class": "label", "x": 42, "y": 4}, name)
            legend.append(plane.group((1, 12 + 19 * number), swatch, words))
        return [tag("g", {"fill-opacity": 0.72}, *(dot(plane, point) for point in points)), *legend]

    words = f"Map of {len(points)} vertices in {len(classes)} classes."
    right = 42 + max((text_width(name) for name in classes), default=0)
    return Drawing("map", height, 0, paint, words, right=right, has_axis=False)


def _line(plane: Plane, rows: Rows, across: Scale, up: Scale) -> list[Svg]:
    """A series: the band of its intervals, its line, its points, and the published points."""
    found = []
    if known := [row for row in rows if row["low"] is not None]:
        low, high = (_places(plane, [(row["x"], row[end]) for row in known], across, up) for end in ("low", "high"))
        found.append(plane.curve("band", [*high, *reversed(low)], closed=True))
    measured = _places(plane, [(row["x"], row["mean"]) for row in rows if row["mean"] is not None], across, up)
    found += [plane.curve("line", measured)] if len(measured) > 1 else []
    found += [plane.dot("point", place, 4) for place in measured]
    stated = [(row["x"], row["published"]) for row in rows if row["published"] is not None]
    return [*found, *(plane.diamond("ring", place) for place in _places(plane, stated, across, up))]


def _places(plane: Plane, points: Sequence[tuple[float, float]], across: Scale, up: Scale) -> list[Place]:
    return [(across(x), plane.height * (1 - up(y))) for x, y in points]


def _from_zero(values: Sequence[float]) -> Scale:
    """The axis that holds all values, from 0 on if that adds little to it."""
    scale = Scale.over(values)
    return Scale(0.0, scale.high) if 0 <= min(values) < max(values) / 3 else scale


def _name(plane: Plane, words: str, down: float) -> Svg:
    """The name of a row, at the left of the plane."""
    return plane.text("name", (0, down + 4), shortened(words, STEP * WIDEST - 12), anchor="end", aside=-10)


def _room(names: Sequence[str]) -> int:
    """Room at the left for names, in steps."""
    widest = max((text_width(name) for name in names), default=0)
    return min(math.ceil((widest + 12) / STEP), WIDEST)


def _numbers(row: Mapping[str, Any]) -> list[str]:
    """The numbers of a point in words."""
    found = []
    if row["mean"] is not None:
        found.append(f"measured {row['mean']:.2f}")
    if row["low"] is not None:
        found.append(f"95 % interval {row['low']:.2f} to {row['high']:.2f}")
    if row["published"] is not None:
        found.append(f"published {row['published']:.2f}")
    return found


def _spread(values: Sequence[float]) -> str:
    return f"{counted(len(values), 'trial')}, mean {fmean(values):.2f}, from {min(values):.1f} to {max(values):.1f}"


def _losses(epoch: int, parts: Mapping[str, Mapping[int, Sequence[tuple[int, float]]]]) -> str:
    """What is shown over an epoch: the mean loss of the trials that ran so long, between the epochs that are drawn."""
    found = []
    for part, own in parts.items():
        running = [np.array(one).T for one in own.values() if one[-1][0] >= epoch]
        losses = [float(np.interp(epoch, *one)) for one in running]
        found += [f"{part} {fmean(losses):.3g}, {counted(len(losses), 'trial')}"] if losses else []
    return "\n".join([f"epoch {epoch}", *found])


def _course(trials: Sequence[Sequence[tuple[int, float]]]) -> str:
    first, last = (fmean(one[at][1] for one in trials) for at in (0, -1))
    return f"{first:.3g} at first, {last:.3g} at the end"


def _series(number: int) -> str:
    return f"series-{number % 4}"


def _colour(number: int) -> str:
    return UNKNOWN if number < 0 else PALETTE[number % len(PALETTE)]


def _lift(seed: int) -> float:
    """The height of a trial within its row, -0.5 to 0.5: evenly spread, and the same in every drawing."""
    return round((seed * 0.6180339887) % 1 - 0.5, 3)
