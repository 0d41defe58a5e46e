"""Which vertices a model learns from, is tuned on and is judged by, where no split has been published."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn.checks import check_size

Ids = npt.NDArray[np.int64]


def draw_split(y: Any, seed: int, *, per_class: int = 20, n_val: int = 500, n_test: int = 1000) -> tuple[Ids, Ids, Ids]:
    """Draw a split as the paper describes it: so many vertices of each class to learn from, the others from the rest.

    Args:
        y: Class of each vertex, ``(N,)``; vertices with label -1 are left out.
        seed: Whole number from 0 to 2**32 - 1. The same seed gives the same split on every machine.
        per_class: Vertices of each class for training.
        n_val: Vertices for validation.
        n_test: Vertices for testing.

    Returns:
        Sorted vertex ids for training, validation and testing; no vertex is in two of them.

    Raises:
        ValueError: If there are too few vertices.

    Example:
        >>> train, val, test = draw_split([0, 1, 0, 1, 0, 1, -1], seed=3, per_class=1, n_val=2, n_test=2)
        >>> [len(part) for part in (train, val, test)]
        [2, 2, 2]
    """
    labels = np.asarray(y)
    if check_size("seed", seed) >= 2**32:
        raise ValueError(f"seed must be below 2**32; got {seed}.")
    # RandomState, unlike the newer generators, promises the same numbers in every version of NumPy.
    shuffled = np.random.RandomState(seed).permutation(np.flatnonzero(labels >= 0))
    classes = np.unique(labels[shuffled])
    train = np.concatenate([shuffled[labels[shuffled] == label][:per_class] for label in classes])
    rest = shuffled[~np.isin(shuffled, train)]
    if train.size < per_class * classes.size or rest.size < n_val + n_test:
        raise ValueError(
            f"a split needs {per_class} vertices of each of {classes.size} classes and {n_val} + {n_test} others; "
            f"got {train.size} and {rest.size}. Ask for fewer."
        )
    return np.sort(train), np.sort(rest[:n_val]), np.sort(rest[n_val : n_val + n_test])
