"""The recipes of docs/tune.md for other tools run as they are printed, where the tools are installed."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

import hypergnn as hg

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the other tools
PAGE = Path(__file__).parents[2] / "docs" / "tune.md"


def recipe(start, n_lines=3):
    blocks = re.findall(r"(?ms)^```\n(.*?)^```$", PAGE.read_text())
    (found,) = [block for block in blocks if block.startswith(start)]
    assert len(found.splitlines()) == n_lines
    return found


def run(code):
    X, y = load_wine(return_X_y=True)
    names = {"hg": hg, "X": X[::2], "few": np.where(np.arange(89) % 2 == 0, y[::2], -1)}
    exec(code, names)
    return names


def test_tensorboard(tmp_path, monkeypatch):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    monkeypatch.chdir(tmp_path)
    run(recipe("from torch.utils.tensorboard import"))["writer"].close()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator("runs/wine")
    read.Reload()
    assert len(read.Scalars("loss")) == 100


def test_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    run(recipe("import mlflow"))
    (last,) = mlflow.search_runs(output_format="list")
    assert 0 < last.data.metrics["loss"] < 1


@pytest.fixture
def optuna():
    optuna = pytest.importorskip("optuna", reason="optuna is not installed")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


@pytest.mark.slow
@pytest.mark.usefixtures("optuna")
def test_optuna():
    assert run(recipe("import optuna\nobjective"))["study"].best_value > 0.8


@pytest.mark.slow
def test_optuna_ends_hopeless_trials(optuna):
    study = run(recipe("import optuna\ndef objective", n_lines=9))["study"]
    ended = [trial for trial in study.trials if trial.state == optuna.trial.TrialState.PRUNED]
    assert 0 < len(ended) < len(study.trials) == 10
    assert study.best_value > -1
