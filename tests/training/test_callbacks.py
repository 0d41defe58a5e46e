"""Callbacks see the losses of each epoch, can stop training, and change no result."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import hypergnn as hg
from hypergnn.training import Losses

CONFIG = hg.Config(max_epochs=4, hidden=2, heads=2)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    H = hg.Hypergraph.from_hyperedges([rng.choice(40, 5, replace=False) for _ in range(30)], n_vertices=40)
    x = np.float32(rng.random((40, 6)))
    split = np.arange(20), np.arange(20, 30), np.arange(30, 40)
    return hg.Dataset("small", x, np.arange(40) % 2, ("a", "b"), None, H, *split, "made up")


def without_time(result):
    return [replace(record, seconds=0.0) for record in result.records]


def test_losses_of_the_trials_trained_together_are_passed(data, tmp_path):
    seen = []
    threads = torch.get_num_threads()
    found = hg.training.fit(
        data, CONFIG, trials=3, batch=2, out=tmp_path, on_epoch=lambda epoch, losses: seen.append((epoch, losses))
    )
    assert [epoch for epoch, _ in seen] == [0, 1, 2, 3] * 2
    assert [losses.seeds for _, losses in seen[::4]] == [(0, 1), (2,)]
    assert all(isinstance(losses, Losses) and losses.train.shape == losses.val.shape for _, losses in seen)
    assert found.records[0].val_loss == pytest.approx(min(losses.val[0] for _, losses in seen[:4]), rel=1e-5)
    assert torch.get_num_threads() == threads
    assert without_time(found) == without_time(hg.training.fit(data, CONFIG, trials=3, jobs=1))


def test_a_callback_stops_the_run_by_returning_true(data, tmp_path):
    def stop(_, losses):
        return np.bool_(1 in losses.seeds)

    found = hg.training.fit(data, CONFIG, trials=3, batch=1, out=tmp_path, on_epoch=stop)
    assert (found.interrupted, [record.seed for record in found.records]) == (True, [0])
    rest = hg.training.fit(data, CONFIG, trials=3, batch=1, out=tmp_path, jobs=1)
    assert without_time(rest) == without_time(hg.training.fit(data, CONFIG, trials=3, batch=1, jobs=1))


def test_what_a_callback_raises_leaves_fit(data):
    def fail(epoch, _):
        raise LookupError(f"epoch {epoch}")

    with pytest.raises(LookupError, match="epoch 0"):
        hg.training.fit(data, CONFIG, on_epoch=fail)
    with pytest.raises(ValueError, match=r"jobs must be 1 or omitted with on_epoch, .*; got 2"):
        hg.training.fit(data, CONFIG, on_epoch=fail, jobs=2)


def test_progress_is_reported_beside_the_callback(data):
    seen = []
    hg.training.fit(data, CONFIG, trials=2, on_progress=seen.append, on_epoch=lambda *_: None)
    assert (seen[-1].done, seen[-1].epochs) == (2, 8)
