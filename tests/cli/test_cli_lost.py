"""What the command line says when a worker, a model or a record is lost."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from hypergnn.cli import main
from hypergnn.training import worker

TINY = ["--hidden", "2", "--heads", "1", "--max-epochs", "3"]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "digits", *TINY, "--trials", "2", "--out", "run", "--quiet"]) == 0
    capsys.readouterr()
    return Path("run")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="workers are processes on Linux only")
def test_trials_that_lose_their_worker_are_listed_with_exit_code_2(tmp_path, monkeypatch, capsys):
    train = worker.train

    def deadly(plan, config, seeds, *, on_epoch):
        if 1 in seeds:
            os.kill(os.getpid(), signal.SIGKILL)
        return train(plan, config, seeds, on_epoch=on_epoch)

    monkeypatch.setattr(worker, "train", deadly)
    command = ["train", "digits", *TINY, "--trials", "3", "--jobs", "2", "--batch", "1", "--out", str(tmp_path / "run")]
    assert main([*command, "--quiet"]) == 2
    printed = capsys.readouterr()
    assert "(2 trials, " in printed.out
    assert (
        "hypergnn: 1 trial could not be trained:\n  seed 1: its worker was killed by SIGKILL, probably" in printed.err
    )
    assert main([*command, "--json", "--quiet"]) == 2
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert (failure["seed"], failure["exit_code"]) == (1, -9)
    monkeypatch.setattr(worker, "train", train)
    assert main(command) == 0


@pytest.mark.slow
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-9])])
@pytest.mark.parametrize("command", [["predict", "run"], ["explain", "run", "0"]])
def test_a_lost_model_is_reported_with_the_way_to_rebuild_it_and_that_way_works(run, capsys, damage, command):
    model = (run / "model.safetensors").read_bytes()
    damage(run / "model.safetensors")
    assert main(command) == 2
    assert "Run the `hypergnn train` command of this run again" in capsys.readouterr().err
    assert main(["train", "digits", *TINY, "--trials", "2", "--out", "run", "--quiet"]) == 0
    assert (run / "model.safetensors").read_bytes() == model
    assert main(command) == 0


def test_a_model_file_outside_a_run_has_no_such_way(run, capsys):
    (run / "model.safetensors").write_bytes(b"x")
    assert main(["predict", "run/model.safetensors"]) == 2
    assert "again" not in capsys.readouterr().err
