"""Rows recognised by their names: a row of a later table may be one that training had."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.checks import Names, are_integers
from hypergnn._utils.extras import library_of
from hypergnn.construct.table import comparable
from hypergnn.structures.hypergraph import Hypergraph

Ids = npt.NDArray[np.int64]


def names_of_rows(X: Any, hypergraph: Hypergraph | None, memberships: Any) -> Names | None:
    """What the rows of a table are called; ``None`` if nothing says it.

    Names are those of the vertices of a given hypergraph, the ids of a table of memberships without features, or the
    index of a pandas table. An index of whole numbers counts only if it has a name, such as ``customer``: without one,
    it is what slicing has left of the numbers of the rows.

    Args:
        X: The rows.
        hypergraph: The hypergraph that was given with them, or was read from ``memberships``.
        memberships: The memberships that were given with them.

    Example:
        >>> import pandas as pd
        >>> names_of_rows(pd.DataFrame({"age": [40, 52]}, index=["ann", "bob"]), None, None).tolist()
        ['ann', 'bob']
        >>> names_of_rows(pd.DataFrame({"age": [40, 52]}, index=[7, 9]), None, None) is None
        True
    """
    if hypergraph is not None and hypergraph.vertex_names is not None:
        return hypergraph.vertex_names
    is_table = memberships is not None and not sparse.issparse(memberships) and not isinstance(memberships, np.ndarray)
    if X is None:
        return np.arange(hypergraph.n_vertices) if is_table and hypergraph is not None else None
    index = X.index if library_of(X) == "pandas" else None
    if index is None or not index.is_unique:
        return None
    names = np.asarray(index)
    if index.name is None and are_integers(names):
        return None
    if names.dtype.kind in "iuf" or all(map(_is_plain, names)):
        return names
    return np.array([str(one) for one in index], dtype=object)  # dates, periods, …: by their text, as files hold it


def _is_plain(name: Any) -> bool:
    """Whether files can hold a name as it is."""
    return all(map(_is_plain, name)) if isinstance(name, tuple) else isinstance(name, (str, int, float))


def find_rows(known: Names | None, names: Names | None, n_rows: int) -> Ids:
    """The number of the training row that each row is, -1 for new ones.

    Example:
        >>> find_rows(np.array(["ann", "bob"], dtype=object), np.array(["eve", "ann"], dtype=object), 2).tolist()
        [-1, 0]
    """
    if known is None or names is None:
        return np.full(n_rows, -1)
    number = {name: place for place, name in enumerate(comparable(known))}
    return np.array([number.get(name, -1) for name in comparable(names)], dtype=np.int64)


def placed(known: Names | None, names: Names | None, n_old: int, n_new: int, *, must: bool) -> tuple[Ids, Names | None]:
    """The number that each later row has among all rows, known or new, and the names of all rows.

    Args:
        known: The names of the training rows.
        names: The names of the later rows.
        n_old: The number of training rows.
        n_new: The number of later rows.
        must: Whether later rows must have names if those of training do; else their numbers are their names.

    Raises:
        ValueError: If later rows must have names and have none, or a number is already a name.

    Example:
        >>> place, names = placed(np.array(["ann", "bob"], dtype=object), np.array(["eve", "ann"]), 2, 2, must=True)
        >>> place.tolist(), names.tolist()
        ([2, 0], ['ann', 'bob', 'eve'])
    """
    if known is None:
        return n_old + np.arange(n_new), None
    if names is None and must:
        raise ValueError(
            f"later rows must have names, as those of training do (such as {known[:1].tolist()[0]!r}). Pass X "
            "as a table with an index, memberships with the names of the rows, or a hypergraph with vertex_names."
        )
    later = n_old + np.arange(n_new) if names is None else names
    number = find_rows(known, later, n_new)
    if names is None and (number >= 0).any():
        raise ValueError(
            f"later rows must have names: the number of the first one, {n_old}, is already the name of a row. Pass X "
            "as a table with an index."
        )
    is_new = number < 0
    number[is_new] = n_old + np.arange(is_new.sum())
    listed = [*known.tolist(), *later[is_new].tolist()]
    return number, np.fromiter(listed, dtype=object, count=len(listed))
