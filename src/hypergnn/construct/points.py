"""Points in space: hyperedges of those that lie close together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.checks import check_size
from hypergnn._utils.extras import import_extra
from hypergnn._utils.tables import as_matrix, row_names
from hypergnn.construct.combine import union
from hypergnn.structures.hypergraph import Hypergraph

# Measured on two cores: up to 8 features a search tree beats comparing all pairs, beyond it falls behind fast; and
# comparing 100,000 points of 64 features with each other takes as long as an approximate search, 40 s.
MAX_TREE_FEATURES = 8
MAX_EXACT_POINTS = 100_000
# 200,000 points of 64 features: with 50 clusters 13 s of processor time over all points, 2.4 s in batches of this size;
# with 200 clusters 44 s and 6 s; with 10 clusters 1 s and 3 s. Batches of scikit-learn's own size, 1024, gain nothing.
MAX_FULL_BATCH_POINTS = 200_000
BATCH_POINTS = 16_384
# How many times farther from the origin than from each other points must be to be shifted.
_FAR = 1000
# What scikit-learn calls by several names, and pynndescent by this one.
_SAME_METRIC = {"cityblock": "manhattan", "l1": "manhattan", "l2": "euclidean"}


def from_knn(
    X: Any, k: int = 5, *, metric: str = "euclidean", approximate: bool | None = None, seed: int = 0
) -> Hypergraph:
    """Make one hyperedge per point: the point, its centroid, and the ``k`` other points nearest to it.

    Memory grows with the number of points, never with its square. Of points equally near, the search chooses;
    a point is a member of its own hyperedge once, however many points are equal to it.

    Args:
        X: Features, ``(N, F)``: an array, a tensor, a sparse matrix or a table of numbers. The index of a pandas
            table becomes the names of the vertices unless it only counts.
        k: How many others, fewer than there are points.
        metric: Any metric of scikit-learn's nearest neighbours for the kind of ``X``, for example ``"cosine"``. An
            approximate search knows most of them.
        approximate: Whether to search approximately, with pynndescent (the extra ``ann``). If ``None``, only where
            an exact search would compare more than 100,000 points with each other.
        seed: Seed of the approximate search.

    Raises:
        ImportError: If an approximate search is due and pynndescent is not installed.
        TypeError: If ``X`` does not hold numbers.
        ValueError: If a feature is not finite or ``k`` is not below the number of points.

    Example:
        >>> import hypergnn as hg
        >>> from sklearn.datasets import load_digits
        >>> hg.construct.from_knn(load_digits().data, k=5)
        Hypergraph(1797 vertices, 1797 hyperedges, 10782 incidences, centred)
    """
    matrix = as_matrix(X)
    n_points, n_features = matrix.shape
    if check_size("k", k, minimum=1) >= n_points:
        raise ValueError(f"k must be less than the number of points, {n_points}; got {k}: each needs k others.")
    if metric == "precomputed":
        raise ValueError("metric must be computed from features; 'precomputed' would hold all pairs of points.")
    by_tree = n_features <= MAX_TREE_FEATURES and not sparse.issparse(matrix)
    if approximate is None:
        approximate = n_points > MAX_EXACT_POINTS and not by_tree
    if approximate:
        nearest = _approximate_nearest(matrix, k + 1, metric, seed)
    else:
        nearest = _nearest(matrix, matrix, k + 1, metric, by_tree)
    point = np.arange(n_points)
    hidden = (nearest != point[:, None]).all(axis=1)  # a point behind k + 1 others equal to it
    nearest[hidden, -1] = point[hidden]
    return Hypergraph.from_incidence(
        nearest.ravel(),
        np.repeat(point, k + 1),
        n_points,
        n_points,
        centroid=point,
        vertex_names=row_names(X),
    )


def from_clusters(X: Any, n_clusters: int | Sequence[int] = 10, *, seed: int = 0) -> Hypergraph:
    """Make one hyperedge per cluster of k-means, for one number of clusters or for several (scales) together.

    Each point is in one hyperedge per scale. Above 200,000 points k-means runs on mini-batches. Where points coincide
    and fewer clusters come out than asked for, scikit-learn warns and the empty ones are left out.

    Args:
        X: Features, as in :func:`from_knn`.
        n_clusters: Number of clusters, at least 2 and at most the number of points, or several such numbers.
        seed: Seed of k-means.

    Raises:
        TypeError: If ``X`` does not hold numbers or ``n_clusters`` whole numbers.
        ValueError: If a feature is not finite, or a number of clusters is out of range or given twice.

    Example:
        >>> import hypergnn as hg
        >>> from sklearn.datasets import load_wine
        >>> H = hg.construct.from_clusters(load_wine().data, [3, 10])
        >>> H
        Hypergraph(178 vertices, 13 hyperedges, 356 incidences)
        >>> H.hyperedge_names[3]
        'cluster 1 of 10'
    """
    matrix = as_matrix(X)
    scales = list(n_clusters) if isinstance(n_clusters, (Sequence, np.ndarray)) else [n_clusters]
    for scale in scales:
        if check_size("n_clusters", scale, minimum=2) > matrix.shape[0]:
            raise ValueError(f"n_clusters must be at most the number of points, {matrix.shape[0]}; got {scale}.")
    if not scales or len(set(scales)) < len(scales):
        raise ValueError(f"n_clusters must be one number or several different ones; got {scales}.")
    return union(*(_partition(matrix, int(scale), seed, row_names(X)) for scale in scales))


def _nearest(matrix: Any, points: Any, k: int, metric: str, by_tree: bool) -> npt.NDArray[np.int64]:
    from sklearn.neighbors import NearestNeighbors

    algorithm = "auto" if by_tree else "brute"
    if metric == "euclidean" and algorithm == "brute" and not sparse.issparse(matrix):
        matrix, points = _near_the_origin(matrix, points)
    search = NearestNeighbors(n_neighbors=k, metric=metric, algorithm=algorithm, n_jobs=-1).fit(matrix)
    return np.asarray(search.kneighbors(points, return_distance=False))


def _near_the_origin(matrix: Any, points: Any) -> tuple[Any, Any]:
    """Both shifted alike if they lie far off: comparing all pairs takes differences of squares, which then drown."""
    centre = matrix.mean(axis=0, dtype=np.float64)
    if np.abs(centre).max() <= _FAR * np.abs(matrix - centre).max():
        return matrix, points
    return matrix - centre, points - centre


def _approximate_nearest(matrix: Any, k: int, metric: str, seed: int) -> npt.NDArray[np.int64]:
    pynndescent = import_extra("pynndescent", "ann", "an approximate search (approximate=False: an exact one)")
    is_sparse = sparse.issparse(matrix)
    known = pynndescent.sparse.sparse_named_distances if is_sparse else pynndescent.distances.named_distances
    theirs = _SAME_METRIC.get(metric, metric)
    if theirs not in known:
        raise ValueError(
            f"metric must be one that an approximate search knows, such as 'cosine'; got {metric!r}. "
            "Give approximate=False for an exact search."
        )
    found = pynndescent.NNDescent(matrix, metric=theirs, n_neighbors=k, random_state=seed).neighbor_graph[0]
    given_up = np.flatnonzero((found < 0).any(axis=1))
    if given_up.size:
        found[given_up] = _nearest(matrix, matrix[given_up], k, metric, by_tree=False)
    return np.asarray(found, dtype=np.int64)


def _partition(matrix: Any, n_clusters: int, seed: int, vertex_names: Any) -> Hypergraph:
    from sklearn.cluster import KMeans, MiniBatchKMeans

    n_points = matrix.shape[0]
    if n_points <= MAX_FULL_BATCH_POINTS:
        method = KMeans(n_clusters, n_init="auto", random_state=seed)
    else:
        method = MiniBatchKMeans(n_clusters, n_init="auto", random_state=seed, batch_size=BATCH_POINTS)
    labels = method.fit_predict(matrix)
    found, cluster = np.unique(labels, return_inverse=True)
    return Hypergraph.from_incidence(
        np.arange(n_points),
        cluster,
        n_points,
        found.size,
        vertex_names=vertex_names,
        hyperedge_names=[f"cluster {label + 1} of {n_clusters}" for label in found],
    )
