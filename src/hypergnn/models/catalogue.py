"""The kinds of networks: which layer each is made of, and which structures its layers take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from hypergnn import layers
from hypergnn.layers import Layer

if TYPE_CHECKING:
    from hypergnn.models.config import Config


class Kind(NamedTuple):
    """A kind of network: its layer, and the structures that its layers take."""

    layer: Callable[..., Layer]
    structures: tuple[Literal["graph", "hypergraph"], ...]
    has_attention: bool = False
    has_direction: bool = False
    can_sample: bool = False
    """Whether it trains on batches with sampled neighbours."""
    layers: Callable[[Config, int, int], Sequence[Layer]] | None = None
    """Makes the layers of a network that is not made of one kind of layer."""
    is_dynamic: bool = False
    """Whether its hyperedges follow the features, so that each row depends on all of them."""
    form: Literal["layers", "residual", "random"] = "layers"
    """Layers one after the other, between two dense ones with an initial residual, or random propagation."""
    can_be_deep: bool = False
    """Whether ``residual="initial"`` is offered. The layer must then multiply by ``_mapping()``, not ``projection``."""
    weighs_by_structure: bool = False
    """Whether, unless a setting changes it, hyperedges count by structure and given weights alone: neither features nor
    parameters decide how much. Not known of kinds that users register."""


KINDS = {
    "hyper-conv": Kind(
        layers.HypergraphConv,
        ("hypergraph",),
        has_direction=True,
        can_sample=True,
        can_be_deep=True,
        weighs_by_structure=True,
    ),
    "hyper-attention": Kind(
        layers.HypergraphAttention,
        ("hypergraph",),
        has_attention=True,
        has_direction=True,
        can_sample=True,
        can_be_deep=True,
    ),
    "gcn": Kind(layers.GraphConv, ("graph",), can_be_deep=True),
    "gat": Kind(layers.GraphAttention, ("graph",), has_attention=True, can_be_deep=True),
    "gcn+hyper-conv": Kind(layers.MeanConv, ("graph", "hypergraph"), can_be_deep=True, weighs_by_structure=True),
    "gat+hyper-attention": Kind(layers.MeanAttention, ("graph", "hypergraph"), has_attention=True, can_be_deep=True),
    "mlp": Kind(layers.Dense, ()),
    "hyper-sage": Kind(
        layers.HypergraphSAGE, ("hypergraph",), has_direction=True, can_sample=True, weighs_by_structure=True
    ),
    "hyper-monet": Kind(layers.HypergraphMoNet, ("hypergraph",), has_direction=True),
    "dynamic-hyper-conv": Kind(layers.DynamicHypergraphConv, ("hypergraph",), is_dynamic=True),
    "hyper-diffusion": Kind(
        layers.HypergraphDiffusion, ("hypergraph",), has_direction=True, form="residual", weighs_by_structure=True
    ),
    "grand": Kind(layers.GraphConv, ("graph",), form="random"),
    "hyper-grand": Kind(layers.HypergraphConv, ("hypergraph",), form="random", weighs_by_structure=True),
    "grand+hyper-grand": Kind(layers.MeanConv, ("graph", "hypergraph"), form="random", weighs_by_structure=True),
}
"""The networks by the names that the command line knows."""
