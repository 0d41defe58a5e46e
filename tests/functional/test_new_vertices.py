"""New rows read the hyperedges of a hypergraph: as its vertices do, and without a trace."""

import pytest
import torch
from support import structures
from torch.testing import assert_close

import hypergnn as hg
from hypergnn import functional, reference
from hypergnn.models import Config, Network


def features(H, width=5):
    return torch.rand(H.n_vertices, width, generator=torch.Generator().manual_seed(1))


def test_rows_with_the_memberships_of_vertices_gather_what_these_gather(H, normalization):
    x = features(H).double()
    expected = functional.hypergraph_conv(x, H, normalization=normalization)
    assert_close(functional.hypergraph_read(x, H, H, normalization=normalization), expected)


def readers_of(H):
    """Three rows: one in every hyperedge, one in every second, one in none."""
    hyperedges = [[0, 1] if place % 2 == 0 else [0] for place in range(H.n_hyperedges)]
    return hg.Hypergraph.from_hyperedges(hyperedges, n_vertices=3, weight=H.weight)


def test_reading_is_the_dense_transition_with_another_incidence_on_its_left(H, normalization):
    x, new = structures.random(H.n_vertices, 4), readers_of(H)
    T = reference.reading(structures.dense(new), structures.dense(H), H.weight, normalization)
    assert_close(functional.hypergraph_read(x, H, new, normalization=normalization), T @ x)
    weight = H.weight * 2 + torch.arange(H.n_hyperedges)
    T = reference.reading(structures.dense(new), structures.dense(H), weight, normalization)
    assert_close(functional.hypergraph_read(x, H, new, normalization=normalization, weight=weight), T @ x)


def test_gradients_of_reading(H, normalization):
    x, new = structures.random(H.n_vertices, 2).requires_grad_(), readers_of(H)
    weight = (H.weight + 0.5).requires_grad_()

    def read(x, weight):
        return functional.hypergraph_read(x, H, new, normalization=normalization, weight=weight)

    assert torch.autograd.gradcheck(read, (x, weight))


@pytest.mark.parametrize("layer", [hg.HypergraphConv, hg.HypergraphAttention])
def test_layers_read_as_they_convolve(H, normalization, layer):
    x, one = features(H), layer(5, 3, heads=2, skip=True, normalization=normalization).eval()
    assert_close(one.read(x, H, x, H), one(x, H))


def test_learned_weights_count_for_new_rows(H):
    x, layer = features(H), hg.HypergraphConv(5, 3, learn_weight=True)
    torch.nn.init.normal_(layer.weight_score)
    assert_close(layer.read(x, H, x, H), layer(x, H))


@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention", "mlp"])
def test_networks_read_as_they_score(H, model):
    x, network = features(H), Network(Config(model=model, depth=3), 5, 2).eval()
    assert_close(network.read(x, H, x, H), network(x, hypergraph=H))
    assert_close(network.read(x, H, x, H, hidden=True), network.hidden(x, hypergraph=H))


def test_the_numbers_of_an_example_worked_by_hand():
    H = hg.Hypergraph.from_hyperedges([[0, 1], [1, 2, 3]], n_vertices=4, weight=[1.0, 3.0])
    x = torch.tensor([[2.0], [4.0], [6.0], [8.0]])
    new = hg.Hypergraph.from_hyperedges([[0], [0, 1]], n_vertices=3, weight=[1.0, 3.0])
    # means 3 and 6; the first row weighs them 1 : 3, the second reads the latter, the third nothing
    out = functional.hypergraph_read(x, H, new, normalization="row")
    assert_close(out, torch.tensor([[(3.0 + 3 * 6.0) / 4], [6.0], [0.0]]))


@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention"])
def test_no_new_row_depends_on_another(model):
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
    x, network = features(H), Network(Config(model=model), 5, 2).eval()
    x_new = torch.rand(2, 5)
    both = hg.Hypergraph.from_hyperedges([[0, 1], [0]], n_vertices=2)
    first = hg.Hypergraph.from_hyperedges([[0], [0]], n_vertices=1)
    assert_close(network.read(x, H, x_new, both)[:1], network.read(x, H, x_new[:1], first))


def test_what_cannot_be_read_is_refused():
    H = hg.Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
    x, other = torch.rand(2, 3), hg.Hypergraph.from_hyperedges([[0], [0]], n_vertices=1)
    with pytest.raises(ValueError, match="readers must have the 1 hyperedges of H; got 2"):
        functional.hypergraph_read(x, H, other)
    layer = hg.HypergraphAttention(3, 2, softmax_over="vertices")
    with pytest.raises(ValueError, match="softmax_over='hyperedges'"):
        layer.read(x, H, x, H)
