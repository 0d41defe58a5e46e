"""Checks of what a loader is given; each error says what was expected, what was passed and how to fix it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hypergnn._utils.checks import as_ids, check_choice, check_has_values, check_size
from hypergnn.loader.sampling import ALL, Fanout
from hypergnn.structures.base import DIRECTIONS, Direction
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.hypergraph import Hypergraph

MOST_LAYERS = 10_000
"""More cannot be computed in a reasonable time; networks have the same limit."""


def as_fanout(fanout: Any, depth: int | None = None) -> list[Fanout]:
    """The fan-out of each layer, or raise.

    Example:
        >>> as_fanout([(5, 10), None]), as_fanout(None, depth=2)
        ([(5, 10), None], [None, None])
    """
    if fanout is None:
        n_layers = 1 if depth is None else check_size("depth", depth, minimum=1)
        if n_layers > MOST_LAYERS:
            raise ValueError(f"depth must be at most {MOST_LAYERS}; got {n_layers}.")
        return [None] * n_layers
    if not isinstance(fanout, (list, tuple)) or not fanout:
        raise TypeError(
            "fanout must be a list with a pair (hyperedges, members) or None for each layer, such as [(5, 5), (5, 5)]; "
            f"got {fanout!r}."
        )
    if depth is not None and depth != len(fanout):
        raise ValueError(f"depth must be omitted, or {len(fanout)}, the length of fanout; got {depth}.")
    return [_of_layer(one) for one in fanout]


def _of_layer(one: Any) -> Fanout:
    if one is None:
        return None
    if not isinstance(one, (list, tuple)) or len(one) != 2:
        raise TypeError(f"fanout must hold a pair (hyperedges, members) or None for each layer; got {one!r}.")
    first, second = (ALL if number is None else min(check_size("fanout", number, minimum=1), ALL) for number in one)
    return None if first == second == ALL else (first, second)


def shown_fanout(fanout: list[Fanout]) -> str:
    """The fan-out as the caller has written it."""
    return str([None if one is None else tuple(None if n == ALL else n for n in one) for one in fanout])


def check_whole(H: Any) -> Any:
    """Return the hypergraph to draw from, or raise. A file that nobody has read yet is checked as it is drawn from."""
    if not isinstance(H, (Hypergraph, DirectedHypergraph)):
        raise TypeError(
            f"H must be a Hypergraph or a DirectedHypergraph; got {type(H).__name__}. Make one, e.g. with "
            "Hypergraph.from_incidence(vertex, hyperedge, n_vertices, n_hyperedges)."
        )
    if H.device.type != "cpu":
        raise ValueError(
            f"H must be on the CPU, where batches are drawn; got {H.device}. Move batches: batch.to(device)."
        )
    is_unread_file = "_source" in H.__dict__ and "_sound" not in H.__dict__
    if not is_unread_file:  # else ids are checked as they are drawn
        H.check()
    return H


def one_way(H: Hypergraph | DirectedHypergraph, direction: Direction) -> Any:
    """What layers of this direction propagate over, or raise."""
    check_choice("direction", direction, DIRECTIONS)
    if direction == "both":
        raise ValueError(
            "direction must be 'forward', 'backward' or 'undirected': a sample follows hyperedges one way. Make a "
            "loader for each direction."
        )
    return H.ways(direction)[0]


def own_direction(H: Hypergraph | DirectedHypergraph, direction: Direction) -> Direction | None:
    """The direction of the blocks: that of the layers; none if hyperedges do not point."""
    return direction if isinstance(H, DirectedHypergraph) else None


def as_vertices(vertices: Any, n_vertices: int) -> npt.NDArray[np.int64]:
    """Return the vertices to make batches of, all if ``None``, or raise."""
    if vertices is None:
        return _fixed(np.arange(n_vertices))
    ids = as_ids("vertices", vertices, n_vertices, "n_vertices", copies=True)
    if ids.size == 0:
        raise ValueError("vertices must not be empty: there would be no batches.")
    if np.unique(ids).size < ids.size:
        raise ValueError(
            "vertices must be given once each; got some twice. Remove repetitions, e.g. with numpy.unique."
        )
    return _fixed(ids)


def _fixed(ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The ids, which nobody can change from now on."""
    ids.flags.writeable = False
    return ids


def as_labels(y: Any, n_vertices: int) -> npt.NDArray[Any] | None:
    """Return labels or targets as an array, or raise."""
    if y is None:
        return None
    labels = _as_array(y)
    if labels.ndim == 0 or labels.shape[0] != n_vertices:
        raise ValueError(f"y must have {n_vertices} rows, one per vertex; got shape {labels.shape}.")
    if labels.dtype.kind not in "fiub":
        raise TypeError(f"y must hold numbers; got {labels.dtype}. Number the classes from 0 first.")
    if labels.dtype.kind == "f" and labels.dtype.itemsize > 8:
        raise TypeError(f"y must hold numbers of a type that torch has; got {labels.dtype}. Convert them to float64.")
    return labels.astype(labels.dtype.newbyteorder("="), copy=False)


def _as_array(y: Any) -> npt.NDArray[Any]:
    if isinstance(y, Tensor):
        check_has_values("y", y)
        plain = y.detach().cpu()
        return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()
    try:
        return np.asarray(y)
    except ValueError as error:
        raise ValueError("y must have rows of the same length, one per vertex; got different lengths.") from error
