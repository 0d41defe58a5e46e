"""Large hypergraphs with a few huge hyperedges and many small ones, the same for everybody."""

from __future__ import annotations

import numpy as np

from hypergnn import Hypergraph

PARETO = 1.2  # the exponent: the mean of the sizes exists, their variance does not


def skewed(n_vertices: int, n_hyperedges: int, n_incidences: int, *, seed: int = 0) -> Hypergraph:
    """A hypergraph whose hyperedge sizes follow a Pareto law and whose members are drawn evenly.

    Example:
        >>> skewed(1000, 1000, 10_000)
        Hypergraph(1000 vertices, 1000 hyperedges, 10000 incidences)
    """
    rng = np.random.default_rng(seed)
    popularity = rng.pareto(PARETO, n_hyperedges) + 0.05
    # Drawn twice may be the same pair: half as many again are enough to have n_incidences different ones.
    sizes = rng.multinomial(n_incidences * 3 // 2, popularity / popularity.sum())
    hyperedge = np.repeat(np.arange(n_hyperedges), sizes)
    pairs = np.unique(hyperedge * n_vertices + rng.integers(0, n_vertices, hyperedge.size))
    if pairs.size < n_incidences:
        raise ValueError(f"n_incidences must be fewer for {n_vertices} vertices; got {n_incidences}.")
    chosen = rng.choice(pairs, n_incidences, replace=False, shuffle=False)
    hyperedge, vertex = np.divmod(chosen, n_vertices)
    return Hypergraph.from_incidence(vertex, hyperedge, n_vertices, n_hyperedges)
