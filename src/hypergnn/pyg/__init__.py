"""For programs written with PyTorch Geometric: its ``HypergraphConv`` with the same constructor, call and parameters.

Change the import, and the rest of the program stays: ``from hypergnn.pyg import HypergraphConv``. The mathematics is
the paper's; ``exact=False`` gives PyG's own numbers. It runs without PyG.
"""

from typing import TYPE_CHECKING, Any

from hypergnn.pyg.convolution import HypergraphConv
from hypergnn.pyg.feature_dropout import Dropout, dropout

if TYPE_CHECKING:
    from hypergnn.pyg.data import HypergraphData

__all__ = ["Dropout", "HypergraphConv", "HypergraphData", "dropout"]


def __getattr__(name: str) -> Any:
    """Import names that need PyG when they are first used."""
    if name != "HypergraphData":
        raise AttributeError(f"module 'hypergnn.pyg' has no attribute {name!r}")
    from hypergnn.pyg.data import HypergraphData

    return HypergraphData
