"""The default chooses among candidates within the labels, and says what it chose."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import hypergnn as hg
from hypergnn.estimators import TimeLimitWarning
from hypergnn.estimators.selection.budget import Budget, OutOfTimeError
from hypergnn.estimators.selection.candidates import Context, Forest, Linear, log_loss
from hypergnn.estimators.selection.counts import Counts
from hypergnn.estimators.selection.diffusion import diffuse, rarity
from hypergnn.estimators.selection.known import Known, divide
from hypergnn.estimators.selection.mixture import (
    best_sharpness,
    mixed,
    mixing_weights,
    sharpen,
    towards_the_most_accurate,
)
from hypergnn.estimators.selection.search import Result, _boosting, _right_when_left_out, _weights
from hypergnn.estimators.selection.softmax import Rotated, fit_softmax, predict_softmax
from hypergnn.estimators.selection.spread import Spread
from hypergnn.estimators.selection.tails import Tails
from hypergnn.estimators.selection.views import Views
from hypergnn.kernels.stopwatch import Stopwatch


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, y, np.where(np.arange(y.size) % 6 == 0, y, -1)


@pytest.fixture(scope="module")
def fitted(wine):
    X, _, few = wine
    return hg.HypergraphClassifier(random_state=0).fit(X, few)


def households(seed=0, n=300, size=10, noise=0.1):
    """Rows of households that mostly have one class each, with features that say nothing."""
    rng = np.random.default_rng(seed)
    house = np.repeat(np.arange(n // size), size)
    y = np.where(rng.random(n) < noise, rng.integers(0, 3, n), (house * 7) % 3)
    H = hg.Hypergraph.from_incidence(np.arange(n), house, n, n // size)
    return rng.normal(size=(n, 4)), y, H


@pytest.mark.slow
def test_the_default_finds_the_labels_of_unlabelled_and_new_rows(wine, fitted):
    X, y, few = wine
    assert (fitted.transduction_ == y)[few < 0].mean() > 0.93
    assert_array_equal(fitted.predict(X), fitted.transduction_)
    new = X * 1.0001
    assert_allclose(fitted.predict_proba(new).sum(1), 1)
    assert (fitted.predict(new) == y).mean() > 0.93
    assert_allclose(fitted.predict_proba(new[3:4]), fitted.predict_proba(new)[3:4], atol=1e-6)


@pytest.mark.slow
def test_the_report_says_what_was_tried_and_what_won(fitted):
    report = fitted.report_
    names = [one.name for one in report.tried]
    assert {"logistic regression", "random forest", "labels, propagated"} <= set(names)
    assert_allclose(sum(report.chosen.values()), 1)
    assert list(report.chosen.values()) == sorted(report.chosen.values(), reverse=True)
    assert "gradient boosting" in report.skipped
    assert 0.9 < report.accuracy <= 1
    assert (fitted.structure_gain_, fitted.structure_gain_std_) == (report.structure_gain, report.structure_gain_std)
    text = str(report)
    assert all(name in text for name in names)
    assert "not tried: gradient boosting (fewer than 100 labels)" in text
    assert "structure adds" in text


@pytest.mark.slow
def test_results_depend_on_the_seed_alone(wine, fitted):
    X, _, few = wine
    same, other = (hg.HypergraphClassifier(random_state=seed).fit(X, few) for seed in (0, 4))
    assert_array_equal(fitted.label_distributions_, same.label_distributions_)
    assert (fitted.label_distributions_ != other.label_distributions_).any()


@pytest.mark.slow
def test_the_structure_helps_where_it_says_something_and_does_not_hurt_elsewhere():
    X, y, H = households()
    few = np.where(np.arange(y.size) % 3 == 0, y, -1)
    model = hg.HypergraphClassifier(random_state=0, max_epochs=10).fit(X, few, hypergraph=H)
    assert (model.transduction_ == y)[few < 0].mean() > 0.75
    assert model.structure_gain_ > 3 * model.structure_gain_std_ > 0
    useless = hg.Hypergraph.from_incidence(
        np.arange(y.size), np.random.default_rng(1).integers(0, 30, y.size), y.size, 30
    )
    own = y[:, None] + np.random.default_rng(2).normal(scale=0.3, size=(y.size, 3))
    alone = hg.HypergraphClassifier(random_state=0, max_epochs=10).fit(own, few, hypergraph=useless)
    assert (alone.transduction_ == y)[few < 0].mean() > 0.93
    assert abs(alone.structure_gain_) < 0.05


@pytest.mark.slow
def test_memberships_alone_are_enough():
    _, y, H = households()
    few = np.where(np.arange(y.size) % 3 == 0, y, -1)
    model = hg.HypergraphClassifier(random_state=0, max_epochs=10).fit(None, few, hypergraph=H)
    assert (model.transduction_ == y)[few < 0].mean() > 0.75


@pytest.mark.parametrize("n_labels", [2, 3, 7])
def test_very_few_labels_are_enough_to_fit(wine, n_labels):
    X, y, _ = wine
    few = np.full(y.size, -1)
    chosen = np.linspace(0, y.size - 1, n_labels).astype(int)
    few[chosen] = y[chosen]
    model = hg.HypergraphClassifier(random_state=0).fit(X, few)
    assert_array_equal(model.classes_, np.unique(y[chosen]))
    assert_allclose(model.predict_proba(X * 1.01).sum(1), 1)
    assert ("cross-validation needs two labels of a class" in str(model.report_)) == (n_labels < 4)


def test_labels_of_a_single_class_are_refused(wine):
    X, y, _ = wine
    with pytest.raises(ValueError, match="labels of at least two classes; got one class only, 0"):
        hg.HypergraphClassifier().fit(X, np.where(np.arange(y.size) < 5, 0, -1))


@pytest.mark.slow
def test_a_limit_that_leaves_candidates_out_warns_and_none_leaves_out_nothing(wine):
    X, _, few = wine
    with pytest.warns(TimeLimitWarning, match="max_time=1e-09 was too short to try naive Bayes, nearest neighbours"):
        hg.HypergraphClassifier(max_time=1e-9, random_state=0).fit(X, few)
    one, same = (hg.HypergraphClassifier(max_time=None, random_state=0).fit(X, few) for _ in range(2))
    assert_array_equal(one.label_distributions_, same.label_distributions_)
    assert list(one.report_.skipped) == ["gradient boosting"]


@pytest.mark.parametrize("model", [hg.HypergraphClassifier("mlp", max_epochs=2), hg.HypergraphRegressor("mlp")])
def test_no_limit_of_time_for_a_single_network(model, wine):
    X, y, _ = wine
    model.set_params(max_time=None, max_epochs=2).fit(X, y)


def test_a_candidate_that_would_not_finish_in_time_is_interrupted():
    now = iter([0.0, 0.0, 0.0, 1.0, 1.0, 3.0])
    budget = Budget(5.0, SimpleNamespace(worked=lambda: next(now)))
    assert not budget.is_over()
    budget.start(is_first=False)
    budget.check(0.5)  # two seconds in all
    budget.reserved = 4.0
    with pytest.raises(OutOfTimeError):
        budget.check(0.5)
    budget.start(is_first=True)
    budget.check(0.01)  # the first is tried however long it takes


def test_accuracy_is_measured_with_weights_chosen_without_the_fold():
    rng, n = np.random.default_rng(0), 40
    known = divide(rng.integers(0, 2, n), 2, np.random.RandomState(0))
    plain = SimpleNamespace(uses_structure=False)
    guesses = [Result(plain, p, p, 1.0, 0.0, 0.0, None) for p in rng.dirichlet([0.05, 0.05], (60, n))]
    weights = _weights([one.p for one in guesses], known)
    on_themselves = mixed(np.stack([one.p for one in guesses]), weights).argmax(1) == known.y
    right, without = _right_when_left_out(guesses, known)
    assert right.mean() < on_themselves.mean() - 0.1
    assert_array_equal(right, without)


def test_labels_without_weight_can_be_left_alone(wine):
    X, y, few = wine
    rows = np.flatnonzero(few >= 0)
    weight = np.zeros(y.size)
    weight[rows[0]] = weight[rows[-1]] = 1.0
    model = hg.HypergraphClassifier(random_state=0, max_time=0).fit(X, few, sample_weight=weight)
    assert np.isfinite(model.label_distributions_).all()


@pytest.mark.slow
def test_predictions_no_better_than_the_largest_class_warn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), (np.arange(60) % 10 == 0).astype(int)
    with pytest.warns(UserWarning, match=r"every row was predicted to be of class '0'|Label more rows"):
        hg.HypergraphClassifier(random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=r"every row was predicted to be of class '0'\. Try model='auto'"):
        hg.HypergraphClassifier("mlp", max_epochs=60, weight_decay=1.0, random_state=0).fit(X, y)


def test_without_time_one_candidate_is_tried(wine):
    X, y, _ = wine
    model = hg.HypergraphClassifier(random_state=0, max_time=0).fit(X, y)
    assert [one.name for one in model.report_.tried] == ["logistic regression"]
    assert model.report_.skipped["random forest"] == "would not have finished within max_time=0"
    with pytest.raises(ValueError, match="max_time must be a number from 0"):
        hg.HypergraphClassifier(max_time=-1).fit(X, y)


@pytest.mark.parametrize("setting", ["early_stopping", "warm_start"])
def test_settings_of_a_single_network_are_refused(wine, setting):
    with pytest.raises(ValueError, match=f"{setting} must be False with model='auto'"):
        hg.HypergraphClassifier(**{setting: True}).fit(wine[0], wine[1])


def test_progress_is_shown_if_asked_for(wine, capsys):
    X, y, _ = wine
    hg.HypergraphClassifier(verbose=True, max_time=0, random_state=0).fit(X, y)
    assert "logistic regression: accuracy" in capsys.readouterr().err
    hg.HypergraphClassifier(max_time=0, random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""
    hg.HypergraphRegressor(verbose=True, max_time=0, random_state=0).fit(X, X[:, 0])
    assert "ridge, own features: R²" in capsys.readouterr().err


def test_folds_hold_out_each_label_once_per_repetition_and_keep_classes_apart():
    codes = np.repeat([0, 1, 2, -1], [12, 20, 7, 30])
    known = divide(codes, 3, np.random.RandomState(0))
    assert_array_equal(known.rows, np.arange(39))
    assert (known.held_out.sum(0) == known.folds.shape[0]).all()
    for folds in known.folds:
        by_class = [np.bincount(folds[known.y == one], minlength=10) for one in range(3)]
        assert all(one.max() - one.min() <= 1 for one in by_class)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_softmax_regression_is_that_of_scikit_learn(wine, make):
    X, y, _ = wine
    x = (X - X.mean(0)) / X.std(0)
    expected = LogisticRegression(C=0.5, tol=1e-8, max_iter=5000).fit(x, y).predict_proba(x)
    found = predict_softmax(x, fit_softmax(make(x), y, np.ones((1, y.size)), 3, 0.5))[0].T
    assert_allclose(found, expected, atol=5e-3)


def test_folds_are_fitted_together_as_alone_and_rows_may_be_rotated(wine):
    X, y, _ = wine
    x = ((X - X.mean(0)) / X.std(0))[::20]
    y = y[::20]
    counts = (np.arange(y.size) != np.array([[0], [4]])).astype(float)
    rotated = Rotated.of(x)
    assert rotated.x.shape[1] < x.shape[1]
    together = rotated.widened(fit_softmax(rotated.x, y, counts, 3, 1.0))
    for fold in range(2):
        alone = fit_softmax(x, y, counts[fold : fold + 1], 3, 1.0)
        assert_allclose(predict_softmax(x, together)[fold], predict_softmax(x, alone)[0], atol=2e-2)


def test_diffusion_is_the_sum_over_all_walks():
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=5)
    S = H.to_scipy().toarray()
    degree = S.sum(1, keepdims=True)
    T = np.divide(S, degree, out=np.zeros_like(S), where=degree > 0) @ (S / S.sum(0)).T
    values = np.eye(5)[:, :2]
    expected = 0.5 * np.linalg.inv(np.eye(5) - 0.5 * T) @ values
    assert_allclose(diffuse(values, H, 0.5), expected, atol=0.05)


def test_rare_hyperedges_say_more():
    H = hg.Hypergraph.from_hyperedges([list(range(8)), [0, 1], []], n_vertices=8)
    common, rare, _ = rarity(H)
    assert common == 1
    assert_allclose(rare, 1 + np.log(4))


def known_of(y, n_classes):
    return Known(np.arange(y.size), y, n_classes, np.arange(y.size)[None] % 2)


def test_weights_go_to_the_better_candidate_and_are_equal_without_evidence():
    y = np.arange(200) % 2
    good = np.where(np.eye(2)[y] > 0, 0.9, 0.1)
    known = known_of(y, 2)
    weights = mixing_weights(np.stack([good, np.full((200, 2), 0.5)]), known)
    assert weights[0] > 0.9
    few = known_of(y[:2], 2)
    assert mixing_weights(np.stack([good[:2], np.full((2, 2), 0.5)]), few)[0] < 0.75
    assert_allclose(mixed(np.stack([good, good]), np.array([0.3, 0.7])), good)


def test_calibration_tempers_overconfident_probabilities():
    y = np.arange(400) % 2
    said = np.where(np.arange(400) % 4 < 3, y, 1 - y)  # right in three of four cases
    p = np.where(np.eye(2)[said] > 0, 0.99, 0.01)
    known = known_of(y, 2)
    sharpness = best_sharpness(p, known)
    assert sharpness < 0.5
    assert log_loss(sharpen(p, sharpness), known) < log_loss(p, known)


def test_held_out_labels_are_not_seen():
    X, y, H = households()
    y = np.random.default_rng(5).permutation(y)  # labels that nothing can predict
    known = divide(y, 3, np.random.RandomState(0))
    context = Context(Views(X, H, has_members=True, seed=0), known, seed=0)
    for candidate in (
        Linear("linear", "members", uses_structure=True),
        Forest("forest", "spread", uses_structure=True),
        Spread("labels"),
    ):
        right = (candidate.score(context).argmax(1) == y).mean()
        assert right < 0.45, candidate.name


def test_correct_and_smooth_improves_a_forest_that_knows_nothing():
    X, y, H = households()
    few = np.where(np.arange(y.size) % 3 == 0, y, -1)
    forest = RandomForestClassifier(20, random_state=0)
    model = hg.CorrectAndSmooth(forest, random_state=0).fit(X, few, hypergraph=H)
    plain = model.estimator_.predict(model._features)
    hidden = few < 0
    assert (model.transduction_ == y)[hidden].mean() > (plain == y)[hidden].mean() + 0.2
    assert model.strengths_["correct"]["amount"] > 0
    assert_allclose(model.label_distributions_.sum(1), 1)
    new = model.predict_proba(X[:20] * 1.0001, memberships=H.to_scipy()[:20])
    assert (new.argmax(1) == model.transduction_[:20]).mean() > 0.8


def test_correct_and_smooth_leaves_a_good_classifier_alone(wine):
    X, y, _ = wine
    useless = hg.Hypergraph.from_incidence(
        np.arange(y.size), np.random.default_rng(1).integers(0, 15, y.size), y.size, 15
    )
    model = hg.CorrectAndSmooth(random_state=0).fit(X, y, hypergraph=useless)
    assert (model.transduction_ == y).mean() > 0.95
    assert model.strengths_["smooth"]["amount"] < 1


def test_correct_and_smooth_needs_probabilities(wine):
    with pytest.raises(TypeError, match="LinearSVC has none"):
        hg.CorrectAndSmooth(LinearSVC()).fit(wine[0], wine[1])


@pytest.mark.slow
def test_the_time_limit_does_not_depend_on_whether_kernels_are_compiled(monkeypatch):
    compiling = SimpleNamespace(worked=lambda: 0.0, compiling=55.0)
    monkeypatch.setattr("hypergnn.estimators.selection.search.stopwatch", lambda _: nullcontext(compiling))
    X, y, H = households(n=60)
    few = np.where(np.arange(60) % 4 == 0, y, -1)
    model = hg.HypergraphClassifier(max_time=1e-9, max_epochs=1, random_state=0).fit(X, few, hypergraph=H)
    assert not any("max_time" in reason for reason in model.report_.skipped.values())
    assert str(model.report_).endswith("0.0 seconds in all, and 55 to compile or load kernels")


def test_weights_move_to_a_candidate_that_is_clearly_right_more_often():
    y = np.arange(120) % 4
    known = Known(np.arange(120), y, 4, np.zeros((1, 120), dtype=np.int64))
    timid = np.full((120, 4), 0.24)  # right with a small probability
    timid[np.arange(120), y] = 0.28
    bold = np.full((120, 4), 0.02)  # right with a large one, but less often
    bold[np.arange(120), np.where(np.arange(120) < 90, y, (y + 1) % 4)] = 0.94
    members = np.stack([timid, bold])
    weights = np.array([0.1, 0.9])
    moved = towards_the_most_accurate(members, weights, known)
    assert moved[0] > 0.9
    assert_array_equal(
        towards_the_most_accurate(members[:, :80], weights, Known(np.arange(80), y[:80], 4, known.folds)), weights
    )
    assert_array_equal(towards_the_most_accurate(members, np.array([1.0, 0.0]), known), [1.0, 0.0])


def test_long_tails_are_drawn_in_and_other_columns_stay():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=300), np.exp(3 * rng.normal(size=300)), rng.integers(0, 2, 300)])
    tails = Tails(x)
    assert tails.columns.tolist() == [1]
    drawn = tails.drawn_in(x)
    assert_array_equal(drawn[:, [0, 2]], x[:, [0, 2]])
    assert_array_equal(np.argsort(drawn[:, 1]), np.argsort(x[:, 1]))
    assert_allclose((drawn[:, 1].mean(), drawn[:, 1].std()), (0, 1), atol=1e-9)
    assert np.abs(drawn[:, 1]).max() < 5 < (x[:, 1] / x[:, 1].std()).max()
    ordinary = x[:, [0, 2]]
    assert Tails(ordinary).drawn_in(ordinary) is ordinary
    amounts = np.where(rng.random(300) < 0.9, 0.0, np.exp(3 * rng.normal(size=300)))[:, None]  # mostly zeros
    assert Tails(amounts).columns.tolist() == [0]


@pytest.mark.slow
def test_a_few_far_rows_do_not_hide_what_a_column_says():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    income = np.exp(1.2 * y + 0.5 * rng.normal(size=400))
    income[:4] = 1e5
    X = np.column_stack([income, np.where(np.arange(400) == 5, -1e5, 0.8 * y + rng.normal(size=400))])
    few = np.where(np.arange(400) < 60, y, -1)
    model = hg.HypergraphClassifier(random_state=0).fit(X, few)
    linear = next(one for one in model.report_.tried if one.name == "logistic regression")
    assert linear.accuracy > 0.75
    assert (model.transduction_ == y)[few < 0].mean() > 0.85
    assert_allclose(model.predict_proba(X[7:9] * 1.0001).sum(1), 1)


def test_counts_are_those_of_the_hyperedges_of_a_row():
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3], [2]], n_vertices=4)
    counts = Counts(H)
    found = counts.of(H.to_scipy())
    assert_allclose(found.mean(0), 0, atol=1e-12)
    assert_allclose(found.std(0), 1)
    assert found[:, 0].argmax() == 2
    assert_array_equal(found[[0, 1, 3]].argsort(0)[-1], [2, 1])  # equal numbers; the hyperedge of row 3 is smaller
    brought = hg.Hypergraph.from_hyperedges([[0], [0]], n_vertices=2)
    new = counts.of(sparse.csr_array(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])), brought)
    assert_allclose(new[0, 0], found[2, 0])
    assert_array_equal(new[1], 0)  # training had no row without hyperedges
    alone = Counts(hg.Hypergraph.from_hyperedges([[0, 1], [0]], n_vertices=3))
    assert alone.of(sparse.csr_array((1, 2)))[0, 0] < -1


@pytest.mark.slow
def test_in_how_many_hyperedges_a_row_is_may_say_its_class():
    rng = np.random.default_rng(0)
    number = rng.integers(1, 12, 300)
    y = (number > 6).astype(int)
    H = hg.Hypergraph.from_incidence(
        np.repeat(np.arange(300), number),
        np.concatenate([rng.choice(80, size, replace=False) for size in number]),
        300,
        80,
    )
    few = np.where(np.arange(300) < 90, y, -1)
    for X in (rng.normal(size=(300, 2)), None):
        model = hg.HypergraphClassifier(random_state=0, max_epochs=10).fit(X, few, hypergraph=H)
        assert (model.transduction_ == y)[few < 0].mean() > 0.9


def test_boosting_is_tried_with_few_labels_and_sees_all_columns_of_wide_rows():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(240, 1200)), np.arange(240) % 2  # wider than what is reduced
    H = hg.Hypergraph.from_incidence(np.arange(240), np.arange(240) // 4, 240, 60)
    views = Views(x, H, has_members=False, seed=0)

    def boosting(n_labels):
        known = divide(np.where(np.arange(240) < n_labels, y, -1), 2, np.random.RandomState(0))
        p = np.where(rng.random((n_labels, 1)) < 0.7, np.eye(2)[known.y], 0.5)
        forest = Forest("random forest", "own", uses_structure=False)
        tried = Result(forest, p, p, 1.0, 0.0, log_loss(p, known), p[:, 0] != 0.5)
        return _boosting([tried], Context(views, known, seed=0), Budget(60.0, Stopwatch()))

    found, reason = boosting(120)
    assert reason == ""
    assert found.view == "own"
    assert boosting(60) == (None, "fewer than 100 labels")
