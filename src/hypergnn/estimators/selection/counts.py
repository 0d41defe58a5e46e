"""The number and sizes of the hyperedges of a row, which sums and means over hyperedges do not show."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn.structures.hypergraph import Hypergraph

Array = npt.NDArray[Any]


class Counts:
    """Learns the usual numbers of a hypergraph; counts for its rows and for new ones.

    Args:
        hypergraph: The hypergraph of the rows of training.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2]], n_vertices=3)
        >>> Counts(H).of(H.to_scipy()).round(2).tolist()
        [[-0.71, 0.71], [-0.71, 0.71], [1.41, -1.41]]
    """

    def __init__(self, hypergraph: Hypergraph) -> None:
        """Learn mean and deviation."""
        self._log_size = np.log(np.maximum(hypergraph.hyperedge_degree().cpu().numpy(), 1))
        counted = self._counted(sparse.csr_array(hypergraph.to_scipy()), None)
        used = counted[counted[:, 0] > 0] if (counted[:, 0] > 0).any() else counted
        self._mean, deviation = used.mean(0), used.std(0)
        self._deviation = np.where(deviation > 1e-6, deviation, np.inf)  # what is the same for all rows is 0
        self._least, self._most = counted.min(0), counted.max(0)

    def of(self, members: Any, brought: Hypergraph | None = None) -> Array:
        """The logarithm of the number of hyperedges and the mean logarithm of their sizes, scaled, ``(rows, 2)``.

        New rows outside of the range of training count as its ends; without hyperedges, if training had no such row, 0.

        Args:
            members: Memberships in hyperedges of training, ``(rows, M)``.
            brought: Further hyperedges of the same rows.
        """
        counted = self._counted(members, brought)
        is_alone = counted[:, 0] == 0
        scaled = np.asarray((np.clip(counted, self._least, self._most) - self._mean) / self._deviation)
        scaled[is_alone, 1] = 0.0  # no hyperedge, no size
        if self._least[0] > 0:
            scaled[is_alone, 0] = 0.0
        return scaled

    def _counted(self, members: Any, brought: Hypergraph | None) -> Array:
        number = np.asarray(members.sum(1), dtype=np.float64).ravel()
        total = np.asarray(members @ self._log_size, dtype=np.float64).ravel()
        if brought is not None:
            number = number + brought.to_scipy().sum(1)
            total = total + brought.to_scipy() @ np.log(np.maximum(brought.hyperedge_degree().cpu().numpy(), 1))
        return np.column_stack([np.log1p(number), total / np.maximum(number, 1)])
