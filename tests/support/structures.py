"""Small structures with every awkward feature, and the way from sparse tensors to the reference's dense ones."""

import torch
from torch import Tensor

from hypergnn import Graph, Hypergraph

HYPERGRAPHS = {
    "more vertices than hyperedges": ([[0, 1, 2, 5], [2, 3], [3, 4, 5, 6]], 7, [0.5, 2.0, 3.0], None),
    "more hyperedges than vertices": ([[0, 1], [1, 2], [0, 2], [0, 1, 2], [2]], 3, [1.0, 2.0, 0.3, 4.0, 5.0], None),
    "as many of both": ([[0, 1], [1, 2, 3], [0, 3], [2, 3]], 4, [2.0, 1.0, 1.0, 0.1], [0, 1, 3, 2]),
    "unit weights": ([[0, 1, 2], [1, 2, 3]], 4, None, None),
    "isolated vertex": ([[0, 2], [2, 3]], 5, [1.5, 2.5], [0, 4]),
    "empty hyperedge": ([[0, 1], [], [1, 2]], 4, [1.0, 7.0, 3.0], None),
    "single-vertex hyperedges": ([[0], [1], [1, 2]], 3, [2.0, 3.0, 1.0], [-1, 0, -1]),
    "no incidence": ([[], []], 3, [1.0, 2.0], None),
    "no hyperedge": ([], 2, None, None),
    "one vertex": ([[0], [0]], 1, [1.0, 2.0], None),
}

GRAPHS = {
    "path with isolated vertex": ([0, 1, 2], [1, 2, 3], 5),
    "triangle and pair": ([0, 1, 2, 3], [1, 2, 0, 4], 5),
    "no link": ([], [], 3),
}


def hypergraph(name: str) -> Hypergraph:
    hyperedges, n_vertices, weight, centroid = HYPERGRAPHS[name]
    return Hypergraph.from_hyperedges(hyperedges, n_vertices, weight, centroid)


def graph(name: str) -> Graph:
    return Graph.from_links(*GRAPHS[name])


def centroids(H: Hypergraph) -> list[int]:
    return [-1] * H.n_hyperedges if H.centroid is None else H.centroid.tolist()


def dense(H: Hypergraph) -> Tensor:
    return torch.from_numpy(H.to_scipy().toarray())


def adjacency(graph: Graph) -> Tensor:
    return torch.from_numpy(graph.to_scipy().toarray())


def attended(H: Hypergraph, incidence: Tensor) -> Tensor:
    """One head's attended incidence, ``(n_incidences,)``, as a matrix ``(N, M)``."""
    matrix = incidence.new_zeros(H.n_vertices, H.n_hyperedges)
    return matrix.index_put((H.vertex.long(), H.hyperedge.long()), incidence)


def random(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)), dtype=dtype)
