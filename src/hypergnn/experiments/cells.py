"""The parts of a table of the paper: cells, published numbers, comparisons."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

from hypergnn.models import Config

Measure = Literal["accuracy", "count", "milliseconds", "ratio"]


@dataclass(frozen=True)
class Published:
    """A number in the paper, with its spread if the paper gives one."""

    mean: float
    spread: float | None = None


@dataclass(frozen=True)
class Cell:
    """One number of a table: how we measure it, and what the paper published."""

    table: str
    name: str
    """Unique within the table, e.g. ``"cora/hyper-conv"``."""
    row: str
    column: str
    dataset: str
    """A name that :func:`hypergnn.datasets.load` knows."""
    config: Config | None
    """The settings of its trials; ``None`` if the number is quoted, counted or timed."""
    published: Published | None
    measure: Measure = "accuracy"
    """The kind of number. Counts and times come from :mod:`hypergnn.experiments.measures`, without trials."""

    @property
    def is_quoted(self) -> bool:
        """Whether the number is only quoted from the paper, and not measured."""
        return self.config is None and self.measure == "accuracy"

    @property
    def run(self) -> str:
        """The name of the run with its trials. Cells with the same dataset and settings share one.

        Example:
            >>> from hypergnn.experiments.paper import TABLES
            >>> TABLES["baselines"].cell("cora/hyper-conv").run == TABLES["depth"].cell("2/none").run
            True
        """
        if self.config is None:
            raise ValueError(f"{self.table}:{self.name} must be trained to have a run; it is quoted, counted or timed.")
        changed = json.dumps(self.config.changed(), sort_keys=True)
        digest = hashlib.sha256(changed.encode()).hexdigest()[:8]
        return f"{self.dataset}/{self.config.model}-{digest}"


@dataclass(frozen=True)
class Comparison:
    """A claim of the paper that one cell is better than another; ``table:name`` is a cell of another table."""

    better: str
    worse: str
    published_p: float | None = None


@dataclass(frozen=True)
class Table:
    """A table of the paper, or several numbers behind a remark in its text."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    comparisons: tuple[Comparison, ...] = ()
    note: str = ""
    setting: str = ""
    """The setting that the columns are values of, if they are."""

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
        raise ValueError(f"name must be that of a cell of {self.name}; got {name!r}. See Table.cells.")

    def at(self, row: str, column: str) -> Cell | None:
        """The cell in a row and a column; ``None`` where the table has a gap."""
        return next((cell for cell in self.cells if (cell.row, cell.column) == (row, column)), None)
