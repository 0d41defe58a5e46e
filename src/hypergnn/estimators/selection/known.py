"""The labelled rows and the folds that candidates are compared on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]

_FOLDS = ((60, 10, 2), (200, 10, 1), (2000, 5, 1), (np.inf, 3, 1))
"""Up to so many labels are divided into so many folds, so many times."""


@dataclass(frozen=True)
class Known:
    """The labelled rows.

    Attributes:
        rows: Their numbers, ascending, ``(n,)``.
        y: The class of each, ``(n,)``.
        n_classes: Number of classes.
        folds: Fold of each labelled row, once per repetition, ``(repetitions, n)``.
        weight: How much each labelled row counts, ``(n,)``, with mean 1; ``None`` if all count the same.
    """

    rows: Ids
    y: Ids
    n_classes: int
    folds: Ids
    weight: Array | None = None

    @property
    def size(self) -> int:
        """Number of labelled rows."""
        return self.rows.size

    @property
    def one_hot(self) -> Array:
        """The classes as rows of zeros and a one, ``(n, n_classes)``."""
        return np.eye(self.n_classes)[self.y]

    @property
    def prior(self) -> Array:
        """Share of each class among the labels, ``(n_classes,)``; a class without a label has a small one."""
        count = np.bincount(self.y, self.weight, minlength=self.n_classes) + 0.5
        return np.asarray(count / count.sum())

    @property
    def held_out(self) -> Array:
        """Which labelled rows each fold holds out, over all repetitions, ``(folds, n)``."""
        return np.concatenate([one == np.arange(one.max() + 1)[:, None] for one in self.folds])

    def without(self, held: Array) -> Known:
        """The labelled rows without some of them; if none of the others has a weight, all count the same."""
        weight = None if self.weight is None or not self.weight[~held].any() else self.weight[~held]
        return replace(self, rows=self.rows[~held], y=self.y[~held], folds=self.folds[:, ~held], weight=weight)


def divide(codes: Ids, n_classes: int, rng: np.random.RandomState, weight: Array | None = None) -> Known:
    """Find the labelled rows (those with a code of at least 0) and divide them into folds.

    The fewer labels there are, the more folds: with two labels of a class, a fold holds out at most one of them.

    Example:
        >>> known = divide(np.array([0, 1, -1, 0, 1]), 2, np.random.RandomState(0))
        >>> known.rows.tolist(), known.folds.shape[1], int(known.held_out.sum(0).min())
        ([0, 1, 3, 4], 4, 2)
    """
    rows = np.flatnonzero(codes >= 0)
    y = codes[rows]
    n_folds, repetitions = next(one[1:] for one in _FOLDS if rows.size <= one[0])
    n_folds = min(n_folds, rows.size)
    folds = np.stack([_deal(y, n_folds, rng) for _ in range(repetitions)])
    return Known(rows, y, n_classes, folds, None if weight is None else weight[rows] / weight[rows].mean())


def _deal(y: Ids, n_folds: int, rng: np.random.RandomState) -> Ids:
    """Deal the rows of each class to the folds in turn, going on where the class before ended."""
    order = np.argsort(rng.permutation(y.size))
    by_class = np.lexsort((order, y))
    fold = np.empty(y.size, dtype=np.int64)
    fold[by_class] = np.arange(y.size) % n_folds
    return fold
