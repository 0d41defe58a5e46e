"""One layer of a mini-batch: hyperedges drawn by weight, members evenly, as a block with the degrees of the whole.

A hyperedge that is drawn with probability π stands for ``1 / π`` of its kind, and ``m`` members that are drawn evenly
have the mean of all members on average. So the mean of a sampled convolution over all draws is the convolution of the
whole, ``E[T̂] = T``, also where several vertices share the members that were drawn for a hyperedge.

The vertices that a sampled block reads are numbered in the order in which the sums of its hyperedges use them. Most are
used once, so a sum reads rows one after the other, and not from all over memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hypergnn.kernels import id_loops
from hypergnn.kernels.dropout import hash_of
from hypergnn.structures.base import Direction, TwoSided
from hypergnn.structures.block import Block, Reach
from hypergnn.structures.incidence import Incidence

Array = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]
Fanout = tuple[int, int] | None
"""How many hyperedges of each vertex and members of each hyperedge one layer draws; all of them if ``None``."""
ALL = 1 << 62
"""A fan-out beyond every degree."""
_HYPEREDGES, _MEMBERS, _ATTENDED = range(3)  # what is drawn: each has random numbers of its own


class Sampler:
    """Draws the blocks of batches from one hypergraph.

    Args:
        H: What the layers propagate over. A file that is mapped into memory is read only where it is drawn from.
        direction: Which way ``H`` follows hyperedges that point; its own if omitted.
        attention: Whether the layers attend: senders then draw the hyperedges that compete for their attention.
    """

    def __init__(self, H: TwoSided, *, direction: Direction | None = None, attention: bool = False) -> None:
        """Look at the arrays of the hypergraph, without reading them."""
        self.H, self.direction, self.attention = H, direction or H._direction, attention
        self.n_vertices, self.n_hyperedges = H.n_vertices, H.n_hyperedges
        self._received = _Grouping.of(H.receivers, self.n_hyperedges)
        self._sent = _Grouping.of(H.senders.T, self.n_vertices)
        self._sent_by_vertex = _Grouping.of(H.senders, self.n_hyperedges)
        self._weight, self._sizes = H.weight.numpy(), H._hyperedge_degree.numpy()
        self._sender_degree, self._receiver_degree = H._sender_degree.numpy(), H._receiver_degree.numpy()
        self._is_weighted = bool((H.weight != 1).any())

    def blocks(self, vertices: Ids, fanout: list[Fanout], *key: int) -> list[Block]:
        """The blocks of all layers, first layer first; the last makes ``vertices``. The key decides what is drawn."""
        if vertices.size and not 0 <= vertices.min() <= vertices.max() < self.n_vertices:
            raise ValueError(f"vertices must be from 0 to {self.n_vertices - 1}; got others.")
        made, found = vertices, list[Block]()
        for layer in reversed(range(len(fanout))):
            found.insert(0, self.block(made, fanout[layer], *key, layer))
            made = found[0].read.numpy()
        return found

    def block(self, made: Ids, fanout: Fanout, *key: int) -> Block:
        """The block of one layer that makes some vertices."""
        if self.attention and fanout is None:
            return Block._around(self.H, made, Reach.of(self.H, made, attention=True), direction=self.direction)
        keys = [np.uint64(hash_of(*key, number)) for number in range(3)]
        n_hyperedges, n_members = (ALL, ALL) if fanout is None else fanout
        drawn = self._hyperedges_of(made, n_hyperedges, keys[_HYPEREDGES])
        slots = self._slots(drawn)
        ends, members = self._sent.drawn(slots.hyperedges, n_members, keys[_MEMBERS])
        if self.attention:
            slots, ends, members = self._attended(made, slots, ends, members, fanout or (ALL, ALL), keys)
        return self._assembled(made, drawn, slots, ends, members, is_exact=fanout is None)

    def _hyperedges_of(self, made: Ids, most: int, key: np.uint64) -> _Drawn:
        """Hyperedges of each vertex to make. With attention evenly, because the layer weighs them itself."""
        if self._is_weighted and not self.attention and most < ALL:
            return _Drawn(*self._received.drawn_by_weight(made, most, key, self._weight), np.ones(made.size))
        ends, hyperedges = self._received.drawn(made, most, key)
        counts = np.diff(ends)
        degree = self._received.sizes(made)
        scale = np.divide(degree, counts, out=np.ones(made.size), where=counts > 0)
        return _Drawn(ends, hyperedges, None, scale)

    def _slots(self, drawn: _Drawn) -> _Slots:
        """The columns of the block: each hyperedge once, and once more for each draw with a weight of its own."""
        if drawn.factor is None:
            ranked = _Ranked.of(self.n_hyperedges, drawn.hyperedges)
            return _Slots(ranked.ids, self._weight.take(ranked.ids), ranked.of_ids(drawn.hyperedges))
        is_own = drawn.factor != 1
        ranked = _Ranked.of(self.n_hyperedges, drawn.hyperedges[~is_own])
        own = drawn.hyperedges[is_own]
        numbers = np.empty(drawn.hyperedges.size, np.int32)
        numbers[~is_own] = ranked.of_ids(drawn.hyperedges[~is_own])
        numbers[is_own] = ranked.ids.size + np.arange(own.size, dtype=np.int32)
        row = np.repeat(np.arange(drawn.ends.size - 1), np.diff(drawn.ends))
        numbers = numbers[np.lexsort((numbers, row))]
        weight = np.concatenate([self._weight[ranked.ids], self._weight[own] * drawn.factor[is_own]])
        return _Slots(np.concatenate([ranked.ids, own]), weight, numbers)

    def _attended(
        self, made: Ids, slots: _Slots, ends: Ids, members: Ids, fanout: tuple[int, int], keys: list[np.uint64]
    ) -> tuple[_Slots, Ids, Ids]:
        """Add the hyperedges that compete for the attention of each sender, drawn as well, with members of theirs."""
        senders = _Ranked.of(self.n_vertices, members, made).ids
        own_ends, competing = self._sent_by_vertex.drawn(senders, fanout[0], keys[_ATTENDED])
        ranked = _Ranked.of(self.n_hyperedges, slots.hyperedges, competing)
        sent = [(np.repeat(slots.hyperedges, np.diff(ends)), members), (competing, _repeated(senders, own_ends))]
        if not self.H.is_centred:  # hyperedges then have the mean of their members
            new = np.setdiff1d(ranked.ids, slots.hyperedges)
            new_ends, new_members = self._sent.drawn(new, fanout[1], keys[_MEMBERS])
            sent.append((_repeated(new, new_ends), new_members))
        hyperedge, vertex = (np.concatenate(one) for one in zip(*sent, strict=True))
        pairs = np.unique(np.stack([ranked.of_ids(hyperedge).astype(np.int64), vertex]), axis=1)
        new_ends = np.searchsorted(pairs[0], np.arange(ranked.ids.size + 1))
        numbers = ranked.of_ids(slots.hyperedges)[slots.numbers]
        return _Slots(ranked.ids, self._weight[ranked.ids], numbers), new_ends, np.ascontiguousarray(pairs[1])

    def _assembled(self, made: Ids, drawn: _Drawn, slots: _Slots, ends: Ids, members: Ids, *, is_exact: bool) -> Block:
        H = self.H
        centroids = None if H.centroid is None else H.centroid.numpy()[slots.hyperedges]
        ranked = _Ranked.of(self.n_vertices, made, members, *([] if centroids is None else [centroids]))
        read, senders, rows = ranked.ids, ranked.of_ids(members), ranked.of_ids(made)
        centres = None if centroids is None else ranked.of_ids(centroids)
        if not is_exact:
            read = ranked.by_use(senders, rows, *([] if centres is None else [centres]))
            id_loops.sort_groups(ends, senders)
        is_whole = rows.size == read.size and bool((rows == np.arange(rows.size)).all())
        sizes = self._sizes.take(slots.hyperedges)
        count = sizes if is_exact else np.diff(ends).astype(np.float64)
        with torch.inference_mode(False):
            block = Block(
                _by_member(ends, senders, read.size),
                _by_row(drawn.ends, slots.numbers, slots.hyperedges.size),
                weight=torch.from_numpy(slots.weight),
                _sender_degree=torch.from_numpy(self._sender_degree.take(read)),
                _receiver_degree=torch.from_numpy(self._receiver_degree.take(made)),
                _hyperedge_degree=torch.from_numpy(count),
                read=torch.from_numpy(read),
                made=torch.from_numpy(made),
                rows=None if is_whole else torch.from_numpy(rows.astype(np.int64)),
                centroid=None if centres is None else torch.from_numpy(centres.astype(np.int64)),
                is_centred=H.is_centred,
                attention=self.attention,
                shares_pairs=H.shares_pairs and is_exact,
                direction=self.direction,
                has_inverse_frequency=H.has_inverse_frequency,
                receiver_scale=None if is_exact else torch.from_numpy(drawn.scale),
                hyperedge_scale=None if is_exact else torch.from_numpy(sizes / np.maximum(count, 1)),
                receiver_count=None if is_exact else torch.from_numpy(self._received.sizes(made).astype(np.float64)),
            )
        block._trust()
        return block


class _Drawn(NamedTuple):
    """The hyperedges that were drawn for each vertex."""

    ends: Ids
    """Where those of each vertex begin, and where the last ones end."""
    hyperedges: Ids
    factor: npt.NDArray[np.float64] | None
    """The inverse of the probability of each draw, if it depends on the hyperedge."""
    scale: npt.NDArray[np.float64]
    """The inverse of the probability of the draws of each vertex, if it depends on the vertex only; else 1."""


class _Slots(NamedTuple):
    """The columns of a block."""

    hyperedges: Ids
    """The hyperedge of each column."""
    weight: npt.NDArray[np.float64]
    numbers: npt.NDArray[np.int32]
    """The column of each draw, ascending for each vertex."""


class _Grouping(NamedTuple):
    """Pairs grouped by row, as arrays."""

    offsets: Array
    members: Array
    n_columns: int

    @classmethod
    def of(cls, pairs: Incidence, n_columns: int) -> _Grouping:
        return cls(pairs.offsets.numpy(), pairs.members.numpy(), n_columns)

    def sizes(self, rows: Ids) -> Ids:
        """How many members each of some rows has."""
        return self.offsets[rows + 1].astype(np.int64) - self.offsets[rows]

    def drawn(self, rows: Ids, most: int, key: np.uint64) -> tuple[Ids, Ids]:
        """At most ``most`` members of each row, drawn evenly: where those of each row begin, and all of them."""
        ends, _ = self._ends(rows, most)
        drawn = np.empty(int(ends[-1]), np.int64)
        if not id_loops.draw_evenly(rows, self.offsets, self.members, self.n_columns, key, ends, drawn):
            raise _damage()
        return ends, drawn

    def drawn_by_weight(
        self, rows: Ids, most: int, key: np.uint64, weight: npt.NDArray[np.float64]
    ) -> tuple[Ids, Ids, npt.NDArray[np.float64]]:
        """The same with probabilities proportional to the weights, and the inverse of each probability."""
        ends, longest = self._ends(rows, most)
        drawn, factor = np.empty(int(ends[-1]), np.int64), np.empty(int(ends[-1]))
        arrays = (self.offsets, self.members, self.n_columns, weight, key, longest, ends, drawn, factor)
        if not id_loops.draw_by_weight(rows, *arrays):
            raise _damage()
        return ends, drawn, factor

    def _ends(self, rows: Ids, most: int) -> tuple[Ids, int]:
        ends = np.zeros(rows.size + 1, np.int64)
        longest = id_loops.sizes_of(rows, self.offsets, most, self.members.size, ends)
        if longest < 0:
            raise _damage()
        return ends, longest


class _Ranked(NamedTuple):
    """Some ids, ascending and each once, with their ranks: a bit for each possible id and a count for each 64 bits."""

    ids: Ids
    words: Array
    before: Array

    @classmethod
    def of(cls, size: int, *some: Ids) -> _Ranked:
        words = np.zeros(size // 64 + 1, np.uint64)
        for ids in some:
            id_loops.mark(ids, words)
        before = np.empty(words.size, np.int32)
        listed = np.empty(id_loops.count(words, before), np.int64)
        id_loops.list_marked(words, listed)
        return cls(listed, words, before)

    def of_ids(self, ids: Ids) -> npt.NDArray[np.int32]:
        """The rank of each id, all of which are known; -1 for none."""
        found = np.empty(ids.size, np.int32)
        id_loops.ranks(ids, self.words, self.before, found)
        return found

    def by_use(self, *used: npt.NDArray[np.int32]) -> Ids:
        """The ids in the order of their first use; the ranks that are used become numbers in that order."""
        numbers, order, n_known = np.full(self.ids.size, -1, np.int32), np.empty(self.ids.size, np.int32), 0
        for ranks in used:
            n_known = id_loops.number_by_use(ranks, numbers, order, n_known)
        return self.ids.take(order)


def _by_row(ends: Ids, members: npt.NDArray[np.int32], n_columns: int) -> Incidence:
    """Pairs that are grouped by row."""
    turned = _turned(ends, members, n_columns, inverts=False)
    return Incidence(*_grouped(ends, members, None), *_grouped(*turned)).trusted()


def _by_member(ends: Ids, members: npt.NDArray[np.int32], n_rows: int) -> Incidence:
    """Pairs that are grouped by column."""
    offsets, columns, back = _turned(ends, members, n_rows, inverts=True)
    return Incidence(*_grouped(offsets, columns, None), *_grouped(ends, members, back)).trusted()


def _turned(ends: Ids, members: npt.NDArray[np.int32], n_groups: int, *, inverts: bool) -> tuple[Array, Array, Array]:
    """The pairs grouped the other way, and the place of each in the given order, or the inverse of that."""
    offsets = np.empty(n_groups + 1, np.int32)
    other, position = np.empty(members.size, np.int32), np.empty(members.size, np.int32)
    id_loops.transpose(ends, members, offsets, other, position, inverts)
    return offsets, other, position


def _grouped(offsets: Array, members: Array, position: Array | None) -> tuple[Tensor, Tensor, Tensor | None]:
    place = None if position is None else torch.from_numpy(position)
    return torch.from_numpy(offsets.astype(np.int32, copy=False)), torch.from_numpy(members), place


def _repeated(ids: Ids, ends: Ids) -> Ids:
    return np.repeat(ids, np.diff(ends))


def _damage() -> ValueError:
    return ValueError(
        "the structure is damaged: an id or an offset is out of range. To see what is wrong, load it with verify=True, "
        "e.g. Hypergraph.load(path, verify=True), or DirectedHypergraph.load if its hyperedges point."
    )
