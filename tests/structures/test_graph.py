import pytest
import torch
from scipy import sparse
from torch.utils import _pytree as pytree

from hypergnn import Graph


def test_links_count_once_in_both_directions_with_one_loop_per_vertex():
    graph = Graph.from_links([0, 1, 2, 2], [1, 0, 2, 0], n_vertices=4)
    assert graph.target.tolist() == [0, 0, 0, 1, 1, 2, 2, 3]
    assert graph.source.tolist() == [0, 1, 2, 0, 1, 0, 2, 3]
    assert graph.degree.tolist() == [3.0, 2.0, 2.0, 1.0]
    assert graph.n_links == 2
    assert repr(graph) == "Graph(4 vertices, 2 links)"


def test_adjacency_round_trips_without_the_loops():
    graph = Graph.from_links([0, 1], [1, 2], n_vertices=4)
    again = Graph.from_scipy(graph.to_scipy())
    assert torch.equal(again.target, graph.target)
    assert torch.equal(again.source, graph.source)
    assert graph.to_scipy().diagonal().sum() == 0


def test_to_moves_every_tensor():
    graph = Graph.from_links([0], [1], n_vertices=2).to("meta")
    assert {leaf.device.type for leaf in pytree.tree_leaves(graph) if leaf is not None} == {"meta"}


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (([0], [4], 3), ValueError, r"target must hold ids from 0 to 2 \(n_vertices=3\); got 4"),
        (([-1], [1], 3), ValueError, r"source must hold ids from 0 to 2 .*; got -1"),
        (([0.5], [1], 3), TypeError, r"source must hold integer ids; got float64"),
        (([0, 1], [1], 3), ValueError, r"one entry per link each; got 2, 1"),
        (([], [], "3"), TypeError, r"n_vertices must be a whole number; got '3'"),
    ],
)
def test_bad_links_are_refused(arguments, error, match):
    with pytest.raises(error, match=match):
        Graph.from_links(*arguments)


def test_bad_matrices_are_refused():
    with pytest.raises(TypeError, match=r"adjacency must be a SciPy sparse matrix; got list"):
        Graph.from_scipy([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"adjacency must be square.*got shape \(1, 2\)"):
        Graph.from_scipy(sparse.csr_array([[0, 1]]))
    with pytest.raises(ValueError, match=r"only zeros and ones; got 0.5\. Links carry no weights"):
        Graph.from_scipy(sparse.csr_array([[0, 0.5], [0.5, 0]]))
