"""Rows that were there in training, found again by their features."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Ids = npt.NDArray[np.int64]


class KnownRows:
    """The rows of the training, with equal ones in one group.

    Example:
        >>> known = KnownRows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
        >>> known.group, known.find(np.array([[3.0, 4.0], [5.0, 5.0]]))
        (array([0, 1, 0]), array([ 1, -1]))
    """

    def __init__(self, features: Any) -> None:
        """Remember each row."""
        self._place: dict[bytes, int] = {}
        self.group = np.array(
            [self._place.setdefault(key, len(self._place)) for key in row_keys(features)], dtype=np.int64
        )

    def find(self, features: Any) -> Ids:
        """The group of each row, -1 of those that are new."""
        return np.array([self._place.get(key, -1) for key in row_keys(features)], dtype=np.int64)

    def mean(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The mean over each group of something that all rows of the training have, ``(groups, ...)``."""
        if len(self._place) == self.group.size:
            return values
        size = np.bincount(self.group)
        total = np.zeros((size.size, *values.shape[1:]), dtype=np.float64)
        np.add.at(total, self.group, values)
        return np.asarray(total / size.reshape(-1, *[1] * (values.ndim - 1)), dtype=values.dtype)


def row_keys(features: Any) -> list[bytes]:
    """Each row as bytes; equal rows give equal bytes."""
    if not sparse.issparse(features):
        rows = np.ascontiguousarray(features) + 0.0  # -0.0 is 0.0
        return [row.tobytes() for row in rows]
    ordered = sparse.csr_array(features)
    ordered.sum_duplicates()
    ordered.eliminate_zeros()
    indices, offsets = ordered.indices.astype(np.int64), ordered.indptr
    return [indices[start:stop].tobytes() + ordered.data[start:stop].tobytes() for start, stop in pairwise(offsets)]
