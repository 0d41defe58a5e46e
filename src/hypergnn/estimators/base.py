"""What the estimators share: they read ``X``, make the hypergraph, train on it and let new rows join it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from hypergnn._utils.checks import Names, check_choice, check_sparse
from hypergnn._utils.extras import library_of
from hypergnn._utils.table_sources import is_read_here
from hypergnn._utils.tables import Table, read_table, row_names
from hypergnn.construct import NearestVertex, Relation, TableEncoder
from hypergnn.estimators.compute import n_rows_of
from hypergnn.estimators.known_rows import KnownRows
from hypergnn.estimators.later import as_hypergraph
from hypergnn.estimators.learning import LearnsFromLabels
from hypergnn.estimators.placing import PlacesRows
from hypergnn.estimators.row_names import names_of_rows
from hypergnn.estimators.rows import (
    CONSTRUCTORS,
    AttributeRows,
    MembershipRows,
    NumericRows,
    Rows,
    Scales,
    TextRows,
    check_no_texts,
    check_texts,
    clusters,
    columns_of,
    nearest_neighbours,
    needs_encoding,
    options_of,
    with_names,
)
from hypergnn.structures.hypergraph import Hypergraph


class HypergraphEstimator(LearnsFromLabels, PlacesRows, BaseEstimator):  # type: ignore[misc]
    """An estimator whose rows are the vertices of a hypergraph."""

    construct: Any
    construct_options: Mapping[str, Any] | None
    n_neighbors: int
    scale: bool

    def __sklearn_tags__(self) -> Any:
        """Which inputs are accepted; that depends on ``construct``."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.construct not in ("attributes", "text")
        tags.input_tags.allow_nan = self.construct != "text"
        tags.input_tags.categorical = self.construct == "attributes"
        tags.input_tags.string = self.construct == "text"
        tags.input_tags.two_d_array = self.construct != "text"
        return tags

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Check ``X``, and store the names of its columns (``reset``) or compare them with the stored ones."""
        if self.construct == "text":
            return check_texts(X)
        check_no_texts(X)
        if sparse.issparse(X):
            check_sparse("X", X)
        if is_read_here(X):
            X = read_table(X)
        if self.construct != "attributes":
            return self._read_numbers(X, reset=reset)
        if hasattr(X, "columns"):
            return self._read_columns(X, reset=reset)
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        if array.dtype.kind == "O" and not _strings(array):  # must be numbers
            array = check_array(array, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
        return array

    def _read_columns(self, X: Any, *, reset: bool) -> Any:
        """Check the names of columns, or store them (``reset``)."""
        if not isinstance(X, Table):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        names = np.array(list(X.columns), dtype=object)
        if reset:
            self.n_features_in_ = names.size
            if all(isinstance(name, str) for name in names):
                self.feature_names_in_ = names
        elif names.size != self.n_features_in_:
            raise ValueError(
                f"X has {names.size} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input."
            )
        return X

    def _read_numbers(self, X: Any, *, reset: bool) -> Any:
        """Check ``X`` as :meth:`_read` does; words, dates and gaps become numbers by what ``reset`` has learned."""
        if reset:
            self._encoder = TableEncoder().fit(columns_of(X)) if needs_encoding(X) else None
        if self._encoder is not None:
            return self._encoder.transform(columns_of(self._read_columns(X, reset=reset)))
        if isinstance(X, Table):
            columns = self._read_columns(X, reset=reset).columns.values()
            stacked = np.column_stack([np.asarray(column) for column in columns])
            matrix = check_array(stacked, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
        else:
            matrix = validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan"
            )
        if sparse.issparse(matrix):
            if np.isnan(matrix.data).any():
                raise ValueError(
                    "Input X contains NaN. Fill in missing values: those of a sparse matrix have no median."
                )
            return matrix
        if reset:
            self._medians = np.median(matrix, axis=0)
        gaps = np.isnan(matrix)
        return np.where(gaps, self._medians, matrix) if gaps.any() else matrix

    def _build(self, X: Any, hypergraph: Hypergraph | None, memberships: Any = None) -> None:
        """Read ``X``, make the hypergraph and the features of its vertices."""
        if not isinstance(self.scale, (bool, np.bool_)):
            raise TypeError(f"scale must be True or False; got {self.scale!r} of type {type(self.scale).__name__}.")
        is_alone = X is None and (hypergraph is not None or memberships is not None)
        rows = None if is_alone else self._read(X, reset=True)
        n_rows = None if rows is None else n_rows_of(rows)
        hypergraph = as_hypergraph(hypergraph, memberships, n_rows, row_names(X))
        self._row_names = names_of_rows(X, hypergraph, memberships)
        self._has_given_names = hypergraph is not None and hypergraph.vertex_names is not None
        self._relation = with_names(self._relate(rows, hypergraph), self._row_names)
        self.hypergraph_ = self._relation.hypergraph
        self._is_given = hypergraph is not None or callable(self.construct)
        if self._is_given:
            check_order(
                row_names(X),
                self.hypergraph_.vertex_names,
                "hypergraph must have its vertices",
                "vertex",
                "Make it with vertices=X.index, or sort X and y like it: X.loc[hypergraph.vertex_names].",
            )
        self._features = self._features_of(rows)
        self._known = KnownRows(self._features)

    def _relate(self, X: Any, hypergraph: Hypergraph | None) -> Rows:
        options = dict(self.construct_options or {})
        if not callable(self.construct):
            check_choice("construct", self.construct, tuple(CONSTRUCTORS))
            _check_options(options, self.construct)
        if hypergraph is not None:
            self._check_nothing_to_construct(options)
            if X is None:
                return MembershipRows(hypergraph)
        elif callable(self.construct):
            hypergraph = self.construct(X, **options)
            if not isinstance(hypergraph, Hypergraph):
                raise TypeError(f"construct must return a Hypergraph; it returned a {type(hypergraph).__name__}.")
        elif self.construct == "attributes":
            return AttributeRows(X, options)
        elif self.construct == "text":
            return TextRows(X, options)
        scales = Scales(X, scale=self.scale, is_encoded=self._encoder is not None)
        positions = scales.positions(X)
        relation: Relation
        if hypergraph is not None:
            relation = NearestVertex(hypergraph, positions)
        elif self.construct == "knn":
            relation = nearest_neighbours(positions, self.n_neighbors, options)
        elif self.construct == "clusters":
            relation = clusters(positions, options)
        else:
            make: Callable[..., Relation] = CONSTRUCTORS[self.construct]
            relation = make(positions, **options)
        return NumericRows(scales, relation)

    def _check_nothing_to_construct(self, options: Mapping[str, Any]) -> None:
        """Raise if settings of the estimator ask for hyperedges although a hypergraph is given."""
        if self.construct in ("attributes", "text"):
            raise ValueError(
                f"hypergraph must not be given with construct={self.construct!r}, which makes its own: "
                "encode X as numbers and leave construct out."
            )
        if options:
            raise ValueError("construct_options must be left out if a hypergraph is given: nothing is constructed.")


def _check_options(options: Mapping[str, Any], construct: str) -> None:
    """Raise unless the constructor has these options."""
    known = options_of(construct)
    unknown = [name for name in options if name not in known]
    if unknown:
        hint = {"knn": " For the number of neighbours, set n_neighbors.", "text": " For others, pass a vectorizer."}
        raise ValueError(
            f"construct_options must be among those of construct={construct!r}, {', '.join(map(repr, known))}; "
            f"got {unknown[0]!r}.{hint.get(construct, '')}"
        )


def check_order(rows: Names | None, others: Names | None, must: str, entry: str, remedy: str) -> None:
    """Raise if the entries of something have the names of the rows of X, but in another order."""
    if rows is None or others is None:
        return
    ours, theirs = rows.tolist(), others.tolist()
    if ours != theirs and set(ours) == set(theirs) and len(ours) == len(theirs):
        place = next(place for place, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other)
        raise ValueError(
            f"{must} in the order of the rows of X; {entry} {place} is {theirs[place]!r}, row {place} is "
            f"{ours[place]!r}. {remedy}"
        )


def check_labels_order(X: Any, y: Any, entry: str) -> None:
    """Raise if y has the names of the rows of X, but in another order; ``entry`` is what y has for each row.

    If only one of them has names and the other is numbered, so that each may have been sorted alone, warn: labels
    belong to rows by their place.

    Example:
        >>> import pandas as pd
        >>> check_labels_order(pd.DataFrame({"age": [31, 52]}), pd.Series(["a", "b"], index=[0, 1]), "label")
    """
    rows, others = row_names(X), row_names(y)
    check_order(rows, others, f"y must have its {entry}s", entry, "Sort y: y.loc[X.index].")
    if (rows is None) == (others is None) or {library_of(X), library_of(y)} != {"pandas"}:
        return
    first, second = np.asarray(X.index), np.asarray(y.index)
    if not np.array_equal(first, second) and set(first.tolist()) == set(second.tolist()):
        warnings.warn(
            f"y has the index of X in another order; the {entry}s are taken by their place. Pass y.to_numpy() if that "
            "is right, else y.loc[X.index].",
            UserWarning,
            stacklevel=3,
        )


def _strings(X: Any) -> list[str]:
    """The strings in an array or a table."""
    return [] if sparse.issparse(X) else [one for one in np.asarray(X, dtype=object).flat if isinstance(one, str)]
