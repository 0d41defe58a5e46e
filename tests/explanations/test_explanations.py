"""The parts of a score add up to it, and are what the equations say."""

import json
import re

import numpy as np
import pytest
import torch
from scipy import sparse
from support.structures import adjacency, attended, dense, random

import hypergnn as hg
from hypergnn import layers
from hypergnn.cli import main
from hypergnn.explanations import parts
from hypergnn.models import KINDS, Config, Network
from hypergnn.structures.shared_graph import SharedGraph

BIAS = "bias (the same for all)"
VERTICES = ["a", "b", "c", "d", "e", "<f>", "g"]
H = hg.Hypergraph.from_hyperedges(
    [[0, 1, 2, 5], [2, 3], [3, 4, 5], [1, 2]],
    n_vertices=7,
    weight=[0.5, 2.0, 3.0, 1.0],
    vertex_names=VERTICES,
    hyperedge_names=["one", "two", "<b>three", "four"],
)
GRAPH = hg.Graph.from_links([0, 1, 2, 3], [1, 2, 3, 4], n_vertices=7)
TAKES = {
    hg.HypergraphConv: (H,),
    hg.HypergraphAttention: (H,),
    hg.GraphConv: (GRAPH,),
    hg.GraphAttention: (GRAPH,),
    layers.MeanConv: (GRAPH, H),
    layers.MeanAttention: (GRAPH, H),
    layers.Dense: (),
}


def make(kind, *, width=3, **options):
    torch.manual_seed(0)
    layer = kind(width, 3, **options).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    return layer.requires_grad_(False)


def total(found):
    return sum(part.contribution for part in found.parts)


@pytest.mark.slow
@pytest.mark.parametrize("aggregate", ["concat", "mean"])
# The skip connection is a projection, unless the widths agree; without one the width plays no part.
@pytest.mark.parametrize(("skip", "width"), [(False, 3), (True, 3), (True, 4), (True, 6)])
@pytest.mark.parametrize("kind", TAKES, ids=lambda kind: kind.__name__)
def test_contributions_add_up_to_the_score_of_every_layer(kind, skip, width, aggregate):
    layer, x = make(kind, width=width, heads=2, aggregate=aggregate, skip=skip), random(7, width)
    out = layer(x, *TAKES[kind])
    for vertex in range(7):
        for target in range(layer.width):
            found = hg.explain(layer, H, vertex, x, GRAPH, target=target)
            assert found.logit == pytest.approx(float(out[vertex, target]), abs=1e-12)
            assert total(found) == pytest.approx(found.logit, abs=1e-12)
            assert {part.kind for part in found.parts} >= {"bias", *(["skip"] if skip else [])}


@pytest.mark.parametrize("kind", [one for one in TAKES if one not in (hg.GraphAttention, layers.Dense)])
def test_contributions_add_up_with_every_normalization(kind, normalization):
    layer, x = make(kind, heads=2, normalization=normalization), random(7, 3)
    out = layer(x, *TAKES[kind])
    for vertex in range(7):
        found = hg.explain(layer, H, vertex, x, GRAPH)
        assert found.target == int(out[vertex].argmax())
        assert total(found) == pytest.approx(float(out[vertex].max()), abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (hg.HypergraphConv, {"learn_weight": True}),
        (hg.HypergraphAttention, {"softmax_over": "vertices"}),
        (hg.HypergraphConv, {"bias": False}),
    ],
)
def test_contributions_add_up_with_other_options(kind, options):
    layer, x = make(kind, **options), random(7, 3)
    found = hg.explain(layer, H, "c", x)
    assert total(found) == pytest.approx(float(layer(x, H)[2].max()), abs=1e-12)


def test_hyperedges_with_their_own_features():
    layer, x, own = make(hg.HypergraphAttention, hyperedge_features=2), random(7, 3), random(4, 2)
    found = hg.explain(layer, H, 2, x, x_hyperedge=own)
    assert total(found) == pytest.approx(float(layer(x, H, own)[2].max()), abs=1e-12)


def test_every_structure_is_explained(H):
    if H.n_vertices == 0:
        return
    for kind in (hg.HypergraphConv, hg.HypergraphAttention):
        layer, x = make(kind), random(H.n_vertices, 3)
        for vertex in range(H.n_vertices):
            found = hg.explain(layer, H, vertex, x)
            hyperedges = sorted(part.number for part in found.parts if part.kind == "hyperedge")
            assert hyperedges == dense(H)[vertex].nonzero().flatten().tolist()
            assert total(found) == pytest.approx(float(layer(x, H)[vertex].max()), abs=1e-12)


def test_each_contribution_is_the_score_without_all_other_hyperedges():
    """The transition through a hyperedge, in dense form: ``D^-1 H_e W_e B_e^-1 H_eᵀ`` with its own attended column."""
    layer, x = make(hg.HypergraphAttention, bias=False), random(7, 3)
    incidence = attended(H, layer(x, H, return_attention=True)[1][:, 0])
    degree = incidence @ H.weight
    projected = x @ layer.projection
    found = hg.explain(layer, H, 2, x, target=1)
    for part in found.parts:
        column, size = incidence[:, part.number], incidence[:, part.number].sum()
        row = column[2] * H.weight[part.number] / degree[2] / size * column
        assert part.contribution == pytest.approx(float((row @ projected)[1]), abs=1e-12)
        assert part.transition == pytest.approx(float(row.sum()), abs=1e-12)
        assert part.attention == pytest.approx(float(column[2]), abs=1e-12)


def test_the_shares_of_a_row_normalised_transition_sum_to_one():
    layer, x = make(hg.HypergraphConv, normalization="row"), random(7, 3)
    found = hg.explain(layer, H, "c", x)
    assert sum(part.transition for part in found.parts if part.kind == "hyperedge") == pytest.approx(1)
    assert [part.transition for part in found.parts[:3]] == pytest.approx([2 / 3.5, 1 / 3.5, 0.5 / 3.5])
    assert found.names[:3] == ("two", "four", "one")


def test_links_are_named_by_the_vertex_at_the_other_end():
    layer, x = make(hg.GraphConv), random(7, 3)
    found = hg.explain(layer, H, "c", x, GRAPH, target=0)
    entries = torch.diag(torch.ones(7, dtype=torch.float64)) + adjacency(GRAPH)
    scaled = entries[2] / (entries.sum(1)[2] * entries.sum(1)).sqrt()
    expected = (scaled.unsqueeze(-1) * (x @ layer.projection))[:, 0]
    ways = {name: part for part, name in zip(found.parts, found.names, strict=True)}
    assert {name: part.kind for name, part in ways.items()} == {"b": "link", "c": "itself", "d": "link", "bias": "bias"}
    for name in "bcd":
        assert ways[name].contribution == pytest.approx(float(expected[VERTICES.index(name)]))


@pytest.mark.parametrize("kind", [hg.GraphConv, layers.MeanConv], ids=lambda kind: kind.__name__)
def test_a_shared_graph_is_explained_like_its_listed_links(kind, normalization):
    layer, x, incidence = make(kind, normalization=normalization), random(7, 3), H.to_scipy()
    listed = hg.Graph.from_scipy((incidence @ incidence.T > 0).astype(float))
    for vertex in range(7):
        found = hg.explain(layer, H, vertex, x, SharedGraph.from_hypergraph(H))
        expected = hg.explain(layer, H, vertex, x, listed)
        assert found.names == expected.names
        for ours, theirs in zip(found.parts, expected.parts, strict=True):
            assert (ours.kind, ours.number) == (theirs.kind, theirs.number)
            assert (ours.transition, ours.contribution) == pytest.approx((theirs.transition, theirs.contribution))
        assert total(found) == pytest.approx(found.logit, abs=1e-12)


@pytest.mark.parametrize(
    "name", [name for name, kind in KINDS.items() if kind.layer in parts.EXPLAINED and kind.form == "layers"]
)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_networks_are_explained_before_their_last_activation(name, depth):
    torch.manual_seed(1)
    network = Network(Config(model=name, hidden=4, heads=3, depth=depth, skip=True), 5, 4).train()
    x = torch.rand(7, 5)
    network.requires_grad_(False)
    found = hg.explain(network, H, "c", x=x.numpy(), graph=GRAPH)
    assert all(module.training for module in network.modules())
    scores = network.eval()(x, graph=GRAPH, hypergraph=H)[2]
    assert (found.target, found.score) == (int(scores.argmax()), pytest.approx(float(scores.max())))
    assert found.probability == pytest.approx(float(scores.softmax(-1).max()))
    assert found.activation == "ELU"
    assert float(torch.nn.functional.elu(torch.tensor(found.logit))) == pytest.approx(found.score, abs=1e-6)
    assert total(found) == pytest.approx(found.logit, abs=1e-6)
    for part in found.parts:
        if part.kind != "bias" and depth > 1:
            assert len(part.by_hidden_head) == 3
            assert sum(part.by_hidden_head) == pytest.approx(part.contribution, abs=1e-9)


def test_a_score_below_zero_is_given_before_and_after_the_activation():
    torch.manual_seed(0)
    network = Network(Config(hidden=4, heads=3), 5, 4)
    found = hg.explain(network, H, 2, torch.rand(7, 5) - 1)
    low = min((hg.explain(network, H, 2, torch.rand(7, 5) - 1, target=target) for target in range(4)), key=total)
    assert low.logit < 0 < low.score - low.logit
    assert repr(low).splitlines()[-1].split() == ["sum", f"{low.logit:+.4f}"]
    assert repr(found).splitlines()[
        0
    ] == f"vertex c: class {found.target}, probability {found.probability:.1%}".replace("%", " %")


def test_attention_is_given_for_every_layer_and_head():
    torch.manual_seed(0)
    network = Network(Config(model="gat+hyper-attention", hidden=2, heads=3), 5, 4)
    x = torch.rand(7, 5)
    network.requires_grad_(False)
    found = hg.explain(network, H, 2, x, GRAPH)
    assert {(one.layer, one.head) for one in found.attention} == {(0, 0), (0, 1), (0, 2), (1, 0)}
    _, links, incidence = network.eval().layers[0](x, GRAPH, H, return_attention=True)
    ours = [one for one in found.attention if (one.layer, one.head) == (0, 1)]
    assert [one.attention for one in ours] == sorted((one.attention for one in ours), reverse=True)
    expected = dict(zip(H.hyperedge_names[H.hyperedge[H.vertex == 2]], incidence[H.vertex == 2][:, 1], strict=True))
    assert {one.name: one.attention for one in ours if one.kind == "hyperedge"} == pytest.approx(
        {name: float(value) for name, value in expected.items()}
    )
    assert sum(one.attention for one in ours if one.kind != "hyperedge") == pytest.approx(1)
    assert links.shape == (15, 3)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, torch.as_tensor], ids=["array", "SciPy", "tensor"])
def test_features_of_every_kind(kind):
    layer, x = make(hg.HypergraphConv), random(7, 3).numpy()
    assert hg.explain(layer, H, 2, kind(x)).logit == pytest.approx(hg.explain(layer, H, 2, x).logit)


def test_a_dataset_is_scaled_as_the_network_was_trained(tmp_path):
    data = hg.datasets.load("digits")
    hg.training.fit(data, Config(model="hyper-attention", hidden=2, max_epochs=3), out=tmp_path)
    model = hg.load(tmp_path / "model.safetensors")
    found = hg.explain(model, data, 7)
    probability = hg.training.predict(model, data)[7]
    assert found.probability == pytest.approx(float(probability.max()), abs=1e-6)
    assert found.target_name == data.class_names[probability.argmax()]
    assert hg.explain(model.network, data, 7, target="3").target == 3
    scaled = hg.explain(model.network, data.hypergraph, 7, x=data.features("row"))
    assert scaled.logit == pytest.approx(found.logit, abs=1e-6)


def test_text_html_and_pandas_agree():
    layer, x = make(hg.HypergraphAttention, heads=2, aggregate="mean"), random(7, 3)
    found = hg.explain(layer, H, "<f>", x)
    assert "\n<b>three " in repr(found)
    assert repr(found).splitlines()[-1].split() == ["sum", f"{found.logit:+.4f}"]
    html = found._repr_html_()
    assert "&lt;b&gt;three" in html
    assert "<b>" not in html
    table = found.to_pandas()
    assert table["contribution"].sum() == pytest.approx(found.logit)
    assert table["head"].dropna().tolist() == [0, 0, 1, 1]
    assert json.loads(json.dumps(found.records()))[0]["kind"] == "hyperedge"


@pytest.mark.parametrize("target", range(3))
def test_contributions_are_shown_with_their_sign_and_the_largest_first(target):
    layer, x = make(hg.HypergraphAttention, heads=2, aggregate="mean"), random(7, 3)
    found = hg.explain(layer, H, "c", x, target=target)
    rows = [re.fullmatch(r"(\S.*?) +([+-]\d+\.\d{4})(?: +(\d+\.\d) %)?", row) for row in repr(found).splitlines()[4:]]
    assert all(rows), repr(found)
    *shown, last = [(row[1], float(row[2]), row[3]) for row in rows]
    assert {label for label, *_ in shown} == {"one", "two", "four", BIAS}
    assert [abs(value) for _, value, _ in shown] == sorted((abs(value) for _, value, _ in shown), reverse=True)
    for label, value, attention in shown:
        own = [part for part, name in zip(found.parts, found.labels, strict=True) if name == label]
        assert value == pytest.approx(sum(part.contribution for part in own), abs=1e-4)
        if label != BIAS:  # two heads
            assert float(attention) == pytest.approx(50 * sum(part.attention for part in own), abs=0.1)
    assert last[:2] == ("sum", pytest.approx(found.logit, abs=1e-4))


def test_another_class_than_the_predicted_one_is_explained_as_such():
    torch.manual_seed(0)
    network, x = Network(Config(hidden=4, heads=2), 5, 3), torch.rand(7, 5)
    best = hg.explain(network, H, "c", x)
    other = hg.explain(network, H, "c", x, target=(best.target + 1) % 3)
    assert best.predicted == best.target
    assert (other.predicted, other.predicted_probability) == (best.target, best.probability)
    headline = repr(other).splitlines()[0]
    assert headline.startswith(f"vertex c: class {other.target}, probability ")
    assert headline.endswith(f"; predicted is {best.target}, probability {100 * best.probability:.1f} %")
    assert headline in other._repr_html_()
    assert "predicted" not in repr(best)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (hg.HypergraphConv, {"neighbours of a", "hyperedge 1", "its own features (skip connection)", BIAS}),
        (hg.GraphConv, {"link to b", "its own features", "its own features (skip connection)", BIAS}),
        (layers.Dense, {"its own features", "its own features (skip connection)", BIAS}),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_parts_are_called_by_plain_words(kind, expected):
    partly = hg.Hypergraph.from_hyperedges([[0, 1], [0, 2]], 3, centroid=[0, -1], vertex_names=["a", "b", "c"])
    graph = hg.Graph.from_links([0], [1], n_vertices=3)
    found = hg.explain(make(kind, skip=True), partly, "a", random(3, 3), graph)
    assert set(found.labels) == expected


def test_a_long_table_is_shortened_and_still_adds_up():
    wide, one_too_many = (hg.Hypergraph.from_hyperedges([[0, 1]] * n, n_vertices=2) for n in (30, 10))
    found = hg.explain(make(hg.HypergraphConv), wide, 0, random(2, 3))
    assert "21 others" in repr(found)
    assert len(repr(found).splitlines()) == 16
    assert "1 other " in repr(hg.explain(make(hg.HypergraphConv), one_too_many, 0, random(2, 3)))
    bars = found.plot(top=5).axes[0].patches
    assert len(bars) == 6
    assert sum(bar.get_width() for bar in bars) == pytest.approx(found.logit)


def test_the_plot_is_returned_and_not_shown():
    from matplotlib import pyplot

    found = hg.explain(make(hg.HypergraphConv), H, "<f>", random(7, 3))
    figure = found.plot()
    assert not pyplot.get_fignums()
    assert len(figure.axes[0].patches) == len(found.parts)
    own, axes = pyplot.subplots()
    assert found.plot(axes) is own
    pyplot.close(own)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"vertex": "nobody"}, ValueError, r"vertex must be a number from 0 to 6, or one of the names, such as 'a'"),
        ({"vertex": 7}, ValueError, r"vertex must be a number from 0 to 6.*got 7"),
        ({"target": "x"}, ValueError, r"target must be a class, one of '0', '1', '2', or its number; got 'x'"),
        ({"x": None}, ValueError, r"x must be given with a hypergraph"),
        ({"model": torch.nn.Linear(3, 3)}, TypeError, r"model must be a network.*got Linear"),
        ({"H": GRAPH}, TypeError, r"H must be a Hypergraph, a DirectedHypergraph or a Dataset; got Graph"),
        ({"H": None}, ValueError, r"needs a hypergraph, and none was passed"),
        (
            {"model": make(hg.GraphAttention), "graph": SharedGraph.from_hypergraph(H)},
            TypeError,
            r"graph must be a Graph",
        ),
    ],
)
def test_invalid_arguments_are_refused(change, error, message):
    given = {"model": make(hg.HypergraphConv), "H": H, "vertex": 0, "x": random(7, 3)}
    with pytest.raises(error, match=message):
        hg.explain(**(given | change))


@pytest.mark.slow
def test_a_run_is_explained_from_the_command_line(tmp_path, capsys):
    run = str(tmp_path / "run")
    assert main(["train", "digits", "--model", "hyper-attention", "--max-epochs", "2", "--out", run, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["explain", run, "5"]) == 0
    printed = capsys.readouterr().out
    assert re.match(r"vertex 5: class \d, probability \d+\.\d %\n\+ speaks for the class", printed)
    assert "neighbours of 5" in printed
    assert main(["explain", run, "5", "--json", "--class", "4", "--plot", str(tmp_path / "why.png")]) == 0
    explained = json.loads(capsys.readouterr().out)
    assert explained["class"] == "4"
    assert sum(part["contribution"] for part in explained["parts"]) == pytest.approx(explained["logit"], abs=1e-5)
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
    assert main(["explain", run, "nobody"]) == 2
    assert "vertex must be a number from 0 to 1796; got 'nobody'" in capsys.readouterr().err
    assert main(["explain", run, "5", "--plot", "why.gif"]) == 2


@pytest.mark.parametrize("name", ["hyper-sage", "hyper-monet"])
def test_layers_whose_parts_are_not_known_are_refused(name):
    with pytest.raises(TypeError, match="explain supports only these layers"):
        hg.explain(Network(Config(model=name), 5, 4), H, "c", x=torch.rand(7, 5))
