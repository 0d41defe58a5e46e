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
    from hypergnn import (
        construct,
        datasets,
        distributed,
        estimators,
        explanations,
        functional,
        io,
        layers,
        loader,
        model_selection,
        models,
        pyg,
        report,
        spark,
        structures,
        training,
    )
    from hypergnn.datasets import Dataset
    from hypergnn.drawing import draw
    from hypergnn.estimators import (
        CorrectAndSmooth,
        HypergraphClassifier,
        HypergraphEmbedding,
        HypergraphRegressor,
    )
    from hypergnn.explanations import Explanation, explain
    from hypergnn.layers import GraphAttention, GraphConv, HypergraphAttention, HypergraphConv, Readout
    from hypergnn.loader import NeighborLoader
    from hypergnn.models import Config, Network
    from hypergnn.persistence.estimators import load, save
    from hypergnn.persistence.models import SavedModel
    from hypergnn.persistence.onnx import export_onnx
    from hypergnn.structures import (
        Block,
        DirectedHypergraph,
        Graph,
        GraphBlock,
        Hypergraph,
        HypergraphBatch,
        SharedGraph,
        batch,
    )

__version__ = "0.1.0"

__all__ = [
    "Block",
    "Config",
    "CorrectAndSmooth",
    "Dataset",
    "DirectedHypergraph",
    "Explanation",
    "Graph",
    "GraphAttention",
    "GraphBlock",
    "GraphConv",
    "Hypergraph",
    "HypergraphAttention",
    "HypergraphBatch",
    "HypergraphClassifier",
    "HypergraphConv",
    "HypergraphEmbedding",
    "HypergraphRegressor",
    "NeighborLoader",
    "Network",
    "Readout",
    "SavedModel",
    "SharedGraph",
    "batch",
    "construct",
    "datasets",
    "distributed",
    "draw",
    "estimators",
    "explain",
    "explanations",
    "export_onnx",
    "functional",
    "io",
    "layers",
    "load",
    "loader",
    "model_selection",
    "models",
    "pyg",
    "report",
    "save",
    "spark",
    "structures",
    "training",
]

_ROOM = {
    "Block": "structures",
    "Config": "models",
    "CorrectAndSmooth": "estimators",
    "Dataset": "datasets",
    "DirectedHypergraph": "structures",
    "Explanation": "explanations",
    "Graph": "structures",
    "GraphAttention": "layers",
    "GraphBlock": "structures",
    "GraphConv": "layers",
    "Hypergraph": "structures",
    "HypergraphAttention": "layers",
    "HypergraphBatch": "structures",
    "HypergraphClassifier": "estimators",
    "HypergraphConv": "layers",
    "HypergraphEmbedding": "estimators",
    "HypergraphRegressor": "estimators",
    "NeighborLoader": "loader",
    "Network": "models",
    "Readout": "layers",
    "SavedModel": "persistence.models",
    "SharedGraph": "structures",
    "batch": "structures",
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
