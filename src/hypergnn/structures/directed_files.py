"""Directed hypergraphs in files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from hypergnn._utils.checks import as_centroids, as_weight
from hypergnn.structures.block import weighted_degree
from hypergnn.structures.directed_parts import ROLES, are_the_same
from hypergnn.structures.hypergraph import check_labels
from hypergnn.structures.incidence import Incidence
from hypergnn.structures.stored import check_pairs

if TYPE_CHECKING:
    from hypergnn.structures.directed import DirectedHypergraph


def to_tensors(H: DirectedHypergraph) -> dict[str, Tensor]:
    """What a file holds of it."""
    tensors: dict[str, Tensor] = {}
    for name, pairs in (("tail", H.tails), ("head", H.heads)):
        tensors |= {f"{name}_{what}": cast(Tensor, one) for what, one in pairs._asdict().items() if one is not None}
    if bool((H.weight != 1).any()):
        tensors["weight"] = H.weight
        tensors |= {"_sender_degree": H._sender_degree, "_receiver_degree": H._receiver_degree}
    return tensors if H.centroid is None else tensors | {"centroid": H.centroid}


def from_tensors(kind: type[DirectedHypergraph], stored: Any, labels: Mapping[str, Any]) -> DirectedHypergraph:
    """The structure from the tensors of a file; sizes are checked, incidences are not read."""
    found = [_pairs(stored, name) for name in ROLES]
    tails, heads = found
    sizes = (tails.n_rows, tails.n_columns)
    if (heads.n_rows, heads.n_columns) != sizes:
        raise ValueError(f"heads must have {sizes} vertices and hyperedges, those of the tails.")
    weight = stored.take("weight", torch.ones(sizes[1], dtype=torch.float64))
    degrees = [
        stored.take(name, pairs.offsets.diff().double())
        for name, pairs in (("_sender_degree", tails), ("_receiver_degree", heads))
    ]
    as_weight(weight, sizes[1])
    centroid = as_centroids(stored.take_any("centroid"), *sizes)
    check_labels(labels, *sizes)
    stored.finish()
    is_centred = centroid is not None and bool((centroid >= 0).all())
    sent, received = degrees
    size, shares_pairs = tails.back_offsets.diff().double(), are_the_same(tails, heads)
    return kind(tails, heads, weight, sent, received, size, centroid, is_centred, shares_pairs, **labels)


def check_content(H: DirectedHypergraph) -> None:
    """Raise if values that are stored twice differ."""
    as_weight(H.weight, H.n_hyperedges)
    weight = H.weight.cpu() if bool((H.weight != 1).any()) else None
    sides = {"_sender_degree": H.tails, "_receiver_degree": H.heads}
    for name, pairs in sides.items():
        if not torch.allclose(getattr(H, name).cpu(), weighted_degree(pairs.to("cpu"), weight)):
            raise ValueError(f"its {name} does not fit its incidences.")
    if not torch.equal(H._hyperedge_degree, H.tails.back_offsets.diff().double()):
        raise ValueError("its _hyperedge_degree does not fit its incidences.")
    if H.shares_pairs != are_the_same(H.tails, H.heads):
        raise ValueError("its shares_pairs does not fit its incidences.")


def _pairs(stored: Any, name: str) -> Incidence:
    """The incidence of tails or heads out of a file."""
    offsets, members = stored.take(f"{name}_offsets"), stored.take(f"{name}_members")
    back = [stored.take(f"{name}_back_{what}") for what in ("offsets", "members", "position")]
    pairs = Incidence(offsets, members, None, *back)
    check_pairs(pairs, members)
    return pairs
