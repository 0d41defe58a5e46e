"""The pairwise special case: an undirected graph, for the baselines GCN* and GAT*."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hypergnn._utils.checks import as_ids, as_pairs, check_size
from hypergnn.kernels import segment_sum
from hypergnn.persistence.structures import StoredStructure
from hypergnn.structures.incidence import Segments, group

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False, repr=False)
class Graph(StoredStructure):
    """An undirected graph, each vertex linked to itself as well (``A + I``, the renormalisation trick).

    Make one with :meth:`from_links` or :meth:`from_scipy`. Each link stands in both directions; directed links,
    ordered by ``(target, source)``, are what attention has one entry for.

    Example:
        >>> graph = Graph.from_links([0, 1], [1, 2], n_vertices=4)
        >>> graph
        Graph(4 vertices, 2 links)
        >>> graph.degree.tolist()
        [2.0, 3.0, 2.0, 1.0]
    """

    target: Tensor
    """Receiving vertex of each directed link, loops included, ascending."""
    source: Tensor
    """Sending vertex of each directed link, loops included, ascending within a target."""
    target_offsets: Tensor
    source_offsets: Tensor
    source_members: Tensor
    source_position: Tensor
    degree: Tensor
    """Number of neighbours of each vertex, itself included, ``(N,)``, float64."""
    vertex_places: Tensor | None = None
    """In a part of a graph: where each vertex stands in the whole, so that dropout is drawn as there."""
    incidence_places: Tensor | None = None
    """The same of each directed link."""

    @classmethod
    def from_links(cls, source: Any, target: Any, n_vertices: int) -> Graph:
        """Make a graph from its links, given in one direction or in both.

        Args:
            source: One end of each link, integer ids below ``n_vertices``.
            target: The other end of each link.
            n_vertices: Number of vertices.

        Links given twice count once, and a link from a vertex to itself adds nothing to the loop that every vertex
        has.

        Example:
            >>> Graph.from_links([0, 1, 1], [1, 0, 1], n_vertices=2)
            Graph(2 vertices, 1 links)
        """
        n_vertices = check_size("n_vertices", n_vertices)
        source = as_ids("source", source, n_vertices, "n_vertices")
        target = as_ids("target", target, n_vertices, "n_vertices")
        if source.size != target.size:
            raise ValueError(f"source and target must have one entry per link each; got {source.size}, {target.size}.")
        loop = np.arange(n_vertices)
        keys = np.concatenate([target, source, loop]) * n_vertices + np.concatenate([source, target, loop])
        keys.sort()  # not numpy.unique, whose hash table takes many times as long for millions of links
        targets, sources = np.divmod(keys[np.diff(keys, prepend=-1) > 0], max(n_vertices, 1))
        grouped = group(targets, sources, n_vertices, n_vertices)
        return cls(*grouped, degree=grouped.row_offsets.diff().double())

    @classmethod
    def from_scipy(cls, adjacency: sparse.sparray | sparse.spmatrix) -> Graph:
        """Make a graph from a square sparse adjacency matrix; an entry in either direction is a link.

        Example:
            >>> from scipy.sparse import csr_array
            >>> Graph.from_scipy(csr_array([[0, 1], [0, 0]]))
            Graph(2 vertices, 1 links)
        """
        advice = "Links carry no weights. Give (adjacency != 0) instead."
        target, source, shape = as_pairs("adjacency", adjacency, "vertices, vertices", advice)
        if shape[0] != shape[1]:
            raise ValueError(f"adjacency must be square, one row and one column per vertex; got shape {shape}.")
        return cls.from_links(target, source, shape[0])

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return self.target_offsets.shape[0] - 1

    @property
    def n_links(self) -> int:
        """Number of undirected links between different vertices."""
        return (self.target.shape[0] - self.n_vertices) // 2

    @property
    def device(self) -> torch.device:
        """Where the arrays are."""
        return self.target.device

    @property
    def targets(self) -> Segments:
        """Directed links grouped by the vertex that receives."""
        return Segments(
            self.target_offsets,
            self.source,
            None,
            self.source_offsets,
            self.source_members,
            self.source_position,
        )

    def neighbours(self, vertex: int) -> Tensor:
        """The vertices linked to one, itself included, in ascending order, int64.

        Example:
            >>> Graph.from_links([0, 1], [1, 2], n_vertices=3).neighbours(0).tolist()
            [0, 1]
        """
        start, stop = self.target_offsets[vertex : vertex + 2].tolist()
        return self.source[start:stop].long()

    def around(self, vertices: Tensor) -> Graph:
        """The same vertices and degrees, and of the links only those that lead to some vertices.

        A convolution gives the same on those vertices, at less cost.

        Example:
            >>> Graph.from_links([0, 1], [1, 2], n_vertices=3).around(torch.tensor([0])).source.tolist()
            [0, 1]
        """
        kept = torch.isin(self.target, vertices)
        pairs = (self.target[kept].cpu().numpy(), self.source[kept].cpu().numpy())
        return Graph(*group(*pairs, self.n_vertices, self.n_vertices), degree=self.degree.cpu()).to(self.device)

    @property
    def content(self) -> tuple[Tensor, ...]:
        """What tells it from other graphs."""
        return self.source, self.target

    @property
    def n_terms(self) -> int:
        """Terms of each feature in a sum over neighbours: what it costs."""
        return self.target.shape[0]

    def neighbour_sum(self, x: Tensor, values: Tensor | None = None) -> Tensor:
        """``(A + I) X``: the sum over each vertex's neighbours and itself, ``(..., N, F)``.

        Args:
            x: ``(..., N, F)``.
            values: What stands in ``A + I`` in place of ones, as :meth:`factors` gives it.
        """
        return weighted_sum(x, self.targets, values)

    def factors(self, left: Tensor, right: Tensor | None = None) -> tuple[Tensor]:
        """Factors of the vertices, ``(N,)``, that receive and that send, as :meth:`neighbour_sum` takes them.

        Example:
            >>> graph = Graph.from_links([0], [1], n_vertices=2)
            >>> graph.neighbour_sum(torch.ones(2, 1), *graph.factors(torch.tensor([1.0, 10.0]))).tolist()
            [[2.0], [20.0]]
        """
        values = left.index_select(0, self.target)
        if right is not None:
            values = values * right.index_select(0, self.source)
        return (values.unsqueeze(-1),)

    def to_scipy(self) -> sparse.csr_array:
        """The symmetric adjacency matrix, without the loops.

        Example:
            >>> Graph.from_links([0], [1], n_vertices=2).to_scipy().toarray().tolist()
            [[0.0, 1.0], [1.0, 0.0]]
        """
        from scipy import sparse

        target, source = self.target.cpu().numpy(), self.source.cpu().numpy()
        between = target != source
        shape = (self.n_vertices, self.n_vertices)
        return sparse.csr_array((np.ones(between.sum()), (target[between], source[between])), shape=shape)

    @classmethod
    def _derive(cls, parts: Mapping[str, Any]) -> dict[str, Any]:
        # Each link stands in both directions: grouped by source they look as grouped by target.
        return {
            "source_offsets": parts["target_offsets"],
            "source_members": parts["source"],
            "degree": parts["target_offsets"].diff().double(),
        }

    def _rebuilt(self) -> Graph:
        return self.from_links(self.source, self.target, self.n_vertices)

    def __repr__(self) -> str:
        """Sizes at a glance."""
        return f"Graph({self.n_vertices} vertices, {self.n_links} links)"


def weighted_sum(x: Tensor, by: Segments, values: Tensor | None) -> Tensor:
    """Sum rows ``(..., members, F)`` per group, each times its value, ``(n_incidences, 1)``, if there are such."""
    return segment_sum(x, by) if values is None else segment_sum(x.unsqueeze(-2), by, values).squeeze(-2)
