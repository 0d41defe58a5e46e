"""What the scores of some vertices depend on: for each layer the vertices that it reads and those that it makes.

A network that is trained on a few vertices sees the others only as far as its layers reach. What lies beyond changes
neither its loss nor its gradient, and need not be computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Ids, group
from hypergnn.structures.shared_graph import SharedGraph

Structures = Graph | SharedGraph | Hypergraph
"""What layers propagate over."""


class Field(NamedTuple):
    """What one layer reads and makes."""

    structures: Mapping[str, Structures]
    """Over the vertices that it reads."""
    read: Tensor | None
    """The numbers of those among all vertices, ascending; ``None`` for all of them."""
    wanted: Tensor | None
    """Which of them the next layer reads, or the loss; ``None`` for all of them."""


class _Cut(NamedTuple):
    """Which incidences of a structure, and which vertices, a layer needs for the rows of some vertices."""

    kept: Ids
    vertices: Ids


def fields_of(
    structures: Mapping[str, Structures],
    vertices: Tensor,
    n_vertices: int,
    *,
    depth: int,
    attended: bool,
    known: bool = False,
) -> list[Field] | None:
    """A field for each layer.

    Args:
        structures: What the layers propagate over.
        vertices: Whose scores are wanted; the last layer makes them in ascending order, each once.
        n_vertices: Number of all vertices.
        depth: Number of layers.
        attended: Whether the layers attend: then the hyperedges of a vertex compete, and all of them are needed.
        known: Whether what the first layer propagates is known: then it reads only what it makes.

    Returns:
        ``None`` where there is no telling: in a graph that does not list its links, and with attention to hyperedges
        that have no centroids, whose features are those of all members.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2], [2, 3]], n_vertices=4)
        >>> fields = fields_of({"hypergraph": H}, torch.tensor([0]), 4, depth=2, attended=False)
        >>> [field.read.tolist() for field in fields], fields[0].structures["hypergraph"]
        ([[0, 1, 2], [0, 1]], Hypergraph(3 vertices, 2 hyperedges, 4 incidences))
    """
    made = np.unique(vertices.cpu().numpy())
    found: list[Field] = []
    for layer in reversed(range(depth)):
        cuts: list[tuple[str, Graph | Hypergraph, _Cut]] = []
        for name, one in structures.items():
            if isinstance(one, SharedGraph):
                return None
            cut = _Cut(made[:0], made) if known and layer == 0 else _cut(one, made, attended)
            if cut is None:
                return None
            cuts.append((name, one, cut))
        read = np.unique(np.concatenate([made, *(cut.vertices for _, _, cut in cuts)]))
        parts = {name: _part(one, cut.kept, read, attended) for name, one, cut in cuts}
        is_all, makes_all = read.size == n_vertices, made.size == read.size
        found.insert(
            0,
            Field(
                parts,
                None if is_all else _index(read, vertices.device),
                None if makes_all else _index(np.searchsorted(read, made), vertices.device),
            ),
        )
        made = read
    return found


def _cut(structure: Graph | Hypergraph, vertices: Ids, attended: bool) -> _Cut | None:
    is_made = _mask(structure.n_vertices, vertices)
    if isinstance(structure, Graph):
        kept = np.flatnonzero(is_made[structure.target.cpu().numpy()])
        return _Cut(kept, structure.source.cpu().numpy()[kept])
    vertex, hyperedge = structure.vertex.cpu().numpy(), structure.hyperedge.cpu().numpy()
    kept = np.flatnonzero(_mask(structure.n_hyperedges, hyperedge[is_made[vertex]])[hyperedge])
    if not attended:
        return _Cut(kept, vertex[kept])
    if structure.centroid is None or not structure.is_centred:
        return None
    kept = np.flatnonzero(_mask(structure.n_vertices, vertex[kept])[vertex])
    return _Cut(kept, np.concatenate([vertex[kept], structure.centroid.cpu().numpy()[np.unique(hyperedge[kept])]]))


def _part(structure: Graph | Hypergraph, kept: Ids, vertices: Ids, attended: bool) -> Structures:
    """The structure on some vertices, with some of its incidences; degrees are those of the whole."""
    vertex = structure.target if isinstance(structure, Graph) else structure.vertex
    if vertices.size == structure.n_vertices and kept.size == vertex.shape[0]:
        return structure
    number = np.zeros(structure.n_vertices, np.int64)
    number[vertices] = np.arange(vertices.size)
    chosen, size = torch.from_numpy(vertices), vertices.size
    places = (_index(vertices), _index(kept))
    if isinstance(structure, Graph):
        target, source = (number[one.cpu().numpy()[kept]] for one in (structure.target, structure.source))
        graph = Graph(*group(target, source, size, size), structure.degree.cpu()[chosen], *places)
        return graph.to(structure.device)
    hyperedges, renumbered = np.unique(structure.hyperedge.cpu().numpy()[kept], return_inverse=True)
    centroid = None
    if attended and structure.centroid is not None:  # else nobody asks for them, and they may not be there
        centroid = number[structure.centroid.cpu().numpy()[hyperedges]]
    H = Hypergraph.from_incidence(
        number[structure.vertex.cpu().numpy()[kept]],
        renumbered,
        n_vertices=size,
        n_hyperedges=hyperedges.size,
        weight=structure.weight.cpu()[torch.from_numpy(hyperedges)],
        centroid=centroid,
    )
    degree = structure._vertex_degree.cpu()[chosen]
    placed = replace(H, _vertex_degree=degree, vertex_places=places[0], incidence_places=places[1])
    return placed.to(structure.device)


def _index(ids: Ids, device: torch.device | None = None) -> Tensor:
    return torch.from_numpy(ids.astype(np.int32)).to(device)


def _mask(size: int, ids: Ids) -> npt.NDArray[np.bool_]:
    mask = np.zeros(size, np.bool_)
    mask[ids] = True
    return mask
