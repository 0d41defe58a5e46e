"""What the scores of some vertices depend on: for each layer the vertices that it reads and those that it makes.

A network that is trained on a few vertices sees the others only as far as its layers reach. What lies beyond changes
neither its loss nor its gradient, and need not be computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from hypergnn.graph import Graph
from hypergnn.hypergraph import Hypergraph
from hypergnn.incidence import Ids, Places, group
from hypergnn.shared_graph import SharedGraph

Structures = Graph | SharedGraph | Hypergraph
"""What layers propagate over."""


class Field(NamedTuple):
    """What one layer reads and makes."""

    structures: Mapping[str, Structures]
    """Over the vertices that it reads."""
    wanted: Tensor | None
    """Which of them the next layer reads, or the loss; ``None`` for all."""
    places: Tensor | None
    """The numbers of those among all vertices."""


class _Cut(NamedTuple):
    """Which incidences of a structure, and which vertices, a layer needs for the rows of some vertices."""

    kept: Ids
    vertices: Ids


def fields_of(
    structures: Mapping[str, Structures], vertices: Tensor, *, depth: int, attended: bool, whole: int | None
) -> tuple[Tensor, list[Field]] | None:
    """The vertices that the first layer reads, ascending, and a field for each layer.

    Args:
        structures: What the layers propagate over.
        vertices: Whose scores are wanted; the last layer makes them in ascending order.
        depth: Number of layers.
        attended: Whether the layers attend: then the hyperedges of a vertex compete, and all of them are needed.
        whole: Number of all vertices, if the first layer is to read them all.

    Returns:
        ``None`` where there is no telling: in a graph that does not list its links, and with attention to hyperedges
        that have no centroids, whose features are those of all members.
    """
    made = np.unique(vertices.cpu().numpy())
    device = vertices.device
    found: list[Field] = []
    for layer in reversed(range(depth)):
        cuts = {name: _cut(one, made, attended) for name, one in structures.items()}
        if None in cuts.values():
            return None
        read = np.unique(np.concatenate([made, *(cut.vertices for cut in cuts.values() if cut is not None)]))
        if layer == 0 and whole is not None:
            read = np.arange(whole)
        parts = {name: _part(structures[name], cut.kept, read) for name, cut in cuts.items() if cut is not None}
        wanted = None if made.size == read.size else _index(np.searchsorted(read, made), device)
        found.insert(0, Field(parts, wanted, _index(made, device)))
        made = read
    return torch.from_numpy(made).to(device), found


def _cut(structure: Structures, vertices: Ids, attended: bool) -> _Cut | None:
    if isinstance(structure, SharedGraph):
        return None
    is_made = _mask(structure.n_vertices, vertices)
    if isinstance(structure, Graph):
        kept = np.flatnonzero(is_made[structure.target.cpu().numpy()])
        return _Cut(kept, structure.source.cpu().numpy()[kept])
    vertex, hyperedge = structure.vertex.cpu().numpy(), structure.hyperedge.cpu().numpy()
    kept = np.flatnonzero(_mask(structure.n_hyperedges, hyperedge[is_made[vertex]])[hyperedge])
    if not attended:
        return _Cut(kept, vertex[kept])
    kept = np.flatnonzero(_mask(structure.n_vertices, vertex[kept])[vertex])
    if structure.centroid is None or not structure.is_centred:
        return None
    return _Cut(kept, np.concatenate([vertex[kept], structure.centroid.cpu().numpy()[np.unique(hyperedge[kept])]]))


def _part(structure: Any, kept: Ids, vertices: Ids) -> Structures:
    """The structure on some vertices, with some of its incidences; degrees are those of the whole."""
    chosen, number = torch.from_numpy(vertices), np.zeros(structure.n_vertices, np.int64)
    number[vertices] = np.arange(vertices.size)
    if isinstance(structure, Graph):
        pairs = (number[structure.target.cpu().numpy()[kept]], number[structure.source.cpu().numpy()[kept]])
        part: Any = Graph(*group(*pairs, vertices.size, vertices.size), degree=structure.degree.cpu()[chosen])
    else:
        hyperedges, renumbered = np.unique(structure.hyperedge.cpu().numpy()[kept], return_inverse=True)
        centroid = None if structure.centroid is None else number[structure.centroid.cpu().numpy()[hyperedges]]
        part = Hypergraph.from_incidence(
            number[structure.vertex.cpu().numpy()[kept]],
            renumbered,
            n_vertices=vertices.size,
            n_hyperedges=hyperedges.size,
            weight=structure.weight.cpu()[torch.from_numpy(hyperedges)],
            centroid=centroid if structure.is_centred else None,
        )
        part = replace(part, _vertex_degree=structure._vertex_degree.cpu()[chosen])
    part = part.to(structure.device)
    part.derived("places", lambda: Places(*(_index(one, structure.device) for one in (vertices, kept))))
    return part  # type: ignore[no-any-return]


def _index(ids: Ids, device: torch.device) -> Tensor:
    return torch.from_numpy(ids.astype(np.int32)).to(device)


def _mask(size: int, ids: Ids) -> Any:
    mask = np.zeros(size, np.bool_)
    mask[ids] = True
    return mask
