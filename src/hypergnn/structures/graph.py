"""The pairwise special case: an undirected graph, for the baselines GCN* and GAT*."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor

from hypergnn._utils.checks import as_ids, as_pairs, check_n_vertices
from hypergnn.structures.base import check_numbers
from hypergnn.structures.block import GraphBlock
from hypergnn.structures.incidence import Incidence
from hypergnn.structures.stored import StoredStructure, check_pairs

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

    links: Incidence
    """Directed links, loops included: targets × sources."""
    degree: Tensor
    """Number of neighbours of each vertex, itself included, ``(N,)``, float64."""

    rows: ClassVar[None] = None  # it makes every vertex that it reads: see Block.rows

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
        n_vertices = check_n_vertices(n_vertices)
        source = as_ids("source", source, n_vertices, "n_vertices")
        target = as_ids("target", target, n_vertices, "n_vertices")
        if source.size != target.size:
            raise ValueError(f"source and target must have one entry per link each; got {source.size}, {target.size}.")
        loop = np.arange(n_vertices)
        keys = np.concatenate([target, source, loop]) * n_vertices + np.concatenate([source, target, loop])
        keys.sort()  # not numpy.unique, whose hash table takes many times as long for millions of links
        targets, sources = np.divmod(keys[np.diff(keys, prepend=-1) > 0], max(n_vertices, 1))
        links = Incidence.from_pairs(targets, sources, n_vertices, n_vertices)
        return cls(links, degree=links.offsets.diff().double())

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
        return self.links.n_rows

    @property
    def n_receivers(self) -> int:
        """Number of vertices that a layer makes: all of them."""
        return self.links.n_rows

    @property
    def n_links(self) -> int:
        """Number of undirected links between different vertices."""
        return (self.links.n_pairs - self.n_vertices) // 2

    @property
    def n_terms(self) -> int:
        """Number of terms per feature in a sum over neighbours: a measure of its cost."""
        return self.links.n_pairs

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.degree.device

    @property
    def target(self) -> Tensor:
        """Receiving vertex of each directed link, loops included, ascending; a copy."""
        return self._target_ids.clone()

    @property
    def source(self) -> Tensor:
        """Sending vertex of each directed link, loops included, ascending within a target; a copy."""
        return self._source_ids.clone()

    @property
    def _target_ids(self) -> Tensor:
        """:attr:`target` itself, which kernels read."""
        self.check()
        return self.derived("target", self.links.rows)

    @property
    def _source_ids(self) -> Tensor:
        """:attr:`source` itself, which kernels read."""
        self.check()
        return self.links.members

    @property
    def target_degree(self) -> Tensor:
        """The degree of the vertices that receive."""
        return self.degree

    @property
    def source_degree(self) -> Tensor:
        """The degree of the vertices that send."""
        return self.degree

    @property
    def content(self) -> tuple[Tensor, ...]:
        """What distinguishes it from other graphs."""
        return self._source_ids, self._target_ids

    def neighbours(self, vertex: int) -> Tensor:
        """The vertices linked to one, itself included, in ascending order, int64.

        Example:
            >>> Graph.from_links([0, 1], [1, 2], n_vertices=3).neighbours(0).tolist()
            [0, 1]
        """
        (vertex,) = as_ids("vertex", [vertex], self.n_vertices, "n_vertices")
        start, stop = self.links.offsets[vertex : vertex + 2].tolist()
        return self._source_ids[start:stop].to(torch.int64, copy=True)

    def around(self, vertices: Any) -> GraphBlock:
        """The block of some vertices: what a layer must read to make their rows, with the degrees of the whole.

        Example:
            >>> Graph.from_links([0, 1], [1, 2], n_vertices=3).around([0]).read.tolist()
            [0, 1]
        """
        self.check()
        return GraphBlock._around(self, as_ids("vertices", vertices, self.n_vertices, "n_vertices", copies=True))

    def to_scipy(self) -> sparse.csr_array:
        """The symmetric adjacency matrix, without the loops.

        Example:
            >>> Graph.from_links([0], [1], n_vertices=2).to_scipy().toarray().tolist()
            [[0.0, 1.0], [1.0, 0.0]]
        """
        from scipy import sparse

        target, source = self._target_ids.cpu().numpy(), self._source_ids.cpu().numpy()
        between = target != source
        shape = (self.n_vertices, self.n_vertices)
        return sparse.csr_array((np.ones(between.sum()), (target[between], source[between])), shape=shape)

    def _to_tensors(self) -> dict[str, Tensor]:
        # Each link stands in both directions: grouped by source they look as grouped by target.
        position = cast(Tensor, self.links.back_position)
        return {
            "target": self._target_ids,
            "source": self._source_ids,
            "target_offsets": self.links.offsets,
            "source_position": position,
        }

    @classmethod
    def _from_tensors(cls, stored: Any, labels: Mapping[str, Any]) -> Graph:
        target, source = stored.take("target"), stored.take("source")
        offsets, position = stored.take("target_offsets"), stored.take("source_position")
        back_offsets = stored.take("source_offsets", offsets)
        links = Incidence(offsets, source, None, back_offsets, stored.take("source_members", source), position)
        degree = stored.take("degree", offsets.diff().double())
        check_pairs(links, target)
        stored.finish()
        graph = cls(links, degree, **labels)
        graph.derived("target", lambda: target)  # mapped already
        return graph

    def _check_fields(self) -> None:
        if self.links.n_rows != self.links.n_columns:
            raise ValueError(f"links must be square; got {self.links.n_rows} and {self.links.n_columns} vertices.")
        check_numbers("degree", self.degree, self.n_vertices)
        if bool((self.degree < 1).any()):
            raise ValueError("each vertex must be linked to itself; a degree is less than 1.")

    def _check_content(self) -> None:
        if not torch.equal(self.derived("target", self.links.rows), self.links.rows()):
            raise ValueError("its target does not fit its incidences.")
        if not torch.equal(self.degree, self.links.offsets.diff().double()):
            raise ValueError("its degree does not fit its incidences.")

    def _rebuilt(self) -> Graph:
        return self.from_links(self._source_ids, self._target_ids, self.n_vertices)

    def __repr__(self) -> str:
        """Sizes at a glance."""
        return f"Graph({self.n_vertices} vertices, {self.n_links} links)"
