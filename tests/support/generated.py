"""Hypergraphs that hypothesis makes up, and how to compare two that may be numbered differently."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from hypergnn import Hypergraph

TEXT = st.text(max_size=4)
INTEGERS = st.integers(100, 10**12)  # from 0 on they would be numbers, not names
MIXED = st.one_of(TEXT, INTEGERS)


def _array(names: list[Any]) -> Any:
    return np.fromiter(names, dtype=object, count=len(names))  # np.array would turn the numbers of a mixture into text


@st.composite
def hypergraphs(
    draw: st.DrawFn,
    *,
    names: st.SearchStrategy[Any] | None = MIXED,
    centroids: bool = True,
    isolated: bool = True,
    empty: bool = True,
    repeated: bool = True,
    min_vertices: int = 0,
) -> Hypergraph:
    n_vertices = draw(st.integers(min_vertices, 6))
    vertices = st.sets(st.integers(0, n_vertices - 1) if n_vertices else st.nothing(), min_size=0 if empty else 1)
    most = 8 if n_vertices or empty else 0
    unique_by = None if repeated else (lambda members: frozenset(members))
    members = draw(st.lists(vertices, max_size=most, unique_by=unique_by))
    used = sorted(set().union(*members))
    if not isolated:
        members, n_vertices = [{used.index(vertex) for vertex in edge} for edge in members], len(used)
    n_hyperedges = len(members)
    weight = draw(st.none() | st.lists(st.floats(1e-3, 1e3), min_size=n_hyperedges, max_size=n_hyperedges))
    centre = st.lists(st.integers(-1, n_vertices - 1), min_size=n_hyperedges, max_size=n_hyperedges)
    return Hypergraph.from_incidence(
        [vertex for edge in members for vertex in edge],
        [position for position, edge in enumerate(members) for _ in edge],
        n_vertices,
        n_hyperedges,
        weight=weight,
        centroid=np.array(draw(centre), dtype=int) if centroids and draw(st.booleans()) else None,
        vertex_names=_names(draw, names, n_vertices),
        hyperedge_names=_names(draw, names, n_hyperedges),
    )


def _names(draw: st.DrawFn, names: st.SearchStrategy[Any] | None, size: int) -> Any:
    if names is None or size == 0 or not draw(st.booleans()):
        return None
    return _array(draw(st.lists(names, min_size=size, max_size=size, unique=True)))


def by_name(H: Hypergraph) -> tuple[list[Any], dict[Any, Any]]:
    """The vertices in order, and for each hyperedge its weight, centroid and members, whatever its number is."""
    vertices = list(range(H.n_vertices)) if H.vertex_names is None else H.vertex_names.tolist()
    hyperedges = list(range(H.n_hyperedges)) if H.hyperedge_names is None else H.hyperedge_names.tolist()
    members = {name: set() for name in hyperedges}
    for vertex, hyperedge in zip(H.vertex.tolist(), H.hyperedge.tolist(), strict=True):
        members[hyperedges[hyperedge]].add(vertices[vertex])
    centroid = [-1] * H.n_hyperedges if H.centroid is None else H.centroid.tolist()
    centroids = [vertices[vertex] if vertex >= 0 else None for vertex in centroid]
    weight = H.weight.tolist()
    return vertices, {
        name: (weight[position], centroids[position], members[name]) for position, name in enumerate(hyperedges)
    }
