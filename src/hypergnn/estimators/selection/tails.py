"""Columns in which a few rows lie very far from the others, such as incomes, on a scale that shows both."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FAR = 20.0
"""A column has long tails if a row is so many times as far from the median as half of the rows are."""


class Tails:
    """Finds columns with long tails and draws these in: ``asinh((x - median) / spread)``, mean 0, variance 1.

    In such a column a few rows decide variances, distances and slopes. Near the median the values stay in proportion,
    far from it their logarithm counts; their order, which trees see, stays. ``spread`` is the median distance to the
    median of those rows that are not on it, so that a column with many zeros has one too.

    Args:
        x: Numbers, ``(rows, columns)``.

    Example:
        >>> x = np.column_stack([[1.0, 2.0, 3.0, 4.0, 10_000.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
        >>> tails = Tails(x)
        >>> tails.columns.tolist(), tails.drawn_in(x)[-1].round(1).tolist()
        ([0], [2.0, 5.0])
    """

    def __init__(self, x: Array) -> None:
        """Learn which columns they are."""
        numbers = np.asarray(x, dtype=np.float64)
        middle = np.median(numbers, axis=0)
        distance = np.abs(numbers - middle)
        spread = np.array([_median_of_positive(column) for column in distance.T])
        self.columns = np.flatnonzero((spread > 0) & (distance.max(0) > FAR * spread))
        self._middle, self._spread = middle[self.columns], spread[self.columns]
        drawn = self._drawn(numbers)
        self._mean, self._deviation = drawn.mean(0), drawn.std(0)

    def drawn_in(self, x: Array) -> Array:
        """Rows with the columns that have long tails on the other scale; the same object if there are none."""
        if not self.columns.size:
            return x
        out = np.array(x)
        out[:, self.columns] = (self._drawn(x) - self._mean) / self._deviation
        return out

    def _drawn(self, x: Array) -> Array:
        chosen = np.asarray(x[:, self.columns], dtype=np.float64)
        return np.asarray(np.arcsinh((chosen - self._middle) / self._spread))


def _median_of_positive(values: Array) -> float:
    positive = values[values > 0]
    return float(np.median(positive)) if positive.size else 0.0
