"""Hypergraphs from graphs and from other hypergraphs."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import hypergnn as hg
from hypergnn.construct import drop_hyperedges, from_neighbourhoods, union


@st.composite
def graphs(draw):
    n_vertices = draw(st.integers(1, 8))
    vertex = st.integers(0, n_vertices - 1)
    links = draw(st.lists(st.tuples(vertex, vertex), max_size=12))
    return hg.Graph.from_links([a for a, _ in links], [b for _, b in links], n_vertices), links


@pytest.mark.slow
@given(graphs(), st.integers(1, 3), st.booleans())
def test_neighbourhoods_hold_the_vertices_that_a_walk_reaches(graph_and_links, hops, centroid):
    graph, links = graph_and_links
    H = from_neighbourhoods(graph, hops=hops, centroid=centroid)
    expected = np.zeros((graph.n_vertices, graph.n_vertices))
    for centre in range(graph.n_vertices):
        reached = {centre}
        for _ in range(hops):
            reached |= {b for a, b in links if a in reached} | {a for a, b in links if b in reached}
        expected[list(reached), centre] = 1
        expected[centre, centre] = centroid
    np.testing.assert_array_equal(H.to_scipy().toarray(), expected)
    assert H.centroid.tolist() == list(range(graph.n_vertices))


def test_an_adjacency_matrix_may_stand_for_a_graph():
    adjacency = sparse.csr_array(np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]]))
    H = from_neighbourhoods(adjacency, vertex_names=["a", "b", "c"])
    assert H.to_scipy().toarray().tolist() == [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    assert H.vertex_names.tolist() == ["a", "b", "c"]


def test_neighbourhoods_of_something_else_than_a_graph_are_refused():
    with pytest.raises(ValueError, match=r"square.*got shape \(2, 3\)"):
        from_neighbourhoods(sparse.csr_array((2, 3)))
    with pytest.raises(TypeError, match="SciPy sparse adjacency matrix; got ndarray"):
        from_neighbourhoods(np.eye(3))
    with pytest.raises(
        TypeError, match=r"got Graph. Convert it, e.g. networkx.to_scipy_sparse_array\(graph, weight=None"
    ):
        from_neighbourhoods(networkx.path_graph(3))
    with pytest.raises(ValueError, match=r"Links carry no weights. Give \(adjacency != 0\)"):
        from_neighbourhoods(sparse.csr_array(np.full((2, 2), 0.5)))
    with pytest.raises(ValueError, match="hops must be at least 1; got 0"):
        from_neighbourhoods(sparse.csr_array((2, 2)), hops=0)


def named(hyperedges, names, *, n_vertices=3, vertex_names=None, weight=None, centroid=None):
    members = np.concatenate([np.asarray(edge, dtype=int) for edge in hyperedges])
    hyperedge = np.repeat(np.arange(len(hyperedges)), [len(edge) for edge in hyperedges])
    return hg.Hypergraph.from_incidence(
        members, hyperedge, n_vertices, len(hyperedges), weight, centroid, vertex_names, names
    )


def test_union_keeps_names_that_are_tuples():
    first, second = (
        hg.Hypergraph.from_incidence([0], [0], 1, 1, hyperedge_names=np.fromiter([name], dtype=object, count=1))
        for name in [("a", 1), ("b", 1)]
    )
    assert union(first, second).hyperedge_names.tolist() == [("a", 1), ("b", 1)]


def test_union_keeps_weights_centroids_and_names():
    first = named([[0, 1], [2]], ["p", "q"], weight=[2.0, 3.0])
    second = named([[0, 1]], ["r"], vertex_names=["a", "b", "c"], centroid=[1])
    expected = named(
        [[0, 1], [2], [0, 1]],
        ["p", "q", "r"],
        vertex_names=["a", "b", "c"],
        weight=[2.0, 3.0, 1.0],
        centroid=[-1, -1, 1],
    )
    assert union(first, second).equals(expected)


def test_union_keeps_names():
    H, nameless = named([[0, 1]], ["p"]), named([[1, 2]], None)
    assert union(H, nameless).hyperedge_names.tolist() == ["p", (1, 0)]
    assert union(nameless, H).hyperedge_names.tolist() == [(0, 0), "p"]
    assert union(nameless, nameless).hyperedge_names is None
    pairs = named([[0, 1]], [("product", "p17")])
    assert union(H, pairs).hyperedge_names.tolist() == ["p", ("product", "p17")]
    assert union(H, nameless, H, prefixes=["x ", "y ", "z "]).hyperedge_names.tolist() == ["x p", "y 0", "z p"]
    with pytest.raises(ValueError, match=r"'p' occurs 2 times.*prefixes="):
        union(H, H)
    with pytest.raises(ValueError, match="prefixes must be 2 strings"):
        union(H, nameless, prefixes="xy")


def test_union_of_different_vertices_is_refused():
    H = named([[0]], None, vertex_names=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"same number of vertices; got \[3, 4\]"):
        union(H, named([[0]], None, n_vertices=4))
    with pytest.raises(ValueError, match="vertex 1 is 'b' in one and 'c' in another"):
        union(H, named([[0]], None, vertex_names=["a", "c", "b"]))
    with pytest.raises(TypeError, match=r"union\(G, H\), all directed or none; got list"):
        union([H, H])
    with pytest.raises(TypeError, match="got nothing"):
        union()


def test_directed_hypergraphs_are_united_and_thinned_out():
    D = hg.DirectedHypergraph.from_hyperedges([([0, 1], [2]), ([2], [2])], 3, [2.0, 3.0], hyperedge_names=["a", "b"])
    E = hg.DirectedHypergraph.from_hyperedges([([], [0, 1])], 3, hyperedge_names=["c"])
    both = union(D, E)
    assert both.to_hyperedges() == [([0, 1], [2]), ([2], [2]), ([], [0, 1])]
    assert both.weight.tolist() == [2.0, 3.0, 1.0]
    assert both.hyperedge_names.tolist() == ["a", "b", "c"]
    assert drop_hyperedges(both).hyperedge_names.tolist() == ["a", "c"]
    assert drop_hyperedges(both, max_size=2).to_hyperedges() == [([], [0, 1])]
    with pytest.raises(TypeError, match="all directed or none; got DirectedHypergraph, Hypergraph"):
        union(D, D.undirected())


def test_remaining_hyperedges_keep_weights_centroids_and_names():
    H = named(
        [[0], [1, 2], [0, 1, 2], []],
        list("pqrs"),
        vertex_names=list("abc"),
        weight=[1, 2, 3, 4],
        centroid=[0, 2, -1, 1],
    )
    middle = named([[1, 2]], ["q"], vertex_names=list("abc"), weight=[2], centroid=[2])
    assert drop_hyperedges(H, max_size=2).equals(middle)
    assert drop_hyperedges(H, min_size=0).equals(H)
    assert drop_hyperedges(H, min_size=9).n_hyperedges == 0
    with pytest.raises(ValueError, match="max_size must be at least min_size, 2; got 1"):
        drop_hyperedges(H, max_size=1)


def test_links_of_a_graph_are_arcs_both_ways():
    H = from_neighbourhoods(hg.Graph.from_links([0], [1], n_vertices=2), directed=True, centroid=False)
    assert H.to_hyperedges() == [([0], [1]), ([1], [0])]
