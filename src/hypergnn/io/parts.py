"""The common form of all formats that identify vertices and hyperedges by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn._utils.checks import Names, are_integers
from hypergnn.io.losses import READING, refuse
from hypergnn.structures.hypergraph import Hypergraph

Attributes = dict[str, Any]


@dataclass
class Parts:
    """A hypergraph as names, attributes and incidences.

    Vertices and hyperedges are in order. The ``weight`` and the ``centroid`` (the name of a vertex) of a hyperedge are
    attributes like any other.
    """

    vertices: dict[Hashable, Attributes] = field(default_factory=dict)
    hyperedges: dict[Hashable, Attributes] = field(default_factory=dict)
    incidences: list[tuple[Hashable, Hashable, Attributes]] = field(default_factory=list)
    """Vertex, hyperedge and attributes of each incidence."""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def members(self) -> dict[Hashable, list[Hashable]]:
        """The vertices of each hyperedge."""
        members: dict[Hashable, list[Hashable]] = {hyperedge: [] for hyperedge in self.hyperedges}
        for vertex, hyperedge, _ in self.incidences:
            members[hyperedge].append(vertex)
        return members


def to_parts(H: Hypergraph, *, named: bool = True) -> Parts:
    """Split ``H`` into parts; numbers serve as names if there are none, or if not ``named``."""
    vertices = labels(H.vertex_names if named else None, H.n_vertices)
    hyperedges = labels(H.hyperedge_names if named else None, H.n_hyperedges)
    attributes: list[Attributes] = [{"weight": weight} for weight in H.weight.tolist()]
    for position, vertex in enumerate([] if H.centroid is None else H.centroid.tolist()):
        if vertex >= 0:
            attributes[position]["centroid"] = vertices[vertex]
    pairs = zip(H.vertex.tolist(), H.hyperedge.tolist(), strict=True)
    return Parts(
        vertices={vertex: {} for vertex in vertices},
        hyperedges=dict(zip(hyperedges, attributes, strict=True)),
        incidences=[(vertices[vertex], hyperedges[hyperedge], {}) for vertex, hyperedge in pairs],
    )


def from_parts(
    parts: Parts, *, ignore: Collection[str] = (), directed: bool = False, is_complex: bool = False
) -> Hypergraph:
    """Make a hypergraph from ``parts``; raise if something would be lost that is not in ``ignore``.

    Args:
        parts: Names, attributes and incidences.
        ignore: Words of :mod:`hypergnn.io.losses`.
        directed: Whether the source is declared as directed.
        is_complex: Whether the source is declared as a simplicial complex.
    """
    refuse("a Hypergraph", _losses(parts, directed, is_complex), ignore, READING)
    vertex_names, vertices = number(parts.vertices)
    hyperedge_names, hyperedges = number(parts.hyperedges)
    pairs = [(vertex, hyperedge) for vertex, hyperedge, _ in parts.incidences]
    if "direction" in ignore and (directed or _has_direction(parts)):  # a vertex may be in both the head and the tail
        pairs = list(dict.fromkeys(pairs))
    _check_unique(pairs)
    weight, centroid = [1.0] * len(hyperedges), [-1] * len(hyperedges)
    for name, attributes in parts.hyperedges.items():
        weight[hyperedges[name]] = attributes.get("weight", 1.0)
        if _has_centroid(parts, attributes):
            centroid[hyperedges[name]] = vertices[attributes["centroid"]]
    return Hypergraph.from_incidence(
        [vertices[vertex] for vertex, _ in pairs],
        [hyperedges[hyperedge] for _, hyperedge in pairs],
        len(vertices),
        len(hyperedges),
        weight=weight,
        centroid=np.array(centroid, dtype=np.int64),
        vertex_names=vertex_names,
        hyperedge_names=hyperedge_names,
    )


def labels(names: Names | None, size: int) -> list[Any]:
    """The name of each vertex or hyperedge, or its number if there are no names."""
    if names is None:
        return list(range(size))
    # Not names.tolist(): it turns dates into integers and leaves NumPy scalars in object arrays.
    return [name.item() if isinstance(name, np.generic) and name.dtype.kind in "biuf" else name for name in names]


def misread_names(H: Hypergraph) -> str:
    """Describe the names of ``H`` that would be read back as numbers (0, 1, 2, … in any order); empty if none."""
    for names, size in ((H.vertex_names, H.n_vertices), (H.hyperedge_names, H.n_hyperedges)):
        if names is not None and are_integers(names) and set(names.tolist()) == set(range(size)):
            return f"names that are the numbers 0 to {size - 1} in another order, which would be read back as numbers"
    return ""


def number(names: Iterable[Hashable]) -> tuple[Names | None, dict[Hashable, int]]:
    """Number names in their order; names that are exactly 0, 1, 2, …, in any order, are the numbers themselves.

    Returns:
        The names in the order of their numbers, ``None`` if they are the numbers themselves, and the number of each.
    """
    listed = list(names)
    if are_integers(listed):
        if set(listed) == set(range(len(listed))):
            return None, {name: int(name) for name in listed}  # type: ignore[call-overload]
        fit = all(-(2**63) <= int(name) < 2**63 for name in listed)  # type: ignore[call-overload]
        return np.array(listed, dtype=np.int64 if fit else object), {
            name: position for position, name in enumerate(listed)
        }
    array: npt.NDArray[Any] = np.fromiter(listed, dtype=object, count=len(listed))
    return array, {name: position for position, name in enumerate(listed)}


def _losses(parts: Parts, directed: bool, is_complex: bool) -> dict[str, str]:
    vertices = list(parts.vertices.items())
    incidences = [((vertex, hyperedge), attributes) for vertex, hyperedge, attributes in parts.incidences]
    spare = {
        "vertices": {key for _, attributes in vertices for key in attributes} - {"weight"},
        "hyperedges": {
            key
            for attributes in parts.hyperedges.values()
            for key in attributes
            if key != "weight" and not (key == "centroid" and _has_centroid(parts, attributes))
        },
        "incidences": {key for _, attributes in incidences for key in attributes} - {"weight", "direction"},
    }
    listed = [f"of {kind} ({', '.join(sorted(map(repr, keys)))})" for kind, keys in spare.items() if keys]
    return {
        "direction": "the direction of hyperedges" if directed or _has_direction(parts) else "",
        "asc": "that this is a simplicial complex, with all subsets of its hyperedges" if is_complex else "",
        "vertex_weights": _weights_lost("vertex", vertices),
        "incidence_weights": _weights_lost("incidence", incidences),
        "attrs": f"attributes {', '.join(listed)}" if listed else "",
        "metadata": f"metadata ({', '.join(map(repr, parts.metadata))})" if parts.metadata else "",
    }


def _weights_lost(kind: str, records: Sequence[tuple[Hashable, Attributes]]) -> str:
    weights = ((name, attributes.get("weight", 1)) for name, attributes in records)
    weights = (
        (name, weight) for name, weight in weights if not (isinstance(weight, (int, float, np.number)) and weight == 1)
    )
    return next((f"the weight of {kind} {name!r}, {weight}" for name, weight in weights), "")


def _has_direction(parts: Parts) -> bool:
    return any("direction" in attributes for _, _, attributes in parts.incidences)


def _has_centroid(parts: Parts, attributes: Attributes) -> bool:
    centroid = attributes.get("centroid")
    return isinstance(centroid, Hashable) and centroid in parts.vertices


def _check_unique(pairs: list[tuple[Hashable, Hashable]]) -> None:
    if len(set(pairs)) < len(pairs):
        (vertex, hyperedge), times = Counter(pairs).most_common(1)[0]
        raise ValueError(
            f"incidences must be unique; vertex {vertex!r} occurs {times} times in hyperedge {hyperedge!r}. "
            "Remove the repetitions."
        )
