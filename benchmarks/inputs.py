"""Large random hypergraphs with a few huge hyperedges and many small ones, the same for all libraries."""

from __future__ import annotations

import numpy as np

from hypergnn import Hypergraph

PARETO = 1.2  # the exponent: sizes have a finite mean and an infinite variance


def skewed(n_vertices: int, n_hyperedges: int, n_incidences: int, *, seed: int = 0) -> Hypergraph:
    """A hypergraph with Pareto-distributed hyperedge sizes and uniformly drawn members.

    Example:
        >>> skewed(1000, 1000, 10_000)
        Hypergraph(1000 vertices, 1000 hyperedges, 10000 incidences)
    """
    rng = np.random.default_rng(seed)
    popularity = rng.pareto(PARETO, n_hyperedges) + 0.05
    # Pairs may be drawn twice: half as many again suffice for n_incidences distinct pairs.
    sizes = rng.multinomial(n_incidences * 3 // 2, popularity / popularity.sum())
    hyperedge = np.repeat(np.arange(n_hyperedges), sizes)
    pairs = np.unique(hyperedge * n_vertices + rng.integers(0, n_vertices, hyperedge.size))
    if pairs.size < n_incidences:
        raise ValueError(
            f"n_incidences must be at most {pairs.size} for this seed and {n_vertices} vertices; got {n_incidences}."
        )
    chosen = rng.choice(pairs, n_incidences, replace=False, shuffle=False)
    hyperedge, vertex = np.divmod(chosen, n_vertices)
    return Hypergraph.from_incidence(vertex, hyperedge, n_vertices, n_hyperedges)
