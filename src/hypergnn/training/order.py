"""The order of vertices and hyperedges: rows that are summed together should be near each other in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hypergnn.datasets import Dataset
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Ids
from hypergnn.structures.shared_graph import SharedGraph


def near_together(data: Dataset) -> Dataset:
    """The same data, renumbered so that vertices and hyperedges with common incidences have nearby numbers.

    The given order is often arbitrary; sums then fetch rows from all over memory, and training takes up to a sixth
    longer. Names of vertices and hyperedges are dropped; everything else stays the same.

    Example:
        >>> from hypergnn import datasets
        >>> data = datasets.load("digits")
        >>> near_together(data)
        Dataset('digits': 1797 vertices, 1797 hyperedges, 64 features, 10 classes, split 200/500/1000)
    """
    H = data.hypergraph
    if H.n_incidences == 0 or isinstance(data.graph, SharedGraph):  # a SharedGraph has no list of links to renumber
        return data
    vertices, hyperedges = _orders(H)
    new = _places(vertices)
    graph = data.graph
    if graph is not None:
        graph = Graph.from_links(
            new[graph._source_ids.cpu().numpy()], new[graph._target_ids.cpu().numpy()], H.n_vertices
        )
    return replace(
        data,
        x=data.x[vertices],
        y=data.y[vertices],
        graph=graph,
        hypergraph=H._renumbered(new, _places(hyperedges)),
        train=np.sort(new[data.train]),
        val=np.sort(new[data.val]),
        test=np.sort(new[data.test]),
        self_links=np.sort(new[data.self_links]),
    )


def _orders(H: Hypergraph | DirectedHypergraph) -> tuple[Ids, Ids]:
    """The new order of the vertices and of the hyperedges: breadth first, by reverse Cuthill-McKee."""
    from scipy import sparse
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    incidence = H.undirected().to_scipy()
    joined = sparse.csr_array(sparse.block_array([[None, incidence], [incidence.T, None]]))
    order = reverse_cuthill_mckee(joined, symmetric_mode=True)
    vertices, hyperedges = order[order < H.n_vertices], order[order >= H.n_vertices] - H.n_vertices
    if H.centroid is not None and bool((H.centroid >= 0).all()):  # a hyperedge takes the features of its centroid
        hyperedges = np.argsort(_places(vertices)[H.centroid.cpu().numpy()], kind="stable")
    return vertices, hyperedges


def _places(order: Ids) -> Ids:
    """The position of each number in an order."""
    places = np.empty(order.size, np.int64)
    places[order] = np.arange(order.size)
    return places
