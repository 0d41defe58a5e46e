"""CSV and Parquet files with one row per incidence."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from hypergnn._utils.checks import Names, are_integers
from hypergnn._utils.extras import import_extra
from hypergnn._utils.table_files import column_names, is_csv, read_file, shown, suffix_of
from hypergnn._utils.table_sources import quoted
from hypergnn._utils.times import read_times
from hypergnn.io.losses import check_holds, check_ignore, refuse
from hypergnn.io.parts import labels, misread_names, number
from hypergnn.persistence.files import replacing
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Ids

if TYPE_CHECKING:
    import pyarrow

_WRITING = ("names", "centroids", "isolated", "empty")


def write_incidence_table(
    H: Hypergraph | DirectedHypergraph, path: str | os.PathLike[str], *, ignore: Collection[str] = ()
) -> None:
    """Write one row per incidence, with columns ``vertex``, ``hyperedge`` and, unless all are 1, ``weight``.

    A directed hypergraph has a column ``role`` as well, ``tail`` or ``head``; hyperedges with times make a column
    ``time``.

    The columns hold names, or numbers if there are no names. The weight and the time of a hyperedge are repeated in all
    its rows.

    Args:
        H: The hypergraph. The names of its vertices must be all text or all integers, and so must those of its
            hyperedges. In a CSV file, text that looks like integers is an error: it would be read back as integers.
        path: A ``.csv`` or ``.parquet`` file; replaced atomically, and unchanged if writing fails.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`: ``"centroids"``, ``"isolated"``, ``"empty"``, and
            ``"names"``, if the table cannot hold them.

    Example:
        >>> import tempfile, pathlib
        >>> from hypergnn import Hypergraph, io
        >>> H = Hypergraph.from_incidence([0, 1, 1], [0, 0, 1], 2, 2, vertex_names=["a", "b"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "small.csv")
        ...     io.write_incidence_table(H, path)
        ...     print(path.read_text())
        "vertex","hyperedge"
        "a",0
        "b",0
        "b",1
        <BLANKLINE>
    """
    suffix = suffix_of(path)
    pyarrow = import_extra("pyarrow", "tables")
    vertices, hyperedges = labels(H.vertex_names, H.n_vertices), labels(H.hyperedge_names, H.n_hyperedges)
    odd = _unwritable(vertices, suffix) or _unwritable(hyperedges, suffix) or misread_names(H)
    refuse(f"a {suffix} table", {"names": odd}, ignore, _WRITING)
    if odd:
        vertices, hyperedges = labels(None, H.n_vertices), labels(None, H.n_hyperedges)
    check_holds(H, "a table of incidences", _WRITING[1:], [word for word in ignore if word != "names"])
    vertex, hyperedge, *role = cast(tuple[Ids, ...], H._listed())  # the role only if directed
    order = np.lexsort((hyperedge, vertex))  # a reader numbers both as they come
    vertex, hyperedge = vertex[order], hyperedge[order]
    columns = {"vertex": _column(vertices).take(vertex), "hyperedge": _column(hyperedges).take(hyperedge)}
    if role:
        columns["role"] = pyarrow.array(role[0][order])
    if bool((H.weight != 1).any()):
        columns["weight"] = pyarrow.array(H.weight.cpu().numpy()[hyperedge])
    if H.time is not None:
        columns["time"] = _time_column(H.time).take(hyperedge)
    table = pyarrow.table(columns)
    with replacing(path) as file:
        if suffix == ".csv":
            import_extra("pyarrow.csv", "tables").write_csv(table, file)
        else:
            import_extra("pyarrow.parquet", "tables").write_table(table, file)


def read_incidence_table(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    vertex: str = "vertex",
    hyperedge: str = "hyperedge",
    weight: str | None = None,
    role: str | None = None,
    time: str | None = None,
    ignore: Collection[str] = (),
) -> Hypergraph | DirectedHypergraph:
    r"""Read a hypergraph from a table with one row per incidence.

    Vertices and hyperedges are numbered in order of first appearance. The values become names, unless they are exactly
    the numbers 0, 1, 2, …. A column of a CSV file is read as integers if all its values are, else as text.

    Args:
        path: A ``.csv`` file with a header, or a ``.parquet`` file; a list of such files, or a folder of them.
        vertex: The column of vertices, text or integers.
        hyperedge: The column of hyperedges, text or integers.
        weight: The column of weights, equal in all rows of a hyperedge; if omitted, all weights are 1.
        role: The column that says whether the vertex is in the ``tail`` or in the ``head`` of the hyperedge; the result
            is then a directed hypergraph.
        time: The column of times, numbers or dates, equal in all rows of a hyperedge.
        ignore: ``("attrs",)`` to drop other columns.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is not such a table, a column or a value is missing, or a column would be lost.

    Example:
        >>> import tempfile, pathlib
        >>> from hypergnn import io
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "papers.csv")
        ...     _ = path.write_text("author,paper,importance\nAnn,p1,2\nBob,p1,2\nBob,p2,1\n")
        ...     H = io.read_incidence_table(path, vertex="author", hyperedge="paper", weight="importance")
        >>> H, H.vertex_names.tolist()
        (Hypergraph(2 vertices, 2 hyperedges, 3 incidences, weighted), ['Ann', 'Bob'])
    """
    check_ignore(ignore, ("attrs",))
    asked = [vertex, hyperedge, *(column for column in (weight, role, time) if column is not None)]
    try:
        is_text, names = is_csv(path), column_names(path)
        if not names:
            raise ValueError("the file must start with the names of its columns; it is empty.")
        for column in asked:
            if column not in names:
                raise ValueError(f"the table must have one column {column!r}; the columns are {quoted(names, 20)}.")
        for what, asked_for in (("weight", weight), ("role", role), ("time", time)):
            if asked_for is None and what in names and what not in asked and "attrs" not in ignore:
                raise ValueError(
                    f"the table has a column {what!r}: give {what}={what!r} to read it, or ignore=('attrs',) to drop "
                    "it."
                )
        spare = [column for column in names if column not in asked]
        lost = f"the columns {quoted(spare, 20)}" if spare else ""
        refuse("a Hypergraph", {"attrs": lost}, ignore, ("attrs",))
        table = read_file(path, text=[vertex, hyperedge, *([] if role is None else [role])], columns=asked)
        for column in asked:
            if table[column].null_count:
                raise ValueError(
                    f"column {column!r} must have a value in each row; {table[column].null_count} are missing."
                )
        vertex_ids, vertex_names, n_vertices = _encode(table[vertex], vertex, is_text)
        hyperedge_ids, hyperedge_names, n_hyperedges = _encode(table[hyperedge], hyperedge, is_text)
        of_each = (hyperedge_ids, n_hyperedges)
        weights = None if weight is None else _one_each("weight", table[weight].to_numpy(), *of_each)
        times = None if time is None else _one_each("time", _read_times(table[time], time), *of_each)
        given = (n_vertices, n_hyperedges, weights, None, vertex_names, hyperedge_names, times)
        if role is None:
            return Hypergraph.from_incidence(vertex_ids, hyperedge_ids, *given)
        roles = np.array(table[role].to_pylist(), dtype=object)
        return DirectedHypergraph.from_incidence(vertex_ids, hyperedge_ids, roles, *given)
    except (ValueError, TypeError) as error:  # pyarrow's errors are subclasses of these
        raise ValueError(f"cannot read {shown(path)} as a table of incidences: {error}") from error


def _column(names: list[Any]) -> pyarrow.Array:
    pyarrow = import_extra("pyarrow", "tables")
    return pyarrow.array(names, pyarrow.int64() if are_integers(names) else pyarrow.large_string())


def _encode(column: pyarrow.ChunkedArray, name: str, is_text: bool) -> tuple[Ids, Names | None, int]:
    """Number the values of a column.

    Returns:
        The number of each row's value; the distinct values in the order of their numbers, or ``None`` if they are the
        numbers themselves; and the number of distinct values.
    """
    pyarrow = import_extra("pyarrow", "tables")
    types, kind = pyarrow.types, column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if not any(of(kind) for of in (types.is_integer, types.is_string, types.is_large_string, types.is_string_view)):
        raise ValueError(f"column {name!r} must hold text or integers; got {kind}. Convert it.")
    plain = column.cast(kind if types.is_integer(kind) else pyarrow.large_string())
    encoded = plain.combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_pylist()
    if is_text and all(map(_looks_like_integer, values)):
        values = [int(value) for value in values]
    names, ids = number(values)
    own = np.fromiter((ids[value] for value in values), dtype=np.int64, count=len(values))
    return own[encoded.indices.to_numpy(zero_copy_only=False)], names, len(values)


def _one_each(what: str, rows: npt.NDArray[Any], hyperedge: Ids, n_hyperedges: int) -> npt.NDArray[Any]:
    """The weight or the time of each hyperedge, from those of the rows."""
    found = np.empty(n_hyperedges, dtype=rows.dtype)
    found[hyperedge] = rows
    differing = np.flatnonzero(found[hyperedge] != rows)
    if differing.size:
        row = int(differing[0])
        raise ValueError(
            f"all rows of a hyperedge must have the same {what}; "
            f"row {row} has {rows[row]}, another row of its hyperedge has {found[hyperedge[row]]}."
        )
    return found


def _time_column(times: Names) -> pyarrow.Array:
    """The time of each hyperedge as a column; dates are timestamps without a time zone."""
    pyarrow = import_extra("pyarrow", "tables")
    if times.dtype.kind != "M":
        return pyarrow.array(times)
    unit, _ = np.datetime_data(times.dtype)
    if unit in ("Y", "M", "W", "D"):
        return pyarrow.array(times.astype("datetime64[D]"))
    return pyarrow.array(times if unit in ("s", "ms", "us", "ns") else times.astype("datetime64[us]"))


def _read_times(column: pyarrow.ChunkedArray, name: str) -> npt.NDArray[Any]:
    """The time of each row."""
    values: npt.NDArray[Any] = column.to_numpy()
    if values.dtype.kind == "O":
        found = read_times(values.tolist())
        if found is None and len(values):
            raise ValueError(f"column {name!r} must hold numbers or dates, such as 2024-05-17; got {values[0]!r}.")
        return values if found is None else found
    return values


def _unwritable(names: list[Any], suffix: str) -> str:
    """Describe the names that a table cannot hold; empty if it can hold all."""
    if are_integers(names):
        odd = next((name for name in names if not -(2**63) <= name < 2**63), None)
    else:
        odd = next((name for name in names if not isinstance(name, str)), None)
        if odd is None and suffix == ".csv" and all(map(_looks_like_integer, names)):
            return f"names such as {names[0]!r} that are text but would be read as integers"
    return "" if odd is None else f"names such as {odd!r} in a column, only all text or all 64-bit integers"


def _looks_like_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text == str(int(text))
