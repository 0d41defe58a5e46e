"""Random train/validation/test splits, for data without a published split."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn._utils.checks import check_size

Ids = npt.NDArray[np.int64]


def draw_split(y: Any, seed: int, *, per_class: int = 20, n_val: int = 500, n_test: int = 1000) -> tuple[Ids, Ids, Ids]:
    """Draw a split as in the paper: a fixed number of training vertices per class, the rest at random.

    Args:
        y: Class of each vertex, ``(N,)``; vertices with label -1 are ignored.
        seed: Integer from 0 to 2**32 - 1. The same seed gives the same split on every machine.
        per_class: Training vertices per class.
        n_val: Number of validation vertices.
        n_test: Number of test vertices.

    Returns:
        Sorted training, validation and test vertices, which are disjoint.

    Raises:
        TypeError: If ``y`` does not hold integers, or a number of vertices is not an integer.
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
            f"got {train.size} and {rest.size}. Lower per_class, n_val or n_test."
        )
    return np.sort(train), np.sort(rest[:n_val]), np.sort(rest[n_val : n_val + n_test])


def stratified_split(y: Any, seed: int, *, val: float = 0.2, test: float = 0.2) -> tuple[Ids, Ids, Ids]:
    """Draw a split with the same shares of every class and at least one vertex of each class in each part.

    Args:
        y: Class of each vertex, ``(N,)``; vertices with label -1 are ignored.
        seed: Integer from 0 to 2**32 - 1. The same seed gives the same split on every machine.
        val: Fraction of each class for validation, rounded to whole vertices.
        test: Fraction of each class for testing, rounded to whole vertices. The rest is for training.

    Returns:
        Sorted training, validation and test vertices, which are disjoint.

    Raises:
        TypeError: If ``y`` does not hold integers.
        ValueError: If a class has fewer than three vertices, or the fractions leave nothing to train on.

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
            "each class must have at least 3 vertices, one each for training, validation and test; "
            f"class {labels[grouped[first[rare[0]]]]} has {counts[rare[0]]}."
        )
    n_val = np.clip(np.rint(counts * val), 1, counts - 2).astype(np.int64)
    n_test = np.clip(np.rint(counts * test), 1, counts - 1 - n_val).astype(np.int64)
    place = np.arange(grouped.size) - np.repeat(first, counts)  # position of each vertex within its class
    ends_val, ends_test = np.repeat(n_val, counts), np.repeat(n_val + n_test, counts)
    parts = (place >= ends_test, place < ends_val, (place >= ends_val) & (place < ends_test))
    train, validation, testing = (np.sort(grouped[part]) for part in parts)
    return train, validation, testing


def _as_labels(y: Any) -> npt.NDArray[Any]:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be one-dimensional, one class per vertex; got shape {labels.shape}.")
    if labels.size and labels.dtype.kind not in "iu":
        raise TypeError(
            f"y must hold integers, the class of each vertex; got {labels.dtype}. Number the classes from 0."
        )
    if not (labels >= 0).any():
        raise ValueError(
            f"y must hold the class of at least one vertex; got {labels.size} vertices, none with a class."
        )
    return labels


def _shuffled(labels: npt.NDArray[Any], seed: int) -> Ids:
    """The labelled vertices, shuffled with ``seed``."""
    if check_size("seed", seed) >= 2**32:
        raise ValueError(f"seed must be below 2**32; got {seed}.")
    # RandomState, unlike the newer generators, gives the same numbers in every version of NumPy.
    shuffled: Ids = np.random.RandomState(seed).permutation(np.flatnonzero(labels >= 0))
    return shuffled
