"""Sentences about a table beyond its means, generated from the records."""

from __future__ import annotations

from collections.abc import Collection
from statistics import mean, median

from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.results import Results
from hypergnn.experiments.statistics import summarise

WIDE = 5.0
"""Standard deviation, in points, above which the range of the trials is described."""
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
    return found + [_spread(cell, results) for cell in cells if _is_wide(cell, results)]


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
        here = {row: means.get(cells[row].name, number) for row, number in published.items()}
        place, stated = (
            1 + sum(number > mine for number in others.values())
            for others, mine in ((here, means[own.name]), (published, own.published.mean))
        )
        parts.append(f"{place} of {1 + len(cells)} on {column} (in the paper: {stated})")
    return [f"Rank of {_OURS} among the rows of this table, by our means: {', '.join(parts)}."] if parts else []


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
