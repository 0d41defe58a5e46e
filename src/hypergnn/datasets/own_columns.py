"""Columns of the user's own tables: which column plays which role, and ids converted to text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hypergnn._utils.table_files import is_file, shown
from hypergnn._utils.table_sources import Source, quoted
from hypergnn._utils.tables import Table, as_text, encode, read_table

Ids = npt.NDArray[np.int64]
_OPTIONAL = ("weight", "split")


class Among(NamedTuple):
    """A role that several columns play: this is one of them."""

    role: str
    place: int

    def __str__(self) -> str:
        """The role in messages."""
        return self.role


Role = str | Among


class IdColumn(NamedTuple):
    """A column of ids, encoded: row ``i`` holds ``ids[codes[i]]``."""

    codes: Ids
    ids: list[str]


class Opened(NamedTuple):
    """A table and the roles of its columns."""

    what: str
    table: Table
    roles: dict[Role, Any]
    ids: dict[str, IdColumn]
    """The columns of vertex ids, by role."""

    def column(self, role: Role) -> Any:
        """The column that plays ``role``."""
        return self.table.columns[self.roles[role]]


def open_table(what: str, table: Any, asked: Mapping[Role, str | None]) -> Opened:
    """Read the needed columns of a table. ``asked`` maps each role to a column, or to ``None`` to find one."""
    with blaming(f"{what}, {shown(table)}" if is_file(table) else what):
        names = Source(table).names
        roles = _choose(list(names), asked)
        chosen = {role: name for role, name in roles.items() if name is not None}
        text = [name for role, name in chosen.items() if role != "weight"]
        needed = None if what == "features" else [(str(role), name) for role, name in chosen.items()]
        content = read_table(table, needed, text=text)
        holders: list[str] = [role for role in ("vertex", "source", "target") if role in roles]
        ids = {role: _ids(content.columns[roles[role]], roles[role]) for role in holders}
        for role in holders if what in ("features", "labels") else ():
            _check_once(ids[role], roles[role])
    return Opened(what, content, roles, ids)


def _choose(names: Sequence[Any], asked: Mapping[Role, str | None]) -> dict[Role, Any]:
    """The column for each role: as asked, else by the name of the role, else (if required) the next unused column."""
    roles: dict[Role, Any] = {}
    for role, name in asked.items():
        if name is not None and name not in names:
            raise ValueError(f"{role} must name a column; got {name!r}. The columns are {quoted(names)}.")
        roles[role] = name if name is not None else role if role in names else None
    for role in roles:
        if roles[role] is None and role not in _OPTIONAL:
            roles[role] = next((name for name in names if name not in roles.values()), None)
            if roles[role] is None:
                only = f"only {quoted(names)}" if names else "no column: the file is empty"
                commas = " Separate columns by commas." if len(names) == 1 and ";" in str(names[0]) else ""
                raise ValueError(f"the table must have a column for the {role}; got {only}.{commas}")
    return roles


def _ids(column: Any, name: Any) -> IdColumn:
    codes, values, _ = encode(column)
    if codes.size and codes.min() < 0:
        raise ValueError(f"column {name!r} must hold an id in each row; row {codes.argmin()} has none.")
    texts = as_text(values, name)
    place = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    if len(place) < len(texts):  # both 7 and "7" occur in the column
        codes = np.array([place[text] for text in texts])[codes]
    return IdColumn(codes, list(place))


def _check_once(column: IdColumn, name: Any) -> None:
    counts = np.bincount(column.codes, minlength=len(column.ids))
    if (counts > 1).any():
        raise ValueError(
            f"column {name!r} must name each vertex once; {column.ids[counts.argmax()]!r} has {counts.max()} rows."
        )


@contextmanager
def blaming(what: str) -> Iterator[None]:
    """Prefix errors with the name of the table."""
    try:
        yield
    except (TypeError, ValueError) as error:  # pyarrow's errors are subclasses of these
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{what}: {error}") from error
