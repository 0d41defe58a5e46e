"""Points and their nearest neighbours: hyperedges of points that lie close together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.checks import check_size
from hypergnn._utils.extras import import_extra
from hypergnn._utils.matrices import as_matrix
from hypergnn._utils.tables import row_names
from hypergnn.construct.relation import as_new_points, memberships
from hypergnn.construct.search import nearest_points
from hypergnn.structures.hypergraph import Hypergraph

# Measured on two cores: a search tree beats comparing all pairs up to 8 features and quickly falls behind beyond that.
# Comparing all pairs of 100,000 points with 64 features takes as long as an approximate search, 40 s.
MAX_TREE_FEATURES = 8
MAX_EXACT_POINTS = 100_000
# pynndescent knows one name for metrics that have several in scikit-learn.
_SAME_METRIC = {"cityblock": "manhattan", "l1": "manhattan", "l2": "euclidean"}


def from_knn(
    X: Any, k: int = 5, *, metric: str = "euclidean", approximate: bool | None = None, seed: int = 0
) -> Hypergraph:
    """Make one hyperedge per point: the point, which is its centroid, and the ``k`` nearest other points.

    Memory grows with the number of points, never with its square. Of points at the same distance, those with the
    smaller numbers are nearer, whatever the number of threads; an approximate search decides by itself. Each point is
    a member of its own hyperedge exactly once, even if many points are equal to it.

    Args:
        X: Features, ``(N, F)``: an array, a tensor, a sparse matrix or a table of numbers. The index of a pandas
            table gives the vertices their names, unless it only counts the rows.
        k: Number of other points in a hyperedge, less than the number of points.
        metric: Any metric of scikit-learn's nearest neighbours for this kind of ``X``, e.g. ``"cosine"``. An
            approximate search supports most of them.
        approximate: Whether to search approximately, with pynndescent (the extra ``ann``). By default only if an
            exact search would compare more than 100,000 points with each other.
        seed: Seed of the approximate search.

    Raises:
        ImportError: If the search is approximate and pynndescent is not installed.
        TypeError: If ``X`` does not hold numbers.
        ValueError: If a feature is not finite or ``k`` is not less than the number of points.

    Example:
        >>> import hypergnn as hg
        >>> from sklearn.datasets import load_digits
        >>> hg.construct.from_knn(load_digits().data, k=5)
        Hypergraph(1797 vertices, 1797 hyperedges, 10782 incidences, centred)
    """
    return NearestNeighbours(X, k, metric=metric, approximate=approximate, seed=seed).hypergraph


class NearestNeighbours:
    """Points with one hyperedge around each; a new point joins the hyperedges around its ``k`` nearest points.

    Args:
        X: Features, ``(N, F)``. All arguments are those of :func:`from_knn`.
        k: Number of other points in a hyperedge, and of hyperedges that a new point joins.
        metric: Metric of both searches.
        approximate: Whether to build the hypergraph by an approximate search. New points always join by an exact one.
        seed: Seed of the approximate search.

    Attributes:
        hypergraph: The hypergraph, as :func:`from_knn` returns it.

    Example:
        >>> import numpy as np, hypergnn as hg
        >>> relation = hg.construct.NearestNeighbours(np.array([[0.0], [1.0], [8.0], [9.0]]), k=1)
        >>> relation.hypergraph.to_hyperedges()
        [[0, 1], [0, 1], [2, 3], [2, 3]]
        >>> relation.join(np.array([[8.7]])).indices.tolist()           # the hyperedge around the point at 9.0
        [3]
    """

    def __init__(
        self, X: Any, k: int = 5, *, metric: str = "euclidean", approximate: bool | None = None, seed: int = 0
    ) -> None:
        """Find the neighbours of each point."""
        matrix = as_matrix(X)
        n_points, n_features = matrix.shape
        if check_size("k", k, minimum=1) >= n_points:
            raise ValueError(f"k must be less than the number of points, {n_points}; got {k}: each needs k others.")
        if metric == "precomputed":
            raise ValueError(
                "metric must be computed from features; got 'precomputed', which needs the distances of all pairs."
            )
        by_tree = n_features <= MAX_TREE_FEATURES and not sparse.issparse(matrix)
        if approximate is None:
            approximate = n_points > MAX_EXACT_POINTS and not by_tree
        if approximate:
            nearest = _approximate_nearest(matrix, k + 1, metric, seed)
        else:
            algorithm = "auto" if by_tree else "brute"
            nearest = nearest_points(matrix, matrix, k + 1, metric, algorithm=algorithm, n_jobs=-1)
        self._points, self._k, self._metric = matrix, k, metric
        self.hypergraph = _around_each_point(nearest, row_names(X))

    def join(self, X: Any) -> sparse.csr_array:
        """Return the memberships of new points, ``(rows, M)``: the hyperedges around the ``k`` nearest points."""
        new = as_new_points(X, self._points.shape[1])
        nearest = nearest_points(self._points, new, self._k, self._metric)
        return memberships(nearest, self.hypergraph.n_hyperedges)


class NearestVertex:
    """A hypergraph whose vertices are points; a new point joins all hyperedges of the point nearest to it.

    Use it to place new points in any hypergraph, for example in one that was not made from features.

    Args:
        hypergraph: The hypergraph.
        X: The features of its vertices, as in :func:`from_knn`.

    Attributes:
        hypergraph: The same hypergraph.

    Raises:
        TypeError: If ``hypergraph`` is not a hypergraph or ``X`` does not hold numbers.
        ValueError: If there is not one row per vertex or a feature is not finite.

    Example:
        >>> import numpy as np, hypergnn as hg
        >>> H = hg.Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3)
        >>> relation = hg.construct.NearestVertex(H, np.array([[0.0], [5.0], [9.0]]))
        >>> relation.join(np.array([[6.0], [8.0]])).toarray().tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """

    def __init__(self, hypergraph: Hypergraph, X: Any) -> None:
        """Remember where the vertices are."""
        if not isinstance(hypergraph, Hypergraph):
            raise TypeError(f"hypergraph must be a Hypergraph; got {type(hypergraph).__name__}.")
        matrix = as_matrix(X)
        if hypergraph.n_vertices != matrix.shape[0]:
            raise ValueError(
                f"hypergraph must have one vertex for each row of X, {matrix.shape[0]}; got {hypergraph.n_vertices}."
            )
        self._points = matrix
        self.hypergraph = hypergraph

    def join(self, X: Any) -> sparse.csr_array:
        """Return the memberships of new points, ``(rows, M)``: those of the nearest vertex."""
        new = as_new_points(X, self._points.shape[1])
        nearest = nearest_points(self._points, new, 1, "euclidean")
        return sparse.csr_array(self.hypergraph.to_scipy()[nearest.ravel()])


def _around_each_point(nearest: npt.NDArray[np.int64], vertex_names: Any) -> Hypergraph:
    """One hyperedge per point over its nearest points, ``(N, k + 1)``, made to include the point itself."""
    n_points, size = nearest.shape
    point = np.arange(n_points)
    is_left_out = (nearest != point[:, None]).all(axis=1)  # at least k + 1 others are equal to the point
    nearest[is_left_out, -1] = point[is_left_out]
    return Hypergraph.from_incidence(
        nearest.ravel(),
        np.repeat(point, size),
        n_points,
        n_points,
        centroid=point,
        vertex_names=vertex_names,
    )


def _approximate_nearest(points: Any, k: int, metric: str, seed: int) -> npt.NDArray[np.int64]:
    pynndescent = import_extra("pynndescent", "ann", "an approximate search (approximate=False: an exact one)")
    is_sparse = sparse.issparse(points)
    known = pynndescent.sparse.sparse_named_distances if is_sparse else pynndescent.distances.named_distances
    name = _SAME_METRIC.get(metric, metric)
    if name not in known:
        raise ValueError(
            f"metric must be one that the approximate search supports, e.g. 'cosine'; got {metric!r}. "
            "Pass approximate=False for an exact search."
        )
    found = pynndescent.NNDescent(points, metric=name, n_neighbors=k, random_state=seed).neighbor_graph[0]
    incomplete = np.flatnonzero((found < 0).any(axis=1))
    if incomplete.size:
        found[incomplete] = nearest_points(points, points[incomplete], k, metric, algorithm="brute", n_jobs=-1)
    return np.asarray(found, dtype=np.int64)
