"""Estimators fitted to a table of events, and their results by the names of the vertices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from hypergnn.construct import from_events
from hypergnn.structures.hypergraph import Hypergraph


class FromEvents:
    """Adds :meth:`from_events` and :attr:`predictions_` to an estimator."""

    hypergraph_: Hypergraph
    transduction_: npt.NDArray[Any]

    @classmethod
    def from_events(
        cls,
        events: Any,
        *,
        vertex: Any,
        hyperedge: Any,
        labels: Any,
        features: Any = None,
        weight: Any = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return an estimator fitted to a table of events, such as customers and what they bought.

        It takes the tables as they are: :func:`hypergnn.construct.from_events` brings vertices, features and labels
        into one order. :attr:`predictions_` gives the results by vertex.

        Args:
            events: One row per event: a table in memory, files, or a lazy frame.
            vertex: The column of vertices, in ``events`` and in ``features``.
            hyperedge: The column of what vertices have in common, or a list of several.
            labels: The column of ``features`` with the labels; or a dictionary or pandas Series of labels by vertex.
            features: One row per vertex; if omitted, memberships are used as features.
            weight: The column of weights of the hyperedges.
            settings: Settings of the estimator, e.g. ``{"random_state": 0}``.

        Example:
            >>> import hypergnn as hg
            >>> orders = {"customer": ["ann", "bob", "eve", "kim"], "product": ["tea", "tea", "nail", "nail"]}
            >>> model = hg.HypergraphClassifier.from_events(
            ...     orders,
            ...     vertex="customer",
            ...     hyperedge="product",
            ...     labels={"ann": "private", "eve": "trade"},
            ...     settings={"random_state": 0},
            ... )
            >>> model.predictions_
            {'ann': 'private', 'bob': 'private', 'eve': 'trade', 'kim': 'trade'}
        """
        given = from_events(events, vertex=vertex, hyperedge=hyperedge, features=features, labels=labels, weight=weight)
        estimator: Any = cls(**dict(settings or {}))
        own = None if sparse.issparse(given.features) else given.features  # sparse: memberships are all there is
        fitted: Self = estimator.fit(own, given.labels, hypergraph=given.hypergraph)
        return fitted

    @property
    def predictions_(self) -> dict[Any, Any]:
        """What training found for each vertex, by its name, or by its number if it has no name."""
        check_is_fitted(self)
        names = self.hypergraph_.vertex_names
        keys = range(self.hypergraph_.n_vertices) if names is None else names.tolist()
        return dict(zip(keys, self.transduction_.tolist(), strict=True))
