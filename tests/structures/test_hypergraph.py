from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import sparse
from torch.utils import _pytree as pytree

from hypergnn import DirectedHypergraph, Graph, Hypergraph, functional


def make(**changes: object) -> Hypergraph:
    arguments = {"vertex": [0, 1, 1, 3], "hyperedge": [1, 0, 1, 1], "n_vertices": 4, "n_hyperedges": 2}
    return Hypergraph.from_incidence(**(arguments | changes))


def test_incidences_stand_in_both_orders_with_the_permutation_between_them():
    H = make(vertex=[3, 1, 0, 1], hyperedge=[1, 1, 1, 0])
    assert H.vertex.tolist() == [0, 1, 1, 3]
    assert H.hyperedge.tolist() == [1, 0, 1, 1]
    by_vertex, by_hyperedge = H.incidence, H.incidence.T
    assert by_vertex.offsets.tolist() == [0, 1, 3, 3, 4]
    assert by_hyperedge.offsets.tolist() == [0, 1, 4]
    assert by_hyperedge.members.tolist() == [1, 0, 1, 3]
    assert by_hyperedge.position.tolist() == [1, 0, 2, 3]
    assert H.vertex[by_hyperedge.position].tolist() == by_hyperedge.members.tolist()


def test_degrees_are_weighted_for_vertices_and_counts_for_hyperedges():
    H = make(weight=[2.0, 5.0])
    assert H.vertex_degree().tolist() == [5.0, 7.0, 0.0, 5.0]
    assert H.hyperedge_degree().tolist() == [1.0, 3.0]


def test_the_three_makers_agree():
    H = make(weight=[2.0, 5.0], centroid=[1, 0])
    assert Hypergraph.from_hyperedges([[1], [0, 1, 3]], 4, [2.0, 5.0], [1, 0]).equals(H)
    assert Hypergraph.from_scipy(H.to_scipy(), [2.0, 5.0], [1, 0]).equals(H)
    assert not Hypergraph.from_scipy(H.to_scipy(), [2.0, 5.0]).equals(H)
    assert not Hypergraph.from_scipy(H.to_scipy(), [2.0, 5.1], [1, 0]).equals(H)
    assert H.to_hyperedges() == [[1], [0, 1, 3]]


def test_equality_looks_at_names_and_only_at_hypergraphs():
    named = make(vertex_names=list("abcd"), hyperedge_names=["x", "y"])
    again = Hypergraph.from_hyperedges([[1], [0, 1, 3]], 4, vertex_names=list("abcd"), hyperedge_names=["x", "y"])
    assert named.equals(again)
    assert named.equals(Hypergraph.from_scipy(make().to_scipy(), None, None, list("abcd"), ["x", "y"]))
    assert not named.equals(make())
    assert not named.equals(make(vertex_names=list("abce"), hyperedge_names=["x", "y"]))
    assert not named.equals(Graph.from_links([0], [1], n_vertices=4))
    assert not named.equals(None)


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_ids_may_come_as_lists_arrays_or_tensors(kind):
    assert make(vertex=kind([3, 1, 0, 1]), hyperedge=kind([1, 1, 1, 0])).equals(make())
    assert Hypergraph.from_hyperedges([kind([1]), kind([0, 1, 3])], n_vertices=4).equals(make())


def test_it_does_not_change():
    weight, vertex = np.array([2.0, 5.0]), np.array([0, 1, 1, 3])
    H = make(vertex=vertex, weight=weight)
    weight[:] = 9.0
    vertex[:] = 2
    assert H.weight.tolist() == [2.0, 5.0]
    assert H.vertex.tolist() == [0, 1, 1, 3]
    H.vertex_degree().zero_()
    H.hyperedge_degree().zero_()
    functional.vertex_degree(H).zero_()
    functional.hyperedge_degree(H).zero_()
    assert H.vertex_degree().tolist() == [5.0, 7.0, 0.0, 5.0]
    assert H.hyperedge_degree().tolist() == [1.0, 3.0]
    with pytest.raises(FrozenInstanceError):
        H.weight = torch.ones(2)


def test_indices_take_four_bytes_where_they_fit():
    H = make()
    assert {index.dtype for index in (H.vertex, *H.incidence) if index is not None} == {torch.int32}


def test_sizes_are_explicit_and_nothing_may_be_there():
    H = make(vertex=[], hyperedge=[], n_vertices=3, n_hyperedges=5)
    assert (H.n_vertices, H.n_hyperedges, H.n_incidences) == (3, 5, 0)
    assert H.to_scipy().shape == (3, 5)


def test_to_moves_every_tensor():
    H = make(centroid=[1, 0], vertex_names=list("abcd")).to("meta")
    tensors = [leaf for leaf in pytree.tree_leaves(H) if leaf is not None]
    assert len(tensors) == 9
    assert all(tensor.device.type == "meta" for tensor in tensors)
    assert H.vertex_names.tolist() == list("abcd")
    with pytest.raises((TypeError, RuntimeError)):
        make().to(torch.float32)


def test_repr_says_what_it_is():
    assert repr(make()) == "Hypergraph(4 vertices, 2 hyperedges, 4 incidences)"
    weighted = make(weight=[1, 2], centroid=[0, -1])
    assert repr(weighted) == "Hypergraph(4 vertices, 2 hyperedges, 4 incidences, weighted, partly centred)"
    assert repr(make(centroid=[0, 1])).endswith("centred)")
    assert "device='meta'" in repr(make().to("meta"))


def test_centroids_may_be_missing_for_some_or_all():
    assert make(centroid=[-1, 3]).centroid.tolist() == [-1, 3]
    assert not make(centroid=[-1, 3]).is_centred
    assert make(centroid=[2, 3]).is_centred
    assert make(centroid=[-1, -1]).centroid is None


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"vertex": [0, 1, 1, 4]}, ValueError, r"vertex must hold ids from 0 to 3 \(n_vertices=4\); got 4"),
        ({"vertex": [0, -1, 1, 3]}, ValueError, r"vertex must hold ids from 0 to 3 .*; got -1"),
        (
            {"hyperedge": [2, 0, 1, 1]},
            ValueError,
            r"hyperedge must hold ids from 0 to 1 .*; got 2.*larger n_hyperedges",
        ),
        ({"vertex": [0.0, 1.0, 1.0, 3.0]}, TypeError, r"vertex must hold integer ids; got float64.*int64"),
        ({"vertex": torch.rand(4)}, TypeError, r"vertex must hold integer ids; got float32"),
        ({"vertex": [True, False, True, True]}, TypeError, r"vertex must hold integer ids; got bool"),
        ({"hyperedge": ["a", "b", "a", "a"]}, TypeError, r"hyperedge must hold integer ids; got .*Number names from 0"),
        ({"vertex": [[0], [1, 2]]}, ValueError, r"vertex must be one-dimensional; got lists of different lengths"),
        ({"vertex": [[0, 1], [1, 3]]}, ValueError, r"vertex must be one-dimensional.*got shape \(2, 2\)"),
        ({"vertex": [0, 1, 3]}, ValueError, r"one entry per incidence each; got 3 and 4"),
        ({"vertex": [0, 1, 0, 3]}, ValueError, r"unique; vertex 0 occurs 2 times in hyperedge 1.*numpy\.unique"),
        ({"n_vertices": 4.0}, TypeError, r"n_vertices must be a whole number; got 4\.0 of type float"),
        ({"n_vertices": -1}, ValueError, r"n_vertices must be at least 0; got -1"),
        ({"n_hyperedges": True}, TypeError, r"n_hyperedges must be a whole number"),
        ({"weight": [1.0]}, ValueError, r"weight must have shape \(2,\), one entry per hyperedge; got \(1,\)"),
        ({"weight": [[1.0, 2.0]]}, ValueError, r"weight must have shape \(2,\).*got \(1, 2\)"),
        ({"weight": [1.0, 0.0]}, ValueError, r"weight must be positive and finite.*got 0\.0 for hyperedge 1"),
        ({"weight": [-1.0, 1.0]}, ValueError, r"weight must be positive and finite.*got -1\.0 for hyperedge 0"),
        ({"weight": [1.0, float("nan")]}, ValueError, r"weight must be positive and finite.*got nan"),
        ({"weight": [1.0, float("inf")]}, ValueError, r"weight must be positive and finite.*got inf"),
        ({"weight": [1.0, 1e-16]}, ValueError, r"weight must be positive and finite \(1e-15 to 1e15\)"),
        ({"weight": [1.0, 1e16]}, ValueError, r"weight must be positive and finite .*got 1e\+16"),
        ({"weight": [[1.0], [1.0, 2.0]]}, ValueError, r"weight must be one-dimensional; got lists of different"),
        (
            {"weight": torch.ones(2, requires_grad=True)},
            ValueError,
            r"weight must not require a gradient.*learn_weight",
        ),
        ({"weight": ["a", "b"]}, TypeError, r"weight must hold real numbers"),
        ({"centroid": [0]}, ValueError, r"centroid must have shape \(2,\), one vertex per hyperedge; got \(1,\)"),
        ({"centroid": [0, 4]}, ValueError, r"centroid must hold ids from 0 to 3 .*; got 4"),
        ({"centroid": [0, -2]}, ValueError, r"centroid must hold ids from 0 to 3 .*, or -1 for none; got -2"),
        ({"centroid": [True, False]}, TypeError, r"centroid must hold integer ids; got bool"),
        ({"centroid": ["a", "b"]}, TypeError, r"centroid must hold integer ids"),
        ({"centroid": [0.0, 1.0]}, TypeError, r"centroid must hold integer ids"),
        ({"vertex_names": ["a"]}, ValueError, r"vertex_names must have shape \(4,\), one name each; got \(1,\)"),
        ({"hyperedge_names": ["a", "a"]}, ValueError, r"hyperedge_names must all be different; 1 are repetitions"),
    ],
)
def test_bad_input_is_refused(changes, error, match):
    with pytest.raises(error, match=match):
        make(**changes)


def test_bad_matrices_are_refused():
    with pytest.raises(TypeError, match=r"must be a SciPy sparse matrix; got ndarray.*csr_array"):
        Hypergraph.from_scipy(np.eye(2))
    with pytest.raises(ValueError, match=r"only zeros and ones; got 2. Give hyperedge weights as weight"):
        Hypergraph.from_scipy(sparse.csr_array([[2, 0]]))
    with pytest.raises(ValueError, match=r"vertex 0 occurs 2 times in hyperedge 0"):
        Hypergraph.from_scipy(sparse.coo_array(([1, 1], ([0, 0], [0, 0])), shape=(1, 1)))
    with pytest.raises(ValueError, match=r"incidence must have shape \(vertices, hyperedges\); got \(3,\)"):
        Hypergraph.from_scipy(sparse.coo_array([1, 0, 1]))


def test_stored_zeros_are_no_incidences():
    matrix = sparse.csr_array(([1, 0], ([0, 1], [0, 0])), shape=(2, 1))
    assert Hypergraph.from_scipy(matrix).n_incidences == 1


def test_bad_lists_are_refused():
    for wrong in ([0, 1], np.array([0, 1]), torch.tensor([0, 1]), ["ab"], np.zeros((2, 1, 1), dtype=int)):
        with pytest.raises(TypeError, match=r"hyperedges must hold a list of vertices for each hyperedge"):
            Hypergraph.from_hyperedges(wrong, n_vertices=2)
    with pytest.raises(TypeError, match=r"hyperedges must hold integer ids; got \[True, 1\]"):
        Hypergraph.from_hyperedges([[True, 1]], n_vertices=2)
    with pytest.raises(TypeError, match=r"vertex must hold integer ids; got float64"):
        Hypergraph.from_hyperedges([[0, 1.5]], n_vertices=2)
    with pytest.raises(ValueError, match=r"vertex 1 occurs 2 times in hyperedge 1"):
        Hypergraph.from_hyperedges([[0, 1], [1, 1]], n_vertices=2)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: Hypergraph.from_hyperedges([[0, 1]], n),
        lambda n: Hypergraph.from_incidence([0], [0], n, 1),
        lambda n: DirectedHypergraph.from_hyperedges([([0], [1])], n),
        lambda n: Graph.from_links([0], [1], n),
        lambda n: Hypergraph.from_hyperedges([[0, 1]], 2).add_vertices(n),
    ],
)
def test_vertices_beyond_the_memory_are_refused_at_once(make, monkeypatch):
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=25e9))
    with pytest.raises(ValueError, match=r"n_vertices must fit into memory; 1000000000\d vertices need 80.0 GB"):
        make(10**10)
