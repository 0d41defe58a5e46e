"""Tables of properties and documents: hyperedges of equal values and of equal words, which new rows join by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

from hypergnn._utils.tables import as_column, as_numbers, encode, read_table
from hypergnn.construct import from_attributes, from_text, union
from hypergnn.structures.hypergraph import Hypergraph

BINS = 5


class Attributes:
    """Each value of a column, or bin of a numeric one, with the rows that have it; new rows join by their values."""

    def __init__(self, X: Any, *, options: Mapping[str, Any]) -> None:
        """Make the hypergraph; the features of a row are its memberships."""
        options = {"bins": BINS, **options}
        wanted = options.pop("columns", None)
        self._keep_missing = options.get("missing", "ignore") == "value"
        bins = options.pop("bins")
        if isinstance(wanted, str):
            raise TypeError(f"columns must be a list of names; got {wanted!r}. For one column: [{wanted!r}].")
        self._columns: dict[Any, dict[Any, int] | tuple[npt.NDArray[Any], int]] = {}
        self._missing: dict[Any, int] = {}
        table, parts, start = _table(X), [], 0
        columns = list(table if wanted is None else wanted)
        for name in bins if isinstance(bins, Mapping) else ():
            if name not in columns:
                raise ValueError(f"bins must name columns that are used; got {name!r}. There are: {columns}.")
        for name in columns:
            own_bins = bins.get(name) if isinstance(bins, Mapping) else bins
            part = _column_hypergraph(table, name, {"bins": own_bins, **options})
            if part is not None:
                self._remember(name, table[name], part, start, asked=isinstance(bins, Mapping) and name in bins)
                parts.append(part)
                start += part.n_hyperedges
        if not parts:
            raise ValueError(f"X must have a column that tells rows apart; got none with n_samples={_n_rows(table)}.")
        self.hypergraph = union(*parts)

    def features(self, X: Any) -> sparse.csr_array:
        """A 1 for each hyperedge that a row joins, float32."""
        return sparse.csr_array(self.join(X), dtype=np.float32)

    def join(self, X: Any) -> sparse.csr_array:
        """Memberships of rows, ``(rows, M)``; a value that no row had in training joins nothing."""
        table = _table(X)
        rows, hyperedges = [], []
        for name, known in self._columns.items():
            if name not in table:
                raise ValueError(f"X must have the columns of the training; {name!r} is missing.")
            joined = _joined(name, table[name], known, self._missing.get(name, -1))
            rows.append(np.flatnonzero(joined >= 0))
            hyperedges.append(joined[joined >= 0])
        pairs = (np.concatenate(rows), np.concatenate(hyperedges))
        shape = (_n_rows(table), self.hypergraph.n_hyperedges)
        return sparse.coo_array((np.ones(pairs[0].size), pairs), shape=shape).tocsr()

    def _remember(self, name: Any, column: Any, part: Hypergraph, start: int, *, asked: bool) -> None:
        """How values of a column lead to hyperedges: each value by itself, or the upper end of each bin.

        As in :func:`from_attributes`, numbers are in bins if there are more than two, or if ``asked`` was asked for.
        """
        members = part.to_hyperedges()
        codes, values, is_numeric = encode(column)
        labels = np.asarray(part.hyperedge_names).tolist()
        if self._keep_missing and labels[-1] == f"{name} missing":
            self._missing[name] = start + len(labels) - 1
            members = members[:-1]
        if is_numeric and (asked or values.size > 2):
            self._columns[name] = (np.array([values[codes[rows]].max() for rows in members], dtype=float), start)
        else:
            self._columns[name] = {values[codes[rows[0]]]: start + place for place, rows in enumerate(members)}


class Words:
    """Each word with the documents that use it; a new document joins the words of the training that it uses."""

    def __init__(self, X: Any, *, options: Mapping[str, Any]) -> None:
        """Make the hypergraph; the features of a document are its words' tf-idf."""
        given = {"min_df": 2, "max_df": 0.5, "stop_words": "english", **options}
        given["max_features"] = given.pop("max_words", None)
        own = given.pop("vectorizer", None)
        if own is None:
            own = TfidfVectorizer(**given)
        elif len(options) > 1:
            raise ValueError(
                "vectorizer must be the only one of construct_options: it brings its own min_df, max_df, max_words "
                "(max_features) and stop_words, set them there."
            )
        elif not hasattr(own, "vocabulary_"):  # a setting is never fitted itself
            own = clone(own)
        self._vectorizer = own
        self.hypergraph = from_text(X, vectorizer=self._vectorizer)

    def features(self, X: Any) -> sparse.csr_array:
        """The weights of the words, float32."""
        return sparse.csr_array(self._vectorizer.transform(list(X)), dtype=np.float32)

    def join(self, X: Any) -> sparse.csr_array:
        """Memberships of new documents, ``(rows, M)``."""
        return sparse.csr_array(self._vectorizer.transform(list(X)) != 0, dtype=np.float64)


def check_texts(X: Any) -> Any:
    """Return texts as one column, or raise if ``X`` is one text or several columns."""
    if isinstance(X, (str, bytes)):
        raise ValueError(f"X must be several texts, one per row; got one. Give a list of texts: [{X[:20]!r}, …].")
    if np.ndim(X) < 2:
        return X
    columns = np.asarray(X)
    if columns.ndim > 2 or columns.shape[1] != 1:
        raise ValueError(
            f"X must be one column of texts; got shape {columns.shape}. Join columns to one, e.g. "
            "table['title'] + ' ' + table['text']."
        )
    return columns.ravel()


def _table(X: Any) -> dict[Any, Any]:
    """The columns of a table, or of an array by their numbers."""
    if isinstance(X, np.ndarray):
        return {f"x{place}": as_column(X[:, place], name=f"column {place}") for place in range(X.shape[1])}
    return dict(read_table(X).columns)


def _n_rows(table: Mapping[Any, Any]) -> int:
    return len(next(iter(table.values())))


def _column_hypergraph(table: Mapping[Any, Any], name: Any, options: Mapping[str, Any]) -> Hypergraph | None:
    """The hyperedges of one column; ``None`` if all rows have the same value."""
    if name not in table:
        raise ValueError(f"columns must name columns of X; got {name!r}. There are: {', '.join(map(repr, table))}.")
    codes, _, _ = encode(table[name])
    if np.unique(codes).size < 2:
        return None
    try:
        return from_attributes({name: table[name]}, **options)
    except ValueError as error:
        if "tell the rows apart" in str(error):  # all its numbers fell into one bin
            return None
        raise


def _joined(
    name: Any, column: Any, known: dict[Any, int] | tuple[npt.NDArray[Any], int], missing: int
) -> npt.NDArray[np.int64]:
    """The hyperedge of each row, -1 for none."""
    if isinstance(known, dict):
        codes, values, _ = encode(column)
        return np.array([*(known.get(value, -1) for value in values.tolist()), missing])[codes]
    upper, start = known
    numbers = as_numbers(column)
    if numbers is None:
        raise ValueError(f"column {name!r} held numbers in training and must hold numbers; it holds other things.")
    place = np.minimum(np.searchsorted(upper, numbers), upper.size - 1) + start
    return np.where(np.isnan(numbers), missing, place)
