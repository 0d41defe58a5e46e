"""The paper's operators with parameters: thin modules over :mod:`hypergnn.functional`.

Each computes ``Aggregate_k(T_k X P_k) + b``, plus ``X`` itself with a skip connection. The activation and dropout of
the input are the network's. Parameters may carry a leading axis of trials, as
``torch.func.functional_call`` gives them.
"""

from hypergnn.layers.attention import GraphAttention, HypergraphAttention
from hypergnn.layers.base import Layer
from hypergnn.layers.convolution import Dense, GraphConv, HypergraphConv
from hypergnn.layers.diffusion import HypergraphDiffusion
from hypergnn.layers.dynamic import DynamicHypergraphConv, Followed
from hypergnn.layers.mean import MeanAttention, MeanConv
from hypergnn.layers.monet import HypergraphMoNet
from hypergnn.layers.operator import Operator
from hypergnn.layers.readout import Readout
from hypergnn.layers.sage import HypergraphSAGE
from hypergnn.layers.spectral import SpectralConv

__all__ = [
    "Dense",
    "DynamicHypergraphConv",
    "Followed",
    "GraphAttention",
    "GraphConv",
    "HypergraphAttention",
    "HypergraphConv",
    "HypergraphDiffusion",
    "HypergraphMoNet",
    "HypergraphSAGE",
    "Layer",
    "MeanAttention",
    "MeanConv",
    "Operator",
    "Readout",
    "SpectralConv",
]
