"""What a table of the paper consists of."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

from hypergnn.models import Config

Measure = Literal["accuracy", "count", "milliseconds", "ratio"]


@dataclass(frozen=True)
class Published:
    """A number in the paper, with the spread that stands beside it, if any."""

    mean: float
    spread: float | None = None


@dataclass(frozen=True)
class Cell:
    """One number of a table: how we get it, and what the paper has in its place."""

    table: str
    name: str
    """Unique within the table, e.g. ``"cora/hyper-conv"``."""
    row: str
    column: str
    dataset: str
    """A name that :func:`hypergnn.datasets.load` knows."""
    config: Config | None
    """The settings of its trials; ``None`` if the number is quoted, or comes from something else than trials."""
    published: Published | None
    measure: Measure = "accuracy"
    """What the number is. All but accuracies are found by :mod:`hypergnn.experiments.measures`, without trials."""

    @property
    def is_quoted(self) -> bool:
        """Whether the number is the paper's alone, and nothing is measured beside it."""
        return self.config is None and self.measure == "accuracy"

    @property
    def run(self) -> str:
        """The run that its trials stand in: cells with the same dataset and settings share one.

        Example:
            >>> from hypergnn.experiments.paper import TABLES
            >>> TABLES["baselines"].cell("cora/hyper-conv").run == TABLES["depth"].cell("2/none").run
            True
        """
        if self.config is None:
            raise ValueError(f"{self.table}:{self.name} has no trials of its own, so there is no run of it.")
        changed = json.dumps(self.config.changed(), sort_keys=True)
        digest = hashlib.sha256(changed.encode()).hexdigest()[:8]
        return f"{self.dataset}/{self.config.model}-{digest}"


@dataclass(frozen=True)
class Comparison:
    """The paper says that one cell is better than another; ``table:name`` is a cell of another table."""

    better: str
    worse: str
    published_p: float | None = None


@dataclass(frozen=True)
class Table:
    """A table of the paper, or a remark in its text that several numbers stand behind."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    comparisons: tuple[Comparison, ...] = ()
    note: str = ""
    setting: str = ""
    """What the columns are values of, where they are."""

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows, in order."""
        return tuple(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(dict.fromkeys(cell.column for cell in self.cells))

    def cell(self, name: str) -> Cell:
        """The cell of that name.

        Example:
            >>> from hypergnn.experiments.paper import TABLES
            >>> TABLES["baselines"].cell("cora/gcn").published
            Published(mean=81.8, spread=None)
        """
        for cell in self.cells:
            if cell.name == name:
                return cell
        raise ValueError(f"name must be that of a cell of {self.name}; got {name!r}.")

    def at(self, row: str, column: str) -> Cell | None:
        """The cell in a row and a column; ``None`` where the table has a gap."""
        return next((cell for cell in self.cells if (cell.row, cell.column) == (row, column)), None)
