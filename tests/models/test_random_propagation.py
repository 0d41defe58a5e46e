"""Random propagation: equal to a plain loop over dense matrices, whichever structures it propagates over."""

from dataclasses import replace

import pytest
import torch
from support.points import grouped_points
from support.structures import adjacency, dense
from torch.nn.functional import cross_entropy, elu, relu

import hypergnn as hg
from hypergnn import kernels, reference
from hypergnn.kernels import Dropout
from hypergnn.kernels.dropout import dropout, seeded
from hypergnn.models import Config, Network, batch_norm
from hypergnn.models.batch_norm import BatchNorm
from hypergnn.models.network import draws
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


@pytest.mark.slow
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


BATCH = replace(SMALL, norm="batch", model="grand+hyper-grand", activation="relu", row_dropout=0.5)


def test_batch_normalisation_is_that_of_torch():
    ours, theirs = BatchNorm(3), torch.nn.BatchNorm1d(3)
    with torch.no_grad():
        for one in (ours.scale, theirs.weight):
            one.copy_(torch.tensor([1.0, 2.0, -0.5]))
    for seed in range(3):
        x = torch.rand(400, 3, generator=torch.Generator().manual_seed(seed), requires_grad=True)
        grads = [torch.autograd.grad(norm(x).square()[:9].sum(), x)[0] for norm in (ours, theirs)]
        torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(ours.mean, theirs.running_mean)
    theirs.running_var -= 0.9**3  # the share of their start value
    torch.testing.assert_close(ours.variance, theirs.running_var, rtol=5e-3, atol=0)  # theirs divides by N - 1


def test_running_means_are_those_of_the_data_from_the_first_step_on():
    norm, x = BatchNorm(3), 1e-3 * torch.rand(50, 3)
    torch.testing.assert_close(norm.eval()(x), x / (1 + 1e-5) ** 0.5)  # the identity before the first step
    made = norm.train()(x)
    torch.testing.assert_close(norm.eval()(x), made)
    more = torch.stack([x, 2 * x])
    norm.train()(more)  # one step with a leading axis that the parameters lack
    mean, _ = norm.running()
    torch.testing.assert_close(mean, (0.09 * x.mean(0) + 0.1 * 1.5 * x.mean(0)) / 0.19)
    norm(x[:0])
    assert norm.running()[0].equal(mean)


def test_running_means_are_never_trained(data, tmp_path):
    run = hg.training.fit(data, BATCH, trials=2, jobs=1, out=tmp_path)
    fresh = Network(BATCH, data.n_features, data.n_classes)
    wanted = {name: one.requires_grad for name, one in fresh.named_parameters()}
    assert not all(wanted.values())
    for network in (run.networks[0], hg.load(tmp_path / "model.safetensors").network, run.ensemble()):
        assert {name: one.requires_grad for name, one in network.named_parameters()} == wanted


@pytest.mark.parametrize("model", ["grand+hyper-grand", "hyper-grand"])
def test_features_of_another_width_are_refused(data, model):
    network = Network(replace(BATCH, model=model), 5, 3).eval()
    given = {"graph": data.graph, "hypergraph": data.hypergraph}
    for width in (1, 4):
        with pytest.raises(ValueError, match="x must have 5 features per vertex; got"):
            network(torch.rand(60, width), **{name: given[name] for name in network.structures})


def test_a_batch_normalised_ensemble_is_the_mean_of_its_members(data):
    run = hg.training.fit(data, BATCH, trials=2, jobs=1)
    mean = sum(hg.training.predict(run.networks[seed], data) for seed in range(2)) / 2
    torch.testing.assert_close(hg.training.predict(run.ensemble(), data), mean, rtol=1e-5, atol=1e-6)


def test_a_product_of_blocks_is_that_of_the_whole(monkeypatch):
    monkeypatch.setattr(batch_norm, "_BLOCK", 7 * 5)  # seven rows; the last block has fewer
    norm, dropped = BatchNorm(5), Dropout(0.4, torch.tensor([[1, 2], [3, 4]], dtype=torch.int32))
    draw = torch.Generator().manual_seed(0)
    x, projection = (torch.rand(2, n, width, generator=draw, dtype=torch.float64) for n, width in ((30, 5), (5, 3)))
    for name, one in list(norm.named_parameters()):
        setattr(norm, name, torch.nn.Parameter(one.detach().double() + torch.rand(2, 5, generator=draw)))
    given = [norm.scale, norm.shift, projection.requires_grad_()]
    found = norm.product(x, projection, dropped)
    expected = kernels.seeded_dropout(norm(x), dropped) @ projection
    torch.testing.assert_close(found, expected)
    slope = torch.rand(2, 30, 3, generator=draw, dtype=torch.float64)
    pairs = zip(*(torch.autograd.grad(one, given, slope) for one in (found, expected)), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other)


def plain_normalized(network, rows, masks):
    """The scores of propagated features by torch's own layers, in training."""
    own = dict(network.named_parameters())
    for number, mask in enumerate(masks):
        centred = rows - rows.mean(0)
        rows = centred / (centred.square().mean(0) + 1e-5).sqrt()
        rows = mask * (rows * own[f"norms.{number}.scale"] + own[f"norms.{number}.shift"])
        rows = rows @ own[f"layers.{number}.projection"] + own[f"layers.{number}.bias"]
        rows = relu(rows) if number == 0 else rows
    return rows


@pytest.mark.parametrize("row_dropout", [0.5, 0.3])
def test_draws_are_normalised_and_come_in_pairs_that_drop_each_others_rows(data, row_dropout):
    config = replace(BATCH, row_dropout=row_dropout)
    plan = Plan.of(Task.of(data, config), config)
    network = Network(config, data.n_features, data.n_classes)
    X, T = data.features(), transition(data, config.model)
    mixed = sum(torch.linalg.matrix_power(T, k) for k in range(config.steps + 1)) / (config.steps + 1)
    with seeded([7], 0):
        for parameter in network.parameters():
            parameter.data = parameter.data.unsqueeze(0)
        found = draws(network, plan.training.x.expand(1, -1, -1), plan.training.steps, plan.training.known)
    for parameter in network.parameters():
        parameter.data = parameter.data[0]
    assert len(found) == 3
    with seeded([7], 0):
        for number, scores in enumerate(found):
            if number % 2 == 0 or row_dropout != 0.5:
                rows = (dropout(torch.ones(1, 60, 1), row_dropout)[0] > 0).float()
            else:
                rows = 1 - rows
            widths = ((data.n_features, config.first_dropout), (8, config.dropout))
            masks = [dropout(torch.ones(1, 60, width), rate)[0] for width, rate in widths]
            torch.testing.assert_close(
                scores[0], plain_normalized(network, mixed @ (rows * X), masks), atol=1e-4, rtol=1e-3
            )


def test_a_batch_normalised_network_is_trained_evaluated_and_saved(data, tmp_path):
    run = hg.training.fit(data, BATCH, trials=3, batch=2, jobs=1, out=tmp_path)
    model = hg.load(tmp_path / "model.safetensors")
    norm = model.network.norms[0]
    assert norm.mean.abs().sum() > 0
    assert not norm.variance.eq(1).any()  # the running ones
    probability = hg.training.predict(model, data)
    best = min(run.records, key=lambda record: record.val_loss)
    right = probability.argmax(1)[data.test] == data.y[data.test]
    assert 100 * right.mean() == pytest.approx(best.test_accuracy)
    assert model.network.hidden(data.features(), graph=data.graph, hypergraph=data.hypergraph).shape == (60, 8)


def test_a_batch_normalised_trial_does_not_depend_on_others(data):
    x = torch.rand(60, 33, generator=torch.Generator().manual_seed(1))  # rows of projections that are not aligned
    wide, config = replace(data, x=x), replace(BATCH, hidden=10, heads=1, max_epochs=10)
    alone, together = (hg.training.fit(wide, config, trials=3, batch=batch, jobs=1) for batch in (1, 3))
    assert [one.val_loss for one in together.records] == [one.val_loss for one in alone.records]


def test_the_gradient_of_a_normalised_product_does_not_depend_on_other_trials():
    draw = torch.Generator().manual_seed(0)
    x, projection, slope = (torch.rand(3, *shape, generator=draw) for shape in ((60, 33), (33, 10), (60, 10)))
    keys = torch.tensor([[1, 2], [3, 4], [5, 6]], dtype=torch.int32)

    def gradient(trials):
        given = projection[trials].clone().requires_grad_()
        norm = BatchNorm(33)
        for name, one in list(norm.named_parameters()):
            setattr(norm, name, torch.nn.Parameter(one.detach().expand(len(given), -1).clone()))
        norm.product(x[trials].clone(), given, Dropout(0.4, keys[trials])).backward(slope[trials])
        return given.grad

    together = gradient(slice(None))
    for trial in range(3):
        assert torch.equal(together[trial], gradient(slice(trial, trial + 1))[0])


def test_transformed_training_changes_no_running_mean():
    norm, x = BatchNorm(3), torch.rand(4, 50, 3)
    torch.testing.assert_close(torch.func.vmap(norm)(x), torch.stack([BatchNorm(3)(one) for one in x]))
    assert norm.share == 0


def test_in_evaluation_a_batch_normalised_network_needs_blocks_only(data):
    config = replace(BATCH, model="hyper-grand", steps=2)
    plan = Plan.of(Task.of(data, config), config)
    network = Network(config, data.n_features, data.n_classes)
    network(plan.task.x, hypergraph=data.hypergraph)  # updates the running means
    whole = network.eval()(plan.task.x, hypergraph=data.hypergraph)
    part = plan.validation
    torch.testing.assert_close(network._scores(part.x, part.steps, part.known)[part.rows], whole[plan.task.val])
    last = data.hypergraph.around([3, 41])
    first = data.hypergraph.around(last.read)
    torch.testing.assert_close(network(plan.task.x[first.read], hypergraph=[first, last]), whole[last.made])


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
    with pytest.raises(ValueError, match="norm='pair' needs layers of one kind over given structures; got 'hyper-gra"):
        Config(model="hyper-grand", norm="pair")
    with pytest.raises(
        ValueError, match=r"norm='batch' needs one of the models grand, hyper-grand, .*; got 'hyper-conv"
    ):
        Config(norm="batch")
    with pytest.raises(ValueError, match="skip must be False"):
        Config(model="hyper-grand", skip=True)
    with pytest.raises(ValueError, match="temperature must be positive"):
        Config(model="hyper-grand", temperature=0.0)
    with pytest.raises(ValueError, match="alpha must be left at its default"):
        Config(alpha=0.2)
    with pytest.raises(ValueError, match="residual='initial' needs one of the models hyper-conv"):
        Config(model="mlp", residual="initial")
