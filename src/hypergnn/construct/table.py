"""Tables of pairs: each row states that a vertex is a member of a hyperedge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.checks import Names, are_integers, as_array, as_names, check_choice, show_name
from hypergnn._utils.table_sources import quoted
from hypergnn._utils.tables import Encoded, Table, check_not_rounded, encode, read_table
from hypergnn._utils.times import joined_times, read_times
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.directed_parts import ROLES
from hypergnn.structures.hypergraph import Hypergraph

Ids = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@overload
def from_table(
    table: Any,
    *,
    vertex: Any,
    hyperedge: Any,
    weight: Any = None,
    role: None = None,
    time: Any = None,
    vertices: Any = None,
    duplicates: Literal["drop", "error"] = "drop",
) -> Hypergraph: ...
@overload
def from_table(
    table: Any,
    *,
    vertex: Any,
    hyperedge: Any,
    weight: Any = None,
    role: Any,
    time: Any = None,
    vertices: Any = None,
    duplicates: Literal["drop", "error"] = "drop",
) -> DirectedHypergraph: ...
def from_table(
    table: Any,
    *,
    vertex: Any,
    hyperedge: Any,
    weight: Any = None,
    role: Any = None,
    time: Any = None,
    vertices: Any = None,
    duplicates: Literal["drop", "error"] = "drop",
) -> Hypergraph | DirectedHypergraph:
    """Make a hypergraph from a table with one row per incidence; ids may be of any kind.

    Vertices and hyperedges are numbered by their first appearance in the table, and their ids become their names. If
    the ids are exactly the whole numbers 0, 1, 2, …, in any order, they are the numbers themselves: vertex 2 is row 2
    of the features.

    Args:
        table: A pandas, polars or pyarrow table, a dictionary of columns, a list of dictionaries, a polars LazyFrame, a
            pyarrow dataset, a relation of duckdb, or a ``.csv`` or ``.parquet`` file, list of files or folder. Only the
            named columns are read. Ids of a CSV file are text.
        vertex: Name of the column of vertex ids.
        hyperedge: Name of the column of hyperedge ids, or a list of names. With a list, the hyperedges of all columns
            are united, and the name of each is ``(column, id)``. A row without an id in a column is in no hyperedge of
            that column.
        weight: Name of a column with the weight of the row's hyperedge, equal in all rows of a hyperedge. With several
            columns of hyperedges, a dictionary gives each its own column of weights: ``{"product": "price"}``.
        role: Name of a column with ``tail`` or ``head`` in each row, which makes a directed hypergraph: vertices in the
            tail of a hyperedge send, those in its head receive. A vertex in both has a row for each.
        time: Name of a column with the time of the row's hyperedge, a number or a date, equal in all rows of a
            hyperedge; see :meth:`hypergnn.Hypergraph.window`. With several columns of hyperedges, a dictionary may give
            each its own column of times.
        vertices: All vertex ids in the order of the vertices. Those without a row are isolated vertices, and an id of
            the table that is not listed is an error.
        duplicates: What to do with repeated pairs: ``"drop"`` counts them once, ``"error"`` refuses them.

    Raises:
        TypeError: If ``table`` is not a table or the weights are not numbers.
        ValueError: If a column does not exist, a vertex or a weight is missing, an id is not among ``vertices``, the
            rows of a hyperedge differ in weight or time, or the table has no rows (unless ``vertices`` is given).

    Example:
        >>> import hypergnn as hg
        >>> orders = {"item": ["tea", "milk", "tea", "cake"], "basket": ["b7", "b7", "b2", "b2"]}
        >>> H = hg.construct.from_table(orders, vertex="item", hyperedge="basket")
        >>> H.vertex_names.tolist(), H.hyperedge_names.tolist()
        (['tea', 'milk', 'cake'], ['b7', 'b2'])
        >>> hg.construct.from_table(orders, vertex="item", hyperedge="basket", vertices=["cake", "jam", "milk", "tea"])
        Hypergraph(4 vertices, 2 hyperedges, 4 incidences)
        >>> orders["shop"] = ["Rome", "Rome", "Oslo", None]
        >>> hg.construct.from_table(orders, vertex="item", hyperedge=["basket", "shop"]).hyperedge_names.tolist()
        [('basket', 'b7'), ('basket', 'b2'), ('shop', 'Rome'), ('shop', 'Oslo')]
        >>> mail = {"who": ["ann", "bob", "eve"], "letter": [7, 7, 7], "part": ["tail", "head", "head"]}
        >>> hg.construct.from_table(mail, vertex="who", hyperedge="letter", role="part").to_hyperedges()
        [([0], [1, 2])]
    """
    check_choice("duplicates", duplicates, ("drop", "error"))
    columns = list(hyperedge) if isinstance(hyperedge, list) else [hyperedge]
    weight_columns, time_columns = _by_hyperedge("weight", weight, columns), _by_hyperedge("time", time, columns)
    if time_columns and len(time_columns) < len(columns):
        raise ValueError(f"time must be given for all columns of hyperedges, {quoted(columns)}; got {time!r}.")
    needed = [("vertex", vertex), *(("hyperedge", name) for name in columns)]
    needed += [("weight", name) for name in weight_columns.values()]
    needed += [("time", name) for name in time_columns.values()]
    needed += [] if role is None else [("role", role)]
    data = read_table(table, needed, text=[vertex, *columns, *([] if role is None else [role])])
    if data.n_rows == 0 and vertices is None:
        raise ValueError("table must have at least one row; got none. Pass vertices= for isolated vertices.")
    vertex_of, vertex_names = _ids(data.columns[vertex], vertex)
    if vertices is not None:
        vertex_of, vertex_names = _renumber(vertex_of, vertex_names, vertices)
    in_head = None if role is None else _are_heads(data.columns[role], role)
    parts = [
        _Part.of(
            data,
            name,
            (weight_columns.get(name), time_columns.get(name)),
            vertex_of,
            in_head,
        )
        for name in columns
    ]
    for part in parts if duplicates == "error" else ():
        part.check_no_repetition(vertex_names)
    return _united(parts, vertex_names, named_by_column=isinstance(hyperedge, list))


class _Part(NamedTuple):
    """The hyperedges of one column."""

    column: Any
    rows: Ids
    """The rows of the table that have a hyperedge in this column."""
    vertex: Ids
    """The vertex of each of these rows."""
    hyperedge: Ids
    """The hyperedge of each of these rows."""
    names: Names
    weight: npt.NDArray[np.float64] | None
    in_head: Bools | None
    """Whether each of these rows is about the head; ``None`` if the hyperedges do not point."""
    time: Names | None

    @classmethod
    def of(
        cls,
        data: Table,
        column: Any,
        beside: tuple[Any, Any],
        vertex_of: Ids,
        in_head: Bools | None,
    ) -> _Part:
        """Read a column of hyperedges and, if there are any, its column of weights and its column of times."""
        weight, time = beside
        hyperedge_of, names = _ids(data.columns[column], column, may_lack=True)
        rows = np.flatnonzero(hyperedge_of >= 0)
        codes = hyperedge_of[rows]
        weights = None
        if weight is not None:
            found = encode(data.columns[weight])
            weights = _weight_of_each(found._replace(codes=found.codes[rows]), weight, codes, names)
        times = None
        if time is not None:
            found = encode(data.columns[time])
            times = _time_of_each(found._replace(codes=found.codes[rows]), time, codes, names)
        role = None if in_head is None else in_head[rows]
        return cls(column, rows, vertex_of[rows], codes, names, weights, role, times)

    def check_no_repetition(self, vertex_names: Names) -> None:
        """Raise if a vertex is twice in a hyperedge."""
        keys = self.vertex * self.names.size + self.hyperedge
        if self.in_head is not None:
            keys = 2 * keys + self.in_head
        _, first = np.unique(keys, return_index=True)
        repeated = np.setdiff1d(np.arange(keys.size), first)
        if repeated.size:
            one = repeated[0]
            raise ValueError(
                f"each pair may occur only once; row {self.rows[one]} repeats that "
                f"{show_name(vertex_names, self.vertex[one])} is in {show_name(self.names, self.hyperedge[one])} "
                f"(repeated rows: {repeated.size}). Pass duplicates='drop' to count repeated pairs once."
            )


def _by_hyperedge(what: str, given: Any, columns: Sequence[Any]) -> dict[Any, Any]:
    """The column of weights, or of times, of each column of hyperedges that has one."""
    if not columns or len(set(columns)) < len(columns):
        raise ValueError(f"hyperedge must name at least one column, each once; got {list(columns)}.")
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return dict.fromkeys(columns, given)
    for name in given:
        if name not in columns:
            raise ValueError(f"{what} must be by columns of hyperedges, {quoted(columns)}; got {name!r}.")
    return dict(given)


def _united(parts: Sequence[_Part], vertex_names: Names, *, named_by_column: bool) -> Hypergraph | DirectedHypergraph:
    """One hypergraph with the hyperedges of all columns."""
    sizes = [part.names.size for part in parts]
    start = np.cumsum([0, *sizes])
    names = _by_column(parts) if named_by_column else parts[0].names
    vertex = np.concatenate([part.vertex for part in parts])
    hyperedge = np.concatenate([part.hyperedge + shift for part, shift in zip(parts, start, strict=False)])
    shape = (vertex_names.size, int(start[-1]))
    weights = [np.ones(part.names.size) if part.weight is None else part.weight for part in parts]
    weight = None if all(part.weight is None for part in parts) else np.concatenate(weights)
    given = (weight, None, vertex_names, names, joined_times([part.time for part in parts], sizes))
    if parts[0].in_head is None:
        return Hypergraph.from_incidence(*_distinct(vertex, hyperedge, shape), *shape, *given)
    in_head = np.concatenate([part.in_head for part in parts if part.in_head is not None])
    tails, heads = (_distinct(vertex[which], hyperedge[which], shape) for which in (~in_head, in_head))
    role = np.repeat(np.array(ROLES), (tails[0].size, heads[0].size))
    vertex, hyperedge = (np.concatenate(both) for both in zip(tails, heads, strict=True))
    return DirectedHypergraph.from_incidence(vertex, hyperedge, role, *shape, *given)


def _distinct(vertex: Ids, hyperedge: Ids, shape: tuple[int, int]) -> tuple[Ids, Ids]:
    """The pairs, each once."""
    rows = (np.ones(vertex.size, dtype=bool), (vertex, hyperedge))
    incidence = sparse.csr_array(rows, shape=shape).tocoo()  # sorts in linear time and merges repeated pairs
    return incidence.row, incidence.col


def _are_heads(column: Any, name: Any) -> Bools:
    """Whether each row is about the head of its hyperedge."""
    codes, values, _ = encode(column)
    if codes.size and codes.min() < 0:
        raise ValueError(f"column {name!r} must hold 'tail' or 'head' in each row; row {codes.argmin()} has nothing.")
    wrong = [one for one in values.tolist() if one not in ROLES]
    if wrong:
        raise ValueError(f"column {name!r} must hold 'tail' or 'head' in each row; got {quoted(wrong)}.")
    return np.array([one == "head" for one in values.tolist()], dtype=bool)[codes]


def _by_column(parts: Sequence[_Part]) -> Names:
    """Names (column, id), so that the same id in two columns names two hyperedges."""
    names = [(part.column, one) for part in parts for one in _plain(part.names)]
    return np.fromiter(names, dtype=object, count=len(names))  # np.array would split the pairs


def _plain(names: Names) -> list[Any]:
    """Names as plain Python values; dates too, which NumPy would turn into numbers."""
    return list((names.astype("datetime64[us]") if names.dtype.kind == "M" else names).tolist())


def _ids(column: Any, name: Any, *, may_lack: bool = False) -> tuple[Ids, Names]:
    codes, ids, _ = encode(column)
    if codes.size and codes.min() < 0 and not may_lack:
        raise ValueError(
            f"column {name!r} must hold an id in each row; row {codes.argmin()} has none (rows without an id: "
            f"{(codes < 0).sum()}). Drop these rows or give them an id."
        )
    if ids.dtype.kind == "f":
        check_not_rounded(ids.tolist(), name)
    if are_integers(ids) and np.array_equal(np.sort(ids), np.arange(ids.size)):
        numbers = np.append(ids.astype(np.int64), -1)
        return numbers[codes], np.arange(ids.size)
    return codes, ids


def _renumber(vertex_of: Ids, ids: Names, vertices: Any) -> tuple[Ids, Names]:
    names = as_array(vertices)
    as_names("vertices", names, names.size)
    place = {name: number for number, name in enumerate(comparable(names))}
    number = np.array([place.get(name, -1) for name in comparable(ids)], dtype=np.int64)
    unknown = ids[number < 0]
    if unknown.size:
        shown = ", ".join(show_name(unknown, row) for row in range(min(unknown.size, 5)))
        first = f", which starts with {show_name(names, 0)}" if names.size else ""
        raise ValueError(
            f"every vertex id must be in vertices=; the table also has {shown}{', …' if unknown.size > 5 else ''} "
            f"({unknown.size} in total). Compare spelling and type with vertices={first}."
        )
    return number[vertex_of] if vertex_of.size else vertex_of, names


def comparable(names: Names) -> list[Any]:
    """Return values that compare equal whichever library they come from: dates without a time zone as nanoseconds."""
    is_date = all(isinstance(one, (date, np.datetime64)) and not getattr(one, "tzinfo", None) for one in names)
    return list((names.astype("datetime64[ns]") if is_date else names).tolist())


def _weight_of_each(weights: Encoded, name: Any, hyperedge_of: Ids, hyperedge_names: Names) -> npt.NDArray[np.float64]:
    if weights.codes.size == 0:
        return np.empty(0)
    if not weights.is_numeric:
        raise TypeError(f"column {name!r} must hold the weights of hyperedges, which are numbers.")
    if weights.codes.min() < 0:
        raise ValueError(f"column {name!r} must hold a weight in each row; row {weights.codes.argmin()} has none.")
    by_row = weights.values.astype(np.float64)[weights.codes]
    advice = "Sum or average them first, e.g. by grouping the rows."
    return _one_each("weight", by_row, name, hyperedge_of, hyperedge_names, advice)


def _time_of_each(times: Encoded, name: Any, hyperedge_of: Ids, hyperedge_names: Names) -> Names | None:
    if times.codes.size == 0:
        return None
    if times.codes.min() < 0:
        raise ValueError(f"column {name!r} must hold a time in each row; row {times.codes.argmin()} has none.")
    values = times.values if times.values.dtype.kind in "iufM" else read_times(times.values.tolist())
    if values is None:
        shown = show_name(times.values, 0)
        raise TypeError(f"column {name!r} must hold numbers or dates, such as 2024-05-17; got {shown}.")
    advice = "Take the first or the last of each first, or let each time have a hyperedge of its own."
    return _one_each("time", values[times.codes], name, hyperedge_of, hyperedge_names, advice)


def _one_each(
    what: str, by_row: npt.NDArray[Any], name: Any, hyperedge_of: Ids, hyperedge_names: Names, advice: str
) -> npt.NDArray[Any]:
    """The weight or the time of each hyperedge, from those of the rows."""
    found = np.empty(hyperedge_names.size, dtype=by_row.dtype)
    found[hyperedge_of] = by_row
    differ = np.flatnonzero(found[hyperedge_of] != by_row)
    if differ.size:
        hyperedge = hyperedge_of[differ[0]]
        raise ValueError(
            f"column {name!r} must hold one {what} per hyperedge; {show_name(hyperedge_names, hyperedge)} has "
            f"{by_row[differ[0]]} and {found[hyperedge]}. {advice}"
        )
    return found
