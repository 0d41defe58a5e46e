"""Tables of attributes: one hyperedge per value of each column (Zhou, Huang and Schölkopf, 2006)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.checks import check_choice, check_size
from hypergnn._utils.display import listed
from hypergnn._utils.tables import Encoded, Table, as_numbers, encode, read_table
from hypergnn.construct.table import comparable
from hypergnn.structures.hypergraph import Hypergraph

Codes = npt.NDArray[np.int64]
"""One code per row, -1 for none."""


def from_attributes(
    table: Any,
    columns: Sequence[Any] | None = None,
    *,
    bins: int | Mapping[Any, int] | None = None,
    missing: Literal["ignore", "value"] = "ignore",
) -> Hypergraph:
    """Make one hyperedge per value of each column: all rows with that value, named ``column=value``.

    A value that all rows share distinguishes none of them and gives no hyperedge, so a constant column gives none. A
    numeric column with more than two values needs ``bins``, because few rows share a measured value exactly. Pass
    numbers that stand for categories as strings or as a categorical column.

    Args:
        table: A table in memory, files or a lazy frame, as for :func:`from_table`, one row per vertex. The index of a
            pandas table gives the vertices their names, unless it only counts the rows.
        columns: The columns to use; all by default.
        bins: Number of quantile bins, which hold about equally many rows: one number for all numeric columns with more
            than two values, or a number for each column (any numeric one). Equal values share a bin, so there may be
            fewer bins than requested.
        missing: What to do with a missing value: ``"ignore"`` puts the row in no hyperedge of that column, ``"value"``
            puts all rows without a value in one hyperedge, named ``column missing``.

    Raises:
        TypeError: If ``table`` is not a table.
        ValueError: If a column does not exist, is numeric but not binned, or binned but not numeric; if the table has
            no rows, or no column distinguishes its rows.

    Example:
        >>> import hypergnn as hg
        >>> fruit = {"colour": ["red", "green", "red", None], "weight": [150.0, 160.0, 8.0, 120.0]}
        >>> H = hg.construct.from_attributes(fruit, bins=2)
        >>> H.hyperedge_names.tolist()
        ['colour=red', 'colour=green', 'weight=[8.0, 120.0]', 'weight=(120.0, 160.0]']
        >>> H.to_hyperedges()
        [[0, 2], [1], [2, 3], [0, 1]]
    """
    return Attributes(table, columns, bins=bins, missing=missing).hypergraph


class Attributes:
    """Values of columns as hyperedges; a new row joins the hyperedges of its values and bins.

    A value that the table did not hold joins nothing. A number below the first bin joins the first, and one above the
    last joins the last.

    Args:
        table: A table, one row per vertex. All arguments are those of :func:`from_attributes`.
        columns: The columns to use; all by default.
        bins: Number of quantile bins of numeric columns.
        missing: What to do with a missing value, here and in new rows.

    Attributes:
        hypergraph: The hypergraph, as :func:`from_attributes` returns it.

    Example:
        >>> import hypergnn as hg
        >>> fruit = {"colour": ["red", "green", "red", None], "weight": [150.0, 160.0, 8.0, 120.0]}
        >>> relation = hg.construct.Attributes(fruit, bins=2)
        >>> relation.join({"colour": ["red", "blue"], "weight": [9.0, 170.0]}).toarray().tolist()
        [[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    """

    def __init__(
        self,
        table: Any,
        columns: Sequence[Any] | None = None,
        *,
        bins: int | Mapping[Any, int] | None = None,
        missing: Literal["ignore", "value"] = "ignore",
    ) -> None:
        """Find the values and bins of each column."""
        check_choice("missing", missing, ("ignore", "value"))
        if isinstance(columns, str):
            raise TypeError(
                f"columns must be a sequence of names; got {columns!r}. For one column: columns=[{columns!r}]."
            )
        data = read_table(table, None if columns is None else [("columns", name) for name in columns])
        if data.n_rows == 0:
            raise ValueError("table must have at least one row, one per vertex; got none.")
        chosen = list(data.columns if columns is None else columns)
        rules = list(_rules(data, chosen, bins, has_missing=missing == "value"))
        names, members, self._columns = _hyperedges(rules, data.n_rows)
        if not names:
            raise ValueError(
                f"columns must distinguish the rows; none has a value that only some rows share: {listed(chosen)}."
            )
        _check_different(names)
        self.hypergraph = Hypergraph.from_incidence(
            np.concatenate(members),
            np.repeat(np.arange(len(members)), list(map(len, members))),
            data.n_rows,
            len(members),
            vertex_names=data.row_names,
            hyperedge_names=names,
        )

    def join(self, table: Any) -> sparse.csr_array:
        """Return the memberships of new rows, ``(rows, M)``: the hyperedges of their values.

        Raises:
            ValueError: If a column is missing or holds other things than numbers where it held numbers.
        """
        data = read_table(table)
        rows, hyperedges = [], []
        for name, (rule, hyperedge_of) in self._columns.items():
            if name not in data.columns:
                raise ValueError(f"table must have all columns that hyperedges were made from; {name!r} is missing.")
            joined = np.append(hyperedge_of, -1)[rule.encode(data.columns[name])]
            rows.append(np.flatnonzero(joined >= 0))
            hyperedges.append(joined[joined >= 0])
        pairs = (np.concatenate(rows), np.concatenate(hyperedges))
        shape = (data.n_rows, self.hypergraph.n_hyperedges)
        return sparse.coo_array((np.ones(pairs[0].size), pairs), shape=shape).tocsr()


@dataclass(frozen=True)
class _Categories:
    """A column whose values have a code each."""

    name: Any
    labels: list[str]
    code_of: dict[Any, int]
    missing: int
    """Code of a missing value, -1 for none."""

    def encode(self, column: Any) -> Codes:
        """The code of each row's value."""
        codes, values, _ = encode(column)
        return np.array([*(self.code_of.get(value, -1) for value in comparable(values)), self.missing])[codes]


@dataclass(frozen=True)
class _Bins:
    """A numeric column whose bins have a code each."""

    name: Any
    labels: list[str]
    upper: npt.NDArray[np.float64]
    """The largest number of each bin."""
    missing: int
    """Code of a missing value, -1 for none."""

    def encode(self, column: Any) -> Codes:
        """The code of the bin of each row's number."""
        numbers = as_numbers(column, self.name)
        if numbers is None:
            raise ValueError(f"column {self.name!r} must hold numbers, as it did when the hypergraph was made.")
        place = np.minimum(np.searchsorted(self.upper, numbers), self.upper.size - 1)
        return np.where(np.isnan(numbers), self.missing, place)


_Rule = _Categories | _Bins


def _rules(
    data: Table, columns: Sequence[Any], bins: int | Mapping[Any, int] | None, *, has_missing: bool
) -> Iterator[tuple[_Rule, Codes]]:
    """How each column is encoded, and the code of each row of the table."""
    for name in bins if isinstance(bins, Mapping) else ():
        if name not in columns:
            raise ValueError(f"bins must name columns that are used; got {name!r}. Used: {listed(columns)}.")
    for name in columns:
        column = encode(data.columns[name])
        n_bins = bins.get(name) if isinstance(bins, Mapping) else bins if _needs_bins(column) else None
        if n_bins is not None:
            upper, labels, codes = _quantile_bins(name, column, check_size("bins", n_bins, minimum=2))
        elif _needs_bins(column):
            raise ValueError(
                f"column {name!r} is numeric with {column.values.size} values: pass bins={{{name!r}: 5}} to divide it "
                "into quantiles, or convert it to strings if its numbers stand for categories."
            )
        else:
            upper, labels, codes = None, [f"{name}={value}" for value in column.values], column.codes
        missing = -1
        if has_missing:
            missing, labels = len(labels), [*labels, f"{name} missing"]
            codes = np.where(codes < 0, missing, codes)
        if upper is None:
            place = {value: code for code, value in enumerate(comparable(column.values))}
            yield _Categories(name, labels, place, missing), codes
        else:
            yield _Bins(name, labels, upper, missing), codes


def _needs_bins(column: Encoded) -> bool:
    return column.is_numeric and column.values.size > 2


def _quantile_bins(name: Any, column: Encoded, n_bins: int) -> tuple[npt.NDArray[np.float64], list[str], Codes]:
    """The largest number of each bin, its label, and the bin of each row."""
    if not column.is_numeric:
        raise ValueError(f"bins must be given for numeric columns only; column {name!r} is not numeric.")
    values = column.values if column.values.dtype.kind in "iuf" else column.values.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"column {name!r} must hold finite numbers to be binned; it holds an infinite one.")
    present = np.sort(values[column.codes[column.codes >= 0]])
    if present.size == 0:
        return np.empty(0), [], column.codes
    # Each bin ends at a value of the column, so equal values share a bin and no bin is empty.
    quantile = np.arange(1, n_bins + 1) / n_bins
    upper = np.unique(present[np.ceil(quantile * present.size).astype(np.int64) - 1])
    labels = [f"{name}=[{present[0]!s}, {upper[0]!s}]"]
    labels += [f"{name}=({low!s}, {high!s}]" for low, high in pairwise(upper)]
    bin_of_value = np.searchsorted(upper, values)
    return upper.astype(np.float64), labels, np.where(column.codes < 0, -1, bin_of_value[column.codes])


def _hyperedges(
    rules: Sequence[tuple[_Rule, Codes]], n_rows: int
) -> tuple[list[str], list[Codes], dict[Any, tuple[_Rule, Codes]]]:
    """Names and members of the hyperedges, and by column its rule and the hyperedge of each of its codes."""
    names: list[str] = []
    members: list[Codes] = []
    columns: dict[Any, tuple[_Rule, Codes]] = {}
    for rule, codes in rules:
        hyperedge_of = np.full(len(rule.labels), -1)
        by_code = np.argsort(codes, kind="stable")
        start = np.searchsorted(codes, np.arange(len(rule.labels) + 1), sorter=by_code)
        for code, label in enumerate(rule.labels):
            rows = by_code[start[code] : start[code + 1]]
            if 0 < rows.size < n_rows:
                hyperedge_of[code] = len(names)
                names.append(label)
                members.append(rows)
        if (hyperedge_of >= 0).any():
            columns[rule.name] = (rule, hyperedge_of)
    return names, members, columns


def _check_different(names: Sequence[str]) -> None:
    name, occurrences = Counter(names).most_common(1)[0]
    if occurrences > 1:
        raise ValueError(
            f"values must have different names; {name!r} would be the name of {occurrences} hyperedges. "
            "Make all values of a column the same type, or rename a column."
        )
