"""Run folders whose trials or curves do not fit each other end in a sentence."""

import json
import shutil

import pytest

import hypergnn as hg
from hypergnn.cli import main
from hypergnn.persistence import tensor_files


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of two trials with curves, without its network."""
    folder = tmp_path_factory.mktemp("run")
    config = hg.Config(max_epochs=2, hidden=2, heads=1)
    hg.training.fit(hg.datasets.load("digits"), config, trials=2, out=folder, curves=True, jobs=1)
    (folder / "model.safetensors").unlink()
    return folder


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        (
            "trials.jsonl",
            {"test_accuracy": float("nan")},
            "test_accuracy must be a finite number; got nan",
        ),
        ("trials.jsonl", {"test_accuracy": "high"}, "test_accuracy must be a finite number; got 'high'"),
        ("trials.jsonl", {"seconds": [1]}, "seconds must be a finite number; got [1]"),
        ("trials.jsonl", {"val_loss": "x"}, "val_loss must be a finite number"),
        ("curves.jsonl", {"val_loss": None}, "a list of numbers for val_loss of each seed; those of seed 1 do not"),
        ("curves.jsonl", {"train_loss": ["x", 2]}, "a list of numbers for train_loss"),
        ("curves.jsonl", {"train_loss": "text"}, "a list of numbers for train_loss"),
    ],
)
def test_trials_that_do_not_fit_each_other(finished, tmp_path, capsys, file, changes, message):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    first, second = map(json.loads, (folder / file).read_text().splitlines())
    first.pop("check", None), second.pop("check", None)  # a line without a checksum is read as it is
    entries = [first, {key: value for key, value in {**second, **changes}.items() if value is not None}]
    (folder / file).write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    assert main(["report", str(folder), "--quiet"]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1


def test_an_estimator_is_not_taken_for_a_network(tmp_path, capsys):
    tensor_files.write(tmp_path / "wine.safetensors", "Estimator", 1, {}, {})
    assert main(["predict", str(tmp_path / "wine.safetensors"), "digits"]) == 2
    assert "holds an estimator. Load it in Python, with hypergnn.load" in capsys.readouterr().err
