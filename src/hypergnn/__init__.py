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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypergnn import construct, datasets, functional, io, models, training
    from hypergnn.drawing import draw
    from hypergnn.estimators import HypergraphClassifier, HypergraphEmbedding
    from hypergnn.explanations import explain
    from hypergnn.layers import GraphAttention, GraphConv, HypergraphAttention, HypergraphConv
    from hypergnn.persistence.models import load, save
    from hypergnn.persistence.onnx import export_onnx
    from hypergnn.structures.graph import Graph
    from hypergnn.structures.hypergraph import Hypergraph

__version__ = "0.1.0"

__all__ = [
    "Graph",
    "GraphAttention",
    "GraphConv",
    "Hypergraph",
    "HypergraphAttention",
    "HypergraphClassifier",
    "HypergraphConv",
    "HypergraphEmbedding",
    "construct",
    "datasets",
    "draw",
    "explain",
    "export_onnx",
    "functional",
    "io",
    "load",
    "models",
    "save",
    "training",
]

_HOME = {
    "Graph": "structures.graph",
    "GraphAttention": "layers",
    "GraphConv": "layers",
    "Hypergraph": "structures.hypergraph",
    "HypergraphAttention": "layers",
    "HypergraphClassifier": "estimators",
    "HypergraphConv": "layers",
    "HypergraphEmbedding": "estimators",
    "draw": "drawing",
    "explain": "explanations",
    "export_onnx": "persistence.onnx",
    "load": "persistence.models",
    "save": "persistence.models",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that the command line need not wait for torch."""
    if name not in __all__:
        raise AttributeError(f"module 'hypergnn' has no attribute {name!r}")
    if name not in _HOME:
        return import_module(f"hypergnn.{name}")
    value = getattr(import_module(f"hypergnn.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return [*__all__, "__version__"]
