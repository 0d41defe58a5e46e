"""Small structures with every awkward feature, and the way from sparse tensors to the reference's dense ones."""

import numpy as np
import torch
from torch import Tensor

from hypergnn import DirectedHypergraph, Graph, Hypergraph

N_SCATTERED = 50
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

DIRECTED = {
    "a path": ([([0, 1], [2]), ([2], [3, 4])], 6, [1.0, 2.5], None),
    "overlapping parts": ([([0, 1, 2], [2, 3]), ([3], [0, 3]), ([1], [1])], 4, [0.5, 3.0, 2.0], None),
    "empty tails and heads": ([([], [0, 1]), ([1, 2], []), ([], []), ([0], [2])], 4, [1.0, 2.0, 3.0, 0.1], None),
    "centred": ([([0], [1, 2]), ([3], [0]), ([1, 3], [2])], 5, None, [0, 3, 4]),
    "partly centred": ([([0, 2], [1]), ([3, 1], [0, 2])], 4, [2.0, 1.0], [-1, 0]),
    "no incidence": ([([], [])], 3, [2.0], None),
}

GRAPHS = {
    "path with isolated vertex": ([0, 1, 2], [1, 2, 3], 5),
    "triangle and pair": ([0, 1, 2, 3], [1, 2, 0, 4], 5),
    "no link": ([], [], 3),
}


def hypergraph(name: str) -> Hypergraph:
    hyperedges, n_vertices, weight, centroid = HYPERGRAPHS[name]
    return Hypergraph.from_hyperedges(hyperedges, n_vertices, weight, centroid)


def directed(name: str) -> DirectedHypergraph:
    hyperedges, n_vertices, weight, centroid = DIRECTED[name]
    return DirectedHypergraph.from_hyperedges(hyperedges, n_vertices, weight, centroid)


def pointing_nowhere(H: Hypergraph) -> DirectedHypergraph:
    """A hypergraph whose hyperedges all have their members as tail and as head."""
    hyperedges = [(members, members) for members in H.to_hyperedges()]
    return DirectedHypergraph.from_hyperedges(hyperedges, H.n_vertices, H.weight, H.centroid)


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


def scattered(centred: str) -> Hypergraph:
    """Small hyperedges over 50 vertices, the last five isolated; all, some or none of them have a centroid."""
    rng = np.random.default_rng(1)
    hyperedges = [sorted(rng.choice(N_SCATTERED - 5, rng.integers(1, 4), replace=False).tolist()) for _ in range(23)]
    hyperedges[3] = hyperedges[7] = []
    centroid = rng.integers(0, N_SCATTERED, 23)
    if centred == "some":
        centroid = np.where(np.arange(23) % 2, centroid, -1)
    weight = rng.random(23) * 5 + 0.1
    return Hypergraph.from_hyperedges(
        hyperedges, N_SCATTERED, weight=weight, centroid=None if centred == "none" else centroid
    )
