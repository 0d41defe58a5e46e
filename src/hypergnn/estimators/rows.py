"""Rows as vertices: the relation they are in, their features for the network, and what new rows join.

The relations themselves are those of :mod:`hypergnn.construct`. The estimators add scales and features, and settings
that fit small tables: no more neighbours than there are other rows, no more clusters than there are different rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from datetime import date
from inspect import signature
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize

from hypergnn._utils.checks import Names, as_names, check_size
from hypergnn._utils.table_files import ENDINGS
from hypergnn._utils.tables import as_column, as_numbers, encode, read_table
from hypergnn.construct import Attributes, Clusters, NearestNeighbours, NearestVertex, Relation, TableEncoder, Words
from hypergnn.estimators.known_rows import row_keys
from hypergnn.structures.hypergraph import Hypergraph

CONSTRUCTORS = {"knn": NearestNeighbours, "clusters": Clusters, "attributes": Attributes, "text": Words}
N_BINS = 5
Ids = npt.NDArray[np.int64]


def options_of(construct: str) -> tuple[str, ...]:
    """The construct_options of a constructor: its arguments except the data, and except ``k``, which is n_neighbors.

    Example:
        >>> options_of("clusters")
        ('n_clusters', 'seed')
    """
    _, *names = signature(CONSTRUCTORS[construct]).parameters
    return tuple(name for name in names if name != "k")


class Rows(Protocol):
    """Rows of a table as vertices of a hypergraph."""

    hypergraph: Hypergraph
    has_members: bool
    """Whether memberships say something about a row that its own features do not."""

    def features(self, X: Any) -> Any:
        """What the network sees of each row, float32, ``(rows, F)``."""
        ...

    def own(self, X: Any) -> Any:
        """What is known of each row without the hypergraph, ``(rows, F)``, dense and scaled or CSR."""
        ...

    def join(self, X: Any) -> sparse.csr_array:
        """Memberships of new rows, ``(rows, M)``."""
        ...

    def grown(self, X: Any, order: Ids, hypergraph: Hypergraph, searched: Mapping[str, Any] | None) -> Rows:
        """The rows with further ones, and the hypergraph of all of them; scales and encodings stay.

        Args:
            X: The further rows.
            order: For each of all rows, its place in the known rows followed by the further ones.
            hypergraph: The hypergraph in which the further rows have joined hyperedges.
            searched: How to find neighbours again, if neighbours make the hyperedges.
        """
        ...


class Scales:
    """Numbers scaled for distances (positions) and for the network (features).

    Dense columns are scaled to the range from 0 to 1 for distances, and then to mean 0 and variance 1 for the network.
    Sparse rows are scaled to length 1 and stay sparse.
    """

    def __init__(self, X: Any, *, scale: bool, is_encoded: bool = False) -> None:
        """Learn the scales; rows that are encoded already have positions."""
        self._range = self._standard = None
        self._to_length_1 = scale and sparse.issparse(X)
        if scale and not sparse.issparse(X):
            self._range = None if is_encoded else MinMaxScaler().fit(X)
            self._standard = StandardScaler().fit(self.positions(X))

    def positions(self, X: Any) -> Any:
        """Where each row lies."""
        if self._to_length_1:
            return sparse.csr_array(normalize(X))
        return X if self._range is None else self._range.transform(X)

    def features(self, X: Any) -> Any:
        """What the network sees of each row, float32."""
        positions = self.positions(X)
        scaled = positions if self._standard is None else self._standard.transform(positions)
        return sparse.csr_array(scaled, dtype=np.float32) if sparse.issparse(scaled) else np.float32(scaled)


class NumericRows:
    """Rows of numbers, related by where they lie."""

    def __init__(self, scales: Scales, relation: Relation) -> None:
        """Combine scales with a relation of the scaled positions."""
        self._scales, self._relation = scales, relation
        self.has_members = not isinstance(relation, NearestNeighbours)
        self.hypergraph = relation.hypergraph

    def features(self, X: Any) -> Any:
        """The scaled numbers, float32."""
        return self._scales.features(X)

    def own(self, X: Any) -> Any:
        """The scaled numbers."""
        return self._scales.features(X)

    def join(self, X: Any) -> sparse.csr_array:
        """Memberships of new rows, ``(rows, M)``."""
        return self._relation.join(self._scales.positions(X))

    def grown(self, X: Any, order: Ids, hypergraph: Hypergraph, searched: Mapping[str, Any] | None) -> NumericRows:
        """The rows with further ones: neighbours are found again among all, other hyperedges get further members."""
        relation: Relation
        if isinstance(self._relation, (NearestNeighbours, NearestVertex)):
            points, positions = self._relation._points, self._scales.positions(X)
            is_sparse = sparse.issparse(points)
            both = sparse.csr_array(sparse.vstack([points, positions])) if is_sparse else np.vstack([points, positions])
            if isinstance(self._relation, NearestNeighbours) and searched is not None:
                relation = NearestNeighbours(both[order], **searched)
            else:
                relation = NearestVertex(hypergraph, both[order])
        else:
            relation = with_hypergraph(self._relation, hypergraph)
        return NumericRows(self._scales, relation)


class AttributeRows:
    """Rows of any table, related by equal values."""

    has_members = True

    def __init__(self, X: Any, options: Mapping[str, Any]) -> None:
        """Make the hypergraph."""
        columns = columns_of(X)
        n_rows = len(next(iter(columns.values())))
        if n_rows < 2:
            raise ValueError(f"X must have at least two rows for construct='attributes'; got n_samples={n_rows}.")
        self._relation = Attributes(columns, **{"bins": N_BINS, **options})
        self.hypergraph = self._relation.hypergraph
        numbers = {name: column for name, column in columns.items() if _is_measured(column, name)}
        self._numbers = TableEncoder().fit(numbers) if numbers else None
        self._encoder, self._standard = _table_scales(columns)

    def features(self, X: Any) -> sparse.csr_array:
        """The memberships, and the numbers scaled to 0 … 1, float32."""
        memberships = self.join(X)
        if self._numbers is None:
            return sparse.csr_array(memberships, dtype=np.float32)
        return sparse.csr_array(sparse.hstack([memberships, self._numbers.transform(columns_of(X))]), dtype=np.float32)

    def own(self, X: Any) -> Any:
        """Numbers scaled, gaps filled, words one-hot."""
        if self._encoder is None or self._standard is None:
            return self.features(X)
        return self._standard.transform(self._encoder.transform(columns_of(X)))

    def join(self, X: Any) -> sparse.csr_array:
        """Memberships of rows, ``(rows, M)``."""
        return self._relation.join(columns_of(X))

    def grown(self, X: Any, order: Ids, hypergraph: Hypergraph, searched: Mapping[str, Any] | None) -> AttributeRows:  # noqa: ARG002
        """The rows with further ones, which have joined the hyperedges of their values."""
        made = copy(self)
        made.hypergraph, made._relation = hypergraph, with_hypergraph(self._relation, hypergraph)
        return made


class TextRows:
    """Texts, related by the words they use."""

    has_members = False

    def __init__(self, X: Any, options: Mapping[str, Any]) -> None:
        """Make the hypergraph."""
        self._relation = Words(X, vectorizer=_vectorizer(options))
        self.hypergraph = self._relation.hypergraph

    def features(self, X: Any) -> sparse.csr_array:
        """The weights of the words, float32: tf-idf, unless the vectoriser is the caller's."""
        return sparse.csr_array(self._relation.vectorizer.transform(list(X)), dtype=np.float32)

    def own(self, X: Any) -> sparse.csr_array:
        """The weights of the words."""
        return self.features(X)

    def join(self, X: Any) -> sparse.csr_array:
        """Memberships of new texts, ``(rows, M)``."""
        return self._relation.join(X)

    def grown(self, X: Any, order: Ids, hypergraph: Hypergraph, searched: Mapping[str, Any] | None) -> TextRows:  # noqa: ARG002
        """The texts with further ones, which have joined the hyperedges of their words."""
        made = copy(self)
        made.hypergraph, made._relation = hypergraph, with_hypergraph(self._relation, hypergraph)
        return made


class MembershipRows:
    """Rows without features: all that is known of them is their hyperedges.

    The network sees the hyperedges of each row as sparse features: rare ones count more, by the logarithm of their
    inverse size, and each row has length 1.

    Example:
        >>> rows = MembershipRows(Hypergraph.from_hyperedges([[0, 1, 2], [2]], n_vertices=3))
        >>> rows.features().toarray().round(2)[2]
        array([0.51, 0.86], dtype=float32)
    """

    has_members = False

    def __init__(self, hypergraph: Hypergraph) -> None:
        """Learn how rare each hyperedge is."""
        self.hypergraph = hypergraph
        size = hypergraph.hyperedge_degree().cpu().numpy()
        self._rarity = 1 + np.log((1 + hypergraph.n_vertices) / (1 + size))  # (M,)

    def features(self, X: Any = None) -> sparse.csr_array:  # noqa: ARG002
        """The features of the training rows, float32, ``(N, M)``."""
        return self.features_of(self.hypergraph.to_scipy())

    def own(self, X: Any = None) -> sparse.csr_array:
        """The features of the training rows."""
        return self.features(X)

    def features_of(self, memberships: sparse.csr_array) -> sparse.csr_array:
        """The features of rows with these hyperedges, float32, ``(rows, M)``."""
        weighted = sparse.csr_array(memberships @ sparse.diags_array(self._rarity))
        return sparse.csr_array(normalize(weighted), dtype=np.float32)

    def join(self, X: Any) -> sparse.csr_array:  # noqa: ARG002
        """Rows without features cannot join by a rule; their hyperedges must be given."""
        raise ValueError("the hyperedges of later rows must be given: the estimator was fitted without features.")

    def grown(self, X: Any, order: Ids, hypergraph: Hypergraph, searched: Mapping[str, Any] | None) -> MembershipRows:  # noqa: ARG002
        """The rows with further ones; new hyperedges become features, and known ones stay as rare as they were."""
        made, n_known = MembershipRows(hypergraph), self._rarity.size
        made._rarity[:n_known] = self._rarity
        return made


def with_hypergraph(relation: Any, hypergraph: Hypergraph) -> Any:
    """A relation whose rule stays and whose hyperedges have got further members."""
    made = copy(relation)
    made.hypergraph = hypergraph
    return made


def with_names(rows: Any, names: Names | None) -> Any:
    """The same rows, with these names for their vertices unless they already have names."""
    if names is None or rows.hypergraph.vertex_names is not None:
        return rows
    made = copy(rows)
    called = as_names("the index of X", names, rows.hypergraph.n_vertices)
    made.hypergraph = replace(rows.hypergraph, vertex_names=called)
    return made


def nearest_neighbours(positions: Any, n_neighbors: int, options: Mapping[str, Any]) -> Relation:
    """Relate each row to its nearest neighbours, at most all other rows; a single row to itself."""
    n_rows = positions.shape[0]
    k = min(check_size("n_neighbors", n_neighbors, minimum=1), n_rows - 1)
    if n_rows == 1:
        return NearestVertex(Hypergraph.from_hyperedges([[0]], n_vertices=1, centroid=[0]), positions)
    return NearestNeighbours(positions, k, **options)


def clusters(positions: Any, options: Mapping[str, Any]) -> Relation:
    """Relate the rows of each cluster, with at most as many clusters as there are different rows."""
    n_different = len(set(row_keys(positions)))
    asked = options.get("n_clusters", 10)
    scales = list(asked) if isinstance(asked, (list, tuple, np.ndarray)) else [asked]
    possible = sorted({min(check_size("n_clusters", scale, minimum=2), n_different) for scale in scales})
    if n_different == 1:
        n_rows = positions.shape[0]
        return NearestVertex(Hypergraph.from_hyperedges([list(range(n_rows))], n_vertices=n_rows), positions)
    return Clusters(positions, **{**options, "n_clusters": possible})


def check_no_texts(X: Any) -> None:
    """Raise if ``X`` is a list of texts, where a table is wanted.

    Example:
        >>> check_no_texts(["a text"])
        Traceback (most recent call last):
        ValueError: X must be a table, or paths of tables; got a list of texts, such as 'a text'. Set ...
    """
    if not isinstance(X, (list, tuple)) or not X or not all(isinstance(one, str) for one in X):
        return
    if not X[0].lower().endswith(ENDINGS) and not os.path.exists(X[0]):
        raise ValueError(
            f"X must be a table, or paths of tables; got a list of texts, such as {X[0][:20]!r}. Set construct='text', "
            "or turn them into numbers if you give a hypergraph."
        )


def check_texts(X: Any) -> Any:
    """Return texts as one column, or raise if ``X`` is a single text or has several columns."""
    if isinstance(X, (str, bytes)):
        raise ValueError(
            f"X must be several texts, one per row; got a single one. Pass a list: [{X[:20]!r}, …]. Read texts in a "
            "file first, e.g. pandas.read_csv(path)['text']."
        )
    if np.ndim(X) < 2:
        return X
    columns = np.asarray(X)
    if columns.ndim > 2 or columns.shape[1] != 1:
        raise ValueError(
            f"X must be one column of texts; got shape {columns.shape}. Join several columns into one, e.g. "
            "table['title'] + ' ' + table['text']."
        )
    return columns.ravel()


def columns_of(X: Any) -> dict[Any, Any]:
    """The columns of a table by name, or those of an array by number (x0, x1, …)."""
    if hasattr(X, "columns"):
        return dict(read_table(X).columns)
    array = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
    return {f"x{number}": as_column(array[:, number], name=f"column {number}") for number in range(array.shape[1])}


def needs_encoding(X: Any) -> bool:
    """Whether rows hold anything but numbers: words, categories, dates or gaps.

    Example:
        >>> needs_encoding([[1.0, "2.5"]]), needs_encoding([[1.0, "red"]]), needs_encoding(np.array([[1.0, np.nan]]))
        (False, True, True)
    """
    if sparse.issparse(X):
        return False
    if hasattr(X, "columns"):
        columns = columns_of(X)
        return bool(columns) and any(_is_mixed(column, name) for name, column in columns.items())
    array = np.asarray(X) if hasattr(X, "dtype") else np.array(X, dtype=object)
    if array.ndim != 2 or array.dtype.kind not in "fOUS":
        return False
    if array.dtype.kind == "f":
        return bool(np.isnan(array).any())
    return any(map(_is_word_or_gap, array.flat))


def _table_scales(columns: Mapping[Any, Any]) -> tuple[TableEncoder | None, StandardScaler | None]:
    """What encodes a table as numbers of mean 0 and variance 1; nothing if no column distinguishes rows."""
    try:
        encoder = TableEncoder().fit(columns)
    except ValueError:
        return None, None
    return encoder, StandardScaler().fit(encoder.transform(columns))


def _is_measured(column: Any, name: Any) -> bool:
    """Whether a column holds more than two different numbers, so that bins lose information."""
    found = encode(column)
    return found.is_numeric and found.values.size > 2 and as_numbers(column, name) is not None


def _is_mixed(column: Any, name: Any) -> bool:
    numbers = as_numbers(column, name)
    if numbers is not None:
        return bool(np.isnan(numbers).any())
    found = encode(column)
    return bool((found.codes < 0).any()) or any(map(_is_word_or_gap, found.values))


def _is_word_or_gap(value: Any) -> bool:
    """Whether a value is a date, nothing, or a text that is not a number."""
    if isinstance(value, (str, bytes)):
        try:
            float(value)
        except ValueError:
            return True
        return False
    return value is None or isinstance(value, (date, np.datetime64, np.timedelta64)) or value != value


def _vectorizer(options: Mapping[str, Any]) -> Any:
    """The caller's vectoriser, as a copy unless it is fitted, or tf-idf with the options and defaults of Words."""
    if "vectorizer" in options and len(options) > 1:
        raise ValueError(
            "vectorizer must be the only one of construct_options: it brings its own min_df, max_df, max_words "
            "(max_features) and stop_words. Set them there."
        )
    defaults = {name: parameter.default for name, parameter in signature(Words).parameters.items()}
    chosen = {**defaults, **options}
    vectorizer = chosen["vectorizer"]
    if vectorizer is None:
        return TfidfVectorizer(
            min_df=chosen["min_df"],
            max_df=chosen["max_df"],
            max_features=chosen["max_words"],
            stop_words=chosen["stop_words"],
        )
    return vectorizer if hasattr(vectorizer, "vocabulary_") else clone(vectorizer)
