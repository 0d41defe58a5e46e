"""The structure: ``N`` vertices, ``M`` weighted hyperedges and the incidences between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils.checks import Names, as_centroids, as_members, as_names, as_pairs, as_weight, check_ids, check_size
from hypergnn._utils.display import html_table, listed
from hypergnn.persistence.structures import StoredStructure
from hypergnn.structures.incidence import Segments, group

_SHOWN = 5


@dataclass(frozen=True, eq=False, repr=False)
class Hypergraph(StoredStructure):
    """A hypergraph, checked once when it is made and never changed afterwards.

    Make one with :meth:`from_incidence`, :meth:`from_hyperedges` or :meth:`from_scipy`; the constructor itself takes
    arrays that those have sorted and checked. Incidences are kept in the order of ``(vertex, hyperedge)`` pairs,
    and everything that has one entry per incidence follows that order.

    Attributes:
        vertex: Vertex of each incidence, ``(n_incidences,)``, ascending.
        hyperedge: Hyperedge of each incidence, ``(n_incidences,)``, ascending within a vertex.
        weight: Weight of each hyperedge, ``W`` of the paper, ``(M,)``, positive, float64.
        centroid: Vertex around which each hyperedge was built, ``(M,)``, -1 where there is none; ``None`` if no
            hyperedge has one.
        is_centred: Whether every hyperedge has a centroid.
        vertex_names: What each vertex is called, ``(N,)``, if that is known; names 0, 1, 2, … are no names.
        hyperedge_names: What each hyperedge is called, ``(M,)``, if that is known.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=5, weight=[1.0, 3.0])
        >>> H
        Hypergraph(5 vertices, 2 hyperedges, 6 incidences, weighted)
        >>> H.vertex_degree().tolist(), H.hyperedge_degree().tolist()
        ([1.0, 4.0, 4.0, 3.0, 0.0], [3.0, 3.0])
    """

    vertex: Tensor
    hyperedge: Tensor
    vertex_offsets: Tensor
    hyperedge_offsets: Tensor
    hyperedge_members: Tensor  # vertices of the first hyperedge, then those of the second, …
    hyperedge_position: Tensor  # place of each of those in the order of vertex and hyperedge
    weight: Tensor
    _vertex_degree: Tensor  # D  (N,) float64
    _hyperedge_degree: Tensor  # B  (M,) float64
    centroid: Tensor | None = None
    is_centred: bool = False
    vertex_names: Names | None = None
    hyperedge_names: Names | None = None
    vertex_places: Tensor | None = None  # in a part: where each stands in the whole, so that dropout is drawn as there
    incidence_places: Tensor | None = None

    @classmethod
    def from_incidence(
        cls,
        vertex: Any,
        hyperedge: Any,
        n_vertices: int,
        n_hyperedges: int,
        weight: Any = None,
        centroid: Any = None,
        vertex_names: Any = None,
        hyperedge_names: Any = None,
    ) -> Hypergraph:
        """Make a hypergraph from its incidences: vertex ``vertex[k]`` belongs to hyperedge ``hyperedge[k]``.

        Args:
            vertex: Integer ids below ``n_vertices``, one per incidence, in any order.
            hyperedge: Integer ids below ``n_hyperedges``, one per incidence; no pair may occur twice.
            n_vertices: Number of vertices; those without an incidence are isolated, which is legal.
            n_hyperedges: Number of hyperedges; those without an incidence are empty, which is legal.
            weight: Positive weight of each hyperedge, ``(n_hyperedges,)``; all ones if omitted.
            centroid: Vertex around which each hyperedge was built, ``(n_hyperedges,)``, -1 where there is none.
            vertex_names: What each vertex is called, ``(n_vertices,)``, no two alike.
            hyperedge_names: What each hyperedge is called, ``(n_hyperedges,)``, no two alike.

        Raises:
            TypeError: If ids are not integers.
            ValueError: If an id is out of range, a pair occurs twice, a weight is not positive and finite, or a
                shape does not fit.

        Example:
            >>> Hypergraph.from_incidence([0, 1, 1], [0, 0, 1], n_vertices=2, n_hyperedges=3)
            Hypergraph(2 vertices, 3 hyperedges, 3 incidences)
        """
        n_vertices = check_size("n_vertices", n_vertices)
        n_hyperedges = check_size("n_hyperedges", n_hyperedges)
        vertex = check_ids("vertex", vertex, n_vertices, "n_vertices")
        hyperedge = check_ids("hyperedge", hyperedge, n_hyperedges, "n_hyperedges")
        if vertex.size != hyperedge.size:
            raise ValueError(
                f"vertex and hyperedge must have one entry per incidence each; got {vertex.size} and {hyperedge.size}."
            )
        given: dict[str, Any] = {
            "centroid": as_centroids(centroid, n_vertices, n_hyperedges),
            "vertex_names": as_names("vertex_names", vertex_names, n_vertices),
            "hyperedge_names": as_names("hyperedge_names", hyperedge_names, n_hyperedges),
        }
        weights = None if weight is None else as_weight(weight, n_hyperedges)
        grouped = group(vertex, hyperedge, n_vertices, n_hyperedges)
        parts = dict(zip(cls._names("Tensor"), grouped, strict=False)) | given
        H = cls(**parts, **cls._derive(parts))
        return H if weights is None else H._weighted(weights)

    @classmethod
    def from_hyperedges(
        cls,
        hyperedges: Iterable[Sequence[int]],
        n_vertices: int,
        weight: Any = None,
        centroid: Any = None,
        vertex_names: Any = None,
        hyperedge_names: Any = None,
    ) -> Hypergraph:
        """Make a hypergraph from the list of the vertices of each hyperedge.

        Args:
            hyperedges: For each hyperedge its vertices, without repetition; an empty list is an empty hyperedge.
            n_vertices: Number of vertices.
            weight: As in :meth:`from_incidence`.
            centroid: As in :meth:`from_incidence`.
            vertex_names: As in :meth:`from_incidence`.
            hyperedge_names: As in :meth:`from_incidence`.

        Example:
            >>> Hypergraph.from_hyperedges([[0, 2], [], [1]], n_vertices=4)
            Hypergraph(4 vertices, 3 hyperedges, 3 incidences)
        """
        lists = [as_members(members) for members in hyperedges]
        sizes = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        vertex, hyperedge = list(chain.from_iterable(lists)), np.repeat(np.arange(len(lists)), sizes)
        given = (weight, centroid, vertex_names, hyperedge_names)
        return cls.from_incidence(vertex, hyperedge, n_vertices, len(lists), *given)

    @classmethod
    def from_scipy(
        cls,
        incidence: sparse.sparray | sparse.spmatrix,
        weight: Any = None,
        centroid: Any = None,
        vertex_names: Any = None,
        hyperedge_names: Any = None,
    ) -> Hypergraph:
        """Make a hypergraph from a sparse ``(N, M)`` incidence matrix of zeros and ones.

        Args:
            incidence: SciPy sparse matrix or array, one row per vertex and one column per hyperedge.
            weight: As in :meth:`from_incidence`.
            centroid: As in :meth:`from_incidence`.
            vertex_names: As in :meth:`from_incidence`.
            hyperedge_names: As in :meth:`from_incidence`.

        Example:
            >>> from scipy.sparse import csr_array
            >>> Hypergraph.from_scipy(csr_array([[1, 0], [1, 1], [0, 1]]))
            Hypergraph(3 vertices, 2 hyperedges, 4 incidences)
        """
        advice = "Give hyperedge weights as weight; make distances and the like incidences with (matrix != 0)."
        vertex, hyperedge, sizes = as_pairs("incidence", incidence, "vertices, hyperedges", advice)
        return cls.from_incidence(vertex, hyperedge, *sizes, weight, centroid, vertex_names, hyperedge_names)

    @property
    def n_vertices(self) -> int:
        """Number of vertices, isolated ones included (``N``)."""
        return self.vertex_offsets.shape[0] - 1

    @property
    def n_hyperedges(self) -> int:
        """Number of hyperedges, empty ones included (``M``)."""
        return self.hyperedge_offsets.shape[0] - 1

    @property
    def n_incidences(self) -> int:
        """Number of (vertex, hyperedge) pairs."""
        return self.vertex.shape[0]

    @property
    def n_terms(self) -> int:
        """Terms of each feature in a product with the transition, there and back: what it costs."""
        return 2 * self.n_incidences

    @property
    def device(self) -> torch.device:
        """Where the arrays are."""
        return self.vertex.device

    @property
    def vertices(self) -> Segments:
        """Incidences grouped by vertex: what a vertex gathers from its hyperedges."""
        return Segments(
            self.vertex_offsets,
            self.hyperedge,
            None,
            self.hyperedge_offsets,
            self.hyperedge_members,
            self.hyperedge_position,
        )

    @property
    def hyperedges(self) -> Segments:
        """Incidences grouped by hyperedge: what a hyperedge gathers from its vertices."""
        return self.vertices.reversed()

    def vertex_degree(self) -> Tensor:
        """Sum of the weights of the hyperedges of each vertex, ``D`` of the paper, ``(N,)`` float64."""
        return self._vertex_degree.clone()

    def hyperedge_degree(self) -> Tensor:
        """Number of vertices of each hyperedge, ``B`` of the paper, ``(M,)`` float64."""
        return self._hyperedge_degree.clone()

    def to_hyperedges(self) -> list[list[int]]:
        """The vertices of each hyperedge, in ascending order.

        Example:
            >>> Hypergraph.from_hyperedges([[2, 0], [], [1]], n_vertices=4).to_hyperedges()
            [[0, 2], [], [1]]
        """
        members, offsets = self.hyperedge_members.tolist(), self.hyperedge_offsets.tolist()
        return [members[start:stop] for start, stop in pairwise(offsets)]

    def around(self, vertices: Tensor) -> Hypergraph:
        """The same vertices and degrees, and of the hyperedges only those that some vertices are in.

        A convolution gives the same on those vertices, at less cost.

        Example:
            >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2], [2, 3]], n_vertices=4)
            >>> H.around(torch.tensor([0])), H.around(torch.tensor([0])).vertex_degree().tolist()
            (Hypergraph(4 vertices, 1 hyperedges, 2 incidences), [1.0, 2.0, 2.0, 1.0])
        """
        is_kept = torch.zeros(self.n_hyperedges, dtype=torch.bool, device=self.device)
        is_kept[self.hyperedge[torch.isin(self.vertex, vertices)].long()] = True
        kept = is_kept[self.hyperedge.long()]
        smaller = Hypergraph.from_incidence(
            self.vertex[kept],
            (is_kept.cumsum(0) - 1)[self.hyperedge[kept].long()],
            n_vertices=self.n_vertices,
            n_hyperedges=int(is_kept.sum()),
            weight=self.weight[is_kept],
        )
        return replace(smaller.to(self.device), _vertex_degree=self._vertex_degree)

    def to_scipy(self) -> sparse.csr_array:
        """The ``(N, M)`` incidence matrix of zeros and ones; the weights stay in :attr:`weight`.

        Example:
            >>> Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2).to_scipy().toarray().tolist()
            [[1.0, 0.0], [1.0, 1.0]]
        """
        indices, offsets = self.hyperedge.cpu().numpy(), self.vertex_offsets.cpu().numpy()
        shape = (self.n_vertices, self.n_hyperedges)
        return sparse.csr_array((np.ones(self.n_incidences), indices.copy(), offsets.copy()), shape=shape)

    def _weighted(self, weight: npt.NDArray[np.float64]) -> Hypergraph:
        # In the order of the incidences, so that the sum does not depend on the order in which they were given.
        arrays = (np.ones(self.n_incidences), self.hyperedge.numpy(), self.vertex_offsets.numpy())
        degree = sparse.csr_array(arrays, shape=(self.n_vertices, self.n_hyperedges)) @ weight
        return replace(self, weight=torch.from_numpy(weight), _vertex_degree=torch.from_numpy(degree))

    @classmethod
    def _derive(cls, parts: Mapping[str, Any]) -> dict[str, Any]:
        centroid = parts.get("centroid")
        n_hyperedges = parts["hyperedge_offsets"].shape[0] - 1
        return {
            "weight": torch.ones(n_hyperedges, dtype=torch.float64),
            "_vertex_degree": parts["vertex_offsets"].diff().double(),
            "_hyperedge_degree": parts["hyperedge_offsets"].diff().double(),
            "is_centred": centroid is not None and bool((centroid >= 0).all()),
        }

    @classmethod
    def _check(cls, parts: Mapping[str, Any]) -> None:
        super()._check(parts)
        n_vertices, n_hyperedges = parts["vertex_offsets"].shape[0] - 1, parts["hyperedge_offsets"].shape[0] - 1
        as_weight(parts["weight"], n_hyperedges)
        as_centroids(parts.get("centroid"), n_vertices, n_hyperedges)
        for name, size in {"vertex_names": n_vertices, "hyperedge_names": n_hyperedges}.items():
            if parts.get(name) is not None and parts[name].shape != (size,):
                raise ValueError(f"{name} must have shape ({size},), one name each; got {parts[name].shape}.")

    def _rebuilt(self) -> Hypergraph:
        sizes = (self.n_vertices, self.n_hyperedges)
        return self.from_incidence(self.vertex, self.hyperedge, *sizes, self.weight, self.centroid)

    def __repr__(self) -> str:
        """Sizes at a glance."""
        counts = {"vertices": self.n_vertices, "hyperedges": self.n_hyperedges, "incidences": self.n_incidences}
        parts = [f"{count} {name}" for name, count in counts.items()]
        if self.device.type != "meta" and bool((self.weight != 1).any()):
            parts.append("weighted")
        if self.centroid is not None:
            parts.append("centred" if self.is_centred else "partly centred")
        if self.device.type != "cpu":
            parts.append(f"device={str(self.device)!r}")
        return f"Hypergraph({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Sizes, and the first hyperedges with some of their vertices."""
        if self.device.type == "meta":
            return html_table(repr(self), [], [])
        members, offsets = self.hyperedge_members, self.hyperedge_offsets[: _SHOWN + 1].tolist()
        rows = [
            [
                str(_name(self.hyperedge_names, number)),
                stop - start,
                float(self.weight[number]),
                listed(_name(self.vertex_names, one) for one in members[start : min(stop, start + 11)].tolist()),
            ]
            for number, (start, stop) in enumerate(pairwise(offsets))
        ]
        more = f", the first {_SHOWN} hyperedges" if self.n_hyperedges > _SHOWN else ""
        return html_table(f"{self!r}{more}", ["hyperedge", "size", "weight", "vertices"], rows)


def _name(names: Names | None, number: int) -> Any:
    return number if names is None else names[number]
