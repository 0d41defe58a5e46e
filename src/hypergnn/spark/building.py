"""From pairs of ids to blocks: what executors do once per hypergraph.

Ids are sorted within each block, so that a block that is computed again, because a machine was lost, is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from hypergnn.spark.blocks import HyperedgeBlock, VertexBlock
from hypergnn.spark.messages import Array, Received, ids_as_bytes, ids_from_bytes, read, table, whole, written

SLOT_KEYS, SLOT_SIZES, SLOT_WEIGHTS, SLOT_HUBS = "slot keys", "slot sizes", "slot weights", "slot hubs"
TO_HYPEREDGES = (SLOT_KEYS, SLOT_SIZES, SLOT_WEIGHTS, SLOT_HUBS)


@dataclass(frozen=True)
class Hubs:
    """The hubs of one block of vertices."""

    keys: pa.Array
    ids: pa.Array
    degree: Array
    numbers: Array
    """Their numbers among all hubs."""


@dataclass(frozen=True)
class VertexSide:
    """Makes blocks of vertices of their pairs, and tells the hyperedges which slots they have."""

    labels: list[int]
    hubs: Mapping[int, Hubs]
    """Hubs by the number of their block."""

    def __call__(self, key: tuple[Any, ...], pairs: pa.Table, _: pa.Table) -> pa.Table:
        """One block: columns ``vertex``, ``hyperedge``, ``block`` of the hyperedge, and perhaps ``weight``."""
        label = key[0].as_py()
        number = self.labels.index(label)
        return table(self._rows(label, number, pairs))

    def _rows(self, label: int, number: int, pairs: pa.Table) -> Iterator[pa.RecordBatch]:
        hubs = self.hubs.get(number)
        vertex = Coded.of(pairs, "vertex")
        hyperedge = Coded.of(pairs, "hyperedge")
        target = pairs["block"].to_numpy()[hyperedge.first]  # block of each hyperedge
        order = np.argsort(target, kind="stable")
        slot_of = np.empty(len(order), np.int64)
        slot_of[order] = np.arange(len(order))
        weights = np.ones(len(order))
        if "weight" in pairs.column_names:
            weights = pairs["weight"].to_numpy()[hyperedge.first]
        block, own = _vertex_block(vertex, slot_of[hyperedge.codes], target[order], weights[order], hubs, self.labels)
        yield from block.rows(label)
        sizes = np.bincount(slot_of[hyperedge.codes], minlength=len(order))
        keys = hyperedge.keys.take(pa.array(order))
        for place, to in enumerate(self.labels):
            part = slice(own[place], own[place + 1])
            if part.start == part.stop and hubs is None:
                continue
            yield from written(to, SLOT_KEYS, number, ids_as_bytes(keys[part]))
            yield from written(to, SLOT_SIZES, number, sizes[part])
            yield from written(to, SLOT_WEIGHTS, number, weights[order][part])
            if hubs is not None:
                yield from written(to, SLOT_HUBS, number, hubs.numbers)


def _vertex_block(
    vertex: Coded, slot: Array, target: Array, weight: Array, hubs: Hubs | None, labels: list[int]
) -> tuple[VertexBlock, Array]:
    """A block, and the bounds of the slots that are not of hubs."""
    n_blocks, n_hubs, n_own = len(labels), 0 if hubs is None else len(hubs.keys), len(vertex.keys)
    own = np.searchsorted(target, np.arange(n_blocks + 1))  # slots of each block of hyperedges, without hubs
    bounds = own + n_hubs * np.arange(n_blocks + 1)
    degree = np.bincount(vertex.codes, weight[slot], minlength=n_own)
    rows, columns = slot + n_hubs * target[slot], vertex.codes
    weights = np.ones(bounds[-1])
    weights[np.arange(len(target)) + n_hubs * target] = weight
    ids, keys = vertex.ids, vertex.keys
    if hubs is not None:
        hub = np.tile(np.arange(n_hubs), n_blocks)
        rows = np.concatenate([rows, np.repeat(bounds[1:] - n_hubs, n_hubs) + hub])
        columns = np.concatenate([columns, n_own + hub])
        is_same = ids is keys
        keys = pa.concat_arrays([keys, hubs.keys.cast(keys.type)])
        ids = keys if is_same else pa.concat_arrays([ids, hubs.ids.cast(ids.type)])
        degree = np.concatenate([degree, hubs.degree])
    ones = np.ones(len(rows), np.int8)
    matrix = sparse.coo_array((ones, (rows, columns)), shape=(bounds[-1], len(keys))).tocsr()
    matrix.sort_indices()
    offsets, members = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    return VertexBlock(ids, keys, offsets, members, degree, weights, bounds), own


@dataclass(frozen=True)
class Coded:
    """A column of ids as numbers, in the order of the ids."""

    codes: Array
    keys: pa.Array
    ids: pa.Array
    first: Array
    """The row in which each id occurs first."""

    @classmethod
    def of(cls, pairs: pa.Table, name: str) -> Coded:
        """The column ``name``; ``name key``, if there is one, holds what is compared."""
        has_keys = f"{name} key" in pairs.column_names
        encoded = whole(pairs[f"{name} key" if has_keys else name]).dictionary_encode()
        found = encoded.dictionary
        order = pc.sort_indices(found).to_numpy()
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        codes = rank[encoded.indices.to_numpy(zero_copy_only=False)] if len(encoded) else np.empty(0, np.int64)
        first = np.empty(len(order), np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        keys = found.take(pa.array(order))
        return cls(codes, keys, whole(pairs[name]).take(pa.array(first)) if has_keys else keys, first)


@dataclass(frozen=True)
class HyperedgeSide:
    """Makes blocks of hyperedges of the slots that blocks of vertices have for them."""

    def __call__(self, key: tuple[Any, ...], slots: pa.Table, hub_pairs: pa.Table) -> pa.Table:
        """One block: messages of :class:`VertexSide`, and columns ``hub``, ``hyperedge`` and perhaps ``weight``."""
        return table(self._block(read(slots), hub_pairs).rows(key[0].as_py()))

    def _block(self, received: Received, hub_pairs: pa.Table) -> HyperedgeBlock:
        sources = sorted(received.get(SLOT_KEYS, {}))
        name = "hyperedge key" if "hyperedge key" in hub_pairs.column_names else "hyperedge"
        of_hubs = whole(hub_pairs[name])
        keys = [ids_from_bytes(received[SLOT_KEYS][source]) for source in sources]
        keys = [*keys, of_hubs.cast(keys[0].type) if keys else of_hubs]
        coded = Coded.of(pa.table({"hyperedge": pa.concat_arrays(keys)}), "hyperedge")
        size, weight = np.zeros(len(coded.keys)), np.ones(len(coded.keys))
        places: dict[int, Array] = {}
        start = 0
        for source, ids in zip(sources, keys, strict=False):
            places[source] = coded.codes[start : start + len(ids)].astype(np.int32)
            size[places[source]] += received[SLOT_SIZES][source]
            weight[places[source]] = received[SLOT_WEIGHTS][source]
            start += len(ids)
        hub, member = hub_pairs["hub"].to_numpy(), coded.codes[start:].astype(np.int32)
        if "weight" in hub_pairs.column_names:
            weight[member] = hub_pairs["weight"].to_numpy()
        np.add.at(size, member, 1)
        offsets, members = {}, {}
        for source, numbers in received.get(SLOT_HUBS, {}).items():
            lists = [np.sort(member[hub == one]) for one in numbers]
            offsets[source] = np.concatenate([[0], np.cumsum([len(one) for one in lists])])
            members[source] = np.concatenate(lists)
        return HyperedgeBlock(size, weight, places, offsets, members)
