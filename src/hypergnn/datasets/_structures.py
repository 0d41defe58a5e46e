"""The two constructions that the datasets here need."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hypergnn.graph import Graph
from hypergnn.hypergraph import Hypergraph


def from_neighbourhoods(graph: Graph) -> Hypergraph:
    """One hyperedge per vertex: the vertex, which is its centroid, and all vertices linked to it."""
    size = graph.n_vertices  # the loop of each vertex puts it into its own hyperedge
    return Hypergraph.from_incidence(graph.source, graph.target, size, size, centroid=np.arange(size))


def from_knn(x: npt.NDArray[np.float32], k: int) -> Hypergraph:
    """One hyperedge per row: the row, which is its centroid, and the ``k`` other rows nearest to it."""
    from sklearn.neighbors import NearestNeighbors

    centroid = np.arange(len(x))
    nearest = NearestNeighbors(n_neighbors=k).fit(x).kneighbors(return_distance=False)  # (N, k)
    members = np.column_stack([centroid, nearest])  # (N, k + 1)
    hyperedge = np.repeat(centroid, k + 1)
    return Hypergraph.from_incidence(members.ravel(), hyperedge, len(x), len(x), centroid=centroid)
