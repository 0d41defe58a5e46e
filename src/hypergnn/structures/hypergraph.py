"""The structure: ``N`` vertices, ``M`` weighted hyperedges and the incidences between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, cast

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils.checks import (
    Names,
    as_centroids,
    as_ids,
    as_members,
    as_names,
    as_pairs,
    as_times,
    as_weight,
    check_ids,
    check_n_vertices,
    check_size,
)
from hypergnn._utils.display import html_table, listed
from hypergnn.structures.base import LABEL, STATIC, Direction, TwoSided
from hypergnn.structures.block import Block, Reach, weighted_degree
from hypergnn.structures.edits import Editable, Side, pairs_of_lists
from hypergnn.structures.incidence import Ids, Incidence
from hypergnn.structures.stored import StoredStructure, check_pairs

SHOWN = 5


@dataclass(frozen=True, eq=False, repr=False)
class Hypergraph(StoredStructure, Editable):
    """A hypergraph, checked once when it is made and never changed afterwards.

    Make one with :meth:`from_incidence`, :meth:`from_hyperedges` or :meth:`from_scipy`; the constructor itself takes
    arrays that those have sorted and checked. Incidences are stored in the order of ``(vertex, hyperedge)`` pairs,
    and everything that has one entry per incidence follows that order.

    Attributes:
        incidence: The incidences, grouped by vertex and by hyperedge.
        weight: Weight of each hyperedge, ``W`` of the paper, ``(M,)``, positive, float64.
        centroid: Vertex around which each hyperedge was built, ``(M,)``, -1 where there is none; ``None`` if no
            hyperedge has one.
        is_centred: Whether every hyperedge has a centroid.
        vertex_names: What each vertex is called, ``(N,)``, if that is known; names 0, 1, 2, … are no names.
        hyperedge_names: What each hyperedge is called, ``(M,)``, if that is known.
        time: The time of each hyperedge, ``(M,)``, numbers or dates; see :meth:`window`.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=5, weight=[1.0, 3.0])
        >>> H
        Hypergraph(5 vertices, 2 hyperedges, 6 incidences, weighted)
        >>> H.vertex_degree().tolist(), H.hyperedge_degree().tolist()
        ([1.0, 4.0, 4.0, 3.0, 0.0], [3.0, 3.0])
    """

    incidence: Incidence
    weight: Tensor
    _vertex_degree: Tensor  # D  (N,) float64
    _hyperedge_degree: Tensor  # B  (M,) float64
    centroid: Tensor | None = None
    is_centred: bool = field(default=False, metadata=STATIC)
    vertex_names: Names | None = field(default=None, metadata=LABEL)
    hyperedge_names: Names | None = field(default=None, metadata=LABEL)
    time: Names | None = field(default=None, metadata=LABEL)
    has_inverse_frequency: bool = field(default=False, compare=False, metadata=STATIC)

    def __post_init__(self) -> None:
        """Let every vertex send to its hyperedges and receive from them."""
        for name in ("senders", "receivers"):
            object.__setattr__(self, name, self.incidence)
        for name in ("_sender_degree", "_receiver_degree"):
            object.__setattr__(self, name, self._vertex_degree)
        super().__post_init__()

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
        time: Any = None,
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
            time: The time of each hyperedge, ``(n_hyperedges,)``, numbers or dates.

        Raises:
            TypeError: If ids are not integers.
            ValueError: If an id is out of range, a pair occurs twice, a weight is not positive and finite, or a
                shape does not fit.

        Example:
            >>> Hypergraph.from_incidence([0, 1, 1], [0, 0, 1], n_vertices=2, n_hyperedges=3)
            Hypergraph(2 vertices, 3 hyperedges, 3 incidences)
        """
        n_vertices = check_n_vertices(n_vertices)
        n_hyperedges = check_size("n_hyperedges", n_hyperedges)
        vertex = check_ids("vertex", vertex, n_vertices, "n_vertices")
        hyperedge = check_ids("hyperedge", hyperedge, n_hyperedges, "n_hyperedges")
        if vertex.size != hyperedge.size:
            raise ValueError(
                f"vertex and hyperedge must have one entry per incidence each; got {vertex.size} and {hyperedge.size}."
            )
        centroids = as_centroids(centroid, n_vertices, n_hyperedges)
        names = as_names("vertex_names", vertex_names, n_vertices)
        other_names = as_names("hyperedge_names", hyperedge_names, n_hyperedges)
        weights = None if weight is None else torch.from_numpy(as_weight(weight, n_hyperedges))
        incidence = Incidence.from_pairs(vertex, hyperedge, n_vertices, n_hyperedges)
        return cls._of(incidence, weights, centroids, names, other_names, as_times(time, n_hyperedges))

    @classmethod
    def _of(
        cls,
        incidence: Incidence,
        weight: Tensor | None,
        centroid: Tensor | None,
        vertex_names: Names | None = None,
        hyperedge_names: Names | None = None,
        time: Names | None = None,
    ) -> Hypergraph:
        """A hypergraph of parts that are known to be valid."""
        return cls(
            incidence,
            weight=_ones(incidence.n_columns) if weight is None else weight,
            _vertex_degree=weighted_degree(incidence, weight),
            _hyperedge_degree=incidence.back_offsets.diff().double(),
            centroid=centroid,
            is_centred=centroid is not None and bool((centroid >= 0).all()),
            vertex_names=vertex_names,
            hyperedge_names=hyperedge_names,
            time=time,
        )

    @classmethod
    def from_hyperedges(
        cls,
        hyperedges: Iterable[Sequence[int]],
        n_vertices: int,
        weight: Any = None,
        centroid: Any = None,
        vertex_names: Any = None,
        hyperedge_names: Any = None,
        time: Any = None,
    ) -> Hypergraph:
        """Make a hypergraph from the list of the vertices of each hyperedge.

        Args:
            hyperedges: For each hyperedge its vertices, without repetition; an empty list is an empty hyperedge.
            n_vertices: Number of vertices.
            weight: As in :meth:`from_incidence`.
            centroid: As in :meth:`from_incidence`.
            vertex_names: As in :meth:`from_incidence`.
            hyperedge_names: As in :meth:`from_incidence`.
            time: As in :meth:`from_incidence`.

        Example:
            >>> Hypergraph.from_hyperedges([[0, 2], [], [1]], n_vertices=4)
            Hypergraph(4 vertices, 3 hyperedges, 3 incidences)
        """
        lists = [as_members(members) for members in hyperedges]
        sizes = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        vertex, hyperedge = list(chain.from_iterable(lists)), np.repeat(np.arange(len(lists)), sizes)
        given = (weight, centroid, vertex_names, hyperedge_names, time)
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
    def vertex(self) -> Tensor:
        """Vertex of each incidence, ``(n_incidences,)``, ascending; a copy."""
        return self._vertex_ids.clone()

    @property
    def hyperedge(self) -> Tensor:
        """Hyperedge of each incidence, ``(n_incidences,)``, ascending within a vertex; a copy."""
        return self._hyperedge_ids.clone()

    @property
    def _vertex_ids(self) -> Tensor:
        """:attr:`vertex` itself, which kernels read."""
        self.check()
        return self.derived("vertex", self.incidence.rows)

    @property
    def _hyperedge_ids(self) -> Tensor:
        """:attr:`hyperedge` itself, which kernels read."""
        self.check()
        return self.incidence.members

    @property
    def content(self) -> tuple[Tensor, ...]:
        """What distinguishes it from other hypergraphs."""
        return self._vertex_ids, self._hyperedge_ids, self.weight

    def vertex_degree(self) -> Tensor:
        """Sum of the weights of the hyperedges of each vertex, ``D`` of the paper, ``(N,)`` float64."""
        self.check()
        return self._vertex_degree.clone()

    def to_hyperedges(self) -> list[list[int]]:
        """The vertices of each hyperedge, in ascending order.

        Example:
            >>> Hypergraph.from_hyperedges([[2, 0], [], [1]], n_vertices=4).to_hyperedges()
            [[0, 2], [], [1]]
        """
        self.check()
        members, offsets = self.incidence.back_members.tolist(), self.incidence.back_offsets.tolist()
        return [members[start:stop] for start, stop in pairwise(offsets)]

    def around(self, vertices: Any, *, attention: bool = False) -> Block:
        """The block of some vertices: what a layer must read to make their rows, with the degrees of the whole.

        Args:
            vertices: Ids of the vertices, in the order in which the layer makes their rows.
            attention: Whether the layer attends. Then the hyperedges of each sender compete, and all are included.

        Example:
            >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2], [2, 3]], n_vertices=4)
            >>> block = H.around([0])
            >>> block, block.read.tolist()
            (Block(2 vertices read, 1 made, 1 hyperedges, 2 + 1 incidences), [0, 1])
        """
        self.check()
        made = as_ids("vertices", vertices, self.n_vertices, "n_vertices", copies=True)
        return Block._around(self, made, Reach.of(self, made, attention=attention))

    def joined_by(
        self,
        memberships: sparse.sparray | sparse.spmatrix,
        depth: int = 1,
        *,
        brought: Hypergraph | None = None,
    ) -> list[Block]:
        """Blocks in which new vertices receive from the hyperedges, one per layer of a network.

        Hyperedges and vertices stay what they are: a new vertex with the memberships of a vertex receives what that
        vertex receives. The features are those of the vertices followed by those of the new ones; the last block makes
        the new ones only. New vertices depend on each other only through hyperedges that they bring: to these they also
        send. The whole is then the directed hypergraph in which the tails of a hyperedge are the vertices that it had
        before and, of a brought one, its new vertices; ``D`` of the senders counts the hyperedges that they send to.

        Args:
            memberships: SciPy sparse matrix of zeros and ones, one row per new vertex and one column per hyperedge.
            depth: Number of layers.
            brought: New hyperedges among the new vertices, which are its vertices.

        Example:
            >>> from scipy.sparse import csr_array
            >>> import hypergnn as hg
            >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3)
            >>> x, x_new = torch.tensor([[2.0], [4.0], [9.0]]), torch.tensor([[7.0]])
            >>> (block,) = H.joined_by(csr_array([[1, 0]]))
            >>> hg.functional.hypergraph_conv(torch.cat([x, x_new]), block, normalization="row")
            tensor([[3.]])
        """
        return joining(self, memberships, depth, brought)

    def add(
        self,
        hyperedges: Iterable[Sequence[int]],
        *,
        weight: Any = None,
        centroid: Any = None,
        hyperedge_names: Any = None,
        time: Any = None,
    ) -> Hypergraph:
        """A new hypergraph with more hyperedges, numbered after those that are there.

        Args:
            hyperedges: The vertices of each new hyperedge.
            weight: Their weights; all ones if omitted.
            centroid: Their centroids, -1 where there is none.
            hyperedge_names: Their names, if the others have names.
            time: Their times, if the others have times.

        Example:
            >>> H = Hypergraph.from_hyperedges([[0, 1]], n_vertices=3)
            >>> H.add([[1, 2]], weight=[2.0]).vertex_degree().tolist()
            [1.0, 3.0, 2.0]
        """
        added = pairs_of_lists(hyperedges, self.n_vertices)
        return self._joined([added], weight, centroid, hyperedge_names, time)

    def _sides(self) -> tuple[Side, ...]:
        return ((self.incidence, self._vertex_degree),)

    def _edited(
        self,
        sides: Sequence[Side],
        weight: Tensor,
        centroid: Tensor | None,
        vertex_names: Names | None,
        hyperedge_names: Names | None,
        time: Names | None,
    ) -> Hypergraph:
        ((incidence, degree),) = sides
        return Hypergraph(
            incidence,
            weight=weight,
            _vertex_degree=degree,
            _hyperedge_degree=incidence.back_offsets.diff().double(),
            centroid=centroid,
            is_centred=centroid is not None and bool((centroid >= 0).all()),
            vertex_names=vertex_names,
            hyperedge_names=hyperedge_names,
            time=time,
        )

    def undirected(self) -> Hypergraph:
        """This hypergraph itself, whose hyperedges do not point."""
        return self

    def _renumbered(self, vertices: Ids, hyperedges: Ids) -> Hypergraph:
        """The same with a new number for each vertex and each hyperedge, and without names."""
        ids = (vertices[self._vertex_ids.cpu().numpy()], hyperedges[self._hyperedge_ids.cpu().numpy()])
        factors = renumbered_factors(self, vertices, hyperedges)
        return Hypergraph.from_incidence(*ids, self.n_vertices, self.n_hyperedges, *factors)

    def to_scipy(self) -> sparse.csr_array:
        """The ``(N, M)`` incidence matrix of zeros and ones; the weights stay in :attr:`weight`.

        Example:
            >>> Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2).to_scipy().toarray().tolist()
            [[1.0, 0.0], [1.0, 1.0]]
        """
        indices, offsets = self._hyperedge_ids.cpu().numpy(), self.incidence.offsets.cpu().numpy()
        shape = (self.n_vertices, self.n_hyperedges)
        return sparse.csr_array((np.ones(self.n_incidences), indices.copy(), offsets.copy()), shape=shape)

    def _to_tensors(self) -> dict[str, Tensor]:
        pairs = self.incidence
        tensors = {
            "vertex": self._vertex_ids,
            "hyperedge": pairs.members,
            "vertex_offsets": pairs.offsets,
            "hyperedge_offsets": pairs.back_offsets,
            "hyperedge_members": pairs.back_members,
            "hyperedge_position": cast(Tensor, pairs.back_position),
        }
        if bool((self.weight != 1).any()):
            tensors |= {"weight": self.weight, "_vertex_degree": self._vertex_degree}
        return tensors if self.centroid is None else tensors | {"centroid": self.centroid}

    @classmethod
    def _from_tensors(cls, stored: Any, labels: Mapping[str, Any]) -> Hypergraph:
        vertex, hyperedge = stored.take("vertex"), stored.take("hyperedge")
        offsets, back_offsets = stored.take("vertex_offsets"), stored.take("hyperedge_offsets")
        back = (back_offsets, stored.take("hyperedge_members"), stored.take("hyperedge_position"))
        incidence = Incidence(offsets, hyperedge, None, *back)
        sizes = (offsets.shape[0] - 1, back_offsets.shape[0] - 1)
        weight = stored.take("weight", _ones(sizes[1]))
        degree = stored.take("_vertex_degree", offsets.diff().double())
        size = stored.take("_hyperedge_degree", back_offsets.diff().double())
        check_pairs(incidence, vertex)
        as_weight(weight, sizes[1])
        centroid = as_centroids(stored.take_any("centroid"), *sizes)
        check_labels(labels, *sizes)
        stored.finish()
        is_centred = centroid is not None and bool((centroid >= 0).all())
        H = cls(incidence, weight, degree, size, centroid, is_centred, **labels)
        H.derived("vertex", lambda: vertex)  # mapped already
        return H

    def _listed(self) -> tuple[Ids, Ids]:
        """Vertex and hyperedge of each incidence."""
        return self._vertex_ids.cpu().numpy(), self._hyperedge_ids.cpu().numpy()

    def _rebuilt(self) -> Hypergraph:
        sizes = (self.n_vertices, self.n_hyperedges)
        names = (self.vertex_names, self.hyperedge_names)  # no two alike
        return self.from_incidence(*self._listed(), *sizes, self.weight, self.centroid, *names)

    def _check_content(self) -> None:
        as_weight(self.weight, self.n_hyperedges)
        if not torch.equal(self.derived("vertex", self.incidence.rows), self.incidence.rows()):
            raise ValueError("its vertex does not fit its incidences.")
        weight = self.weight.cpu() if bool((self.weight != 1).any()) else None
        if not torch.allclose(self._vertex_degree.cpu(), weighted_degree(self.incidence.to("cpu"), weight)):
            raise ValueError("its _vertex_degree does not fit its incidences.")
        if not torch.equal(self._hyperedge_degree, self.incidence.back_offsets.diff().double()):
            raise ValueError("its _hyperedge_degree does not fit its incidences.")

    def __repr__(self) -> str:
        """Sizes at a glance."""
        return f"{type(self).__name__}({self._sizes()})"

    def _sizes(self) -> str:
        """What ``repr`` says in its parentheses."""
        counts = {"vertices": self.n_vertices, "hyperedges": self.n_hyperedges, "incidences": self.n_incidences}
        parts = [f"{count} {name}" for name, count in counts.items()]
        if self.device.type != "meta" and bool((self.weight != 1).any()):
            parts.append("weighted")
        if self.centroid is not None:
            parts.append("centred" if self.is_centred else "partly centred")
        if self.device.type != "cpu":
            parts.append(f"device={str(self.device)!r}")
        return ", ".join(parts)

    def _repr_html_(self) -> str:
        """Sizes, and the first hyperedges with some of their vertices."""
        if self.device.type == "meta":
            return html_table(repr(self), [], [])
        members, offsets = self.incidence.back_members, self.incidence.back_offsets[: SHOWN + 1].tolist()
        rows = [
            [
                str(name_of(self.hyperedge_names, number)),
                stop - start,
                float(self.weight[number]),
                listed(name_of(self.vertex_names, one) for one in members[start : min(stop, start + 11)].tolist()),
            ]
            for number, (start, stop) in enumerate(pairwise(offsets))
        ]
        more = f", the first {SHOWN} hyperedges" if self.n_hyperedges > SHOWN else ""
        return html_table(f"{self!r}{more}", ["hyperedge", "size", "weight", "vertices"], rows)


def joining(
    H: TwoSided,
    memberships: sparse.sparray | sparse.spmatrix,
    depth: int,
    brought: Hypergraph | None = None,
    direction: Direction | None = None,
) -> list[Block]:
    """Blocks in which new vertices receive from the hyperedges of ``H``, one per layer of a network."""
    row, column, shape = as_pairs("memberships", memberships, "rows, hyperedges", "")
    if shape[1] != H.n_hyperedges:
        raise ValueError(f"memberships must have {H.n_hyperedges} columns, one per hyperedge; got {shape[1]}.")
    check_size("depth", depth, minimum=1)
    H.check()
    if brought is not None and brought.n_vertices != shape[0]:
        raise ValueError(
            f"brought must have {shape[0]} vertices, one per row of memberships; got {brought.n_vertices}."
        )
    new = Incidence.from_pairs(row, column, *shape)
    last = Block._joining(H, new, brought, makes_all=False, direction=direction)
    if depth == 1:
        return [last]
    return [*[Block._joining(H, new, brought, makes_all=True, direction=direction)] * (depth - 1), last]


def renumbered_factors(H: TwoSided, vertices: Ids, hyperedges: Ids) -> tuple[Ids, Ids | None]:
    """Weights and centroids of a structure with a new number for each vertex and each hyperedge."""
    order = np.argsort(hyperedges)
    weight = H.weight.cpu().numpy()[order]
    if H.centroid is None:
        return weight, None
    centroid = H.centroid.cpu().numpy()[order]
    return weight, np.where(centroid < 0, -1, vertices[centroid])


def check_labels(labels: Mapping[str, Any], n_vertices: int, n_hyperedges: int) -> None:
    """Raise unless a file has a name for each vertex, and a name and a time for each hyperedge, or none."""
    for name, values in labels.items():
        size = n_vertices if name == "vertex_names" else n_hyperedges
        if values.shape != (size,):
            raise ValueError(f"{name} must have shape ({size},), one entry each; got {values.shape}.")


def name_of(names: Names | None, number: int) -> Any:
    """What a vertex or hyperedge is called, or its number."""
    return number if names is None else names[number]


def _ones(size: int) -> Tensor:
    return torch.ones(size, dtype=torch.float64)
