"""Deep networks: an initial residual and an identity mapping around any transition, exact, whatever is recomputed."""

import math
from dataclasses import replace

import pytest
import torch
from support.points import grouped_points
from support.structures import adjacency, dense, random
from torch.nn.functional import elu, relu

import hypergnn as hg
from hypergnn import reference
from hypergnn.models import KINDS, Config, Network, residual
from hypergnn.models.pair_norm import pair_norm
from hypergnn.training.engine import train
from hypergnn.training.plan import Plan, Task

H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3], [0, 3, 4]], n_vertices=6, weight=[1.0, 2.0, 0.5])
GRAPH = hg.Graph.from_links([0, 1, 2, 4], [1, 2, 3, 5], n_vertices=6)
GIVEN = {"graph": GRAPH, "hypergraph": H}
DEEP = [name for name, kind in KINDS.items() if kind.can_be_deep]
SMALL = Config(residual="initial", hidden=4, heads=2, depth=5, patience=6, max_epochs=6)


@pytest.fixture(scope="module")
def data():
    return grouped_points()


def drawn(config, n_features=5, n_classes=3):
    torch.manual_seed(0)
    return Network(config, n_features, n_classes).double().eval()


@pytest.mark.parametrize("model", DEEP)
def test_every_layer_multiplies_by_its_mapping(model):
    network = drawn(replace(SMALL, model=model, depth=2))
    for layer in network.layers:
        layer._identity = 1.0  # the mapping is then the identity, whatever the projection is
    network(random(6, 5), **GIVEN).square().sum().backward()
    assert [layer.projection.grad.count_nonzero() for layer in network.layers] == [0, 0], (
        f"the layer of {model} must take P from self._mapping(), because its kind can be deep"
    )


def dense_transition(model):
    A, incidence, W = adjacency(GRAPH).fill_diagonal_(0), dense(H), H.weight.double()
    of_graph, of_hypergraph = (
        reference.graph_transition(A, "symmetric"),
        reference.transition(incidence, W, "symmetric"),
    )
    return {"gcn": of_graph, "hyper-conv": of_hypergraph, "gcn+hyper-conv": (of_graph + of_hypergraph) / 2}[model]


@pytest.mark.parametrize(
    ("model", "activation"), [("gcn", elu), ("hyper-conv", elu), ("hyper-conv", relu), ("gcn+hyper-conv", elu)]
)
def test_equal_to_the_equation_over_dense_matrices(model, activation):
    config = replace(SMALL, model=model, alpha=0.3, theta=0.7, activation=activation.__name__)
    network, x, T = drawn(config), random(6, 5), dense_transition(model)
    own = dict(network.named_parameters())
    start = out = activation(x @ own["ends.first.projection"] + own["ends.first.bias"])
    for layer in range(1, 6):
        beta = math.log(0.7 / layer + 1)
        mapping = (1 - beta) * torch.eye(8, dtype=torch.float64) + beta * own[f"layers.{layer - 1}.projection"]
        out = activation((0.7 * T @ out + 0.3 * start) @ mapping)
    expected = out @ own["ends.last.projection"] + own["ends.last.bias"]
    torch.testing.assert_close(network(x, **GIVEN), expected)
    torch.testing.assert_close(network.hidden(x, **GIVEN), out)


@pytest.mark.parametrize("model", ["hyper-attention", "gat", "gat+hyper-attention"])
def test_attention_is_taken_over_the_mapped_rows(model):
    network, x = drawn(replace(SMALL, model=model, depth=2)), random(6, 5)
    start = out = elu(network.ends["first"](x))
    given = [GIVEN[name] for name in KINDS[model].structures]
    for number, layer in enumerate(network.layers, 1):
        beta = math.log(0.5 / number + 1)
        mapping = (1 - beta) * torch.eye(8, dtype=torch.float64) + beta * layer.projection
        plain = KINDS[model].layer(8, 4, heads=2, bias=False).double().eval()
        plain.load_state_dict({**layer.state_dict(), "projection": mapping})
        out = elu(0.9 * plain(out, *given) + 0.1 * start @ mapping)
    torch.testing.assert_close(network(x, **GIVEN), network.ends["last"](out))


def test_a_layer_is_that_of_pyg():
    pyg = pytest.importorskip("torch_geometric.nn")
    network, x = drawn(replace(SMALL, model="gcn", depth=3)), random(6, 8)
    links = torch.stack([GRAPH.source, GRAPH.target]).long()
    start = random(6, 8)
    for number, layer in enumerate(network.layers, 1):
        theirs = pyg.GCN2Conv(8, alpha=0.1, theta=0.5, layer=number).double()
        with torch.no_grad():
            theirs.weight1.copy_(layer.projection)
        ours = residual._mixed(layer, x, start * (0.1 / 0.9), (GRAPH,), 0.1)
        torch.testing.assert_close(ours, theirs(x, start, links[:, links[0] != links[1]]))


@pytest.mark.slow
@pytest.mark.parametrize("model", DEEP)
def test_the_gradients_are_exact(model):
    network, x = drawn(replace(SMALL, model=model, hidden=2, heads=1, depth=2), n_features=2, n_classes=2), random(6, 2)
    names = [name for name, _ in network.named_parameters()]

    def scores(*parameters):
        return torch.func.functional_call(network, dict(zip(names, parameters, strict=True)), (x,), GIVEN)

    assert torch.autograd.gradcheck(scores, tuple(network.parameters()))


@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention", "hyper-diffusion"])
def test_recomputed_activations_give_the_same_trials(data, model, monkeypatch):
    config = replace(SMALL, model=model, residual="none" if model == "hyper-diffusion" else "initial")
    curves = []
    for most in (1 << 26, 0):
        monkeypatch.setattr(residual, "RECOMPUTED", most)
        plan = Plan.of(Task.of(data, config), config)
        curves.append([trial.curves for trial in train(plan, config, [3, 4])])
    assert curves[0] == curves[1]


@pytest.mark.parametrize("model", ["hyper-conv", "gat+hyper-attention"])
def test_dropout_on_blocks_is_that_on_the_whole(data, model):
    config = replace(SMALL, model=model, depth=1, max_epochs=4)
    task = Task.of(data, config)
    plan, whole = Plan.of(task, config), []
    step = tuple(task.structures[name] for name in KINDS[model].structures)
    part = replace(plan.training, x=task.x, steps=[step], y=task.y, rows=task.train, places={}, known=None)
    assert plan.training.y.shape[0] < task.y.shape[0]
    for one in (plan, replace(plan, training=part)):
        (trial,) = train(one, config, [5])
        whole.append(trial.curves["train_loss"])
    assert whole[0] == pytest.approx(whole[1], rel=1e-5)


def test_relu_is_refused_where_it_would_cut_the_scores():
    with pytest.raises(ValueError, match="activation='relu' needs residual='initial' or a model of random"):
        Config(activation="relu")
    with pytest.raises(ValueError, match="activation must be"):
        replace(SMALL, activation="tanh")


def test_a_file_holds_the_activation(tmp_path):
    network = Network(replace(SMALL, activation="relu"), 5, 3)
    hg.save(network, tmp_path / "model.safetensors")
    assert hg.load(tmp_path / "model.safetensors").network.config == network.config


def test_the_layers_between_have_a_penalty_of_their_own(data):
    config = replace(SMALL, depth=2, weight_decay=0.0, layer_decay=0.0, max_epochs=2, dropout=0.0)
    plan = Plan.of(Task.of(data, config), config)
    (plain,) = train(plan, config, [0])
    (decayed,) = train(plan, replace(config, layer_decay=0.5), [0])
    one, other = plain.parameters, decayed.parameters
    assert not torch.equal(one["layers.0.projection"], other["layers.0.projection"])
    network = Network(config, data.n_features, data.n_classes)
    network.reset_parameters(torch.Generator().manual_seed(0))
    groups = [{"params": network.layers.parameters(), "weight_decay": 0.5}, {"params": network.ends.parameters()}]
    optimizer = torch.optim.Adam(groups, lr=config.learning_rate)
    task = plan.task
    for _ in range(2):
        optimizer.zero_grad()
        scores = network(task.x, hypergraph=data.hypergraph)
        torch.nn.functional.cross_entropy(scores[task.train], task.y[task.train]).backward()
        optimizer.step()
        if decayed.best_epoch == 0:
            break
    torch.testing.assert_close(other["layers.0.projection"], network.layers[0].projection, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("residual", ["none", "initial"])
def test_a_network_with_pair_norm_is_trained_on_all_vertices(data, residual):
    config = replace(SMALL, residual=residual, norm="pair")
    plan = Plan.of(Task.of(data, config), config)
    assert plan.training.x is plan.validation.x is plan.task.x
    (trial,) = train(plan, config, [0])
    (other,) = train(plan, replace(config, norm="none"), [0])
    assert trial.curves["train_loss"] != other.curves["train_loss"]


def test_a_plain_network_with_pair_norm():
    network, x = drawn(Config(norm="pair", depth=2, hidden=2, heads=2)), random(6, 5)
    first, last = network.layers
    torch.testing.assert_close(network(x, **GIVEN), elu(last(elu(pair_norm(first(x, H))), H)))


def test_pair_norm_centres_and_scales():
    x = pair_norm(random(3, 7, 4))
    torch.testing.assert_close(x.mean(-2), torch.zeros(3, 4, dtype=torch.float64))
    torch.testing.assert_close(x.square().sum(-1).mean(-1), torch.ones(3, dtype=torch.float64), rtol=1e-5, atol=0)
