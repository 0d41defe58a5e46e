"""How systems compare: tests of Ours against each on a split, and ranks over datasets with the critical difference."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import mean, median

import numpy as np

from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.results import Results
from hypergnn.experiments.statistics import holm, two_sided
from hypergnn.experiments.systems.rows import OURS

LEVEL = 0.05
"""Significance level of the tests and of the critical difference."""
_LEAST, _LEAST_DATASETS = 3, 2
"""Systems and datasets that a ranking needs at least; Friedman's test is not defined for fewer."""


@dataclass(frozen=True)
class Cost:
    """What a trial of a cell costs, in the median of its trials."""

    seconds: float
    """Of processor time; of networks whose trials only train together, the share of the trial."""
    megabytes: float | None
    """Most memory, if the trial had a process of its own."""


@dataclass(frozen=True)
class Against:
    """Ours against another cell of the same dataset."""

    ours: Cell
    other: Cell
    difference: float
    """Mean of Ours minus mean of the other."""
    p: float | None
    """Two-sided, adjusted by Holm's method for all tests of the table; ``None`` if there are too few trials."""

    @property
    def words(self) -> str:
        """What the test says of Ours."""
        if self.p is None:
            return "not tested"
        if self.p >= LEVEL:
            return "no significant difference"
        return "better" if self.difference > 0 else "worse"


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of systems over datasets, by their mean accuracies; rank 1 is the most accurate."""

    ranks: dict[str, float]
    """Mean rank by row, the best first."""
    datasets: tuple[str, ...]
    """The columns over which the ranks are taken."""
    p: float
    """Friedman's test that all systems are equally good."""
    critical: float
    """Mean ranks that differ by less do not differ significantly (Nemenyi)."""
    left_out: tuple[str, ...]
    """Rows that were not measured on all of these datasets."""

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """The largest sets of systems whose mean ranks do not differ significantly, in the order of their ranks."""
        names = list(self.ranks)
        found: list[tuple[str, ...]] = []
        for start, first in enumerate(names):
            own = tuple(one for one in names[start:] if self.ranks[one] - self.ranks[first] < self.critical)
            if len(own) > 1 and not (found and set(own) <= set(found[-1])):
                found.append(own)
        return found


def cost_of(cell: Cell, results: Results) -> Cost | None:
    """The cost of a cell; ``None`` if it has no trials."""
    trials = results.trials(cell)
    if not trials:
        return None
    known = results.trials_alone(cell) or trials
    seconds = [one.seconds if one.cpu_seconds is None else one.cpu_seconds for one in known]
    memory = [one.peak_megabytes for one in known if one.peak_megabytes is not None]
    return Cost(median(seconds), median(memory) if memory else None)


def against(table: Table, results: Results, datasets: Collection[str] | None = None) -> list[Against]:
    """Ours against every other measured cell of a table, dataset by dataset.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> against(TABLES["sota"], Results({}, {}))
        []
    """
    pairs: dict[str, tuple[Cell, Cell]] = {}
    for other in _measured(table, results, datasets):
        ours = table.at(OURS, other.column)
        if ours is not None and other.row != OURS and results.trials(ours):
            pairs[other.name] = ours, other
    raw = {
        name: _p(results.accuracies(ours), results.accuracies(other), other) for name, (ours, other) in pairs.items()
    }
    adjusted = holm({name: p for name, p in raw.items() if p is not None})
    return [
        Against(ours, other, mean(results.accuracies(ours)) - mean(results.accuracies(other)), adjusted.get(name))
        for name, (ours, other) in pairs.items()
    ]


def ranking_of(table: Table, results: Results, datasets: Collection[str] | None = None) -> Ranking | None:
    """The ranks of the rows of a table that has Ours; ``None`` if there are too few rows or datasets for it.

    A dataset counts once, by the mean accuracy of each system. Its trials share one split, so they say how well a
    system does there, and nothing about other data: taken as blocks of their own, they would make systems that are
    equally good differ significantly in nearly every comparison.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> ranking_of(TABLES["sota"], Results({}, {})) is None
        True
    """
    measured = _measured(table, results, datasets)
    columns = [column for column in table.columns if any(one.column == column for one in measured)]
    at = {(cell.row, cell.column): cell for cell in measured}
    rows = [row for row in table.rows if columns and all((row, column) in at for column in columns)]
    if OURS not in rows or len(rows) < _LEAST:
        return None
    if len(columns) < _LEAST_DATASETS:
        return None
    blocks = np.array([[mean(results.accuracies(at[row, column])) for row in rows] for column in columns])
    from scipy.stats import friedmanchisquare, rankdata

    means = rankdata(-blocks, axis=1).mean(axis=0)  # (rows,)
    order = np.argsort(means, kind="stable")
    is_one_value = bool((blocks == blocks[:, :1]).all())
    return Ranking(
        ranks={rows[place]: float(means[place]) for place in order},
        datasets=tuple(columns),
        p=1.0 if is_one_value else float(friedmanchisquare(*blocks.T).pvalue),
        critical=critical_difference(len(rows), len(columns)),
        left_out=tuple(row for row in table.rows if row not in rows and any((row, one) in at for one in columns)),
    )


def critical_difference(n_systems: int, n_datasets: int) -> float:
    """Nemenyi's critical difference of mean ranks at the 5 % level.

    Example:
        >>> round(critical_difference(5, 30), 3)
        1.114
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - LEVEL, n_systems, inf)) / sqrt(2)
    return q * sqrt(n_systems * (n_systems + 1) / (6 * n_datasets))


def _measured(table: Table, results: Results, datasets: Collection[str] | None) -> list[Cell]:
    chosen = [cell for cell in table.cells if datasets is None or cell.dataset in datasets]
    return [cell for cell in chosen if results.trials(cell)]


def _p(ours: Sequence[float], others: Sequence[float], other: Cell) -> float | None:
    """The p-value of a difference; ``None`` if one of them needs more trials."""
    if len(ours) < 2 or (len(others) < 2 and not other.is_deterministic):
        return None
    return two_sided(ours, others)
