"""Tables of one's own with what each of their columns is for, and ids as text whatever they were."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hypergnn._utils.tables import Table, encode, read_table
from hypergnn.io.tables import header, read_file

Ids = npt.NDArray[np.int64]
_OPTIONAL = ("weight", "split")


class IdColumn(NamedTuple):
    """A column of ids as codes into the distinct ones."""

    codes: Ids
    ids: list[str]


class Opened(NamedTuple):
    """A table, with what its columns are for."""

    what: str
    table: Table
    roles: dict[str, Any]
    ids: dict[str, IdColumn]
    """Of the columns that hold vertices, by role."""

    def column(self, role: str) -> Any:
        """The column of a role."""
        return self.table.columns[self.roles[role]]


def open_table(what: str, table: Any, asked: Mapping[str, str | None]) -> Opened:
    """Read a file or a table in memory; ``asked`` has the column for each role, ``None`` where it is to be found."""
    is_file = isinstance(table, (str, os.PathLike))
    with blaming(f"{what}, {os.fspath(table)}" if is_file else what):
        if is_file:
            text = _choose(header(table), asked) if Path(table).suffix == ".csv" else {}
            table = read_file(table, text=[text[role] for role in text.keys() - {"weight"} if text[role] is not None])
        content = read_table(table)
        roles = _choose(list(content.columns), asked)
        holders = [role for role in roles if role in ("vertex", "source", "target")]
        ids = {role: _ids(content.columns[roles[role]], roles[role]) for role in holders}
        for role in holders if what in ("features", "labels") else ():
            _check_once(ids[role], roles[role])
    return Opened(what, content, roles, ids)


def _choose(names: Sequence[Any], asked: Mapping[str, str | None]) -> dict[str, Any]:
    """The column for each role: the one asked for, else the one called so, else, if it cannot be none, the next one."""
    roles: dict[str, Any] = {}
    for role, name in asked.items():
        if name is not None and name not in names:
            raise ValueError(f"there must be a column {name!r}, as {role} says; there are {listed(names)}.")
        roles[role] = name if name is not None else role if role in names else None
    for role in roles:
        if roles[role] is None and role not in _OPTIONAL:
            roles[role] = next((name for name in names if name not in roles.values()), None)
            if roles[role] is None:
                only = f"only {listed(names)}" if names else "none: the file is empty"
                commas = ". Columns are separated by commas" if len(names) == 1 and ";" in str(names[0]) else ""
                raise ValueError(f"there must be a column for the {role}; there is {only}{commas}.")
    return roles


def _ids(column: Any, name: Any) -> IdColumn:
    codes, values, _ = encode(column)
    if codes.size and codes.min() < 0:
        raise ValueError(f"column {name!r} must hold an id in each row; row {codes.argmin()} has none.")
    texts = as_text(values, name)
    place = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    if len(place) < len(texts):  # 7 and "7" in one column
        codes = np.array([place[text] for text in texts])[codes]
    return IdColumn(codes, list(place))


def as_text(values: npt.NDArray[Any], name: Any) -> list[str]:
    """Ids or classes as text; a whole number that a missing neighbour has made 7.0 is "7"."""
    plain = values.tolist()
    if values.dtype.kind in "fO":
        plain = [int(value) if isinstance(value, float) and value.is_integer() else value for value in plain]
    odd = next((value for value in plain if not isinstance(value, (str, int))), None)
    if odd is not None:
        raise TypeError(f"column {name!r} must hold text or whole numbers; got {odd!r} of type {type(odd).__name__}.")
    return [str(value) for value in plain]


def _check_once(column: IdColumn, name: Any) -> None:
    counts = np.bincount(column.codes, minlength=len(column.ids))
    if (counts > 1).any():
        raise ValueError(
            f"column {name!r} must name each vertex once; {column.ids[counts.argmax()]!r} has {counts.max()} rows."
        )


@contextmanager
def blaming(what: str) -> Iterator[None]:
    """Say which table an error is about."""
    try:
        yield
    except (TypeError, ValueError) as error:  # pyarrow's own errors are among them
        kind: Callable[[str], Exception] = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{what}: {error}") from error


def listed(names: Sequence[Any]) -> str:
    """Some of the names, as an error quotes them."""
    return ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
