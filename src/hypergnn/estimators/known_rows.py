"""Training rows, recognised by their features."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Ids = npt.NDArray[np.int64]


class KnownRows:
    """The training rows, in groups of equal ones.

    Example:
        >>> known = KnownRows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
        >>> known.group, known.find(np.array([[3.0, 4.0], [5.0, 5.0]]))
        (array([0, 1, 0]), array([ 1, -1]))
    """

    def __init__(self, features: Any) -> None:
        """Store a key for each row."""
        self._place: dict[bytes, int] = {}
        self.group = np.array(
            [self._place.setdefault(key, len(self._place)) for key in row_keys(features)], dtype=np.int64
        )

    def _to_state(self) -> dict[str, Any]:
        """The keys as one array, for a file."""
        keys = list(self._place)
        lengths = np.array([len(key) for key in keys], dtype=np.int64)
        return {"group": self.group, "keys": np.frombuffer(b"".join(keys), dtype=np.uint8), "lengths": lengths}

    @classmethod
    def _from_state(cls, state: Mapping[str, Any]) -> KnownRows:
        """The rows that :meth:`_to_state` described."""
        made = cls.__new__(cls)
        ends, keys = np.cumsum(state["lengths"]).tolist(), state["keys"].tobytes()
        made._place = {keys[start:end]: place for place, (start, end) in enumerate(pairwise([0, *ends]))}
        made.group = state["group"]
        if made.group.size and not 0 <= made.group.min() <= made.group.max() < len(ends):
            raise ValueError("its rows belong to groups that do not exist")
        return made

    def find(self, features: Any) -> Ids:
        """Return the group of each row, -1 for new rows."""
        return np.array([self._place.get(key, -1) for key in row_keys(features)], dtype=np.int64)

    def mean(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the mean over each group of values that the training rows have, ``(groups, ...)``."""
        if len(self._place) == self.group.size:
            return values
        size = np.bincount(self.group)
        total = np.zeros((size.size, *values.shape[1:]), dtype=np.float64)
        np.add.at(total, self.group, values)
        return np.asarray(total / size.reshape(-1, *[1] * (values.ndim - 1)), dtype=values.dtype)


def row_keys(features: Any) -> list[bytes]:
    """Return each row as bytes; equal rows give equal bytes."""
    if not sparse.issparse(features):
        rows = np.ascontiguousarray(features) + 0.0  # -0.0 is 0.0
        return [row.tobytes() for row in rows]
    ordered = sparse.csr_array(features)
    ordered.sum_duplicates()
    ordered.eliminate_zeros()
    indices, offsets = ordered.indices.astype(np.int64), ordered.indptr
    return [indices[start:stop].tobytes() + ordered.data[start:stop].tobytes() for start, stop in pairwise(offsets)]
