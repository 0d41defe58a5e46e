"""Hyperedges that point: from the vertices of their tail, which send, to those of their head, which receive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils.checks import (
    Names,
    as_centroids,
    as_members,
    as_names,
    as_pairs,
    as_times,
    as_weight,
    check_choice,
    check_ids,
    check_n_vertices,
    check_size,
)
from hypergnn.structures.base import DIRECTIONS, LABEL, STATIC, Direction, TwoSided
from hypergnn.structures.block import Block, weighted_degree
from hypergnn.structures.directed_blocks import blocks_around, blocks_joining
from hypergnn.structures.directed_display import as_html, sizes_of
from hypergnn.structures.directed_files import check_content, from_tensors, to_tensors
from hypergnn.structures.directed_parts import ROLES, are_the_same, as_list_of_pairs, as_matrix, tails_of
from hypergnn.structures.edits import Editable, Side, pairs_of_lists
from hypergnn.structures.hypergraph import Hypergraph, renumbered_factors
from hypergnn.structures.incidence import Ids, Incidence
from hypergnn.structures.stored import StoredStructure


@dataclass(frozen=True, eq=False, repr=False)
class DirectedHypergraph(StoredStructure, Editable):
    """A directed hypergraph: each hyperedge gathers from its tail and gives to its head.

    ``T = D_head^-a H_head W B_tail^-1 H_tailᵀ D_tail^-b``. A vertex may be in both parts of a hyperedge. Where tail and
    head of every hyperedge are equal, every operator gives what it gives on the undirected hypergraph, to the bit.

    Make one with :meth:`from_hyperedges`, :meth:`from_incidence` or :meth:`from_scipy`; it never changes afterwards.

    Attributes:
        tails: Vertices × hyperedges, the pairs of the tails.
        heads: Vertices × hyperedges, the pairs of the heads.
        weight: Weight of each hyperedge, ``(M,)``, positive, float64.
        centroid: Vertex around which each hyperedge was built, ``(M,)``, -1 where there is none; ``None`` if no
            hyperedge has one.
        is_centred: Whether every hyperedge has a centroid.
        shares_pairs: Whether tails and heads are the same pairs.
        vertex_names: What each vertex is called, ``(N,)``, if that is known.
        hyperedge_names: What each hyperedge is called, ``(M,)``, if that is known.
        time: The time of each hyperedge, ``(M,)``, numbers or dates; see :meth:`window`.

    Example:
        >>> import hypergnn as hg
        >>> H = hg.DirectedHypergraph.from_hyperedges([([0, 1], [2]), ([2], [3])], n_vertices=4)
        >>> H
        DirectedHypergraph(4 vertices, 2 hyperedges, 3 tails, 2 heads)
        >>> hg.functional.hypergraph_conv(torch.tensor([[1.0], [3.0], [5.0], [7.0]]), H, normalization="row").T
        tensor([[0., 0., 2., 5.]])
    """

    _direction: ClassVar[Direction] = "forward"

    tails: Incidence
    heads: Incidence
    weight: Tensor
    _sender_degree: Tensor  # D_tail  (N,) float64
    _receiver_degree: Tensor  # D_head  (N,) float64
    _hyperedge_degree: Tensor  # B_tail  (M,) float64
    centroid: Tensor | None = None
    is_centred: bool = field(default=False, metadata=STATIC)
    shares_pairs: bool = field(default=False, metadata=STATIC)
    vertex_names: Names | None = field(default=None, metadata=LABEL)
    hyperedge_names: Names | None = field(default=None, metadata=LABEL)
    time: Names | None = field(default=None, metadata=LABEL)

    def __post_init__(self) -> None:
        """Let the tails send and the heads receive; equal ones are one object, as in an undirected hypergraph."""
        heads = self.tails if self.shares_pairs else self.heads
        super().__post_init__()
        for name, value in {"senders": self.tails, "receivers": heads, "heads": heads}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_incidence(
        cls,
        vertex: Any,
        hyperedge: Any,
        role: Any,
        n_vertices: int,
        n_hyperedges: int,
        weight: Any = None,
        centroid: Any = None,
        vertex_names: Any = None,
        hyperedge_names: Any = None,
        time: Any = None,
    ) -> DirectedHypergraph:
        """Make one from its incidences: vertex ``vertex[k]`` is in the tail or in the head of ``hyperedge[k]``.

        Args:
            vertex: Integer ids below ``n_vertices``, one per incidence, in any order.
            hyperedge: Integer ids below ``n_hyperedges``, one per incidence.
            role: ``"tail"`` or ``"head"``, one per incidence; a vertex in both parts has an incidence for each.
            n_vertices: Number of vertices.
            n_hyperedges: Number of hyperedges; their tails, heads or both may be empty.
            weight: Positive weight of each hyperedge, ``(n_hyperedges,)``; all ones if omitted.
            centroid: Vertex around which each hyperedge was built, ``(n_hyperedges,)``, -1 where there is none.
            vertex_names: What each vertex is called, ``(n_vertices,)``, no two alike.
            hyperedge_names: What each hyperedge is called, ``(n_hyperedges,)``, no two alike.
            time: The time of each hyperedge, ``(n_hyperedges,)``, numbers or dates.

        Raises:
            TypeError: If ids are not integers.
            ValueError: If an id is out of range, a role is neither of the two, the same vertex is twice in one part, a
                weight is not positive and finite, or a shape does not fit.

        Example:
            >>> roles = ["tail", "tail", "head"]
            >>> DirectedHypergraph.from_incidence([0, 1, 2], [0, 0, 0], roles, n_vertices=3, n_hyperedges=1)
            DirectedHypergraph(3 vertices, 1 hyperedges, 2 tails, 1 heads)
        """
        n_vertices = check_n_vertices(n_vertices)
        n_hyperedges = check_size("n_hyperedges", n_hyperedges)
        vertex = check_ids("vertex", vertex, n_vertices, "n_vertices")
        hyperedge = check_ids("hyperedge", hyperedge, n_hyperedges, "n_hyperedges")
        is_tail = tails_of(role)
        if not vertex.size == hyperedge.size == is_tail.size:
            raise ValueError(
                "vertex, hyperedge and role must have one entry per incidence each; got "
                f"{vertex.size}, {hyperedge.size} and {is_tail.size}."
            )
        parts = [(vertex[which], hyperedge[which]) for which in (is_tail, ~is_tail)]
        tails, heads = (Incidence.from_pairs(*part, n_vertices, n_hyperedges) for part in parts)
        return cls._of(
            tails,
            heads,
            None if weight is None else torch.from_numpy(as_weight(weight, n_hyperedges)),
            as_centroids(centroid, n_vertices, n_hyperedges),
            as_names("vertex_names", vertex_names, n_vertices),
            as_names("hyperedge_names", hyperedge_names, n_hyperedges),
            as_times(time, n_hyperedges),
        )

    @classmethod
    def _of(
        cls,
        tails: Incidence,
        heads: Incidence,
        weight: Tensor | None,
        centroid: Tensor | None,
        vertex_names: Names | None = None,
        hyperedge_names: Names | None = None,
        time: Names | None = None,
    ) -> DirectedHypergraph:
        """A directed hypergraph of parts that are known to be valid."""
        shares_pairs = are_the_same(tails, heads)
        sent = weighted_degree(tails, weight)
        return cls(
            tails,
            heads,
            weight=torch.ones(tails.n_columns, dtype=torch.float64) if weight is None else weight,
            _sender_degree=sent,
            _receiver_degree=sent if shares_pairs else weighted_degree(heads, weight),
            _hyperedge_degree=tails.back_offsets.diff().double(),
            centroid=centroid,
            is_centred=centroid is not None and bool((centroid >= 0).all()),
            shares_pairs=shares_pairs,
            vertex_names=vertex_names,
            hyperedge_names=hyperedge_names,
            time=time,
        )

    @classmethod
    def from_hyperedges(
        cls,
        hyperedges: Iterable[tuple[Sequence[int], Sequence[int]]],
        n_vertices: int,
        weight: Any = None,
        centroid: Any = None,
        vertex_names: Any = None,
        hyperedge_names: Any = None,
        time: Any = None,
    ) -> DirectedHypergraph:
        """Make one from the tail and the head of each hyperedge.

        Args:
            hyperedges: For each hyperedge a pair: the vertices of its tail and those of its head.
            n_vertices: Number of vertices.
            weight: As in :meth:`from_incidence`.
            centroid: As in :meth:`from_incidence`.
            vertex_names: As in :meth:`from_incidence`.
            hyperedge_names: As in :meth:`from_incidence`.
            time: As in :meth:`from_incidence`.

        Example:
            >>> DirectedHypergraph.from_hyperedges([([0], [1, 2]), ([], [0])], n_vertices=3).to_hyperedges()
            [([0], [1, 2]), ([], [0])]
        """
        pairs = as_list_of_pairs(hyperedges)
        parts = [as_members(part) for pair in pairs for part in pair]  # tail, head, tail, head, …
        sizes = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
        numbers = np.repeat(np.arange(len(parts)), sizes)
        role = np.array(ROLES)[numbers % 2]
        given = (weight, centroid, vertex_names, hyperedge_names, time)
        return cls.from_incidence(list(chain.from_iterable(parts)), numbers // 2, role, n_vertices, len(pairs), *given)

    @classmethod
    def from_scipy(
        cls,
        tails: sparse.sparray | sparse.spmatrix,
        heads: sparse.sparray | sparse.spmatrix,
        weight: Any = None,
        centroid: Any = None,
        vertex_names: Any = None,
        hyperedge_names: Any = None,
    ) -> DirectedHypergraph:
        """Make one from two sparse ``(N, M)`` incidence matrices of zeros and ones, of the tails and of the heads.

        Args:
            tails: One row per vertex and one column per hyperedge.
            heads: The same for the heads.
            weight: As in :meth:`from_incidence`.
            centroid: As in :meth:`from_incidence`.
            vertex_names: As in :meth:`from_incidence`.
            hyperedge_names: As in :meth:`from_incidence`.

        Example:
            >>> from scipy.sparse import csr_array
            >>> DirectedHypergraph.from_scipy(csr_array([[1], [0]]), csr_array([[0], [1]]))
            DirectedHypergraph(2 vertices, 1 hyperedges, 1 tails, 1 heads)
        """
        advice = "Give hyperedge weights as weight."
        tail, tail_of, sizes = as_pairs("tails", tails, "vertices, hyperedges", advice)
        head, head_of, other = as_pairs("heads", heads, "vertices, hyperedges", advice)
        if sizes != other:
            raise ValueError(f"heads must have the shape of tails, {sizes}; got {other}.")
        role = np.repeat(np.array(ROLES), (tail.size, head.size))
        ids = (np.concatenate([tail, head]), np.concatenate([tail_of, head_of]))
        return cls.from_incidence(*ids, role, *sizes, weight, centroid, vertex_names, hyperedge_names)

    @property
    def content(self) -> tuple[Tensor, ...]:
        """What distinguishes it from other hypergraphs."""
        return self.tails.rows(), self.tails.members, self.heads.rows(), self.heads.members, self.weight

    def tail_degree(self) -> Tensor:
        """Sum of the weights of the hyperedges in whose tail each vertex is, ``D_tail``, ``(N,)`` float64."""
        self.check()
        return self._sender_degree.clone()

    def head_degree(self) -> Tensor:
        """Sum of the weights of the hyperedges in whose head each vertex is, ``D_head``, ``(N,)`` float64."""
        self.check()
        return self._receiver_degree.clone()

    vertex_degree = head_degree

    def reversed(self) -> DirectedHypergraph:
        """The same hyperedges with tails and heads exchanged.

        Example:
            >>> DirectedHypergraph.from_hyperedges([([0], [1, 2])], n_vertices=3).reversed().to_hyperedges()
            [([1, 2], [0])]
        """
        self.check()
        return self.derived("reversed", self._reversed)

    def _reversed(self) -> DirectedHypergraph:
        other = DirectedHypergraph(
            self.heads,
            self.tails,
            weight=self.weight,
            _sender_degree=self._receiver_degree,
            _receiver_degree=self._sender_degree,
            _hyperedge_degree=self.heads.back_offsets.diff().double(),
            centroid=self.centroid,
            is_centred=self.is_centred,
            shares_pairs=self.shares_pairs,
            vertex_names=self.vertex_names,
            hyperedge_names=self.hyperedge_names,
            time=self.time,
        )
        other.derived("reversed", lambda: self)
        return other

    def add(
        self,
        hyperedges: Iterable[tuple[Sequence[int], Sequence[int]]],
        *,
        weight: Any = None,
        centroid: Any = None,
        hyperedge_names: Any = None,
        time: Any = None,
    ) -> DirectedHypergraph:
        """A new directed hypergraph with more hyperedges, numbered after those that are there.

        Args:
            hyperedges: The tail and the head of each new hyperedge.
            weight: Their weights; all ones if omitted.
            centroid: Their centroids, -1 where there is none.
            hyperedge_names: Their names, if the others have names.
            time: Their times, if the others have times.

        Example:
            >>> H = DirectedHypergraph.from_hyperedges([([0], [1])], n_vertices=3)
            >>> H.add([([1], [2])]).to_hyperedges()
            [([0], [1]), ([1], [2])]
        """
        pairs = as_list_of_pairs(hyperedges)
        parts = [
            pairs_of_lists(part, self.n_vertices) for part in ([tail for tail, _ in pairs], [head for _, head in pairs])
        ]
        return self._joined(parts, weight, centroid, hyperedge_names, time)

    def _sides(self) -> tuple[Side, ...]:
        return (self.tails, self._sender_degree), (self.heads, self._receiver_degree)

    def _edited(
        self,
        sides: Sequence[Side],
        weight: Tensor,
        centroid: Tensor | None,
        vertex_names: Names | None,
        hyperedge_names: Names | None,
        time: Names | None,
    ) -> DirectedHypergraph:
        (tails, sent), (heads, received) = sides
        return DirectedHypergraph(
            tails,
            heads,
            weight=weight,
            _sender_degree=sent,
            _receiver_degree=received,
            _hyperedge_degree=tails.back_offsets.diff().double(),
            centroid=centroid,
            is_centred=centroid is not None and bool((centroid >= 0).all()),
            shares_pairs=are_the_same(tails, heads),
            vertex_names=vertex_names,
            hyperedge_names=hyperedge_names,
            time=time,
        )

    def undirected(self) -> Hypergraph:
        """The hypergraph whose hyperedges hold the vertices of tail and head.

        Example:
            >>> DirectedHypergraph.from_hyperedges([([0], [1, 2])], n_vertices=4).undirected().to_hyperedges()
            [[0, 1, 2]]
        """
        self.check()
        together = (as_matrix(self.tails) + as_matrix(self.heads)).tocoo()
        sizes = (self.n_vertices, self.n_hyperedges)
        names = (self.vertex_names, self.hyperedge_names, self.time)
        vertex, hyperedge = together.coords
        H = Hypergraph.from_incidence(vertex, hyperedge, *sizes, self.weight.cpu(), self.centroid, *names)
        return H.to(self.device)

    def _renumbered(self, vertices: Ids, hyperedges: Ids) -> DirectedHypergraph:
        """The same with a new number for each vertex and each hyperedge, and without names."""
        vertex, hyperedge, role = self._listed()
        factors = renumbered_factors(self, vertices, hyperedges)
        ids = (vertices[vertex], hyperedges[hyperedge], role)
        return DirectedHypergraph.from_incidence(*ids, self.n_vertices, self.n_hyperedges, *factors)

    def _listed(self) -> tuple[Ids, Ids, Any]:
        """Vertex, hyperedge and role of each incidence: first the tails, then the heads."""
        pairs = (self.tails, self.heads)
        self.check()
        vertex = np.concatenate([one.rows().cpu().numpy() for one in pairs])
        hyperedge = np.concatenate([one.members.cpu().numpy() for one in pairs])
        return vertex, hyperedge, np.repeat(np.array(ROLES), [one.n_pairs for one in pairs])

    def to_hyperedges(self) -> list[tuple[list[int], list[int]]]:
        """The vertices of tail and head of each hyperedge, in ascending order."""
        self.check()
        parts = [[pairs.back_members.tolist(), pairs.back_offsets.tolist()] for pairs in (self.tails, self.heads)]
        lists = [[members[a:b] for a, b in pairwise(offsets)] for members, offsets in parts]
        return list(zip(*lists, strict=True))

    def to_scipy(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """The ``(N, M)`` incidence matrices of zeros and ones, of the tails and of the heads."""
        self.check()
        return as_matrix(self.tails), as_matrix(self.heads)

    def ways(self, direction: Direction) -> tuple[TwoSided, ...]:
        """What a layer of this direction propagates over."""
        check_choice("direction", direction, DIRECTIONS)
        if direction == "forward":
            return (self,)
        self.check()  # what is derived from it does not know where it comes from
        if direction == "undirected":
            return (self.derived("undirected", self.undirected),)
        return (self.reversed(),) if direction == "backward" else (self, self.reversed())

    def around(
        self, vertices: Any, *, attention: bool = False, direction: Direction = "forward"
    ) -> Block | tuple[Block, Block]:
        """The block of some vertices: what a layer must read to make their rows, with the degrees of the whole.

        Args:
            vertices: Ids of the vertices, in the order in which the layer makes their rows.
            attention: Whether the layer attends. Then the hyperedges of each sender compete, and all are included.
            direction: That of the layer. For ``"both"`` the result is a pair of blocks that read the same vertices.

        Example:
            >>> H = DirectedHypergraph.from_hyperedges([([0, 1], [2]), ([2], [3])], n_vertices=4)
            >>> H.around([3]), H.around([3]).read.tolist()
            (Block(2 vertices read, 1 made, 1 hyperedges, 1 + 1 incidences), [2, 3])
        """
        return blocks_around(self, vertices, attention, direction)

    def joined_by(
        self, memberships: Any, depth: int = 1, *, direction: Direction = "forward"
    ) -> list[Block] | list[tuple[Block, Block]]:
        """Blocks in which new vertices join hyperedges, one per layer of a network.

        As for :meth:`Hypergraph.joined_by <hypergnn.Hypergraph.joined_by>`: new vertices receive and do not send.

        Args:
            memberships: SciPy sparse matrix of zeros and ones, one row per new vertex and one column per hyperedge: the
                heads that they are in; with ``direction="backward"`` the tails, with ``"undirected"`` either. For
                ``"both"`` a pair of such matrices, of the tails and of the heads.
            depth: Number of layers.
            direction: That of the layers. For ``"both"`` there is a pair of blocks per layer.

        Example:
            >>> H = DirectedHypergraph.from_hyperedges([([0, 1], [2])], n_vertices=3)
            >>> (block,) = H.joined_by(sparse.csr_array([[1]]), direction="backward")  # a fourth vertex, in the tail
            >>> block.senders.rows().tolist(), block.made.tolist()
            ([2], [3])
        """
        return blocks_joining(self, memberships, depth, direction)

    def _to_tensors(self) -> dict[str, Tensor]:
        return to_tensors(self)

    @classmethod
    def _from_tensors(cls, stored: Any, labels: Mapping[str, Any]) -> DirectedHypergraph:
        return from_tensors(cls, stored, labels)

    def _rebuilt(self) -> DirectedHypergraph:
        sizes = (self.n_vertices, self.n_hyperedges)
        return self.from_incidence(*self._listed(), *sizes, self.weight, self.centroid)

    def _check_content(self) -> None:
        check_content(self)

    def __repr__(self) -> str:
        """Sizes at a glance."""
        return f"{type(self).__name__}({self._sizes()})"

    def _sizes(self) -> str:
        """What ``repr`` says in its parentheses."""
        return sizes_of(self)

    def _repr_html_(self) -> str:
        """Sizes, and the first hyperedges with some of their vertices."""
        return as_html(self)
