"""The hyperedges of an abstract simplicial complex: all faces of its simplices, or only the maximal simplices."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations
from typing import Literal

from hypergnn._utils.checks import check_choice
from hypergnn.io.parts import Parts, Row

Simplices = Literal["all", "maximal"]
SIMPLICES = ("all", "maximal")
MOST_FACES = 2_000_000


def choose_simplices(parts: Parts, simplices: Simplices) -> None:
    """Make ``parts`` list all faces, or only the maximal simplices.

    A listed simplex keeps its name and attributes. Other faces have numbers as names and weight 1. Vertices are the
    faces of size 1; they become hyperedges only if they are listed as such.
    """
    check_choice("simplices", simplices, SIMPLICES)
    if not parts.is_complex:
        raise ValueError(
            f"simplices={simplices!r} needs a simplicial complex (network-type asc); this is a hypergraph. Omit it."
        )
    members = {name: frozenset(vertices) for name, vertices in parts.members().items()}
    if simplices == "all":
        _add_faces(parts, members)
    else:
        _drop_faces(parts, members)


def _add_faces(parts: Parts, members: dict[Hashable, frozenset[Hashable]]) -> None:
    largest = max(map(len, members.values()), default=0)
    distinct = set(members.values())
    if largest > 64 or sum(2 ** len(simplex) for simplex in distinct) > MOST_FACES:
        raise ValueError(
            f"a complex must have at most {MOST_FACES:,} faces to list them all; a simplex of {largest} vertices alone "
            f'has {2**largest - 1 if largest <= 64 else "over 2^64"}. Use simplices="maximal".'
        )
    order = {vertex: number for number, vertex in enumerate(parts.vertices)}
    integers = (name for name in members if isinstance(name, int) and not isinstance(name, bool))
    number = max(integers, default=-1) + 1
    for simplex in list(members.values()):
        for size in range(len(simplex) - 1, 1, -1):
            for face in combinations(sorted(simplex, key=order.__getitem__), size):
                if frozenset(face) not in distinct:
                    distinct.add(frozenset(face))
                    parts.hyperedges[number] = Row()
                    parts.incidences.update({(vertex, number): Row() for vertex in face})
                    number += 1


def _drop_faces(parts: Parts, members: dict[Hashable, frozenset[Hashable]]) -> None:
    containing: dict[Hashable, set[Hashable]] = {vertex: set() for vertex in parts.vertices}
    for name, simplex in members.items():
        for vertex in simplex:
            containing[vertex].add(name)
    faces = {name for name, simplex in members.items() if _is_face(simplex, members, containing)}
    parts.hyperedges = {name: row for name, row in parts.hyperedges.items() if name not in faces}
    parts.incidences = {pair: row for pair, row in parts.incidences.items() if pair[1] not in faces}


def _is_face(
    simplex: frozenset[Hashable],
    members: dict[Hashable, frozenset[Hashable]],
    containing: dict[Hashable, set[Hashable]],
) -> bool:
    """Whether another simplex has all these vertices and more."""
    if not simplex:
        return any(members.values())
    candidates = min((containing[vertex] for vertex in simplex), key=len)
    return any(simplex < members[name] for name in candidates)
