"""The graph and the features of a dataset, in the forms that the systems need."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from scipy import sparse

from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import DoesNotApplyError
from hypergnn.functional.checks import Features
from hypergnn.structures.graph import Graph
from hypergnn.structures.shared_graph import SharedGraph
from hypergnn.structures.sparse_features import SparseFeatures
from hypergnn.training.pairwise import with_graph


def graph_of(data: Dataset) -> Graph | SharedGraph:
    """The graph of the data, or the one derived from its hypergraph, which may have no list of links.

    Example:
        >>> from hypergnn import datasets
        >>> graph_of(datasets.load("digits"))
        Graph(1797 vertices, 12339 links)
    """
    graph = with_graph(data, "gcn").graph
    assert graph is not None
    return graph


def links_of(data: Dataset, title: str) -> Graph:
    """The graph of the data, or the one derived from its hypergraph, with its links one by one.

    Args:
        data: The dataset.
        title: The system that needs it, for the message.

    Raises:
        DoesNotApplyError: If there are too many links.

    Example:
        >>> from hypergnn import datasets
        >>> links_of(datasets.load("digits"), "MoNet").n_links
        12339
    """
    listed = replace(data, graph=None) if isinstance(data.graph, SharedGraph) else data
    try:
        graph = with_graph(listed, "gat").graph
    except ValueError as error:
        raise DoesNotApplyError(
            f"{title} does not apply to {data.name}: it needs a list of links, and two vertices of {data.name} are "
            "linked if they share a hyperedge, which makes too many of them."
        ) from error
    assert isinstance(graph, Graph)
    return graph


def adjacency_of(data: Dataset, title: str, *, loops: bool = False) -> sparse.csr_array:
    """The adjacency matrix ``A`` of :func:`links_of`: symmetric, zeros and ones, without loops, float64.

    With ``loops``, it has those of the vertices that the data links to themselves.
    """
    adjacency: sparse.csr_array = links_of(data, title).to_scipy()
    if not loops:
        return adjacency
    diagonal = np.zeros(adjacency.shape[0])
    diagonal[data.self_links] = 1
    return sparse.csr_array(adjacency + sparse.diags_array(diagonal))


def normalized(adjacency: sparse.csr_array) -> sparse.csr_array:
    """``D^-1/2 A D^-1/2``; rows and columns without links stay 0.

    Example:
        >>> normalized(sparse.csr_array([[0.0, 1.0], [1.0, 1.0]])).toarray().round(2).tolist()
        [[0.0, 0.71], [0.71, 0.5]]
    """
    degree = np.asarray(adjacency.sum(axis=1))
    scale = np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    return sparse.csr_array(sparse.diags_array(scale) @ adjacency @ sparse.diags_array(scale))


def features_of(data: Dataset, scaling: Literal["none", "row"] = "row") -> Features:
    """The features for our layers: a tensor, or prepared sparse features."""
    return as_features(data.scaled(scaling))


def as_features(matrix: Any) -> Features:
    """A NumPy or SciPy matrix for our layers, float32."""
    if sparse.issparse(matrix):
        return SparseFeatures.from_scipy(sparse.csr_array(matrix))
    return torch.from_numpy(np.asarray(matrix, np.float32))
