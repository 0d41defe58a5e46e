"""The regressor learns from known targets, weighs models against each other and places new rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

import hypergnn as hg
from hypergnn.estimators import TimeLimitWarning
from hypergnn.estimators.later import Later
from hypergnn.estimators.selection.views import Views
from hypergnn.estimators.stacking import OfScikitLearn, fit_stack
from hypergnn.estimators.targets import read_targets

QUICK = {"max_epochs": 30, "random_state": 0}
ROWS_ARE_VERTICES = {
    "check_sample_weight_equivalence_on_dense_data": "a row without weight stays a vertex of the hypergraph",
    "check_sample_weight_equivalence_on_sparse_data": "a row without weight stays a vertex of the hypergraph",
}


@pytest.mark.slow
@parametrize_with_checks(
    [
        hg.HypergraphRegressor("hyper-conv", max_epochs=30, learning_rate=0.03),
        hg.HypergraphRegressor("hyper-attention", hidden=4, heads=2, max_epochs=30, learning_rate=0.03),
        hg.HypergraphRegressor("mlp", max_epochs=30, learning_rate=0.03, construct="clusters"),
        hg.HypergraphRegressor(max_epochs=5, max_time=0),
    ],
    expected_failed_checks=lambda _: ROWS_ARE_VERTICES,
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:180], y[:180]
    return X, y, np.where(np.arange(y.size) % 2 == 0, y, np.nan)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention", "mlp"])
def test_a_network_learns_numbers_of_any_size_and_unit(diabetes, model):
    X, y, few = diabetes
    one = hg.HypergraphRegressor(model, max_epochs=50, random_state=0).fit(X, few)
    unknown = np.isnan(few)
    assert one.score(X[unknown], y[unknown]) > 0.25
    assert_array_equal(one.predict(X), one.transduction_)
    assert one.loss_curve_[-1] < one.loss_curve_[0]
    scaled = hg.HypergraphRegressor(model, max_epochs=50, random_state=0).fit(X, 1000 * few - 7)
    assert_allclose(scaled.transduction_, 1000 * one.transduction_ - 7, rtol=1e-3)
    new = X[:5] * 1.0001
    assert_allclose(one.predict(new), np.concatenate([one.predict(new[[place]]) for place in range(5)]), rtol=1e-5)
    assert_allclose(one.predict(new), one.transduction_[:5], rtol=0.2)


def test_predictions_fall_below_the_smallest_score_of_a_classifier():
    X = np.arange(40.0)[:, None]
    model = hg.HypergraphRegressor("hyper-conv", construct="clusters", max_epochs=300, random_state=0).fit(X, X[:, 0])
    scaled = (model.transduction_ - X.mean()) / X.std()
    assert scaled.min() < -1.1  # ELU after the last layer would end at -1


@pytest.mark.slow
def test_the_default_is_as_good_as_a_forest_and_ridge(diabetes):
    X, y, few = diabetes
    unknown = np.isnan(few)
    model = hg.HypergraphRegressor(max_epochs=60, random_state=0).fit(X, few)
    own = model.score(X[unknown], y[unknown])
    for other in (RandomForestRegressor(random_state=0), RidgeCV(np.logspace(-3, 3, 7))):
        assert own > other.fit(X[~unknown], y[~unknown]).score(X[unknown], y[unknown]) - 0.03
    assert max(entry["r2"] for entry in model.report_) < 0.7  # of targets that they have not seen
    names = [entry["candidate"] for entry in model.report_]
    assert names[0] == "ridge, own features"
    assert "all, weighted" in names
    assert sum(entry["weight"] for entry in model.report_) <= 1 + 1e-6
    assert abs(model.structure_gain_) < 0.2
    new = X[unknown][:6] * 1.0001
    assert_allclose(model.predict(new), model.predict(X[unknown][:6]), rtol=0.25)


@pytest.mark.slow
def test_structure_counts_where_it_alone_tells_the_target():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 8, 160)
    y = np.linspace(-3, 3, 8)[group] + 0.1 * rng.normal(size=160)
    H = hg.Hypergraph.from_hyperedges([np.flatnonzero(group == one) for one in range(8)], n_vertices=160)
    few = np.where(rng.random(160) < 0.4, y, np.nan)
    X = rng.normal(size=(160, 2))
    model = hg.HypergraphRegressor(random_state=0, max_epochs=5).fit(X, few, hypergraph=H)
    unknown = np.isnan(few)
    assert model.score(X[unknown], y[unknown], hypergraph=hg.Hypergraph.from_scipy(H.to_scipy()[unknown])) > 0.9
    assert model.structure_gain_ > 5 * model.structure_gain_std_


def test_errors_are_smoothed_over_hyperedges_where_that_helps():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 8, 160)
    H = hg.Hypergraph.from_hyperedges([np.flatnonzero(group == one) for one in range(8)], n_vertices=160)
    y = (np.linspace(-1.5, 1.5, 8)[group] + 0.1 * rng.normal(size=160))[:, None]
    views = Views(rng.normal(size=(160, 2)), H, has_members=False, seed=0)
    rows, ridge = np.flatnonzero(rng.random(160) < 0.4), OfScikitLearn("ridge", Ridge(), "own")
    stack = fit_stack([ridge], views, rows, y[rows], None, np.random.RandomState(0), 60.0)
    assert [entry["candidate"] for entry in stack.report] == ["ridge", "all, weighted", "all, errors smoothed"]
    assert np.corrcoef(stack.predict(views)[:, 0], y[:, 0])[0, 1] > 0.95
    new = views.of_new(rng.normal(size=(8, 2)), Later(sparse.eye_array(8).tocsr()))
    assert np.corrcoef(stack.predict(new)[:, 0], np.linspace(-1.5, 1.5, 8))[0, 1] > 0.95
    other = fit_stack([ridge], views, rows, rng.permutation(y)[rows], None, np.random.RandomState(0), 60.0)
    assert other.errors is None


@pytest.mark.slow
def test_several_targets_at_once():
    X, y = load_linnerud(return_X_y=True)
    for model in ("hyper-conv", "auto"):
        one = hg.HypergraphRegressor(model, **QUICK).fit(X, y)
        assert one.predict(X).shape == y.shape
        assert one.predict(X[:2] + 0.5).shape == (2, 3)
        assert_allclose(one.transduction_.mean(0), y.mean(0), rtol=0.1)


def test_when_the_time_is_over_one_candidate_remains(diabetes):
    X, _, few = diabetes
    model = hg.HypergraphRegressor(max_time=0, **QUICK).fit(X, few)
    tried = [entry["candidate"] for entry in model.report_ if entry["seconds"]]
    assert tried == ["ridge, own features"]
    assert "not tried: forest, own features (would not have finished within max_time=0)" in str(model.report_)
    assert str(model.report_).splitlines()[-1].startswith(f"{model.report_.seconds:.1f} seconds in all")
    with pytest.warns(TimeLimitWarning, match="max_time=1e-09 was too short to try ridge, propagated, forest"):
        hg.HypergraphRegressor(max_time=1e-9, **QUICK).fit(X, few)


def test_few_or_equal_targets_warn(diabetes):
    X = diabetes[0]
    for known, message in (
        ([1.0, 2.0], "only 2 of 40 targets are known"),
        ([3.0] * 9, "all 9 known targets are equal"),
    ):
        few = np.full(40, np.nan)
        few[: len(known)] = known
        with pytest.warns(UserWarning, match=message):
            hg.HypergraphRegressor(max_time=0, **QUICK).fit(X[:40], few)


def test_only_a_model_that_predicts_well_goes_beyond_the_known_targets():
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=60), 50.0)[:, None]  # a row unlike all others
    H = hg.Hypergraph.from_hyperedges([[0]], n_vertices=61)
    views, rows, ridge = Views(x, H, has_members=False, seed=0), np.arange(60), OfScikitLearn("ridge", Ridge(), "own")
    for noise, is_bounded in ((0.1, False), (2.0, True)):
        y = x[:60] + noise * rng.normal(size=(60, 1))
        stack = fit_stack([ridge], views, rows, y, None, np.random.RandomState(0), None)
        assert (stack.predict(views)[60, 0] <= y.max()) == is_bounded


def test_a_network_without_hyperedges_learns_the_same_without_unlabelled_rows(diabetes):
    X, _, few = diabetes
    model = hg.HypergraphRegressor("mlp", dropout=0.0, max_epochs=20, random_state=0).fit(X, few)
    network = model._train_network("mlp", np.flatnonzero(~np.isnan(few)), model._targets.scaled[~np.isnan(few)], None)
    for one, other in zip(network.parameters(), model.network_.parameters(), strict=True):
        assert_allclose(one.detach(), other.detach(), rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_results_depend_on_the_seed_alone(diabetes):
    X, _, few = diabetes
    one, same = (hg.HypergraphRegressor(max_epochs=5, random_state=3).fit(X[:30], few[:30]) for _ in range(2))
    assert_array_equal(one.transduction_, same.transduction_)


def test_unknown_targets_may_come_from_any_library():
    few = [1.5, None, 2.5, np.nan]
    for y in (few, np.array(few, dtype=float), pd.Series(few), pl.Series(few, strict=False)):
        assert_array_equal(np.isnan(read_targets(y, 4, None).scaled.ravel()), [False, True, False, True])
    assert read_targets([2, 2], 2, None).scale.tolist() == [1.0]
    weighted = read_targets([0.0, 1.0, 9.0], 3, np.array([3.0, 1.0, 0.0]))
    assert (weighted.mean.tolist(), np.isnan(weighted.scaled[2, 0])) == ([0.25], True)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([np.nan] * 180, "y must be known for at least one row"),
        ([1.0, 2.0], "y must have one entry per row of X, 180; got 2. Mark unknown targets with NaN"),
        (["a"] * 180, "y must hold numbers, NaN where unknown; got 'a'. Convert text to numbers"),
        ([np.inf] * 180, "contains infinity"),
        (np.tile([1.0, np.nan], (180, 1)), "row 0 has 1 NaN of 2. Fit one regressor per output"),
        (None, "requires y to be passed"),
    ],
)
def test_invalid_targets_are_refused(diabetes, y, message):
    with pytest.raises(ValueError, match=message):
        hg.HypergraphRegressor(**QUICK).fit(diabetes[0], y)


def test_minus_one_is_a_number_and_may_be_meant_as_a_mark():
    with pytest.warns(UserWarning, match="y holds -1 in 2 rows and is positive in all others"):
        read_targets([3.0, -1, 5.0, -1], 4, None)
    read_targets([3.0, -1, -2.0, -1], 4, None)  # warnings are errors


@pytest.mark.slow
def test_events_have_numbers_too():
    orders = {"who": ["ann", "bob", "eve"], "what": ["tea", "tea", "saw"]}
    model = hg.HypergraphRegressor.from_events(
        orders, vertex="who", hyperedge="what", labels={"ann": 1.0, "bob": 2.0, "eve": 3.0}, settings=QUICK
    )
    assert list(model.predictions_) == ["ann", "bob", "eve"]


def test_settings_that_cannot_be_are_refused(diabetes):
    X, y, few = diabetes
    with pytest.raises(ValueError, match="model must be one of 'auto', 'hyper-conv'"):
        hg.HypergraphRegressor("forest").fit(X, y)
    with pytest.raises(ValueError, match="warm_start must be False with model='auto'"):
        hg.HypergraphRegressor(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="max_time must be"):
        hg.HypergraphRegressor(max_time=-1).fit(X, y)
    model = hg.HypergraphRegressor("mlp", **QUICK).fit(X, few)
    with pytest.raises(ValueError, match="y must be known in each row; 90 of 180 are NaN"):
        model.score(X, few)


@pytest.mark.slow
def test_numbers_given_to_the_classifier_name_the_regressor(diabetes):
    X, y, few = diabetes
    with pytest.raises(ValueError, match=r"Unknown label type: continuous.* such as 0\.5.*use HypergraphRegressor"):
        hg.HypergraphClassifier().fit(X, np.where(y > 100, 0.5, 1.0))
    whole = hg.HypergraphClassifier(max_epochs=2).fit(X, np.where(np.isnan(few), np.nan, y > 100))
    assert whole.classes_.tolist() == [0, 1]


def test_it_works_in_searches(diabetes):
    X, y, _ = diabetes
    search = GridSearchCV(hg.HypergraphRegressor("mlp", **QUICK), {"hidden": [2, 8]}, cv=2).fit(X, y)
    assert search.best_params_["hidden"] in (2, 8)


@pytest.mark.parametrize("size", [1e200, 1e-200, 1e307])
def test_targets_of_any_magnitude_are_scaled(size):
    signs = np.tile([0.0, 1.0, 1.0, -1.0], 10)
    targets = read_targets(signs * size, 40, None)
    assert_allclose(targets.scaled, read_targets(signs, 40, None).scaled)
    assert_allclose(targets.restore(targets.scaled), signs * size, atol=size * 1e-12)


def test_predictions_beyond_the_range_of_numbers_are_refused():
    targets = read_targets(np.array([-1e308, 1e308]), 2, None)
    with pytest.raises(ValueError, match="a prediction is not finite: y is close to the largest number"):
        targets.restore(np.array([[3.0]]))


def test_one_thread_of_every_library_is_used_unless_more_are_asked_for(monkeypatch):
    """Boosting would start one per core, and beside another process they mostly wait for each other."""
    seen, fit = [], OfScikitLearn.fit

    def looking(*given):
        seen.append(max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp"))
        return fit(*given)

    monkeypatch.setattr(OfScikitLearn, "fit", looking)
    x = np.random.default_rng(0).normal(size=(30, 2))
    with threadpool_limits(2, "openmp"):
        hg.HypergraphRegressor(max_time=0, random_state=0).fit(x, x[:, 0])
    assert seen
    assert set(seen) == {1}
