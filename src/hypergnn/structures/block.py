"""Blocks: what one layer reads and makes, when only some rows are wanted.

A network that is trained on a few vertices sees the others only as far as its layers reach. What lies beyond changes
neither its loss nor its gradient, and need not be computed. A block names the vertices that one layer reads (its
senders) and those that it makes (its receivers), with the degrees of the whole, so that the rows are exactly those that
the whole structure gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils.checks import Names
from hypergnn.structures.base import LABEL, STATIC, Direction, Structure, TwoSided, check_numbers, check_rows
from hypergnn.structures.edits import side_by_side
from hypergnn.structures.incidence import Ids, Incidence

if TYPE_CHECKING:
    from hypergnn.structures.graph import Graph


@dataclass(frozen=True, eq=False, repr=False)
class Block(TwoSided):
    """What one layer reads and makes of a hypergraph: ``layer(x[block.read], block)`` has a row per ``block.made``.

    Make one with :meth:`Hypergraph.around <hypergnn.Hypergraph.around>`; a network takes a list of them, one per layer.

    Attributes:
        senders: Vertices read × hyperedges.
        receivers: Vertices made × hyperedges.
        weight: Weight of each hyperedge, ``(M,)`` float64.
        read: Ids in the whole of the vertices that the layer reads, one per row of ``x``.
        made: Ids in the whole of the vertices that it makes, one per row of its result.
        attention: Whether each sender comes with all of its hyperedges, as a layer that attends needs it.
        vertex_names: What the vertices read are called, if new vertices join a hypergraph that names them.
        hyperedge_names: The names of the hyperedges, in the same case.
        direction: Which way it follows hyperedges that point; ``None`` if they do not.
        receiver_scale: Of a sampled block, by how much the drawn hyperedges of each receiver stand for all of them,
            ``(n_receivers,)`` float64.
        hyperedge_scale: Of a sampled block, by how much the drawn members of each hyperedge stand for all of them,
            ``(M,)`` float64.
        receiver_count: Of a sampled block, number of hyperedges of each receiver in the whole, ``(n_receivers,)``
            float64.
    """

    senders: Incidence
    receivers: Incidence
    weight: Tensor
    _sender_degree: Tensor  # of the whole
    _receiver_degree: Tensor  # of the whole
    _hyperedge_degree: Tensor  # of the whole
    read: Tensor
    made: Tensor
    rows: Tensor | None = None
    centroid: Tensor | None = None
    is_centred: bool = field(default=False, metadata=STATIC)
    attention: bool = field(default=False, metadata=STATIC)
    shares_pairs: bool = field(default=True, metadata=STATIC)
    vertex_names: Names | None = field(default=None, metadata=LABEL)
    hyperedge_names: Names | None = field(default=None, metadata=LABEL)
    direction: Direction | None = field(default="forward", metadata=STATIC)
    receiver_scale: Tensor | None = None
    hyperedge_scale: Tensor | None = None
    receiver_count: Tensor | None = None
    has_inverse_frequency: bool = field(default=False, metadata=STATIC)

    @property
    def is_sampled(self) -> bool:
        """Whether it holds a sample of the neighbours, from :class:`~hypergnn.NeighborLoader`."""
        return self.receiver_scale is not None

    @classmethod
    def _around(
        cls, H: TwoSided, made: Ids, reach: Reach, read: Ids | None = None, direction: Direction | None = None
    ) -> Block:
        """The block that makes some vertices of a hypergraph.

        Args:
            H: The hypergraph.
            made: The vertices to make, in the order of the rows of the result.
            reach: What their rows depend on.
            read: Vertices to read, ascending, if more than those that are needed.
            direction: Which way ``H`` follows hyperedges that point; its own if omitted.
        """
        vertices = reach.vertices if read is None else read
        sender, edge = _rows_at(H.senders, reach.pairs), H.senders.members.cpu().numpy()[reach.pairs]
        new_vertex, new_edge = _renumbering(vertices, H.n_vertices), _renumbering(reach.hyperedges, H.n_hyperedges)
        senders = Incidence.from_pairs(new_vertex[sender], new_edge[edge], vertices.size, reach.hyperedges.size)
        places, sizes = H.receivers.pairs_of(made)
        received = new_edge[H.receivers.members.cpu().numpy()[places]]
        receivers = Incidence.from_pairs(
            np.repeat(np.arange(made.size), sizes), received, made.size, reach.hyperedges.size
        )
        rows = new_vertex[made]
        is_whole = made.size == vertices.size and bool((rows == np.arange(rows.size)).all())
        if is_whole and H.shares_pairs and receivers.n_pairs == senders.n_pairs:
            receivers = senders
        chosen = torch.from_numpy(reach.hyperedges)
        block = cls(
            senders,
            receivers,
            weight=H.weight.cpu()[chosen],
            _sender_degree=H._sender_degree.cpu()[torch.from_numpy(vertices)],
            _receiver_degree=H._receiver_degree.cpu()[torch.from_numpy(made)],
            _hyperedge_degree=H._hyperedge_degree.cpu()[chosen],
            read=torch.from_numpy(vertices),
            made=torch.from_numpy(made),
            rows=None if is_whole else torch.from_numpy(rows),
            centroid=_centroids(H, reach.hyperedges, new_vertex),
            is_centred=H.is_centred,
            attention=reach.attention or receivers is senders,
            shares_pairs=H.shares_pairs,
            direction=direction or H._direction,
            has_inverse_frequency=H.has_inverse_frequency,
        )
        return block if H.device.type == "cpu" else block.to(H.device)

    @classmethod
    def _joining(
        cls,
        H: TwoSided,
        new: Incidence,
        brought: TwoSided | None,
        *,
        makes_all: bool,
        direction: Direction | None = None,
    ) -> Block:
        """The block in which new vertices receive from the hyperedges of ``H``, and send only to those they bring.

        Args:
            H: The hypergraph.
            new: New vertices × hyperedges of ``H``.
            brought: A hypergraph of the new vertices, whose hyperedges follow those of ``H``.
            makes_all: Whether to make the vertices of ``H`` as well, as a layer before the last one must.
            direction: Which way ``H`` follows hyperedges that point; its own if omitted.
        """
        n_old, n_new = H.n_vertices, new.n_rows
        rows = np.arange(n_old, n_old + n_new)
        senders, weight, size, centroid = H.senders, H.weight, H._hyperedge_degree, H.centroid
        sent = H.weight.new_zeros(n_new)
        if brought is None:
            ends = torch.cat([senders.offsets, senders.offsets[-1:].expand(n_new)])
            senders = senders._replace(offsets=ends).trusted()  # those of H, which is sound, and rows without pairs
        else:
            senders = _stacked(senders, brought.senders, shift=H.n_hyperedges).to(H.device)
            new = side_by_side(new, brought.receivers.to("cpu"))
            weight = torch.cat([weight, brought.weight.to(H.device)])
            size = torch.cat([size, brought._hyperedge_degree.to(H.device)])
            sent = brought._sender_degree.to(H.device)
            centroid = _all_centroids(H, brought)
        degree = weighted_degree(new, weight.cpu()).to(H.device)
        receivers = new.to(H.device)
        if makes_all:
            rows, receivers = np.arange(n_old + n_new), _stacked(H.receivers, new).to(H.device)
        ids = torch.arange(n_old + n_new, device=H.device)
        return cls(
            senders,
            receivers,
            weight=weight,
            _sender_degree=torch.cat([H._sender_degree, sent]),
            _receiver_degree=torch.cat([H._receiver_degree, degree]) if makes_all else degree,
            _hyperedge_degree=size,
            read=ids,
            made=torch.from_numpy(rows).to(H.device),
            rows=None if makes_all else torch.from_numpy(rows).to(H.device),
            centroid=centroid,
            is_centred=H.is_centred and (brought is None or brought.is_centred),
            attention=True,
            shares_pairs=False,
            vertex_names=_all_names(H, brought, "vertex_names", n_old, n_new),
            hyperedge_names=_all_names(H, brought, "hyperedge_names", H.n_hyperedges, weight.shape[0] - H.n_hyperedges),
            direction=direction or H._direction,
            has_inverse_frequency=H.has_inverse_frequency and (brought is None or brought.has_inverse_frequency),
        )

    def _check_fields(self) -> None:
        super()._check_fields()
        check_rows("read", self.read, self.n_vertices, torch.iinfo(torch.int64).max)
        check_rows("made", self.made, self.n_receivers, torch.iinfo(torch.int64).max)
        if (self.receiver_scale is None) != (self.hyperedge_scale is None):
            raise ValueError("receiver_scale and hyperedge_scale must be given together, or neither.")
        if self.receiver_scale is not None and self.hyperedge_scale is not None:
            check_numbers("receiver_scale", self.receiver_scale, self.n_receivers)
            check_numbers("hyperedge_scale", self.hyperedge_scale, self.n_hyperedges)
        if self.receiver_count is not None:
            check_numbers("receiver_count", self.receiver_count, self.n_receivers)

    def hyperedge_degree(self) -> Tensor:
        """Number of senders of each hyperedge in the whole, also if only some were drawn, ``(M,)`` float64."""
        drawn = super().hyperedge_degree()
        return drawn if self.hyperedge_scale is None else (drawn * self.hyperedge_scale).round()

    def to(self, device: torch.device | str) -> Block:
        """The same block with its tensors on ``device``."""
        moved = super().to(device)
        if self.receivers is self.senders:
            object.__setattr__(moved, "receivers", moved.senders)
        return moved

    def ways(self, direction: Direction) -> tuple[TwoSided, ...]:
        """What a layer of this direction propagates over: the block, if it was made for that direction."""
        if self.direction is None:
            return super().ways(direction)
        if direction != self.direction:
            raise ValueError(
                f"a layer with direction={direction!r} needs a block made with around(vertices, "
                f"direction={direction!r}); got one for {self.direction!r}."
            )
        return (self,)

    def __repr__(self) -> str:
        """Sizes at a glance."""
        sizes = f"{self.n_vertices} vertices read, {self.n_receivers} made, {self.n_hyperedges} hyperedges"
        sampled = ", sampled" if self.is_sampled else ""
        return f"Block({sizes}, {self.senders.n_pairs} + {self.receivers.n_pairs} incidences{sampled})"


@dataclass(frozen=True)
class Reach:
    """What of a hypergraph the rows of some vertices depend on: vertices, hyperedges and pairs of senders."""

    vertices: npt.NDArray[np.int64]
    hyperedges: npt.NDArray[np.int64]
    pairs: npt.NDArray[np.int64]
    """Their canonical places, ascending."""
    attention: bool
    """Whether each sender comes with all of its hyperedges, which compete for its attention."""

    @classmethod
    def of(cls, H: TwoSided, made: Ids, *, attention: bool) -> Reach:
        """Follow the receivers to their hyperedges, and these to their senders."""
        hyperedges = _unique(H.receivers, made)
        pairs = _pairs_of_columns(H.senders, hyperedges)
        senders = np.unique(H.senders.T.members.cpu().numpy()[H.senders.T.pairs_of(hyperedges)[0]])
        if attention:
            hyperedges = np.union1d(hyperedges, _unique(H.senders, senders))
            pairs = H.senders.pairs_of(senders)[0]
            if not H.is_centred:  # hyperedges then have the mean of their members
                pairs = _pairs_of_columns(H.senders, hyperedges)
                senders = np.unique(_rows_at(H.senders, pairs))
        centroids = [] if H.centroid is None else [H.centroid.cpu().numpy()[hyperedges]]
        vertices = np.unique(np.concatenate([made, senders, *centroids])).astype(np.int64)
        return cls(vertices[vertices >= 0], hyperedges.astype(np.int64), pairs, attention)


@dataclass(frozen=True, eq=False, repr=False)
class GraphBlock(Structure):
    """What one layer reads and makes of a graph; see :class:`Block`.

    Attributes:
        links: Vertices made × vertices read.
        read: Ids in the whole of the vertices that the layer reads.
        made: Ids in the whole of the vertices that it makes.
    """

    links: Incidence
    target_degree: Tensor  # of the whole
    source_degree: Tensor  # of the whole
    read: Tensor
    made: Tensor
    rows: Tensor | None = None

    @classmethod
    def _around(cls, graph: Graph, made: Ids, *, read: Ids | None = None) -> GraphBlock:
        """The block that makes some vertices of a graph, whose neighbours it reads."""
        places, sizes = graph.links.pairs_of(made)
        source = graph.links.members.cpu().numpy()[places]
        vertices = np.unique(np.concatenate([made, source])).astype(np.int64) if read is None else read
        new = _renumbering(vertices, graph.n_vertices)
        links = Incidence.from_pairs(np.repeat(np.arange(made.size), sizes), new[source], made.size, vertices.size)
        rows, degree = new[made], graph.degree.cpu()
        is_whole = made.size == vertices.size and bool((rows == np.arange(rows.size)).all())
        block = cls(
            links,
            target_degree=degree[torch.from_numpy(made)],
            source_degree=degree[torch.from_numpy(vertices)],
            read=torch.from_numpy(vertices),
            made=torch.from_numpy(made),
            rows=None if is_whole else torch.from_numpy(rows),
        )
        return block if graph.device.type == "cpu" else block.to(graph.device)

    def _check_fields(self) -> None:
        check_numbers("target degree", self.target_degree, self.n_receivers)
        check_numbers("source degree", self.source_degree, self.n_vertices)
        check_rows("read", self.read, self.n_vertices, torch.iinfo(torch.int64).max)
        check_rows("made", self.made, self.n_receivers, torch.iinfo(torch.int64).max)
        check_rows("rows", self.rows, self.n_receivers, self.n_vertices)

    @property
    def n_vertices(self) -> int:
        """Number of vertices that the layer reads."""
        return self.links.n_columns

    @property
    def n_receivers(self) -> int:
        """Number of vertices that the layer makes."""
        return self.links.n_rows

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.read.device

    def __repr__(self) -> str:
        """Sizes at a glance."""
        return f"GraphBlock({self.n_vertices} vertices read, {self.n_receivers} made, {self.links.n_pairs} links)"


def weighted_degree(pairs: Incidence, weight: Tensor | None) -> Tensor:
    """Sum of the weights of the columns of each row, ``(n_rows,)`` float64, in the canonical order of the pairs."""
    if weight is None:
        return pairs.offsets.diff().double()
    arrays = (np.ones(pairs.n_pairs), pairs.members.numpy(), pairs.offsets.numpy())
    return torch.from_numpy(sparse.csr_array(arrays, shape=(pairs.n_rows, pairs.n_columns)) @ weight.numpy())


def _stacked(above: Incidence, below: Incidence, *, shift: int = 0) -> Incidence:
    """The rows of one incidence, then those of another, whose columns are those of the first or start at ``shift``."""
    rows = [above.rows().cpu().numpy(), below.rows().cpu().numpy() + above.n_rows]
    columns = [above.members.cpu().numpy(), below.members.cpu().numpy() + shift]
    sizes = (above.n_rows + below.n_rows, max(above.n_columns, shift + below.n_columns))
    return Incidence.from_pairs(np.concatenate(rows), np.concatenate(columns), *sizes)


def _all_names(H: TwoSided, brought: TwoSided | None, what: str, n_own: int, n_new: int) -> Names | None:
    """The names of old and new vertices or hyperedges, by their numbers where they have none; ``None`` without any."""
    own, new = (getattr(one, what, None) for one in (H, brought))
    if own is None and new is None:
        return None
    first = list(range(n_own)) if own is None else own.tolist()
    second = list(range(n_own, n_own + n_new)) if new is None else new.tolist()
    return np.fromiter([*first, *second], dtype=object, count=n_own + n_new)


def _all_centroids(H: TwoSided, brought: TwoSided) -> Tensor | None:
    """The centroids of the hyperedges of ``H`` and of those brought, whose vertices follow those of ``H``."""
    if H.centroid is None and brought.centroid is None:
        return None
    none = [torch.full((one.n_hyperedges,), -1, device=H.device) for one in (H, brought)]
    own = none[0] if H.centroid is None else H.centroid
    other = none[1] if brought.centroid is None else brought.centroid.to(H.device)
    return torch.cat([own, torch.where(other < 0, -1, other + H.n_vertices)])


def _unique(pairs: Incidence, rows: Ids) -> npt.NDArray[np.int64]:
    """The columns of some rows, ascending, each once."""
    return np.unique(pairs.members.cpu().numpy()[pairs.pairs_of(rows)[0]]).astype(np.int64)


def _pairs_of_columns(pairs: Incidence, columns: Ids) -> npt.NDArray[np.int64]:
    """Canonical places of the pairs of some columns, ascending."""
    places = pairs.T.pairs_of(columns)[0]
    return np.sort(places if pairs.back_position is None else pairs.back_position.cpu().numpy()[places])


def _rows_at(pairs: Incidence, places: Ids) -> npt.NDArray[np.int64]:
    """The row of each of some pairs."""
    return np.searchsorted(pairs.offsets.cpu().numpy(), places, side="right") - 1


def _centroids(H: TwoSided, hyperedges: Ids, new_vertex: Ids) -> Tensor | None:
    if H.centroid is None:
        return None
    old = H.centroid.cpu().numpy()[hyperedges]
    return torch.from_numpy(np.where(old < 0, -1, new_vertex[old]))


def _renumbering(ids: Ids, size: int) -> npt.NDArray[np.int64]:
    """The place of each of some ids, by id."""
    numbers = np.zeros(size, np.int64)
    numbers[ids] = np.arange(ids.size)
    return numbers
