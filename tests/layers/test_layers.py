import copy

import pytest
import torch
from scipy.sparse import csr_array
from support.structures import dense, hypergraph, random
from support.structures import graph as named_graph
from torch.func import functional_call, stack_module_state

from hypergnn import (
    GraphAttention,
    GraphConv,
    Hypergraph,
    HypergraphAttention,
    HypergraphConv,
    functional,
    kernels,
    reference,
)
from hypergnn.layers import Dense, MeanAttention, MeanConv
from hypergnn.structures.sparse_features import SparseFeatures

pytestmark = pytest.mark.usefixtures("backend")

H = Hypergraph.from_hyperedges(
    [[0, 1, 2], [2, 3], [0, 2, 3], [1, 3]], n_vertices=5, weight=[1.5, 2.5, 0.5, 1.0], centroid=[0, 4, -1, 1]
)  # N = 5, M = 4, one vertex isolated, one centroid outside its hyperedge
GRAPH = named_graph("path with isolated vertex")  # N = 5
LAYERS = {
    HypergraphConv: (H,),
    HypergraphAttention: (H,),
    GraphConv: (GRAPH,),
    GraphAttention: (GRAPH,),
    MeanConv: (GRAPH, H),
    MeanAttention: (GRAPH, H),
    Dense: (),
}


@pytest.fixture(params=LAYERS)
def layer_type(request):
    return request.param


def make(layer_type, *sizes, **options):
    torch.manual_seed(0)
    return layer_type(*sizes, **options).double()


@pytest.mark.parametrize(("aggregate", "width"), [("concat", 6), ("mean", 2)])
def test_heads_are_concatenated_or_averaged(layer_type, aggregate, width):
    x, structure = random(5, 3), LAYERS[layer_type]
    layer = make(layer_type, 3, 2, heads=3, aggregate=aggregate, bias=False)
    out = layer(x, *structure)
    assert out.shape == (5, width)
    heads = []
    for head in range(3):
        single = make(layer_type, 3, 2, bias=False)
        with torch.no_grad():
            for name, parameter in single.named_parameters():
                whole = getattr(layer, name)
                part = whole[:, 2 * head : 2 * head + 2] if name == "projection" else whole[head : head + 1]
                parameter.copy_(part)
        heads.append(single(x, *structure))
    expected = torch.cat(heads, dim=1) if aggregate == "concat" else torch.stack(heads).mean(0)
    torch.testing.assert_close(out, expected)


def test_bias_is_added_once(layer_type):
    x = random(5, 3)
    layer = make(layer_type, 3, 2, heads=2)
    without = layer(x, *LAYERS[layer_type])
    bias = random(4)
    with torch.no_grad():
        layer.bias.copy_(bias)
    torch.testing.assert_close(layer(x, *LAYERS[layer_type]), without + bias)


def test_skip_connection_adds_the_input_itself_where_widths_agree(layer_type):
    x = random(5, 4)
    plain, skipping = make(layer_type, 4, 2, heads=2), make(layer_type, 4, 2, heads=2, skip=True)
    assert skipping.skip_projection is None
    torch.testing.assert_close(skipping(x, *LAYERS[layer_type]), plain(x, *LAYERS[layer_type]) + x)


def test_skip_connection_projects_where_widths_differ(layer_type):
    x = random(5, 3)
    layer = make(layer_type, 3, 2, skip=True)
    plain = copy.deepcopy(layer)
    plain.skip, plain.skip_projection = False, None
    expected = plain(x, *LAYERS[layer_type]) + x @ layer.skip_projection
    torch.testing.assert_close(layer(x, *LAYERS[layer_type]), expected)


@pytest.mark.slow
@pytest.mark.parametrize("skip", [False, True])
def test_sparse_features_give_the_same(layer_type, skip):
    x = random(5, 4).relu()
    for out_features in (2, 4, 6):
        layer = make(layer_type, 4, out_features, skip=skip)
        structure = LAYERS[layer_type]
        torch.testing.assert_close(layer(x.to_sparse_csr(), *structure), layer(x, *structure))


@pytest.mark.parametrize("options", [{}, {"skip": True, "heads": 2, "aggregate": "mean"}])
def test_every_parameter_receives_a_gradient(layer_type, options):
    layer = make(layer_type, 3, 2, **options)
    layer(random(5, 3), *LAYERS[layer_type]).square().sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_parameters_of_the_heterogeneous_and_weighted_layers_receive_gradients():
    attention = make(HypergraphAttention, 3, 2, hyperedge_features=4)
    attention(random(5, 3), H, random(4, 4)).square().sum().backward()
    conv = make(HypergraphConv, 3, 2, learn_weight=True)
    conv(random(5, 3), H).square().sum().backward()
    for name, parameter in [*attention.named_parameters(), *conv.named_parameters()]:
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize(
    ("layer_type", "options"),
    [
        (HypergraphConv, {"normalization": "row"}),
        (HypergraphConv, {"normalization": "none"}),
        (HypergraphAttention, {"normalization": "symmetric"}),
        (HypergraphAttention, {"softmax_over": "vertices"}),
        (HypergraphAttention, {"negative_slope": 0.9}),
        (HypergraphAttention, {"dropout": 0.5}),
        (GraphConv, {"normalization": "row"}),
        (GraphAttention, {"negative_slope": 0.9}),
        (GraphAttention, {"dropout": 0.5}),
    ],
)
def test_every_option_changes_the_output(layer_type, options):
    x = random(5, 3)
    plain = make(layer_type, 3, 2)(x, *LAYERS[layer_type])
    assert not torch.allclose(make(layer_type, 3, 2, **options)(x, *LAYERS[layer_type]), plain)


ATTENTIONS = [HypergraphAttention, GraphAttention, MeanAttention]


@pytest.mark.parametrize("layer_type", ATTENTIONS)
def test_dropout_is_for_training_only(layer_type):
    x = random(5, 3)
    layer = make(layer_type, 3, 2, heads=4, dropout=0.5)
    trained = layer(x, *LAYERS[layer_type])
    assert not torch.allclose(trained, layer(x, *LAYERS[layer_type]))
    layer.eval()
    plain = make(layer_type, 3, 2, heads=4)
    torch.testing.assert_close(layer(x, *LAYERS[layer_type]), plain(x, *LAYERS[layer_type]))


@pytest.mark.parametrize("layer_type", ATTENTIONS)
def test_dropout_falls_on_the_propagated_features_and_on_the_transition(layer_type, monkeypatch):
    """Each dropout is replaced by a known factor, which must reach just the place that it belongs to."""
    calls = []

    def known(x, rate, of):  # noqa: ARG001
        calls.append((tuple(x.shape), rate))
        return x * (1 + random(*x.shape, seed=len(calls)).abs())

    monkeypatch.setattr("hypergnn.layers.attention.dropout", known)
    x, layer = random(5, 3), make(layer_type, 3, 2, heads=2, bias=False, dropout=0.2)
    out = layer(x, *LAYERS[layer_type])
    projected = (x @ layer.projection).reshape(5, 2, 2)
    links, incidences = (len(GRAPH.target), 2), (H.n_incidences, 2)
    shapes = {HypergraphAttention: [incidences], GraphAttention: [links], MeanAttention: [links, incidences]}[
        layer_type
    ]
    assert calls == [((5, 2, 2), 0.2), *((shape, 0.2) for shape in shapes)]
    factors = [1 + random(*shape, seed=place + 1).abs() for place, (shape, _) in enumerate(calls)]
    dropped, expected = projected * factors[0], []
    if layer_type is not HypergraphAttention:
        attention = functional.attention_links(projected, GRAPH, layer.a_target, layer.a_source)
        expected.append(functional.graph_attention(dropped, GRAPH, attention * factors[1]))
    if layer_type is not GraphAttention:
        u = functional.hyperedge_features(projected.flatten(1), H).reshape(-1, 2, 2)
        incidence = functional.attention_incidence(projected, u, H, layer.a_vertex, layer.a_hyperedge)
        expected.append(functional.hypergraph_attention(dropped, H, incidence, dropped=incidence * factors[-1]))
    torch.testing.assert_close(out, (sum(expected) / len(expected)).flatten(1))


@pytest.mark.parametrize("layer_type", [HypergraphAttention, GraphAttention])
def test_the_returned_attention_is_whole_and_carries_its_gradient(layer_type):
    layer = make(layer_type, 3, 2, dropout=0.9)
    x = random(5, 3)
    _, dropped = layer(x, *LAYERS[layer_type], return_attention=True)
    _, whole = layer.eval()(x, *LAYERS[layer_type], return_attention=True)
    torch.testing.assert_close(dropped, whole)
    whole.square().sum().backward()
    assert layer.projection.grad.abs().sum() > 0


@pytest.mark.parametrize("layer_type", ATTENTIONS)
def test_attention_works_under_autocast(layer_type):
    x = random(5, 3, dtype=torch.float32)
    layer = layer_type(3, 2)
    with torch.autocast("cpu", torch.bfloat16):
        out = layer(x, *LAYERS[layer_type])
    torch.testing.assert_close(out.float(), layer(x, *LAYERS[layer_type]), rtol=0.05, atol=0.05)


def test_scores_do_not_start_at_nothing():
    for vector in (
        HypergraphAttention(3, 8).a_vertex,
        HypergraphAttention(3, 8).a_hyperedge,
        GraphAttention(3, 8).a_target,
    ):
        assert (vector.abs() > 0).all()
        assert vector.abs().max() <= (6 / 17) ** 0.5


def test_attention_without_hyperedge_features_takes_centroids_or_means():
    layer, x = make(HypergraphAttention, 3, 2), random(5, 3)
    torch.testing.assert_close(layer(x, H), layer(x, H, functional.hyperedge_features(x, H)))
    assert not torch.allclose(layer(x, H), layer(x, H, random(4, 3, seed=9)))


def test_heterogeneous_hyperedges_get_a_projection_of_their_own():
    layer, x, u = make(HypergraphAttention, 3, 2, hyperedge_features=7), random(5, 3), random(4, 7)
    _, attention = layer(x, H, u, return_attention=True)
    expected = functional.attention_incidence(
        (x @ layer.projection).unsqueeze(1),
        (u @ layer.hyperedge_projection).unsqueeze(1),
        H,
        layer.a_vertex,
        layer.a_hyperedge,
    )
    torch.testing.assert_close(attention, expected)


def test_learned_weights_follow_their_formula():
    x, layer = random(5, 3), make(HypergraphConv, 3, 2, learn_weight=True, bias=False)
    theta = 3 * random(3, 1)
    with torch.no_grad():
        layer.weight_score.copy_(theta)
    u = reference.hyperedge_features(x, dense(H), H.centroid.tolist())
    weight = H.weight * (5 * torch.tanh((u @ theta)[:, 0] / 5)).exp()
    torch.testing.assert_close(layer.hyperedge_weight(x, H), weight)
    expected = reference.transition(dense(H), weight, "symmetric") @ x @ layer.projection
    torch.testing.assert_close(layer(x, H), expected)


def test_learned_weights_start_at_the_given_ones_and_are_trained():
    H = hypergraph("more vertices than hyperedges")
    x, target = random(7, 3), random(7, 2)
    layer = make(HypergraphConv, 3, 2, learn_weight=True)
    torch.testing.assert_close(layer.hyperedge_weight(x, H), H.weight)
    torch.testing.assert_close(layer(x, H), make(HypergraphConv, 3, 2)(x, H))
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.5)
    for _ in range(50):
        optimizer.zero_grad()
        (layer(x, H) - target).square().sum().backward()
        optimizer.step()
    learned = layer.hyperedge_weight(x, H)
    assert (learned > 0).all()
    assert not torch.allclose(learned, H.weight, rtol=0.1)
    with torch.no_grad():
        layer.weight_score.fill_(1e6)
    extreme = layer.hyperedge_weight(x, H)
    assert ((extreme >= H.weight * 0.0067) & (extreme <= H.weight * 148.5)).all()


def test_state_dict_round_trips(layer_type):
    x, options = random(5, 3), {"heads": 2, "skip": True}
    layer = make(layer_type, 3, 2, **options)
    other = layer_type(3, 2, **options).double()
    assert not torch.allclose(other(x, *LAYERS[layer_type]), layer(x, *LAYERS[layer_type]))
    other.load_state_dict(layer.state_dict())
    torch.testing.assert_close(other(x, *LAYERS[layer_type]), layer(x, *LAYERS[layer_type]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "csr", "prepared"])
def test_parameters_may_carry_an_axis_of_trials(layer_type, kind):
    x, structure = random(5, 3).relu(), LAYERS[layer_type]
    if kind == "csr":
        x = x.to_sparse_csr()
    elif kind == "prepared":
        x = SparseFeatures.from_scipy(csr_array(x.numpy()), dtype=torch.float64)
    trials = [layer_type(3, 2, heads=2, skip=True).double() for _ in range(3)]
    for trial in trials:
        torch.nn.init.normal_(trial.bias)
    parameters, buffers = stack_module_state(trials)
    together = functional_call(trials[0], (parameters, buffers), (x, *structure))
    for trial, out in zip(trials, together, strict=True):
        torch.testing.assert_close(trial(x, *structure), out)


def test_float32_stays_float32(layer_type):
    layer = layer_type(3, 2)
    assert layer(random(5, 3, dtype=torch.float32), *LAYERS[layer_type]).dtype == torch.float32


def test_printing_a_layer_shows_its_options():
    text = str(HypergraphAttention(3, 2, heads=4, softmax_over="vertices", hyperedge_features=7))
    assert text == (
        "HypergraphAttention(3, 2, heads=4, aggregate='concat', bias=True, skip=False, negative_slope=0.2, "
        "dropout=0.0, normalization='row', softmax_over='vertices', hyperedge_features=7)"
    )
    assert "learn_weight=True" in str(HypergraphConv(3, 2, learn_weight=True))
    assert "normalization='row'" in str(GraphConv(3, 2, normalization="row"))
    assert "negative_slope=0.2" in str(GraphAttention(3, 2))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: HypergraphConv(0, 2), ValueError, r"in_features must be at least 1; got 0"),
        (lambda: HypergraphConv(3, 2.0), TypeError, r"out_features must be a whole number; got 2\.0"),
        (lambda: GraphConv(3, 2, heads=0), ValueError, r"heads must be at least 1; got 0"),
        (lambda: GraphAttention(3, 2, aggregate="sum"), ValueError, r"aggregate must be one of 'concat', 'mean'"),
        (lambda: HypergraphConv(3, 2, normalization=None), ValueError, r"normalization must be one of .*; got None"),
        (lambda: HypergraphAttention(3, 2, softmax_over="rows"), ValueError, r"softmax_over must be one of"),
        (lambda: HypergraphAttention(3, 2, dropout=1.0), ValueError, r"dropout must be a number from 0 .* 1; got 1\.0"),
        (lambda: HypergraphAttention(3, 2, dropout="a"), TypeError, r"dropout must be a number; got 'a'"),
        (lambda: GraphAttention(3, 2, negative_slope=float("nan")), ValueError, r"negative_slope must be a number"),
        (
            lambda: HypergraphConv(3, 2)(torch.rand(5, 3), GRAPH),
            TypeError,
            r"H must be a Hypergraph or a Block; got Graph",
        ),
        (lambda: HypergraphAttention(3, 2)(torch.rand(5, 3), torch.ones(2, 4)), TypeError, r"H must be a Hypergraph"),
        (
            lambda: GraphConv(3, 2)(torch.rand(5, 3), H),
            TypeError,
            r"graph must be a Graph or a GraphBlock; got",
        ),
        (
            lambda: MeanConv(3, 2)(torch.rand(5, 3), H, GRAPH),
            TypeError,
            r"graph must be a Graph or a GraphBlock; got",
        ),
        (
            lambda: HypergraphConv(3, 2)(torch.rand(5, 3).numpy(), H),
            TypeError,
            r"x must be a torch tensor.*dtype=torch",
        ),
        (lambda: HypergraphConv(3, 2)(torch.rand(5, 3).half(), H), TypeError, r"x must not be float16"),
        (lambda: HypergraphAttention(3, 2, hyperedge_features=0), ValueError, r"hyperedge_features must be at least 1"),
        (lambda: HypergraphConv(3, 2)(torch.rand(5, 4), H), ValueError, r"x must have 3 features per vertex; got 4"),
        (lambda: HypergraphConv(3, 2)(torch.rand(4, 3), H), ValueError, r"one row per vertex; got \(4, 3\)"),
        (
            lambda: HypergraphConv(3, 2)(torch.rand(5, 3).double(), H),
            TypeError,
            r"x must have the dtype of the layer, torch.float32; got torch.float64",
        ),
        (
            lambda: GraphAttention(3, 2).to("meta")(torch.rand(5, 3), GRAPH),
            ValueError,
            r"x must be on the device of the layer, meta; got cpu",
        ),
        (
            lambda: HypergraphAttention(3, 2)(torch.rand(5, 3), H, torch.rand(4, 3).double()),
            TypeError,
            r"x_hyperedge must have the dtype of the layer",
        ),
        (lambda: GraphConv(3, 2)(torch.rand(5, 3), GRAPH.to("meta")), ValueError, r"x is on cpu but .* on meta"),
        (
            lambda: HypergraphAttention(3, 2, hyperedge_features=4)(torch.rand(5, 3), H),
            ValueError,
            r"x_hyperedge must be given, 4 features per hyperedge",
        ),
        (
            lambda: HypergraphAttention(3, 2)(torch.rand(5, 3), H, torch.rand(5, 3)),
            ValueError,
            r"x_hyperedge must have shape \(\.\.\., 4, features\), one row per hyperedge; got \(5, 3\)",
        ),
        (
            lambda: HypergraphAttention(3, 2)(torch.rand(5, 3), H, torch.rand(4, 4)),
            ValueError,
            r"x_hyperedge must have 3 features per hyperedge; got 4",
        ),
    ],
)
def test_bad_input_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.slow
@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("options", [{}, {"skip": True}, {"aggregate": "mean"}, {"bias": False}])
@pytest.mark.parametrize("learns", [True, False])
def test_what_a_network_computes_of_a_layer_is_its_output(kind, options, learns):
    layer = kind(6, 3, heads=2, **options).double().requires_grad_(learns)
    if layer.bias is not None:
        torch.nn.init.normal_(layer.bias)
    x = random(5, 6)
    whole = torch.nn.functional.elu(layer(x, *LAYERS[kind]))
    torch.testing.assert_close(layer._activated(x, *LAYERS[kind]), whole)
    torch.testing.assert_close(torch.nn.functional.elu(layer._with_bias(layer._linear(x, *LAYERS[kind]))), whole)


def test_a_convolution_with_learned_weights_is_activated_as_well():
    layer = HypergraphConv(6, 3, learn_weight=True).double()
    torch.nn.init.normal_(layer.weight_score)
    x = random(5, 6)
    with torch.no_grad():
        torch.testing.assert_close(layer._activated(x, H), torch.nn.functional.elu(layer(x, H)))


def test_an_activated_layer_may_be_mapped_over_trials_and_learned_through():
    layer, x = HypergraphConv(6, 3, bias=False).double().requires_grad_(False), random(4, 5, 6).requires_grad_()
    mapped = torch.vmap(lambda one: layer._activated(one, H))(x)
    torch.testing.assert_close(mapped, layer._activated(x, H))
    (grad,) = torch.autograd.grad(mapped.square().sum(), x)
    torch.testing.assert_close(grad, torch.autograd.grad(layer._activated(x, H).square().sum(), x)[0])


def test_trials_may_differ_by_their_biases_alone():
    layer, x, bias = HypergraphConv(6, 3).double().requires_grad_(False), random(5, 6), random(4, 3)
    wanted = torch.nn.functional.elu(functional_call(layer, {"bias": bias}, (x, H)))
    layer.bias = torch.nn.Parameter(bias, requires_grad=False)
    torch.testing.assert_close(layer._activated(x, H), wanted)


@pytest.mark.parametrize(
    ("softmax_over", "weight", "n_summed"),
    [("hyperedges", None, 1), ("hyperedges", [1.0, 3.0], 2), ("vertices", None, 1), ("vertices", [1.0, 3.0], 1)],
)
def test_attention_sums_no_degree_that_its_softmax_makes_1(softmax_over, weight, n_summed, monkeypatch):
    summed, value_sums = [], kernels.value_sums
    monkeypatch.setattr(kernels, "value_sums", lambda *given: summed.append(given) or value_sums(*given))
    weighted = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4, weight=weight)
    HypergraphAttention(3, 2, softmax_over=softmax_over)(torch.rand(4, 3), weighted)
    assert len(summed) == n_summed


def test_learned_weights_work_under_autocast():
    layer, x = HypergraphConv(6, 3, learn_weight=True), random(5, 6).float()
    torch.nn.init.normal_(layer.weight_score)
    with torch.autocast("cpu", torch.bfloat16):
        found = layer(x, H)
    torch.testing.assert_close(found.float(), layer(x, H), rtol=0.1, atol=0.1)


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (torch.rand(3, 9), ValueError, "x must have 4 features per vertex; got 9"),
        (torch.rand(3, 4).double(), TypeError, "x must have the dtype of the layer, torch.float32"),
        (torch.ones(3, 4, dtype=torch.int64), TypeError, "x must be of a floating-point dtype"),
        (torch.rand(4), ValueError, r"x must have shape \(..., N, features\)"),
        ([[1.0] * 4], TypeError, "x must be a torch tensor; got list"),
    ],
)
def test_a_dense_layer_checks_its_features(x, error, message):
    with pytest.raises(error, match=message):
        Dense(4, 2)(x)
