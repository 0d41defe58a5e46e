"""Networks: what they return does not depend on who watches."""

from contextlib import nullcontext

import pytest
import torch
from torch.nn.functional import elu

import hypergnn as hg
from hypergnn.kernels.dropout import dropout, seeded
from hypergnn.models import KINDS, Config, Network, check_structures

H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3], [0, 3, 4]], n_vertices=5, centroid=[0, 2, 3])
GRAPH = hg.Graph.from_links([0, 1, 2], [1, 2, 3], n_vertices=5)
GIVEN = {"graph": GRAPH, "hypergraph": H}


@pytest.mark.parametrize("model", [name for name, kind in KINDS.items() if kind.form == "layers"])
@pytest.mark.parametrize("training", [True, False])
def test_hooks_see_what_a_layer_gets_and_returns(model, training):
    torch.manual_seed(0)
    network = Network(Config(model=model, dropout=0.0, attention_dropout=0.0), 4, 3).train(training)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter)
    x, seen = torch.rand(5, 4), []
    plain = network(x, **GIVEN)
    for layer in network.layers:
        layer.register_forward_hook(lambda _, inputs, output: seen.append((inputs[0], output)))
    torch.testing.assert_close(network(x, **GIVEN), plain)
    (first_in, first_out), (second_in, second_out) = seen
    assert first_in is x
    torch.testing.assert_close(second_in, elu(first_out))
    torch.testing.assert_close(elu(second_out), plain)
    structures = [GIVEN[name] for name in KINDS[model].structures]
    torch.testing.assert_close(second_out, network.layers[1](second_in, *structures))


@pytest.mark.parametrize("model", [name for name, kind in KINDS.items() if kind.form != "layers" or kind.can_be_deep])
@pytest.mark.parametrize("training", [True, False])
def test_hooks_see_the_layers_of_other_forms(model, training):
    form = {} if KINDS[model].form != "layers" else {"residual": "initial"}
    rates = {"dropout": 0.0, "attention_dropout": 0.0} | ({"row_dropout": 0.0} if KINDS[model].form == "random" else {})
    network = Network(Config(model=model, hidden=4, heads=2, **form, **rates), 4, 3).train(training)
    x, seen = torch.rand(5, 4), []
    plain = network(x, **GIVEN)
    modules = [*network.layers, *network.ends.values()]
    for module in modules:
        module.register_forward_hook(lambda module, inputs, output: seen.append((module, inputs[0], output)))
    torch.testing.assert_close(network(x, **GIVEN), plain)
    assert {id(module) for module, _, _ in seen} == set(map(id, modules))
    module, last_in, last_out = seen[-1]
    torch.testing.assert_close(last_out, plain)
    torch.testing.assert_close(network.hidden(x, **GIVEN), last_in)
    assert module is (network.ends["last"] if network.ends else network.layers[-1])


@pytest.mark.parametrize("model", ["grand", "hyper-grand", "grand+hyper-grand"])
def test_a_single_dense_layer_gets_the_propagated_features(model):
    network, x = Network(Config(model=model, depth=1), 4, 3).eval(), torch.rand(5, 4)
    hidden = network.hidden(x, **GIVEN)
    assert hidden.shape == (5, 4)
    torch.testing.assert_close(network.layers[0](hidden), network(x, **GIVEN))
    torch.testing.assert_close(network.hidden(x.to_sparse_csr(), **GIVEN), hidden)


@pytest.mark.parametrize("model", list(KINDS))
def test_networks_work_under_autocast(model):
    depth = {} if KINDS[model].form == "random" else {"depth": 3}
    network = Network(Config(model=model, hidden=4, heads=2, skip=KINDS[model].form == "layers", **depth), 4, 3).eval()
    x = torch.rand(5, 4)
    with torch.autocast("cpu", torch.bfloat16):
        found = network(x, **GIVEN)
        found.float().sum().backward()
    torch.testing.assert_close(found.float(), network(x, **GIVEN), rtol=0.1, atol=0.1)


@pytest.mark.parametrize("pool", ["mean", "max", "attention"])
def test_the_pool_is_that_of_the_settings(pool):
    network = Network(Config(model="hyper-sage", pool=pool), 4, 3)
    assert [layer.pool for layer in network.layers] == [pool, pool]


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "gat"},
        {"residual": "initial"},
        {"norm": "pair"},
        {"depth": 9},
        {"hidden": 3},
        {"direction": "both"},
        {"weights": "learned"},
    ],
)
def test_settings_without_effect_on_given_layers_are_refused(settings):
    layers, name = [hg.HypergraphConv(4, 3)], next(iter(settings))
    with pytest.raises(ValueError, match=f"{name} must be left at its default with given layers"):
        Network(Config(**settings), layers=layers)
    Network(Config(dropout=0.1, input_dropout=0.2, weights="inverse-frequency", learning_rate=0.1), layers=layers)


def test_a_hook_may_change_what_a_layer_returns():
    network = Network(Config(), 4, 3).eval()
    network.layers[1].register_forward_hook(lambda *_: torch.full((5, 3), 2.0))
    assert network(torch.rand(5, 4), hypergraph=H).eq(2.0).all()


def test_any_module_may_take_the_place_of_a_layer():
    class Twice(torch.nn.Module):
        def forward(self, x, H):  # noqa: ARG002
            return 2 * x

    network = Network(Config(hidden=2, heads=2), 4, 3).eval()
    network.layers[0] = Twice()
    x = torch.rand(5, 4)
    torch.testing.assert_close(network(x, hypergraph=H), elu(network.layers[1](elu(2 * x), H)))


@pytest.mark.parametrize("is_seeded", [True, False])
def test_features_are_dropped_before_each_layer_in_training_only(is_seeded):
    network, x = Network(Config(dropout=0.5), 4, 3), torch.rand(1, 5, 4)
    first, second = network.layers

    def drawing():
        torch.manual_seed(0)
        return seeded([3], 0) if is_seeded else nullcontext()

    with drawing():
        found = network(x, hypergraph=H)
    with drawing():
        hidden = elu(first(dropout(x, 0.5), H))
        expected = elu(second(dropout(hidden, 0.5), H))
    torch.testing.assert_close(found, expected)
    network.eval()
    torch.testing.assert_close(network(x, hypergraph=H), elu(second(elu(first(x, H)), H)))


@pytest.mark.parametrize("model", KINDS)
def test_networks_say_which_structure_they_need(model):
    network = Network(Config(model=model), 4, 3)
    for name in KINDS[model].structures:
        given = {**GIVEN, name: None}
        with pytest.raises(ValueError, match=f"needs a {name}, and none was passed"):
            network(torch.rand(5, 4), **given)
    with pytest.raises(ValueError, match=r"needs a graph, and digits has none\. Add one, or choose another model"):
        check_structures("gat", {"graph": None}, "digits")


def test_an_empty_network_draws_no_random_numbers():
    before = torch.get_rng_state()
    network = Network.empty(Config(), 4, 3)
    parameters = {name: torch.zeros(one.shape) for name, one in network.named_parameters()}
    filled = Network.from_parameters(Config(), 4, 3, parameters)
    assert torch.equal(torch.get_rng_state(), before)
    assert not filled.training
    assert filled(torch.rand(5, 4), hypergraph=H).eq(0).all()


def test_a_subclass_of_a_layer_is_called_as_it_is():
    class Double(hg.HypergraphConv):
        def _propagate(self, x, H, projection=None):
            return 2 * super()._propagate(x, H, projection)

        def forward(self, x, H):
            return super().forward(x, H) + 1

    network = Network(Config(hidden=2, heads=2, dropout=0.0), 4, 3)
    network.layers[0] = Double(4, 2, heads=2)
    x = torch.rand(5, 4)
    wanted = elu(network.layers[1](elu(network.layers[0](x, H)), H))
    for mode in (True, False):
        torch.testing.assert_close(network.train(mode)(x, hypergraph=H), wanted)


def test_trials_may_stand_behind_another_axis():
    network = Network(Config(), 4, 3).eval()
    for parameter in network.parameters():
        parameter.requires_grad_(False)
    stacked = {name: torch.randn(2, *one.shape) for name, one in network.named_parameters()}
    x = torch.rand(2, 2, 5, 4)  # (another axis, trials, N, F)
    together = torch.func.functional_call(network, stacked, (x,), {"hypergraph": H})
    for trial in range(2):
        own = {name: one[trial] for name, one in stacked.items()}
        alone = torch.func.functional_call(network, own, (x[:, trial],), {"hypergraph": H})
        torch.testing.assert_close(together[:, trial], alone)


def test_training_goes_on_under_a_global_hook():
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        data = hg.datasets.load("digits")
        assert hg.training.fit(data, Config(max_epochs=2), jobs=1).records[0].epochs == 2
    finally:
        handle.remove()
