"""The estimators pass all of scikit-learn's own checks, learn from few labels and place new rows."""

import inspect
import os
import random
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import hypergnn as hg
from hypergnn.estimators.compute import threads
from hypergnn.estimators.labels import encode_labels
from hypergnn.estimators.rows import CONSTRUCTORS, options_of
from hypergnn.estimators.selection import candidates

QUICK = {"max_epochs": 20, "learning_rate": 0.03}


class NearRows:
    """A constructor of the caller's, with the same name in every process that collects the tests."""

    def __call__(self, X):
        few = min(5, X.shape[0] - 1)
        return hg.construct.from_knn(X, few) if few else hg.Hypergraph.from_hyperedges([[0]], n_vertices=1)

    def __repr__(self):
        return "NearRows()"


# Both remove rows, or give them no weight, and expect the same result.
ROWS_ARE_VERTICES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a row without weight stays a vertex of the hypergraph"
    for kind in ("dense", "sparse")
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:in cross-validation within", "ignore:every row was predicted")
@parametrize_with_checks(
    [
        hg.HypergraphClassifier(),
        hg.HypergraphClassifier(construct="attributes", max_time=0),
        hg.HypergraphClassifier("hyper-conv", **QUICK),
        hg.HypergraphClassifier("hyper-attention", hidden=4, heads=2, construct=NearRows(), **QUICK),
        hg.HypergraphClassifier("mlp", construct="clusters", **QUICK),
        hg.HypergraphClassifier("hyper-conv", construct="attributes", **QUICK),
        hg.HypergraphEmbedding(),
        hg.HypergraphEmbedding(trained=True, **QUICK),
        hg.CorrectAndSmooth(),
        hg.CorrectAndSmooth(RandomForestClassifier(10, random_state=0), construct="clusters"),
    ],
    expected_failed_checks=lambda _: ROWS_ARE_VERTICES,
)
def test_scikit_learns_own_checks_pass(estimator, check, monkeypatch):
    monkeypatch.setattr(candidates, "TREES", 10)  # half of the time would go into growing them
    check(estimator)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, y, np.where(np.arange(y.size) % 8 == 0, y, -1)


def test_unlabelled_rows_are_classified_and_training_rows_keep_their_predictions(wine):
    X, y, few = wine
    model = hg.HypergraphClassifier("hyper-conv", random_state=0).fit(X, few)
    assert (model.transduction_ == y)[few < 0].mean() > 0.9
    assert_array_equal(model.predict(X), model.transduction_)
    assert_array_equal(model.predict_proba(X[20:30]), model.label_distributions_[20:30])
    assert model.classes_.tolist() == [0, 1, 2]
    assert len(model.loss_curve_) == model.n_epochs_ == model.max_epochs
    assert model.loss_curve_[-1] < model.loss_curve_[0] / 2
    assert model.validation_curve_ == []


def scaled_neighbours(X):
    return hg.construct.from_knn(MinMaxScaler().fit_transform(X), 8)


@pytest.mark.slow
class Halves:
    """The rows below and above a threshold in the first column."""

    def __init__(self, X, threshold=0.0):
        self.threshold = threshold
        above = self.join(X).toarray().argmax(1)
        self.hypergraph = hg.Hypergraph.from_incidence(np.arange(len(X)), above, len(X), 2)

    def join(self, X):
        above = np.asarray(X)[:, :1] > self.threshold
        return sparse.csr_array(np.hstack([~above, above]).astype(float))


def test_a_constructor_that_is_added_to_the_list_is_used(monkeypatch):
    monkeypatch.setitem(CONSTRUCTORS, "halves", Halves)
    X, y = np.arange(8.0).reshape(-1, 1), [0] * 4 + [1] * 4
    options = {"construct": "halves", "construct_options": {"threshold": 1.0}, "scale": False}
    model = hg.HypergraphClassifier("hyper-conv", **options, max_epochs=1, random_state=0).fit(X, y)
    assert model.hypergraph_.hyperedge_degree().tolist() == [2.0, 6.0]
    assert model.predict(X + 0.5).shape == (8,)


@pytest.mark.slow
@pytest.mark.parametrize("construct", ["knn", "clusters", "attributes", scaled_neighbours])
@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention"])
def test_the_prediction_of_a_new_row_does_not_depend_on_the_others(wine, construct, model):
    X, y, _ = wine
    one = hg.HypergraphClassifier(model, construct=construct, random_state=0).fit(X[::2], y[::2])
    new = X[1::2]
    assert one.score(new, y[1::2]) > (0.85 if model == "hyper-conv" else 0.75)
    together = one.predict_proba(new)
    assert_allclose(
        np.vstack([one.predict_proba(new[place : place + 1]) for place in range(5)]), together[:5], atol=1e-6
    )
    assert_allclose(one.predict_proba(np.vstack([X[:1], new[:5], X[2:3]]))[1:6], together[:5], atol=1e-6)
    assert_allclose(together.sum(1), 1)


@pytest.mark.filterwarnings("ignore:every row was predicted:UserWarning")
def test_a_new_row_is_seen_with_its_own_features(wine):
    X, y, _ = wine
    model = hg.HypergraphClassifier("hyper-attention", construct="attributes", max_epochs=30, random_state=0)
    of_new = model.fit(X[::2], y[::2]).predict_proba
    assert_allclose(of_new(X[-1::-2]), of_new(X[1::2])[::-1], atol=1e-6)


@pytest.mark.slow
def test_labels_may_be_missing_among_strings_and_numbers(wine):
    X, _, few = wine
    names = np.array(["a", "b", "c", None], dtype=object)[few]
    numbers = np.where(few < 0, np.nan, few)
    expected = hg.HypergraphClassifier("hyper-conv", random_state=0).fit(X, few).transduction_
    of_names = hg.HypergraphClassifier("hyper-conv", random_state=0).fit(X, names)
    assert of_names.classes_.tolist() == ["a", "b", "c"]
    assert_array_equal(of_names.predict(X), np.array(["a", "b", "c"])[expected])
    for y in (
        pd.Series(names, dtype="string"),
        pd.Series(names).fillna(np.nan),
        pl.Series(names.tolist()),
        names.tolist(),
    ):
        assert_array_equal(
            hg.HypergraphClassifier("hyper-conv", random_state=0).fit(X, y).predict(X), of_names.transduction_
        )
    for y in (numbers, pd.Series(few).mask(few < 0).astype("Int64"), few.tolist()):
        assert_array_equal(hg.HypergraphClassifier("hyper-conv", random_state=0).fit(X, y).transduction_, expected)


def test_minus_one_and_one_alone_are_two_classes():
    classes, codes = encode_labels([-1, 1, 1], 3)
    assert (classes.tolist(), codes.tolist()) == ([-1, 1], [0, 1, 1])
    classes, codes = encode_labels([-1, 1, 2], 3)
    assert (classes.tolist(), codes.tolist()) == ([1, 2], [-1, 0, 1])


def test_many_classes_are_no_regression_if_they_have_several_labels_each():
    classes, _ = encode_labels(np.repeat([f"class {number}" for number in range(30)], 2), 60)  # warnings are errors
    assert classes.size == 30
    with pytest.warns(UserWarning, match="could represent a regression problem"):
        encode_labels(np.arange(30), 30)


@pytest.mark.parametrize("hold", [list, lambda y: np.array(y, dtype=object), lambda y: pd.Series(y, dtype=object)])
@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        (["b", -1, "a", None, -1.0], ["a", "b"], [1, -1, 0, -1, -1]),
        ([True, None, False], [False, True], [1, -1, 0]),
    ],
)
def test_labels_may_be_missing_in_lists_of_strings_and_booleans(y, classes, codes, hold):
    found, numbers = encode_labels(hold(y), len(y))
    assert (found.tolist(), numbers.tolist()) == (classes, codes)


@pytest.mark.parametrize(("missing", "text"), [(-1, "'-1'"), (np.nan, "'nan'"), ("", "''")])
def test_missing_labels_that_numpy_turned_into_text_are_refused(missing, text):
    with pytest.raises(
        ValueError, match=f"y holds the text {text} as a label; mark missing labels among strings with None"
    ):
        encode_labels(np.array(["a", missing, "b"]), 3)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([-1] * 178, ValueError, "y must label at least one row"),
        ([None] * 178, ValueError, "y must label at least one row"),
        ([0, 1], ValueError, "y must have one entry per row of X, 178; got 2"),
        ([0, "a"] * 89, TypeError, "labels of one kind|all strings or all numbers"),
        (None, ValueError, "requires y to be passed"),
        (np.linspace(0, 1, 178), ValueError, "Unknown label type: continuous"),
    ],
)
def test_invalid_labels_are_refused(wine, y, error, message):
    with pytest.raises(error, match=message):
        hg.HypergraphClassifier("hyper-conv").fit(wine[0], y)


@pytest.mark.slow
def test_a_given_hypergraph_is_used_for_training(wine):
    _, y, few = wine
    H = hg.Hypergraph.from_hyperedges([np.flatnonzero(y == one) for one in range(3)], n_vertices=y.size)
    X = np.ones((y.size, 1))  # says nothing about the classes
    X[:: y.size // 3] += 1
    model = hg.HypergraphClassifier("hyper-conv", random_state=0, scale=False).fit(np.eye(y.size), few, hypergraph=H)
    assert model.hypergraph_ is H
    assert_array_equal(model.transduction_, y)
    equal_rows = hg.HypergraphClassifier(random_state=0, max_epochs=20).fit(X, few, hypergraph=H)
    assert_array_equal(equal_rows.predict(X), equal_rows.transduction_)
    with pytest.raises(ValueError, match="one vertex for each row of X, 10; got 178"):
        hg.HypergraphClassifier("hyper-conv").fit(X[:10], few[:10], hypergraph=H)
    with pytest.raises(TypeError, match="hypergraph must be a Hypergraph"):
        hg.HypergraphClassifier("hyper-conv").fit(X, few, hypergraph=[[0, 1]])
    with pytest.raises(TypeError, match="construct must return a Hypergraph; it returned a list"):
        hg.HypergraphClassifier("hyper-conv", construct=lambda X: list(X)).fit(X, few)
    with pytest.raises(ValueError, match="must not be given with construct='attributes'"):
        hg.HypergraphClassifier("hyper-conv", construct="attributes").fit(X, few, hypergraph=H)


def test_equal_rows_get_equal_predictions(wine):
    X, _, few = wine
    model = hg.HypergraphClassifier("hyper-conv", random_state=0, n_neighbors=2).fit(
        np.vstack([X, X[:30]]), np.append(few, [-1] * 30)
    )
    assert_array_equal(model.label_distributions_[:30], model.label_distributions_[178:])


def test_texts_are_classified_by_their_words():
    fruit, tools = ["ripe apple pie", "apple and plum", "plum pie"], ["steel hammer", "hammer and nail", "steel nail"]
    options = {"min_df": 1, "max_df": 1.0}
    model = hg.HypergraphClassifier("hyper-conv", construct="text", construct_options=options, random_state=0)
    y = ["fruit", None, None, "tool", None, None]
    assert model.fit(fruit + tools, y).transduction_.tolist() == ["fruit"] * 3 + ["tool"] * 3
    assert model.predict(["a plum", "one nail", "ripe apple pie"]).tolist() == ["fruit", "tool", "fruit"]
    assert model.predict_proba(["unheard of"]).shape == (1, 2)
    assert "plum" in model.hypergraph_.hyperedge_names


def test_texts_are_one_column_with_several_rows():
    texts = ["ripe apple pie", "steel hammer"]
    model = hg.HypergraphClassifier("hyper-conv", construct="text", construct_options={"min_df": 1}, max_epochs=2)
    model.fit(pd.DataFrame({"text": texts}), ["fruit", "tool"])
    assert not hasattr(model, "n_features_in_")
    for method in (model.predict, lambda X: model.fit(X, ["fruit"])):
        with pytest.raises(ValueError, match=r"X must be several texts, one per row; got a single one\. .*'an apple'"):
            method("an apple")
        with pytest.raises(ValueError, match=r"X must be one column of texts; got shape \(2, 2\)"):
            method(pd.DataFrame({"title": texts, "text": texts}))


def test_clusters_of_sparse_rows_are_found_and_joined_without_densifying_them(wine, monkeypatch):
    X, y, _ = wine
    X = MinMaxScaler().fit_transform(X)
    options = {"construct": "clusters", "scale": False, "random_state": 0, "max_epochs": 30}
    expected = hg.HypergraphClassifier("hyper-conv", **options).fit(X[::2], y[::2]).predict(X[1::2])
    own = sparse.csr_array.toarray

    def toarray(matrix, *arguments, **options):
        assert matrix.shape != (y.size // 2, X.shape[1]), "all rows were made dense"
        return own(matrix, *arguments, **options)

    monkeypatch.setattr(sparse.csr_array, "toarray", toarray)
    rows = sparse.csr_array(X)
    model = hg.HypergraphClassifier("hyper-conv", **options).fit(rows[::2], y[::2])
    assert (model.predict(rows[1::2]) == expected).mean() > 0.95


def test_rows_without_finite_probabilities_are_named(wine):
    X, _, y = wine
    model = hg.HypergraphClassifier("mlp", max_epochs=2, random_state=0).fit(X, y)
    far = X[:3].copy()
    far[1, 0] = np.finfo(np.float32).min
    message = r"probabilities must be finite; not so in row 1. Look for numbers of X"
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=message):
        model.predict_proba(far)
    near = hg.HypergraphClassifier("hyper-conv", max_epochs=2, random_state=0).fit(X, y)
    far[1, 0] = 1e200
    message = r"row 1 is farther than 1e\+150 from its neighbours"
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=message):
        near.predict(far)


def test_rows_without_a_label_cannot_be_scored(wine):
    X, y, few = wine
    model = hg.HypergraphClassifier("hyper-conv", random_state=0, max_epochs=20).fit(X, few)
    assert model.score(X, y) == (model.transduction_ == y).mean()
    for unlabelled in (few, np.where(few < 0, np.nan, few), [None if one < 0 else one for one in few.tolist()]):
        with pytest.raises(ValueError, match=f"y must have a label in each row; {(few < 0).sum()} of 178 have none"):
            model.score(X, unlabelled)
    signs = hg.HypergraphClassifier("hyper-conv", random_state=0, max_epochs=20).fit(X, np.where(y == 0, 1, -1))
    assert 0 < signs.score(X[:10], [-1] * 5 + [1] * 5) <= 1


@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention", "mlp"])
def test_explanations_add_up_to_the_scores_of_training(wine, model):
    X, _, few = wine
    one = hg.HypergraphClassifier(model, random_state=0, max_epochs=20).fit(X, np.where(few < 0, -1, few + 5))
    for row in (0, 100):
        why = one.explain(row)
        assert why.target_name == str(one.transduction_[row])
        assert_allclose(why.probability, one.label_distributions_[row].max(), atol=1e-5)
        assert_allclose(sum(part.contribution for part in why.parts), why.logit, atol=1e-4)
    assert one.explain(0, target=7).target == 2  # the class 7, not the seventh
    with pytest.raises(ValueError, match="target must be one of the classes, 5, 6, 7; got 1"):
        one.explain(0, target=1)
    with pytest.raises(ValueError, match="row must be a number from 0 to 177; got 178"):
        one.explain(178)


def test_explanations_use_the_names_of_rows_and_hyperedges():
    H = hg.Hypergraph.from_hyperedges(
        [[0, 1], [1, 2]], n_vertices=3, vertex_names=["tea", "milk", "nail"], hyperedge_names=["b1", "b2"]
    )
    model = hg.HypergraphClassifier("hyper-conv", random_state=0).fit(np.eye(3), ["food", None, "tools"], hypergraph=H)
    why = model.explain("milk", target="tools")
    assert (why.vertex_name, why.target_name, set(why.names)) == ("milk", "tools", {"b1", "b2", "bias"})
    with pytest.raises(TypeError, match=r"For a HypergraphClassifier, call its explain\(row\)\.$"):
        hg.explain(model, H, "milk")


def test_sparse_rows_stay_sparse_and_give_the_result_of_unscaled_dense_rows(wine):
    X, _, few = wine
    X = MinMaxScaler().fit_transform(X)
    results = []
    for rows in (X, sparse.csr_array(X)):
        model = hg.HypergraphClassifier("hyper-conv", scale=False, dropout=0.0, random_state=0).fit(rows, few)
        results.append(model.label_distributions_)
    assert_allclose(*results, atol=1e-4)
    assert sparse.issparse(model._features)


@pytest.mark.slow
def test_tables_keep_the_names_of_their_columns(wine):
    X, _, few = wine
    frame = pd.DataFrame(X, columns=[f"c{place}" for place in range(13)])
    expected = hg.HypergraphClassifier("hyper-conv", random_state=0).fit(X, few).transduction_
    for table in (frame, pl.from_pandas(frame)):
        model = hg.HypergraphClassifier("hyper-conv", random_state=0).fit(table, few)
        assert model.feature_names_in_.tolist() == frame.columns.tolist()
        assert_array_equal(model.transduction_, expected)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"c0": "other"}))


@pytest.mark.slow
def test_the_classifier_works_in_pipelines_searches_and_cross_validation(wine):
    X, y, _ = wine
    pipeline = make_pipeline(MinMaxScaler(), hg.HypergraphClassifier("hyper-conv", max_epochs=30, random_state=0))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.9
    grid = {
        "hypergraphclassifier__n_neighbors": [3, 8],
        "hypergraphclassifier__construct_options": [{"metric": "cosine"}],
    }
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert search.best_params_["hypergraphclassifier__n_neighbors"] in (3, 8)
    assert clone(search.best_estimator_).fit(X, y).score(X, y) > 0.9


@pytest.mark.slow
def test_results_depend_on_the_seed_alone(wine):
    X, _, few = wine
    one, same, other = (hg.HypergraphClassifier("hyper-conv", random_state=seed).fit(X, few) for seed in (3, 3, 4))
    assert_array_equal(one.label_distributions_, same.label_distributions_)
    assert (one.label_distributions_ != other.label_distributions_).any()


def test_early_stopping_holds_labels_out(wine):
    X, y, _ = wine
    options = {"early_stopping": True, "max_epochs": 400, "n_epochs_no_change": 5, "learning_rate": 0.1}
    model = hg.HypergraphClassifier("hyper-conv", random_state=0, **options).fit(X, y)
    assert len(model.validation_curve_) == model.n_epochs_ < 400
    alone = hg.HypergraphClassifier("hyper-conv", random_state=0, **{**options, "max_epochs": 7}).fit(X[::30], y[::30])
    assert (alone.validation_curve_, alone.n_epochs_) == ([], 7)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"construct": "magic"}, "construct must be one of 'knn'"),
        ({"model": "gcn"}, "model must be one of 'auto', 'hyper-conv'"),
        ({"n_neighbors": 0}, "n_neighbors must be at least 1"),
        ({"construct": "clusters", "construct_options": {"n_clusters": 1}}, "n_clusters must be at least 2"),
        ({"dropout": 1.0}, "dropout must be a number from 0"),
        ({"construct": "attributes", "construct_options": {"columns": ["x99"]}}, "columns must name a column"),
        (
            {"construct": "attributes", "construct_options": {"bins": {"x99": 3}}},
            "bins must name columns that are used",
        ),
        ({"construct_options": {"k": 3}}, "among those of construct='knn', 'metric', .*; got 'k'.*set n_neighbors"),
        ({"construct": "clusters", "construct_options": {"clusters": 3}}, "'n_clusters', 'seed'; got 'clusters'"),
        ({"construct": "attributes", "construct_options": {"bin": 3}}, "'columns', 'bins', 'missing'; got 'bin'"),
    ],
)
def test_invalid_settings_are_refused(wine, settings, message):
    with pytest.raises(ValueError, match=message):
        hg.HypergraphClassifier(**settings).fit(wine[0], wine[1])


def test_options_without_effect_are_refused(wine):
    X, y, _ = wine
    H = hg.construct.from_knn(X, 3)
    with pytest.raises(ValueError, match="construct_options must be left out if a hypergraph is given"):
        hg.HypergraphClassifier("hyper-conv", construct_options={"metric": "cosine"}).fit(X, y, hypergraph=H)
    options = {"vectorizer": TfidfVectorizer(), "min_df": 1}
    with pytest.raises(ValueError, match="vectorizer must be the only one of construct_options"):
        hg.HypergraphClassifier("hyper-conv", construct="text", construct_options=options).fit(
            ["a text", "another"], [0, 1]
        )
    with pytest.raises(ValueError, match=r"'vectorizer'; got 'ngram_range'\. For others, pass a vectorizer\."):
        hg.HypergraphClassifier("hyper-conv", construct="text", construct_options={"ngram_range": (1, 2)}).fit(
            ["a text"], [0]
        )
    with pytest.raises(TypeError, match="scale must be True or False; got 'yes'"):
        hg.HypergraphClassifier("hyper-conv", scale="yes").fit(X, y)


@pytest.mark.parametrize("construct", CONSTRUCTORS)
def test_options_are_the_arguments_of_the_constructor_of_that_name(construct):
    function = getattr(hg.construct, f"from_{construct}")
    assert ["k"] * (construct == "knn") + list(options_of(construct)) == list(inspect.signature(function).parameters)[
        1:
    ]


@pytest.mark.parametrize(
    ("construct", "X"),
    [
        ("knn", load_wine().data),
        ("clusters", load_wine().data),
        ("attributes", load_wine().data),
        ("text", ["a tea"] * 178),
    ],
)
@pytest.mark.filterwarnings("ignore:every row was predicted")
def test_fitting_leaves_the_random_states_of_numpy_and_python_alone(wine, construct, X):
    options = {"min_df": 1, "max_df": 1.0} if construct == "text" else None
    model = hg.HypergraphClassifier(
        "hyper-conv",
        construct=construct,
        construct_options=options,
        early_stopping=True,
        max_epochs=2,
        random_state=None,
    )
    before = np.random.get_state(), random.getstate()
    model.fit(X, wine[1]).predict(X[:2])
    after = np.random.get_state(), random.getstate()
    np.testing.assert_equal(after, before)


def test_without_a_random_state_each_fit_is_another(wine):
    X, y, _ = wine
    one, other = (hg.HypergraphClassifier("hyper-conv", max_epochs=2).fit(X, y).label_distributions_ for _ in range(2))
    assert (one != other).any()


def test_data_without_a_number_of_its_own_is_refused(wine):
    X, y, _ = wine
    gaps = X.copy()
    gaps[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN\. Fill in missing values"):
        hg.HypergraphClassifier("hyper-conv").fit(sparse.csr_array(gaps), y)
    infinite = np.where(np.isnan(gaps), np.inf, gaps)
    with pytest.raises(ValueError, match="contains infinity"):
        hg.HypergraphClassifier("hyper-conv").fit(infinite, y)
    with pytest.raises(ValueError, match=r"at least two rows for construct='attributes'; got n_samples=1"):
        hg.HypergraphClassifier("hyper-conv", construct="attributes").fit(X[:1], y[:1])


def test_embeddings_bring_neighbours_together_and_place_new_rows(wine):
    X, y, few = wine
    plain = hg.HypergraphEmbedding(steps=2).fit(X)
    scaled = StandardScaler().fit_transform(X)
    assert plain.embedding_.std(0).mean() < 0.8 * scaled.std(0).mean()
    assert_array_equal(plain.transform(X[5:9]), plain.embedding_[5:9])
    new = plain.transform(X * 1.0001)
    assert np.corrcoef(new.ravel(), plain.embedding_.ravel())[0, 1] > 0.98
    trained = hg.HypergraphEmbedding(trained=True, random_state=0).fit(X, few)
    assert LogisticRegression().fit(trained.embedding_[few >= 0], y[few >= 0]).score(trained.transform(X), y) > 0.9
    assert trained.get_feature_names_out()[0] == "hypergraphembedding0"
    with pytest.raises(ValueError, match="requires y to be passed"):
        hg.HypergraphEmbedding(trained=True).fit(X)


@pytest.mark.timing
def test_fitting_a_hundred_rows_takes_well_under_a_second(wine):
    X, y, _ = wine
    hg.HypergraphClassifier("hyper-conv", random_state=0).fit(X[:100], y[:100])
    start = time.process_time()
    hg.HypergraphClassifier("hyper-conv", random_state=0).fit(X[:100], y[:100])
    assert time.process_time() - start < 0.7


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"learning_rate": float("nan")}, r"learning_rate must be a number from 0 .*; got nan"),
        ({"learning_rate": float("inf")}, r"learning_rate must be a number from 0 .*; got inf"),
        ({"weight_decay": float("nan")}, r"weight_decay must be a number from 0 .*; got nan"),
        ({"learning_rate": 1e30}, r"training has diverged: .*Use a smaller learning_rate than 1e\+30"),
    ],
)
def test_settings_that_cannot_train_are_refused(wine, settings, match):
    X, _, y = wine
    with pytest.raises(ValueError, match=match):
        hg.HypergraphClassifier("hyper-conv", **{**QUICK, **settings}).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "meta"}, "device must be one that computes; got 'meta'"),
        ({"on_epoch": 5}, "on_epoch must be a function"),
        ({"verbose": "x"}, "verbose must be True or False"),
        ({"warm_start": "x"}, "warm_start must be True or False"),
        ({"max_time": float("nan")}, "max_time must be a number"),
        ({"random_state": "x"}, "random_state must be a whole number from 0 .*; got 'x'"),
        ({"random_state": -1}, "random_state must be a whole number from 0 .*; got -1"),
        ({"n_estimators": 10**9}, "n_estimators must be at most 10000"),
    ],
)
def test_options_of_other_types_are_refused(options, message):
    rows = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises((TypeError, ValueError), match=message):
        hg.HypergraphClassifier("hyper-conv", max_epochs=1, **options).fit(rows, np.arange(12) % 2)


def test_there_are_not_more_threads_than_cores():
    with threads(10**9):
        assert torch.get_num_threads() <= (os.cpu_count() or 1)
