"""Rows of numbers: where they lie, which hyperedges they make, and which of these a new row joins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize

from hypergnn._utils.checks import Names, check_size
from hypergnn.construct import from_clusters, from_knn
from hypergnn.estimators.known_rows import row_keys
from hypergnn.structures.hypergraph import Hypergraph

Ids = npt.NDArray[np.int64]


class Points:
    """Numbers scaled for distances (``positions``) and for the network (``features``).

    Dense columns are scaled to the range from 0 to 1, in which distances are taken, and then to mean 0 and variance 1
    for the network. Sparse rows are scaled to length 1 and stay sparse.
    """

    def __init__(self, X: Any, *, scale: bool) -> None:
        """Learn the scales."""
        self._range = self._standard = None
        self._to_length_1 = scale and sparse.issparse(X)
        if scale and not sparse.issparse(X):
            self._range = MinMaxScaler().fit(X)
            self._standard = StandardScaler().fit(self._range.transform(X))
        self.positions = self._positions(X)

    def features(self, X: Any) -> Any:
        """What the network sees, float32."""
        positions = self._positions(X)
        scaled = positions if self._standard is None else self._standard.transform(positions)
        return sparse.csr_array(scaled, dtype=np.float32) if sparse.issparse(scaled) else np.float32(scaled)

    def _positions(self, X: Any) -> Any:
        if self._to_length_1:
            return sparse.csr_array(normalize(X))
        return X if self._range is None else self._range.transform(X)

    def _nearest(self, X: Any, n_neighbors: int) -> Ids:
        search = NearestNeighbors(n_neighbors=min(n_neighbors, self.positions.shape[0])).fit(self.positions)
        return np.asarray(search.kneighbors(self._positions(X), return_distance=False))


class Neighbours(Points):
    """Each row with its nearest others; a new row joins the hyperedges around its nearest rows."""

    def __init__(self, X: Any, *, scale: bool, n_neighbors: int, options: Mapping[str, Any]) -> None:
        """Make the hypergraph; where there are too few rows, with fewer neighbours."""
        super().__init__(X, scale=scale)
        self.n_neighbors = min(check_size("n_neighbors", n_neighbors, minimum=1), X.shape[0] - 1)
        if X.shape[0] == 1:
            self.hypergraph = Hypergraph.from_hyperedges([[0]], n_vertices=1, centroid=[0])
        else:
            self.hypergraph = from_knn(self.positions, self.n_neighbors, **options)
        self._metric = options.get("metric", "euclidean")

    def join(self, X: Any) -> sparse.csr_array:
        """Memberships of new rows, ``(rows, M)``."""
        k = max(self.n_neighbors, 1)
        search = NearestNeighbors(n_neighbors=k, metric=self._metric).fit(self.positions)
        nearest = search.kneighbors(self._positions(X), return_distance=False)
        return memberships(nearest, self.hypergraph.n_hyperedges)


class Clusters(Points):
    """Clusters of rows at one scale or several; a new row joins, at each scale, the one whose centre is nearest."""

    def __init__(self, X: Any, *, scale: bool, options: Mapping[str, Any]) -> None:
        """Make the hypergraph; where there are fewer different rows than clusters, with fewer clusters."""
        super().__init__(X, scale=scale)
        n_different = len(set(row_keys(self.positions)))
        asked = options.get("n_clusters", 10)
        several = list(asked) if isinstance(asked, (list, tuple, np.ndarray)) else [asked]
        fitting = sorted({min(check_size("n_clusters", one, minimum=2), n_different) for one in several})
        if n_different == 1:
            everything = [list(range(X.shape[0]))]
            self.hypergraph, self._scales = Hypergraph.from_hyperedges(everything, n_vertices=X.shape[0]), [1]
        else:
            self.hypergraph = from_clusters(self.positions, **{**options, "n_clusters": fitting})
            names = [str(name).partition(" of ")[2] for name in np.asarray(self.hypergraph.hyperedge_names)]
            self._scales = [names.count(one) for one in dict.fromkeys(names)]
        mean = self.hypergraph.to_scipy().T.multiply(1 / self.hypergraph.hyperedge_degree().numpy()[:, None])
        self._centres = mean.tocsr() @ self.positions  # sparse if the positions are

    def join(self, X: Any) -> sparse.csr_array:
        """Memberships of new rows, ``(rows, M)``."""
        positions, start, joined = self._positions(X), 0, []
        for size in self._scales:
            search = NearestNeighbors(n_neighbors=1).fit(self._centres[start : start + size])
            joined.append(search.kneighbors(positions, return_distance=False) + start)
            start += size
        return memberships(np.hstack(joined), start)


class Given(Points):
    """A hypergraph of the caller's; a new row joins the hyperedges of the row nearest to it."""

    def __init__(self, X: Any, *, scale: bool, make: Callable[[Any], Any]) -> None:
        """Take the hypergraph that ``make`` returns for ``X``."""
        super().__init__(X, scale=scale)
        self.hypergraph = check_given(make(X), X.shape[0])

    def join(self, X: Any) -> sparse.csr_array:
        """Memberships of new rows, ``(rows, M)``."""
        return sparse.csr_array(self.hypergraph.to_scipy()[self._nearest(X, 1).ravel()])


def check_given(H: object, n_rows: int) -> Hypergraph:
    """Return ``H`` if it is a hypergraph over the rows, or raise."""
    if not isinstance(H, Hypergraph):
        raise TypeError(f"hypergraph must be a Hypergraph, given or returned by construct; got {type(H).__name__}.")
    if H.n_vertices != n_rows:
        raise ValueError(f"hypergraph must have a vertex for each row of X, {n_rows}; got {H.n_vertices}.")
    return H


def check_order(rows: Names | None, others: Names | None, must: str, entry: str, remedy: str) -> None:
    """Raise if the entries of something are called as the rows of X are, but stand in another order."""
    if rows is None or others is None:
        return
    ours, theirs = rows.tolist(), others.tolist()
    if ours != theirs and set(ours) == set(theirs) and len(ours) == len(theirs):
        place = next(place for place, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other)
        raise ValueError(
            f"{must} in the order of the rows of X; {entry} {place} is {theirs[place]!r}, row {place} is "
            f"{ours[place]!r}. {remedy}"
        )


def memberships(hyperedges: Ids, n_hyperedges: int) -> sparse.csr_array:
    """The hyperedges of each row, ``(rows, k)``, as an incidence matrix ``(rows, M)``."""
    rows, k = hyperedges.shape
    arrays = (np.ones(hyperedges.size), hyperedges.ravel(), np.arange(0, hyperedges.size + 1, k))
    return sparse.csr_array(arrays, shape=(rows, n_hyperedges))
