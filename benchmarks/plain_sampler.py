"""The same sampling in plain NumPy and SciPy, as fast as operations on whole arrays allow, for comparison.

Draws without repetition are Floyd's algorithm, one step for all rows at a time, on arrays with a row per step so that
each step is contiguous. Ids are numbered through a table with an entry per possible id, which is faster than sorting
them. Pairs come grouped one way, and SciPy groups them the other way in linear time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

import hypergnn as hg
from hypergnn.loader import Batch
from hypergnn.structures.incidence import Incidence

Array = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]


class PlainSampler:
    """Draws batches from an unweighted hypergraph.

    Args:
        H: The hypergraph.
        x: The features.
        y: The labels.
    """

    def __init__(self, H: hg.Hypergraph, x: npt.NDArray[np.float32], y: Array) -> None:
        """Look at the arrays."""
        pairs = H.incidence
        self.n_vertices, self.x, self.y = H.n_vertices, x, y
        self.by_vertex = (pairs.offsets.numpy(), pairs.members.numpy())
        self.by_hyperedge = (pairs.back_offsets.numpy(), pairs.back_members.numpy())
        self.degree = H._vertex_degree.numpy()
        self.tables = [_Table(H.n_vertices), _Table(H.n_hyperedges)]
        self.draw = np.random.default_rng(0)

    def batches(self, batch_size: int, fanout: list[tuple[int, int]]) -> Iterator[Batch]:
        """Batches without end."""
        while True:
            order = self.draw.permutation(self.n_vertices)
            for start in range(0, self.n_vertices, batch_size):
                vertices = order[start : start + batch_size]
                made, blocks = vertices, list[hg.Block]()
                for layer in reversed(fanout):
                    blocks.insert(0, self._block(made, *layer))
                    made = blocks[0].read.numpy()
                x = torch.from_numpy(self.x.take(made, 0))
                yield Batch(torch.from_numpy(vertices), x, torch.from_numpy(self.y[vertices]), blocks)

    def _block(self, made: Array, n_hyperedges: int, n_members: int) -> hg.Block:
        received, drawn = self._drawn(made, *self.by_vertex, n_hyperedges)
        hyperedges, (columns,) = self.tables[1].numbered(drawn)
        sent, members = self._drawn(hyperedges, *self.by_hyperedge, n_members)
        read, (rows, senders) = self.tables[0].numbered(made, members)
        degree, size = self._sizes(made, self.by_vertex[0]), self._sizes(hyperedges, self.by_hyperedge[0])
        block = hg.Block(
            _grouped(sent, senders, read.size).T,
            _grouped(received, columns, hyperedges.size),
            weight=torch.ones(hyperedges.size, dtype=torch.float64),
            _sender_degree=torch.from_numpy(self.degree.take(read)),
            _receiver_degree=torch.from_numpy(self.degree.take(made)),
            _hyperedge_degree=torch.from_numpy(sent.astype(np.float64)),
            read=torch.from_numpy(read),
            made=torch.from_numpy(made),
            rows=torch.from_numpy(rows.astype(np.int64)),
            shares_pairs=False,
            receiver_scale=torch.from_numpy(degree / np.maximum(received, 1)),
            hyperedge_scale=torch.from_numpy(size / np.maximum(sent, 1)),
        )
        block._trust()  # as our sampler does: nothing is checked twice
        return block

    def _sizes(self, rows: Array, offsets: Array) -> Array:
        return offsets.take(rows + 1) - offsets.take(rows)

    def _drawn(self, rows: Array, offsets: Array, members: Array, most: int) -> tuple[Array, Array]:
        """At most ``most`` members of each row, evenly: how many of each row, and the members, row by row."""
        starts = offsets.take(rows)
        sizes = offsets.take(rows + 1) - starts
        wanted = np.minimum(sizes, most)
        least = sizes - wanted
        random = self.draw.random((most, rows.size), np.float32)
        chosen = np.empty((most, rows.size), sizes.dtype)
        for number in range(most):
            last = least + number
            pick = np.minimum((random[number] * (last + 1)).astype(sizes.dtype), last)
            is_taken = np.zeros(rows.size, bool)
            for earlier in chosen[:number]:
                is_taken |= earlier == pick
            np.copyto(chosen[number], np.where(is_taken, last, pick))
        places = (chosen + starts).T
        is_drawn = np.arange(most) < wanted[:, None]
        return wanted, members.take(places.ravel() if is_drawn.all() else places[is_drawn])


class _Table:
    """Numbers of ids through a table with an entry for each possible id."""

    def __init__(self, size: int) -> None:
        self.is_used, self.number = np.zeros(size, bool), np.empty(size, np.int32)

    def numbered(self, *some: Array) -> tuple[Array, list[Numbers]]:
        """All ids once, ascending, and the place of each of the given ones among them."""
        for ids in some:
            self.is_used[ids] = True
        found = np.flatnonzero(self.is_used)
        self.is_used[found] = False
        self.number[found] = np.arange(found.size, dtype=np.int32)
        return found, [self.number.take(ids) for ids in some]


def _grouped(sizes: Array, members: Numbers, n_columns: int) -> Incidence:
    """Pairs that are grouped by row, members in any order, in both orders."""
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    arrays: Any = (np.empty(members.size, np.int8), members, ends)
    by_row = sparse.csr_array(arrays, shape=(sizes.size, n_columns))
    by_row.sort_indices()
    by_row.data = np.arange(members.size, dtype=np.int32)
    by_column = by_row.tocsc()
    there = (torch.from_numpy(by_row.indptr), torch.from_numpy(by_row.indices), None)
    return Incidence(*there, *map(torch.from_numpy, (by_column.indptr, by_column.indices, by_column.data))).trusted()
