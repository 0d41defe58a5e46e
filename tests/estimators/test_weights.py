"""Weights of rows and classes, warm starts, threads and devices: what they change, and what they must not change."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier

import hypergnn as hg
from hypergnn.estimators.weights import class_weights

QUICK = {"max_epochs": 30, "random_state": 0}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, y, np.where(np.arange(y.size) % 4 == 0, y, -1)


def classifier(**options):
    return hg.HypergraphClassifier("hyper-conv", **{**QUICK, **options})


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_equal_weights_change_nothing_but_the_last_bits(wine, kind):
    X, y, _ = wine
    model = classifier() if kind == "classifier" else hg.HypergraphRegressor("hyper-conv", **QUICK)
    target = y if kind == "classifier" else X[:, 0]
    found = []
    for weight in (None, np.full(y.size, 3.0)):
        model.fit(X, target, sample_weight=weight)
        found.append(model.predict(X) if kind == "regressor" else model.label_distributions_)
    assert_allclose(*found, rtol=2e-3)


def test_a_row_without_weight_teaches_nothing(wine):
    X, y, few = wine
    wrong = np.where(few < 0, (y + 1) % 3, few)  # false labels, all of them without weight
    weighed = classifier().fit(X, wrong, sample_weight=few >= 0)
    assert_allclose(weighed.label_distributions_, classifier().fit(X, few).label_distributions_, atol=1e-4)
    far = np.where(few < 0, 1e6, X[:, 0])
    model = hg.HypergraphRegressor("mlp", **QUICK).fit(X, far, sample_weight=few >= 0)
    known = np.where(few < 0, np.nan, X[:, 0])
    assert_allclose(model.transduction_, hg.HypergraphRegressor("mlp", **QUICK).fit(X, known).transduction_, rtol=1e-3)
    whole = hg.HypergraphRegressor(max_epochs=3, max_time=0, random_state=0).fit(X, far, sample_weight=few >= 0)
    assert np.abs(whole.transduction_).max() < 100


@pytest.mark.slow
def test_weights_move_the_decision(wine):
    X, y, _ = wine
    X = X[:, :1]  # one feature leaves the classes mixed
    share = [
        (classifier(class_weight=weight).fit(X, y).transduction_ == 2).mean() for weight in ({2: 0.05}, None, {2: 20})
    ]
    assert share[0] < share[1] < share[2]
    by_row = classifier().fit(X, y, sample_weight=np.where(y == 2, 20.0, 1.0))
    assert_array_equal(by_row.transduction_, classifier(class_weight={2: 20}).fit(X, y).transduction_)


def test_corrected_classifiers_take_weights(wine):
    X, y, few = wine
    wrong = np.where(few < 0, (y + 1) % 3, few)
    model = hg.CorrectAndSmooth(random_state=0).fit(X, wrong, sample_weight=few >= 0)
    assert_allclose(model.label_distributions_, hg.CorrectAndSmooth(random_state=0).fit(X, few).label_distributions_)
    with pytest.raises(TypeError, match=r"sample_weight must be left out: KNeighborsClassifier\.fit does not take it"):
        hg.CorrectAndSmooth(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(y.size))
    for one in (hg.CorrectAndSmooth(), classifier(), hg.HypergraphEmbedding(trained=True), hg.HypergraphClassifier()):
        with pytest.raises(ValueError, match="positive for some labelled rows"):
            one.fit(X, few, sample_weight=few < 0)


def test_balanced_weights_are_those_of_the_labels():
    codes = np.array([0, 0, 0, 1, -1, -1])
    assert_allclose(class_weights("balanced", np.array(["a", "b"]), codes), [2 / 3] * 3 + [2, 1, 1])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], r"sample_weight must have shape \(178,\), one weight per row of X; got \(1,\)"),
        ([-1.0] * 178, "finite numbers of at least 0"),
        ([np.nan] * 178, "finite numbers of at least 0"),
        ([0.0] * 178, "all of them are zero"),
    ],
)
def test_weights_that_cannot_be_are_refused(wine, weight, message):
    for model in (classifier(), hg.HypergraphRegressor("mlp", **QUICK), hg.HypergraphEmbedding()):
        with pytest.raises(ValueError, match=message):
            model.fit(wine[0], wine[1], sample_weight=weight)


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        ({7: 1.0}, ValueError, "class_weight must name classes of y, 0, 1, 2; got 7"),
        ({0: -1.0}, ValueError, "class_weight must hold finite numbers"),
        ("even", TypeError, "class_weight must be 'balanced', a dictionary"),
    ],
)
def test_class_weights_that_cannot_be_are_refused(wine, weight, error, message):
    with pytest.raises(error, match=message):
        classifier(class_weight=weight).fit(*wine[:2])


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        classifier,
        lambda **options: hg.HypergraphRegressor("mlp", **{**QUICK, **options}),
        lambda **options: hg.HypergraphEmbedding(trained=True, **{**QUICK, **options}),
    ],
)
def test_a_warm_start_continues_the_network(wine, make):
    X, y, _ = wine
    once = make(warm_start=True).fit(X, y)
    first = once.loss_curve_
    again = once.fit(X, y)
    assert again.loss_curve_[0] < (first[0] + first[-1]) / 2
    cold = make().fit(X, y)
    assert cold.loss_curve_ == first == cold.fit(X, y).loss_curve_


def test_a_warm_start_needs_the_same_sizes(wine):
    X, y, _ = wine
    model = classifier(warm_start=True).fit(X, y)
    with pytest.raises(
        ValueError, match="warm_start and partial_fit continue the previous network, which must have the same"
    ):
        model.fit(X[:, :5], y)


def test_the_number_of_threads_changes_nothing(wine):
    X, y, _ = wine
    before = torch.get_num_threads()
    one, two, every = (classifier(n_jobs=n_jobs).fit(X, y).label_distributions_ for n_jobs in (None, 2, -1))
    assert_array_equal(one, two)
    assert_array_equal(one, every)
    assert torch.get_num_threads() == before
    for n_jobs in (0, 1.5, True):
        with pytest.raises(ValueError, match="n_jobs must be a whole number other than 0"):
            classifier(n_jobs=n_jobs).fit(X, y)


def test_devices(wine):
    X, y, _ = wine
    expected = classifier().fit(X, y).label_distributions_
    for device in ("cpu", torch.device("cpu"), None):
        assert_array_equal(classifier(device=device).fit(X, y).label_distributions_, expected)
    with pytest.raises(ValueError, match=r"device must be one that torch can use here, e\.g\. 'cpu'; got 'abacus'"):
        classifier(device="abacus").fit(X, y)
