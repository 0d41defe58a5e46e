"""Networks of one's own layers, and the names that they are registered under."""

import pytest
import torch
from support.own_operators import AllDeepSets, UniGAT
from support.points import grouped_points
from torch import nn
from torch.nn.functional import elu
from torch.testing import assert_close

import hypergnn as hg
from hypergnn.layers import Dense, HypergraphConv, Operator
from hypergnn.models import KINDS, Config, Network, UnregisteredError, register, unregister
from hypergnn.training import fit

H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3], [0, 3, 4]], n_vertices=5, centroid=[0, 2, 3])
GRAPH = hg.Graph.from_links([0, 1, 2], [1, 2, 3], n_vertices=5)
SMALL = {"hidden": 4, "heads": 2, "patience": 6, "max_epochs": 12}


@pytest.fixture
def named():
    before = dict(KINDS)
    register("unigat", UniGAT)
    register("deep-sets", AllDeepSets)
    register(
        "mixed",
        layers=lambda config, f, c: [
            Dense(f, 6),
            HypergraphConv(6, config.hidden, learn_weight=True),
            hg.GraphConv(config.hidden, 5),
            UniGAT(5, c),
        ],
        structures=("graph", "hypergraph"),
        attention=True,
    )
    yield
    KINDS.clear()
    KINDS.update(before)


def test_a_network_of_any_layers():
    layers = [Dense(4, 6), UniGAT(6, 2, heads=3), hg.GraphConv(6, 5), HypergraphConv(5, 3)]
    network, x = Network(Config(), layers=layers).eval(), torch.rand(5, 4)
    assert (network.n_features, network.n_classes, network.structures) == (4, 3, ("graph", "hypergraph"))
    expected = elu(layers[0](x))
    for layer, structure in zip(layers[1:], (H, GRAPH, H), strict=True):
        expected = elu(layer(expected, structure))
    assert_close(network(x, graph=GRAPH, hypergraph=H), expected)


def test_blocks_of_a_network_of_any_layers():
    from hypergnn.loader import receptive_field

    layers = [UniGAT(4, 3), Dense(3, 3), AllDeepSets(3, 2)]
    network, x = Network(Config(), layers=layers).eval(), torch.rand(5, 4)
    reached = receptive_field({"hypergraph": H}, [1], 3, n_vertices=5)
    blocks = [one.blocks["hypergraph"] for one in reached]
    assert_close(network(x[reached[0].read], hypergraph=blocks), network(x, hypergraph=H)[[1]])


@pytest.mark.slow
@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("model", ["unigat", "deep-sets", "mixed"])
def test_trials_of_a_registered_network_depend_on_their_seeds_only(model, tmp_path):
    data, config = grouped_points(), Config(model=model, **SMALL)
    together = fit(data, config, trials=3, jobs=1, out=tmp_path)
    alone = fit(data, config, trials=3, jobs=1, batch=1)
    for one, other in zip(together.records, alone.records, strict=True):
        assert (one.test_loss, one.epochs) == (other.test_loss, other.epochs)
    saved = hg.load(tmp_path / "model.safetensors")
    assert saved.network.config.model == model
    assert hg.training.predict(saved, data).shape == (len(data.y), data.n_classes)


@pytest.mark.usefixtures("named")
def test_a_file_with_a_name_that_is_not_registered_says_so(tmp_path):
    path = tmp_path / "model.safetensors"
    network = Network(Config(model="unigat"), 4, 3).eval()
    hg.save(network, path)
    x = torch.rand(5, 4)
    assert_close(hg.load(path).network(x, hypergraph=H), network(x, hypergraph=H))
    unregister("unigat")
    with pytest.raises(UnregisteredError, match=r"'unigat', which is not registered. Import the module .* --import"):
        hg.load(path)
    with pytest.raises(ValueError, match="model must be one of"):
        Config(model="unigat")


def test_a_network_of_given_layers_is_not_saved(tmp_path):
    with pytest.raises(TypeError, match="Register them with"):
        hg.save(Network(Config(), layers=[UniGAT(4, 3)]), tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("named")
def test_a_name_may_get_a_new_meaning():
    register("unigat", AllDeepSets)
    assert isinstance(Network(Config(model="unigat"), 4, 3).layers[0], AllDeepSets)


class Short(nn.Module):
    def forward(self, x, H):  # noqa: ARG002
        return x[:2]


class Stranger(nn.Module):
    structures = ("simplex",)


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda: register("gcn", UniGAT), ValueError, "must not be that of a network of hypergnn"),
        (lambda: register("a/b", UniGAT), ValueError, "name must be letters and digits"),
        (lambda: register("mine"), TypeError, "layer or layers must be given"),
        (lambda: register("mine", UniGAT, structures=("tree",)), ValueError, "structures must be among"),
        (lambda: register("mine", UniGAT, attention=True), TypeError, "layer must be made by .* dropout=…"),
        (lambda: register("mine", lambda *_, **__: nn.Identity()), TypeError, "reset_parameters"),
        (lambda: unregister("mine"), ValueError, "must have been registered"),
        (lambda: Network(Config(), layers=[]), ValueError, "at least one layer"),
        (lambda: Network(Config(), layers=[nn.Identity()]), TypeError, "n_features must be given"),
        (lambda: Network(Config()), TypeError, "n_features must be given"),
        (lambda: Network(Config(), 4, 3, layers=[1]), TypeError, "layers must be modules"),
        (lambda: Network(Config(), layers=[Dense(4, 3), Dense(5, 3)]), ValueError, "layer 1 must take the 3 features"),
        (lambda: Network(Config(), 4, 3, layers=[Stranger()]), ValueError, "structures of Stranger must be among"),
        (
            lambda: Network(Config(), 4, 4, layers=[Short()]).eval()(torch.rand(5, 4), hypergraph=H),
            ValueError,
            r"layer 0, Short, must return \(..., 5, features\).* got \(2, 4\)",
        ),
        (
            lambda: Network(Config(), layers=[hg.GraphConv(4, 3)])(torch.rand(5, 4), hypergraph=H),
            ValueError,
            "needs a graph",
        ),
    ],
)
def test_what_does_not_fit_is_one_clear_error(run, error, message):
    with pytest.raises(error, match=message):
        run()
    assert "mine" not in KINDS


class _WithBuffer(Operator):
    def __init__(self, in_features, out_features, **options):
        super().__init__(in_features, out_features, **options)
        self.register_buffer("share", torch.tensor(0.5))


def test_operators_with_tensors_that_are_no_parameters_are_refused():
    with pytest.raises(TypeError, match=r"no tensors but parameters.*'share'.*constants in its methods"):
        register("buffered", _WithBuffer)


def _failing(*_):
    raise KeyError("hidden")


@pytest.mark.parametrize(
    ("layers", "error", "message"),
    [
        (_failing, RuntimeError, "the layers of 'mine' cannot be made: KeyError: 'hidden'"),
        (lambda *_: 3, TypeError, "layers must be a list of modules; got int"),
        (lambda *_: [], ValueError, "at least one layer"),
    ],
)
def test_a_function_of_layers_that_fails_is_named(layers, error, message):
    register("mine", layers=layers)
    try:
        with pytest.raises(error, match=message):
            Network(Config(model="mine"), 4, 2)
    finally:
        unregister("mine")


def test_subclasses_take_the_structures_of_their_layer():
    class OwnGraph(hg.GraphConv):
        pass

    class OwnDense(hg.layers.Dense):
        pass

    class OwnMean(hg.layers.MeanConv):
        pass

    network = Network(Config(), layers=[OwnDense(4, 4), OwnGraph(4, 4), OwnMean(4, 4), hg.HypergraphConv(4, 3)]).eval()
    assert network.structures == ("graph", "hypergraph")
    plain = Network(
        Config(), layers=[hg.layers.Dense(4, 4), hg.GraphConv(4, 4), hg.layers.MeanConv(4, 4), hg.HypergraphConv(4, 3)]
    ).eval()
    plain.load_state_dict(network.state_dict())
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
    graph, x = hg.Graph.from_links([0, 1], [1, 2], n_vertices=4), torch.rand(4, 4)
    torch.testing.assert_close(network(x, graph=graph, hypergraph=H), plain(x, graph=graph, hypergraph=H))


@pytest.mark.parametrize("structures", [3, [[]], "graph", ["graph", "graph"]])
def test_structures_of_another_kind_are_refused(structures):
    with pytest.raises(ValueError, match="structures must be among"):
        register("mine", hg.HypergraphConv, structures=structures)
    with pytest.raises(TypeError, match="layers must be a function"):
        register("mine", layers=3)


@pytest.mark.parametrize("name", ["hidden", "heads", "depth", "draws"])
def test_sizes_that_no_network_can_have_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be at most"):
        Config(**{name: 10**20})
