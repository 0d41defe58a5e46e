"""Hypergraph convolution and hypergraph attention, exactly as the paper defines them.

Every operator is a transition applied to features, ``X' = σ(T X P)``: a convolution takes ``T`` from the
structure, an attention learns it, a graph network is the pairwise special case.

Example:
    >>> import torch, hypergnn as hg
    >>> H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4, weight=[1.0, 3.0])
    >>> layer = hg.HypergraphConv(8, 2)
    >>> layer(torch.rand(4, 8), H).shape
    torch.Size([4, 2])
"""

from hypergnn import construct, functional
from hypergnn.graph import Graph
from hypergnn.hypergraph import Hypergraph
from hypergnn.layers import GraphAttention, GraphConv, HypergraphAttention, HypergraphConv

__version__ = "0.1.0"

__all__ = [
    "Graph",
    "GraphAttention",
    "GraphConv",
    "Hypergraph",
    "HypergraphAttention",
    "HypergraphConv",
    "construct",
    "functional",
]
