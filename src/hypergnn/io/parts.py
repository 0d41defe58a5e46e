"""The common form of all formats that identify vertices and hyperedges by name."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from torch import Tensor

from hypergnn._utils.checks import Names, are_integers
from hypergnn._utils.times import plain_times, read_times
from hypergnn.io.attributed import AnyHypergraph, AttributedHypergraph, Attributes, is_real, names_a_vertex, sides
from hypergnn.io.losses import READING, check_ignore, refuse
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.directed_parts import ROLES
from hypergnn.structures.hypergraph import Hypergraph

Pair = tuple[Hashable, Hashable]
"""A vertex and a hyperedge."""


class Row(NamedTuple):
    """Attributes and weight of a vertex, a hyperedge or an incidence; without a weight, it is 1."""

    attrs: Attributes = {}  # noqa: RUF012 - never changed
    weight: Any = None

    @classmethod
    def of(cls, attrs: Mapping[str, Any], weight: Any = None) -> Row:
        """Take the weight from ``attrs`` if it is not given apart; one that is there as well is no attribute."""
        attrs, inner = dict(attrs), attrs.get("weight")
        if is_real(inner) and (weight is None or inner == weight):
            weight = attrs.pop("weight")
        return cls(attrs, weight)

    def updated(self, later: Row) -> Row:
        """Both together; where they differ, the later one is right."""
        return Row({**self.attrs, **later.attrs}, self.weight if later.weight is None else later.weight)

    def differs(self, later: Row) -> bool:
        """Whether both set the same thing to different values."""
        shared = self.attrs.keys() & later.attrs.keys()
        weights = (self.weight, later.weight)
        return any(self.attrs[key] != later.attrs[key] for key in shared) or (
            None not in weights and weights[0] != weights[1]
        )

    def flat(self, where: str) -> Attributes:
        """One dictionary, with ``weight`` as an attribute like any other; raise if there is another one."""
        if self.weight is None:
            return self.attrs
        if "weight" in self.attrs and self.weight != 1:
            raise ValueError(
                f"{where} must have one weight; it has weight {self.weight} and an attribute 'weight', "
                f"{self.attrs['weight']!r}. Rename the attribute."
            )
        return {"weight": self.weight, **self.attrs}


@dataclass
class Parts:
    """A hypergraph as names, attributes and incidences, in order.

    The ``centroid`` of a hyperedge (the name of a vertex) and its ``time`` are attributes like any other.
    """

    vertices: dict[Hashable, Row] = field(default_factory=dict)
    hyperedges: dict[Hashable, Row] = field(default_factory=dict)
    incidences: dict[Pair, Row] = field(default_factory=dict)
    """By vertex and hyperedge; of a directed hypergraph, those of the tails."""
    heads: dict[Pair, Row] | None = None
    """The incidences of the heads; ``None`` if the hypergraph is undirected."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_complex: bool = False

    def cells(self) -> list[tuple[Pair, Row]]:
        """All incidences, those of the tails first."""
        return [*self.incidences.items(), *(self.heads or {}).items()]

    def drop_direction(self) -> None:
        """Unite tails and heads."""
        for pair, row in (self.heads or {}).items():
            self.incidences[pair] = self.incidences[pair].updated(row) if pair in self.incidences else row
        self.heads = None

    def members(self, *, of_heads: bool = False) -> dict[Hashable, list[Hashable]]:
        """The vertices of each hyperedge; of a directed one, those of its tail or of its head."""
        members: dict[Hashable, list[Hashable]] = {hyperedge: [] for hyperedge in self.hyperedges}
        for vertex, hyperedge in (self.heads or {}) if of_heads else self.incidences:
            members[hyperedge].append(vertex)
        return members


def to_parts(H: AnyHypergraph | AttributedHypergraph, *, named: bool = True) -> Parts:
    """Split ``H`` into parts; numbers serve as names if there are none, or if not ``named``.

    Every hyperedge has its weight; vertices and incidences have one if not all weights are 1.
    """
    attributed = H if isinstance(H, AttributedHypergraph) else AttributedHypergraph(H)
    H = attributed.hypergraph
    vertices = labels(H.vertex_names if named else None, H.n_vertices)
    hyperedges = labels(H.hyperedge_names if named else None, H.n_hyperedges)
    rows = [dict(row) for row in attributed.hyperedges]
    for position, vertex in enumerate([] if H.centroid is None else H.centroid.tolist()):
        if vertex >= 0:
            rows[position]["centroid"] = vertices[vertex]
    for row, when in zip(rows, [] if H.time is None else plain_times(H.time), strict=False):
        row["time"] = when
    cells, start = [], 0
    for pairs in sides(H):
        names = zip(pairs.rows().tolist(), pairs.members.tolist(), strict=True)
        own = slice(start, start + pairs.n_pairs)
        weight = None if attributed.incidence_weight is None else attributed.incidence_weight[own]
        named_pairs = ((vertices[vertex], hyperedges[hyperedge]) for vertex, hyperedge in names)
        cells.append(_with_names(named_pairs, attributed.incidences[own], weight))
        start += pairs.n_pairs
    return Parts(
        vertices=_with_names(vertices, attributed.vertices, attributed.vertex_weight),
        hyperedges=_with_names(hyperedges, rows, H.weight),
        incidences=cells[0],
        heads=cells[1] if len(cells) > 1 else None,
        metadata=attributed.metadata,
        is_complex=attributed.is_complex,
    )


def _with_names(names: Iterable[Any], attributes: list[Attributes], weight: Tensor | None) -> dict[Any, Row]:
    if weight is None and not any(attributes):
        return dict.fromkeys(names, Row())
    weights = [None] * len(attributes) if weight is None else weight.tolist()
    return dict(zip(names, map(Row, attributes, weights), strict=True))


def from_parts(parts: Parts, *, ignore: Collection[str], attributes: bool) -> AnyHypergraph | AttributedHypergraph:
    """Make a hypergraph from ``parts``, with its attributes if asked; raise if something would be lost.

    Args:
        parts: Names, attributes and incidences.
        ignore: Words of :mod:`hypergnn.io.losses` for what may be dropped.
        attributes: Whether to return an :class:`AttributedHypergraph`, which loses nothing.
    """
    check_ignore(ignore, READING)
    if "direction" in ignore:
        parts.drop_direction()
    if attributes:
        return _assemble(parts)
    refuse("a Hypergraph", _losses(parts), ignore, READING, or_else="attributes=True to read it into tables")
    return _numbered(parts)[0]


def _numbered(parts: Parts) -> tuple[AnyHypergraph, list[tuple[int, int, int]], list[Row], list[Row]]:
    """The hypergraph, the side and the numbers of each incidence, and the rows of vertices and hyperedges in order."""
    vertex_names, vertices = number(parts.vertices)
    hyperedge_names, hyperedges = number(parts.hyperedges)
    listed = [parts.incidences, *([] if parts.heads is None else [parts.heads])]
    cells = [
        (side, vertices[vertex], hyperedges[hyperedge])
        for side, pairs in enumerate(listed)
        for vertex, hyperedge in pairs
    ]
    of_vertices, of_hyperedges = _in_order(parts.vertices, vertices), _in_order(parts.hyperedges, hyperedges)
    centroid = [
        vertices[row.attrs["centroid"]] if names_a_vertex(row.attrs.get("centroid"), parts.vertices) else -1
        for row in of_hyperedges
    ]
    ids = ([vertex for _, vertex, _ in cells], [hyperedge for _, _, hyperedge in cells])
    sizes = (len(vertices), len(hyperedges))
    names = (vertex_names, hyperedge_names)
    given = (_weights("hyperedge", of_hyperedges), np.array(centroid, dtype=np.int64), *names, _times(of_hyperedges))
    H: AnyHypergraph
    if parts.heads is None:
        H = Hypergraph.from_incidence(*ids, *sizes, *given)
    else:
        roles = np.repeat(np.array(ROLES), (len(parts.incidences), len(parts.heads)))
        H = DirectedHypergraph.from_incidence(*ids, roles, *sizes, *given)
    return H, cells, of_vertices, of_hyperedges


def _assemble(parts: Parts) -> AttributedHypergraph:
    H, cells, of_vertices, of_hyperedges = _numbered(parts)
    rows = (row for _, row in parts.cells())
    of_incidences = [row for _, row in sorted(zip(cells, rows, strict=True), key=lambda one: one[0])]
    centroid = [-1] * H.n_hyperedges if H.centroid is None else H.centroid.tolist()
    return AttributedHypergraph(
        H,
        vertices=[row.attrs for row in of_vertices],
        hyperedges=[
            _other_attributes(row.attrs, vertex, has_time=H.time is not None)
            for row, vertex in zip(of_hyperedges, centroid, strict=True)
        ],
        incidences=[row.attrs for row in of_incidences],
        vertex_weight=_weights("vertex", of_vertices),
        incidence_weight=_weights("incidence", of_incidences),
        metadata=dict(parts.metadata),
        is_complex=parts.is_complex,
    )


def labels(names: Names | None, size: int) -> list[Any]:
    """The name of each vertex or hyperedge, or its number if there are no names."""
    if names is None:
        return list(range(size))
    # Not names.tolist(): it turns dates into integers and leaves NumPy scalars in object arrays.
    return [name.item() if isinstance(name, np.generic) and name.dtype.kind in "biuf" else name for name in names]


def misread_names(H: AnyHypergraph) -> str:
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


def _losses(parts: Parts) -> dict[str, str]:
    spare = {
        "vertices": {key for row in parts.vertices.values() for key in row.attrs} - {"weight"},
        "hyperedges": {
            key
            for row in parts.hyperedges.values()
            for key, value in row.attrs.items()
            if key != "centroid" or not names_a_vertex(value, parts.vertices)
        }
        - (set() if _times(parts.hyperedges.values()) is None else {"time"}),
        "incidences": {key for _, row in parts.cells() for key in row.attrs} - {"weight"},
    }
    listed = [f"of {kind} ({', '.join(sorted(map(repr, keys)))})" for kind, keys in spare.items() if keys]
    return {
        "asc": "that this is a simplicial complex, with all subsets of its hyperedges" if parts.is_complex else "",
        "vertex_weights": _weights_lost("vertex", parts.vertices.items()),
        "incidence_weights": _weights_lost("incidence", parts.cells()),
        "attrs": f"attributes {', '.join(listed)}" if listed else "",
        "metadata": f"metadata ({', '.join(map(repr, parts.metadata))})" if parts.metadata else "",
    }


def _weights_lost(kind: str, rows: Iterable[tuple[Any, Row]]) -> str:
    lost = ((name, row.attrs.get("weight", row.weight)) for name, row in rows)
    return next(
        (
            f"the weight of {kind} {name!r}, {weight}"
            for name, weight in lost
            if not (weight is None or (is_real(weight) and weight == 1))
        ),
        "",
    )


def _weights(kind: str, rows: list[Row]) -> list[float]:
    try:
        return [1.0 if row.weight is None else float(row.weight) for row in rows]
    except OverflowError as error:
        raise ValueError(f"the weight of a {kind} must be a finite number; got a whole number beyond 1e308.") from error


def _in_order(rows: Mapping[Hashable, Row], numbers: Mapping[Hashable, int]) -> list[Row]:
    """The rows in the order of their numbers."""
    ordered = [Row()] * len(rows)
    for name, row in rows.items():
        ordered[numbers[name]] = row
    return ordered


def _times(rows: Iterable[Row]) -> Names | None:
    """The times of hyperedges, if all have the attribute ``time`` and it holds numbers or dates."""
    return read_times([row.attrs.get("time") for row in rows])


def _other_attributes(attrs: Attributes, centroid: int, *, has_time: bool) -> Attributes:
    """The attributes of a hyperedge without those that the hypergraph itself holds."""
    own = {"centroid"} if centroid >= 0 else set()
    own |= {"time"} if has_time else set()
    return {key: value for key, value in attrs.items() if key not in own} if own else attrs
