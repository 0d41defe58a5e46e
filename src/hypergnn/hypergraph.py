"""The structure: ``N`` vertices, ``M`` weighted hyperedges and the incidences between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hypergnn.checks import Names, as_ids, as_names, as_weight, check_size
from hypergnn.incidence import Segments, Structure, group

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False, repr=False)
class Hypergraph(Structure):
    """A hypergraph, checked once when it is made and never changed afterwards.

    Make one with :meth:`from_incidence`, :meth:`from_hyperedges` or :meth:`from_scipy`; the constructor itself takes
    arrays that those have sorted and checked. Incidences are kept in the order of ``(vertex, hyperedge)`` pairs,
    and everything that has one entry per incidence follows that order.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=5, weight=[1.0, 3.0])
        >>> H
        Hypergraph(5 vertices, 2 hyperedges, 6 incidences, weighted)
        >>> H.vertex_degree().tolist(), H.hyperedge_degree().tolist()
        ([1.0, 4.0, 4.0, 3.0, 0.0], [3.0, 3.0])
    """

    vertex: Tensor
    """Vertex of each incidence, ``(n_incidences,)``, ascending."""
    hyperedge: Tensor
    """Hyperedge of each incidence, ``(n_incidences,)``, ascending within a vertex."""
    vertex_offsets: Tensor
    hyperedge_offsets: Tensor
    hyperedge_members: Tensor
    """Vertices of the first hyperedge, then those of the second, and so on, ``(n_incidences,)``."""
    hyperedge_position: Tensor
    """Place of each of ``hyperedge_members`` in the order of ``vertex`` and ``hyperedge``, ``(n_incidences,)``."""
    weight: Tensor
    """Weight of each hyperedge, ``W`` of the paper, ``(M,)``, positive, float64."""
    degree: Tensor
    """Weighted degree of each vertex, ``D`` of the paper, ``(N,)``, float64."""
    size: Tensor
    """Number of vertices of each hyperedge, ``B`` of the paper, ``(M,)``, float64."""
    centroid: Tensor | None = None
    """Vertex around which each hyperedge was built, ``(M,)``, -1 where there is none; ``None`` if no hyperedge has."""
    is_centred: bool = False
    """Whether every hyperedge has a centroid."""
    vertex_names: Names | None = None
    """What each vertex is called, ``(N,)``, if that is known."""
    hyperedge_names: Names | None = None
    """What each hyperedge is called, ``(M,)``, if that is known."""

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
        vertex = as_ids("vertex", vertex, n_vertices, "n_vertices")
        hyperedge = as_ids("hyperedge", hyperedge, n_hyperedges, "n_hyperedges")
        if vertex.size != hyperedge.size:
            raise ValueError(
                f"vertex and hyperedge must have one entry per incidence each; got {vertex.size} and {hyperedge.size}."
            )
        weights = as_weight(weight, n_hyperedges)
        centroids, is_centred = _as_centroids(centroid, n_vertices, n_hyperedges)
        grouped = group(vertex, hyperedge, n_vertices, n_hyperedges)
        degree = np.bincount(vertex, weights=weights[hyperedge], minlength=n_vertices)
        size = np.bincount(hyperedge, minlength=n_hyperedges)
        return cls(
            *grouped,
            weight=torch.from_numpy(weights),
            degree=torch.from_numpy(degree.astype(np.float64)),
            size=torch.from_numpy(size.astype(np.float64)),
            centroid=centroids,
            is_centred=is_centred,
            vertex_names=as_names("vertex_names", vertex_names, n_vertices),
            hyperedge_names=as_names("hyperedge_names", hyperedge_names, n_hyperedges),
        )

    @classmethod
    def from_hyperedges(
        cls, hyperedges: Iterable[Sequence[int]], n_vertices: int, weight: Any = None, centroid: Any = None
    ) -> Hypergraph:
        """Make a hypergraph from the list of the vertices of each hyperedge.

        Args:
            hyperedges: For each hyperedge its vertices, without repetition; an empty list is an empty hyperedge.
            n_vertices: Number of vertices.
            weight: As in :meth:`from_incidence`.
            centroid: As in :meth:`from_incidence`.

        Example:
            >>> Hypergraph.from_hyperedges([[0, 2], [], [1]], n_vertices=4)
            Hypergraph(4 vertices, 3 hyperedges, 3 incidences)
        """
        lists = [edge.tolist() if isinstance(edge, (np.ndarray, Tensor)) else list(edge) for edge in hyperedges]
        sizes = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        hyperedge = np.repeat(np.arange(len(lists)), sizes)
        return cls.from_incidence(list(chain.from_iterable(lists)), hyperedge, n_vertices, len(lists), weight, centroid)

    @classmethod
    def from_scipy(
        cls, incidence: sparse.sparray | sparse.spmatrix, weight: Any = None, centroid: Any = None
    ) -> Hypergraph:
        """Make a hypergraph from a sparse ``(N, M)`` incidence matrix of zeros and ones.

        Args:
            incidence: SciPy sparse matrix or array, one row per vertex and one column per hyperedge.
            weight: As in :meth:`from_incidence`.
            centroid: As in :meth:`from_incidence`.

        Example:
            >>> from scipy.sparse import csr_array
            >>> Hypergraph.from_scipy(csr_array([[1, 0], [1, 1], [0, 1]]))
            Hypergraph(3 vertices, 2 hyperedges, 4 incidences)
        """
        from scipy import sparse

        if not sparse.issparse(incidence):
            raise TypeError(
                f"incidence must be a SciPy sparse matrix; got {type(incidence).__name__}. "
                "Convert it, e.g. scipy.sparse.csr_array(incidence)."
            )
        pairs = sparse.coo_array(incidence)
        if pairs.ndim != 2:
            raise ValueError(f"incidence must have shape (vertices, hyperedges); got {pairs.shape}.")
        if not np.isin(pairs.data, (0, 1)).all():
            raise ValueError("incidence must hold only zeros and ones; give hyperedge weights as weight.")
        present = pairs.data != 0
        n_vertices, n_hyperedges = pairs.shape
        return cls.from_incidence(pairs.row[present], pairs.col[present], n_vertices, n_hyperedges, weight, centroid)

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
        """Sum of the weights of the hyperedges of each vertex, ``D`` of the paper, ``(N,)``."""
        return self.degree

    def hyperedge_degree(self) -> Tensor:
        """Number of vertices of each hyperedge, ``B`` of the paper, ``(M,)``."""
        return self.size

    def equals(self, other: Hypergraph) -> bool:
        """Whether both have the same sizes, incidences, weights, centroids and names.

        Example:
            >>> H = Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
            >>> H.equals(Hypergraph.from_scipy(H.to_scipy()))
            True
        """
        pairs = [(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)]
        return all(
            (mine is None) == (yours is None) and (mine is yours or np.array_equal(np.asarray(mine), np.asarray(yours)))
            for mine, yours in pairs
        )

    def to_scipy(self) -> sparse.csr_array:
        """The ``(N, M)`` incidence matrix of zeros and ones; the weights stay in :attr:`weight`.

        Example:
            >>> Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2).to_scipy().toarray().tolist()
            [[1.0, 0.0], [1.0, 1.0]]
        """
        from scipy import sparse

        indices, offsets = self.hyperedge.cpu().numpy(), self.vertex_offsets.cpu().numpy()
        shape = (self.n_vertices, self.n_hyperedges)
        return sparse.csr_array((np.ones(self.n_incidences), indices.copy(), offsets.copy()), shape=shape)

    def __repr__(self) -> str:
        """Sizes at a glance."""
        parts = [f"{self.n_vertices} vertices", f"{self.n_hyperedges} hyperedges", f"{self.n_incidences} incidences"]
        if self.device.type == "cpu" and bool((self.weight != 1).any()):
            parts.append("weighted")
        if self.centroid is not None:
            parts.append("centred" if self.is_centred else "partly centred")
        if self.device.type != "cpu":
            parts.append(f"device={str(self.device)!r}")
        return f"Hypergraph({', '.join(parts)})"


def _as_centroids(centroid: Any, n_vertices: int, n_hyperedges: int) -> tuple[Tensor | None, bool]:
    if centroid is None:
        return None, False
    shifted = np.asarray(centroid.cpu() if isinstance(centroid, Tensor) else centroid)
    if shifted.shape != (n_hyperedges,):
        raise ValueError(f"centroid must have shape ({n_hyperedges},), one vertex per hyperedge; got {shifted.shape}.")
    absent = shifted == -1
    ids = as_ids("centroid", np.where(absent, 0, shifted), max(n_vertices, int(absent.any())), "n_vertices")
    if absent.all():
        return None, False
    return torch.from_numpy(np.where(absent, -1, ids)), not absent.any()
