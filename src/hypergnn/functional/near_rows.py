"""Hyperedges that follow the features: nearest neighbours and clusters of the rows, by cosine.

Both are functions of the rows alone: no random state is read, and the same rows give the same hyperedges, whatever the
number of threads. Matrix products find candidates; what decides is computed pair by pair.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils.checks import check_size, check_structure
from hypergnn._utils.exact import AT_ONCE, Floats, Ids, first_by, products, squared_lengths
from hypergnn._utils.transforms import plain_values, untransformed
from hypergnn.functional.checks import Features, check_features
from hypergnn.functional.projection import to_dense
from hypergnn.structures.batches import HypergraphBatch
from hypergnn.structures.hypergraph import Hypergraph

_AT_ONCE = 1 << 22
"""Similarities that are held at a time."""
_ROUNDS = 10
_SPARE = 8
"""Candidates beyond the rows asked for."""


def nearest_rows(x: Tensor, k: int) -> Tensor:
    """Each row and the ``k`` rows that are nearest to it by cosine, ``(N, min(k + 1, N))``.

    Of rows that are equally near, those with smaller numbers come first, whatever the number of threads.

    Example:
        >>> nearest_rows(torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]), 1).tolist()
        [[0, 1], [1, 0], [2, 3], [3, 2]]
    """
    check_size("k", k, minimum=1)
    rows = _directions(x)
    n_rows, chosen = rows.shape[0], min(k + 1, rows.shape[0])
    found = np.empty((n_rows, chosen), dtype=np.int64)
    step = max(1, _AT_ONCE // max(n_rows, 1))
    for start in range(0, n_rows, step):
        found[start : start + step] = _nearest(rows, np.arange(start, min(start + step, n_rows)), chosen)
    return torch.from_numpy(found).to(x.device)


def _nearest(rows: Floats, own: Ids, k: int) -> Ids:
    """The ``k`` rows with the largest product with each of some rows, itself first, then by (product, number)."""
    similarity = _matrix_product(rows[own], rows)  # (some, N)
    similarity[np.arange(own.size), own] = np.inf
    wanted = min(k + _SPARE, rows.shape[0])
    top = torch.from_numpy(similarity).topk(wanted, dim=-1)
    candidates = top.indices.numpy()
    value = -products(rows, np.repeat(own, wanted), rows, candidates.ravel()).reshape(candidates.shape)
    value[candidates == own[:, None]] = -np.inf  # a row comes first, even among others like it
    order = first_by(value, candidates)[:, :k]
    found = np.take_along_axis(candidates, order, axis=1)
    if wanted == rows.shape[0]:
        return found
    farthest = np.take_along_axis(value, order[:, -1:], axis=1)[:, 0]
    slack = _slack(rows)
    for place in np.flatnonzero(-farthest <= top.values[:, -1].numpy() + slack):  # others may be as near
        near = np.flatnonzero(similarity[place] >= -farthest[place] - slack)
        value_here = -products(rows, np.full(near.size, own[place]), rows, near)
        value_here[near == own[place]] = -np.inf
        found[place] = near[first_by(value_here, near)[:k]]
    return found


def clusters_of_rows(x: Tensor, n: int) -> Tensor:
    """The cluster of each row, ``(N,)``: k-means by cosine, started from rows that are far from each other.

    Example:
        >>> clusters_of_rows(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]]), 2).tolist()
        [0, 1, 0, 1]
    """
    check_size("n", n, minimum=1)
    rows = _directions(x)
    if rows.shape[0] == 0:
        return torch.empty(0, dtype=torch.int64, device=x.device)
    centres = _far_apart(rows, min(n, rows.shape[0]))
    cluster = _most_similar(rows, centres)
    for _ in range(_ROUNDS):
        ones = (np.ones(cluster.size), cluster, np.arange(cluster.size + 1))
        sums = sparse.csr_array(ones, shape=(cluster.size, centres.shape[0])).T @ rows
        is_empty = (sums == 0).all(-1, keepdims=True)
        centres = np.where(is_empty, centres, _to_length_1(sums))
        before, cluster = cluster, _most_similar(rows, centres)
        if np.array_equal(before, cluster):
            break
    return torch.from_numpy(cluster).to(x.device)


def _most_similar(rows: Floats, centres: Floats) -> Ids:
    """The centre with the largest product with each row; of several, the first."""
    similarity = _matrix_product(rows, centres)  # (N, n)
    highest = similarity.max(-1, keepdims=True)
    is_near = similarity >= highest - _slack(rows)
    found: Ids = is_near.argmax(-1)
    several = np.flatnonzero(is_near.sum(-1) > 1)
    if several.size:
        place, centre = np.nonzero(is_near[several])
        value = np.full((several.size, centres.shape[0]), -np.inf)
        value[place, centre] = products(rows, several[place], centres, centre)
        found[several] = value.argmax(-1)
    return found


def _far_apart(rows: Floats, n: int) -> Floats:
    """Rows to start from: the one nearest to the mean, then always the one farthest from those chosen before."""
    step = max(1, AT_ONCE // max(rows.shape[1], 1))

    def similar_to(one: Floats) -> Floats:
        parts = [(rows[start : start + step] * one).sum(-1) for start in range(0, rows.shape[0], step)]
        return np.concatenate(parts)

    chosen = [int(similar_to(rows.mean(0)).argmax())]
    nearest = similar_to(rows[chosen[0]])  # the largest similarity to a chosen row
    for _ in range(n - 1):
        chosen.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, similar_to(rows[chosen[-1]]))
    return rows[chosen]


def _directions(x: Tensor) -> Floats:
    """The rows in float64 with length 1; rows of zeros stay."""
    return _to_length_1(x.detach().cpu().double().numpy())


def _to_length_1(rows: Floats) -> Floats:
    length = np.sqrt(squared_lengths(rows))
    return rows / np.where(length > 0, length, 1)[:, None]


def _matrix_product(a: Floats, b: Floats) -> Floats:
    """``a bᵀ``, quickly; its last bits depend on the number of threads."""
    return cast(Floats, (torch.from_numpy(a) @ torch.from_numpy(b).T).numpy())


def _slack(rows: Floats) -> float:
    """How far the product of two rows of length 1 may be off."""
    return 4.0 * (int(rows.shape[1]) + 8) * float(np.finfo(np.float64).eps)


def following(x: Features, H: Hypergraph, *, neighbours: int = 10, clusters: int | None = None) -> Hypergraph:
    """The hypergraph with hyperedges added that follow the features: one around each row, and one for each cluster.

    Args:
        x: Features, ``(N, F)``. No gradient flows through the choice of members.
        H: The given hyperedges, which stay.
        neighbours: Nearest neighbours in the hyperedge around each row; 0 for none of these hyperedges.
        clusters: Number of clusters; the square root of ``N`` if omitted, 0 for none.

    Returns:
        The hyperedges of ``H``, then those of the rows, then the clusters, all new ones with weight 1; without names,
        times and centroids.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 3]], n_vertices=4)
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
        >>> following(x, H, neighbours=1, clusters=2).to_hyperedges()
        [[0, 3], [0, 1], [0, 1], [2, 3], [2, 3], [0, 1], [2, 3]]
    """
    check_structure("H", H, Hypergraph, "from_hyperedges(…), or use undirected() of a directed one")
    if isinstance(H, HypergraphBatch):
        raise TypeError(
            "H must be one hypergraph: rows of different members of a batch are not neighbours. Use batch.split()."
        )
    check_features(x, H.n_vertices, H.device)
    if len(x.shape) != 2:
        raise ValueError(f"x must have shape ({H.n_vertices}, features), of one trial; got {tuple(x.shape)}.")
    check_size("neighbours", neighbours)
    n_clusters = round(H.n_vertices**0.5) if clusters is None else check_size("clusters", clusters)
    values = plain_values("x", x) if isinstance(x, Tensor) else x
    with torch.no_grad(), untransformed():
        rows, n = to_dense(values), H.n_vertices
        if not bool(rows.isfinite().all()):
            raise ValueError("x must be finite, because hyperedges follow it; got nan or inf.")
        vertex, hyperedge = [H._vertex_ids.cpu().numpy()], [H._hyperedge_ids.cpu().numpy()]
        total = H.n_hyperedges
        if neighbours and n:
            near = nearest_rows(rows, neighbours).cpu().numpy()
            vertex.append(near.ravel())
            hyperedge.append(np.repeat(np.arange(total, total + n), near.shape[1]))
            total += n
        if n_clusters and n:
            number = clusters_of_rows(rows, n_clusters).cpu().numpy()
            vertex.append(np.arange(n))
            hyperedge.append(total + number)
            total += min(n_clusters, n)
        weight = np.ones(total)
        weight[: H.n_hyperedges] = H.weight.cpu().numpy()
        made = Hypergraph.from_incidence(np.concatenate(vertex), np.concatenate(hyperedge), n, total, weight)
        return made if H.device.type == "cpu" else made.to(H.device)
