"""Directed hypergraphs: made, described, moved and stored like the others."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support import structures

import hypergnn as hg
from hypergnn import DirectedHypergraph


@pytest.fixture(params=structures.DIRECTED)
def D(request):
    return structures.directed(request.param)


def test_a_small_one_by_hand():
    D = DirectedHypergraph.from_hyperedges([([0, 1], [2]), ([2], [3, 0])], n_vertices=5, weight=[2.0, 3.0])
    assert D.tail_degree().tolist() == [2, 2, 3, 0, 0]
    assert D.head_degree().tolist() == D.vertex_degree().tolist() == [3, 0, 2, 3, 0]
    assert D.hyperedge_degree().tolist() == [2, 1]
    assert D.reversed().hyperedge_degree().tolist() == [1, 2]
    assert (D.n_vertices, D.n_hyperedges, D.n_incidences, D.n_terms) == (5, 2, 3, 6)


def test_hyperedges_come_back(D):
    again = DirectedHypergraph.from_hyperedges(D.to_hyperedges(), D.n_vertices, D.weight, D.centroid)
    assert again.equals(D)
    tails, heads = D.to_scipy()
    assert DirectedHypergraph.from_scipy(tails, heads, D.weight, D.centroid).equals(D)


def test_the_reverse_of_the_reverse_is_the_same(D):
    assert D.reversed().reversed() is D
    assert [pair[::-1] for pair in D.reversed().to_hyperedges()] == D.to_hyperedges()


def test_undirected_members_are_those_of_both_parts(D):
    expected = [sorted({*tail, *head}) for tail, head in D.to_hyperedges()]
    assert D.undirected().to_hyperedges() == expected
    assert torch.equal(D.undirected().weight, D.weight)


def test_files_hold_everything(D, tmp_path):
    D.save(tmp_path / "directed.safetensors")
    for verify in (False, True):
        again = DirectedHypergraph.load(tmp_path / "directed.safetensors", verify=verify)
        assert again.equals(D)
        assert again.shares_pairs == D.shares_pairs
    with pytest.raises(ValueError, match="DirectedHypergraph"):
        hg.Hypergraph.load(tmp_path / "directed.safetensors")


def test_names_are_kept(tmp_path):
    names = {"vertex_names": list("abc"), "hyperedge_names": ["first"]}
    D = DirectedHypergraph.from_hyperedges([([0, 1], [2])], 3, **names)
    D.save(tmp_path / "named")
    assert DirectedHypergraph.load(tmp_path / "named").equals(D)
    assert D.reversed().vertex_names.tolist() == D.undirected().vertex_names.tolist() == list("abc")
    assert all(shown in D._repr_html_() for shown in ("first", "a, b", ">c<"))


def test_torch_sees_into_it(D):
    leaves, spec = torch.utils._pytree.tree_flatten(D)
    again = torch.utils._pytree.tree_unflatten(leaves, spec)
    assert again.equals(D)
    assert (again.receivers is again.senders) == D.shares_pairs
    assert D.to("meta").device.type == "meta"
    assert repr(D.to("meta")).endswith("device='meta')")


@given(st.lists(st.tuples(st.sets(st.integers(0, 6)), st.sets(st.integers(0, 6))), max_size=6))
def test_degrees_count(hyperedges):
    D = DirectedHypergraph.from_hyperedges([(sorted(a), sorted(b)) for a, b in hyperedges], n_vertices=7)
    for vertex in range(7):
        assert D.tail_degree()[vertex] == sum(vertex in tail for tail, _ in hyperedges)
        assert D.head_degree()[vertex] == sum(vertex in head for _, head in hyperedges)
    assert D.hyperedge_degree().tolist() == [len(tail) for tail, _ in hyperedges]
    assert D.shares_pairs == all(tail == head for tail, head in hyperedges)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: DirectedHypergraph.from_hyperedges([[0, 1, 2]], 3), "hyperedge 0 must be a pair of lists"),
        (lambda: DirectedHypergraph.from_hyperedges([([0], [5])], 3), "vertex must hold ids from 0 to 2"),
        (lambda: DirectedHypergraph.from_hyperedges([([0, 0], [1])], 3), "incidences must be unique"),
        (lambda: DirectedHypergraph.from_incidence([0], [0], ["middle"], 1, 1), "'tail' or 'head'.*'middle'"),
        (lambda: DirectedHypergraph.from_incidence([0], [0], [1], 1, 1), "role must be 'tail' or 'head'"),
        (lambda: DirectedHypergraph.from_incidence([0], [0], ["up"], 1, 1), "role must be 'tail' .*; got 'up'"),
        (lambda: DirectedHypergraph.from_incidence([0], [0], "tail", 1, 1), "one entry per incidence"),
        (lambda: DirectedHypergraph.from_incidence([0, 1], [0, 0], ["tail"], 2, 1), "one entry per incidence each"),
        (
            lambda: DirectedHypergraph.from_scipy(sparse.csr_array((2, 1)), sparse.csr_array((2, 2))),
            "heads must have the shape of tails",
        ),
        (lambda: DirectedHypergraph.from_hyperedges([([0], [1])], 2).around([0], direction="up"), "direction must be"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(run, message):
    with pytest.raises(ValueError, match=message):
        run()
