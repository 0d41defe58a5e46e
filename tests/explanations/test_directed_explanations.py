"""Explanations of directed hypergraphs and of layers that follow hyperedges in other directions."""

import json

import pytest
import torch
from support.structures import random

import hypergnn as hg
from hypergnn import layers
from hypergnn.models import Config, Network

D = hg.DirectedHypergraph.from_hyperedges(
    [([0, 1], [2]), ([2], [3, 4]), ([3, 4, 5], [0, 2]), ([1], [1, 5]), ([], [2]), ([6], [])],
    n_vertices=7,
    weight=[0.5, 2.0, 3.0, 1.0, 1.0, 4.0],
    hyperedge_names=["one", "two", "three", "four", "five", "six"],
)
GRAPH = hg.Graph.from_links([0, 1, 2, 3], [1, 2, 3, 4], n_vertices=7)
DIRECTIONS = ("forward", "backward", "both", "undirected")
OPTIONS = [
    (hg.HypergraphConv, {"normalization": "row"}),
    (hg.HypergraphConv, {"normalization": "symmetric", "learn_weight": True}),
    (hg.HypergraphConv, {"normalization": "none"}),
    (hg.HypergraphAttention, {"normalization": "row"}),
    (hg.HypergraphAttention, {"normalization": "symmetric"}),
    (hg.HypergraphAttention, {"normalization": "row", "softmax_over": "vertices"}),
    (hg.HypergraphAttention, {"normalization": "none", "softmax_over": "vertices"}),
]


def make(kind, **options):
    torch.manual_seed(0)
    layer = kind(3, 2, **options).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    return layer.requires_grad_(False)


@pytest.mark.slow
@pytest.mark.parametrize("aggregate", ["concat", "mean"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("kind", "options"), OPTIONS)
def test_contributions_add_up_to_the_score_in_every_direction(kind, options, direction, aggregate):
    layer = make(kind, heads=2, aggregate=aggregate, direction=direction, skip=True, **options)
    x = random(7, 3)
    out = layer(x, D)
    for vertex in (0, 2, 6):
        for target in (0, layer.width - 1):
            found = hg.explain(layer, D, vertex, x=x, target=target)
            assert sum(part.contribution for part in found.parts) == pytest.approx(float(out[vertex, target]))


def test_hyperedges_with_features_of_their_own_are_explained_in_both_directions():
    layer, x, u = make(hg.HypergraphAttention, hyperedge_features=4, direction="both"), random(7, 3), random(6, 4)
    out = layer(x, D, u)
    found = hg.explain(layer, D, 2, x=x, x_hyperedge=u, target=3)
    assert sum(part.contribution for part in found.parts) == pytest.approx(float(out[2, 3]))


@pytest.mark.parametrize("kind", [layers.MeanConv, layers.MeanAttention])
def test_a_graph_and_a_directed_hypergraph_are_explained_together(kind):
    layer, x = make(kind), random(7, 3)
    out = layer(x, GRAPH, D)
    for vertex in range(7):
        found = hg.explain(layer, D, vertex, x=x, graph=GRAPH, target=1)
        assert sum(part.contribution for part in found.parts) == pytest.approx(float(out[vertex, 1]))


def test_only_hyperedges_whose_head_holds_the_vertex_contribute():
    x = random(7, 3)
    forward = hg.explain(make(hg.HypergraphConv), D, 2, x=x, target=0)
    assert {name for name, part in zip(forward.names, forward.parts, strict=True) if part.kind == "hyperedge"} == {
        "one",
        "three",
        "five",
    }
    backward = hg.explain(make(hg.HypergraphConv, direction="backward"), D, 2, x=x, target=0)
    assert [part.number for part in backward.parts if part.kind == "hyperedge"] == [1]
    same = hg.explain(make(hg.HypergraphConv), D.reversed(), 2, x=x, target=0)
    assert [part.contribution for part in same.parts] == [part.contribution for part in backward.parts]


def test_a_contribution_by_hand():
    layer = hg.HypergraphConv(1, 1, normalization="row", bias=False)
    with torch.no_grad():
        layer.projection.fill_(1.0)
    H = hg.DirectedHypergraph.from_hyperedges([([0, 1], [2]), ([3], [2])], n_vertices=4)
    found = hg.explain(layer, H, 2, x=torch.tensor([[1.0], [3.0], [100.0], [8.0]]))
    assert [part.contribution for part in found.parts] == [1.0, 4.0]  # half of (1 + 3) / 2, and half of 8


def test_both_directions_of_a_hyperedge_have_parts_of_their_own():
    H = hg.DirectedHypergraph.from_hyperedges([([0, 1], [1, 2])], n_vertices=3)
    layer = make(hg.HypergraphConv, direction="both", aggregate="mean")
    found = hg.explain(layer, H, 1, x=random(3, 3), target=0)
    assert [(part.number, part.direction) for part in found.parts[:2]] == [(0, "forward"), (0, "backward")]
    assert found.labels[:2] == ("hyperedge 0, forward", "hyperedge 0, backward")
    assert "hyperedge 0, forward" in repr(found)
    assert "hyperedge 0, backward" in repr(found)
    assert [record.get("direction") for record in found.records()] == ["forward", "backward", None]
    assert list(found.to_pandas()["direction"][:2]) == ["forward", "backward"]
    json.dumps(found.records())


def test_attention_is_given_for_each_direction():
    layer = make(hg.HypergraphAttention, heads=2, direction="both")
    found = hg.explain(layer, D, 2, x=random(7, 3), target=0)
    sums = {}
    for one in found.attention:
        sums[one.direction, one.head] = sums.get((one.direction, one.head), 0) + one.attention
    assert sums == pytest.approx({(way, head): 1.0 for way in ("forward", "backward") for head in (0, 1)})


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention"])
def test_networks_of_every_direction_are_explained(model, direction):
    torch.manual_seed(1)
    network = (
        Network(Config(model=model, direction=direction, hidden=2, heads=2), 3, 2).double().eval().requires_grad_(False)
    )
    x = random(7, 3)
    scores = network(x, hypergraph=D)
    found = hg.explain(network, D, 2, x=x, target=1)
    assert sum(part.contribution for part in found.parts) == pytest.approx(found.logit)
    assert found.score == pytest.approx(float(scores[2, 1]))
    n_hidden = 4 if direction == "both" else 2
    assert all(len(part.by_hidden_head) == n_hidden for part in found.parts if part.kind == "hyperedge")
    for part in found.parts:
        if part.by_hidden_head:
            assert sum(part.by_hidden_head) == pytest.approx(part.contribution)


def test_a_direction_needs_a_directed_hypergraph():
    with pytest.raises(ValueError, match="needs a DirectedHypergraph"):
        hg.explain(make(hg.HypergraphConv, direction="both"), D.undirected(), 2, x=random(7, 3))
