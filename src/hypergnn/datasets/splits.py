"""Which vertices a model learns from, is tuned on and is judged by, where no split has been published."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn._utils.checks import check_size

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
        TypeError: If ``y`` or a number of vertices does not hold whole numbers.
        ValueError: If there are too few vertices.

    Example:
        >>> train, val, test = draw_split([0, 1, 0, 1, 0, 1, -1], seed=3, per_class=1, n_val=2, n_test=2)
        >>> [len(part) for part in (train, val, test)]
        [2, 2, 2]
    """
    labels = _as_labels(y)
    per_class = check_size("per_class", per_class, minimum=1)
    n_val, n_test = check_size("n_val", n_val), check_size("n_test", n_test)
    shuffled = _shuffled(labels, seed)
    classes = np.unique(labels[shuffled])
    train = np.concatenate([shuffled[labels[shuffled] == label][:per_class] for label in classes])
    rest = shuffled[~np.isin(shuffled, train)]
    if train.size < per_class * classes.size or rest.size < n_val + n_test:
        raise ValueError(
            f"a split needs {per_class} vertices of each of {classes.size} classes and {n_val} + {n_test} others; "
            f"got {train.size} and {rest.size}. Ask for fewer."
        )
    return np.sort(train), np.sort(rest[:n_val]), np.sort(rest[n_val : n_val + n_test])


def stratified_split(y: Any, seed: int, *, val: float = 0.2, test: float = 0.2) -> tuple[Ids, Ids, Ids]:
    """Draw a split in which every class has the same shares, and at least one vertex in each part.

    Args:
        y: Class of each vertex, ``(N,)``; vertices with label -1 are left out.
        seed: Whole number from 0 to 2**32 - 1. The same seed gives the same split on every machine.
        val: Share of each class for validation, rounded.
        test: Share of each class for testing, rounded. The rest is for training.

    Returns:
        Sorted vertex ids for training, validation and testing; no vertex is in two of them.

    Raises:
        TypeError: If ``y`` does not hold whole numbers.
        ValueError: If a class has fewer than three vertices, or a share is not between 0 and 1.

    Example:
        >>> train, val, test = stratified_split([0] * 10 + [1] * 5 + [-1], seed=0)
        >>> [len(part) for part in (train, val, test)]
        [9, 3, 3]
    """
    labels = _as_labels(y)
    if not (val > 0 and test > 0 and val + test < 1):
        raise ValueError(f"val and test must be positive and leave something to train on; got {val} and {test}.")
    shuffled = _shuffled(labels, seed)
    grouped = shuffled[np.argsort(labels[shuffled], kind="stable")]
    _, first, counts = np.unique(labels[grouped], return_index=True, return_counts=True)
    if (rare := np.flatnonzero(counts < 3)).size:
        raise ValueError(
            "each class must have at least 3 vertices, to train, validate and test on; "
            f"class {labels[grouped[first[rare[0]]]]} has {counts[rare[0]]}."
        )
    n_val = np.clip(np.rint(counts * val), 1, counts - 2).astype(np.int64)
    n_test = np.clip(np.rint(counts * test), 1, counts - 1 - n_val).astype(np.int64)
    place = np.arange(grouped.size) - np.repeat(first, counts)  # of a vertex within its class
    ends_val, ends_test = np.repeat(n_val, counts), np.repeat(n_val + n_test, counts)
    parts = (place >= ends_test, place < ends_val, (place >= ends_val) & (place < ends_test))
    train, held, judged = (np.sort(grouped[part]) for part in parts)
    return train, held, judged


def _as_labels(y: Any) -> npt.NDArray[Any]:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be one-dimensional, one class per vertex; got shape {labels.shape}.")
    if labels.size and labels.dtype.kind not in "iu":
        raise TypeError(f"y must hold whole numbers, the classes of vertices; got {labels.dtype}. Number them from 0.")
    if not (labels >= 0).any():
        raise ValueError(
            f"y must hold the class of at least one vertex; got {labels.size} vertices, none with a class."
        )
    return labels


def _shuffled(labels: npt.NDArray[Any], seed: int) -> Ids:
    """The labelled vertices in an order that the seed decides."""
    if check_size("seed", seed) >= 2**32:
        raise ValueError(f"seed must be below 2**32; got {seed}.")
    # RandomState, unlike the newer generators, promises the same numbers in every version of NumPy.
    shuffled: Ids = np.random.RandomState(seed).permutation(np.flatnonzero(labels >= 0))
    return shuffled
