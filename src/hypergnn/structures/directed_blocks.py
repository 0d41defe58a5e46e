"""Blocks of directed hypergraphs, one for each direction that a layer follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hypergnn._utils.checks import as_ids
from hypergnn.structures.base import Direction
from hypergnn.structures.block import Block, Reach
from hypergnn.structures.hypergraph import joining
from hypergnn.structures.incidence import Ids

if TYPE_CHECKING:
    from hypergnn.structures.directed import DirectedHypergraph


def blocks_around(
    H: DirectedHypergraph, vertices: Any, attention: bool, direction: Direction
) -> Block | tuple[Block, Block]:
    """The block of some vertices, or the pair of both directions; see :meth:`DirectedHypergraph.around`."""
    H.check()
    made = as_ids("vertices", vertices, H.n_vertices, "n_vertices", copies=True)
    reaches = [Reach.of(one, made, attention=attention) for one in H.ways(direction)]
    return blocks_of(H, made, reaches, np.unique(np.concatenate([one.vertices for one in reaches])), direction)


def blocks_of(
    H: DirectedHypergraph, made: Ids, reaches: Sequence[Reach], read: Ids, direction: Direction
) -> Block | tuple[Block, Block]:
    """The block of a direction, or the pair of both, which read the same vertices."""
    names: tuple[Direction, ...] = ("forward", "backward") if direction == "both" else (direction,)
    found = [
        Block._around(one, made, reach, read, direction=name)
        for one, reach, name in zip(H.ways(direction), reaches, names, strict=True)
    ]
    return found[0] if len(found) == 1 else (found[0], found[1])


def blocks_joining(
    H: DirectedHypergraph, memberships: Any, depth: int, direction: Direction
) -> list[Block] | list[tuple[Block, Block]]:
    """Blocks of new vertices, or the pairs of both directions; see :meth:`DirectedHypergraph.joined_by`."""
    found = H.ways(direction)
    if direction != "both":
        return joining(found[0], memberships, depth, direction=direction)
    if not isinstance(memberships, (tuple, list)) or len(memberships) != 2:
        raise TypeError(
            "memberships must be a pair of SciPy sparse matrices for direction='both', of the tails and of the heads; "
            f"got {type(memberships).__name__}."
        )
    tails, heads = memberships
    forward = joining(H, heads, depth, direction="forward")
    backward = joining(H.reversed(), tails, depth, direction="backward")
    if forward[-1].n_receivers != backward[-1].n_receivers:
        raise ValueError(
            "memberships must have a row per new vertex in both matrices; got "
            f"{backward[-1].n_receivers} and {forward[-1].n_receivers} rows."
        )
    return list(zip(forward, backward, strict=True))
