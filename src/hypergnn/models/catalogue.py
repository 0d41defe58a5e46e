"""The kinds of networks: which layer each is made of, and which structures its layers take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from hypergnn import layers
from hypergnn.layers import Layer


class Kind(NamedTuple):
    """A kind of network: its layer, and the structures that its layers take."""

    layer: Callable[..., Layer]
    structures: tuple[Literal["graph", "hypergraph"], ...]
    has_attention: bool = False


KINDS = {
    "hyper-conv": Kind(layers.HypergraphConv, ("hypergraph",)),
    "hyper-attention": Kind(layers.HypergraphAttention, ("hypergraph",), has_attention=True),
    "gcn": Kind(layers.GraphConv, ("graph",)),
    "gat": Kind(layers.GraphAttention, ("graph",), has_attention=True),
    "gcn+hyper-conv": Kind(layers.MeanConv, ("graph", "hypergraph")),
    "gat+hyper-attention": Kind(layers.MeanAttention, ("graph", "hypergraph"), has_attention=True),
    "mlp": Kind(layers.Dense, ()),
}
"""The networks by the names that the command line knows."""


def check_structures(model: str, given: Mapping[str, Any], owner: str | None = None) -> None:
    """Raise unless there are all structures that a model needs.

    Args:
        model: One of :data:`KINDS`.
        given: The structures by name; ``None`` for one that is missing.
        owner: What they belong to, such as a dataset, if not to the caller.

    Example:
        >>> check_structures("gcn", {"graph": None})
        Traceback (most recent call last):
        ValueError: the model 'gcn' needs a graph; got none.
    """
    for name in KINDS[model].structures:
        if given.get(name) is None:
            whose = "; got none" if owner is None else f", and {owner} has none: choose another model"
            raise ValueError(f"the model {model!r} needs a {name}{whose}.")
