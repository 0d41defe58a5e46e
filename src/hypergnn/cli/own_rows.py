"""``--system`` and ``--data`` of ``hypergnn reproduce``: a row and a column of the user's own."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hypergnn.cli.arguments import TABLES
from hypergnn.cli.imports import from_here, imported

if TYPE_CHECKING:
    from hypergnn.datasets import Dataset
    from hypergnn.experiments.cells import Table
    from hypergnn.experiments.systems.base import System

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_FORMS = (".csv", ".parquet", "")


def add_own(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.add_argument(
        "--system", action="append", metavar="MODULE:CLASS", help="a row of your own in sota and systems"
    )
    parser.add_argument(
        "--data", metavar="DIR|MODULE:FUNCTION", help="your data for them: a folder with incidences.csv …"
    )


@dataclass(frozen=True)
class Own:
    """What the user adds: systems, and a dataset."""

    kinds: Sequence[type[System]]
    data: Dataset | None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Own:
        """Import what the command line names.

        Raises:
            ValueError: If it is not a system, or not a dataset.
            ImportError: If it cannot be imported.
        """
        kinds = [_system(text) for text in arguments.system or ()]
        return cls(kinds, None if arguments.data is None else _dataset(arguments.data))

    @property
    def datasets(self) -> dict[str, Dataset]:
        """The dataset by its name, if there is one."""
        return {} if self.data is None else {self.data.name: self.data}

    def added(self, tables: Sequence[Table]) -> list[Table]:
        """The tables; those of systems also have the user's own rows and columns.

        Raises:
            ValueError: If none of them is a table of systems, or if a name is taken.
        """
        from hypergnn.experiments.systems.rows import COMPARED, others, with_data, with_system

        found = []
        for table in tables:
            if table.name in COMPARED:
                for kind in self.kinds:
                    table = with_system(table, kind)
                if self.data is not None:
                    table = with_data(table, self.data, others(), self.kinds)
            found.append(table)
        if (self.kinds or self.data is not None) and not {one.name for one in tables}.intersection(COMPARED):
            raise ValueError(f"--system and --data must be combined with TABLE {' or '.join(COMPARED)}. Add one.")
        return found


def _system(text: str) -> type[System]:
    """The class that ``module:class`` names."""
    kind = _named("--system", text)
    wanted = "with name, title, is_deterministic, for_dataset and fit"
    lacks = [one for one in ("name", "title", "is_deterministic", "for_dataset", "fit") if not hasattr(kind, one)]
    if not isinstance(kind, type) or not is_dataclass(kind) or lacks:
        what = f"it lacks {lacks[0]}" if lacks else "it is not a dataclass"
        raise ValueError(f"--system must name a dataclass {wanted}; got {text!r}: {what}. See docs/own_system.md.")
    named: Any = kind
    if not isinstance(named.name, str) or not _NAME.fullmatch(named.name) or not isinstance(named.title, str):
        raise ValueError(
            f"name of {text} must be lower-case letters, digits, - and _, and title a text; got {named.name!r} and "
            f"{named.title!r}."
        )
    return cast("type[System]", kind)


def _dataset(text: str) -> Dataset:
    """The dataset of a folder with tables, or the one that a function returns."""
    from hypergnn.datasets import Dataset, from_tables

    folder = Path(text)
    if folder.is_dir():
        tables: dict[str, Any] = {name: _table(folder, name) for name in TABLES}
        if tables["incidences"] is None or (tables["labels"] is None and tables["features"] is None):
            raise ValueError(
                f"--data must hold incidences.csv and labels.csv, and may hold features.csv and links.csv, or .parquet "
                f"files; {folder} lacks {'incidences' if tables['incidences'] is None else 'labels'}."
            )
        return from_tables(**tables, name=folder.resolve().name, encode_features="auto")
    if ":" not in text:
        raise ValueError(f"--data must be a folder with tables, or MODULE:FUNCTION; {text} is neither.")
    with from_here():
        made = _named("--data", text)
        try:
            data = made() if callable(made) else made
        except Exception as error:
            raise ValueError(f"--data must name a function that returns a Dataset; {text} raised {error!r}.") from error
    if not isinstance(data, Dataset):
        raise ValueError(f"--data must name a function that returns a Dataset; {text} gives {type(data).__name__}.")
    return data


def _table(folder: Path, name: str) -> Path | None:
    """The file of a table, or the folder with its files; ``None`` if there is none."""
    return next((path for form in _FORMS if (path := folder / f"{name}{form}").exists()), None)


def _named(option: str, text: str) -> Any:
    """What ``module:name`` names, in the working folder or installed."""
    module, _, name = text.partition(":")
    if not module or not name:
        raise ValueError(f"{option} must be MODULE:NAME, for example my_system:MySystem; got {text!r}.")
    found = imported(option, module)
    if not hasattr(found, name):
        raise ValueError(f"{option} must name something in the module {module}; it has no {name!r}.")
    return getattr(found, name)
