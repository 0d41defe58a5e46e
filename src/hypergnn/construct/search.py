"""The nearest points of each query, ordered by distance and then by number, whatever the number of threads.

A search by scikit-learn finds candidates, a few more than asked for. Their distances are computed again, each pair by
itself in float64, and equal distances are ordered by the number of the point. Where points beyond the candidates may be
just as near, all points within that distance are compared.
"""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.exact import Floats, Ids, first_by, products, squared_distances, squared_lengths

SPARE = 8
"""Candidates beyond those asked for."""
AT_ONCE = 1 << 22
"""Distances that a comparison with all points may hold at a time."""
# Points are shifted to the origin if they lie this many times farther from it than from each other.
_FAR = 1000
_SAME_ORDER = {name: "euclidean" for name in ("l2", "minkowski", "sqeuclidean", "nan_euclidean")}
_FARTHEST = 1e150
_EPSILON = float(np.finfo(np.float64).eps)


def nearest_points(
    points: Any, queries: Any, k: int, metric: str, *, algorithm: str = "auto", n_jobs: int | None = None
) -> npt.NDArray[np.int64]:
    """The ``k`` points nearest to each query, ``(queries, k)``: the first by distance and then by number.

    Args:
        points: ``(N, F)``, dense or CSR.
        queries: ``(rows, F)``, dense or CSR.
        k: Number of points, at most ``N``.
        metric: A metric of scikit-learn's nearest neighbours.
        algorithm: How scikit-learn searches.
        n_jobs: Number of threads of the search.

    Example:
        >>> x = np.array([[0.0], [2.0], [1.0], [0.0]])
        >>> nearest_points(x, np.array([[1.0]]), 3, "euclidean").tolist()
        [[2, 0, 1]]
    """
    from sklearn.neighbors import NearestNeighbors

    metric = _SAME_ORDER.get(metric, metric)
    points = _canonical(points)
    queries = points if queries is points else _of_kind(_canonical(queries), points)
    if not queries.shape[0]:
        return np.empty((0, k), dtype=np.int64)
    near, near_queries = _as_double(points), _as_double(queries)  # float32 would round the distances of the search
    if metric == "euclidean" and not sparse.issparse(points):
        near, near_queries = _near_the_origin(near, near_queries)
    wanted = min(k + SPARE, points.shape[0])
    search = NearestNeighbors(n_neighbors=wanted, metric=metric, algorithm=algorithm, n_jobs=n_jobs).fit(near)
    # The threads of scikit-learn change the warning filters of the process, and may restore them in the wrong order.
    with warnings.catch_warnings():
        distance, found = search.kneighbors(near_queries)
        _check_finite(distance)
        pairs = _Pairs.of(metric, points, queries, _slack(metric, near, near_queries, points, distance[:, -1]))
        rows = np.repeat(np.arange(found.shape[0]), wanted)
        value = pairs.values(rows, found.ravel(), distance.ravel()).reshape(found.shape)
        order = first_by(value, found)[:, :k]
        chosen = np.take_along_axis(found, order, axis=1).astype(np.int64, copy=False)
        farthest = np.take_along_axis(value, order[:, -1:], axis=1)[:, 0]  # of those chosen
        if wanted < points.shape[0]:
            beyond = pairs.values_of_search(distance[:, -1]) - pairs.slack  # no other point is nearer
            _complete(chosen, np.flatnonzero(farthest >= beyond), farthest, search, near_queries, pairs)
    return chosen


def _check_finite(distance: Floats) -> None:
    """Raise if the square of a distance is beyond float64, which then cannot order points."""
    far = np.flatnonzero(~(distance < _FARTHEST).all(1))
    if far.size:
        raise ValueError(
            f"points must lie near enough for their distances to be computed; row {far[0]} is farther than "
            f"{_FARTHEST:g} from its neighbours. Look for wrong numbers, or scale the columns."
        )


class _Pairs(NamedTuple):
    """Distances of pairs as numbers that have the same order: squares of Euclidean ones."""

    metric: str
    points: Any
    queries: Any
    slack: Floats
    """How far off the numbers of the search may be, for each query."""
    lengths: tuple[Floats, Floats]
    """Of the queries and of the points."""

    @classmethod
    def of(cls, metric: str, points: Any, queries: Any, slack: Floats) -> _Pairs:
        ours, theirs = (np.sqrt(squared_lengths(one)) if metric == "cosine" else slack for one in (queries, points))
        return cls(metric, points, queries, slack, (ours, theirs))

    def values(self, rows: Ids, found: Ids, distance: Floats) -> Floats:
        """The number of each pair of a query and a point; ``distance`` is what the search says."""
        if self.metric == "euclidean":
            return squared_distances(self.queries, rows, self.points, found)
        if self.metric != "cosine":
            return distance  # computed pair by pair
        ours, theirs = self.lengths
        lengths = ours[rows] * theirs[found]
        return 1 - products(self.queries, rows, self.points, found) / np.where(lengths > 0, lengths, 1)

    def values_of_search(self, distance: Floats) -> Floats:
        return distance**2 if self.metric == "euclidean" else distance

    def radius(self, farthest: Floats, rows: Ids) -> float:
        """A distance within which the search finds every point that is as near as ``farthest``, for some rows."""
        most = float((farthest[rows] + self.slack[rows]).max())
        return (np.sqrt(most) if self.metric == "euclidean" else most) * (1 + 1e-9)


def _complete(chosen: Ids, rows: Ids, farthest: Floats, search: Any, queries: Any, pairs: _Pairs) -> None:
    """Choose again for some rows, among all points that are as near as the farthest one chosen so far."""
    first, number = _different(pairs.queries, rows)  # equal queries have the same nearest points
    order = np.argsort(farthest[first], kind="stable")  # those with about the same radius together
    again = np.empty((first.size, chosen.shape[1]), dtype=np.int64)
    step = max(1, AT_ONCE // pairs.points.shape[0])
    for start in range(0, first.size, step):
        places = order[start : start + step]
        part = first[places]
        distances, found = search.radius_neighbors(queries[part], radius=pairs.radius(farthest, part))
        sizes = [one.size for one in found]
        value = pairs.values(np.repeat(part, sizes), np.concatenate(found), np.concatenate(distances))
        for place, ids, numbers in zip(places, found, np.split(value, np.cumsum(sizes)[:-1]), strict=True):
            again[place] = ids[first_by(numbers, ids)[: chosen.shape[1]]]
    chosen[rows] = again[number]


def _different(queries: Any, rows: Ids) -> tuple[Ids, Ids]:
    """One of each group of equal rows, and the group of each row."""
    groups: dict[Any, int] = {}
    some = queries[rows]
    if sparse.issparse(some):
        ends = pairwise(some.indptr.tolist())
        keys = [(some.indices[start:stop].tobytes(), some.data[start:stop].tobytes()) for start, stop in ends]
    else:
        keys = [row.tobytes() for row in some]
    number = np.array([groups.setdefault(key, len(groups)) for key in keys], dtype=np.int64)
    return rows[np.unique(number, return_index=True)[1]], number


def _slack(metric: str, near: Any, queries: Any, points: Any, farthest: Floats) -> Floats:
    """How far the numbers of the search may be off, for each query: what sums of products lose by rounding.

    Points that are much longer than the query and its distance to the farthest point found are farther away than that,
    however they are rounded, and do not count.
    """
    rounding = 4 * (points.shape[1] + 8) * _EPSILON
    if metric == "cosine":
        return np.full(queries.shape[0], rounding)
    if metric != "euclidean":
        return np.zeros(queries.shape[0])
    ours = squared_lengths(queries)
    theirs = np.minimum(squared_lengths(near).max(), 4 * (np.sqrt(ours) + farthest) ** 2)
    slack: Floats = rounding * (ours + theirs)
    if not sparse.issparse(points):  # shifting rounds as well
        slack += rounding * np.abs(near - points).max() * np.sqrt(ours + theirs)
    return slack


def _near_the_origin(points: Any, queries: Any) -> tuple[Any, Any]:
    """Shift points that lie far from the origin: comparing all pairs subtracts squares, which would cancel there."""
    centre = np.median(points, axis=0)
    if np.abs(centre).max() <= _FAR * np.median(np.abs(points - centre)):
        return points, queries
    return points - centre, queries - centre


def _as_double(matrix: Any) -> Any:
    return matrix.astype(np.float64, copy=False)


def _canonical(matrix: Any) -> Any:
    """The same matrix; if it is sparse, each entry once and in order."""
    if not sparse.issparse(matrix) or matrix.has_canonical_format:
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    return matrix


def _of_kind(queries: Any, points: Any) -> Any:
    """Queries that are sparse if the points are, and only then."""
    if sparse.issparse(points) == sparse.issparse(queries):
        return queries
    return sparse.csr_array(queries) if sparse.issparse(points) else queries.toarray()
