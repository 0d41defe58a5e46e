"""The paper's claims that one cell is better than another, and what came of each here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from hypergnn.experiments.cells import Cell, Comparison, Table
from hypergnn.experiments.paper import NAMES, cell_of
from hypergnn.experiments.results import Results
from hypergnn.experiments.statistics import Test, compare

LEVEL = 0.05
"""Significance level of the tests: the paper's."""
FEW = 30
"""Trials below which an interval says little."""
MANY = 10
"""Cells whose means cannot all lie on one side of the published ones by chance."""

Outcome = Literal["holds", "not shown", "reversed", "untested"]


@dataclass(frozen=True)
class Claim:
    """A comparison of the paper, and its test on our trials."""

    table: Table
    """Whose claim it is."""
    comparison: Comparison
    better: Cell
    worse: Cell
    test: Test

    @property
    def outcome(self) -> Outcome:
        """Whether our trials bear it out, significantly; or the reverse of it; or neither.

        ``"untested"`` is one that trials are too few for, or too much alike.
        """
        if self.test.p is None:
            return "untested"
        if self.test.p < LEVEL:
            return "holds"
        return "reversed" if self.test.p_reverse < LEVEL else "not shown"

    @property
    def parts(self) -> tuple[str, str, str]:
        """What is said to be better, than what, and where."""
        better, worse = self.better, self.worse
        if better.table != worse.table:  # with and without a skip connection
            first, second = (
                f"{one.row} {'with' if one.config is not None and one.config.skip else 'without'} skip"
                for one in (better, worse)
            )
            return first, second, (worse if worse.table == self.table.name else better).column
        if better.row != worse.row:
            return better.row, worse.row, f"{self.table.setting} {better.column}".strip()
        return f"{better.row}, {self.table.setting} {better.column},", worse.column, NAMES[better.dataset]

    @property
    def words(self) -> str:
        """The claim as the paper might put it.

        Example:
            >>> from hypergnn.experiments.paper import TABLES
            >>> table = TABLES["baselines"]
            >>> Claim(table, table.comparisons[0], *table.cells[1::-1], Test(0.5, 0.01, 0.01)).words
            'Hyper-Conv. better than GCN* (Cora)'
        """
        first, second, where = self.parts
        return f"{first} better than {second} ({where})"


def claims_of(table: Table, results: Results, datasets: Collection[str] | None = None) -> list[Claim]:
    """The paper's claims about the cells of a table, all or those of some datasets, whose cells both have trials.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> claims_of(TABLES["hidden"], Results({}, {}))
        []
    """
    found = []
    for comparison in table.comparisons:
        better, worse = cell_of(table, comparison.better), cell_of(table, comparison.worse)
        values = results.accuracies(better), results.accuracies(worse)
        if all(values) and (datasets is None or better.dataset in datasets):
            found.append(Claim(table, comparison, better, worse, compare(*values)))
    return found
