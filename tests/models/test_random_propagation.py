"""Random propagation: equal to a plain loop over dense matrices, whichever structures it propagates over."""

from dataclasses import replace

import pytest
import torch
from support.points import grouped_points
from support.structures import adjacency, dense
from torch.nn.functional import cross_entropy, elu, relu

import hypergnn as hg
from hypergnn import reference
from hypergnn.kernels.dropout import dropout, seeded
from hypergnn.models import Config, Network
from hypergnn.models.random_propagation import mean_of_powers
from hypergnn.training.engine import train
from hypergnn.training.losses import disagreement
from hypergnn.training.plan import Plan, Task

MODELS = ("grand", "hyper-grand", "grand+hyper-grand")
SMALL = Config(
    model="hyper-grand",
    hidden=4,
    heads=2,
    steps=3,
    draws=3,
    dropout=0.3,
    input_dropout=0.4,
    patience=6,
    max_epochs=8,
    feature_scaling="none",
)


@pytest.fixture(scope="module")
def data():
    points = grouped_points()
    return replace(points, x=points.x.toarray())


def transition(data, model):
    """The dense transition of a model."""
    H, W = dense(data.hypergraph).float(), data.hypergraph.weight.float()
    A = adjacency(data.graph).float().fill_diagonal_(0)
    of_graph, of_hypergraph = reference.graph_transition(A, "symmetric"), reference.transition(H, W, "symmetric")
    return {"grand": of_graph, "hyper-grand": of_hypergraph, "grand+hyper-grand": (of_graph + of_hypergraph) / 2}[model]


def plain_scores(parameters, X, T, config, masks=None):
    """One draw of the scores, literally; without masks, that of the evaluation."""
    rows, entries, hidden = masks or (1 - config.row_dropout, 1.0, 1.0)
    power = total = rows * (entries * X)  # all columns are propagated
    for _ in range(config.steps):
        power = T @ power
        total = total + power
    Z = total / (config.steps + 1)
    activation = {"elu": elu, "relu": relu}[config.activation]
    inner = hidden * activation(Z @ parameters["layers.0.projection"] + parameters["layers.0.bias"])
    return inner @ parameters["layers.1.projection"] + parameters["layers.1.bias"]


def plain_masks(data, config):
    """The masks that the next draw of the trial has: its numbers are drawn in the order entries, rows, hidden."""
    N, width = data.hypergraph.n_vertices, config.hidden * config.heads
    entries = dropout(torch.ones(1, N, data.n_features), config.first_dropout)[0]
    rows = (dropout(torch.ones(1, N, 1), config.row_dropout)[0] > 0).float()
    return rows, entries, dropout(torch.ones(1, N, width), config.dropout)[0]


def plain_losses(data, config, seed, epochs):
    """The training losses of a loop over one trial, with dense matrices and torch's optimiser."""
    network = Network(config, data.n_features, data.n_classes)
    network.reset_parameters(torch.Generator().manual_seed(seed))
    parameters, X, T = dict(network.named_parameters()), data.features(), transition(data, config.model)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    y, chosen, found = torch.from_numpy(data.y), torch.from_numpy(data.train), []
    for epoch in range(epochs):
        with seeded([seed], epoch):
            draws = [plain_scores(parameters, X, T, config, plain_masks(data, config)) for _ in range(config.draws)]
        P = torch.stack(draws).softmax(-1)
        sharp = P.detach().mean(0) ** (1 / config.temperature)
        sharp = sharp / sharp.sum(1, keepdim=True)
        loss = sum(cross_entropy(one[chosen], y[chosen]) for one in draws) / config.draws
        loss = loss + config.consistency * ((P - sharp) ** 2).sum(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize(("model", "activation"), [*((model, "elu") for model in MODELS), ("hyper-grand", "relu")])
def test_the_engine_trains_as_a_plain_loop_does(data, model, activation):
    config = replace(SMALL, model=model, consistency=0.7, temperature=0.4, activation=activation)
    trials = {trial.seed: trial for trial in train(Plan.of(Task.of(data, config), config), config, [1, 2])}
    assert trials[2].curves["train_loss"] == pytest.approx(plain_losses(data, config, 2, 8), rel=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_in_evaluation_every_row_is_scaled_by_its_share(data, model):
    config = replace(SMALL, model=model, row_dropout=0.3)
    network = Network(config, data.n_features, data.n_classes).eval()
    expected = plain_scores(dict(network.named_parameters()), data.features(), transition(data, model), config)
    given = {"graph": data.graph, "hypergraph": data.hypergraph}
    torch.testing.assert_close(network(data.features(), **given), expected, rtol=1e-4, atol=1e-5)


def test_blocks_give_the_rows_of_the_whole(data):
    H, x = data.hypergraph, torch.rand(60, 4, dtype=torch.float64)
    last = H.around([3, 41])
    first = H.around(last.read)
    whole = mean_of_powers(x, ("hypergraph",), [(H,), (H,)])
    torch.testing.assert_close(mean_of_powers(x[first.read], ("hypergraph",), [(first,), (last,)]), whole[last.made])


def test_the_validation_part_gives_the_scores_of_the_whole(data):
    config = replace(SMALL, steps=1)
    plan = Plan.of(Task.of(data, config), config)
    network = Network(config, data.n_features, data.n_classes).eval()
    whole = network(plan.task.x, hypergraph=data.hypergraph)[plan.task.val]
    part = plan.validation
    torch.testing.assert_close(network._scores(part.x, part.steps)[part.rows], whole)
    assert plan.training.y.shape == plan.task.y.shape  # the consensus is about every vertex


def test_the_disagreement_of_numbers_is_their_variance():
    draws = [torch.tensor([[[1.0]]]), torch.tensor([[[3.0]]])]
    assert disagreement(draws, None).item() == 1.0


def test_the_consensus_is_sharpened_and_is_no_variable():
    draws = [torch.tensor([[[1.0, 0.0]]], requires_grad=True), torch.tensor([[[0.5, 0.0]]], requires_grad=True)]
    values = [disagreement(draws, temperature).item() for temperature in (1.0, 0.5)]
    assert values[0] < values[1]
    disagreement(draws, 0.5).sum().backward()
    P = [one.detach().softmax(-1) for one in draws]
    sharp = ((P[0] + P[1]) / 2) ** 2
    sharp /= sharp.sum()
    fixed = draws[0].detach().requires_grad_()
    ((fixed.softmax(-1) - sharp) ** 2).sum().div(2).backward()
    torch.testing.assert_close(draws[0].grad, fixed.grad)


def test_a_model_file_and_a_prediction(data, tmp_path):
    run = hg.training.fit(data, replace(SMALL, max_epochs=2), out=tmp_path)
    model = hg.load(tmp_path / "model.safetensors")
    assert model.network.config.steps == 3
    probability = hg.training.predict(model, data)
    right = probability.argmax(1)[data.test] == data.y[data.test]
    assert 100 * right.mean() == pytest.approx(run.records[0].test_accuracy)
    assert model.network.hidden(data.features(), hypergraph=data.hypergraph).shape == (60, 8)


def test_settings_without_effect_are_refused():
    with pytest.raises(ValueError, match="draws must be left at its default without a model of random propagation"):
        Config(draws=2)
    with pytest.raises(ValueError, match="skip must be False"):
        Config(model="hyper-grand", skip=True)
    with pytest.raises(ValueError, match="temperature must be positive"):
        Config(model="hyper-grand", temperature=0.0)
    with pytest.raises(ValueError, match="alpha must be left at its default"):
        Config(alpha=0.2)
    with pytest.raises(ValueError, match="residual='initial' needs one of the models hyper-conv"):
        Config(model="mlp", residual="initial")
