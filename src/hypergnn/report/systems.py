"""Charts that compare systems: accuracy against training time, and ranks with the critical difference."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hypergnn.experiments.cells import Table
from hypergnn.experiments.ranking import Ranking, cost_of, ranking_of
from hypergnn.experiments.ranking_text import seconds_text
from hypergnn.experiments.results import Results
from hypergnn.experiments.statistics import summarise
from hypergnn.experiments.systems.rows import OURS
from hypergnn.report.drawing import Drawing
from hypergnn.report.page import Chart
from hypergnn.report.plane import Place, Plane, axis_below, axis_left
from hypergnn.report.scales import Scale
from hypergnn.report.svg import Svg, tag, text_width

Point = tuple[str, float, float]
"""A system, its seconds of a trial, and its mean accuracy."""

_HEIGHT = 340
_USUAL_WIDTH = 620
"""Pixels across, for the estimate of which names would overlap."""
_LINE = 14
"""Pixels between two lines of text."""
_STEPS = (0.0, 0.9, -0.9, 1.8, -1.8, 2.7)
"""Where else to write a name that would hide something, in lines."""
_MOST_TICKS = 8
_AXIS = 46
"""Pixels from the top to the axis of ranks; the critical difference is drawn above it."""
_BAR = 8
_LEVEL = 22
_MARGIN = 0.6
"""Room for names at both ends of the axis of ranks, relative to the axis."""


def charts_of_systems(table: Table, results: Results) -> list[Chart]:
    """Accuracy against training time for each dataset, and the critical-difference diagram.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> charts_of_systems(TABLES["sota"], Results({}, {}))
        []
    """
    found = []
    for column in table.columns:
        cells = [cell for cell in table.cells if cell.column == column and results.trials(cell)]
        if len(cells) > 1 and any(cell.system is not None for cell in cells):
            points = [
                (cell.row, cost.seconds, summarise(results.accuracies(cell)).mean)
                for cell in cells
                if (cost := cost_of(cell, results)) is not None
            ]
            words = "Mean test accuracy of each system, and processor time of one trial in the median."
            caption = f"Accuracy against training time, {column}"
            found.append(Chart(f"{table.name}-time-{column}", accuracy_by_time(points), caption, words, words[:-1]))
    if found and (ranking := ranking_of(table, results)) is not None:
        words = (
            f"Mean ranks over {len(ranking.datasets)} datasets; 1 is the best. Thick lines join systems that do not "
            "differ significantly; so few datasets can hardly separate so many systems."
        )
        found.append(Chart(f"{table.name}-ranks", ranks(ranking), "Critical-difference diagram", words, words[:-1]))
    return found


def accuracy_by_time(points: Sequence[Point]) -> Drawing:
    """A dot per system: its accuracy against the seconds of a trial, on a logarithmic axis.

    Example:
        >>> accuracy_by_time([("Fast", 0.5, 80.0), ("Slow", 20.0, 82.0)]).summary
        'Fast: 80.00 % in 0.5 s. Slow: 82.00 % in 20 s.'
    """
    known = [(name, max(seconds, 0.001), accuracy) for name, seconds, accuracy in points]
    across = Scale.over((seconds for _, seconds, _ in known), margin=0.08, is_logarithmic=True)
    up = Scale.over(accuracy for _, _, accuracy in known)

    def paint(plane: Plane) -> list[Svg]:
        found = axis_left(plane, up.ticks(8), up, "test accuracy, %")
        found += axis_below(plane, _seconds_ticks(across), across, "seconds of a trial", grid=True)
        places = {name: (across(seconds), plane.height * (1 - up(accuracy))) for name, seconds, accuracy in known}
        lines = _apart(places)
        for name, seconds, accuracy in known:
            share, down = places[name]
            is_late = share > 0.6
            at, end = (share, lines[name] + 4), "end" if is_late else "start"
            label = plane.text("name", at, name, anchor=end, aside=-9 if is_late else 9)
            hint = f"{name}\n{accuracy:.2f} % in {seconds_text(seconds)} s" if plane.is_on_page else ""
            style = "series-1" if name == OURS else "series-0"
            found.append(tag("g", {"class": style}, plane.dot("point", (share, down), 5, hint), label))
        return found

    words = " ".join(f"{name}: {accuracy:.2f} % in {seconds_text(seconds)} s." for name, seconds, accuracy in known)
    return Drawing("lines", _HEIGHT, 6, paint, words)


def ranks(ranking: Ranking) -> Drawing:
    """The critical-difference diagram: mean ranks on an axis, and lines that join what does not differ significantly.

    Example:
        >>> diagram = ranks(Ranking({"A": 1.2, "B": 1.8, "C": 3.0}, ("Cora", "Citeseer"), 0.2, 2.34, ()))
        >>> diagram.summary
        'Mean ranks: A 1.20, B 1.80, C 3.00. Critical difference 2.34.'
    """
    names, n_systems = list(ranking.ranks), len(ranking.ranks)
    room = _MARGIN * (n_systems - 1)
    scale = Scale(1 - room, n_systems + room)
    first_level = _AXIS + _BAR * (len(ranking.groups) + 1) + _LEVEL
    half = math.ceil(n_systems / 2)

    def paint(plane: Plane) -> list[Svg]:
        found = _rank_axis(plane, scale, n_systems, ranking.critical)
        for number, own in enumerate(ranking.groups, 1):
            low, high = (scale(ranking.ranks[one]) for one in (own[0], own[-1]))
            down = _AXIS + _BAR * number
            found.append(plane.line("mean", (low - 0.008, down), (high + 0.008, down)))
        for place, name in enumerate(names):
            is_left = place < half
            level = first_level + _LEVEL * (place if is_left else n_systems - 1 - place)
            share, edge = scale(ranking.ranks[name]), 0.0 if is_left else 1.0
            words = f"{name} {ranking.ranks[name]:.2f}"
            label = plane.text("name", (edge, level - 4), words, anchor="start" if is_left else "end")
            lines = (
                plane.line("base", (share, _AXIS), (share, level)),
                plane.line("base", (share, level), (edge, level)),
            )
            found += [*lines, label]
        return found

    words = ", ".join(f"{name} {rank:.2f}" for name, rank in ranking.ranks.items())
    summary = f"Mean ranks: {words}. Critical difference {ranking.critical:.2f}."
    return Drawing("ranks", first_level + _LEVEL * half, 0, paint, summary, has_axis=False)


def _rank_axis(plane: Plane, scale: Scale, n_systems: int, critical: float) -> list[Svg]:
    """The axis from rank 1 to the last, and the critical difference as a line above it."""
    found = [plane.line("base", (scale(1), _AXIS), (scale(n_systems), _AXIS))]
    for rank in range(1, n_systems + 1):
        share = scale(rank)
        found.append(plane.line("base", (share, _AXIS - 4), (share, _AXIS)))
        found.append(plane.text("label", (share, _AXIS - 8), str(rank)))
    end = min(1 + critical, n_systems)
    found.append(plane.line("interval", (scale(1), 20), (scale(end), 20)))
    words = f"critical difference {critical:.2f}"
    return [*found, plane.text("label", (scale(1), 13), words, anchor="start")]


def _seconds_ticks(scale: Scale) -> list[tuple[float, str]]:
    """Round values of a logarithmic axis: 1, 2, 5, 10, …, or only powers of ten if these are too many."""
    powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    for bases in ((1, 2, 5), (1,)):
        values = [base * 10.0**power for power in powers for base in bases]
        inside = [value for value in values if scale.low <= value <= scale.high]
        if len(inside) <= _MOST_TICKS:
            break
    return [(value, f"{value:g}") for value in inside]


def _apart(places: dict[str, Place]) -> dict[str, float]:
    """How far down to write the name of each system, so that it hides neither another name nor a dot."""
    found: dict[str, float] = {}
    for name in sorted(places, key=lambda one: places[one][1]):
        left, right = _extent(name, places[name][0])
        near = [line for other, line in found.items() if _overlap((left, right), _extent(other, places[other][0]))]
        dots = [
            down for other, (share, down) in places.items() if other != name and left < share * _USUAL_WIDTH + 5 < right
        ]
        tries = [places[name][1] + _LINE * step for step in _STEPS]
        free = [
            down
            for down in tries
            if all(abs(down - line) >= _LINE for line in near) and all(abs(down - dot) >= 0.7 * _LINE for dot in dots)
        ]
        found[name] = free[0] if free else tries[0]
    return found


def _overlap(one: tuple[float, float], two: tuple[float, float]) -> bool:
    return one[0] < two[1] and two[0] < one[1]


def _extent(name: str, share: float) -> tuple[float, float]:
    """Where a name begins and ends, in pixels."""
    at, width = share * _USUAL_WIDTH, text_width(name) + 9
    return (at - width, at) if share > 0.6 else (at, at + width)
