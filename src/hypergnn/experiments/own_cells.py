"""The cells of the user's own in the folder of a reproduction, so that its page can be written again.

Their systems are not imported again: a folder may come from somebody else. What a page needs is noted: the rows, the
columns and the names of the runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from hypergnn._utils.file_errors import FileError
from hypergnn.experiments.beyond import ALL
from hypergnn.experiments.cells import Cell, Recorded, Table
from hypergnn.experiments.systems.rows import COMPARED
from hypergnn.persistence.files import read_regular, write_atomic

OWN = "own.json"
"""The file of a reproduction with the cells of the user's own."""
_TEXTS = ("name", "row", "column", "dataset", "run")


def note_own(folder: Path, tables: Iterable[Table]) -> None:
    """Write which cells of the tables of systems are the user's own, in addition to those of earlier calls."""
    noted = _read(folder)
    for table in tables:
        if table.name in COMPARED:
            known = {cell.name for cell in ALL[table.name].cells}
            own = {cell.name: _described(cell) for cell in table.cells if cell.name not in known and cell.is_trained}
            noted[table.name] = {**noted.get(table.name, {}), **own}
    if any(noted.values()):
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / OWN, json.dumps(noted, indent=2).encode() + b"\n")


def own_tables(folder: Path) -> list[Table]:
    """The tables with the cells of the user's own that :func:`note_own` wrote; empty if there are none.

    Raises:
        ValueError: If the file is corrupt.

    Example:
        >>> own_tables(Path("nowhere"))
        []
    """
    return [
        replace(ALL[name], cells=tuple(_cell(name, entry) for entry in cells.values()))
        for name, cells in _read(folder).items()
    ]


def _described(cell: Cell) -> dict[str, Any]:
    texts = {name: getattr(cell, name) for name in _TEXTS}
    return {**texts, "run_alone": cell.run_alone, "is_deterministic": cell.is_deterministic}


def _cell(table: str, entry: dict[str, Any]) -> Cell:
    system: Any = Recorded(entry["row"], entry["run"], entry["is_deterministic"])
    alone: Any = None if entry["run_alone"] is None else Recorded(entry["row"], entry["run_alone"])
    place = {name: entry[name] for name in ("name", "row", "column", "dataset")}
    return Cell(table, **place, config=None, published=None, system=system, alone=alone)


def _read(folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    path = folder / OWN
    if not path.exists():
        return {}
    try:
        noted = json.loads(read_regular(path))
        entries = [entry for cells in noted.values() for entry in cells.values()]
        texts = [text for entry in entries for text in (*(entry[name] for name in _TEXTS), entry["run_alone"] or "")]
        is_sound = all(name in COMPARED for name in noted) and all(isinstance(text, str) for text in texts)
        if not is_sound or not all(isinstance(entry["is_deterministic"], bool) for entry in entries):
            raise ValueError("other types")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(path, "must name cells of your own; it is corrupt. Remove it.") from error
    return cast("dict[str, dict[str, dict[str, Any]]]", noted)
