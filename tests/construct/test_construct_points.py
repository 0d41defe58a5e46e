"""Hypergraphs from points: nearest neighbours and clusters."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from support.memory import PEAK

from hypergnn.construct import clusters, from_clusters, from_knn, nearest


def members(H):
    return [set(edge) for edge in np.split(H.incidence.back_members.numpy(), H.incidence.back_offsets[1:-1].numpy())]


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine"])
@pytest.mark.parametrize("n_features", [3, 20])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_neighbours_are_the_points_at_the_smallest_distance(metric, n_features, convert):
    x = np.random.default_rng(0).random((40, n_features))
    distance = cdist(x, x, metric)
    np.fill_diagonal(distance, -1)
    expected = [set(row[:5]) for row in np.argsort(distance, axis=1)]
    H = from_knn(convert(x), k=4, metric=metric)
    assert members(H) == expected
    assert H.centroid.tolist() == list(range(40))


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.integers(0, 2), min_size=4, max_size=30), st.integers(1, 3))
def test_among_equal_points_each_is_in_its_own_hyperedge_once(positions, k):
    x = np.array(positions, dtype=float)[:, None]
    H = from_knn(x, k=k)
    distance = np.sort(np.abs(x - x.T), axis=1)[:, : k + 1].sum(axis=1)
    for centre, edge in enumerate(members(H)):
        assert centre in edge
        assert len(edge) == k + 1
        assert np.abs(x[list(edge)] - x[centre]).sum() == distance[centre]


APPROXIMATE = """
import numpy as np
from sklearn.datasets import load_digits
from hypergnn.construct import from_knn

digits = load_digits().data
exact, approximate = from_knn(digits, k=5), from_knn(digits, k=5, approximate=True)
assert approximate.equals(from_knn(digits, k=5, approximate=True))
assert exact.to_scipy().multiply(approximate.to_scipy()).sum() > 0.97 * exact.n_incidences
copies = from_knn(np.repeat(digits[:10], 30, axis=0), k=5, approximate=True)
assert all(centre in edge for centre, edge in enumerate(copies.to_hyperedges()))
"""


@pytest.mark.slow
def test_approximate_neighbours_are_nearly_the_exact_ones():
    """In a process in which pynndescent compiles itself without optimising, which takes less time than it saves."""
    environment = os.environ | {"NUMBA_OPT": "0", "HYPERGNN_BACKEND": "torch"}
    done = subprocess.run([sys.executable, "-c", APPROXIMATE], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["cityblock", "l1", "l2", "chebyshev"])
def test_the_approximate_search_knows_a_metric_by_the_names_that_the_exact_one_has(metric, monkeypatch):
    """By all distances, with the function that the library has under that name: its search takes long to compile."""
    pynndescent = pytest.importorskip("pynndescent")

    class Exhaustive:
        def __init__(self, points, *, metric, n_neighbors, random_state):  # noqa: ARG002
            distance = pynndescent.distances.named_distances[metric]
            order = np.argsort([[distance(one, other) for other in points] for one in points], axis=1, kind="stable")
            self.neighbor_graph = order[:, :n_neighbors], None

    monkeypatch.setattr(pynndescent, "NNDescent", Exhaustive)
    x = np.random.default_rng(0).random((60, 20))
    exact, approximate = (from_knn(x, k=5, metric=metric, approximate=choice) for choice in (False, True))
    assert approximate.equals(exact)


@pytest.mark.slow
def test_the_approximate_search_refuses_metrics_it_does_not_support():
    x = np.random.default_rng(0).random((60, 20))
    with pytest.raises(ValueError, match=r"got 'nan_euclidean'. Pass approximate=False for an exact search"):
        from_knn(x, k=5, metric="nan_euclidean", approximate=True)


def test_many_points_are_searched_approximately_and_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    x = np.random.default_rng(0).random((60, 20))
    from_knn(x, k=2)
    monkeypatch.setattr(nearest, "MAX_EXACT_POINTS", 50)
    with pytest.raises(ImportError, match=r"needs pynndescent.*pip install '\.\[ann\]'"):
        from_knn(x, k=2)
    from_knn(x, k=2, approximate=False)
    from_knn(x[:, :3], k=2)  # a search tree does not compare all pairs


def test_all_kinds_of_tables_give_the_same_hypergraph():
    wine = load_wine(as_frame=True).data
    expected = from_knn(wine.to_numpy(), k=3)
    tables = [wine, pl.DataFrame(wine.to_dict("list")), pa.table(wine), torch.from_numpy(wine.to_numpy())]
    assert all(from_knn(table, k=3).equals(expected) for table in tables)
    named = wine.set_index(pd.Index([f"wine {row}" for row in range(len(wine))]))
    assert from_knn(named, k=3).vertex_names[7] == "wine 7"
    assert from_clusters(named, 3).vertex_names[7] == "wine 7"
    assert from_knn(wine[wine.index % 2 == 1], k=3).vertex_names[1] == 3


@pytest.mark.parametrize("convert", [torch.Tensor.to_sparse, torch.Tensor.to_sparse_csr, torch.Tensor.bfloat16])
def test_all_kinds_of_tensors_give_the_same_hypergraph(convert):
    x = torch.from_numpy(load_digits().data[:60])  # whole numbers up to 16, which bfloat16 holds
    for constructor in (from_knn, from_clusters):
        assert constructor(convert(x), 5).equals(constructor(x, 5))


def test_points_far_from_the_origin_keep_their_neighbours():
    x = load_wine().data.round()
    assert members(from_knn(x + 2.0**27, k=3)) == members(from_knn(x, k=3))


def test_sparse_features_may_have_wide_indices():
    x = sparse.csr_array(load_digits().data[:60])
    expected = from_clusters(x, 5)
    x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
    assert from_clusters(x, 5).equals(expected)
    assert x.indices.dtype == np.int64


def test_bad_points_are_refused():
    x = np.random.default_rng(0).random((6, 2))
    with pytest.raises(ValueError, match="k must be less than the number of points, 6; got 6"):
        from_knn(x, k=6)
    with pytest.raises(TypeError, match="k must be a whole number"):
        from_knn(x, k=2.0)
    with pytest.raises(ValueError, match="precomputed"):
        from_knn(x, k=2, metric="precomputed")
    with pytest.raises(ValueError, match="metric"):
        from_knn(x, k=2, metric="no such metric")
    with pytest.raises(TypeError, match=r"X must hold real numbers.*from_attributes"):
        from_knn(pd.DataFrame({"colour": ["red", "green"], "size": [1, 2]}), k=1)
    with pytest.raises(ValueError, match=r"X must have shape \(points, features\)"):
        from_knn(x[:, 0], k=2)


@pytest.mark.parametrize("constructor", [from_knn, from_clusters])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_features_that_are_not_finite_are_refused(constructor, convert):
    x = np.ones((20, 3))
    x[4, 0], x[7, 2] = 0, np.nan
    with pytest.raises(ValueError, match="X must hold finite numbers; row 7, column 2 is nan"):
        constructor(convert(x))


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_clusters_at_several_scales(convert):
    x = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0, 0], [0, 90], [90, 0], [99, 99]], 10, axis=0)
    H = from_clusters(convert(x), [4, 2])
    assert sorted(map(sorted, members(H)[:4])) == np.arange(40).reshape(4, 10).tolist()
    assert H.hyperedge_names.tolist() == [f"cluster {c} of 4" for c in (1, 2, 3, 4)] + [
        "cluster 1 of 2",
        "cluster 2 of 2",
    ]
    assert H.vertex_degree().tolist() == [2] * 40


def test_many_points_are_clustered_in_batches(monkeypatch):
    monkeypatch.setattr(clusters, "MAX_FULL_BATCH_POINTS", 100)
    H = from_clusters(np.repeat([[0.0], [100.0]], 100, axis=0), 2)
    assert sorted(map(sorted, members(H))) == np.arange(200).reshape(2, 100).tolist()


def test_coinciding_points_give_no_empty_cluster():
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        H = from_clusters(np.repeat([[0.0], [1.0]], 5, axis=0), 3)
    assert H.hyperedge_degree().tolist() == [5, 5]


def test_bad_numbers_of_clusters_are_refused():
    x = np.random.default_rng(0).random((6, 2))
    with pytest.raises(ValueError, match="at most the number of points, 6; got 7"):
        from_clusters(x, [2, 7])
    with pytest.raises(ValueError, match="n_clusters must be at least 2; got 1"):
        from_clusters(x, 1)
    with pytest.raises(ValueError, match=r"several different ones; got \[3, 3\]"):
        from_clusters(x, [3, 3])
    with pytest.raises(TypeError, match="n_clusters must be a whole number"):
        from_clusters(x, "3")


BIG_POINTS = f"""{PEAK}
import numpy as np, hypergnn as hg
hg.construct.from_knn(np.random.default_rng(0).random((500, 64)), k=10)
before = peak()
H = hg.construct.from_knn(np.random.default_rng(0).random((20_000, 64)), k=10)
assert H.n_incidences == 220_000
print((peak() - before) / 2**20)
"""


@pytest.mark.slow
def test_twenty_thousand_points_take_linear_memory():
    answer = subprocess.run([sys.executable, "-c", BIG_POINTS], check=True, capture_output=True, text=True)
    print(answer.stdout)
    assert float(answer.stdout) < 80  # megabytes; the points take 10, all pairs would take 3,200
