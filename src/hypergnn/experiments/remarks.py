"""Sentences about a table beyond its means, generated from the records."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from statistics import mean, median

from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.results import Results
from hypergnn.experiments.statistics import summarise
from hypergnn.experiments.systems.findings import FINDINGS, UNKNOWN

WIDE = 5.0
"""Standard deviation, in points, above which the range of the trials is described."""
FAR = 1.5
"""Difference from the published number, in points, from which on a system needs an explanation."""
_OURS = "Ours"


def remarks_of(table: Table, results: Results, datasets: Collection[str] | None = None) -> list[str]:
    """Sentences about a table, or about its cells of some datasets.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> remarks_of(TABLES["sota"], Results({}, {}))
        []
    """
    cells = [cell for cell in table.cells if datasets is None or cell.dataset in datasets]
    means = {cell.name: summarise(values).mean for cell in cells if (values := results.accuracies(cell))}
    found = _highest(table, means) if table.setting else []
    found += _ranks(table, means) if _OURS in table.rows else []
    found += [*_system_gaps(cells, means), *_time(cells, results)]
    found += [_spread(cell, results) for cell in cells if _is_wide(cell, results)]
    found += [_inapplicable(one, why) for one in cells if (why := results.inapplicable(one))]
    found += [f"{one.row} failed on {one.column}. {_sentence(why)}" for one in cells if (why := results.failure(one))]
    return found + [
        f"{one.row} on {one.column}: what a trial costs alone could not be measured. {_sentence(why)}"
        for one in cells
        if (why := results.failure_alone(one))
    ]


def _highest(table: Table, means: dict[str, float]) -> list[str]:
    """The value of the setting at which each method is best, if it was run with several."""
    parts = []
    for row in table.rows:
        cells = [cell for cell in table.cells if cell.row == row and cell.name in means]
        if len(cells) > 1:
            best = max(cells, key=lambda cell: means[cell.name])
            parts.append(f"{row} at {best.column} ({means[best.name]:.2f})")
    return [f"Highest mean of each method by {table.setting}: {', '.join(parts)}."] if parts else []


def _ranks(table: Table, means: dict[str, float]) -> list[str]:
    """The rank of Ours among all rows, by our means and by the published ones."""
    parts = []
    for column in table.columns:
        cells = {cell.row: cell for cell in table.cells if cell.column == column}
        own = cells.pop(_OURS, None)
        if own is None or own.name not in means or own.published is None:
            continue
        published = {row: cell.published.mean for row, cell in cells.items() if cell.published is not None}
        here = published | {row: means[cell.name] for row, cell in cells.items() if cell.name in means}
        place, stated = (
            1 + sum(number > mine for number in others.values())
            for others, mine in ((here, means[own.name]), (published, own.published.mean))
        )
        parts.append(f"{place} of {1 + len(here)} on {column} (in the paper: {stated})")
    return [f"Rank of {_OURS} among the rows of this table, by our means: {', '.join(parts)}."] if parts else []


def _system_gaps(cells: list[Cell], means: dict[str, float]) -> Iterator[str]:
    """How many systems reach their published numbers, and a sentence about each that is far from one."""
    gaps: dict[str, dict[str, float]] = {}
    for cell in cells:
        if cell.system is not None and cell.published is not None and cell.name in means:
            gaps.setdefault(cell.row, {})[cell.column] = means[cell.name] - cell.published.mean
    points = [gap for own in gaps.values() for gap in own.values()]
    if not points:
        return
    reached = sum(gap >= -FAR for gap in points)
    verb = "is" if reached == 1 else "are"
    yield f"Of {len(points)} numbers quoted from others, {reached} {verb} exceeded or missed by at most {FAR:g} points."
    for row, own in gaps.items():
        far = [f"{gap:+.2f} on {column}" for column, gap in own.items() if abs(gap) > FAR]
        if far:
            yield f"{row} differs from the published numbers by {', '.join(far)}. {FINDINGS.get(row, UNKNOWN)}"


def _time(cells: list[Cell], results: Results) -> Iterator[str]:
    """How long the trials of the systems took, and how many a system has."""
    trials = [one for cell in cells if cell.system is not None for one in results.trials(cell)]
    if trials:
        hours = sum(one.seconds for one in trials) / 3600
        yield f"The {len(trials)} trials of systems in this table took {hours:.1f} hours of one core."


def _inapplicable(cell: Cell, why: str) -> str:
    """That a system does not apply to a dataset, unless its own message says so already."""
    return why if "does not apply" in why else f"{cell.row} does not apply to {cell.column}: {why}"


def _sentence(why: str) -> str:
    return f"{why[0].upper()}{why[1:].rstrip('.')}."


def _is_wide(cell: Cell, results: Results) -> bool:
    values = results.accuracies(cell)
    return len(values) > 1 and (summarise(values).sd or 0.0) > WIDE


def _spread(cell: Cell, results: Results) -> str:
    values = results.accuracies(cell)
    near = sum(abs(value - mean(values)) <= WIDE for value in values)
    name = f"{cell.row[0].upper()}{cell.row[1:]}, {cell.column}"
    return (
        f"{name}: accuracies range from {min(values):.1f} to {max(values):.1f}, with a median of "
        f"{median(values):.1f}; {near} of {len(values)} trials lie within {WIDE:.0f} points of the mean."
    )
