"""Weights of hyperedges by how rare they are, as the inverse document frequency of words in texts."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from hypergnn._utils.checks import check_structure
from hypergnn.structures.block import weighted_degree
from hypergnn.structures.hypergraph import Hypergraph


def inverse_frequency(H: Hypergraph) -> Tensor:
    """``log((N + 1) / |e|)`` of each hyperedge, ``(M,)`` float64: positive, and larger for smaller hyperedges.

    Example:
        >>> inverse_frequency(Hypergraph.from_hyperedges([[0], [0, 1, 2]], n_vertices=3))
        tensor([1.3863, 0.2877], dtype=torch.float64)
    """
    check_structure("H", H, Hypergraph, "from_hyperedges(…), or use undirected() of a directed one")
    return torch.log((H.n_vertices + 1) / H.hyperedge_degree().clamp(min=1))


def weighted_by_inverse_frequency(H: Hypergraph) -> Hypergraph:
    """The same hypergraph with :func:`inverse_frequency` as its weights, which replace those that it has.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0], [0, 1, 2]], n_vertices=3)
        >>> weighted_by_inverse_frequency(H)
        Hypergraph(3 vertices, 2 hyperedges, 4 incidences, weighted)
    """
    weight = inverse_frequency(H)
    degree = weighted_degree(H.incidence.to("cpu"), weight.cpu()).to(H.device)
    return replace(H, weight=weight, _vertex_degree=degree, has_inverse_frequency=True)
