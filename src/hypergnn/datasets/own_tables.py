"""A dataset from the user's own tables, each a file or in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.table_files import is_file, shown
from hypergnn._utils.table_sources import quoted
from hypergnn._utils.tables import as_numbers, as_text, encode
from hypergnn.construct import TableEncoder, from_table
from hypergnn.datasets.dataset import Dataset
from hypergnn.datasets.own_columns import Among, IdColumn, Opened, Role, blaming, open_table
from hypergnn.datasets.splits import stratified_split
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph

Ids = npt.NDArray[np.int64]
_Features = tuple[Any, tuple[str, ...], Mapping[str, Any] | None]
"""The features, their names, and how they were encoded."""
_MOSTLY_ZERO = 0.1
_DOUBTFUL = frozenset({"NA", "N/A", "NaN", "nan", "null", "None"})
_PARTS = ("train", "val", "test")


def from_tables(
    *,
    incidences: Any,
    features: Any = None,
    labels: Any = None,
    links: Any = None,
    vertex: str | None = None,
    hyperedge: str | Sequence[str] | None = None,
    weight: str | None = None,
    role: str | None = None,
    label: str | None = None,
    split: str | None = None,
    seed: int | None = None,
    val: float = 0.2,
    test: float = 0.2,
    name: str | None = None,
    encode_features: bool | Literal["auto"] | TableEncoder = False,
) -> Dataset:
    """Make a dataset from your own tables: ``.csv`` or ``.parquet`` files, folders of them, or tables in memory.

    Vertices are in the order of ``features``, or without features in the order of their first appearance in
    ``incidences``; the other tables must not hold further vertices. Ids are text or integers and are compared as text,
    so 7 in one file equals "7" in another. They become the names of vertices and hyperedges. Unused columns are
    ignored.

    Args:
        incidences: One row per incidence: a vertex and a hyperedge. Vertices without a row are isolated.
        features: One row per vertex: its id, and columns of numbers. If omitted, or if nothing but ids and labels is
            left, the incidence matrix is used as features.
        labels: One row per vertex: its id, its class, and optionally its part of the split. Vertices without a row,
            with an empty class, or with class -1 where classes are integers, are unlabelled. If omitted, ``label`` and
            ``split`` are columns of ``features``; without ``label``, all vertices are unlabelled and there is no split.
        links: One row per pairwise link, in the columns ``source`` and ``target``, or else the first two. The models
            ``gcn`` and ``gat`` need links.
        vertex: The column of vertex ids in the first three tables. Default: ``"vertex"`` if it exists, else the first
            column.
        hyperedge: The column of hyperedge ids, or a list of several, whose hyperedges are named ``(column, id)``.
            Default: ``"hyperedge"`` if it exists, else the first column after the vertices.
        weight: The column of ``incidences`` with the weight of the row's hyperedge. Default: ``"weight"`` if it exists,
            else all weights are 1.
        role: The column of ``incidences`` with ``tail`` or ``head``, which makes a directed hypergraph; see
            :func:`hypergnn.construct.from_table`.
        label: The column of classes. Default: ``"label"`` if it exists, else the first unused column.
        split: The column of ``labels`` with ``train``, ``val``, ``test`` or an empty cell. Default: ``"split"`` if it
            exists, else :func:`stratified_split` draws a split.
        seed: Selects the random split; 0 if omitted.
        val: Fraction of each class for validation, if the split is drawn.
        test: Fraction of each class for testing, if the split is drawn.
        name: Name of the dataset. Default: the file name of ``incidences``.
        encode_features: Whether ``features`` may hold words, dates and gaps, which
            :class:`hypergnn.construct.TableEncoder` then turns into numbers: ``"auto"`` only if there are any. A fitted
            encoder encodes them as it has learned, so that a network trained on one table can predict from another.

    Raises:
        TypeError: If an argument is not a table, or features are not numbers.
        ValueError: If a column or a value is missing, a table holds unknown vertices or the same vertex twice, or a
            class is too small for a split.

    Example:
        >>> baskets = {"item": ["tea", "milk", "tea", "cake"], "basket": ["b7", "b7", "b2", "b2"]}
        >>> prices = {"item": ["cake", "milk", "tea", "jam"], "price": [3.5, 1.0, 2.0, 4.0]}
        >>> data = from_tables(incidences=baskets, features=prices, name="shop")
        >>> data
        Dataset('shop': 4 vertices, 2 hyperedges, 1 features, 0 classes, split 0/0/0)
        >>> data.hypergraph.vertex_names.tolist()
        ['cake', 'milk', 'tea', 'jam']
    """
    if labels is None and (label, split, seed) != (None, None, None) and (features is None or label is None):
        passed = [name for name, one in {"label": label, "split": split, "seed": seed}.items() if one is not None]
        raise ValueError(
            f"{' and '.join(passed)} must be omitted without labels: nothing would be read. Pass labels, or features "
            "with a column of labels that label names."
        )
    in_features = labels is None and label is not None
    several = [] if hyperedge is None or isinstance(hyperedge, str) else list(hyperedge)
    of_hyperedges: dict[Role, Any] = {Among("hyperedge", place): one for place, one in enumerate(several)}
    of_hyperedges = of_hyperedges or {"hyperedge": hyperedge}
    roles: dict[str, dict[Role, Any]] = {
        "incidences": {"vertex": vertex, **of_hyperedges, "weight": weight} | ({"role": role} if role else {}),
        "features": {"vertex": vertex},
        "labels": {"vertex": vertex, "split": split, "label": label},
        "links": {"source": None, "target": None},
    }
    given = {"incidences": incidences, "features": features, "labels": features if in_features else labels}
    given["links"] = links
    tables = {what: open_table(what, table, roles[what]) for what, table in given.items() if table is not None}
    used = [tables["labels"].roles[role] for role in ("label", "split")] if in_features else []
    names, place = _vertices(tables)
    H = _hypergraph(tables["incidences"], list(of_hyperedges), names, place)
    found = _features(tables.get("features"), used, encode_features)
    x, feature_names, encoding = _memberships(H) if found is None else found
    y, class_names, parts = _labels(tables.get("labels"), place, seed, (val, test))
    files = dict.fromkeys(Path(shown(table)).name for table in given.values() if is_file(table))
    opened = tables["incidences"].roles
    made_of = ", ".join(str(opened[one]) for one in of_hyperedges)
    return Dataset(
        name=name or (Path(shown(incidences)).stem if is_file(incidences) else "tables"),
        x=x,
        y=y,
        class_names=class_names,
        graph=_graph(tables["links"], place) if "links" in tables else None,
        hypergraph=H,
        **dict(zip(_PARTS, parts, strict=True)),
        source=", ".join(files) or "tables in memory",
        feature_names=feature_names,
        encoding=encoding,
        has_memberships=found is None,
        construction=f"{opened['vertex']} × {made_of}",
    )


def _vertices(tables: dict[str, Opened]) -> tuple[npt.NDArray[Any], dict[str, int]]:
    """The vertex ids in the order of features, or else of incidences, and the number of each id."""
    columns = {what: list(table.ids.values()) for what, table in tables.items()}
    if "features" in columns:
        (leading,) = columns.pop("features")
        place = {leading.ids[code]: number for number, code in enumerate(leading.codes.tolist())}
        need, lack, fix = "have features", "have none", "Add their rows to features"
    else:
        (leading,) = columns.pop("incidences")
        place = {one: number for number, one in enumerate(leading.ids)}
        need, lack, fix = "are in a hyperedge", "are in none", "Add them to incidences, pass features"
    for what, several in columns.items():
        unknown = [one for column in several for one in column.ids if one not in place]
        if unknown and not place:
            raise ValueError(
                f"{'incidences' if need == 'are in a hyperedge' else 'features'} must have rows; got none."
            )
        if unknown:
            raise ValueError(
                f"{what} must name only vertices that {need}; {len(unknown)} ids {lack}: {quoted(unknown)}. "
                f"{fix}, or compare the spelling with {quoted(list(place)[:2])}."
            )
    if not place:
        raise ValueError("the tables must hold at least one vertex; they have no rows.")
    return np.array(list(place), dtype=object), place


def _numbers(column: IdColumn, place: dict[str, int]) -> Ids:
    """The vertex number of each row."""
    return np.array([place[one] for one in column.ids], dtype=np.int64)[column.codes]


def _hypergraph(
    opened: Opened, roles: Sequence[Role], names: npt.NDArray[Any], place: dict[str, int]
) -> Hypergraph | DirectedHypergraph:
    """The hypergraph of the incidences, whose hyperedges are in the columns that play ``roles``."""
    vertex, weight = opened.roles["vertex"], opened.roles["weight"]
    hyperedges = [opened.roles[role] for role in roles]
    if vertex in hyperedges:
        raise ValueError(f"incidences: vertices and hyperedges must be in different columns; both are in {vertex!r}.")
    with blaming("incidences"):
        if not opened.table.n_rows:
            raise ValueError("the table must have at least one row, a vertex and its hyperedge; got none.")
        columns = {vertex: _numbers(opened.ids["vertex"], place)}
        for role, name in zip(roles, hyperedges, strict=True):
            codes, values, _ = encode(opened.column(role))
            texts = [*as_text(values, name), None]  # as text, so that numbers become names too
            columns[name] = np.array(texts, dtype=object)[codes]
        if weight is not None:
            columns[weight] = opened.column("weight")
        one_or_all = hyperedges[0] if roles == ["hyperedge"] else hyperedges
        everyone, of_roles = np.arange(names.size), opened.roles.get("role")
        H: Hypergraph | DirectedHypergraph
        if of_roles is None:
            H = from_table(columns, vertex=vertex, hyperedge=one_or_all, weight=weight, vertices=everyone)
        else:
            columns[of_roles] = opened.column("role")
            H = from_table(
                columns, vertex=vertex, hyperedge=one_or_all, weight=weight, role=of_roles, vertices=everyone
            )
    return replace(H, vertex_names=names)


def _graph(opened: Opened, place: dict[str, int]) -> Graph:
    source, target = (_numbers(opened.ids[role], place) for role in ("source", "target"))
    return Graph.from_links(source, target, len(place))


def _memberships(whole: Hypergraph | DirectedHypergraph) -> _Features:
    H = whole.undirected()
    names = (
        "=".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in np.asarray(H.hyperedge_names)
    )
    return sparse.csr_array(H.to_scipy(), dtype=np.float32), tuple(names), None


def _features(opened: Opened | None, used: Sequence[Any], encodes: bool | str | TableEncoder) -> _Features | None:
    """All columns except the ids and ``used`` as a matrix, sparse if most are zero; ``None`` if there are none."""
    if opened is None:
        return None
    left_out = {opened.roles["vertex"], *used}
    columns = {name: column for name, column in opened.table.columns.items() if name not in left_out}
    if not columns and used:
        return None
    if not columns:
        raise ValueError(
            "features must have a column of numbers besides the ids; got none. Omit it to use the incidence matrix."
        )
    if isinstance(encodes, TableEncoder):
        with blaming("features"):
            return np.float32(encodes.transform(columns)), tuple(encodes.feature_names), encodes.settings()
    if encodes == "auto":
        encodes = any(_needs_encoding(column, name) for name, column in columns.items())
    if encodes:
        with blaming("features"):
            encoder = TableEncoder().fit(columns)
            return np.float32(encoder.transform(columns)), tuple(encoder.feature_names), encoder.settings()
    x = np.empty((opened.table.n_rows, len(columns)), dtype=np.float32)
    for place, (name, column) in enumerate(columns.items()):
        values = as_numbers(column, name)
        if values is None:
            raise TypeError(
                f"features: column {name!r} must hold numbers. Drop it, encode it, or turn its values into "
                "hyperedges with construct.from_attributes."
            )
        with np.errstate(over="ignore"):
            x[:, place] = values
        if not (finite := np.isfinite(x[:, place])).all():
            row = int(finite.argmin())
            vertex = opened.ids["vertex"].ids[opened.ids["vertex"].codes[row]]
            raise ValueError(
                f"features: column {name!r} must hold a finite number in each row; row {row}, vertex {vertex!r}, has "
                f"{'none' if np.isnan(values[row]) else values[row]}. Fill in missing values or drop the row."
            )
    is_sparse = np.count_nonzero(x) < _MOSTLY_ZERO * x.size
    return sparse.csr_array(x) if is_sparse else x, tuple(map(str, columns)), None


def _needs_encoding(column: Any, name: Any) -> bool:
    """Whether a column holds anything but numbers."""
    numbers = as_numbers(column, name)
    return numbers is None or bool(np.isnan(numbers).any())


def _labels(
    opened: Opened | None, place: dict[str, int], seed: int | None, shares: tuple[float, float]
) -> tuple[Ids, tuple[str, ...], tuple[Ids, Ids, Ids]]:
    """The class of each vertex, the class names, and the split."""
    y = np.full(len(place), -1, dtype=np.int64)
    if opened is None:
        none = np.empty(0, dtype=np.int64)
        return y, (), (none, none, none)
    vertices = _numbers(opened.ids["vertex"], place)
    with blaming("labels"):
        classes, y[vertices] = _classes(opened.column("label"), opened.roles["label"])
        if len(classes) < 2:
            raise ValueError(f"column {opened.roles['label']!r} must hold at least two classes; got {quoted(classes)}.")
        if opened.roles["split"] is None:
            return y, classes, _drawn(y, classes, 0 if seed is None else seed, shares)
        if seed is not None:
            raise ValueError(f"seed must be omitted: column {opened.roles['split']!r} defines the split.")
        return y, classes, _given(opened, vertices, y)


def _classes(column: Any, name: Any) -> tuple[tuple[str, ...], Ids]:
    """The class names, sorted (by value if all are integers), and the class of each row, -1 if missing."""
    codes, values, _ = encode(column)
    texts = [text.strip() for text in as_text(values, name)]
    by_number = all(text.removeprefix("-").isdecimal() for text in texts if text)
    missing = {"", "-1"} if by_number and set(texts) - {"", "-1", "1"} else {""}  # unless -1 and 1 are the two classes
    if doubtful := sorted(_DOUBTFUL.intersection(texts)):
        raise ValueError(
            f"column {name!r} holds {doubtful[0]!r}, which looks like a missing label. Leave such cells empty, or "
            "rename the class."
        )
    classes = sorted(set(texts) - missing, key=(lambda text: (int(text), text)) if by_number else None)
    place = {text: number for number, text in enumerate(classes)} | dict.fromkeys(missing, -1)
    return tuple(classes), np.array([*(place[text] for text in texts), -1])[codes]


def _drawn(y: Ids, classes: tuple[str, ...], seed: int, shares: tuple[float, float]) -> tuple[Ids, Ids, Ids]:
    counts = np.bincount(y[y >= 0], minlength=len(classes))
    if (rare := np.flatnonzero(counts < 3)).size:
        raise ValueError(
            f"each class must have at least 3 labelled vertices to draw a split; {classes[rare[0]]!r} has "
            f"{counts[rare[0]]}, and {rare.size} classes in total have too few. Merge rare classes, leave their labels "
            "empty, or add a column 'split'."
        )
    return stratified_split(y, seed, val=shares[0], test=shares[1])


def _given(opened: Opened, vertices: Ids, y: Ids) -> tuple[Ids, Ids, Ids]:
    codes, values, _ = encode(opened.column("split"))
    texts = [text.strip() for text in as_text(values, opened.roles["split"])]
    if odd := [text for text in texts if text not in (*_PARTS, "")]:
        raise ValueError(
            f"column {opened.roles['split']!r} must hold train, val, test or empty cells; got {quoted(odd)}."
        )
    part_of = np.array([*((*_PARTS, "").index(text) for text in texts), 3])[codes]
    lost = np.flatnonzero((part_of < 3) & (y[vertices] < 0))
    if lost.size:
        vertex = opened.ids["vertex"].ids[opened.ids["vertex"].codes[lost[0]]]
        raise ValueError(
            f"each vertex in the split must have a label; {vertex!r}, in {_PARTS[part_of[lost[0]]]}, has none."
        )
    train, val, test = (np.sort(vertices[part_of == number]) for number in range(3))
    if empty := [name for name, part in zip(_PARTS, (train, val, test), strict=True) if not part.size]:
        raise ValueError(
            f"column {opened.roles['split']!r} must have rows for train, val and test; {empty[0]} has none."
        )
    return train, val, test
