"""The paper's claims that one cell is better than another, tested on our trials."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from hypergnn.experiments.cells import Cell, Comparison, Table
from hypergnn.experiments.paper import NAMES, cell_of
from hypergnn.experiments.results import Results
from hypergnn.experiments.statistics import Test, compare
from hypergnn.experiments.verdicts import Verdict

LEVEL = 0.05
"""Significance level of the tests, as in the paper."""


@dataclass(frozen=True)
class Claim:
    """A comparison in the paper, and its test on our trials."""

    table: Table
    """The table that makes the claim."""
    comparison: Comparison
    better: Cell
    worse: Cell
    test: Test

    @property
    def verdict(self) -> Verdict:
        """Whether our trials support the claim: ``holds``, ``not shown``, ``reversed`` or ``not tested``."""
        if self.test.p is None:
            return Verdict.NOT_TESTED
        if self.test.p < LEVEL:
            return Verdict.HOLDS
        return Verdict.REVERSED if self.test.p_reverse < LEVEL else Verdict.NOT_SHOWN

    @property
    def parts(self) -> tuple[str, str, str, str]:
        """The better, the worse, where they are compared, and in which setting; empty if there is only one."""
        better, worse = self.better, self.worse
        if better.table != worse.table:  # with and without a skip connection
            first, second = (
                f"{one.row} {'with' if one.config is not None and one.config.skip else 'without'} skip"
                for one in (better, worse)
            )
            return first, second, *_place(worse if worse.table == self.table.name else better)
        if better.row != worse.row:
            where, setting = _place(better)
            return better.row, worse.row, f"{self.table.setting} {where}".strip(), setting
        return f"{better.row}, {self.table.setting} {better.column},", worse.column, NAMES[better.dataset], ""

    @property
    def words(self) -> str:
        """The claim in words.

        Example:
            >>> from hypergnn.experiments.paper import TABLES
            >>> table = TABLES["baselines"]
            >>> Claim(table, table.comparisons[0], *table.cells[1::-1], Test(0.5, 0.01, 0.01)).words
            'Hyper-Conv. better than GCN* (Cora)'
        """
        first, second, *where = self.parts
        return f"{first} better than {second} ({', '.join(filter(None, where))})"


def _place(cell: Cell) -> tuple[str, str]:
    """The column of a cell, and apart from it the setting that the column names."""
    return (NAMES[cell.dataset], cell.setting) if cell.setting else (cell.column, "")


def claims_of(table: Table, results: Results, datasets: Collection[str] | None = None) -> list[Claim]:
    """The claims of a table whose two cells both have trials, on all datasets or on some.

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
