"""Sampled batches and models that are trained further, by several processes."""

import socket
from dataclasses import replace

import pytest
import torch
from support.ranks import forked

import hypergnn as hg
from hypergnn import distributed
from hypergnn.cli import main
from hypergnn.training.checkpoints import Checkpoints
from hypergnn.training.ledger import read

CONFIG = hg.Config(hidden=4, heads=2, max_epochs=3, batch_size=40, fanout=((3, 4), (3, 4)))
TRAIN = ["train", "digits", "--hidden", "4", "--heads", "2", "--max-epochs", "3", "--quiet"]


@pytest.fixture(scope="module")
def data():
    return hg.datasets.load("digits")


@pytest.fixture
def alone(monkeypatch):
    """Make this process one that torchrun has started, alone."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}.items():
        monkeypatch.setenv(name, value)


def equal(one, other):
    """Whether two records are the same but for the time."""
    assert {**one.to_json(), "seconds": 0} == {**other.to_json(), "seconds": 0}


@pytest.mark.parametrize("config", [CONFIG, replace(CONFIG, control_variates=True)])
def test_one_process_is_fit_to_the_bit(data, config):
    with distributed.start():
        there = distributed.fit_batches(data, config)
    equal(there.records[0], hg.training.fit(data, config).records[0])


@pytest.mark.slow
def test_the_batches_of_two_processes_are_one_batch_and_a_model_goes_on(data, tmp_path):
    exact = [*TRAIN, "--batch-size", "100", "--dropout", "0"]
    ended = forked(2, main, [*exact, "--out", str(tmp_path / "two"), "--checkpoint-every", "1"])
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("test accuracy") == 1
    config = hg.Config(hidden=4, heads=2, max_epochs=3, batch_size=200, dropout=0.0)
    first = hg.training.fit(data, config, out=tmp_path / "one")
    stored = read(tmp_path / "two")
    assert stored.records[0].val_loss == pytest.approx(first.records[0].val_loss, abs=1e-5)
    assert stored.configuration["processes"] == 2
    names = ["model.safetensors", "run.json", "run.lock", "trials.jsonl"]
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == names
    further = ["train", "digits", "--quiet", "--resume-from", str(tmp_path / "two")]
    ended = forked(2, main, [*further, "--out", str(tmp_path / "on")])
    assert ended.returncode == 0, ended.stderr
    more = hg.training.fit(data, start=hg.load(tmp_path / "one" / "model.safetensors"))
    assert read(tmp_path / "on").records[0].val_loss == pytest.approx(more.records[0].val_loss, abs=1e-4)


class StoppedError(Exception):
    """The process is gone."""


def test_a_trial_continues_from_a_checkpoint_to_the_bit(data, tmp_path, monkeypatch):
    write, written = Checkpoints.write, []

    def stop(self, seed, moment):
        write(self, seed, moment)
        written.append(seed)
        if len(written) == 4:
            raise StoppedError

    monkeypatch.setattr(Checkpoints, "write", stop)
    with distributed.start():
        with pytest.raises(StoppedError):
            distributed.fit_batches(data, CONFIG, out=tmp_path, checkpoint_every=2)
        assert (tmp_path / "checkpoint-0.safetensors").exists()
        monkeypatch.setattr(Checkpoints, "write", write)
        resumed = distributed.fit_batches(data, CONFIG, out=tmp_path, checkpoint_every=2)
    equal(resumed.records[0], hg.training.fit(data, CONFIG).records[0])
    assert not (tmp_path / "checkpoint-0.safetensors").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_a_model_is_trained_further_on_shards(data, tmp_path):
    config = hg.Config(hidden=4, heads=2, max_epochs=3)
    hg.training.fit(data, config, out=tmp_path / "one")
    resume = ["train", "digits", "--quiet", "--resume-from", str(tmp_path / "one")]
    assert main([*resume, "--out", str(tmp_path / "two")]) == 0
    expected = hg.training.fit(data, start=hg.load(tmp_path / "one" / "model.safetensors")).records[0]
    assert read(tmp_path / "two").records[0].val_loss == pytest.approx(expected.val_loss, abs=1e-5)
    shards = ["--shards", str(tmp_path / "two-shards-1"), *resume[2:], "--out", str(tmp_path / "three")]
    assert main(["train", *shards]) == 0
    equal(read(tmp_path / "three").records[0], read(tmp_path / "two").records[0])


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_shards_with_other_features_are_refused(data, capsys, tmp_path):
    hg.training.fit(data, hg.Config(hidden=4, heads=2, max_epochs=1), out=tmp_path / "one")
    other = replace(data, x=data.x[:, :10].copy(), feature_names=None)
    distributed.save_shards(other, tmp_path / "shards", 1)
    resume = ["--shards", str(tmp_path / "shards"), "--resume-from", str(tmp_path / "one")]
    assert main(["train", *resume, "--out", str(tmp_path / "two")]) == 2
    assert "--shards must hold the features and classes of the model" in capsys.readouterr().err
    assert not (tmp_path / "two").exists()


def test_bad_arguments(data):
    with distributed.start():
        with pytest.raises(ValueError, match="config must have batch_size"):
            distributed.fit_batches(data, hg.Config())
        with pytest.raises(ValueError, match="out must be given with checkpoint_every"):
            distributed.fit_batches(data, CONFIG, checkpoint_every=3)
        with pytest.raises(ValueError, match="batch_size must be omitted for shards"):
            distributed.fit(_sharded(data), CONFIG)


def _sharded(data):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        distributed.save_shards(data, f"{folder}/shards", 1)
        return distributed.load_data(f"{folder}/shards")


def test_gradients_are_averaged():
    from hypergnn.distributed.batches import _Processes

    parameter = torch.nn.Parameter(torch.ones(2))
    (3 * parameter).sum().backward()
    with distributed.start():
        processes = _Processes()
        processes.size = 2
        processes.average_gradients([parameter])
    assert parameter.grad.tolist() == [1.5, 1.5]
