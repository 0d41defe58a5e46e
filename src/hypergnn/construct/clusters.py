"""Points and their clusters: one hyperedge per cluster of k-means, at one scale or at several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from hypergnn._utils.checks import check_size
from hypergnn._utils.matrices import as_matrix
from hypergnn._utils.tables import row_names
from hypergnn.construct.combine import union
from hypergnn.construct.relation import as_new_points, memberships
from hypergnn.construct.search import nearest_points
from hypergnn.structures.hypergraph import Hypergraph

# Processor time for 200,000 points with 64 features, on all points and in batches of this size: 1 s and 3 s for
# 10 clusters, 13 s and 2.4 s for 50, 44 s and 6 s for 200. Batches of 1024, scikit-learn's default, gain nothing.
MAX_FULL_BATCH_POINTS = 200_000
BATCH_POINTS = 16_384


def from_clusters(X: Any, n_clusters: int | Sequence[int] = 10, *, seed: int = 0) -> Hypergraph:
    """Make one hyperedge per cluster of k-means, for one number of clusters or for several (scales).

    Each point is in one hyperedge per scale. Above 200,000 points k-means runs on mini-batches. If so many points
    coincide that there are fewer clusters than requested, scikit-learn warns and the empty ones are left out.

    Args:
        X: Features, as in :func:`from_knn`.
        n_clusters: Number of clusters, from 2 to the number of points, or several such numbers.
        seed: Seed of k-means.

    Raises:
        TypeError: If ``X`` does not hold numbers or ``n_clusters`` does not hold whole numbers.
        ValueError: If a feature is not finite, or a number of clusters is out of range or repeated.

    Example:
        >>> import hypergnn as hg
        >>> from sklearn.datasets import load_wine
        >>> H = hg.construct.from_clusters(load_wine().data, [3, 10])
        >>> H
        Hypergraph(178 vertices, 13 hyperedges, 356 incidences)
        >>> H.hyperedge_names[3]
        'cluster 1 of 10'
    """
    return Clusters(X, n_clusters, seed=seed).hypergraph


class Clusters:
    """Clusters of points as hyperedges; at each scale, a new point joins the cluster with the nearest centre.

    Args:
        X: Features, ``(N, F)``. All arguments are those of :func:`from_clusters`.
        n_clusters: Number of clusters, or several numbers.
        seed: Seed of k-means.

    Attributes:
        hypergraph: The hypergraph, as :func:`from_clusters` returns it.
        centres: The mean of each cluster, one matrix ``(clusters, F)`` per scale; sparse if ``X`` is.

    Example:
        >>> import numpy as np, hypergnn as hg
        >>> relation = hg.construct.Clusters(np.array([[0.0], [1.0], [8.0], [9.0]]), 2)
        >>> sorted(relation.centres[0].ravel().tolist())
        [0.5, 8.5]
        >>> joined = relation.join(np.array([[7.0]]))
        >>> relation.centres[0][joined.indices].item()
        8.5
    """

    def __init__(self, X: Any, n_clusters: int | Sequence[int] = 10, *, seed: int = 0) -> None:
        """Find the clusters."""
        matrix = as_matrix(X)
        scales = list(n_clusters) if isinstance(n_clusters, (Sequence, np.ndarray)) else [n_clusters]
        for scale in scales:
            if check_size("n_clusters", scale, minimum=2) > matrix.shape[0]:
                raise ValueError(f"n_clusters must be at most the number of points, {matrix.shape[0]}; got {scale}.")
        if not scales or len(set(scales)) < len(scales):
            raise ValueError(f"n_clusters must be one number or several different ones; got {scales}.")
        parts = [_partition(matrix, int(scale), seed, row_names(X)) for scale in scales]
        self.centres = [_means(part, matrix) for part in parts]
        self.hypergraph = union(*parts)

    def join(self, X: Any) -> sparse.csr_array:
        """Return the memberships of new points, ``(rows, M)``: the cluster with the nearest centre at each scale."""
        new = as_new_points(X, self.centres[0].shape[1])
        first = np.cumsum([0, *(centres.shape[0] for centres in self.centres)])
        found = [nearest_points(centres, new, 1, "euclidean") for centres in self.centres]
        joined = [nearest + start for nearest, start in zip(found, first, strict=False)]  # (rows, 1) per scale
        return memberships(np.hstack(joined), self.hypergraph.n_hyperedges)


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


def _means(H: Hypergraph, matrix: Any) -> Any:
    """The mean of each hyperedge's members, B^-1 Hᵀ X, ``(M, F)``; sparse if the matrix is."""
    mean = H.to_scipy().T.multiply(1 / H.hyperedge_degree().numpy()[:, None])
    return mean.tocsr() @ matrix
