"""New vertices receive from the hyperedges of a hypergraph: as its own vertices do, and without a trace."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse
from support import structures
from torch.testing import assert_close

import hypergnn as hg
from hypergnn import functional, reference
from hypergnn.models import Config, Network
from hypergnn.structures import GraphBlock, Incidence


def features(H, width=5):
    return torch.rand(H.n_vertices, width, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def twice(x):
    return torch.cat([x, x])


def test_those_with_the_memberships_of_vertices_receive_what_these_receive(H, normalization):
    x = features(H)
    expected = functional.hypergraph_conv(x, H, normalization=normalization)
    (block,) = H.joined_by(H.to_scipy())
    assert_close(functional.hypergraph_conv(twice(x), block, normalization=normalization), expected)


def some(H):
    """Three new vertices: one in every hyperedge, one in every second, one in none."""
    dense = torch.zeros(3, H.n_hyperedges)
    dense[0], dense[1, ::2] = 1, 1
    return sparse.csr_array(dense.numpy())


def test_it_is_the_dense_transition_with_another_incidence_on_its_left(H, normalization):
    x, new = structures.random(H.n_vertices, 4), some(H)
    (block,) = H.joined_by(new)
    every = torch.cat([x, structures.random(3, 4)])
    R = torch.from_numpy(new.toarray()).double()
    T = reference.reading(R, structures.dense(H), H.weight, normalization)
    assert_close(functional.hypergraph_conv(every, block, normalization=normalization), T @ x)
    weight = H.weight * 2 + torch.arange(H.n_hyperedges)
    T = reference.reading(R, structures.dense(H), weight, normalization)
    assert_close(functional.hypergraph_conv(every, block, normalization=normalization, weight=weight), T @ x)


@pytest.mark.slow
def test_gradients(H, normalization):
    x, (block,) = structures.random(H.n_vertices + 3, 2).requires_grad_(), H.joined_by(some(H))
    weight = (H.weight + 0.5).requires_grad_()

    def run(x, weight):
        return functional.hypergraph_conv(x, block, normalization=normalization, weight=weight)

    assert torch.autograd.gradcheck(run, (x, weight))


@pytest.mark.parametrize("layer", [hg.HypergraphConv, hg.HypergraphAttention])
def test_layers_treat_them_as_vertices(H, normalization, layer):
    x, one = features(H), layer(5, 3, heads=2, skip=True, normalization=normalization).double().eval()
    (block,) = H.joined_by(H.to_scipy())
    assert_close(one(twice(x), block), one(x, H))


def test_each_attends_by_its_own_features(H, normalization):
    x, layer = features(H), hg.HypergraphAttention(5, 3, heads=2, normalization=normalization).double()
    (block,) = H.joined_by(H.to_scipy()[::-1])
    assert_close(layer(torch.cat([x, x.flip(0)]), block), layer(x, H).flip(0))


def test_learned_weights_count_for_them(H):
    x, layer = features(H), hg.HypergraphConv(5, 3, learn_weight=True).double()
    torch.nn.init.normal_(layer.weight_score)
    assert_close(layer(twice(x), H.joined_by(H.to_scipy())[0]), layer(x, H))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention"])
def test_networks_score_them_as_vertices(H, model):
    x, network = features(H), Network(Config(model=model, depth=3), 5, 2).double().eval()
    assert_close(network(twice(x), hypergraph=H.joined_by(H.to_scipy(), 3)), network(x, hypergraph=H))
    hidden = network.hidden(twice(x), hypergraph=H.joined_by(H.to_scipy(), 2))
    assert_close(hidden, network.hidden(x, hypergraph=H))


def test_the_numbers_of_an_example_worked_by_hand():
    H = hg.Hypergraph.from_hyperedges([[0, 1], [1, 2, 3]], n_vertices=4, weight=[1.0, 3.0])
    x = torch.tensor([[2.0], [4.0], [6.0], [8.0], [0.0], [0.0], [0.0]])
    (block,) = H.joined_by(sparse.csr_array([[1, 1], [0, 1], [0, 0]]))
    # means 3 and 6; the first row weighs them 1 : 3, the second receives the latter, the third nothing
    out = functional.hypergraph_conv(x, block, normalization="row")
    assert_close(out, torch.tensor([[(3.0 + 3 * 6.0) / 4], [6.0], [0.0]]))


@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention"])
def test_none_depends_on_another(model):
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
    x, network = torch.rand(6, 5), Network(Config(model=model), 5, 2).eval()
    both, first = (sparse.csr_array(rows) for rows in ([[1, 1], [1, 0]], [[1, 1]]))
    scores = network(x, hypergraph=H.joined_by(both, 2))
    assert_close(scores[:1], network(x[:5], hypergraph=H.joined_by(first, 2)))


def test_what_does_not_fit_is_refused():
    H = hg.Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
    with pytest.raises(ValueError, match="memberships must have 1 columns, one per hyperedge; got 2"):
        H.joined_by(sparse.csr_array([[1, 0]]))
    with pytest.raises(TypeError, match="memberships must be a SciPy sparse matrix"):
        H.joined_by([[1]])
    (block,) = H.joined_by(sparse.csr_array([[1]]))
    layer = hg.HypergraphAttention(3, 2, softmax_over="vertices")
    with pytest.raises(ValueError, match="softmax_over='hyperedges'"):
        layer(torch.rand(3, 3), block)
    with pytest.raises(ValueError, match="where receivers have incidences of their own"):
        functional.hypergraph_attention(torch.rand(3, 1, 2), block, torch.rand(2, 1))


def test_a_mean_of_attentions_counts_for_them(H):
    n = H.n_vertices
    x, graph = features(H), hg.Graph.from_links([], [], n)
    layer = hg.layers.MeanAttention(5, 3, heads=2).double().eval()
    (block,) = H.joined_by(H.to_scipy())
    both = hg.Graph.from_links([], [], 2 * n).around(range(n, 2 * n))
    every = GraphBlock(*[getattr(both, name) for name in ("links", "target_degree", "source_degree")], *both_ids(n))
    links = Incidence.from_pairs(np.arange(n), np.arange(n, 2 * n), n, 2 * n)
    every = replace(every, links=links, source_degree=torch.ones(2 * n, dtype=torch.float64))
    assert_close(layer(twice(x), every, block), layer(x, graph, H))


def both_ids(n):
    return torch.arange(2 * n), torch.arange(n, 2 * n), torch.arange(n, 2 * n)


def test_dropout_falls_on_their_attention_as_well():
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
    (block,) = H.joined_by(sparse.csr_array([[1, 1]]))
    layer, x = hg.HypergraphAttention(3, 2, dropout=0.9, bias=False), torch.rand(5, 3)
    layer._drop = lambda x, of: x * 0 if of is block.receivers else x
    assert layer(x, block).eq(0).all()


def brought(n_vertices=3):
    return hg.Hypergraph.from_hyperedges([[0, 2], [1]], n_vertices=n_vertices, weight=[2.0, 0.5])


@pytest.mark.slow
def test_what_they_bring_is_the_dense_transition_of_a_directed_hypergraph(H, normalization):
    new, R = some(H), brought()
    S = torch.block_diag(structures.dense(H), structures.dense(R))
    heads = S.clone()
    heads[H.n_vertices :, : H.n_hyperedges] = torch.from_numpy(new.toarray())
    T = reference.reading(heads, S, torch.cat([H.weight, R.weight]), normalization)
    x = structures.random(H.n_vertices + 3, 4)
    first, last = H.joined_by(new, 2, brought=R)
    assert_close(functional.hypergraph_conv(x, first, normalization=normalization), T @ x)
    assert_close(functional.hypergraph_conv(x, last, normalization=normalization), (T @ x)[H.n_vertices :])


@pytest.mark.slow
def test_attention_over_what_they_bring_leaves_old_vertices_alone(H):
    layer = hg.HypergraphAttention(4, 3, heads=2).double()
    x = structures.random(H.n_vertices + 3, 4)
    first, last = H.joined_by(some(H), 2, brought=brought())
    assert_close(layer(x, first)[: H.n_vertices], layer(x[: H.n_vertices], H))
    assert_close(layer(x, first)[H.n_vertices :], layer(x, last))
    x = x.requires_grad_()
    (grad,) = torch.autograd.grad(layer(x, last)[0].sum(), x)  # it shares what it brings with the third
    assert (grad[H.n_vertices :].abs().sum(1) > 0).tolist() == [True, False, True]


def test_centroids_of_what_they_bring_are_new_vertices():
    H = hg.Hypergraph.from_hyperedges([[0, 1]], n_vertices=2, centroid=[1], hyperedge_names=["a"])
    R = hg.Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2, centroid=[1, -1], hyperedge_names=["b", "c"])
    first, _ = H.joined_by(sparse.csr_array((2, 1)), 2, brought=R)
    assert (first.centroid.tolist(), first.is_centred) == ([1, 3, -1], False)
    assert (first.hyperedge_names.tolist(), first.vertex_names) == (["a", "b", "c"], None)
    with pytest.raises(ValueError, match="brought must have 2 vertices, one per row of memberships; got 3"):
        H.joined_by(sparse.csr_array((2, 1)), brought=brought())
