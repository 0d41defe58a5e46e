"""What each process holds when the vertices of a hypergraph are divided: its incidences and its routes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from hypergnn._utils import routing
from hypergnn.distributed.exchange import Route
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Incidence

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """What one process holds."""

    vertices: Ids
    """Its vertices, ascending."""
    hyperedges: Ids
    """The hyperedges that they belong to or are the centroid of, ascending."""
    incidence: Incidence
    """Its vertices × its hyperedges."""
    places: Ids
    """Where each of its incidences stands among those of the whole."""
    there: Route
    back: Route


class Division:
    """The vertices of a hypergraph divided among processes.

    Args:
        H: The hypergraph.
        process: The process of each vertex, ``(N,)``.
        n: Number of processes.
    """

    def __init__(self, H: Hypergraph, process: npt.NDArray[np.integer[Any]], n: int) -> None:
        """Find out which processes each hyperedge has vertices in."""
        self.H, self.process, self.n = H, process.astype(np.int64), n
        self._touched = _touched(H, self.process, n)  # M × processes
        self._n_sharers = np.diff(self._touched.indptr)
        self._most = self._largest_rounds()

    def n_cut(self) -> int:
        """Number of hyperedges with vertices in several processes."""
        return int((self._n_sharers > 1).sum())

    def n_copies(self) -> int:
        """How many more processes than one hyperedges have vertices in, summed over hyperedges."""
        return int(np.maximum(self._n_sharers - 1, 0).sum())

    def part(self, process: int) -> Part:
        """What one process holds."""
        H = self.H
        vertices = np.flatnonzero(self.process == process)
        hyperedges = np.flatnonzero(np.diff(self._touched[:, [process]].tocsr().indptr))
        number = np.full(H.n_hyperedges, -1, np.int64)
        number[hyperedges] = np.arange(hyperedges.size)
        places, sizes = H.incidence.pairs_of(vertices)
        columns = number[H.incidence.members.cpu().numpy()[places]]
        rows = np.repeat(np.arange(vertices.size), sizes)
        incidence = Incidence.from_pairs(rows, columns, vertices.size, hyperedges.size)
        there, back = self._routes(process, hyperedges)
        return Part(vertices, hyperedges, incidence, places, there, back)

    def _largest_rounds(self) -> tuple[int, int]:
        """The most rows that a process sends or receives, in each round."""
        sharers = self._sharers(np.arange(self.H.n_hyperedges))
        shared, row, process = sharers.pairs()
        owner = sharers.owners()[row]
        to_owner = (shared > 2) & (process != owner)
        counted = (process[shared == 2], process[to_owner], owner[to_owner])
        return routing.largest_rounds(*(np.bincount(one, minlength=self.n) for one in counted))

    def _sharers(self, hyperedges: Ids) -> routing.Sharers:
        chosen = self._touched[hyperedges]
        return routing.Sharers(hyperedges, chosen.indptr.astype(np.int64), chosen.indices.astype(np.int64))

    def _routes(self, process: int, hyperedges: Ids) -> tuple[Route, Route]:
        there, back = (
            Route(torch.from_numpy(rows.sent), torch.from_numpy(rows.received), rows.n_sent, rows.n_received, most)
            for rows, most in zip(routing.routes(process, self._sharers(hyperedges), self.n), self._most, strict=True)
        )
        return there, back


def _touched(H: Hypergraph, process: Ids, n: int) -> sparse.csr_array:
    """Which processes hold members of each hyperedge, or its centroid: hyperedges × processes."""
    pairs = H.incidence
    arrays = (np.ones(pairs.n_pairs, np.int32), pairs.back_members.cpu().numpy(), pairs.back_offsets.cpu().numpy())
    members = sparse.csr_array(arrays, shape=(H.n_hyperedges, H.n_vertices))
    one = np.ones(H.n_vertices, np.int32)
    of_vertex = sparse.csr_array((one, process, np.arange(H.n_vertices + 1)), shape=(H.n_vertices, n))
    touched = members @ of_vertex
    if H.centroid is not None:
        centroid = H.centroid.cpu().numpy()
        centred = np.flatnonzero(centroid >= 0)
        entries = (np.ones(centred.size, np.int32), (centred, process[centroid[centred]]))
        touched = touched + sparse.coo_array(entries, shape=touched.shape).tocsr()
    touched = sparse.csr_array(touched)
    touched.sum_duplicates()
    touched.sort_indices()
    return touched
