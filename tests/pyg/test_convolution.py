"""PyG's layer with the paper's mathematics, and with PyG's own numbers on request."""

import copy
import io

import pytest
import torch
from support.structures import random
from torch_geometric.nn import HypergraphConv as PyGHypergraphConv

import hypergnn as hg
from hypergnn.pyg import HypergraphConv

MORE_VERTICES = torch.tensor([[0, 1, 2, 1, 2, 3], [0, 0, 0, 1, 1, 1]])
MORE_HYPEREDGES = torch.tensor([[2, 0, 1, 1, 2, 0, 3, 1, 3], [0, 0, 1, 2, 2, 3, 4, 5, 5]])
INDICES = {"more vertices": (MORE_VERTICES, 4, 2), "more hyperedges": (MORE_HYPEREDGES, 5, 6)}  # vertex 4 is isolated
ATTENTION = {"use_attention": True, "heads": 2}
OPTIONS = {
    "convolution": {},
    "convolution without bias": {"bias": False},
    "node": ATTENTION,
    "edge": {**ATTENTION, "attention_mode": "edge"},
    "node, mean": {**ATTENTION, "concat": False, "negative_slope": 0.1},
    "edge, mean": {**ATTENTION, "concat": False, "attention_mode": "edge", "bias": False},
    "node, dropout": {**ATTENTION, "dropout": 0.5},
    "edge, dropout": {**ATTENTION, "dropout": 0.5, "attention_mode": "edge"},
}
WEIGHTS = ["no weights", "weights", "learned weights"]


def weight(n_hyperedges, how="weights"):
    return None if how == "no weights" else (random(n_hyperedges).abs() + 0.1).requires_grad_(how == "learned weights")


def run(layer, x, index, weights, attr):
    """The output and all gradients, with the same random numbers each time."""
    given = [one for one in (x, weights, attr) if one is not None and one.requires_grad]
    torch.manual_seed(3)
    out = layer(x, index, weights, attr)
    return out.detach(), *torch.autograd.grad(out.sin().sum(), [*given, *layer.parameters()])


def assert_all_close(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("how", WEIGHTS)
@pytest.mark.parametrize("which", INDICES)
@pytest.mark.parametrize("name", OPTIONS)
def test_without_exactness_everything_is_what_pyg_computes(name, which, how, training):
    index, n_vertices, n_hyperedges = INDICES[which]
    made = []
    for kind, own in ((PyGHypergraphConv, {}), (HypergraphConv, {"exact": False})):
        torch.manual_seed(1)
        made.append(kind(6, 4, **OPTIONS[name], **own).double().train(training))
    theirs, ours = made
    assert_all_close(ours.state_dict().values(), theirs.state_dict().values())  # the same seed draws the same
    x = random(n_vertices, 6).requires_grad_()
    attr = random(n_hyperedges, 6).requires_grad_() if "use_attention" in OPTIONS[name] else None
    weights = weight(n_hyperedges, how)
    assert_all_close(run(ours, x, index, weights, attr), run(theirs, x, index, weights, attr))


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("which", INDICES)
def test_shapes_and_the_way_it_is_shown(which, name, exact):
    index, n_vertices, n_hyperedges = INDICES[which]
    layer = HypergraphConv(16, 32, **OPTIONS[name], exact=exact)
    assert str(layer) == "HypergraphConv(16, 32)"
    x, attr = torch.randn(n_vertices, 16), torch.randn(n_hyperedges, 16) if layer.use_attention else None
    width = 64 if layer.use_attention and layer.concat else 32
    for weights in (None, torch.rand(n_hyperedges) + 0.1):
        assert layer(x, index, weights, attr).shape == (n_vertices, width)
        assert layer(x, index, hyperedge_weight=weights, hyperedge_attr=attr, num_edges=9).shape == (n_vertices, width)


@pytest.mark.parametrize("how", WEIGHTS)
@pytest.mark.parametrize("which", INDICES)
@pytest.mark.parametrize("name", [name for name in OPTIONS if "dropout" not in name])
def test_by_default_it_is_the_layer_of_the_paper(name, which, how):
    index, n_vertices, n_hyperedges = INDICES[which]
    layer, options = HypergraphConv(6, 4, **OPTIONS[name]).double(), OPTIONS[name]
    weights = weight(n_hyperedges, how)
    values = None if weights is None else weights.detach()
    H = hg.Hypergraph.from_incidence(index[0], index[1], n_vertices, n_hyperedges, values)
    x, attr = random(n_vertices, 6).requires_grad_(), random(n_hyperedges, 6)
    common = {"normalization": "row", "bias": options.get("bias", True)}
    if not layer.use_attention:
        same = hg.HypergraphConv(6, 4, **common).double()
    else:
        over = "hyperedges" if layer.attention_mode == "edge" else "vertices"
        aggregate = "concat" if layer.concat else "mean"
        slope = {"negative_slope": layer.negative_slope}
        same = hg.HypergraphAttention(6, 4, heads=2, softmax_over=over, aggregate=aggregate, **common, **slope).double()
    with torch.no_grad():
        same.projection.copy_(layer.lin.weight.t())
        if layer.use_attention:
            same.a_vertex.copy_(layer.att[0, :, :4])
            same.a_hyperedge.copy_(layer.att[0, :, 4:])
    given = (attr,) if layer.use_attention else ()
    out, expected = layer(x, index, weights, *given), same(x, H, *given)
    torch.testing.assert_close(out, expected)
    grads = [torch.autograd.grad(one.sin().sum(), x)[0] for one in (out, expected)]
    torch.testing.assert_close(*grads)


def test_the_weights_stand_in_the_product():
    layer = HypergraphConv(4, 4, bias=False).double()
    with torch.no_grad():
        layer.lin.weight.copy_(torch.eye(4))
    out = layer(torch.eye(4, dtype=torch.float64), MORE_VERTICES, torch.tensor([1.0, 3.0]))
    expected = [[1 / 3, 1 / 3, 1 / 3, 0], *[[1 / 12, 1 / 3, 1 / 3, 1 / 4]] * 2, [0, 1 / 3, 1 / 3, 1 / 3]]
    torch.testing.assert_close(out, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("mode", ["node", "edge"])
def test_equal_attention_is_a_mean(mode):
    layer = HypergraphConv(4, 4, use_attention=True, attention_mode=mode, bias=False)
    with torch.no_grad():
        layer.att.zero_()
        layer.lin.weight.copy_(torch.eye(4))
    out = layer(torch.eye(4), MORE_VERTICES, hyperedge_attr=torch.zeros(2, 4))
    torch.testing.assert_close(out.sum(1), torch.ones(4))


@pytest.mark.parametrize("name", ["convolution", "node", "edge"])
def test_gradients_of_learned_weights_are_right(name):
    layer = HypergraphConv(3, 2, **OPTIONS[name]).double()
    x, attr = random(4, 3).requires_grad_(), random(2, 3).requires_grad_()
    weights = weight(2, "learned weights")
    given = {} if name == "convolution" else {"hyperedge_attr": attr}
    assert torch.autograd.gradcheck(lambda x, w: layer(x, MORE_VERTICES, w, **given), (x, weights))


def test_attention_without_features_of_hyperedges_takes_the_means_of_their_members():
    layer, x = HypergraphConv(6, 4, **ATTENTION), torch.randn(4, 6)
    means = torch.stack([x[:3].mean(0), x[1:].mean(0)])
    torch.testing.assert_close(layer(x, MORE_VERTICES), layer(x, MORE_VERTICES, hyperedge_attr=means))
    with pytest.raises(ValueError, match="hyperedge_attr must be given with exact=False"):
        HypergraphConv(6, 4, **ATTENTION, exact=False)(x, MORE_VERTICES)


@pytest.mark.parametrize("name", ["convolution", "node", "edge, mean"])
def test_state_dicts_load_in_both_directions(name):
    theirs, ours = PyGHypergraphConv(6, 4, **OPTIONS[name]), HypergraphConv(6, 4, **OPTIONS[name])
    ours.load_state_dict(theirs.state_dict())
    PyGHypergraphConv(6, 4, **OPTIONS[name]).load_state_dict(ours.state_dict())
    assert torch.equal(ours.lin.weight, theirs.lin.weight)


def test_the_number_of_features_may_come_from_the_first_call():
    index, x = MORE_VERTICES, torch.randn(4, 7)
    torch.manual_seed(0)
    theirs = PyGHypergraphConv(-1, 3)
    torch.manual_seed(0)
    ours = HypergraphConv(-1, 3)
    assert str(ours) == "HypergraphConv(-1, 3)"
    for layer in (theirs, ours):
        torch.manual_seed(5)
        layer(x, index)
    torch.testing.assert_close(ours(x, index), theirs(x, index))
    assert ours.lin.weight.shape == (3, 7)
    fresh = HypergraphConv(-1, 3)
    fresh.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(fresh(x, index), theirs(x, index))


def test_dropout_acts_in_training_only_and_leaves_the_mean():
    index, n_vertices, n_hyperedges = INDICES["more hyperedges"]
    layer = HypergraphConv(6, 4, **OPTIONS["edge, dropout"])
    x, attr = torch.randn(n_vertices, 6), torch.randn(n_hyperedges, 6)
    assert not torch.equal(layer(x, index, None, attr), layer(x, index, None, attr))
    layer.eval()
    assert torch.equal(layer(x, index, None, attr), layer(x, index, None, attr))


def test_a_pair_that_stands_twice_is_refused():
    index, x = torch.tensor([[0, 0, 1, 1], [0, 0, 0, 1]]), torch.randn(2, 3)
    with pytest.raises(ValueError, match="vertex 0 occurs 2 times in hyperedge 0"):
        HypergraphConv(3, 2)(x, index)


@pytest.mark.slow
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("how", WEIGHTS)
@pytest.mark.parametrize("name", OPTIONS)
def test_repeated_pairs_count_as_in_pyg(name, how, training):
    index = torch.tensor([[1, 0, 1, 0, 1, 2, 0, 2, 2], [1, 0, 0, 0, 0, 1, 0, 1, 2]])
    theirs, ours = PyGHypergraphConv(6, 4, **OPTIONS[name]), HypergraphConv(6, 4, **OPTIONS[name], exact=False)
    ours.load_state_dict(theirs.state_dict())
    x, weights = random(4, 6).requires_grad_(), weight(3, how)
    attr = random(3, 6).requires_grad_() if "use_attention" in OPTIONS[name] else None
    found, expected = [run(one.double().train(training), x, index, weights, attr) for one in (ours, theirs)]
    assert_all_close(found, expected)


@pytest.mark.parametrize("exact", [True, False])
def test_no_incidence_at_all(exact):
    layer = HypergraphConv(3, 2, exact=exact)
    nothing = torch.zeros(2, 0, dtype=torch.int64)
    assert torch.equal(layer(torch.randn(4, 3), nothing), layer.bias.expand(4, 2))


def test_more_weights_and_features_than_hyperedges_change_nothing():
    layer = HypergraphConv(6, 4, **ATTENTION)
    x, weights, attr = torch.randn(4, 6), torch.rand(5) + 0.1, torch.randn(7, 6)
    expected = layer(x, MORE_VERTICES, weights[:2], attr[:2])
    torch.testing.assert_close(layer(x, MORE_VERTICES, weights, attr, num_edges=9), expected)


def test_a_weight_of_zero_removes_a_hyperedge():
    layer, x = HypergraphConv(6, 4), torch.randn(4, 6)
    torch.testing.assert_close(
        layer(x, MORE_VERTICES, torch.tensor([1.0, 0.0])), layer(x, MORE_VERTICES[:, :3], torch.ones(1))
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hyperedge_index": torch.tensor([[4], [0]])}, r"hyperedge_index\[0\].*got 4"),
        ({"hyperedge_index": torch.tensor([[-1], [0]])}, r"hyperedge_index\[0\].*got -1"),
        ({"hyperedge_index": torch.tensor([[1], [-1]])}, r"hyperedge_index\[1\].*got -1"),
        ({"hyperedge_index": torch.zeros(3, 4)}, r"hyperedge_index must be a tensor of shape \(2, incidences\).*3, 4"),
        ({"hyperedge_weight": torch.ones(1)}, r"hyperedge_weight must have at least 2 rows, one per hyperedge.*got 1"),
        ({"hyperedge_weight": torch.ones(2, 2)}, r"hyperedge_weight must have one entry per hyperedge; got \(2, 2\)"),
        ({"hyperedge_weight": torch.tensor([1.0, -1.0])}, r"hyperedge_weight must be finite, not negative"),
        ({"hyperedge_weight": torch.tensor([1.0, float("nan")])}, r"hyperedge_weight must be finite, not negative"),
        ({"hyperedge_weight": torch.zeros(2)}, r"not all 0"),
        ({"hyperedge_attr": torch.ones(1, 6)}, r"hyperedge_attr must have at least 2 rows"),
        ({"num_edges": 1}, r"num_edges must be at least 2: the largest hyperedge id is 1; got 1"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    layer = HypergraphConv(6, 4, **ATTENTION)
    given = {"x": torch.randn(4, 6), "hyperedge_index": MORE_VERTICES} | change
    with pytest.raises((ValueError, TypeError), match=message):
        layer(**given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"attention_mode": "both"}, "attention_mode must be one of"),
        ({"out_channels": 0}, "out_channels must be"),
        ({"dropout": 1.0}, "dropout must be"),
    ],
)
def test_settings_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        HypergraphConv(**({"in_channels": 3, "out_channels": 2} | arguments))


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("how", WEIGHTS)
@pytest.mark.parametrize("name", ["convolution", "node", "edge"])
def test_autocast_and_weights_of_another_dtype(name, how, exact):
    layer = HypergraphConv(6, 4, **OPTIONS[name], exact=exact)
    x, attr, weights = torch.randn(4, 6), torch.randn(2, 6) if name != "convolution" else None, weight(2, how)
    expected = layer(x, MORE_VERTICES, weights, attr)
    assert expected.dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = layer(x, MORE_VERTICES, weights, attr)
    torch.testing.assert_close(out.float(), expected, rtol=0.05, atol=0.05)
    out.float().sum().backward()
    assert layer.lin.weight.grad.dtype == torch.float32


def test_it_is_copied_and_saved_like_any_module():
    layer, x = HypergraphConv(6, 4), torch.randn(4, 6)
    out = layer(x, MORE_VERTICES)
    torch.testing.assert_close(copy.deepcopy(layer)(x, MORE_VERTICES), out)
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other = HypergraphConv(6, 4)
    other.load_state_dict(torch.load(file, weights_only=True))
    torch.testing.assert_close(other(x, MORE_VERTICES), out)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", ["convolution", "edge"])
def test_it_compiles_and_exports(name, exact):
    index, n_vertices, n_hyperedges = INDICES["more hyperedges"]
    layer = HypergraphConv(6, 4, **OPTIONS[name], exact=exact)
    attr = None if name == "convolution" else torch.randn(n_hyperedges, 6)
    given = (torch.randn(n_vertices, 6), index, torch.rand(n_hyperedges) + 0.1, attr, n_hyperedges)
    expected = layer(*given)
    torch.testing.assert_close(torch.compile(layer, fullgraph=True, backend="aot_eager")(*given), expected)
    torch.testing.assert_close(torch.export.export(layer, given).module()(*given), expected)
