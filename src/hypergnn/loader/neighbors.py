"""Mini-batches: some vertices, what the layers of a network need to make their rows, and their features and labels."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing.context import get_spawning_popen
from multiprocessing.sharedctypes import RawArray
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from hypergnn._utils.checks import check_flag, check_size
from hypergnn.functional.checks import Features
from hypergnn.kernels.dropout import hash_of
from hypergnn.loader.arguments import (
    as_fanout,
    as_labels,
    as_vertices,
    check_whole,
    one_way,
    own_direction,
    shown_fanout,
)
from hypergnn.loader.features import rows_of
from hypergnn.loader.sampling import Sampler
from hypergnn.persistence.files import check_identity, identity_of
from hypergnn.structures.base import Direction
from hypergnn.structures.block import Block
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.hypergraph import Hypergraph

_MOST_WORKERS = 1024
_LAST_EPOCH = 1 << 62


@dataclass(frozen=True, eq=False)
class Batch:
    """Some vertices, and all that a network needs to make their rows.

    Attributes:
        vertices: Ids of the vertices in the whole, ``(n,)``; the last block makes them in this order.
        x: Features of the vertices that the first block reads.
        y: Labels or targets of the vertices, in their order; ``None`` if the loader has none.
        blocks: What each layer propagates over, first layer first.
        epoch: The epoch that the batch belongs to.
        number: Its place in the epoch.

    Example:
        >>> import hypergnn as hg
        >>> H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> batch = hg.NeighborLoader(H, torch.rand(4, 8), fanout=[(1, 2)], batch_size=2).batch(0)
        >>> hg.HypergraphConv(8, 3)(batch.x, batch.blocks[0]).shape
        torch.Size([2, 3])
    """

    vertices: Tensor
    x: Features
    y: Tensor | None
    blocks: list[Block]
    epoch: int = 0
    number: int = 0

    def to(self, device: torch.device | str) -> Batch:
        """The same batch with its tensors on ``device``."""
        y = None if self.y is None else self.y.to(device)
        blocks = [one.to(device) for one in self.blocks]
        return replace(self, vertices=self.vertices.to(device), x=self.x.to(device), y=y, blocks=blocks)

    def __repr__(self) -> str:
        """Sizes at a glance."""
        return f"Batch({self.vertices.shape[0]} vertices, {self.x.shape[-2]} read, {len(self.blocks)} layers)"


class NeighborLoader(IterableDataset[Batch]):
    """Batches of vertices with sampled neighbours, one block per layer.

    For each vertex that a layer makes, it draws hyperedges with probabilities proportional to their weights, and for
    each of those it draws members evenly, without repetition. The degrees are those of the whole hypergraph, and what
    was drawn is scaled to stand for all: the mean of a sampled linear convolution over all draws is the full one.

    A batch depends on the seed, the epoch and its number only. The first pass over the loader is epoch 0, the next one
    epoch 1, and so on. It is a ``torch.utils.data.IterableDataset``: ``DataLoader(loader, batch_size=None,
    num_workers=2)`` gives the same batches in the same order.

    Args:
        H: The hypergraph. One from :meth:`Hypergraph.load <hypergnn.Hypergraph.load>` stays in its file, and only what
            is drawn is read.
        x: Features, one row per vertex: a tensor, an array (``numpy.memmap`` too), a SciPy sparse matrix, or the path
            of an ``.npy``, ``.safetensors`` or ``.parquet`` file, which need not fit in memory.
        y: Labels or targets, one row per vertex.
        vertices: Ids of the vertices to make batches of, each once; all vertices if omitted.
        batch_size: Number of vertices in a batch. The last batch of an epoch may have fewer.
        fanout: For each layer, ``(hyperedges of each vertex, members of each hyperedge)`` to draw. ``None`` instead of
            a pair or a number draws all; ``None`` for everything gives exactly the full result, in ``depth`` layers.
        depth: Number of layers if ``fanout`` is ``None``.
        shuffle: Whether each epoch has another order.
        seed: What decides all draws.
        attention: Whether the layers attend. Then the senders draw as well, because their hyperedges compete.
        direction: Which way the layers follow the hyperedges of a directed hypergraph.
        prefetch: Number of batches that a background thread prepares ahead; 0 for none.

    Raises:
        TypeError: If an argument is of the wrong type.
        ValueError: If sizes do not fit each other.

    Example:
        >>> import hypergnn as hg
        >>> H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3], [3, 4, 5]], n_vertices=6)
        >>> network = hg.Network(hg.Config(), n_features=8, n_classes=2)
        >>> loader = NeighborLoader(H, torch.rand(6, 8), fanout=[(2, 2), (2, 2)], batch_size=4)
        >>> [network(batch.x, hypergraph=batch.blocks).shape for batch in loader]
        [torch.Size([4, 2]), torch.Size([2, 2])]
    """

    def __init__(
        self,
        H: Hypergraph | DirectedHypergraph,
        x: Any,
        y: Any = None,
        *,
        vertices: Any = None,
        batch_size: int = 1024,
        fanout: Sequence[Any] | None = None,
        depth: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        attention: bool = False,
        direction: Direction = "forward",
        prefetch: int = 2,
    ) -> None:
        """Check the arguments; nothing is drawn yet."""
        super().__init__()
        self._H = check_whole(H)
        check_flag("shuffle", shuffle)
        check_flag("attention", attention)
        self.batch_size = check_size("batch_size", batch_size, minimum=1)
        self.seed, self.shuffle = check_size("seed", seed), shuffle
        self.prefetch = check_size("prefetch", prefetch)
        self.fanout = as_fanout(fanout, depth)
        self.attention, self.direction = attention, direction
        self._sampler = Sampler(one_way(H, direction), direction=own_direction(H, direction), attention=attention)
        self._rows = rows_of(x)
        if self._rows.shape[0] != H.n_vertices:
            raise ValueError(f"x must have {H.n_vertices} rows, one per vertex; got {self._rows.shape[0]}.")
        self._y = as_labels(y, H.n_vertices)
        self.vertices = as_vertices(vertices, H.n_vertices)
        self._share = (0, 1)
        self._epochs = _Epochs()

    @property
    def n_batches(self) -> int:
        """Number of batches of an epoch, in all shares together."""
        return -(-self.vertices.size // self.batch_size)

    def __len__(self) -> int:
        """Number of batches of an epoch, in this share."""
        return -(-self.n_batches // self._share[1])

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch of the next pass, for example to resume."""
        if check_size("epoch", epoch) > _LAST_EPOCH:
            raise ValueError(f"epoch must be at most {_LAST_EPOCH}; got {epoch}.")
        self._epochs.set(epoch)

    def shard(self, index: int, n: int) -> NeighborLoader:
        """The share of one process of several: every ``n``-th batch, without any communication.

        All shares have the same number of batches, as data-parallel training needs it; where the batches of an epoch
        cannot be divided evenly, the last ones repeat the first.

        Args:
            index: The number of the process, from 0: its rank.
            n: The number of processes: the world size.

        Example:
            >>> import hypergnn as hg
            >>> H = hg.Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3)
            >>> loader = NeighborLoader(H, torch.rand(3, 8), batch_size=1)
            >>> [batch.number for batch in loader.shard(0, 2)], [batch.number for batch in loader.shard(1, 2)]
            ([0, 2], [1, 0])
        """
        n = check_size("n", n, minimum=1)
        if check_size("index", index) >= n:
            raise ValueError(f"index must be below n={n}, the number of shares; got {index}.")
        shared = object.__new__(NeighborLoader)
        shared.__dict__.update(self.__dict__)
        first, step = self._share
        shared._share, shared._epochs = (first + step * index, step * n), _Epochs()
        shared.set_epoch(self._epochs.next_of(0))
        return shared

    def batch(self, number: int, epoch: int = 0) -> Batch:
        """One batch of an epoch, by its number.

        Args:
            number: The number of the batch, below :attr:`n_batches`.
            epoch: The epoch.
        """
        if check_size("number", number) >= self.n_batches:
            raise ValueError(f"number must be below {self.n_batches}, the number of batches; got {number}.")
        return self._drawn(number, check_size("epoch", epoch), self._order(epoch))

    def batches(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        """The batches of this share in an epoch, from the ``start``-th on: what is left of an interrupted epoch.

        Args:
            epoch: The epoch.
            start: How many batches of this share to leave out.
        """
        return self._prefetched(self._numbers()[check_size("start", start) :], check_size("epoch", epoch))

    def __iter__(self) -> Iterator[Batch]:
        """The batches of the next epoch; in a worker of a ``DataLoader``, its share of them."""
        worker = get_worker_info()
        epoch = self._epochs.started(None if worker is None else worker.id)
        numbers = self._numbers()
        return self._prefetched(numbers if worker is None else numbers[worker.id :: worker.num_workers], epoch)

    def _numbers(self) -> list[int]:
        index, n = self._share
        return [(index + n * place) % self.n_batches for place in range(len(self))]

    def _order(self, epoch: int) -> npt.NDArray[np.int64]:
        if not self.shuffle:
            return self.vertices
        bits = np.random.Philox(key=hash_of(self.seed, epoch))
        return np.random.Generator(bits).permutation(self.vertices)

    def _drawn(self, number: int, epoch: int, order: npt.NDArray[np.int64]) -> Batch:
        chosen = order[number * self.batch_size : (number + 1) * self.batch_size].copy()
        blocks = self._sampler.blocks(chosen, self.fanout, self.seed, epoch, number)
        y = None if self._y is None else torch.from_numpy(np.array(self._y[chosen]))
        return Batch(torch.from_numpy(chosen), self._rows.take(blocks[0].read.numpy()), y, blocks, epoch, number)

    def _prefetched(self, numbers: Sequence[int], epoch: int) -> Iterator[Batch]:
        order = self._order(epoch)
        if self.prefetch == 0:
            for number in numbers:
                yield self._drawn(number, epoch, order)
            return
        waiting: deque[Any] = deque()
        ahead = iter(numbers)
        with ThreadPoolExecutor(1, thread_name_prefix="hypergnn-loader") as pool:
            try:
                for number in ahead:
                    waiting.append(pool.submit(self._drawn, number, epoch, order))
                    if len(waiting) > self.prefetch:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for one in waiting:
                    one.cancel()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the name of a mapped file and not its content, so that each worker maps it."""
        state = {name: value for name, value in self.__dict__.items() if name != "_sampler"}
        source, identity = self._H.__dict__.get("_source"), self._H.__dict__.get("_source_identity")
        if source is not None and identity is not None and identity == identity_of(source):
            state["_H"] = (type(self._H), source, identity)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Map the file again, which must be the same."""
        self.__dict__.update(state)
        if isinstance(self._H, tuple):
            kind, source, identity = self._H
            check_identity(source, identity)
            self._H = kind.load(source)
        H, direction = self._H, self.direction
        own = own_direction(H, direction)
        self._sampler = Sampler(one_way(H, direction), direction=own, attention=self.attention)

    def __repr__(self) -> str:
        """Sizes and settings at a glance."""
        share = "" if self._share == (0, 1) else f", share {self._share[0]} of {self._share[1]}"
        sizes = f"{self.vertices.size} vertices in {self.n_batches} batches"
        return f"NeighborLoader({sizes}, fanout={shown_fanout(self.fanout)}, seed={self.seed}{share})"


class _Epochs:
    """The next epoch of each worker, in memory that all workers share, so that each pass is the next epoch."""

    def __init__(self, shared: Any = None) -> None:
        self._shared = RawArray(ctypes.c_int64, _MOST_WORKERS) if shared is None else shared
        self._next = np.frombuffer(cast(Any, self._shared), np.int64)

    def set(self, epoch: int) -> None:
        self._next[:] = epoch

    def next_of(self, worker: int) -> int:
        return int(self._next[worker % _MOST_WORKERS])

    def started(self, worker: int | None) -> int:
        """The epoch of the pass that starts now."""
        epoch = self.next_of(worker or 0)
        if worker is None:
            self.set(epoch + 1)
        else:
            self._next[worker % _MOST_WORKERS] += 1
        return epoch

    def __reduce__(self) -> tuple[Any, ...]:
        """Hand the memory to a process that is being started; any other pickle is a copy."""
        if get_spawning_popen() is not None:
            return _Epochs, (self._shared,)
        return _epochs, (self._next.copy(),)


def _epochs(known: npt.NDArray[np.int64]) -> _Epochs:
    epochs = _Epochs()
    epochs._next[:] = known
    return epochs
