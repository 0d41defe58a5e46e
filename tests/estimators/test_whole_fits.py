"""A fit that fails leaves the estimator as it was, and warm_start continues only with the same columns and classes."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import hypergnn as hg

X, Y = load_wine(return_X_y=True, as_frame=True)
Y = Y.map({0: "a", 1: "b", 2: "c"}).to_numpy(dtype=object)


def stop(*_):
    raise RuntimeError("stopped")


FAILURES = {
    "another class": lambda model: model.fit(X, np.where(Y == "a", "z", Y)),
    "one class": lambda model: model.fit(X, np.full(len(X), "a", dtype=object)),
    "a column less": lambda model: model.fit(X.iloc[:, 1:], Y),
    "fewer rows, one class": lambda model: model.fit(X[:20], Y[:20]),
    "a callback": lambda model: model.set_params(on_epoch=stop).fit(X[::2], Y[::2]),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_fit_that_fails_changes_nothing(failure):
    model = hg.HypergraphClassifier("hyper-conv", max_epochs=3, warm_start=True, random_state=0).fit(X, Y)
    before, classes = model.predict_proba(X * 1.01), model.classes_
    with pytest.raises((ValueError, RuntimeError)):
        FAILURES[failure](model)
    assert_array_equal(model.classes_, classes)
    assert_array_equal(model.predict_proba(X * 1.01), before)


def test_a_first_fit_that_fails_is_no_fit():
    model = hg.HypergraphClassifier("hyper-conv")
    with pytest.raises(ValueError, match="two classes"):
        model.fit(X, np.full(len(X), "a", dtype=object))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize("model", [hg.HypergraphRegressor("mlp"), hg.CorrectAndSmooth(), hg.HypergraphEmbedding()])
def test_all_estimators_are_restored(model):
    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)))
    y = np.arange(30) % 2
    if "max_epochs" in model.get_params():
        model.set_params(max_epochs=2)
    before = vars(model.fit(numbers, y)).copy()
    with pytest.raises(ValueError, match="sample_weight must have shape"):
        model.fit(numbers, y, sample_weight=np.ones(7))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is one for name, one in before.items())


def test_warm_start_refuses_what_means_something_else():
    model = hg.HypergraphClassifier("hyper-conv", max_epochs=2, warm_start=True, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"whose classes were \['a', 'b', 'c'\]; got \['b', 'c', 'd'\]"):
        model.fit(X, np.where(Y == "a", "d", Y))
    with pytest.raises(ValueError, match="whose columns were"):
        model.fit(X[X.columns[::-1]], Y)
    model.fit(X, Y)
