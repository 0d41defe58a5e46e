"""The receptive field of some vertices: for each layer of a network the vertices that it reads and those it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn._utils.checks import as_ids, check_size
from hypergnn.structures.base import Direction
from hypergnn.structures.block import Block, GraphBlock, Reach
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.directed_blocks import blocks_of
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.shared_graph import SharedGraph

Structure = Graph | SharedGraph | Hypergraph | DirectedHypergraph
Vertices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Reached:
    """What one layer reads and makes."""

    blocks: Mapping[str, Any]
    """The structures restricted to it, by name; a structure itself where the layer reads and makes all of it."""
    read: Vertices
    """The vertices that it reads, ascending."""
    made: Vertices
    """The vertices that it makes, ascending."""
    pairs: Mapping[str, list[Vertices]] = field(default_factory=dict)
    """Canonical places, in the whole structure, of the pairs of those that are restricted, for each direction."""


def receptive_field(
    structures: Mapping[str, Structure],
    vertices: Any,
    depth: int,
    *,
    n_vertices: int,
    attention: bool = False,
    direction: Direction = "forward",
) -> list[Reached]:
    """What each layer must read and make for the last one to make some vertices.

    Args:
        structures: What the layers propagate over, by name.
        vertices: Whose scores are wanted; the last layer makes them in ascending order, each once.
        depth: Number of layers.
        n_vertices: Number of all vertices.
        attention: Whether the layers attend.
        direction: Which way the layers follow hyperedges that point.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2], [2, 3]], n_vertices=4)
        >>> first, last = receptive_field({"hypergraph": H}, [0], depth=2, n_vertices=4)
        >>> first.read.tolist(), last.read.tolist(), last.made.tolist()
        ([0, 1, 2], [0, 1], [0])
    """
    sizes = {one.n_vertices for one in structures.values()} | {n_vertices}
    if len(sizes) > 1:
        raise ValueError(f"all structures must have n_vertices={n_vertices} vertices; got {sorted(sizes)}.")
    check_size("depth", depth, minimum=1)
    made = np.unique(as_ids("vertices", vertices, n_vertices, "n_vertices"))
    found: list[Reached] = []
    for _ in range(depth):
        reaches = {name: _reaches(one, made, attention, direction) for name, one in structures.items()}
        read = np.unique(np.concatenate([made, *(reach.vertices for own in reaches.values() for reach in own)]))
        if made.size == n_vertices:
            layer = Reached(dict(structures), read, made)
        else:
            blocks = {name: _block(one, made, read, reaches[name], direction) for name, one in structures.items()}
            layer = Reached(blocks, read, made, {name: [one.pairs for one in own] for name, own in reaches.items()})
        found.insert(0, layer)
        made = read
    return found


def _reaches(structure: Structure, made: Vertices, attention: bool, direction: Direction) -> list[Reach]:
    """What the vertices depend on, in each direction."""
    if isinstance(structure, (Hypergraph, DirectedHypergraph)):
        return [Reach.of(one, made, attention=attention) for one in structure.ways(direction)]
    return [_reach(structure, made, attention)]


def _reach(structure: Graph | SharedGraph, made: Vertices, attention: bool) -> Reach:
    if isinstance(structure, SharedGraph):  # which lists no links
        everything = np.arange(structure.n_vertices)
        return Reach(everything, everything[:0], everything[:0], attention)
    pairs = structure.links.pairs_of(made)[0]
    sources = np.unique(structure._source_ids.cpu().numpy()[pairs]).astype(np.int64)
    return Reach(sources, sources[:0], pairs, attention)


def _block(structure: Structure, made: Vertices, read: Vertices, reaches: list[Reach], direction: Direction) -> Any:
    """The block of one direction, or the pair of both."""
    if isinstance(structure, DirectedHypergraph):
        return blocks_of(structure, made, reaches, read, direction)
    if isinstance(structure, Hypergraph):
        return Block._around(structure, made, reaches[0], read)
    if isinstance(structure, SharedGraph):
        return structure.around(made)
    return GraphBlock._around(structure, made, read=read)
