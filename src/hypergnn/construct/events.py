"""Tables of events: who did what, such as customers and what they bought."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.checks import Names
from hypergnn._utils.extras import library_of
from hypergnn._utils.table_sources import Source, quoted
from hypergnn._utils.tables import as_text, encode, read_table, row_names
from hypergnn.construct.table import from_table
from hypergnn.structures.hypergraph import Hypergraph


@dataclass(frozen=True)
class Events:
    """What :func:`from_events` returns: all that an estimator's ``fit`` takes, one row per vertex."""

    features: Any
    """A table without the ids and the labels; the incidence matrix if there is none."""
    hypergraph: Hypergraph
    """The vertices, in the order of the rows, and what they have in common."""
    labels: npt.NDArray[Any] | None
    """The label of each vertex, ``None`` where it has none; ``None`` if there are no labels."""
    vertex_names: Names
    """The id of each vertex."""

    def by_vertex(self, values: Iterable[Any]) -> dict[Any, Any]:
        """Return values of the vertices, such as predicted classes, by the ids of the vertices.

        Example:
            >>> orders = {"customer": ["ann", "bob"], "product": ["tea", "tea"]}
            >>> from_events(orders, vertex="customer", hyperedge="product").by_vertex([1, 2])
            {'ann': 1, 'bob': 2}
        """
        return dict(zip(self.vertex_names.tolist(), values, strict=True))


def from_events(
    events: Any,
    *,
    vertex: Any,
    hyperedge: Any,
    features: Any = None,
    labels: Any = None,
    weight: Any = None,
    time: Any = None,
) -> Events:
    """Make a hypergraph of a table of events, with the features and labels of its vertices in the same order.

    Each event says that a vertex has to do with something, for example that a customer bought a product. All vertices
    that have to do with the same thing share a hyperedge; repeated events count once.

    Args:
        events: One row per event, any table that :func:`from_table` takes.
        vertex: The column of vertices, in ``events`` and in ``features``.
        hyperedge: The column of what vertices have in common, or a list of several, as in :func:`from_table`.
        features: One row per vertex: any such table, with the ids in the column ``vertex``, or in the index of a pandas
            table. Its rows give the order of the vertices; those without an event are isolated. If omitted, the
            vertices are in the order of their first event, and the incidence matrix is used as features.
        labels: The column of ``features`` with the labels; or a dictionary or pandas Series of labels by vertex.
            Vertices without a label may have an empty cell, or no entry.
        weight: The column of weights of the hyperedges, as in :func:`from_table`.
        time: The column of times of the hyperedges, as in :func:`from_table`.

    Raises:
        TypeError: If an argument is not a table, or ids are neither text nor integers.
        ValueError: If a column does not exist, ``features`` has no ids or an id twice, or an event or a label names a
            vertex that has no row in ``features``.

    Example:
        >>> import hypergnn as hg
        >>> orders = {"customer": ["ann", "bob", "bob", "eve"], "product": ["tea", "tea", "nail", "nail"]}
        >>> customers = {"customer": ["eve", "bob", "ann"], "age": [31, 52, 40], "segment": ["trade", None, "private"]}
        >>> found = hg.construct.from_events(
        ...     orders, vertex="customer", hyperedge=["product"], features=customers, labels="segment"
        ... )
        >>> found.hypergraph
        Hypergraph(3 vertices, 2 hyperedges, 4 incidences)
        >>> found.vertex_names.tolist(), list(found.features), found.labels.tolist()
        (['eve', 'bob', 'ann'], ['age'], ['trade', None, 'private'])
    """
    columns = list(hyperedge) if isinstance(hyperedge, list) else [hyperedge]
    if vertex in columns:
        raise ValueError(f"vertex and hyperedge must name different columns; both name {vertex!r}.")
    if features is None:
        H = from_table(events, vertex=vertex, hyperedge=hyperedge, weight=weight, time=time)
        names = np.arange(H.n_vertices) if H.vertex_names is None else H.vertex_names
        found: Any = None
        by_name = labels
        if labels is not None and not hasattr(labels, "items"):
            raise ValueError(f"labels must be labels by vertex if there are no features; got {labels!r}.")
    else:
        names, found, by_name = _rows_of(features, vertex, labels)
        H = _hypergraph(events, vertex, hyperedge, weight, time, names)
    if found is None:
        found = sparse.csr_array(H.to_scipy())
    return Events(found, H, None if by_name is None else _labels(by_name, names, vertex), names)


def _rows_of(features: Any, vertex: Any, labels: Any) -> tuple[Names, Any, Any]:
    """The ids of the rows, the features without ids and labels (``None`` if nothing is left), and labels by vertex."""
    source = Source(features)
    text = [vertex] if vertex in source.names else []
    table = read_table(features, text=text)
    if vertex in table.columns:
        names, index = _values(table.columns[vertex], vertex), None
    else:
        index = features.index if library_of(features) == "pandas" else None
        if index is None or (index.name != vertex and row_names(features) is None):
            raise ValueError(
                f"features must have the ids of the vertices in a column {vertex!r}, or in the index of a pandas "
                f"table; got the columns {quoted(source.names)}."
            )
        names = _values(index.to_series(), vertex)
    _check_once(names, vertex)
    used = [vertex]
    if labels is not None and not hasattr(labels, "items"):
        if not isinstance(labels, Hashable) or labels not in table.columns:
            raise ValueError(
                f"labels must name a column of features, or be a dictionary of labels by vertex; got {labels!r}. The "
                f"columns are {quoted(source.names)}."
            )
        used.append(labels)
        labels = dict(zip(names.tolist(), _values(table.columns[labels], labels, may_lack=True), strict=True))
    left = {name: column for name, column in table.columns.items() if name not in used}
    if library_of(features) == "pandas" and left:
        return names, features[list(left)].set_axis(names, axis=0).rename_axis(index=vertex), labels
    return names, left or None, labels


def _hypergraph(events: Any, vertex: Any, hyperedge: Any, weight: Any, time: Any, names: Names) -> Hypergraph:
    """The hypergraph whose vertices have the order of the features; ids are compared as text."""
    columns = list(hyperedge) if isinstance(hyperedge, list) else [hyperedge]
    needed = [("vertex", vertex), *(("hyperedge", name) for name in columns)]
    for what, given in (("weight", weight), ("time", time)):
        named = list(given.values()) if isinstance(given, Mapping) else [] if given is None else [given]
        needed += [(what, name) for name in named]
    table = read_table(events, needed, text=[vertex, *columns])
    place = {text: number for number, text in enumerate(as_text(names, vertex))}
    codes, ids, _ = encode(table.columns[vertex])
    if codes.size and codes.min() < 0:
        raise ValueError(_without_id(vertex, "events", codes))
    unknown = [text for text in as_text(ids, vertex) if text not in place]
    if unknown:
        raise ValueError(
            f"events must name only vertices that have a row in features; {len(unknown)} have none: {quoted(unknown)}. "
            f"Add their rows, leave their events out, or compare the spelling with {quoted(list(place)[:2])}."
        )
    numbers = np.array([place[text] for text in as_text(ids, vertex)], dtype=np.int64)[codes]
    numbered = {**table.columns, vertex: numbers}
    order = np.arange(names.size)
    H = from_table(numbered, vertex=vertex, hyperedge=hyperedge, weight=weight, time=time, vertices=order)
    return replace(H, vertex_names=None if np.array_equal(names, order) else names)


def _labels(by_name: Any, names: Names, vertex: Any) -> npt.NDArray[Any]:
    """The label of each vertex, ``None`` where it has none."""
    given = dict(by_name.items())
    keys = as_text(np.fromiter(given, dtype=object, count=len(given)), vertex)
    label_of = dict(zip(keys, given.values(), strict=True))
    texts = as_text(names, vertex)
    unknown = label_of.keys() - set(texts)
    if unknown:
        raise ValueError(
            f"labels must be those of vertices; {len(unknown)} have other ids: {quoted(sorted(unknown))}. "
            f"Compare the spelling with {quoted(texts[:2])}."
        )
    labels = np.empty(names.size, dtype=object)
    labels[:] = [label_of.get(text) for text in texts]
    return labels


def _values(column: Any, name: Any, *, may_lack: bool = False) -> Names:
    """The plain value of each row, ``None`` where it is missing."""
    codes, values, _ = encode(column)
    if codes.size and codes.min() < 0 and not may_lack:
        raise ValueError(_without_id(name, "features", codes))
    if values.dtype.kind in "iu" and (codes >= 0).all():
        return values[codes]
    plain = np.empty(values.size + 1, dtype=object)
    plain[:-1] = values.tolist()
    return plain[codes]


def _without_id(name: Any, table: str, codes: npt.NDArray[np.int64]) -> str:
    return (
        f"column {name!r} must hold an id in each row of {table}; row {codes.argmin()} has none (rows without an id: "
        f"{np.count_nonzero(codes < 0)}). Leave these rows out, e.g. {table}.dropna(subset=[{name!r}])."
    )


def _check_once(names: Names, vertex: Any) -> None:
    texts = as_text(names, vertex)
    seen: set[str] = set()
    for text in texts:
        if text in seen:
            raise ValueError(
                f"features must have one row per vertex; {text!r} has {texts.count(text)} rows. Leave out duplicates, "
                f"e.g. features.drop_duplicates({vertex!r})."
            )
        seen.add(text)
