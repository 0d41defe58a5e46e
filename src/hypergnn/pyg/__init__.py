"""For programs written with PyTorch Geometric: its ``HypergraphConv`` with the same constructor, call and parameters.

Change the import, and the rest of the program stays: ``from hypergnn.pyg import HypergraphConv``. The mathematics is
the paper's; ``exact=False`` gives PyG's own numbers. PyG itself need not be installed.
"""

from hypergnn.pyg.convolution import HypergraphConv
from hypergnn.pyg.dropout import dropout

__all__ = ["HypergraphConv", "dropout"]
