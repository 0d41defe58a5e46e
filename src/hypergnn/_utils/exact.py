"""Products and distances of pairs of rows that do not depend on which other pairs are computed with them.

A matrix product adds up the terms of an entry in an order that depends on the number of threads and on the sizes of the
parts that it is computed in, so the last bits of two equal distances differ from run to run. Here each pair has its own
sum over its features, in float64 and always in the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

AT_ONCE = 1 << 20
"""Terms that are held at a time."""


def products(a: Any, a_rows: Ids, b: Any, b_rows: Ids) -> Floats:
    """The product of rows ``a_rows[i]`` of ``a`` and ``b_rows[i]`` of ``b``, for each ``i``; both dense or both sparse.

    Example:
        >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> products(x, np.array([0, 0]), x, np.array([0, 1])).tolist()
        [5.0, 11.0]
    """
    return _in_parts(a, a_rows, b, b_rows, lambda one, other: one * other)


def squared_distances(a: Any, a_rows: Ids, b: Any, b_rows: Ids) -> Floats:
    """The squared Euclidean distance of rows ``a_rows[i]`` of ``a`` and ``b_rows[i]`` of ``b``, for each ``i``.

    Example:
        >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> squared_distances(x, np.array([0, 0]), x, np.array([0, 1])).tolist()
        [0.0, 8.0]
    """

    def of(one: Any, other: Any) -> Any:
        difference = one - other
        return difference * difference

    return _in_parts(a, a_rows, b, b_rows, of)


def squared_lengths(a: Any) -> Floats:
    """The squared length of each row.

    Example:
        >>> squared_lengths(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
        [25.0, 0.0]
    """
    rows = np.arange(a.shape[0])
    return products(a, rows, a, rows)


def first_by(values: npt.NDArray[Any], ids: Ids) -> Ids:
    """The order of the entries of each row by ``(value, id)``, along the last axis.

    Example:
        >>> first_by(np.array([2.0, 1.0, 1.0]), np.array([0, 7, 3])).tolist()
        [2, 1, 0]
    """
    return np.lexsort((ids, values), axis=-1)


def _in_parts(a: Any, a_rows: Ids, b: Any, b_rows: Ids, of: Any) -> Floats:
    """The sum of the terms of each pair, a bounded number of pairs at a time."""
    out = np.empty(a_rows.size)
    ends = np.cumsum(np.maximum(_n_terms(a)[a_rows], _n_terms(b)[b_rows]))
    start = 0
    while start < a_rows.size:
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + AT_ONCE, side="right")))
        part = slice(start, stop)
        terms = of(*(_as_double(one[rows[part]]) for one, rows in ((a, a_rows), (b, b_rows))))
        out[part] = np.asarray(terms.sum(axis=1)).ravel()
        start = stop
    return out


def _as_double(rows: Any) -> Any:
    return sparse.csr_array(rows, dtype=np.float64) if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)


def _n_terms(matrix: Any) -> Ids:
    """How many terms each row has."""
    return np.diff(matrix.indptr) if sparse.issparse(matrix) else np.full(matrix.shape[0], matrix.shape[1])
