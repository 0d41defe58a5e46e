"""What the numbers of a table say beyond their means, found in the records: no sentence of it is written beforehand."""

from __future__ import annotations

from statistics import median

from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.results import Results
from hypergnn.experiments.statistics import summarise

WIDE = 5.0
"""Standard deviation, in points, from which trials do not gather around their mean."""
_SETTINGS = {"hidden": "a width of", "depth": "a depth of"}
"""Tables whose columns are values of a setting."""
_OURS = "Ours"


def remarks_of(table: Table, results: Results) -> list[str]:
    """Sentences about a table.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> remarks_of(TABLES["sota"], Results({}, {}))
        []
    """
    means = {cell.name: summarise(values).mean for cell in table.cells if (values := results.accuracies(cell))}
    found = _highest(table, means) if table.name in _SETTINGS else []
    found += _ranks(table, means) if _OURS in table.rows else []
    return found + [_spread(cell, results) for cell in table.cells if _is_wide(cell, results)]


def _highest(table: Table, means: dict[str, float]) -> list[str]:
    """At which value of the setting each method is best, where it was run with several."""
    parts = []
    for row in table.rows:
        cells = [cell for cell in table.cells if cell.row == row and cell.name in means]
        if len(cells) > 1:
            best = max(cells, key=lambda cell: means[cell.name])
            parts.append(f"{row} at {_SETTINGS[table.name]} {best.column} ({means[best.name]:.2f})")
    return [f"Highest means here: {', '.join(parts)}."] if parts else []


def _ranks(table: Table, means: dict[str, float]) -> list[str]:
    """Which place Ours has among all rows, by our means and by the published ones."""
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
        parts.append(f"number {place} of {1 + len(cells)} on {column} (published: {stated})")
    return [f"By these means {_OURS} is {', '.join(parts)}."] if parts else []


def _is_wide(cell: Cell, results: Results) -> bool:
    values = results.accuracies(cell)
    return len(values) > 1 and (summarise(values).sd or 0.0) > WIDE


def _spread(cell: Cell, results: Results) -> str:
    values = results.accuracies(cell)
    low = sum(value < median(values) - 2 * WIDE for value in values)
    return (
        f"{cell.row}, {cell.column}: the trials end between {min(values):.1f} and {max(values):.1f}, half of them "
        f"above {median(values):.1f}, {low} of {len(values)} more than {2 * WIDE:.0f} points below that. The mean "
        "stands for none of them."
    )
