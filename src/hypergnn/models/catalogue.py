"""The kinds of networks: which layer each is made of, and which structures its layers take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from hypergnn import layers
from hypergnn.layers import Layer


class Kind(NamedTuple):
    """A kind of network: its layer, and the structures that its layers take."""

    layer: Callable[..., Layer]
    structures: tuple[Literal["graph", "hypergraph"], ...]
    has_attention: bool = False
    has_direction: bool = False


KINDS = {
    "hyper-conv": Kind(layers.HypergraphConv, ("hypergraph",), has_direction=True),
    "hyper-attention": Kind(layers.HypergraphAttention, ("hypergraph",), has_attention=True, has_direction=True),
    "gcn": Kind(layers.GraphConv, ("graph",)),
    "gat": Kind(layers.GraphAttention, ("graph",), has_attention=True),
    "gcn+hyper-conv": Kind(layers.MeanConv, ("graph", "hypergraph")),
    "gat+hyper-attention": Kind(layers.MeanAttention, ("graph", "hypergraph"), has_attention=True),
    "mlp": Kind(layers.Dense, ()),
    "hyper-sage": Kind(layers.HypergraphSAGE, ("hypergraph",), has_direction=True),
    "hyper-monet": Kind(layers.HypergraphMoNet, ("hypergraph",), has_direction=True),
}
"""The networks by the names that the command line knows."""
