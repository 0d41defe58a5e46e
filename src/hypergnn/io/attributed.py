"""A hypergraph with everything else that a file or another library says about it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hypergnn._utils.checks import Names, check_structure
from hypergnn._utils.times import read_times
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Incidence

Attributes = dict[str, Any]
AnyHypergraph = Hypergraph | DirectedHypergraph


class AttributedHypergraph:
    """A hypergraph and, beside it, tables of attributes.

    A table is a list of dictionaries, one row per vertex, hyperedge or incidence, in the order of their numbers.
    A row holds only the attributes that are set. ``pandas.DataFrame(attributed.vertices)`` makes a data frame, and
    ``frame.to_dict("records")`` a table.

    Args:
        hypergraph: The hypergraph, directed or not. The weights of its hyperedges, its centroids, its names and its
            times are part of it.
        vertices: One row per vertex; ``None`` if no vertex has attributes.
        hyperedges: One row per hyperedge.
        incidences: One row per incidence, in the order of ``hypergraph.vertex`` and ``hypergraph.hyperedge``. In a
            directed hypergraph first those of the tails and then those of the heads, each by vertex and hyperedge.
        vertex_weight: Weight of each vertex, ``(N,)``; ``None`` if all are 1.
        incidence_weight: Weight of each incidence, in the same order; ``None`` if all are 1. Give
            ``incidence_weight.unsqueeze(-1)`` to ``functional.hypergraph_attention`` as ``incidence`` to use them.
        metadata: Attributes of the hypergraph as a whole.
        is_complex: Whether the hyperedges describe an abstract simplicial complex: they stand for all their faces.

    Example:
        >>> from hypergnn import Hypergraph, io
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2)
        >>> attributed = io.AttributedHypergraph(H, vertices=[{"colour": "red"}, {}], vertex_weight=[1.0, 2.5])
        >>> attributed
        AttributedHypergraph(2 vertices, 2 hyperedges, 3 incidences; vertices: colour, weight)
        >>> attributed.vertices[0], attributed.vertex_weight.tolist()
        ({'colour': 'red'}, [1.0, 2.5])
    """

    def __init__(
        self,
        hypergraph: AnyHypergraph,
        *,
        vertices: Sequence[Mapping[str, Any]] | None = None,
        hyperedges: Sequence[Mapping[str, Any]] | None = None,
        incidences: Sequence[Mapping[str, Any]] | None = None,
        vertex_weight: Any = None,
        incidence_weight: Any = None,
        metadata: Mapping[str, Any] | None = None,
        is_complex: bool = False,
    ) -> None:
        """Check the sizes and copy the tables."""
        if not isinstance(hypergraph, DirectedHypergraph):
            check_structure("hypergraph", hypergraph, Hypergraph, "from_hyperedges(…)")
        n_incidences = sum(pairs.n_pairs for pairs in sides(hypergraph))
        self.hypergraph = hypergraph
        self.vertices = _table("vertices", vertices, hypergraph.n_vertices)
        self.hyperedges = _table("hyperedges", hyperedges, hypergraph.n_hyperedges)
        self.incidences = _table("incidences", incidences, n_incidences)
        self.vertex_weight = _weight("vertex_weight", vertex_weight, hypergraph.n_vertices)
        self.incidence_weight = _weight("incidence_weight", incidence_weight, n_incidences)
        self.metadata = _row("metadata", {} if metadata is None else metadata)
        self.is_complex = is_complex
        _check_centroids(hypergraph, self.hyperedges)
        _check_times(hypergraph, self.hyperedges)

    def equals(self, other: object) -> bool:
        """Whether both have the same hypergraph, weights, attributes and metadata.

        Example:
            >>> from hypergnn import Hypergraph, io
            >>> H = Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
            >>> io.AttributedHypergraph(H).equals(io.AttributedHypergraph(H, metadata={"name": "small"}))
            False
        """
        if not isinstance(other, AttributedHypergraph):
            return False
        tables = ("vertices", "hyperedges", "incidences", "metadata", "is_complex")
        weights = ((self.vertex_weight, other.vertex_weight), (self.incidence_weight, other.incidence_weight))
        return (
            self.hypergraph.equals(other.hypergraph)
            and all(_are_same(getattr(self, name), getattr(other, name)) for name in tables)
            and all(
                one is two or (one is not None and two is not None and torch.equal(one, two)) for one, two in weights
            )
        )

    def __repr__(self) -> str:
        """Sizes, and the names of the attributes."""
        weighted = {"vertices": self.vertex_weight, "incidences": self.incidence_weight}
        parts = []
        for name in ("vertices", "hyperedges", "incidences"):
            keys = [*dict.fromkeys(key for row in getattr(self, name) for key in row)]
            keys += ["weight"] if weighted.get(name) is not None else []
            parts += [f"; {name}: {', '.join(keys)}"] if keys else []
        parts += [f"; metadata: {', '.join(self.metadata)}"] if self.metadata else []
        parts += ["; simplicial complex"] if self.is_complex else []
        return f"AttributedHypergraph({self.hypergraph._sizes()}{''.join(parts)})"


def sides(H: AnyHypergraph) -> tuple[Incidence, ...]:
    """The incidences, or those of the tails and those of the heads."""
    return (H.tails, H.heads) if isinstance(H, DirectedHypergraph) else (H.incidence,)


def is_real(value: object) -> bool:
    """Whether ``value`` is a number, and not a truth value."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def names_a_vertex(value: object, names: Any) -> bool:
    """Whether a value of the attribute ``centroid`` is one of the names; ``True`` is not the number 1."""
    return isinstance(value, Hashable) and not isinstance(value, bool) and value in names


def _table(name: str, rows: Any, size: int) -> list[Attributes]:
    if rows is None:
        return [{} for _ in range(size)]
    if not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)):
        raise TypeError(f"{name} must be a list of dictionaries; got {type(rows).__name__}.")
    if len(rows) != size:
        raise ValueError(f"{name} must have {size} rows, one per entry; got {len(rows)}.")
    return [_row(f"{name}[{number}]", row) for number, row in enumerate(rows)]


def _row(name: str, row: Any) -> Attributes:
    if not isinstance(row, Mapping):
        raise TypeError(f"{name} must be a dictionary; got {type(row).__name__}.")
    for key in row:
        if not isinstance(key, str):
            raise TypeError(f"{name} must have text as keys; got {key!r}.")
    return dict(row)


def _weight(name: str, values: Any, size: int) -> Tensor | None:
    if values is None:
        return None
    try:
        weight = torch.as_tensor(values, dtype=torch.float64).detach().clone()
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise ValueError(f"{name} must hold {size} numbers: {error}") from error
    if weight.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},); got {tuple(weight.shape)}.")
    if not bool(weight.isfinite().all()):
        raise ValueError(f"{name} must be finite; got {weight[~weight.isfinite()][0].item()}.")
    return weight if bool((weight != 1).any()) else None


def _check_centroids(H: AnyHypergraph, rows: list[Attributes]) -> None:
    marked = [number for number, row in enumerate(rows) if "centroid" in row]
    names: Names | range | set[Any] = range(H.n_vertices) if H.vertex_names is None else set(H.vertex_names.tolist())
    for number in marked:
        has_one = H.centroid is not None and int(H.centroid[number]) >= 0
        if has_one or names_a_vertex(rows[number]["centroid"], names):
            raise ValueError(
                f"hyperedges[{number}] must not have the attribute 'centroid': that is the vertex that the hyperedge "
                "was built around, an argument of Hypergraph."
            )


def _check_times(H: AnyHypergraph, rows: list[Attributes]) -> None:
    marked = [number for number, row in enumerate(rows) if "time" in row]
    if marked and (H.time is not None or read_times([row.get("time") for row in rows]) is not None):
        raise ValueError(
            f"hyperedges[{marked[0]}] must not have the attribute 'time': times belong to the hypergraph. Pass "
            "time=… to Hypergraph."
        )


def _are_same(one: Any, other: Any) -> bool:
    """Equality that tells 1 from ``True`` and does not trip over arrays."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_are_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_are_same(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(np.all(one == other))
