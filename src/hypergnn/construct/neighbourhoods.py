"""The paper's construction: one hyperedge per vertex of a graph, over the vertex and its neighbourhood."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hypergnn._utils.checks import as_pairs, check_size, check_sparse
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph


def from_neighbourhoods(
    graph: Graph | sparse.sparray | sparse.spmatrix,
    *,
    centroid: bool = True,
    hops: int = 1,
    directed: bool = False,
    vertex_names: Any = None,
) -> Hypergraph | DirectedHypergraph:
    """Make one hyperedge per vertex: the vertex, which is its centroid, and all vertices within ``hops`` links of it.

    Args:
        graph: A graph, or a square sparse adjacency matrix. An entry in either direction is a link, unless
            ``directed``.
        centroid: Whether the vertex is a member of its own hyperedge. It is the hyperedge's
            :attr:`Hypergraph.centroid` in both cases. Without it, the hyperedge of an isolated vertex is empty.
        hops: Largest number of links between the vertex and a member.
        directed: Whether entry ``(i, j)`` of the matrix is an arc from ``i`` to ``j``. Each vertex then sends to those
            that its arcs lead to: it is the tail of its hyperedge, and they, with the vertex itself if ``centroid``,
            are the head. The links of a :class:`Graph` are arcs both ways.
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
        >>> arcs = sparse.csr_array([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
        >>> hg.construct.from_neighbourhoods(arcs, directed=True, centroid=False).to_hyperedges()
        [([0], [1, 2]), ([1], []), ([2], [])]
    """
    hops = check_size("hops", hops, minimum=1)
    if directed:
        return _directed(_links_of(graph), centroid, hops, vertex_names)
    if not isinstance(graph, Graph):
        graph = _as_graph(graph)
    n_vertices = graph.n_vertices
    row, column = _within(_links_of(graph), centroid, hops)
    return Hypergraph.from_incidence(
        row,
        column,
        n_vertices,
        n_vertices,
        centroid=np.arange(n_vertices),
        vertex_names=vertex_names,
    )


def _directed(arcs: sparse.csr_array, centroid: bool, hops: int, vertex_names: Any) -> DirectedHypergraph:
    n_vertices = arcs.shape[0]
    everyone = np.arange(n_vertices)
    head, hyperedge = _within(arcs, centroid, hops)
    return DirectedHypergraph.from_incidence(
        np.concatenate([everyone, head]),
        np.concatenate([everyone, hyperedge]),
        np.repeat(np.array(["tail", "head"]), (n_vertices, head.size)),
        n_vertices,
        n_vertices,
        centroid=everyone,
        vertex_names=vertex_names,
    )


def _links_of(graph: Any) -> sparse.csr_array:
    """Entry ``(j, i)`` for each link from ``i`` to ``j``, and for each vertex itself."""
    if isinstance(graph, Graph):  # whose links include each vertex itself
        pairs, n_vertices = (graph._target_ids.cpu().numpy(), graph._source_ids.cpu().numpy()), graph.n_vertices
    else:
        _check_sparse(graph)
        source, target, (n_vertices, other) = as_pairs("graph", graph, "vertices, vertices", "Pass (matrix != 0).")
        if n_vertices != other:
            raise ValueError(f"graph must be a square matrix; got shape {(n_vertices, other)}.")
        everyone = np.arange(n_vertices)
        pairs = (np.concatenate([target, everyone]), np.concatenate([source, everyone]))
    ones = np.ones(pairs[0].size, dtype=bool)
    return sparse.csr_array((ones, pairs), shape=(n_vertices, n_vertices))


def _within(links: sparse.csr_array, centroid: bool, hops: int) -> tuple[Any, Any]:
    """Members and hyperedges of the neighbourhoods."""
    within = links
    for _ in range(hops - 1):
        within = within @ links
    pairs = within.tocoo()
    member = np.full(pairs.row.size, True) if centroid else pairs.row != pairs.col
    return pairs.row[member], pairs.col[member]


def _as_graph(adjacency: Any) -> Graph:
    _check_sparse(adjacency)
    return Graph.from_scipy(adjacency)


def _check_sparse(adjacency: Any) -> None:
    if not sparse.issparse(adjacency):
        is_networkx = type(adjacency).__module__.startswith("networkx.")
        how = "networkx.to_scipy_sparse_array(graph, weight=None)" if is_networkx else "scipy.sparse.csr_array(graph)"
        raise TypeError(
            f"graph must be a hypergnn.Graph or a SciPy sparse adjacency matrix; got {type(adjacency).__name__}. "
            f"Convert it, e.g. {how}."
        )
    check_sparse("graph", adjacency)
