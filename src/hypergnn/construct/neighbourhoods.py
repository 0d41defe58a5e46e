"""The paper's construction: one hyperedge per vertex of a graph, over the vertex and its neighbourhood."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hypergnn._utils.checks import check_size
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph


def from_neighbourhoods(
    graph: Graph | sparse.sparray | sparse.spmatrix,
    *,
    centroid: bool = True,
    hops: int = 1,
    vertex_names: Any = None,
) -> Hypergraph:
    """Make one hyperedge per vertex: the vertex, which is its centroid, and all vertices within ``hops`` links of it.

    Args:
        graph: A graph, or a square sparse adjacency matrix. An entry in either direction is a link.
        centroid: Whether the vertex is a member of its own hyperedge. It is the hyperedge's
            :attr:`Hypergraph.centroid` in both cases. Without it, the hyperedge of an isolated vertex is empty.
        hops: Largest number of links between the vertex and a member.
        vertex_names: Names of the vertices, all different.

    Raises:
        TypeError: If ``graph`` is neither a graph nor a sparse matrix.
        ValueError: If the adjacency matrix is not square or holds anything other than zeros and ones.

    Example:
        >>> import hypergnn as hg
        >>> path = hg.Graph.from_links([0, 1, 2], [1, 2, 3], n_vertices=4)
        >>> hg.construct.from_neighbourhoods(path)
        Hypergraph(4 vertices, 4 hyperedges, 10 incidences, centred)
        >>> hg.construct.from_neighbourhoods(path, hops=2).to_scipy().toarray()[:, 0].tolist()
        [1.0, 1.0, 1.0, 0.0]
    """
    if not isinstance(graph, Graph):
        graph = _as_graph(graph)
    hops = check_size("hops", hops, minimum=1)
    n_vertices = graph.n_vertices
    target, source = graph.target.cpu().numpy(), graph.source.cpu().numpy()
    links = sparse.csr_array((np.ones(target.size, dtype=bool), (target, source)), shape=(n_vertices, n_vertices))
    within = links  # A + I: the links of a Graph include each vertex itself
    for _ in range(hops - 1):
        within = within @ links
    pairs = within.tocoo()
    member = np.full(pairs.row.size, True) if centroid else pairs.row != pairs.col
    return Hypergraph.from_incidence(
        pairs.row[member],
        pairs.col[member],
        n_vertices,
        n_vertices,
        centroid=np.arange(n_vertices),
        vertex_names=vertex_names,
    )


def _as_graph(adjacency: Any) -> Graph:
    if not sparse.issparse(adjacency):
        is_networkx = type(adjacency).__module__.startswith("networkx.")
        how = "networkx.to_scipy_sparse_array(graph, weight=None)" if is_networkx else "scipy.sparse.csr_array(graph)"
        raise TypeError(
            f"graph must be a hypergnn.Graph or a SciPy sparse adjacency matrix; got {type(adjacency).__name__}. "
            f"Convert it, e.g. {how}."
        )
    return Graph.from_scipy(adjacency)
