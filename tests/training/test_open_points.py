"""Training with other weights, with features of hyperedges, and with hyperedges that follow the features."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.points import grouped_points
from torch.testing import assert_close

import hypergnn as hg
from hypergnn.models import Config, Network
from hypergnn.training import fit
from hypergnn.training.engine import train
from hypergnn.training.plan import Plan, Task

SMALL = {"hidden": 4, "heads": 2, "patience": 20, "max_epochs": 12}
SETTINGS = {
    "dynamic": {"model": "dynamic-hyper-conv", "rebuild_every": 5},
    "learned": {"weights": "learned"},
    "inverse frequency": {"weights": "inverse-frequency"},
    "largest": {"model": "hyper-sage", "pool": "max"},
    "attention of SAGE": {"model": "hyper-sage", "pool": "attention"},
    "co-occurrence": {"model": "hyper-attention", "hyperedge_features": "co-occurrence"},
}
EACH = pytest.mark.parametrize("settings", SETTINGS.values(), ids=list(SETTINGS))


def measured(result):
    return [(one.seed, one.epochs, one.best_epoch, one.test_loss) for one in result.records]


@pytest.mark.slow
@EACH
def test_a_trial_is_the_same_alone_together_and_after_a_stop(settings, tmp_path):
    data, config = grouped_points(), Config(**SMALL, **settings)
    together = fit(data, config, trials=4, jobs=1, batch=4, out=tmp_path / "whole")
    assert measured(fit(data, config, trials=4, jobs=1, batch=1)) == measured(together)
    fit(data, config, trials=2, jobs=1, out=tmp_path / "parts")
    resumed = fit(data, config, trials=4, jobs=1, out=tmp_path / "parts")
    assert measured(resumed) == measured(together)
    saved = hg.load(tmp_path / "whole" / "model.safetensors")
    assert saved.network.config == config
    assert hg.training.predict(saved, data).shape == (60, 3)


@pytest.mark.slow
@pytest.mark.parametrize("patience", [1, 3])
def test_trials_that_leave_take_their_hyperedges_along(patience):
    data = grouped_points()
    config = Config(model="dynamic-hyper-conv", hidden=4, heads=2, patience=patience, max_epochs=60, learning_rate=0.05)
    together = measured(fit(data, config, trials=5, jobs=1, batch=5))
    assert len({epochs for _, epochs, _, _ in together}) > 1, "they leave at different times"
    assert together == measured(fit(data, config, trials=5, jobs=1, batch=2))


def test_hyperedges_are_rebuilt_every_few_epochs(monkeypatch):
    data, seen = grouped_points(), []
    config = Config(**SMALL, model="dynamic-hyper-conv", rebuild_every=5)
    plan = Plan.of(Task.of(data, config), config)
    from hypergnn.training import engine

    whole = engine.followed

    def followed(network, x, steps):
        seen.append(whole(network, x, steps))
        return seen[-1]

    monkeypatch.setattr(engine, "followed", followed)
    list(train(plan, config, [0, 1]))
    assert len(seen) == 3, "in epochs 0, 5 and 10"
    assert {len(steps[0][0].each) for steps in seen} == {1}, "the features are the same for all trials"
    assert {len(steps[1][0].each) for steps in seen} == {2}
    (first, *_, last) = (steps[1][0].each[0].to_hyperedges() for steps in seen)
    assert first != last, "hidden features have changed"
    assert seen[0][0][0].each[0].to_hyperedges() == seen[-1][0][0].each[0].to_hyperedges()


def test_how_often_they_are_rebuilt_changes_the_result():
    data = grouped_points()
    often, seldom = (Config(**SMALL, model="dynamic-hyper-conv", rebuild_every=r) for r in (1, 12))
    assert measured(fit(data, often, jobs=1)) != measured(fit(data, seldom, jobs=1))


def test_learned_weights_train_on_blocks_as_on_the_whole():
    data = grouped_points()
    config = Config(**SMALL | {"dropout": 0.5}, weights="learned")
    task = Task.of(data, config)
    plan = Plan.of(task, config)
    assert plan.training.x.shape[0] < 60 or plan.training.steps[-1][0].n_receivers < 60
    network = Network(replace(config, dropout=0.0), task.n_features, task.n_classes)
    with torch.no_grad():
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(0))
        part = network._scores(plan.training.x, plan.training.steps)[plan.training.rows]
        assert_close(part, network(task.x, **task.structures)[task.train])


def test_weights_by_inverse_frequency_are_those_of_the_hypergraph():
    data = grouped_points()
    config = Config(weights="inverse-frequency")
    H = Plan.of(Task.of(data, config), config).task.structures["hypergraph"]
    assert_close(H.weight, torch.log(61 / data.hypergraph.hyperedge_degree()))
    weighted = replace(data, hypergraph=hg.construct.weighted_by_inverse_frequency(data.hypergraph))
    one, other = (Config(**SMALL, weights=how) for how in ("inverse-frequency", "given"))
    assert measured(fit(data, one, jobs=1)) == measured(fit(weighted, other, jobs=1))


def test_attention_compares_vertices_with_the_embedding_of_hyperedges():
    data = grouped_points()
    config = Config(**SMALL, model="hyper-attention", hyperedge_features="co-occurrence")
    network = Network(config, data.n_features, 3).eval()
    x, H = torch.from_numpy(data.x.toarray()), data.hypergraph
    u = hg.functional.co_occurrence(H)
    hidden = torch.nn.functional.elu(network.layers[0](x, H, u))
    assert_close(network(x, hypergraph=H), torch.nn.functional.elu(network.layers[1](hidden, H, u)))


def test_what_does_not_fit_is_one_clear_error():
    for settings, message in (
        ({"weights": "learned", "model": "hyper-sage"}, "weights='learned' needs the model hyper-conv"),
        ({"weights": "inverse-frequency", "model": "gcn"}, "weights needs a model that takes a hypergraph"),
        ({"weights": "heavy"}, "weights must be one of"),
        ({"hyperedge_features": "co-occurrence"}, "hyperedge_features needs the model hyper-attention"),
        ({"pool": "max"}, "pool needs the model hyper-sage"),
        ({"pool": "least", "model": "hyper-sage"}, "pool must be one of"),
        ({"rebuild_every": 5}, "rebuild_every needs the model dynamic-hyper-conv"),
        ({"rebuild_every": 0, "model": "dynamic-hyper-conv"}, "rebuild_every must be"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            Config(**settings)
    assert "weights" not in Config().settings()
    assert "pool" not in Config(model="hyper-sage").settings()
    assert Config(model="hyper-sage", pool="max").settings()["pool"] == "max"
    assert Config(weights="learned").settings()["weights"] == "learned"


def test_a_network_with_features_of_hyperedges_needs_the_whole_hypergraph():
    data = grouped_points()
    config = Config(model="hyper-attention", hyperedge_features="co-occurrence")
    network = Network(config, data.n_features, 3).eval()
    block = data.hypergraph.around(np.array([3]), attention=True)
    with pytest.raises(TypeError, match="H must be a Hypergraph"):
        network(torch.rand(block.read.shape[0], data.n_features), hypergraph=[block, block])


def test_a_network_in_place_of_its_settings_is_refused():
    data = grouped_points()
    with pytest.raises(TypeError, match=r"config must be a hypergnn\.Config; got Network\. Of a network, pass its"):
        fit(data, Network(Config(), data.n_features, data.n_classes))
