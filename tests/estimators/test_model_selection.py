"""Cross-validation with unlabelled rows: what is held out, and that scikit-learn's tools work with it."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

import hypergnn as hg
from hypergnn.model_selection import LabelledKFold, transductive_scores

QUICK = {"max_epochs": 20, "random_state": 0}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, y, np.where(np.arange(y.size) % 4 == 0, y, -1)


@pytest.mark.parametrize("shuffle", [True, False])
def test_each_labelled_row_is_held_out_once_and_unlabelled_rows_never(wine, shuffle):
    X, _, few = wine
    parts = list(LabelledKFold(4, shuffle=shuffle, random_state=0).split(X, few))
    assert_array_equal(np.sort(np.concatenate([test for _, test in parts])), np.flatnonzero(few >= 0))
    for train, test in parts:
        assert_array_equal(np.sort(np.append(train, test)), np.arange(few.size))
        assert (few[test] >= 0).all()
        share = np.bincount(few[test], minlength=3) / np.bincount(few[few >= 0])
        assert np.ptp(share) < 0.15
    assert LabelledKFold(4).get_n_splits() == len(parts) == 4


@pytest.mark.parametrize(
    "mark",
    [
        lambda few: np.where(few < 0, np.nan, few),
        lambda few: np.array(["a", "b", "c", None], dtype=object)[few],
        lambda few: pd.Series(np.array(["a", "b", "c", None], dtype=object)[few]),
    ],
)
def test_labels_may_be_missing_in_any_way(wine, mark):
    X, _, few = wine
    expected = [test for _, test in LabelledKFold(3).split(X, few)]
    found = [test for _, test in LabelledKFold(3).split(X, mark(few))]
    for one, other in zip(expected, found, strict=True):
        assert_array_equal(one, other)


def test_a_class_with_one_row_stays_in_training():
    y = np.array([0, 0, 0, 1, 1, 2, -1])
    held = np.concatenate([test for _, test in LabelledKFold(2).split(y[:, None], y)])
    assert sorted(held.tolist()) == [0, 1, 2, 3, 4]


def test_numbers_are_held_out_without_classes():
    y = np.array([0.5, np.nan, 1.0, 2.5, 3.0])
    assert [test.tolist() for _, test in LabelledKFold(2).split(y[:, None], y)] == [[0, 3], [2, 4]]
    whole = np.array([-1.0, 2.0, np.nan, 7.0])
    assert [test.tolist() for _, test in LabelledKFold(3, stratify=False).split(whole[:, None], whole)] == [
        [0],
        [1],
        [3],
    ]


def test_mostly_different_whole_numbers_are_no_classes():
    prices = np.where(np.arange(60) % 2 == 0, np.arange(60.0) * 1000, np.nan)
    held = [held for _, held in LabelledKFold(3).split(prices[:, None], prices)]
    assert sorted(np.concatenate(held).tolist()) == list(range(0, 60, 2))


def test_what_cannot_be_split_is_refused(wine):
    X, _, few = wine
    with pytest.raises(ValueError, match="n_splits must be at least 2; got 1"):
        LabelledKFold(1)
    with pytest.raises(ValueError, match=r"at least n_splits=5 labelled rows .*; got 4\. Use fewer splits"):
        list(LabelledKFold().split(np.zeros((6, 1)), [0, 0, 1, 1, 2, -1]))
    with pytest.raises(ValueError, match="y must be given: LabelledKFold holds out"):
        list(LabelledKFold().split(X))
    H = hg.construct.from_knn(X, 5)
    model = hg.HypergraphClassifier("hyper-conv", **QUICK)
    with pytest.raises(ValueError, match=r"In a cross-validation, which takes rows away, pass memberships=H\.to_scipy"):
        cross_val_score(model, X, few, cv=LabelledKFold(3), params={"hypergraph": H}, error_score="raise")


@pytest.mark.slow
def test_searches_and_scores_work_without_nan_and_warnings(wine):
    X, y, few = wine
    model = hg.HypergraphClassifier("hyper-conv", **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = cross_val_score(model, X, few, cv=LabelledKFold(3))
        search = GridSearchCV(model, {"n_neighbors": [3, 8]}, cv=LabelledKFold(3), scoring="accuracy").fit(X, few)
        names = np.array(["a", "b", "c", None], dtype=object)[few]
        of_names = cross_val_score(model, X, names, cv=LabelledKFold(3))
    assert scores.mean() > 0.9
    assert_array_equal(of_names, scores)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.transduction_.size == y.size
    assert (search.best_estimator_.transduction_ == y).mean() > 0.9


@pytest.mark.slow
def test_a_given_hypergraph_is_divided_like_the_rows(wine):
    _, y, few = wine
    H = hg.Hypergraph.from_hyperedges([np.flatnonzero(y == one) for one in range(3)], n_vertices=y.size)
    noise = np.random.default_rng(0).normal(size=(y.size, 2))
    with sklearn.config_context(enable_metadata_routing=True):
        model = hg.HypergraphClassifier("hyper-conv", max_epochs=60, random_state=0)
        model = model.set_fit_request(memberships=True).set_score_request(memberships=True)
        options = {"cv": LabelledKFold(3), "params": {"memberships": H.to_scipy()}}
        assert cross_val_score(model, noise, few, **options).mean() > 0.95
        search = GridSearchCV(model, {"dropout": [0.0, 0.5]}, cv=LabelledKFold(3))
        assert search.fit(noise, few, memberships=H.to_scipy()).best_score_ > 0.95
    assert transductive_scores(model, noise, few, hypergraph=H).mean() > 0.95


@pytest.mark.slow
def test_a_regression_with_unknown_targets():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:150], y[:150] + 0.5
    few = np.where(np.arange(y.size) % 2 == 0, y, np.nan)
    model = hg.HypergraphRegressor("mlp", max_epochs=60, random_state=0)
    assert cross_val_score(model, X, few, cv=LabelledKFold(3, shuffle=True, random_state=0)).mean() > 0.15
    assert transductive_scores(model, X, few).shape == (5,)
    assert transductive_scores(model, X, few).mean() > 0.1


def test_the_number_of_folds_may_be_given(wine):
    X, _, few = wine
    model = hg.HypergraphClassifier("mlp", max_epochs=1, random_state=0)
    assert hg.model_selection.transductive_scores(model, X, few, cv=2).shape == (2,)


def test_predictions_of_held_out_rows_need_a_partition(wine):
    X, _, few = wine
    with pytest.raises(ValueError, match="partition"):  # scikit-learn's own words: unlabelled rows are in no test part
        cross_val_predict(hg.HypergraphClassifier("mlp", **QUICK), X, few, cv=LabelledKFold(3))
