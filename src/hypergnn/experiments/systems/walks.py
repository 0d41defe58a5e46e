"""Random walks on a graph, all at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

Ids = npt.NDArray[np.int64]


def random_walks(adjacency: sparse.csr_array, start: Ids, length: int, rng: np.random.Generator) -> Ids:
    """Walks over links drawn evenly, ``(walks, length)``; a vertex without links stays where it is.

    Args:
        adjacency: The symmetric adjacency matrix.
        start: Where each walk begins.
        length: Vertices of a walk, its first included.
        rng: The generator.

    Example:
        >>> pair = sparse.csr_array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
        >>> random_walks(pair, np.array([0, 2]), 4, np.random.default_rng(0)).tolist()
        [[0, 1, 0, 1], [2, 2, 2, 2]]
    """
    offsets, neighbours = adjacency.indptr.astype(np.int64), adjacency.indices
    walks = np.empty((start.size, length), np.int64)
    walks[:, 0] = start
    for step in range(1, length):
        here = walks[:, step - 1]
        first, degree = offsets[here], offsets[here + 1] - offsets[here]
        place = first + (rng.random(here.size) * degree).astype(np.int64)
        moves = degree > 0
        walks[:, step] = here
        walks[moves, step] = neighbours[place[moves]]
    return walks


def window_pairs(walks: Ids, window: int) -> Ids:
    """Pairs of places in a walk at most ``window`` steps apart, in both orders and with themselves, ``(pairs, 2)``.

    Example:
        >>> window_pairs(np.array([[5, 6, 7]]), 1).tolist()
        [[5, 5], [6, 6], [7, 7], [5, 6], [6, 7], [6, 5], [7, 6]]
    """
    ahead = [
        np.stack([walks[:, :-gap].ravel(), walks[:, gap:].ravel()], 1)
        for gap in range(1, min(window, walks.shape[1] - 1) + 1)
    ]
    pairs = np.concatenate(ahead) if ahead else np.empty((0, 2), np.int64)
    return np.concatenate([np.stack([walks.ravel()] * 2, 1), pairs, pairs[:, ::-1]])
