"""Hypergraphs, graphs and blocks: data that is checked once, when it is made, and never changed."""

from hypergnn.structures.base import TwoSided
from hypergnn.structures.batches import HypergraphBatch, batch
from hypergnn.structures.block import Block, GraphBlock
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Incidence
from hypergnn.structures.shared_graph import SharedGraph
from hypergnn.structures.sparse_features import SparseFeatures

__all__ = [
    "Block",
    "DirectedHypergraph",
    "Graph",
    "GraphBlock",
    "Hypergraph",
    "HypergraphBatch",
    "Incidence",
    "SharedGraph",
    "SparseFeatures",
    "TwoSided",
    "batch",
]
