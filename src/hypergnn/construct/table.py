"""Tables of pairs: each row states that a vertex is a member of a hyperedge."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.checks import Names, are_integers, as_array, as_names, check_choice, show_name
from hypergnn._utils.tables import Encoded, encode, read_table
from hypergnn.structures.hypergraph import Hypergraph

Ids = npt.NDArray[np.int64]


def from_table(
    table: Any,
    *,
    vertex: Any,
    hyperedge: Any,
    weight: Any = None,
    vertices: Any = None,
    duplicates: Literal["drop", "error"] = "drop",
) -> Hypergraph:
    """Make a hypergraph from a table with one row per incidence; ids may be of any kind.

    Vertices and hyperedges are numbered by their first appearance in the table, and their ids become their names. If
    the ids are exactly the whole numbers 0, 1, 2, …, in any order, they are the numbers themselves: vertex 2 is row 2
    of the features.

    Args:
        table: A pandas, polars or pyarrow table, or a dictionary of columns.
        vertex: Name of the column of vertex ids.
        hyperedge: Name of the column of hyperedge ids.
        weight: Name of a column with the weight of the row's hyperedge, equal in all rows of a hyperedge.
        vertices: All vertex ids in the order of the vertices. Those without a row are isolated vertices, and an id of
            the table that is not listed is an error.
        duplicates: What to do with repeated pairs: ``"drop"`` counts them once, ``"error"`` refuses them.

    Raises:
        TypeError: If ``table`` is not a table or the weights are not numbers.
        ValueError: If a column does not exist, an id or a weight is missing, an id is not among ``vertices``, the rows
            of a hyperedge differ in weight, or the table has no rows (unless ``vertices`` is given).

    Example:
        >>> import hypergnn as hg
        >>> orders = {"item": ["tea", "milk", "tea", "cake"], "basket": ["b7", "b7", "b2", "b2"]}
        >>> H = hg.construct.from_table(orders, vertex="item", hyperedge="basket")
        >>> H.vertex_names.tolist(), H.hyperedge_names.tolist()
        (['tea', 'milk', 'cake'], ['b7', 'b2'])
        >>> hg.construct.from_table(orders, vertex="item", hyperedge="basket", vertices=["cake", "jam", "milk", "tea"])
        Hypergraph(4 vertices, 2 hyperedges, 4 incidences)
    """
    check_choice("duplicates", duplicates, ("drop", "error"))
    data = read_table(table)
    columns = [data.column(vertex, argument="vertex"), data.column(hyperedge, argument="hyperedge")]
    weights = None if weight is None else encode(data.column(weight, argument="weight"))
    if data.n_rows == 0 and vertices is None:
        raise ValueError("table must have at least one row; got none. Pass vertices= for isolated vertices.")
    vertex_of, vertex_names = _ids(columns[0], vertex)
    hyperedge_of, hyperedge_names = _ids(columns[1], hyperedge)
    if vertices is not None:
        vertex_of, vertex_names = _renumber(vertex_of, vertex_names, vertices)
    weight_of = None if weights is None else _weight_of_each(weights, weight, hyperedge_of, hyperedge_names)
    shape = (vertex_names.size, hyperedge_names.size)
    rows = (np.ones(data.n_rows, dtype=bool), (vertex_of, hyperedge_of))
    incidence = sparse.csr_array(rows, shape=shape).tocoo()  # sorts in linear time and merges repeated pairs
    if duplicates == "error" and incidence.nnz < data.n_rows:
        raise ValueError(_repetition(vertex_of, hyperedge_of, vertex_names, hyperedge_names))
    return Hypergraph.from_incidence(
        incidence.row,
        incidence.col,
        *shape,
        weight=weight_of,
        vertex_names=vertex_names,
        hyperedge_names=hyperedge_names,
    )


def _ids(column: Any, name: Any) -> tuple[Ids, Names]:
    codes, ids, _ = encode(column)
    if codes.size and codes.min() < 0:
        raise ValueError(
            f"column {name!r} must hold an id in each row; row {codes.argmin()} has none (rows without an id: "
            f"{(codes < 0).sum()}). Drop these rows or give them an id."
        )
    if are_integers(ids) and np.array_equal(np.sort(ids), np.arange(ids.size)):
        return ids.astype(np.int64)[codes], np.arange(ids.size)
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
    weight_of = np.empty(hyperedge_names.size)
    weight_of[hyperedge_of] = by_row
    differ = np.flatnonzero(weight_of[hyperedge_of] != by_row)
    if differ.size:
        hyperedge = hyperedge_of[differ[0]]
        raise ValueError(
            f"column {name!r} must hold one weight per hyperedge; {show_name(hyperedge_names, hyperedge)} has "
            f"{by_row[differ[0]]} and {weight_of[hyperedge]}. Sum or average them first, e.g. by grouping the rows."
        )
    return weight_of


def _repetition(vertex_of: Ids, hyperedge_of: Ids, vertex_names: Names, hyperedge_names: Names) -> str:
    n_rows, keys = vertex_of.size, vertex_of * hyperedge_names.size + hyperedge_of
    _, first = np.unique(keys, return_index=True)
    repeated = np.setdiff1d(np.arange(n_rows), first)
    row = repeated[0]
    return (
        f"each pair may occur only once; row {row} repeats that {show_name(vertex_names, vertex_of[row])} is in "
        f"{show_name(hyperedge_names, hyperedge_of[row])} (repeated rows: {repeated.size}). "
        "Pass duplicates='drop' to count repeated pairs once."
    )
