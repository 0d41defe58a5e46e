"""Scores of all vertices without sampling, layer by layer, in memory that does not grow with the hypergraph.

A network on batches of vertices would compute the hidden rows of shared neighbours again and again. Here each layer
makes the rows of all vertices before the next one starts, a part at a time, and what lies between two layers is in
temporary files that are mapped into memory (in ``TMPDIR``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor
from torch.nn.functional import elu

from hypergnn._utils.checks import check_size
from hypergnn.functional.convolution import scalings
from hypergnn.functional.projection import project, to_dense
from hypergnn.layers import DynamicHypergraphConv, HypergraphConv, Layer
from hypergnn.loader.arguments import check_whole, own_direction
from hypergnn.loader.features import Rows, rows_of
from hypergnn.loader.sampling import Sampler
from hypergnn.models import own_layers
from hypergnn.models.ensemble import Ensemble
from hypergnn.models.network import Network
from hypergnn.persistence import scratch
from hypergnn.persistence.files import replacing
from hypergnn.structures.base import TwoSided
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Incidence

Matrix = npt.NDArray[Any]
_DTYPES = (torch.float16, torch.float32, torch.float64)


@torch.no_grad()
def infer(
    network: Network,
    H: Hypergraph | DirectedHypergraph,
    x: Any,
    *,
    batch_size: int = 1 << 14,
    out: str | os.PathLike[str] | None = None,
) -> Tensor | Matrix:
    """The scores of all vertices, ``(N, n_classes)``, equal to those of ``network(x, hypergraph=H)``.

    Args:
        network: The network, of hypergraph layers only. Dropout is off.
        H: The hypergraph, which may be mapped from a file.
        x: The features, as for :class:`~hypergnn.NeighborLoader`: they may be a file.
        batch_size: Number of vertices or hyperedges that are computed together.
        out: An ``.npy`` file to write the scores to. They are returned as an array mapped from it.

    Raises:
        ValueError: If the network needs a graph, or sizes do not fit each other.

    Example:
        >>> import hypergnn as hg
        >>> H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> network, x = hg.Network(hg.Config(), n_features=5, n_classes=3).eval(), torch.rand(4, 5)
        >>> torch.testing.assert_close(infer(network, H, x, batch_size=2), network(x, hypergraph=H))
    """
    rows = _checked(network, H, x)
    batch_size = check_size("batch_size", batch_size, minimum=1)
    width, dtype = cast(Layer, network.layers[-1]).width, cast(Layer, network.layers[-1]).projection.dtype
    scores = _infer(network, network.weighted(H), rows, batch_size)
    if out is None:
        return torch.cat([torch.empty(0, width, dtype=dtype), *scores])
    head = {"descr": _numpy_type(dtype).str, "fortran_order": False, "shape": (H.n_vertices, width)}
    with closing(scores), replacing(out) as file:  # an error of the disk ends the generator too
        np.lib.format.write_array_header_1_0(file, head)
        for part in scores:
            file.write(part.contiguous().numpy().data)
    return np.load(out, mmap_mode="r")  # type: ignore[no-any-return]


def _infer(network: Network, H: Any, rows: Rows, batch_size: int) -> Generator[Tensor, None, None]:
    """The scores of some vertices after the other."""
    was_training = network.training
    network.eval()
    try:
        for number, one in enumerate(network.layers):
            layer, is_last = cast(Layer, one), number + 1 == len(network.layers)
            parts = _way_of(layer)(layer, H, rows, batch_size)
            if is_last:
                yield from (part if network.linear_output else elu(part) for _, part in parts)
                return
            hidden = room(H.n_vertices, layer.width, layer.projection.dtype)
            for start, part in parts:
                hidden[start : start + part.shape[0]] = elu(part).numpy()
            rows = rows_of(hidden)
    finally:
        network.train(was_training)


def _checked(network: Network, H: Any, x: Any) -> Rows:
    if not isinstance(network, Network):
        raise TypeError(f"network must be a Network; got {type(network).__name__}.")
    if network.structures != ("hypergraph",):
        got = repr(network.config.model) if network.is_named else f"layers that take {network.structures}"
        raise ValueError(f"network must be of hypergraph layers only; got {got}.")
    config = network.config
    if isinstance(network, Ensemble):
        raise TypeError("network must be a single network; got an ensemble. Infer with each of its members.")
    is_plain = network._form is None and config.norm == "none" and config.hyperedge_features == "members"
    are_fixed = all(isinstance(one, Layer) and not isinstance(one, DynamicHypergraphConv) for one in network.layers)
    if not is_plain or not are_fixed:
        raise ValueError(
            "network must be made of layers one after the other that read given hyperedges: no initial residual, "
            "random propagation, PairNorm, features of hyperedges or hyperedges that follow the features. Call it as "
            "network(x, hypergraph=H)."
        )
    for one in network.parameters():
        if one.device.type != "cpu" or one.dtype not in _DTYPES:
            raise ValueError(
                f"network must be on the CPU, of type float32, float64 or float16; got {one.dtype} on {one.device}."
            )
    check_whole(H)
    rows = rows_of(x)
    if rows.shape != (H.n_vertices, network.n_features):
        raise ValueError(
            f"x must have {H.n_vertices} rows, one per vertex, and {network.n_features} features; got {rows.shape}."
        )
    return rows


def room(n_rows: int, width: int, dtype: torch.dtype) -> Matrix:
    """A matrix in a temporary file that nobody sees."""
    return scratch.matrix(n_rows, width, _numpy_type(dtype))


def _numpy_type(dtype: torch.dtype) -> np.dtype[Any]:
    return torch.empty(0, dtype=dtype).numpy().dtype


def parts_of(size: int, step: int) -> Iterator[tuple[int, int]]:
    """Where each part of some rows begins and ends."""
    for start in range(0, size, step):
        yield start, min(start + step, size)


def _rows(rows: Rows, start: int, stop: int, dtype: torch.dtype) -> Any:
    taken = rows.take(np.arange(start, stop))
    return taken.to(dtype) if isinstance(taken, Tensor) else taken


def _way_of(layer: Layer) -> Callable[[Layer, Any, Rows, int], Iterator[tuple[int, Tensor]]]:
    """How the rows of a layer are computed. Subclasses and layers with hooks are called as modules."""
    if not own_layers.structures_of(layer):
        return _by_rows
    return _convolved if _is_convolution(layer) and not own_layers.has_hooks(layer) else _by_blocks


def _is_convolution(layer: Layer) -> bool:
    """Whether the transition is that of the hypergraph alone."""
    return type(layer) is HypergraphConv and layer.weight_score is None


def _convolved(layer: Layer, H: Any, rows: Rows, step: int) -> Iterator[tuple[int, Tensor]]:
    """A convolution in two passes, one over hyperedges and one over vertices: each incidence is read once in each."""
    own = cast(HypergraphConv, layer)
    dtype = own.projection.dtype
    ways = [
        (one, gathered_by_parts(one, rows, own, own._of_way(own.projection, number, -1), step))
        for number, one in enumerate(H.ways(own.direction))
    ]
    for start, stop in parts_of(H.n_vertices, step):
        outs = [received(one, own, sums, start, stop) for one, sums in ways]
        x = _rows(rows, start, stop, dtype) if own.skip else torch.empty(0)
        yield start, own._with_bias(own._aggregated(torch.cat(outs, -1), x))


def gathered_by_parts(one: TwoSided, rows: Rows, layer: HypergraphConv, projection: Tensor | None, step: int) -> Matrix:
    """``W B^-1 Sᵀ D_S^-b X P``, a row per hyperedge in a temporary file; ``P`` may be left out."""
    dtype, width = layer.projection.dtype, rows.shape[1] if projection is None else projection.shape[-1]
    _, middle, right = scalings(one, layer.normalization, dtype)
    sent = room(one.n_vertices, width, dtype)
    for start, stop in parts_of(one.n_vertices, step):
        taken = _rows(rows, start, stop, dtype)
        part = to_dense(taken) if projection is None else project(taken, projection)
        sent[start:stop] = (part if right is None else part * right[0, start:stop]).numpy()
    sums = room(one.n_hyperedges, width, dtype)
    for start, stop in parts_of(one.n_hyperedges, step):
        total = torch.from_numpy(_slice(one.senders.T, start, stop, sent.dtype) @ sent)
        sums[start:stop] = (total if middle is None else total * middle[0, start:stop]).numpy()
    return sums


def received(one: TwoSided, layer: HypergraphConv, sums: Matrix, start: int, stop: int) -> Tensor:
    """``D_R^-a R`` times the rows of the hyperedges, for some of the vertices."""
    left, _, _ = scalings(one, layer.normalization, layer.projection.dtype)
    total = torch.from_numpy(_slice(one.receivers, start, stop, sums.dtype) @ sums)
    return total if left is None else total * left[0, start:stop]


def _slice(pairs: Incidence, start: int, stop: int, dtype: np.dtype[Any]) -> sparse.csr_array:
    """Some rows of pairs as a matrix of ones."""
    offsets = pairs.offsets.numpy()[start : stop + 1].astype(np.int64)
    members = pairs.members.numpy()[offsets[0] : offsets[-1]]
    if members.size and not 0 <= members.min() <= members.max() < pairs.n_columns:  # of a file that nobody has read
        raise ValueError("H is damaged: an id is out of range. To see what is wrong, load it with verify=True.")
    ends = (offsets - offsets[0]).astype(members.dtype)
    return sparse.csr_array((np.ones(members.size, dtype), members, ends), shape=(stop - start, pairs.n_columns))


def _by_rows(layer: Layer, H: Any, rows: Rows, step: int) -> Iterator[tuple[int, Tensor]]:
    """A layer without a structure, such as a dense one."""
    for start, stop in parts_of(H.n_vertices, step):
        yield start, layer(_rows(rows, start, stop, layer.projection.dtype))


def _by_blocks(layer: Layer, H: Any, rows: Rows, step: int) -> Iterator[tuple[int, Tensor]]:
    """Any other layer, whose transition depends on the features: exact blocks of some vertices after the other."""
    if layer.direction == "both":
        raise ValueError(
            "network must follow hyperedges one way, unless it is made of convolutions with fixed weights and without "
            f"hooks; got {type(layer).__name__} with direction='both'."
        )
    direction = own_direction(H, layer.direction)
    sampler = Sampler(H.ways(layer.direction)[0], direction=direction, attention=not _is_convolution(layer))
    for start, stop in parts_of(H.n_vertices, step):
        block = sampler.block(np.arange(start, stop), None)
        taken: Any = rows.take(block.read.numpy())
        x = taken.to(layer.projection.dtype) if isinstance(taken, Tensor) else taken
        yield start, layer(x, block)
