"""Hypergraphs from hypergraphs: the union of several, or one without its smallest and largest hyperedges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeVar, cast

import numpy as np

from hypergnn._utils.checks import Names, check_size, show_name
from hypergnn._utils.times import joined_times
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.hypergraph import Hypergraph

Edited = TypeVar("Edited", Hypergraph, DirectedHypergraph)


def union(*hypergraphs: Edited, prefixes: Sequence[str] | None = None) -> Edited:
    """Combine hypergraphs over the same vertices: all hyperedges of the first, then those of the next, and so on.

    Hyperedges keep their weights, centroids, names and times. If only some hypergraphs name their hyperedges, each of
    the others gets the name ``(place, number)``: the place of its hypergraph among the arguments, and its number there.
    Hyperedges with the same members are not merged.

    Args:
        hypergraphs: At least one, all directed or none, over the same vertices in the same order. Those that name their
            vertices must agree on the names, which the result takes over.
        prefixes: One string per hypergraph, put before the names of its hyperedges (or their numbers if they have no
            names), so that hyperedges of different hypergraphs may have the same name.

    Raises:
        TypeError: If an argument is not a hypergraph, or there is none.
        ValueError: If the vertices differ, two hyperedges would have the same name, or only some have times.

    Example:
        >>> import hypergnn as hg
        >>> from sklearn.datasets import load_wine
        >>> X = load_wine().data
        >>> hg.construct.union(hg.construct.from_knn(X, k=4), hg.construct.from_clusters(X, 3))
        Hypergraph(178 vertices, 181 hyperedges, 1068 incidences, partly centred)
    """
    _check_same_vertices(hypergraphs)
    if prefixes is not None and (isinstance(prefixes, str) or len(prefixes) != len(hypergraphs)):
        raise ValueError(f"prefixes must be {len(hypergraphs)} strings, one per hypergraph; got {prefixes!r}.")
    centroids = [np.full(H.n_hyperedges, -1) if H.centroid is None else H.centroid.cpu() for H in hypergraphs]
    n_vertices, n_hyperedges = hypergraphs[0].n_vertices, sum(H.n_hyperedges for H in hypergraphs)
    more: dict[str, Any] = {
        "weight": np.concatenate([H.weight.cpu() for H in hypergraphs]),
        "centroid": np.concatenate(centroids),
        "vertex_names": next((H.vertex_names for H in hypergraphs if H.vertex_names is not None), None),
        "hyperedge_names": _names_of_all(hypergraphs, prefixes),
        "time": joined_times([H.time for H in hypergraphs], [H.n_hyperedges for H in hypergraphs]),
    }
    start = np.cumsum([0, *(H.n_hyperedges for H in hypergraphs)])
    columns: list[Any] = []
    for H, first in zip(hypergraphs, start, strict=False):
        vertex, hyperedge, *role = cast(tuple[Any, ...], H._listed())  # the role only if directed
        columns.append((vertex, hyperedge + first, *role))
    ids: list[Any] = [np.concatenate(column) for column in zip(*columns, strict=True)]
    kind: Any = DirectedHypergraph if isinstance(hypergraphs[0], DirectedHypergraph) else Hypergraph
    made: Edited = kind.from_incidence(*ids, n_vertices, n_hyperedges, **more).to(hypergraphs[0].device)
    return made


def drop_hyperedges(H: Edited, *, min_size: int = 2, max_size: int | None = None) -> Edited:
    """Remove the hyperedges with fewer than ``min_size`` or more than ``max_size`` vertices; keep all vertices.

    A hyperedge with one vertex connects nothing. One with nearly all vertices distinguishes few and costs the most.

    Args:
        H: A hypergraph, directed or not: the vertices of a directed hyperedge are those of tail and head. The remaining
            hyperedges keep their weights, centroids, names and times.
        min_size: Smallest size of a hyperedge to keep.
        max_size: Largest size of a hyperedge to keep; unlimited by default.

    Example:
        >>> import hypergnn as hg
        >>> H = hg.Hypergraph.from_hyperedges([[0], [0, 1], [0, 1, 2]], n_vertices=3)
        >>> hg.construct.drop_hyperedges(H, max_size=2)
        Hypergraph(3 vertices, 1 hyperedges, 2 incidences)
    """
    min_size = check_size("min_size", min_size)
    if max_size is not None and check_size("max_size", max_size) < min_size:
        raise ValueError(f"max_size must be at least min_size, {min_size}; got {max_size}.")
    size = H.undirected().hyperedge_degree().cpu().numpy()
    return H.remove(np.flatnonzero((size < min_size) | (size > (np.inf if max_size is None else max_size))))


def _check_same_vertices(hypergraphs: Sequence[Edited]) -> None:
    same = [all(isinstance(H, kind) for H in hypergraphs) for kind in (Hypergraph, DirectedHypergraph)]
    if not hypergraphs or not any(same):
        kinds = ", ".join(type(H).__name__ for H in hypergraphs) or "nothing"
        raise TypeError(f"union takes one or more hypergraphs, union(G, H), all directed or none; got {kinds}.")
    sizes = [H.n_vertices for H in hypergraphs]
    if len(set(sizes)) > 1:
        raise ValueError(f"hypergraphs must have the same number of vertices; got {sizes}.")
    first, *others = [H.vertex_names for H in hypergraphs if H.vertex_names is not None] or [np.empty(0)]
    for names in others:
        differ = np.flatnonzero(first != names)
        if differ.size:
            raise ValueError(
                f"hypergraphs must have the same vertices in the same order; vertex {differ[0]} is "
                f"{show_name(first, differ[0])} in one and {show_name(names, differ[0])} in another."
            )


def _names_of_all(hypergraphs: Sequence[Edited], prefixes: Sequence[str] | None) -> Names | None:
    if prefixes is not None:
        names: list[Any] = [
            f"{prefix}{name}"
            for prefix, H in zip(prefixes, hypergraphs, strict=True)
            for name in (range(H.n_hyperedges) if H.hyperedge_names is None else H.hyperedge_names)
        ]
    elif all(H.hyperedge_names is None for H in hypergraphs):
        return None
    else:
        names = list(chain.from_iterable(_names_of(H, place) for place, H in enumerate(hypergraphs)))
    name, occurrences = Counter(names).most_common(1)[0] if names else (None, 1)
    if occurrences > 1:
        raise ValueError(
            f"names of hyperedges must all be different; {name!r} occurs {occurrences} times. "
            "Pass a prefix for each hypergraph, e.g. prefixes=['title: ', 'text: ']."
        )
    return np.fromiter(names, dtype=object, count=len(names))  # np.array would split tuples


def _names_of(H: Hypergraph | DirectedHypergraph, place: int) -> list[Any]:
    if H.hyperedge_names is None:
        return [(place, number) for number in range(H.n_hyperedges)]
    return list(H.hyperedge_names)
