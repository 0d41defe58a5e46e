"""Hyperedges that follow the features: who is in them, and the convolution over them."""

import pytest
import torch
from support import structures
from support.structures import random
from torch.autograd import gradcheck
from torch.func import functional_call, stack_module_state
from torch.testing import assert_close

import hypergnn as hg
from hypergnn import functional, reference
from hypergnn.layers import DynamicHypergraphConv, Followed

H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3], [0, 3, 4]], n_vertices=8, weight=[1.0, 2.0, 0.5])


def literal(x, neighbours):
    """The nearest rows by cosine, one by one."""
    near = []
    for i in range(x.shape[0]):
        others = [j for j in range(x.shape[0]) if j != i]
        others.sort(key=lambda j: -float(torch.cosine_similarity(x[i], x[j], dim=0)))
        near.append(sorted([i, *others[:neighbours]]))
    return near


def test_the_nearest_rows_are_those_of_a_literal_search():
    x = random(8, 3)
    found = functional.following(x, H, neighbours=3, clusters=0)
    assert found.to_hyperedges() == [*H.to_hyperedges(), *literal(x, 3)]
    assert found.weight.tolist() == [1.0, 2.0, 0.5, *[1.0] * 8]


def test_each_row_is_in_one_cluster_and_near_rows_share_it():
    angles = torch.tensor([0.0, 0.05, 0.1, 1.5, 1.55, 3.0, 3.05, 3.1])
    x = torch.stack([angles.cos(), angles.sin()], -1)
    found = functional.following(x, H, neighbours=0, clusters=3).to_hyperedges()[3:]
    assert sorted(found) == [[0, 1, 2], [3, 4], [5, 6, 7]]
    assert functional.following(x, H, neighbours=0).n_hyperedges == H.n_hyperedges + 3, "√8 clusters"


def test_the_order_of_rows_changes_nothing():
    x, order = random(8, 4), torch.randperm(8, generator=torch.Generator().manual_seed(1))
    new = torch.empty_like(order)
    new[order] = torch.arange(8)
    renumbered = hg.Hypergraph.from_hyperedges([sorted(new[e].tolist()) for e in H.to_hyperedges()], n_vertices=8)
    there = {frozenset(new[one].tolist()) for one in functional.following(x, H).to_hyperedges()}
    assert there == {frozenset(one) for one in functional.following(x[order], renumbered).to_hyperedges()}


def test_more_neighbours_than_rows_and_rows_that_are_alike_or_zero():
    x = torch.zeros(8, 2)
    x[:4] = 1
    found = functional.following(x, H, neighbours=20, clusters=20)
    assert found.to_hyperedges()[3] == list(range(8))
    assert sum(map(len, found.to_hyperedges()[11:])) == 8
    nothing = hg.Hypergraph.from_hyperedges([], n_vertices=0)
    assert functional.following(torch.zeros(0, 2), nothing).n_hyperedges == 0


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("normalization", ["symmetric", "row"])
def test_the_layer_is_the_convolution_over_all_of_them(normalization):
    layer, x = DynamicHypergraphConv(4, 3, neighbours=2, normalization=normalization).double(), random(8, 4)
    torch.nn.init.normal_(layer.bias)
    followed = functional.following(x, H, neighbours=2)
    dense = torch.from_numpy(followed.to_scipy().toarray())
    T = reference.transition(dense, followed.weight, normalization)
    assert_close(layer(x, H), T @ x @ layer.projection + layer.bias)
    assert_close(layer(x, H), layer(x, layer.follow(x, H)))


@pytest.mark.usefixtures("backend")
def test_gradients_flow_through_the_features_and_not_through_the_choice():
    layer, x = DynamicHypergraphConv(3, 2, heads=2, skip=True, neighbours=2).double(), random(8, 3).requires_grad_()
    followed = layer.follow(x, H)
    assert gradcheck(lambda x: layer(x, followed), x)
    (found,) = torch.autograd.grad(layer(x, H).square().sum(), x)
    (expected,) = torch.autograd.grad(layer(x, followed).square().sum(), x)
    assert_close(found, expected)


def test_each_trial_has_hyperedges_of_its_own():
    layers = [DynamicHypergraphConv(3, 2, heads=2, neighbours=2).double() for _ in range(3)]
    x, (parameters, _) = random(3, 8, 3), stack_module_state(layers)
    alone = torch.stack([layer(one, H) for layer, one in zip(layers, x, strict=True)])
    assert_close(functional_call(layers[0], parameters, (x, H)), alone)
    followed = layers[0].follow(x, H)
    assert len(followed.each) == 3
    assert followed.of_trials([2]).each == followed.each[2:]
    shared = layers[0].follow(x[0], H)
    assert shared.of_trials([2]) is shared


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda: DynamicHypergraphConv(3, 2)(torch.ones(2, 3), H.around([3])), TypeError, "must be a whole Hypergraph"),
        (
            lambda: DynamicHypergraphConv(3, 2)(torch.ones(4, 3), structures.directed("overlapping parts")),
            TypeError,
            r"Use undirected\(\)",
        ),
        (lambda: DynamicHypergraphConv(3, 2, neighbours=-1), ValueError, "neighbours must be"),
        (lambda: DynamicHypergraphConv(3, 2, normalization="column"), ValueError, "normalization must be one of"),
        (
            lambda: DynamicHypergraphConv(3, 2)(torch.ones(3, 8, 3), Followed((H, H))),
            ValueError,
            "x must have 2 trials, as its hyperedges",
        ),
        (lambda: functional.following(torch.ones(2, 8, 3), H), ValueError, "of one trial"),
        (lambda: functional.following(torch.ones(7, 3), H), ValueError, "one row per vertex"),
        (lambda: functional.following(torch.ones(8, 3), None), TypeError, "H must be a Hypergraph"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(run, error, message):
    with pytest.raises(error, match=message):
        run()
