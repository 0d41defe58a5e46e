"""Nearest points are the first by (distance, number), whatever the search and the number of threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from hypergnn.construct import Clusters, NearestNeighbours, NearestVertex, from_knn, search
from hypergnn.construct.search import nearest_points
from hypergnn.structures.hypergraph import Hypergraph


def brute_force(points, queries, k, metric):
    """The definition."""
    if metric == "cosine":
        lengths = np.sqrt((queries**2).sum(1))[:, None] * np.sqrt((points**2).sum(1))
        terms = queries[:, None] * points
        distance = 1 - terms.sum(-1) / np.where(lengths > 0, lengths, 1)
    elif metric == "euclidean":
        distance = ((queries[:, None] - points) ** 2).sum(-1)
    else:
        distance = cdist(queries, points, metric)
    return np.lexsort((np.broadcast_to(np.arange(len(points)), distance.shape), distance), axis=-1)[:, :k]


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(st.data())
def test_ties_are_broken_by_number(data):
    n_points, n_features = data.draw(st.integers(1, 25)), data.draw(st.sampled_from([1, 2, 12]))
    seed, largest = data.draw(st.integers(0, 1000)), data.draw(st.sampled_from([1, 2, 50]))
    metric = data.draw(st.sampled_from(["euclidean", "cosine", "cityblock", "chebyshev"]))
    draws = np.random.default_rng(seed)
    points, queries = (draws.integers(0, largest + 1, (n, n_features)).astype(float) for n in (n_points, 6))
    k = data.draw(st.integers(1, n_points))
    expected = brute_force(points, queries, k, metric)
    kinds = [np.asarray] if metric == "chebyshev" else [np.asarray, sparse.csr_array]
    for convert in kinds:
        for algorithm in ("auto", "brute"):
            found = nearest_points(convert(points), convert(queries), k, metric, algorithm=algorithm)
            np.testing.assert_array_equal(found, expected)


def test_all_points_are_compared_where_many_are_as_near(monkeypatch):
    monkeypatch.setattr(search, "AT_ONCE", 100)  # a few rows at a time
    points = np.random.default_rng(0).integers(0, 2, (60, 4)).astype(float)
    for convert in (np.asarray, np.float32, sparse.csr_array):
        for metric in ("euclidean", "cosine", "cityblock", "sqeuclidean", "nan_euclidean"):
            if metric == "nan_euclidean" and convert is sparse.csr_array:
                continue
            same = {"sqeuclidean": "euclidean", "nan_euclidean": "euclidean"}.get(metric, metric)
            found = nearest_points(convert(points), convert(points), 5, metric)
            np.testing.assert_array_equal(found, brute_force(points, points, 5, same))


def test_queries_may_be_sparse_where_points_are_dense_and_the_reverse():
    points = np.random.default_rng(0).integers(0, 3, (20, 9)).astype(float)
    expected = brute_force(points, points, 4, "euclidean")
    np.testing.assert_array_equal(nearest_points(points, sparse.csr_array(points), 4, "euclidean"), expected)
    np.testing.assert_array_equal(nearest_points(sparse.csr_array(points), points, 4, "euclidean"), expected)


@pytest.mark.slow
def test_the_hypergraph_of_digits_does_not_depend_on_the_number_of_threads():
    x = (load_digits().data / 16).astype(np.float32)
    made = []
    for n in (1, 2, 4):
        with threadpool_limits(n):
            made.append(from_knn(x, 10))
    assert all(one.equals(made[0]) for one in made)
    distance = cdist(load_digits().data, load_digits().data, "sqeuclidean")  # whole numbers
    np.fill_diagonal(distance, -1)
    expected = np.sort(np.argsort(distance, axis=1, kind="stable")[:, :11], axis=1)
    np.testing.assert_array_equal(made[0].incidence.back_members.numpy().reshape(-1, 11), expected)


def test_new_points_join_what_comes_first():
    points = np.array([[0.0], [2.0], [0.0], [2.0], [4.0]])
    new = np.array([[1.0], [3.0]])
    assert NearestNeighbours(points, 1).join(new).indices.tolist() == [0, 1]
    H = Hypergraph.from_hyperedges([[0], [1], [2], [3], [4]], n_vertices=5)
    assert NearestVertex(H, points).join(new).indices.tolist() == [0, 1]
    relation = Clusters(points, 3)
    near = relation.join(new).indices
    distance = np.abs(new - relation.centres[0].T)
    assert near.tolist() == distance.argmin(1).tolist()


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_equal_points_are_searched_once(convert, monkeypatch):
    monkeypatch.setattr(search, "AT_ONCE", 0)  # one row at a time
    x = convert(np.ones((300, 9)))
    H = from_knn(x, 3)
    assert H.to_hyperedges()[7] == [0, 1, 2, 7]
    assert H.to_hyperedges()[1] == [0, 1, 2, 3]
