"""The graph of vertices that share a hyperedge, against the same graph with its links listed."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support import real_data

import hypergnn as hg
from hypergnn.functional import attention_links, graph_conv, mean_conv
from hypergnn.models import Config
from hypergnn.structures import shared_graph
from hypergnn.structures.shared_graph import SharedGraph


def listed(H):
    """The same graph with every link in a list."""
    incidence = H.to_scipy()
    return hg.Graph.from_scipy((incidence @ incidence.T > 0).astype(np.float64))


@pytest.fixture
def crowded():
    """Thirty vertices in up to eight of nine hyperedges, many sharing several; two are in none."""
    rng = np.random.default_rng(3)
    incidence = rng.random((30, 9)) < rng.random((30, 1)) ** 2
    incidence[[4, 17]] = False
    return hg.Hypergraph.from_incidence(*incidence.nonzero(), n_vertices=30, n_hyperedges=9)


def test_neighbours_and_links_are_those_of_the_listed_graph(H):
    graph, expected = SharedGraph.from_hypergraph(H), listed(H)
    assert (graph.n_vertices, graph.n_links) == (expected.n_vertices, expected.n_links)
    assert torch.equal(graph.degree, expected.degree)
    x = torch.rand(2, H.n_vertices, 3, dtype=torch.float64)
    torch.testing.assert_close(*(graph_conv(x, one, normalization="none") for one in (graph, expected)))
    for vertex in range(H.n_vertices):
        assert torch.equal(graph.neighbours(vertex), expected.neighbours(vertex))


def test_a_pair_that_shares_several_hyperedges_is_linked_once(crowded):
    graph, expected = SharedGraph.from_hypergraph(crowded), listed(crowded)
    assert (crowded.to_scipy() @ crowded.to_scipy().T).max() > 3
    x = torch.eye(30, dtype=torch.float64)
    assert torch.equal(*(graph_conv(x, one, normalization="none") for one in (graph, expected)))


def test_convolutions_take_it(crowded, normalization, backend):  # noqa: ARG001
    graph, expected = SharedGraph.from_hypergraph(crowded), listed(crowded)
    x, projection = torch.rand(30, 5), torch.rand(5, 2)
    ours = graph_conv(x, graph, normalization=normalization, projection=projection)
    torch.testing.assert_close(ours, graph_conv(x, expected, normalization=normalization, projection=projection))
    torch.testing.assert_close(mean_conv(x, graph, crowded), mean_conv(x, expected, crowded))


def test_gradients_are_exact(crowded, backend):  # noqa: ARG001
    graph = SharedGraph.from_hypergraph(crowded)
    x = torch.rand(30, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: graph_conv(x, graph), x)


def test_attention_needs_links(crowded):
    graph = SharedGraph.from_hypergraph(crowded)
    with pytest.raises(TypeError, match="graph must be a Graph or a GraphBlock; got SharedGraph"):
        attention_links(torch.rand(30, 1, 2), graph, torch.rand(1, 2), torch.rand(1, 2))


def test_too_many_combinations_are_refused(crowded, monkeypatch):
    monkeypatch.setattr(shared_graph, "LARGEST", 100)
    with pytest.raises(ValueError, match=r"at most 100 pairs of combinations of hyperedges; got \d+\. Remove large"):
        SharedGraph.from_hypergraph(crowded)
    with pytest.raises(TypeError, match="H must be a Hypergraph"):
        SharedGraph.from_hypergraph(listed(crowded))


def test_a_part_gives_the_same_around_its_vertices_at_less_cost(crowded, normalization, backend):  # noqa: ARG001
    graph, vertices = SharedGraph.from_hypergraph(crowded), torch.tensor([2, 4, 11])
    part = graph.around(vertices)
    x = torch.rand(2, 30, 3, dtype=torch.float64, requires_grad=True)
    whole, near = (
        graph_conv(x, graph, normalization=normalization)[:, vertices],
        graph_conv(x, part, normalization=normalization),
    )
    torch.testing.assert_close(near, whole)
    ours, theirs = (torch.autograd.grad(one.square().sum(), x)[0] for one in (near, whole))
    torch.testing.assert_close(ours, theirs)
    assert part.n_terms < graph.n_terms


@pytest.mark.slow
def test_training_gives_the_same_as_with_listed_links():
    data = hg.datasets.load("digits")
    H = data.hypergraph
    config = Config(model="gcn", max_epochs=3, dropout=0.0)
    with_links = hg.training.fit(replace(data, graph=listed(H)), config).records[0]
    shared = hg.training.fit(replace(data, graph=SharedGraph.from_hypergraph(H)), config).records[0]
    assert shared.val_loss == pytest.approx(with_links.val_loss, rel=1e-4)


@pytest.mark.slow
def test_postings_that_share_a_word():
    data = real_data.load("20news")
    graph = SharedGraph.from_hypergraph(data.hypergraph)
    words = (data.x.toarray() > 0).astype(np.float32)
    for posting in (0, 5000, 16241):
        assert graph.degree[posting] == np.count_nonzero(words @ words[posting])
    assert graph.n_terms < 4_500_000
