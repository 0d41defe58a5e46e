"""The default chooses among candidates within the labels, and says what it chose."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import hypergnn as hg
from hypergnn.estimators.selection.candidates import Context, Forest, Linear, log_loss
from hypergnn.estimators.selection.diffusion import diffuse, rarity
from hypergnn.estimators.selection.known import Known, divide
from hypergnn.estimators.selection.mixture import best_sharpness, mixed, mixing_weights, sharpen
from hypergnn.estimators.selection.softmax import Rotated, fit_softmax, predict_softmax
from hypergnn.estimators.selection.spread import Spread
from hypergnn.estimators.selection.views import Views


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
    assert "not tried: gradient boosting (fewer than 200 labels)" in text
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


@pytest.mark.parametrize("n_labels", [1, 2, 3, 7])
def test_very_few_labels_are_enough_to_fit(wine, n_labels):
    X, y, _ = wine
    few = np.full(y.size, -1)
    chosen = np.linspace(0, y.size - 1, n_labels).astype(int)
    few[chosen] = y[chosen]
    model = hg.HypergraphClassifier(random_state=0).fit(X, few)
    assert_array_equal(model.classes_, np.unique(y[chosen]))
    assert_allclose(model.predict_proba(X * 1.01).sum(1), 1)


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
    assert "max_time=0 was over" in model.report_.skipped["random forest"]
    with pytest.raises(ValueError, match="max_time must be a number from 0"):
        hg.HypergraphClassifier(max_time=-1).fit(X, y)


@pytest.mark.parametrize("setting", ["early_stopping", "warm_start"])
def test_settings_of_a_single_network_are_refused(wine, setting):
    with pytest.raises(ValueError, match=f"{setting} must be False with model='auto'"):
        hg.HypergraphClassifier(**{setting: True}).fit(wine[0], wine[1])


def test_a_mixture_cannot_be_explained(fitted):
    with pytest.raises(ValueError, match=r"explain needs a single network.*HypergraphClassifier\('hyper-conv'\)"):
        fitted.explain(0)


def test_progress_is_shown_if_asked_for(wine, capsys):
    X, y, _ = wine
    hg.HypergraphClassifier(verbose=True, max_time=0, random_state=0).fit(X, y)
    assert "logistic regression: accuracy" in capsys.readouterr().err
    hg.HypergraphClassifier(max_time=0, random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""


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
