"""Tables of properties: one hyperedge per value of each column (Zhou, Huang and Schölkopf, 2006)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hypergnn._utils.checks import check_choice, check_size
from hypergnn._utils.tables import Encoded, Table, encode, read_table
from hypergnn.structures.hypergraph import Hypergraph

Hyperedge = tuple[str, npt.NDArray[np.int64]]
"""A name and the rows that it stands for."""


def from_attributes(
    table: Any,
    columns: Sequence[Any] | None = None,
    *,
    bins: int | Mapping[Any, int] | None = None,
    missing: Literal["ignore", "value"] = "ignore",
) -> Hypergraph:
    """Make one hyperedge per value of each column: all rows that have it, called ``column=value``.

    A value that every row has tells no row from another and gives no hyperedge; a constant column thus gives none.
    A numeric column with more than two values is refused unless ``bins`` says how to divide it, because few rows share
    a measured value exactly; numbers that stand for categories are given as strings or as a categorical column.

    Args:
        table: A pandas, polars or pyarrow table or a dictionary of columns, one row per vertex. The index of a
            pandas table becomes the names of the vertices unless it only counts.
        columns: Which columns to use; all if omitted.
        bins: Number of quantile bins, each with about as many rows as the others, for every numeric column with more
            values than two, or a number per column (any numeric column). Equal values are never separated, so that
            fewer bins may come out.
        missing: What a missing value does: ``"ignore"`` puts the row in no hyperedge of that column, ``"value"`` puts
            all rows without a value in one hyperedge, called ``column missing``.

    Raises:
        TypeError: If ``table`` is no table.
        ValueError: If a column is not there, numeric but not binned, or binned but not numeric; if the table has no
            row, or no column tells its rows apart.

    Example:
        >>> import hypergnn as hg
        >>> fruit = {"colour": ["red", "green", "red", None], "weight": [150.0, 160.0, 8.0, 120.0]}
        >>> H = hg.construct.from_attributes(fruit, bins=2)
        >>> H.hyperedge_names.tolist()
        ['colour=red', 'colour=green', 'weight=[8.0, 120.0]', 'weight=(120.0, 160.0]']
        >>> H.to_hyperedges()
        [[0, 2], [1], [2, 3], [0, 1]]
    """
    check_choice("missing", missing, ("ignore", "value"))
    data = read_table(table)
    if data.n_rows == 0:
        raise ValueError("table must have at least one row, one per vertex; got none.")
    if isinstance(columns, str):
        raise TypeError(f"columns must be a sequence of names; got {columns!r}. For one column: columns=[{columns!r}].")
    chosen = list(data.columns if columns is None else columns)
    hyperedges = list(_hyperedges(data, chosen, bins, keep_missing=missing == "value"))
    if not hyperedges:
        raise ValueError(f"columns must tell the rows apart; none of {chosen} has a value that only some rows have.")
    names, members = zip(*hyperedges, strict=True)
    name, occurrences = Counter(names).most_common(1)[0]
    if occurrences > 1:
        raise ValueError(
            f"values must have different names; {name!r} would be the name of {occurrences} hyperedges. "
            "Make the values of each column of one type, or rename a column."
        )
    return Hypergraph.from_incidence(
        np.concatenate(members),
        np.repeat(np.arange(len(members)), list(map(len, members))),
        data.n_rows,
        len(members),
        vertex_names=data.row_names,
        hyperedge_names=names,
    )


def _hyperedges(
    data: Table, columns: Sequence[Any], bins: int | Mapping[Any, int] | None, *, keep_missing: bool
) -> Iterator[Hyperedge]:
    for name in bins if isinstance(bins, Mapping) else ():
        if name not in columns:
            raise ValueError(f"bins must name columns that are used; got {name!r}. There are: {columns}.")
    for name in columns:
        column = encode(data.column(name, argument="columns"))
        n_bins = bins.get(name) if isinstance(bins, Mapping) else bins if _needs_bins(column) else None
        if n_bins is not None:
            codes, labels = _quantile_bins(name, column, check_size("bins", n_bins, minimum=2))
        elif _needs_bins(column):
            raise ValueError(
                f"column {name!r} is numeric with {column.values.size} values: give bins={{{name!r}: 5}} to divide it "
                "into quantiles, or convert it to strings if its numbers stand for categories."
            )
        else:
            codes, labels = column.codes, [f"{name}={value}" for value in column.values]
        if keep_missing:
            codes, labels = np.where(codes < 0, len(labels), codes), [*labels, f"{name} missing"]
        yield from _rows_by_code(codes, labels)


def _needs_bins(column: Encoded) -> bool:
    return column.is_numeric and column.values.size > 2


def _quantile_bins(name: Any, column: Encoded, n_bins: int) -> tuple[npt.NDArray[np.int64], list[str]]:
    if not column.is_numeric:
        raise ValueError(f"bins must be given for numeric columns only; column {name!r} is not numeric.")
    values = column.values if column.values.dtype.kind in "iuf" else column.values.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"column {name!r} must hold finite numbers to be binned; it holds an infinite one.")
    present = np.sort(values[column.codes[column.codes >= 0]])
    if present.size == 0:
        return column.codes, []
    # Each bin ends at a value of the column, so equal values stay together and no bin is empty.
    quantile = np.arange(1, n_bins + 1) / n_bins
    upper = np.unique(present[np.ceil(quantile * present.size).astype(np.int64) - 1])
    labels = [f"{name}=[{present[0]!s}, {upper[0]!s}]"]
    labels += [f"{name}=({low!s}, {high!s}]" for low, high in pairwise(upper)]
    bin_of_value = np.searchsorted(upper, values)
    return np.where(column.codes < 0, -1, bin_of_value[column.codes]), labels


def _rows_by_code(codes: npt.NDArray[np.int64], labels: Sequence[str]) -> Iterator[Hyperedge]:
    by_code = np.argsort(codes, kind="stable")
    start = np.searchsorted(codes, np.arange(len(labels) + 1), sorter=by_code)
    for code, label in enumerate(labels):
        rows = by_code[start[code] : start[code + 1]]
        if 0 < rows.size < codes.size:
            yield label, rows
