"""How estimators find the values of rows: those of training, or what the hyperedges of later rows give them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils.checks import Names, find_named
from hypergnn._utils.tables import row_names
from hypergnn.estimators.attribution import Attribution, Predict, attribute
from hypergnn.estimators.compute import all_threads, as_features, n_rows_of, threads
from hypergnn.estimators.known_rows import KnownRows
from hypergnn.estimators.later import Later, as_hypergraph, read_later
from hypergnn.estimators.row_names import find_rows, names_of_rows
from hypergnn.estimators.rows import MembershipRows, Rows, TextRows
from hypergnn.explanations import Explanation, explain
from hypergnn.functional.checks import Features
from hypergnn.models import KINDS, Network
from hypergnn.persistence.models import SavedModel
from hypergnn.structures.hypergraph import Hypergraph

Values = npt.NDArray[Any]
_A_GUESS = (
    "the model was fitted with memberships, and new rows are predicted without: each joins the hyperedges of the "
    "nearest training row, which is a guess. Pass memberships= or hypergraph= with the new rows."
)


class PlacesRows:
    """An estimator that knows its training rows and lets others join their hyperedges."""

    construct: Any
    n_jobs: int | None
    hypergraph_: Hypergraph
    network_: Network
    _relation: Rows
    _features: Any
    _known: KnownRows
    _is_given: bool
    _row_names: Names | None

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Check rows."""
        raise NotImplementedError

    def _features_of(self, rows: Any) -> Any:
        """What the estimator sees of each row."""
        return self._relation.features(rows)

    def _of_training(self, values: Values) -> Values:
        """The values of the training rows; equal rows share their mean, unless the caller gave the hypergraph."""
        return values if self._is_given else self._known.mean(values)[self._known.group]

    def _of_rows(
        self,
        X: Any,
        trained: Values,
        read: Callable[[Any, Later], Tensor],
        hypergraph: Hypergraph | None = None,
        memberships: Any = None,
    ) -> Values:
        """The values of each row: those of training if it is a training row, else what its hyperedges give it."""
        if hypergraph is not None or memberships is not None:
            features, later = self._later(X, hypergraph, memberships)
            with threads(self.n_jobs), torch.no_grad():
                return np.asarray(read(features, later).numpy(), dtype=trained.dtype)
        if X is None and isinstance(self._relation, MembershipRows):
            return trained
        rows = self._read_later(X)
        features = self._features_of(rows)
        group = self._known.find(features)
        if np.array_equal(group, self._known.group):
            return trained
        known = self._known.mean(trained)
        out = np.empty((group.size, *trained.shape[1:]), dtype=trained.dtype)
        out[group >= 0] = known[group[group >= 0]]
        new = np.flatnonzero(group < 0)
        if new.size:
            if self._is_given and not callable(self.construct):
                warnings.warn(_A_GUESS, UserWarning, stacklevel=4)
            later = Later(sparse.csr_array(self._relation.join(rows))[new])
            with threads(self.n_jobs), torch.no_grad():
                out[new] = read(features[new], later).numpy()
        return out

    def _later(self, X: Any, hypergraph: Hypergraph | None, memberships: Any) -> tuple[Any, Later]:
        """The features and hyperedges of rows that come later, whose memberships the caller gives."""
        is_alone = isinstance(self._relation, MembershipRows)
        rows = None if X is None and is_alone else self._read_later(X)
        n_rows = None if rows is None else n_rows_of(rows)
        R = as_hypergraph(hypergraph, memberships, n_rows, row_names(X), self.hypergraph_)
        if R is None:
            if rows is None:
                raise ValueError("hypergraph or memberships must be given: the rows of later data are their members.")
            joined = sparse.csr_array(self._relation.join(rows))
            return self._features_of(rows), Later(joined, names=names_of_rows(X, None, None))
        later = self._recognised(read_later(self.hypergraph_, R), names_of_rows(X, R, memberships))
        if isinstance(self._relation, MembershipRows):
            return self._relation.features_of(later.memberships), later
        return self._features_of(rows), later

    def _names(self) -> Names | None:
        """The names of the training rows: those of the hypergraph, else those in the index of X."""
        own = self.hypergraph_.vertex_names
        return getattr(self, "_row_names", None) if own is None else own  # earlier versions did not store them

    def _recognised(self, later: Later, names: Names | None) -> Later:
        """The later rows by their names. Rows that were in the training data keep their old hyperedges too."""
        number = find_rows(self._names(), names, later.n_rows)
        known = np.flatnonzero(number >= 0)
        memberships = later.memberships
        if known.size:
            own = self.hypergraph_.to_scipy()[number[known]].tocoo()
            there = sparse.csr_array((own.data, (known[own.row], own.col)), shape=memberships.shape)
            memberships = sparse.csr_array(memberships + there)
            memberships.data[:] = 1
        return later._replace(memberships=memberships, names=names)

    def _explain_later(
        self,
        row: Any,
        named: SavedModel,
        target: int | None,
        X: Any,
        hypergraph: Hypergraph | None,
        memberships: Any,
    ) -> Explanation:
        """Explain the score of a row that comes later."""
        features, later = self._later(X, hypergraph, memberships)
        names = row_names(X) if later.names is None else later.names
        number = find_named("row", row, names, later.n_rows)
        first, _ = later.blocks(self.hypergraph_, 2)
        with threads(self.n_jobs):
            found = explain(
                named, first, self.hypergraph_.n_vertices + number, x=self._with_new(features), target=target
            )
        return replace(found, vertex=number, vertex_name=number if names is None else names[[number]].tolist()[0])

    def _attribute(
        self, row: Any, predict: Predict, X: Any, hypergraph: Hypergraph | None, memberships: Any
    ) -> Attribution:
        """Split the prediction of a row, of training or a later one, by what its hyperedges and features change."""
        if X is None and hypergraph is None and memberships is None:
            features, later = self._features, Later(sparse.csr_array(self.hypergraph_.to_scipy()))
            names = self._names()
        else:
            features, later = self._later(X, hypergraph, memberships)
            names = row_names(X) if later.names is None else later.names
        number = find_named("row", row, names, later.n_rows)
        typical: Any = (
            sparse.csr_array((1, self._features.shape[1]), dtype=self._features.dtype)
            if sparse.issparse(self._features)
            else self._features.mean(0, keepdims=True)
        )
        features_of: Callable[[sparse.csr_array], Any] | None = None
        if isinstance(self._relation, MembershipRows):
            features_of = self._relation.features_of
        elif isinstance(self._relation, TextRows):
            features_of = partial(_words_of, features[[number]])
        with all_threads(self.n_jobs), torch.no_grad():  # hundreds of small predictions
            base, change = attribute(predict, features, later, number, typical=typical, features_of=features_of)
        return Attribution(number, names, self.hypergraph_, later, base, change)

    def _read_later(self, X: Any) -> Any:
        """Check rows that come later."""
        if isinstance(self._relation, MembershipRows):
            raise ValueError(
                "X must be None: the estimator was fitted without features. Pass the hyperedges of later rows as "
                "hypergraph= or memberships=, e.g. predict(None, memberships=table)."
            )
        if X is None:
            raise ValueError("X must be given: the estimator was fitted with features.")
        return self._read(X, reset=False)

    def _scores_of(self, features: Any, later: Later) -> Tensor:
        """The scores of new rows, ``(rows, outputs)``."""
        config = self.network_.config
        if not KINDS[config.model].structures:
            scores = self.network_(as_features(features))
        else:
            blocks = later.blocks(self.hypergraph_, config.n_steps)
            scores = self.network_(self._with_new(features), hypergraph=blocks)
        return cast(Tensor, scores)

    def _with_new(self, features: Any) -> Features:
        """The features of the training rows, followed by those of new rows."""
        stack = sparse.vstack if sparse.issparse(features) else np.vstack
        return as_features(stack([self._features, features]))


def _words_of(own: sparse.csr_array, memberships: sparse.csr_array) -> sparse.csr_array:
    """The features of a text, ``(1, words)``, with only some of its words, for each row of memberships."""
    rows, words = memberships.nonzero()
    values = np.asarray(own.toarray()[0, words])
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=memberships.shape[0]))])
    return sparse.csr_array((values, np.int32(words), np.int32(ends)), shape=memberships.shape)
