"""The model of a finished run is rebuilt when its file is lost, damaged, or that of another trial."""

import logging

import pytest
from support.points import grouped_points

import hypergnn as hg
from hypergnn.models import Config
from hypergnn.training import TrialRecord, fit
from hypergnn.training.best_model import best_seed, problem

SMALL = Config(hidden=4, heads=2, patience=6, max_epochs=16)


@pytest.fixture(scope="module")
def data():
    return grouped_points()


@pytest.fixture
def finished(data, tmp_path):
    """A finished run of four trials, and the bytes of its model."""
    fit(data, SMALL, trials=4, out=tmp_path, jobs=1)
    return tmp_path, (tmp_path / "model.safetensors").read_bytes()


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "model.safetensors"}


def remove(path):
    path.unlink()


def empty(path):
    path.write_bytes(b"")


def tear(path):
    path.write_bytes(path.read_bytes()[:-100])


def flip(path):
    content = bytearray(path.read_bytes())
    content[-7] ^= 4
    path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [remove, empty, tear, flip])
def test_a_lost_or_damaged_model_is_rebuilt_bit_for_bit(data, finished, caplog, tally, damage):
    folder, model = finished
    before = files(folder)
    damage(folder / "model.safetensors")
    result = fit(data, SMALL, trials=4, out=folder, jobs=1)
    assert (folder / "model.safetensors").read_bytes() == model
    assert files(folder) == before, "records stay as they are"
    assert len(result.records) == 4
    best = min(result.records, key=lambda record: record.val_loss).seed
    assert f"training seed {best} again to rebuild it" in caplog.text
    tally("corrupt bytes: model of a run")


def test_the_model_of_a_worse_trial_is_replaced(data, finished):
    folder, model = finished
    fit(data, SMALL, trials=1, out=folder.with_name("other"), jobs=1)
    (folder / "model.safetensors").write_bytes((folder.with_name("other") / "model.safetensors").read_bytes())
    if (
        hg.load(folder / "model.safetensors").about["seed"] == 0
        and model == (folder / "model.safetensors").read_bytes()
    ):
        pytest.skip("the first trial is the best")
    fit(data, SMALL, trials=4, out=folder, jobs=1)
    assert (folder / "model.safetensors").read_bytes() == model


def test_a_whole_run_is_not_trained_again(data, finished, caplog, monkeypatch):
    folder, _ = finished
    caplog.set_level(logging.DEBUG, logger="hypergnn")
    monkeypatch.setattr("hypergnn.training.trainer._train_all", None)
    fit(data, SMALL, trials=4, out=folder, jobs=1)
    assert not caplog.text


def test_a_lost_model_is_rebuilt_beside_new_trials(data, finished, tmp_path_factory):
    folder, _ = finished
    whole = tmp_path_factory.mktemp("whole")
    fit(data, SMALL, trials=8, out=whole, jobs=1)
    (folder / "model.safetensors").unlink()
    fit(data, SMALL, trials=8, out=folder, jobs=1, batch=3)
    assert (folder / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def record(seed, val_loss):
    return TrialRecord(seed=seed, epochs=3, best_epoch=2, seconds=0.5, test_accuracy=80.0, val_loss=val_loss)


def test_without_validation_losses_there_is_no_best_model(tmp_path):
    assert best_seed([record(0, None)]) is None
    assert problem(tmp_path, [record(0, None)]) is None
    assert best_seed([record(0, 0.5), record(1, 0.25), record(2, None)]) == 1


def test_the_model_of_a_trial_that_was_not_recorded_any_more_is_right(finished):
    """The run was killed between saving the model and recording its trial."""
    folder, _ = finished
    seed = hg.load(folder / "model.safetensors").about["seed"]
    assert problem(folder, [record(seed + 1, 9.0)]) is None
    assert problem(folder, [record(seed, 9.0), record(seed + 1, 8.0)]).startswith(
        f"it is the model of seed {seed}, but"
    )


def test_a_model_file_that_is_a_link_is_not_written_through(data, finished):
    folder, _ = finished
    precious = folder / "precious"
    precious.write_bytes(b"years of work")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(precious)
    with pytest.raises(OSError, match=r"must not be a symbolic link: .*model.safetensors"):
        fit(data, SMALL, trials=4, out=folder, jobs=1)
    assert precious.read_bytes() == b"years of work"
