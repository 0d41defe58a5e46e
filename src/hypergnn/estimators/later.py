"""Rows that come after training: which known hyperedges they join, and which new ones they bring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.checks import Names
from hypergnn._utils.table_sources import quoted
from hypergnn._utils.tables import encode, read_table
from hypergnn.construct import from_table
from hypergnn.construct.table import comparable
from hypergnn.structures.block import Block
from hypergnn.structures.hypergraph import Hypergraph

Ids = npt.NDArray[np.int64]


class Later(NamedTuple):
    """The hyperedges of rows that come after training."""

    memberships: sparse.csr_array
    """Rows × hyperedges of training."""
    brought: Hypergraph | None = None
    """The hyperedges among the rows that training did not have; its vertices are the rows."""
    names: Names | None = None
    """What the rows are called, if their hypergraph names them."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.memberships.shape[0])

    def blocks(self, H: Hypergraph, depth: int) -> list[Block]:
        """The blocks of a network over the hypergraph of training, one per layer."""
        return H.joined_by(self.memberships, depth, brought=self.brought)


def as_hypergraph(
    hypergraph: Any, memberships: Any, n_rows: int | None, names: Names | None, training: Hypergraph | None = None
) -> Hypergraph | None:
    """Return the hypergraph of some rows, from ``hypergraph`` or ``memberships``; ``None`` if neither is given.

    Args:
        hypergraph: A hypergraph.
        memberships: A sparse matrix of zeros and ones, rows × hyperedges; or a table of two columns, the row and the
            hyperedge that it is in.
        n_rows: The number of rows; ``None`` if only the memberships say it.
        names: What the table calls the rows; their numbers if ``None``.
        training: The hypergraph of training, for rows that come later. If its hyperedges are those of several columns,
            a table has the row first, then any of these columns; others are ignored.

    Example:
        >>> as_hypergraph(None, {"customer": [0, 1, 1], "product": ["tea", "tea", "nail"]}, 3, None)
        Hypergraph(3 vertices, 2 hyperedges, 3 incidences)
    """
    if hypergraph is not None and memberships is not None:
        raise ValueError("hypergraph and memberships must not both be given: use one of them.")
    if memberships is None:
        if hypergraph is not None and not isinstance(hypergraph, Hypergraph):
            raise TypeError(
                f"hypergraph must be a Hypergraph; got {type(hypergraph).__name__}. Take H.undirected() of a directed "
                "one; hypergnn.training.fit trains networks that follow directions."
            )
        found = hypergraph
    elif sparse.issparse(memberships):
        found = Hypergraph.from_scipy(memberships)
    elif isinstance(memberships, np.ndarray):
        found = Hypergraph.from_scipy(sparse.csr_array(memberships))
    else:
        found = _from_pairs(memberships, n_rows, names, training)
    if found is not None and n_rows is not None and found.n_vertices != n_rows:
        name = "hypergraph must have one vertex" if memberships is None else "memberships must have one row"
        raise ValueError(
            f"{name} for each row of X, {n_rows}; got {found.n_vertices}. In a cross-validation, which takes rows "
            "away, pass memberships=H.to_scipy(), which is split like X (see hypergnn.model_selection)."
        )
    return found


def _from_pairs(table: Any, n_rows: int | None, names: Names | None, training: Hypergraph | None) -> Hypergraph:
    columns = read_table(table).columns
    vertex, *others = columns
    rows = names if names is not None or n_rows is None else np.arange(n_rows)
    if rows is not None:
        _check_rows(columns, rows)
    elif training is not None and training.hyperedge_names is not None:
        _check_order(columns, training.hyperedge_names)
    asked = _columns_of(training)
    if asked and not (len(others) == 1 and _are_tuples(columns[others[0]])):
        chosen = [name for name in others if name in asked]
        if not chosen:
            raise ValueError(
                f"memberships must have the row in the first column, and one of those of training, {quoted(asked)}; "
                f"got {quoted(list(columns))}."
            )
        return from_table(table, vertex=vertex, hyperedge=chosen, vertices=rows)
    if len(others) != 1:
        raise ValueError(
            f"memberships must have two columns, the row and the hyperedge; got {', '.join(map(repr, columns))}. "
            "Select them, e.g. orders[['customer', 'product']]."
        )
    return from_table(table, vertex=vertex, hyperedge=others[0], vertices=rows)


def _columns_of(training: Hypergraph | None) -> list[Any]:
    """The columns that the hyperedges of training come from, if there are several: their names are (column, id)."""
    names = None if training is None else training.hyperedge_names
    if names is None or not all(isinstance(one, tuple) and len(one) == 2 for one in names):
        return []
    return list(dict.fromkeys(column for column, _ in names))


def _are_tuples(column: Any) -> bool:
    """Whether the cells are whole names, such as (column, id)."""
    return all(isinstance(one, tuple) for one in encode(column).values)


def _check_rows(columns: Mapping[Any, Any], rows: Names) -> None:
    """Raise if memberships name a row that X does not have, or have the columns swapped."""
    (name, column), *others = columns.items()
    found, known = encode(column).values, set(comparable(rows))
    unknown = [one for one in comparable(found) if one not in known]
    if not unknown:
        return
    texts = _texts(rows)
    if not _texts(found) & texts:
        for other, cells in others:
            values = _texts(encode(cells).values)
            if values and values <= texts:
                raise _swapped(name, other)
    raise ValueError(
        f"memberships must name rows of X, which are called {quoted(rows.tolist(), 2)}; {len(unknown)} others are "
        f"{quoted(unknown, 2)}. Make the ids the index of X, e.g. X.set_index({name!r}), and leave the memberships "
        "of other rows out."
    )


def _check_order(columns: Mapping[Any, Any], hyperedges: Names) -> None:
    """Raise if the columns are swapped: the first names only hyperedges of training, and another none of them.

    This is for rows without names. Rows and hyperedges may have ids in common, such as 7.
    """
    (first, column), *others = columns.items()
    found, known = _texts(encode(column).values), _texts(hyperedges)
    if not found or not found <= known:
        return
    for name, other in others:
        values = _texts(encode(other).values)
        if values and not values & known:
            raise _swapped(first, name)


def _swapped(first: Any, rows: Any) -> ValueError:
    return ValueError(
        f"memberships must have the row in the first column, then the hyperedge; the rows are in {rows!r}, and "
        f"{first!r} is the first. Swap them: memberships[[{rows!r}, {first!r}]]."
    )


def _texts(values: Any) -> set[str]:
    return {str(one) for one in values.tolist()}


def read_later(H: Hypergraph, R: Hypergraph) -> Later:
    """Divide the hyperedges of later rows into those of training, found by name, and new ones.

    Hyperedges without names are called by their numbers: in a matrix of memberships, the first columns are the
    hyperedges of training and further ones are new. Known hyperedges keep the weight, the centroid and the time of
    training.

    Args:
        H: The hypergraph of training.
        R: The hypergraph of the later rows.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2, hyperedge_names=["tea", "milk"])
        >>> R = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2, hyperedge_names=["nail", "milk"])
        >>> later = read_later(H, R)
        >>> later.memberships.toarray().tolist(), later.brought
        ([[0.0, 0.0], [0.0, 1.0]], Hypergraph(2 vertices, 1 hyperedges, 2 incidences))
    """
    if R.hyperedge_names is None and H.hyperedge_names is not None:
        example = H.hyperedge_names[:1].tolist()
        raise ValueError(
            f"the hyperedges of later rows must have names, as those of training do (such as {example[0]!r}), so that "
            "they can be recognised. Pass hyperedge_names, or a table with the columns row and hyperedge."
        )
    number = _numbers(_names(R), _names(H))
    if H.hyperedge_names is not None and (number < 0).any():  # perhaps one has text where the other has numbers
        by_text = _numbers([_as_text(one) for one in _names(R)], [_as_text(one) for one in _names(H)])
        number = np.where(number < 0, by_text, number)
    incidence = sparse.csc_array(R.to_scipy())
    is_known = np.flatnonzero(number >= 0)
    pairs = incidence[:, is_known].tocoo()
    joined = sparse.csr_array(
        (
            np.ones(pairs.nnz),
            (pairs.row.astype(np.int32), number[is_known].astype(np.int32)[pairs.col]),
        ),  # as forests want them
        shape=(R.n_vertices, H.n_hyperedges),
    )
    joined.data[:] = 1  # a table may hold both 11 and "11"
    return Later(joined, _part(R, incidence, np.flatnonzero(number < 0)), R.vertex_names)


def _part(R: Hypergraph, incidence: sparse.csc_array, chosen: Ids) -> Hypergraph | None:
    """Some hyperedges of a hypergraph; ``None`` if there are none."""
    if not chosen.size:
        return None
    part = Hypergraph.from_scipy(
        incidence[:, chosen],
        weight=R.weight.cpu().numpy()[chosen],
        centroid=None if R.centroid is None else R.centroid.cpu().numpy()[chosen],
        vertex_names=R.vertex_names,
        hyperedge_names=None if R.hyperedge_names is None else R.hyperedge_names[chosen],
    )
    return part if R.time is None else replace(part, time=R.time[chosen])


def _numbers(names: list[Any], known: list[Any]) -> Ids:
    """The place of each name among known ones, -1 if it is none of them."""
    place = {name: number for number, name in enumerate(known)}
    return np.array([place.get(name, -1) for name in names], dtype=np.int64)


def _as_text(name: Any) -> Any:
    return tuple(map(str, name)) if isinstance(name, tuple) else str(name)


def _names(H: Hypergraph) -> list[Any]:
    return list(range(H.n_hyperedges)) if H.hyperedge_names is None else comparable(H.hyperedge_names)
