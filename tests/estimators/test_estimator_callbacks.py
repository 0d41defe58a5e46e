"""Callbacks of the estimators: they see each epoch, end training early and change nothing else."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine

import hypergnn as hg

X, Y = load_wine(return_X_y=True)
MAKERS = [
    lambda **options: hg.HypergraphClassifier("hyper-conv", **options),
    lambda **options: hg.HypergraphRegressor("mlp", **options),
    lambda **options: hg.HypergraphEmbedding(trained=True, **options),
]


@pytest.mark.parametrize("make", MAKERS)
def test_each_epoch_is_reported_and_nothing_changes(make):
    seen = []
    options = {"max_epochs": 5, "random_state": 0}
    model = make(on_epoch=lambda epoch, losses: seen.append((epoch, losses)), **options).fit(X, Y)
    assert [epoch for epoch, _ in seen] == [0, 1, 2, 3, 4]
    assert [float(losses.train[0]) for _, losses in seen] == model.loss_curve_
    assert all(losses.val is None for _, losses in seen)
    assert make(**options).fit(X, Y).loss_curve_ == model.loss_curve_
    assert clone(model).on_epoch is model.on_epoch


def test_held_out_labels_have_losses_too():
    seen = []
    hg.HypergraphClassifier(
        "mlp", early_stopping=True, max_epochs=3, random_state=0, on_epoch=lambda _, losses: seen.append(losses.val)
    ).fit(X, Y)
    assert np.isfinite(np.concatenate(seen)).all()
    assert len(seen) == 3


@pytest.mark.parametrize("make", MAKERS)
def test_training_ends_when_the_callback_returns_true(make):
    model = make(max_epochs=50, random_state=0, on_epoch=lambda epoch, _: epoch == 6).fit(X, Y)
    assert model.n_epochs_ == len(model.loss_curve_) == 7
    short = make(max_epochs=7, random_state=0).fit(X, Y)
    result = "embedding_" if hasattr(model, "embedding_") else "transduction_"
    assert_array_equal(getattr(model, result), getattr(short, result))


def test_what_a_callback_raises_leaves_fit():
    def fail(epoch, _):
        raise LookupError(f"epoch {epoch}")

    with pytest.raises(LookupError, match="epoch 0"):
        hg.HypergraphClassifier("mlp", on_epoch=fail).fit(X, Y)


@pytest.mark.slow
def test_the_weighted_models_report_networks_that_count():
    seen = []
    model = hg.HypergraphRegressor(max_epochs=3, random_state=0, on_epoch=lambda epoch, _: seen.append(epoch))
    model.fit(X[:60, :5], X[:60, 5])
    n_networks = sum(entry["weight"] > 0 for entry in model.report_ if entry["candidate"].startswith("network"))
    assert seen == [0, 1, 2] * n_networks
