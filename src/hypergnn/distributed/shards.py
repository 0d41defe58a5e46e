"""A shard: the vertices of one process with their incidences, as a structure that every layer takes.

Senders and receivers are the vertices of this process. The sums of the hyperedges are added up between processes, in
the middle of the transition; degrees are those of the whole hypergraph.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch import distributed as dist

from hypergnn._utils.checks import check_size
from hypergnn.distributed.division import Division, Part
from hypergnn.distributed.exchange import Exchange
from hypergnn.distributed.groups import check_same, rank_and_size
from hypergnn.distributed.partitioning import as_processes, partition
from hypergnn.structures.base import LABEL, STATIC, Direction, TwoSided, check_rows
from hypergnn.structures.block import weighted_degree
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Incidence

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


@dataclass(frozen=True, eq=False, repr=False)
class Shard(TwoSided):
    """The vertices of one process: ``layer(x[shard.vertices], shard)`` has the rows of the whole for them.

    Make one with :func:`shard` or :func:`load_shard`. All processes must call the same layers in the same order, and
    all must call ``backward``, because they exchange sums of hyperedges in both.

    Attributes:
        incidence: The vertices × the hyperedges of this process.
        weight: Weight of each of its hyperedges, ``(M',)`` float64.
        vertices: Ids of its vertices in the whole, ascending.
        hyperedges: Ids of its hyperedges in the whole, ascending.
        places: Where each of its incidences stands among those of the whole.
        n_all_vertices: Number of vertices of the whole.
        n_all_hyperedges: Number of hyperedges of the whole.
        process: The number of this process.
        n_processes: Number of processes.
    """

    incidence: Incidence
    weight: Tensor
    _vertex_degree: Tensor
    _hyperedge_degree: Tensor  # of the whole
    vertices: Tensor
    hyperedges: Tensor
    places: Tensor
    centroid: Tensor | None = None
    has_centroid: Tensor | None = None
    n_all_vertices: int = field(default=0, metadata=STATIC)
    n_all_hyperedges: int = field(default=0, metadata=STATIC)
    process: int = field(default=0, metadata=STATIC)
    n_processes: int = field(default=1, metadata=STATIC)
    parts: Exchange = field(default=None, metadata=LABEL)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Let every vertex send to its hyperedges and receive from them."""
        for name in ("senders", "receivers"):
            object.__setattr__(self, name, self.incidence)
        for name in ("_sender_degree", "_receiver_degree"):
            object.__setattr__(self, name, self._vertex_degree)
        super().__post_init__()

    @classmethod
    def _of(cls, H: Hypergraph, part: Part, process: int, n_processes: int, group: ProcessGroup | None) -> Shard:
        """The shard of a process from what it holds of a hypergraph."""
        chosen = torch.from_numpy(part.hyperedges)
        weight = H.weight.cpu()[chosen]
        centroid, has_centroid = _centroids(H, part)
        return cls(
            part.incidence,
            weight=weight,
            _vertex_degree=weighted_degree(part.incidence, weight),
            _hyperedge_degree=H._hyperedge_degree.cpu()[chosen],
            vertices=torch.from_numpy(part.vertices),
            hyperedges=chosen,
            places=torch.from_numpy(part.places),
            centroid=centroid,
            has_centroid=has_centroid,
            n_all_vertices=H.n_vertices,
            n_all_hyperedges=H.n_hyperedges,
            process=process,
            n_processes=n_processes,
            parts=Exchange(part.there, part.back, group),
        )

    def vertex_degree(self) -> Tensor:
        """Sum of the weights of the hyperedges of each vertex, ``(N',)`` float64."""
        self.check()
        return self._vertex_degree.clone()

    def ways(self, direction: Direction) -> tuple[TwoSided, ...]:
        """The shard itself, whose hyperedges do not point."""
        if direction not in ("forward", "undirected"):
            raise ValueError(f"a shard has no directions; got a layer with direction={direction!r}.")
        return (self,)

    def _check_fields(self) -> None:
        super()._check_fields()
        check_rows("vertices", self.vertices, self.n_vertices, self.n_all_vertices)
        check_rows("hyperedges", self.hyperedges, self.n_hyperedges, self.n_all_hyperedges)
        check_rows("places", self.places, self.n_incidences, torch.iinfo(torch.int64).max)
        if (self.has_centroid is None) != (self.centroid is None):
            raise ValueError("centroid and has_centroid must be given both, or neither.")
        if self.has_centroid is not None and (self.has_centroid.dtype, tuple(self.has_centroid.shape)) != (
            torch.bool,
            (self.n_hyperedges,),
        ):
            raise ValueError(f"has_centroid must have {self.n_hyperedges} entries, True or False.")
        for route in (self.parts.there, self.parts.back):
            for name, rows, counts in (
                ("sent", route.sent, route.n_sent),
                ("received", route.received, route.n_received),
            ):
                if len(counts) != self.n_processes:
                    raise ValueError(f"{name} must have a number for each of {self.n_processes} processes.")
                check_rows(name, rows, sum(check_size(name, one) for one in counts), self.n_hyperedges)
                if not sum(counts) <= route.most <= self.n_all_hyperedges * self.n_processes:
                    raise ValueError(f"most must be the largest number of rows of a process; got {route.most}.")

    def __repr__(self) -> str:
        """Sizes at a glance."""
        return (
            f"Shard({self.process + 1} of {self.n_processes}: {self.n_vertices} of {self.n_all_vertices} vertices, "
            f"{self.n_hyperedges} hyperedges, {self.n_incidences} incidences)"
        )


def shard(H: Hypergraph, process: npt.ArrayLike | None = None, *, group: ProcessGroup | None = None) -> Shard:
    """The shard of this process: its own vertices with their incidences.

    Every process calls this with the same hypergraph. To load only the own part, use :func:`save_shards` once and
    :func:`load_shard` in each process.

    Args:
        H: The hypergraph.
        process: The process of each vertex, ``(N,)``; that of :func:`partition` if omitted.
        group: The process group; all processes if omitted. Start them with ``torchrun`` and call :func:`start`.

    Raises:
        RuntimeError: If no process group has been started.
        ValueError: If the processes have different hypergraphs.

    Example:
        >>> from hypergnn import HypergraphConv, distributed
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4)
        >>> with distributed.start():  # under torchrun: one of several processes
        ...     shard = distributed.shard(H)
        ...     HypergraphConv(8, 2)(torch.rand(4, 8)[shard.vertices], shard).shape
        torch.Size([4, 2])
    """
    rank, size = rank_and_size(group)
    if not isinstance(H, Hypergraph):
        raise TypeError(f"H must be a Hypergraph; got {type(H).__name__}. Take H.undirected() of a directed one.")
    H.check()
    check_same("the hypergraph", digest(H), group)
    if process is None:
        processes = _agreed(H, rank, size, group)
    else:
        processes = as_processes(process, H.n_vertices, size)
        check_same("the process of each vertex", hashlib.sha256(processes.tobytes()).hexdigest(), group)
    made = Shard._of(H, Division(H, processes, size).part(rank), rank, size, group)
    return made if H.device.type == "cpu" else made.to(H.device)


def shard_of(H: Hypergraph, process: npt.ArrayLike, number: int, n: int) -> Shard:
    """The shard of any process, without a process group; layers need one.

    Args:
        H: The hypergraph.
        process: The process of each vertex, ``(N,)``.
        number: Whose shard.
        n: Number of processes.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4)
        >>> shard_of(H, [0, 0, 1, 1], 1, n=2)
        Shard(2 of 2: 2 of 4 vertices, 2 hyperedges, 3 incidences)
    """
    check_size("n", n, minimum=1)
    division = Division(H, as_processes(process, H.n_vertices, n), n)
    return Shard._of(H, division.part(number), number, n, None)


def digest(H: Hypergraph) -> str:
    """What distinguishes a hypergraph from others, as a short text."""
    found = hashlib.sha256(f"{H.n_vertices} {H.n_hyperedges} {H.n_incidences}".encode())
    parts = [H.incidence.offsets, H.incidence.members, H.weight]
    for one in parts if H.centroid is None else [*parts, H.centroid]:
        array = one.cpu().numpy()
        found.update(np.ascontiguousarray(array.astype("<i8") if array.dtype.kind == "i" else array).data)
    return found.hexdigest()[:16]


def _agreed(H: Hypergraph, rank: int, size: int, group: Any) -> npt.NDArray[np.int32]:
    """The division that process 0 finds, sent to all."""
    found = torch.from_numpy(partition(H, size)) if rank == 0 else torch.empty(H.n_vertices, dtype=torch.int32)
    device = "cuda" if dist.get_backend(group) == "nccl" else "cpu"
    found = found.to(device)
    dist.broadcast(found, group_src=0, group=group)
    return found.cpu().numpy()


def _centroids(H: Hypergraph, part: Part) -> tuple[Tensor | None, Tensor | None]:
    """Rows of the centroids that this process holds, -1 for others, and which hyperedges have a centroid at all."""
    if H.centroid is None:
        return None, None
    centroid = H.centroid.cpu().numpy()[part.hyperedges]
    row = np.searchsorted(part.vertices, centroid)
    row = np.minimum(row, max(part.vertices.size - 1, 0))
    is_here = (part.vertices[row] == centroid) if part.vertices.size else np.zeros(centroid.shape, bool)
    return torch.from_numpy(np.where(is_here, row, -1)), torch.from_numpy(centroid >= 0)
