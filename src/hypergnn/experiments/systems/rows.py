"""The rows of systems beyond the paper's table: on other datasets, of the user's own, and on the user's own data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import cast

from hypergnn.datasets import Dataset
from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.identity import identity_of
from hypergnn.experiments.paper import NAMES
from hypergnn.experiments.systems import SYSTEMS
from hypergnn.experiments.systems.base import DoesNotApplyError, Probabilities, System
from hypergnn.experiments.systems.ours import Ours
from hypergnn.experiments.systems.worker import described

OURS = Ours.title
"""The row of the paper's networks, which the others are compared with."""
COMPARED = ("sota", "systems")
"""The tables of systems, which own rows and own data are added to."""
_DATASETS = ("20news", "digits")
_NAME = re.compile(r"\w[\w .+-]*")


@dataclass(frozen=True)
class Inapplicable:
    """In place of a system that has no settings for a dataset: it fails, and says why."""

    name: str
    title: str
    reason: str
    is_deterministic: bool = True

    def fit(self, data: Dataset, seed: int) -> Probabilities:  # noqa: ARG002
        """Raise the reason."""
        raise DoesNotApplyError(f"{self.title} has no settings for {data.name}: {self.reason}")


@dataclass(frozen=True)
class Faulty(Inapplicable):
    """In place of a system whose settings for a dataset cannot be made: it fails, and says why."""

    def fit(self, data: Dataset, seed: int) -> Probabilities:  # noqa: ARG002
        """Raise the reason."""
        raise RuntimeError(f"the settings for {data.name} cannot be made: {self.reason}")


def others() -> list[type[System]]:
    """The systems that Ours is compared with."""
    return [kind for kind in SYSTEMS.values() if kind.title != OURS]


def systems() -> Table:
    """The systems of the paper's last table on datasets that it does not have."""
    cells: list[Cell] = []
    for kind in others():
        cells += _cells_of("systems", kind, _DATASETS)
    cells += [_ours("systems", dataset) for dataset in _DATASETS]
    note = (
        "Not in the paper, whose last table has these systems on citation networks only. Systems that need a graph get "
        "that of the nearest neighbours on digits, and that of shared words on 20-newsgroup, which has too many links "
        "to list: systems that need the list do not apply there, which is a limit of our implementations. Systems have "
        "their general settings, of which some were chosen on Cora; nothing was chosen for these datasets. Ours is "
        "Hyper-Atten. on digits and Hyper-Conv. on 20-newsgroup."
    )
    return Table("systems", "Beyond the paper: the systems of Table 5 on other data", tuple(cells), note=note)


def with_system(table: Table, kind: type[System]) -> Table:
    """A table of systems with a row for one of the user's own, on each of its datasets.

    Raises:
        ValueError: If the table already has a row with the title of the system.
        TypeError: If it is no dataclass, or a setting is of another type than JSON has.
    """
    names = {cell.name for cell in table.cells}
    if kind.title in table.rows or any(f"{cell.dataset}/{kind.title}" in names for cell in table.cells):
        has = f"the table {table.name} already has a row {kind.title!r}"
        raise ValueError(f"title of {kind.__name__} must be new; {has}.")
    datasets = list(dict.fromkeys(cell.dataset for cell in table.cells))
    return replace(table, cells=(*table.cells, *_cells_of(table.name, kind, datasets, strict=True)))


def with_data(table: Table, data: Dataset, kinds: Iterable[type[System]], own: Iterable[type[System]] = ()) -> Table:
    """A table of systems with a column for a dataset of the user's own: the systems, and Ours.

    Args:
        table: The table.
        data: The dataset.
        kinds: The systems; those that do not apply to it have no cell.
        own: Systems of the user's own; one that does not apply fails its cell.

    Raises:
        ValueError: If the dataset has the name of one that everybody can load, or no vertices to train, to validate
            (networks stop by these) or to test on.
    """
    if data.name in {*NAMES, *NAMES.values()}:
        raise ValueError(f"--data must have a name of its own; {data.name!r} is that of a dataset of `hypergnn data`.")
    if not _NAME.fullmatch(data.name):
        raise ValueError(f"the name of --data must be letters, digits, spaces and any of _.+-; got {data.name!r}.")
    parts = {"train": data.train, "validate": data.val, "test": data.test}
    if lacks := next((name for name, ids in parts.items() if not ids.size), None):
        wanted = "labelled vertices to train, to validate and to test on"
        raise ValueError(f"--data must have {wanted}; {data.name} has none to {lacks}. Add them to its split.")
    cells = [cell for kind in kinds for cell in _cells_of(table.name, kind, [data.name])]
    cells += [cell for kind in own for cell in _cells_of(table.name, kind, [data.name], strict=True)]
    return replace(table, cells=(*table.cells, *cells, _ours(table.name, data.name)))


def _cells_of(table: str, kind: type[System], datasets: Iterable[str], *, strict: bool = False) -> list[Cell]:
    """The cells of a system; one for a dataset that it does not apply to is left out, or fails if ``strict``."""
    found, title = [], kind.title
    for dataset in datasets:
        try:
            system = kind.for_dataset(dataset)
        except DoesNotApplyError as error:
            if not strict:
                continue
            system = cast(System, Inapplicable(kind.name, title, str(error)))
        except Exception as error:
            if not strict:
                raise
            system = cast(System, Faulty(kind.name, title, described(error)))
        identity_of(system)  # an error in the settings is one of the command
        found.append(
            Cell(table, f"{dataset}/{title}", title, NAMES.get(dataset, dataset), dataset, None, None, system=system)
        )
    return found


def _ours(table: str, dataset: str) -> Cell:
    config = Ours.for_dataset(dataset).config
    where = NAMES.get(dataset, dataset)
    return Cell(table, f"{dataset}/ours", OURS, where, dataset, config, None, alone=Ours(config))
