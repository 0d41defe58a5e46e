"""The two halves of the incidences: blocks of vertices and blocks of hyperedges.

A block of vertices knows in which hyperedges its own vertices are. For each of these hyperedges it has one *slot*: it
sends one row there, the sum over its own members, and gets one row back. Slots are sorted by the block of hyperedges
that they belong to, so that no ids have to be sent with the sums.

A *hub*, a vertex in very many hyperedges, has one slot per block of hyperedges instead, which its own row goes to; the
block of hyperedges knows the hyperedges of the hub.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import sparse

from hypergnn.spark.messages import Array, Received, ids_as_bytes, ids_from_bytes, written

_LONGEST = 1024  # members that are added up in one go: longer sums in single precision lose digits


@dataclass(frozen=True)
class VertexBlock:
    """Some vertices with all their incidences."""

    ids: pa.Array
    """The id of each vertex as the caller knows it."""
    keys: pa.Array
    """The id of each vertex as it is compared."""
    offsets: Array  # (n_slots + 1,) members of each slot
    members: Array  # (n_pairs,)
    degree: Array  # D  (n,) float64
    weight: Array  # W of each slot  (n_slots,) float64
    bounds: Array  # (n_blocks + 1,) slots of each block of hyperedges

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.keys)

    @property
    def n_slots(self) -> int:
        """Number of rows that are sent and received."""
        return len(self.offsets) - 1

    def matrix(self, values: Array) -> sparse.csr_array:
        """The incidences as a matrix, ``(n_slots, n)``."""
        return sparse.csr_array((values, self.members, self.offsets), shape=(self.n_slots, self.n))

    def gathered(self, x: Array) -> Array:
        """The sum of the rows of ``x`` over the members of each slot, ``(n_slots, F)``."""
        return segment_sums(self.offsets, self.members, x[: self.n])

    def spread(self, sums: Array) -> Array:
        """The sum of the received rows over the slots of each vertex, ``(n, F)``."""
        if self.n_slots == 0:
            return np.zeros((self.n, sums.shape[1]), sums.dtype)
        return np.asarray(self.matrix(np.ones(len(self.members), sums.dtype)).T @ sums)

    def rows(self, label: int) -> Iterator[pa.RecordBatch]:
        """The block as messages."""
        for name in ("offsets", "members", "degree", "weight", "bounds"):
            yield from written(label, name, 0, getattr(self, name))
        yield from written(label, "keys", 0, ids_as_bytes(self.keys))
        if self.ids is not self.keys:
            yield from written(label, "ids", 0, ids_as_bytes(self.ids))

    @classmethod
    def read(cls, received: Received) -> VertexBlock:
        """The block that :meth:`rows` has written."""
        own = {name: arrays[0] for name, arrays in received.items()}
        keys = ids_from_bytes(own.pop("keys"))
        return cls(ids_from_bytes(own.pop("ids")) if "ids" in own else keys, keys, **own)


@dataclass(frozen=True)
class HyperedgeBlock:
    """Some hyperedges, with the slots that each block of vertices has for them."""

    size: Array  # B  (n,) float64
    weight: Array  # W  (n,) float64
    places: dict[int, Array]
    """By block of vertices, the hyperedge of each of its slots, no two alike; hubs come after them."""
    hub_offsets: dict[int, Array]
    """By block of vertices, where the hyperedges of each of its hubs start."""
    hub_members: dict[int, Array]
    """The hyperedges of hubs."""

    @property
    def n(self) -> int:
        """Number of hyperedges."""
        return len(self.size)

    def total(self, parts: dict[int, Array]) -> Array:
        """The sum of what all blocks of vertices have sent, ``(n, F)``; always added up in the same order."""
        first = next(iter(parts.values()))
        out = np.zeros((self.n, first.shape[1]), first.dtype)
        for source in sorted(parts):
            part, place = parts[source], self.places[source]
            out[place] += part[: len(place)]
            for row, members in zip(part[len(place) :], self._of_hubs(source), strict=True):
                out[members] += row
        return out

    def returned(self, source: int, sums: Array) -> Array:
        """What a block of vertices gets back: a row for each of its slots."""
        rows = sums[self.places[source]]
        hubs = [sums[members].sum(0, dtype=np.float64) for members in self._of_hubs(source)]
        return np.concatenate([rows, np.array(hubs, dtype=sums.dtype)]) if hubs else rows

    def _of_hubs(self, source: int) -> list[Array]:
        offsets = self.hub_offsets.get(source)
        return [] if offsets is None else np.split(self.hub_members[source], offsets[1:-1])

    def rows(self, label: int) -> Iterator[pa.RecordBatch]:
        """The block as messages."""
        yield from written(label, "size", 0, self.size)
        yield from written(label, "weight", 0, self.weight)
        for name in ("places", "hub_offsets", "hub_members"):
            for source, array in getattr(self, name).items():
                yield from written(label, name, source, array)

    @classmethod
    def read(cls, received: Received) -> HyperedgeBlock:
        """The block that :meth:`rows` has written."""
        by_source = {name: received.get(name, {}) for name in ("places", "hub_offsets", "hub_members")}
        return cls(received["size"][0], received["weight"][0], **by_source)


def segment_sums(offsets: Array, members: Array, x: Array) -> Array:
    """The sum of rows of ``x`` over each group of members; long groups in parts, so that no digits are lost."""
    sizes = np.diff(offsets)
    n_parts = -(-sizes // _LONGEST)
    long = np.flatnonzero(n_parts > 1)
    if long.size == 0:
        return _product(offsets, members, x)
    n_parts = np.maximum(n_parts, 1)
    first = np.concatenate([[0], np.cumsum(n_parts)])
    group = np.repeat(np.arange(len(sizes)), n_parts)
    starts = offsets[group] + (np.arange(first[-1]) - first[group]) * _LONGEST
    parts = _product(np.append(starts, offsets[-1]), members, x)
    out: Array = parts[first[:-1]]
    for number in long:
        out[number] = parts[first[number] : first[number + 1]].sum(0, dtype=np.float64)
    return out


def _product(offsets: Array, members: Array, x: Array) -> Array:
    n_rows = len(offsets) - 1
    if n_rows == 0:
        return np.zeros((0, x.shape[1]), x.dtype)
    ones = np.ones(len(members), x.dtype)
    return np.asarray(sparse.csr_array((ones, members, offsets), shape=(n_rows, len(x))) @ x)


def stacked(parts: dict[int, Array]) -> Array:
    """What was received from all blocks, one below the other, in the order of their numbers."""
    return np.concatenate([parts[source] for source in sorted(parts)]) if parts else np.zeros((0, 0), np.float32)
