"""What the classes of this package have in common: they build a hypergraph and place new rows in it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.matrices import as_matrix
from hypergnn.structures.hypergraph import Hypergraph


class Relation(Protocol):
    """A hypergraph built from rows of data, and the rule by which new rows join its hyperedges.

    :class:`NearestNeighbours`, :class:`Clusters`, :class:`Attributes`, :class:`Words` and :class:`NearestVertex` have
    this form; write a class with the same two members for a rule of your own.

    Example:
        >>> import numpy as np, hypergnn as hg
        >>> relation = hg.construct.Clusters(np.array([[0.0], [1.0], [8.0], [9.0]]), 2)
        >>> relation.hypergraph
        Hypergraph(4 vertices, 2 hyperedges, 4 incidences)
        >>> relation.join(np.array([[7.0]])).shape
        (1, 2)
    """

    hypergraph: Hypergraph
    """The hypergraph, one vertex per row."""

    def join(self, X: Any) -> sparse.csr_array:
        """Return the memberships of new rows, ``(rows, M)``: a 1 for each hyperedge that a row joins."""
        ...


def memberships(hyperedges: npt.NDArray[np.int64], n_hyperedges: int) -> sparse.csr_array:
    """Return the hyperedges of each row, ``(rows, k)``, as an incidence matrix ``(rows, M)``.

    Example:
        >>> memberships(np.array([[0, 2], [1, 2]]), 3).toarray().tolist()
        [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    n_rows, k = hyperedges.shape
    arrays = (np.ones(hyperedges.size), hyperedges.ravel(), np.arange(0, hyperedges.size + 1, k))
    return sparse.csr_array(arrays, shape=(n_rows, n_hyperedges))


def as_new_points(X: Any, n_features: int) -> Any:
    """Return new rows as a matrix, or raise unless they have the features of the points they are compared with."""
    matrix = as_matrix(X)
    if matrix.shape[1] != n_features:
        raise ValueError(f"X must have {n_features} features, as the points it joins; got {matrix.shape[1]}.")
    return matrix
