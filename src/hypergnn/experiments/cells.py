"""The parts of a table of the paper: cells, published numbers, comparisons."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from hypergnn.experiments.identity import identity_of
from hypergnn.models import Config

if TYPE_CHECKING:
    from hypergnn.experiments.systems.base import System

Measure = Literal["accuracy", "count", "milliseconds", "ratio"]


@dataclass(frozen=True)
class Published:
    """A number in the paper, with its spread if the paper gives one."""

    mean: float
    spread: float | None = None


@dataclass(frozen=True)
class Recorded:
    """In place of a system whose class is not imported: only the name of its run is known."""

    title: str
    run: str
    is_deterministic: bool = False


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
    """The settings of the network that is trained; ``None`` if a system is, or if the number needs no trials."""
    published: Published | None
    measure: Measure = "accuracy"
    """The kind of number. Counts and times come from :mod:`hypergnn.experiments.measures`, without trials."""
    system: System | None = None
    """The system that is trained; ``None`` if a network is, or if the number needs no trials."""

    alone: System | None = None
    """The network of :attr:`config` as a system: a few trials in a process of their own measure what one costs."""
    setting: str = ""
    """What the column adds to the name of the dataset, e.g. ``"λ = 1e-3"`` for ``"Cora, λ = 1e-3"``; empty if the
    column is no more than a name or a value."""

    @property
    def is_trained(self) -> bool:
        """Whether the number comes from trials, of a network or of a system."""
        return self.config is not None or self.system is not None

    @property
    def is_deterministic(self) -> bool:
        """Whether all seeds give the same, so that one trial is all there is."""
        return self.system is not None and self.system.is_deterministic

    @property
    def is_quoted(self) -> bool:
        """Whether the number is only quoted from the paper, and not measured."""
        return not self.is_trained and self.measure == "accuracy"

    @property
    def run(self) -> str:
        """The name of the run with its trials. Cells with the same dataset and settings share one.

        Example:
            >>> from hypergnn.experiments.paper import TABLES
            >>> TABLES["baselines"].cell("cora/hyper-conv").run == TABLES["depth"].cell("2/none").run
            True
        """
        if self.config is not None:
            return f"{self.dataset}/{self.config.model}-{_digest(self.config.changed())}"
        if self.system is not None:
            return _run_of(self.system, self.dataset)
        raise ValueError(f"{self.table}:{self.name} has no run: its number is quoted, counted or timed, not trained.")

    @property
    def run_alone(self) -> str | None:
        """The name of the run with the trials of :attr:`alone`, if there is one."""
        return None if self.alone is None else _run_of(self.alone, self.dataset)


def _run_of(system: System, dataset: str) -> str:
    if isinstance(system, Recorded):
        return system.run
    return f"{dataset}/system-{system.name}-{_digest(identity_of(system))}"


def _digest(settings: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Elsewhere:
    """A cell of another table of the paper than that which names it."""

    table: str
    name: str


@dataclass(frozen=True)
class Comparison:
    """A claim of the paper that one cell is better than another: names of cells of its table, or cells elsewhere."""

    better: str | Elsewhere
    worse: str | Elsewhere
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

    def only(self, pattern: str) -> Table:
        """The table with the cells whose names match a pattern, and the comparisons among these and with other tables.

        Example:
            >>> from hypergnn.experiments.paper import TABLES
            >>> len(TABLES["baselines"].only("cora/g*").cells)
            4
        """
        cells = tuple(cell for cell in self.cells if fnmatchcase(cell.name, pattern))
        names = {cell.name for cell in cells}
        comparisons = tuple(
            comparison
            for comparison in self.comparisons
            if all(isinstance(one, Elsewhere) or one in names for one in (comparison.better, comparison.worse))
        )
        return replace(self, cells=cells, comparisons=comparisons)

    def at(self, row: str, column: str) -> Cell | None:
        """The cell in a row and a column; ``None`` where the table has a gap."""
        return next((cell for cell in self.cells if (cell.row, cell.column) == (row, column)), None)
