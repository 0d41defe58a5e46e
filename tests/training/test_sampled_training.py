"""Training on mini-batches: reproducible, resumed to the bit, in the same run folders."""

import json
import signal
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.forks import Program

import hypergnn as hg
from hypergnn.cli import main
from hypergnn.models import config_from
from hypergnn.training import fit
from hypergnn.training import sampled as sampling
from hypergnn.training.checkpoints import Checkpoints
from hypergnn.training.ledger import read
from hypergnn.training.plan import Task

CONFIG = hg.Config(hidden=4, heads=2, max_epochs=3, dropout=0.3, batch_size=40, fanout=((3, 4), (3, 4)))


@pytest.fixture(scope="module")
def data():
    return hg.datasets.load("digits")


def equal(one, other):
    """Whether two records are the same but for the time."""
    mine, yours = one.to_json(), other.to_json()
    assert {**mine, "seconds": 0} == {**yours, "seconds": 0}


def test_a_run_folder_as_of_other_trainings(data, tmp_path):
    seen = []
    run = fit(data, CONFIG, trials=2, out=tmp_path, curves=True, on_progress=seen.append)
    stored = read(tmp_path)
    assert [record.epochs for record in run.records] == [3, 3]
    assert len(stored.curves(1)["val_loss"]) == 3
    model = hg.load(tmp_path / "model.safetensors")
    assert model.network.config == CONFIG
    assert hg.training.predict(model, data).shape == (1797, 10)
    best = min(stored.records, key=lambda record: record.val_loss)
    accuracy = 100 * (hg.training.predict(model, data).argmax(1) == data.y)[data.test].mean()
    assert accuracy == pytest.approx(best.test_accuracy)
    again = fit(data, CONFIG, trials=1)
    equal(again.records[0], run.records[0])
    assert [one.to_json() for one in fit(data, CONFIG, trials=2, out=tmp_path).records] == [
        one.to_json() for one in run.records
    ]


def test_a_large_hypergraph_is_evaluated_part_by_part(data, monkeypatch):
    at_once = fit(data, CONFIG).records[0]
    monkeypatch.setattr(sampling, "AT_ONCE", 0)
    part_by_part = fit(data, CONFIG).records[0]
    assert part_by_part.val_loss == pytest.approx(at_once.val_loss, rel=1e-4)


def test_all_neighbours_in_one_batch_is_training_on_everything(data):
    config = {"hidden": 4, "heads": 2, "max_epochs": 4, "dropout": 0.0}
    whole = fit(data, hg.Config(**config)).records[0]
    batch = fit(data, hg.Config(**config, batch_size=10**6)).records[0]
    assert batch.train_loss == pytest.approx(whole.train_loss, rel=1e-5)
    assert batch.val_loss == pytest.approx(whole.val_loss, rel=1e-5)


def test_the_first_step_with_control_variates_is_that_on_everything(data):
    few = {"hidden": 4, "heads": 2, "max_epochs": 1, "dropout": 0.0}
    sampled = {**few, "batch_size": 10**6, "fanout": ((1, 1), (1, 1))}
    losses = []
    for config in (few, sampled, {**sampled, "control_variates": True}):
        fit(data, hg.Config(**config), on_epoch=lambda _, found: losses.append(float(found.train[0])))
    whole, plain, varied = losses
    assert varied == pytest.approx(whole, rel=1e-5)
    assert plain != pytest.approx(whole, rel=1e-5)


def test_other_models(data):
    for model in ("hyper-attention", "hyper-sage"):
        config = hg.Config(model=model, hidden=2, heads=1, max_epochs=1, batch_size=100, fanout=((2, 3), (2, 2)))
        assert fit(data, config).records[0].epochs == 1


class StoppedError(Exception):
    """The process is gone."""


@pytest.mark.parametrize("config", [CONFIG, replace(CONFIG, control_variates=True)])
def test_a_trial_continues_from_a_checkpoint_to_the_bit(data, config, tmp_path, monkeypatch):
    expected = fit(data, config, out=tmp_path / "whole", curves=True)
    write = Checkpoints.write
    written = []

    def stop(self, seed, moment):
        write(self, seed, moment)
        written.append(moment.numbers["number"])
        if len(written) == 4:
            raise StoppedError

    monkeypatch.setattr(Checkpoints, "write", stop)
    with pytest.raises(StoppedError):
        fit(data, config, out=tmp_path / "part", curves=True, checkpoint_every=2)
    assert (tmp_path / "part" / "checkpoint-0.safetensors").exists()
    monkeypatch.setattr(Checkpoints, "write", write)
    told = []
    resumed = fit(data, config, out=tmp_path / "part", curves=True, checkpoint_every=2, on_progress=told.append)
    assert 0 < told[-1].epochs < resumed.records[0].epochs, "those of this session"
    equal(resumed.records[0], expected.records[0])
    assert read(tmp_path / "part").curves(0) == read(tmp_path / "whole").curves(0)
    one, other = (hg.load(tmp_path / name / "model.safetensors").network for name in ("whole", "part"))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    assert not (tmp_path / "part" / "checkpoint-0.safetensors").exists()


def test_a_damaged_checkpoint_starts_the_trial_again(data, tmp_path, caplog):
    expected = fit(data, CONFIG, out=tmp_path / "whole")
    fit(data, CONFIG, out=tmp_path / "part", trials=1)
    (tmp_path / "part" / "trials.jsonl").unlink()
    (tmp_path / "part" / "checkpoint-0.safetensors").write_bytes(b"torn")
    again = fit(data, CONFIG, out=tmp_path / "part", checkpoint_every=1000)
    assert "training seed 0 from its beginning" in caplog.text
    equal(again.records[0], expected.records[0])


@pytest.mark.slow
def test_a_killed_run_continues_to_the_bit(data, tmp_path):
    out = tmp_path / "run"
    settings = ["--batch-size", "20", "--fanout", "3x4,3x4", "--hidden", "4", "--heads", "2", "--max-epochs", "30"]
    command = ["train", "digits", *settings, "--out", str(out), "--quiet", "--checkpoint-every", "7"]
    with Program(main, command) as process:
        deadline = time.monotonic() + 120
        while not (out / "checkpoint-0.safetensors").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    assert (out / "checkpoint-0.safetensors").exists()
    assert not (out / "trials.jsonl").exists()
    assert main(command) == 0
    config = hg.Config(hidden=4, heads=2, max_epochs=30, batch_size=20, fanout=((3, 4), (3, 4)))
    equal(read(out).records[0], fit(data, config).records[0])


def test_the_speed_is_shown(data, monkeypatch):
    from hypergnn.training import here

    monkeypatch.setattr(here, "SILENCE", -1)
    seen = []
    fit(data, CONFIG, on_progress=seen.append)
    assert seen[0].vertices_per_second > 0


def test_callbacks_and_stopping(data):
    epochs = []
    run = fit(data, CONFIG, on_epoch=lambda epoch, losses: epochs.append((epoch, losses.seeds)) or epoch == 1)
    assert (run.interrupted, run.records, epochs) == (True, [], [(0, (0,)), (1, (0,))])


def test_settings_of_files():
    assert config_from(json.loads(json.dumps(CONFIG.settings()))) == CONFIG
    varied = replace(CONFIG, control_variates=True)
    assert config_from(json.loads(json.dumps(varied.settings()))) == varied
    assert not {"batch_size", "control_variates"} & hg.Config().settings().keys()


BAD = {
    "fanout needs batch_size": {"fanout": ((1, 1), (1, 1))},
    "fanout must have 2 entries, one per layer; got 1": {"batch_size": 5, "fanout": ((1, 1),)},
    "batch_size needs one of the models hyper-conv": {"batch_size": 5, "model": "gcn"},
    "batch_size needs one direction": {"batch_size": 5, "direction": "both"},
    "batch_size must be at least 1": {"batch_size": 0},
}


@pytest.mark.parametrize("words", BAD)
def test_bad_settings(words):
    with pytest.raises(ValueError, match=words):
        hg.Config(**BAD[words])


def test_bad_arguments(data, tmp_path):
    with pytest.raises(ValueError, match="checkpoint_every needs a configuration with batch_size"):
        fit(data, hg.Config(), checkpoint_every=5, out=tmp_path)
    with pytest.raises(ValueError, match="out must be given with checkpoint_every"):
        fit(data, CONFIG, checkpoint_every=5)
    with pytest.raises(ValueError, match=r"batch and jobs must be omitted .*; got batch=None, jobs=2"):
        fit(data, CONFIG, jobs=2, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_classifiers_train_on_batches(data):
    x, y = data.x[:300], data.y[:300]
    options = {"max_epochs": 30, "batch_size": 64, "fanout": [(4, 6), (4, 6)], "random_state": 0}
    model = hg.HypergraphClassifier("hyper-conv", **options).fit(x, y)
    assert model.score(x, y) > 0.9
    again = hg.HypergraphClassifier("hyper-conv", **options).fit(x, y)
    np.testing.assert_array_equal(model.label_distributions_, again.label_distributions_)
    with pytest.raises(ValueError, match="batch_size and fanout must be None with model='auto'"):
        hg.HypergraphClassifier(**options).fit(x, y)
    with pytest.raises((ValueError, TypeError), match=r"fanout must be a list with a pair .*; got 5"):
        hg.HypergraphClassifier("hyper-conv", batch_size=64, fanout=5).fit(x, y)


def test_dropout_differs_between_batches(data, monkeypatch):
    steps = []
    seeded = sampling.seeded

    def note(seeds, step):
        steps.append((tuple(seeds), step))
        return seeded(seeds, step)

    monkeypatch.setattr(sampling, "seeded", note)
    fit(data, CONFIG)
    assert steps == [((0,), step) for step in range(15)]


class TwoProcesses:
    """What one of two processes sees, where the other has a gradient of zero."""

    def __init__(self, rank):
        self.rank, self.size, self.n_steps = rank, 2, 0

    def total(self, value):
        return value

    def average_gradients(self, parameters):
        self.n_steps += 1
        for one in parameters:
            one.grad /= 2


def test_processes_take_their_own_batches(data):
    seen = []
    for rank in range(2):
        processes = TwoProcesses(rank)
        run = sampling._Run(Task.of(data, CONFIG), CONFIG, 0, None, processes)
        seen.append([batch.number for batch in run.loader.batches(0)])
        run.step(next(iter(run.loader.batches(0))))
        assert (run.n_steps, processes.n_steps) == (1, 1)
    assert seen == [[0, 2, 4], [1, 3, 0]]
