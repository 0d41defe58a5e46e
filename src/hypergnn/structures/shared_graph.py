r"""The graph that joins two vertices which share a hyperedge, without a list of its links.

Articles that share a word make tens of millions of links. They are never listed: let each vertex have its hyperedges in
one common order, and file each pair of neighbours under the *first* hyperedge that both are in. Whether ``e`` is the
first hyperedge that ``i`` and ``j`` share depends only on what comes before ``e`` in each of them, the *beginnings*:
they must have nothing in common. So

    A + I = G C Gᵀ

with ``G`` (vertices × beginnings, one incidence for each of the hypergraph's) and ``C`` a symmetric zero-one matrix,
which says of the beginnings before the same hyperedge which of them are disjoint. The product is exact: every link
counts once. For 20-newsgroup, 53 million directed links become sums over 65 451, 4.3 million and 65 451 pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hypergnn._utils.checks import check_structure
from hypergnn.kernels import segment_sum
from hypergnn.structures.graph import weighted_sum
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Ids, Segments, Structure, group

LARGEST = 1 << 29
"""Pairs of beginnings that are still compared: 2 GB if all are disjoint."""


@dataclass(frozen=True, eq=False, repr=False)
class SharedGraph(Structure):
    """The vertices of a hypergraph, joined where they share a hyperedge, each linked to itself as well.

    It takes the place of a ``Graph`` in convolutions. Attention needs the links one by one.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=5)
        >>> graph = SharedGraph.from_hypergraph(H)
        >>> graph
        SharedGraph(5 vertices, 5 links)
        >>> graph.degree.tolist()
        [3.0, 4.0, 4.0, 3.0, 1.0]
    """

    vertex: Tensor
    """Vertex of each incidence of ``G``, ascending."""
    beginning: Tensor
    """Beginning of each incidence of ``G``, ascending within a vertex."""
    vertex_offsets: Tensor
    beginning_offsets: Tensor
    beginning_members: Tensor
    beginning_position: Tensor
    row_offsets: Tensor
    row_members: Tensor
    """Disjoint beginnings, the entries of ``C``, grouped by its rows."""
    column_offsets: Tensor
    column_members: Tensor
    degree: Tensor
    """Number of neighbours of each vertex, itself included, ``(N,)``, float64."""

    @classmethod
    def from_hypergraph(cls, H: Hypergraph) -> SharedGraph:
        """Join the vertices that share a hyperedge; weights play no part.

        Raises:
            ValueError: If too many beginnings would have to be compared, as where many vertices have many hyperedges.

        Example:
            >>> H = Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
            >>> SharedGraph.from_hypergraph(H).neighbour_sum(torch.tensor([[1.0], [2.0]])).tolist()
            [[3.0], [3.0]]
        """
        check_structure("H", H, Hypergraph, "from_hyperedges(hyperedges, n_vertices)")
        vertex, beginning, beginnings = _file(H)
        members = _disjoint(_checked(beginnings), H.n_hyperedges)  # of each row of C
        offsets = torch.tensor([0, *map(len, members)], dtype=torch.int32).cumsum(0, dtype=torch.int32)
        rows = (offsets, torch.from_numpy(np.concatenate([np.empty(0, dtype=np.int32), *members])))
        grouped = group(vertex, beginning, H.n_vertices, len(members))
        found = cls(*grouped, *rows, *rows, degree=torch.ones(H.n_vertices, dtype=torch.float64)).to(H.device)
        return replace(found, degree=found.neighbour_sum(found.degree.unsqueeze(-1)).squeeze(-1))

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return self.vertex_offsets.shape[0] - 1

    @property
    def n_links(self) -> int:
        """Number of undirected links between different vertices."""
        return (int(self.degree.sum()) - self.n_vertices) // 2

    @property
    def device(self) -> torch.device:
        """Where the arrays are."""
        return self.vertex.device

    @property
    def content(self) -> tuple[Tensor, ...]:
        """What tells it from other graphs."""
        return self.vertex, self.beginning, self.row_offsets, self.row_members

    @property
    def n_terms(self) -> int:
        """Terms of each feature in a sum over neighbours: what it costs."""
        return 2 * self.vertex.shape[0] + self.row_members.shape[0]

    def neighbour_sum(self, x: Tensor, left: Tensor | None = None, right: Tensor | None = None) -> Tensor:
        """``(A + I) X``: the sum over each vertex's neighbours and itself, ``(..., N, F)``.

        Args:
            x: ``(..., N, F)``.
            left: What stands in ``G`` in place of ones, as :meth:`factors` gives it.
            right: The same in ``Gᵀ``.
        """
        own = (self.vertex_offsets, self.beginning, None)
        by_vertex = Segments(*own, self.beginning_offsets, self.beginning_members, self.beginning_position)
        by_row = Segments(self.row_offsets, self.row_members, None, self.column_offsets, self.column_members, None)
        of_beginnings = weighted_sum(x, by_vertex.reversed(), right)  # Gᵀ X  (..., beginnings, F)
        met = segment_sum(of_beginnings, by_row)  # C Gᵀ X
        return weighted_sum(met, by_vertex, left)  # G C Gᵀ X

    def factors(self, left: Tensor, right: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Factors of the vertices, ``(N,)``, that receive and that send, as :meth:`neighbour_sum` takes them.

        Example:
            >>> graph = SharedGraph.from_hypergraph(Hypergraph.from_hyperedges([[0, 1]], n_vertices=2))
            >>> graph.neighbour_sum(torch.ones(2, 1), *graph.factors(torch.tensor([1.0, 10.0]))).tolist()
            [[2.0], [20.0]]
        """
        values = left.index_select(0, self.vertex).unsqueeze(-1)
        return values, None if right is None else right.index_select(0, self.vertex).unsqueeze(-1)

    def neighbours(self, vertex: int) -> Tensor:
        """The vertices linked to one, itself included, in ascending order, int64.

        Example:
            >>> H = Hypergraph.from_hyperedges([[0, 1], [2, 3]], n_vertices=4)
            >>> SharedGraph.from_hypergraph(H).neighbours(1).tolist()
            [0, 1]
        """
        alone = self.degree.new_zeros(self.n_vertices, 1)
        alone[vertex] = 1
        return self.neighbour_sum(alone).flatten().nonzero().flatten()  # A is symmetric: a column is a row

    def around(self, vertices: Tensor) -> SharedGraph:
        """The same vertices and degrees, and of ``C`` only the rows that some vertices need.

        A convolution gives the same on those vertices, at less cost.

        Example:
            >>> graph = SharedGraph.from_hypergraph(Hypergraph.from_hyperedges([[0, 1], [2, 3]], n_vertices=4))
            >>> graph.around(torch.tensor([0])).neighbour_sum(torch.ones(4, 1)).flatten().tolist()
            [2.0, 2.0, 0.0, 0.0]
        """
        sizes = self.row_offsets.diff()
        is_needed = torch.zeros_like(sizes, dtype=torch.bool)
        is_needed[self.beginning[torch.isin(self.vertex, vertices)].long()] = True
        rows = is_needed.nonzero().repeat_interleave(sizes[is_needed])
        columns = self.row_members[is_needed.repeat_interleave(sizes)]
        kept = group(rows.cpu().numpy(), columns.cpu().numpy(), sizes.shape[0], sizes.shape[0])
        return replace(
            self,
            row_offsets=kept.row_offsets.to(self.device),
            row_members=kept.columns.to(self.device),
            column_offsets=kept.column_offsets.to(self.device),
            column_members=kept.column_members.to(self.device),
        )

    def __repr__(self) -> str:
        """Sizes at a glance."""
        return f"SharedGraph({self.n_vertices} vertices, {self.n_links} links)"


def _file(H: Hypergraph) -> tuple[Ids, Ids, list[list[tuple[int, ...]]]]:
    """The incidences of ``G``, and the beginnings before each hyperedge, in blocks.

    Hyperedges come largest first, which makes few beginnings. A vertex without hyperedges gets a block of its own.
    """
    incidence = H.to_scipy()
    order = np.argsort(-np.diff(incidence.tocsc().indptr), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    numbers: list[dict[tuple[int, ...], int]] = [{} for _ in range(H.n_hyperedges)]
    filed: list[tuple[int, int, int]] = []  # vertex, block, number within the block
    for vertex in range(H.n_vertices):
        path = tuple(sorted(rank[incidence.indices[incidence.indptr[vertex] : incidence.indptr[vertex + 1]]].tolist()))
        for place, block in enumerate(path):
            filed.append((vertex, block, numbers[block].setdefault(path[:place], len(numbers[block]))))
        if not path:
            filed.append((vertex, len(numbers), 0))
            numbers.append({(): 0})
    starts = np.cumsum([0, *map(len, numbers)])
    vertices, blocks, within = np.array(filed, dtype=np.int64).reshape(-1, 3).T
    return vertices, starts[blocks] + within, [list(own) for own in numbers]


def _checked(beginnings: list[list[tuple[int, ...]]]) -> list[list[tuple[int, ...]]]:
    pairs = sum(len(own) ** 2 for own in beginnings)
    if pairs > LARGEST:
        raise ValueError(
            f"H must have few combinations of hyperedges, at most {LARGEST} pairs of them; got {pairs}. "
            "Leave out large hyperedges, or list the links in a Graph."
        )
    return beginnings


def _disjoint(beginnings: list[list[tuple[int, ...]]], n_hyperedges: int) -> list[npt.NDArray[np.int32]]:
    """Of each beginning, those in the same block that have no hyperedge in common with it."""
    found: list[npt.NDArray[np.int32]] = []
    for block in beginnings:
        holds = np.zeros((len(block), n_hyperedges), dtype=np.float32)
        for place, own in enumerate(block):
            holds[place, list(own)] = 1
        used = holds[:, holds.any(axis=0)]
        first = len(found)
        found += [(np.flatnonzero(row) + first).astype(np.int32) for row in used @ used.T == 0]
    return found
