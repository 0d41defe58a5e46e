"""A graph for models that need one, made from the hypergraph of a dataset that has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hypergnn.datasets import Dataset
from hypergnn.models import KINDS
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.shared_graph import SharedGraph

MOST_LINKS = 50_000_000
"""Links that are listed for graph attention at most."""


def with_graph(data: Dataset, model: str) -> Dataset:
    """The dataset with a graph, if the model needs one and the data has none; else the dataset itself.

    The graph is the pairwise counterpart of the hypergraph. Where every hyperedge has a centroid, the centroid is
    linked to the other members: for ``digits``, an image to its nearest neighbours. Elsewhere two vertices are linked
    if they share a hyperedge: for ``20news``, two postings that share a word.

    Args:
        data: The dataset.
        model: The name of the model, one of ``KINDS``.

    Raises:
        ValueError: If the model attends to links one by one and there would be too many of them.

    Example:
        >>> from hypergnn import datasets
        >>> with_graph(datasets.load("digits"), "gcn").graph
        Graph(1797 vertices, 12339 links)
        >>> with_graph(datasets.load("digits"), "hyper-conv").graph is None
        True
    """
    kind = KINDS[model]
    if "graph" not in kind.structures or data.graph is not None:
        return data
    H = data.hypergraph.undirected()
    if H.centroid is not None and bool((H.centroid >= 0).all()):
        return replace(data, graph=Graph.from_links(H._vertex_ids, H.centroid[H._hyperedge_ids], H.n_vertices))
    return replace(data, graph=_listed(data.name, H, model) if kind.has_attention else SharedGraph.from_hypergraph(H))


def _listed(name: str, H: Hypergraph, model: str) -> Graph:
    """The graph of all pairs that share a hyperedge, link by link."""
    incidence = H.to_scipy()
    pairs = int((np.diff(incidence.tocsc().indptr).astype(np.int64) ** 2).sum())
    if pairs > MOST_LINKS:
        raise ValueError(
            f"the model {model!r} needs links one by one, at most {MOST_LINKS}; linking the vertices of {name} that "
            f"share a hyperedge makes up to {pairs}. Give the data a graph, or choose another model."
        )
    return Graph.from_scipy(incidence @ incidence.T != 0)
