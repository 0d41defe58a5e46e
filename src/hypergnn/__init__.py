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
    from hypergnn import construct, datasets, functional, io, layers, loader, model_selection, models, training
    from hypergnn.datasets import Dataset
    from hypergnn.drawing import draw
    from hypergnn.estimators import (
        CorrectAndSmooth,
        HypergraphClassifier,
        HypergraphEmbedding,
        HypergraphRegressor,
    )
    from hypergnn.explanations import Explanation, explain
    from hypergnn.layers import GraphAttention, GraphConv, HypergraphAttention, HypergraphConv
    from hypergnn.models import Config, Network
    from hypergnn.persistence.estimators import load, save
    from hypergnn.persistence.models import SavedModel
    from hypergnn.persistence.onnx import export_onnx
    from hypergnn.structures import Block, Graph, GraphBlock, Hypergraph, SharedGraph

__version__ = "0.1.0"

__all__ = [
    "Block",
    "Config",
    "CorrectAndSmooth",
    "Dataset",
    "Explanation",
    "Graph",
    "GraphAttention",
    "GraphBlock",
    "GraphConv",
    "Hypergraph",
    "HypergraphAttention",
    "HypergraphClassifier",
    "HypergraphConv",
    "HypergraphEmbedding",
    "HypergraphRegressor",
    "Network",
    "SavedModel",
    "SharedGraph",
    "construct",
    "datasets",
    "draw",
    "explain",
    "export_onnx",
    "functional",
    "io",
    "layers",
    "load",
    "loader",
    "model_selection",
    "models",
    "save",
    "training",
]

_ROOM = {
    "Block": "structures",
    "Config": "models",
    "CorrectAndSmooth": "estimators",
    "Dataset": "datasets",
    "Explanation": "explanations",
    "Graph": "structures",
    "GraphAttention": "layers",
    "GraphBlock": "structures",
    "GraphConv": "layers",
    "Hypergraph": "structures",
    "HypergraphAttention": "layers",
    "HypergraphClassifier": "estimators",
    "HypergraphConv": "layers",
    "HypergraphEmbedding": "estimators",
    "HypergraphRegressor": "estimators",
    "Network": "models",
    "SavedModel": "persistence.models",
    "SharedGraph": "structures",
    "draw": "drawing",
    "explain": "explanations",
    "export_onnx": "persistence.onnx",
    "load": "persistence.estimators",
    "save": "persistence.estimators",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that the command line need not wait for torch."""
    if name not in __all__:
        raise AttributeError(f"module 'hypergnn' has no attribute {name!r}")
    if name not in _ROOM:
        return import_module(f"hypergnn.{name}")
    value = getattr(import_module(f"hypergnn.{_ROOM[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return [*__all__, "__version__"]
