"""Estimators in files: the same predictions in another process, and nothing in a file that is not on the list."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import hypergnn as hg
from hypergnn import estimators
from hypergnn.persistence import tensor_files
from hypergnn.persistence.allowed import class_named, name_of
from hypergnn.persistence.object_reader import Reader
from hypergnn.persistence.object_writer import Writer

QUICK = {"max_epochs": 6, "random_state": 0}
X, Y = load_wine(return_X_y=True)
X, Y = X[::3], Y[::3]
NEW = X[:9] * 1.01
TEXTS = ["ripe apple pie", "apple and plum", "plum pie", "steel hammer", "hammer and nail", "steel nail"]
TABLE = pd.DataFrame({"colour": list("rgbrgb"), "size": [1.0, 2, np.nan, 4, 5, 6]})
H = hg.Hypergraph.from_hyperedges(
    [[0, 1, 2], [3, 4, 5], [0, 5]], n_vertices=6, vertex_names=list("abcdef"), hyperedge_names=["t", ("u", 1), 7]
)


def texts(**options):
    given = options or {"min_df": 1, "max_df": 1.0}
    return hg.HypergraphClassifier("hyper-conv", construct="text", construct_options=given, **QUICK)


CASES = {
    "neighbours": lambda: (hg.HypergraphClassifier("hyper-conv", **QUICK).fit(X, Y), NEW),
    "attention": lambda: (hg.HypergraphClassifier("hyper-attention", **QUICK).fit(X, Y.astype(str)), NEW),
    "clusters": lambda: (hg.HypergraphClassifier("mlp", construct="clusters", **QUICK).fit(X, Y), NEW),
    "sparse": lambda: (hg.HypergraphEmbedding(trained=True, **QUICK).fit(sparse.csr_array(X), Y), NEW),
    "attributes": lambda: (
        hg.HypergraphClassifier("hyper-conv", construct="attributes", **QUICK).fit(TABLE, list("xyxyxy")),
        TABLE.iloc[::-1],
    ),
    "text": lambda: (texts().fit(TEXTS, ["fruit", None, None, "tool", None, None]), ["a plum", "one nail"]),
    "given": lambda: (
        hg.HypergraphClassifier("hyper-conv", **QUICK).fit(X[:6], Y[-6:] * 0 + [1, 2] * 3, hypergraph=H),
        NEW,
    ),
    "default": lambda: (hg.HypergraphClassifier(**QUICK).fit(X, np.where(np.arange(Y.size) % 2, Y, -1)), NEW),
    "default, attributes": lambda: (
        hg.HypergraphClassifier(construct="attributes", **QUICK).fit(TABLE, list("xyxyxy")),
        TABLE.iloc[::-1],
    ),
    "default, text": lambda: (
        hg.HypergraphClassifier(construct="text", construct_options={"min_df": 1, "max_df": 1.0}, **QUICK).fit(
            TEXTS, ["fruit", "fruit", None, "tool", "tool", None]
        ),
        ["a plum", "one nail"],
    ),
    "default, given": lambda: (hg.HypergraphClassifier(**QUICK).fit(X[:6], [1, 2] * 3, hypergraph=H), NEW),
    "corrected": lambda: (hg.CorrectAndSmooth(RandomForestClassifier(3, random_state=0)).fit(X, Y), NEW),
    "network for numbers": lambda: (hg.HypergraphRegressor("hyper-conv", **QUICK).fit(X, X[:, :2]), NEW),
    "embedding": lambda: (hg.HypergraphEmbedding(trained=True, **QUICK).fit(X, Y), NEW),
    "plain embedding": lambda: (hg.HypergraphEmbedding(random_state=np.random.RandomState(3)).fit(X), NEW),
}


def called(model, rows):
    method = getattr(model, "predict_proba", None) or getattr(model, "predict", None) or model.transform
    return method(rows)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore:the model was fitted with memberships:UserWarning")
def test_a_file_gives_the_same_predictions(tmp_path, case):
    model, rows = CASES[case]()
    hg.save(model, tmp_path / "model.safetensors")
    again = hg.load(tmp_path / "model.safetensors")
    assert_array_equal(called(again, rows), called(model, rows))
    if hasattr(model, "transduction_"):
        assert_array_equal(again.transduction_, model.transduction_)
    assert type(again) is type(model)
    assert again.hypergraph_.equals(model.hypergraph_)
    assert again.hypergraph_ is again._relation.hypergraph
    assert repr(again) == repr(model) or case == "plain embedding"


@pytest.mark.slow
def test_the_default_regressor_with_forests_and_boosting(tmp_path):
    data, target = load_diabetes(return_X_y=True)
    model = hg.HypergraphRegressor(**QUICK).fit(data[:105], target[:105])
    model._stack.weights[:] = 1 / len(model._stack.weights)
    hg.save(model, tmp_path / "model.safetensors")
    again = hg.load(tmp_path / "model.safetensors")
    assert_array_equal(again.predict(data[200:220]), model.predict(data[200:220]))
    assert str(again.report_) == str(model.report_)


@pytest.mark.slow
def test_another_process_predicts_the_same(tmp_path):
    model = hg.HypergraphClassifier("hyper-conv", **QUICK).fit(X, Y)
    path = tmp_path / "model.safetensors"
    hg.save(model, path)
    np.save(tmp_path / "rows.npy", NEW)
    script = (
        "import sys, json, numpy as np, hypergnn as hg\n"
        "folder = sys.argv[1]\n"
        "model = hg.load(folder + '/model.safetensors')\n"
        "print(json.dumps(model.predict_proba(np.load(folder + '/rows.npy')).tolist()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True, env=os.environ
    )
    assert_array_equal(json.loads(done.stdout), model.predict_proba(NEW))


def round_trip(value):
    writer = Writer()
    node = json.loads(json.dumps(writer.write(value, "it")))
    return Reader(writer.tensors).read(node)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        RandomForestClassifier(5, random_state=0),
        HistGradientBoostingClassifier(max_iter=3),
        LogisticRegression(max_iter=9000),
        GaussianNB(),
        KNeighborsClassifier(3),
        SVC(),
        make_pipeline(StandardScaler(), GaussianNB()),
    ],
    ids=lambda part: type(part).__name__,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_parts_of_scikit_learn_are_stored_by_their_arrays(part, n_classes):
    rows = n_classes > Y
    fitted = part.fit(X[rows], Y[rows])
    again = round_trip(fitted)
    assert_array_equal(again.predict(X), fitted.predict(X))
    if hasattr(fitted, "predict_proba"):
        assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


def test_encoders_and_vectorizers_are_stored_by_their_arrays():
    encoder = OneHotEncoder(handle_unknown="ignore").fit(TABLE[["colour"]])
    assert_array_equal(
        round_trip(encoder).transform(TABLE[["colour"]]).toarray(), np.tile(np.eye(3)[[2, 1, 0]], (2, 1))
    )
    words = np.array([["low"], ["high"], ["low"]])
    ordered = OneHotEncoder(categories=[["low", "high"]]).fit(words)
    assert_array_equal(round_trip(ordered).transform(words).toarray(), [[1, 0], [0, 1], [1, 0]])
    for vectorizer in (TfidfVectorizer(stop_words="english"), CountVectorizer(ngram_range=(1, 2))):
        fitted = vectorizer.fit(TEXTS)
        assert_array_equal(round_trip(fitted).transform(TEXTS).toarray(), fitted.transform(TEXTS).toarray())


def test_values_keep_their_types_and_identities():
    array = np.arange(3.0)
    values = [
        (1, "a", None, True, 2.5, float("inf")),
        {"x": array, "y": array, 3: {"z": {1, 2}}},
        np.float32(1.5),
        np.array(["a", None, 3], dtype=object),
        np.array(["ab", "c"]),
        np.array(["2026-01-01"], dtype="datetime64[D]"),
        np.array([True, False]),
        np.array([2**63], dtype=np.uint64),
        torch.arange(4),
        range(2, 8, 3),
        b"\x00\xff",
        np.dtype("int16"),
        np.float64,
        frozenset({"q"}),
    ]
    again = round_trip(values)
    assert again[1]["x"] is again[1]["y"]
    for one, other in zip(values, again, strict=True):
        assert type(one) is type(other)
        np.testing.assert_equal(*(part.tolist() if isinstance(part, torch.Tensor) else part for part in (other, one)))
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None)
    state, same = np.random.RandomState(5), np.random.default_rng(5)
    assert round_trip(state).randint(1000) == state.randint(1000)
    assert round_trip(same).integers(1000) == same.integers(1000)


def words(text):
    return text.split()


def test_functions_and_unknown_classes_are_refused_by_name(tmp_path):
    path = tmp_path / "model.safetensors"
    named = hg.HypergraphClassifier("mlp", construct=lambda X: hg.construct.from_knn(X, 3), **QUICK).fit(X, Y)
    with pytest.raises(
        TypeError, match=r"HypergraphClassifier\.construct must be something .*; got the function .*lambda"
    ):
        hg.save(named, path)
    vectorizer = TfidfVectorizer(tokenizer=words, token_pattern=None)
    model = texts(vectorizer=vectorizer).fit(TEXTS, ["fruit", None, None, "tool", None, None])
    with pytest.raises(TypeError, match=r"vectorizer.*tokenizer must be .*; got the function words\. .*joblib\.dump"):
        hg.save(model, path)
    with pytest.raises(TypeError, match=r"it\.steps\[0\]\[1\] must be .*; got a .*Mine"):
        round_trip(make_pipeline(Mine()))

    class Own(hg.HypergraphClassifier):
        pass

    with pytest.raises(TypeError, match="must be an estimator of hypergnn itself; got Own, a class of yours"):
        hg.save(Own("mlp", **QUICK).fit(X, Y), path)
    assert not path.exists()


class Mine:
    def fit(self, X):
        return self if X is not None else None

    def transform(self, X):
        return X


def test_callbacks_are_left_out_and_other_settings_stay(tmp_path):
    model = hg.HypergraphClassifier("mlp", on_epoch=lambda *_: None, class_weight={0: 2.0}, **QUICK).fit(X, Y)
    hg.save(model, tmp_path / "model.safetensors")
    again = hg.load(tmp_path / "model.safetensors")
    assert (again.on_epoch, again.class_weight) == (None, {0: 2.0})


def test_what_is_not_fitted_or_not_ours_is_refused(tmp_path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        hg.save(hg.HypergraphClassifier(), tmp_path / "a")
    with pytest.raises(TypeError, match=r"network must be a hypergnn\.models\.Network; got LogisticRegression"):
        hg.save(LogisticRegression(), tmp_path / "a")
    model = hg.HypergraphClassifier("mlp", **QUICK).fit(X, Y)
    with pytest.raises(ValueError, match="class_names, about, vertex_names and hypergraph are for networks"):
        hg.save(model, tmp_path / "a", class_names=["x"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("os:system", "it holds a os:system, which files must not hold"),
        ("sklearn.preprocessing:FunctionTransformer", "which files must not hold"),
        ("hypergnn.estimators.rows:normalize", "which this version does not have"),
        ("hypergnn.estimators.rows:Nothing", "which this version does not have"),
        ("hypergnn.estimators.rows:TfidfVectorizer", "which this version does not have"),
    ],
)
def test_classes_that_are_not_listed_are_not_made(name, message):
    with pytest.raises(ValueError, match=message):
        class_named(name)
    with pytest.raises(ValueError, match=message):
        Reader({}).read({"id": 0, "class": name, "state": []})


def test_names_of_classes():
    assert name_of(StandardScaler) == "sklearn.preprocessing:StandardScaler"
    assert name_of(hg.HypergraphClassifier) == "hypergnn.estimators.classifier:HypergraphClassifier"
    assert name_of(dict) is None
    assert class_named(name_of(RandomForestClassifier)) is RandomForestClassifier


def damaged(tmp_path, change):
    model = hg.HypergraphClassifier("mlp", **QUICK).fit(X, Y)
    path = tmp_path / "model.safetensors"
    hg.save(model, path)
    header, tensors = tensor_files.read(path, "Estimator", 1)
    tensors = {name: one.clone() for name, one in tensors.items()}
    tree = json.loads(tensors["tree"].numpy().tobytes())
    about = {name: header[name] for name in ("class", "scikit-learn")}
    tree, about = change(tree, about)
    tensors["tree"] = torch.tensor(list(json.dumps(tree).encode()), dtype=torch.uint8)
    tensor_files.write(path, "Estimator", 1, about, tensors)
    return path


@pytest.mark.slow
def test_files_with_other_content_are_refused(tmp_path):
    def other_class(tree, about):
        return tree, {**about, "class": "hypergnn.estimators.rows:Scales"}

    def unknown_part(tree, about):
        return [*tree, ["extra", {"id": 999, "code": "print()"}]], about

    def missing_array(tree, about):
        return [*tree, ["extra", {"id": 999, "array": "nowhere", "dtype": "<f8", "shape": [1]}]], about

    for change, message in (
        (other_class, "it holds a Scales, which is no estimator of hypergnn"),
        (unknown_part, "it holds a part of an unknown kind: id, code"),
        (missing_array, "it has no 'nowhere'"),
    ):
        with pytest.raises(ValueError, match=f"is not a valid file of an estimator: {message}"):
            hg.load(damaged(tmp_path, change))


def test_another_version_of_scikit_learn_is_named(tmp_path):
    path = damaged(tmp_path, lambda tree, about: (tree, {**about, "scikit-learn": "1.2"}))
    with pytest.warns(UserWarning, match=r"was written with scikit-learn 1\.2; this is"):
        assert hg.load(path).predict(NEW).shape == (9,)


def test_trees_that_lead_out_of_their_arrays_are_refused():
    forest = RandomForestClassifier(2, random_state=0).fit(X, Y)
    tree = forest.estimators_[0].tree_
    for field, value in (("left_child", 10_000), ("right_child", 0), ("feature", 99)):
        writer = Writer()
        _, sizes, state = tree.__reduce__()
        nodes = state["nodes"].copy()
        nodes[field][0] = value
        node = {"id": 0, "tree": writer.write([*sizes, {**state, "nodes": nodes}], "it")}
        with pytest.raises(ValueError, match=r"branches that lead nowhere|features that do not exist"):
            Reader(writer.tensors).read(node)


def test_kinds_of_files_are_told_apart(tmp_path):
    hg.save(hg.Network(hg.Config(), 3, 2), tmp_path / "network")
    assert hg.load(tmp_path / "network").network.n_features == 3
    H.save(tmp_path / "hypergraph")
    with pytest.raises(ValueError, match=r"must contain a Network; got a Hypergraph\. Load it with Hypergraph\.load"):
        hg.load(tmp_path / "hypergraph")
    (tmp_path / "text").write_text("no file of ours")
    with pytest.raises(ValueError, match="is damaged or not a file of hypergnn"):
        hg.load(tmp_path / "text")


@pytest.mark.slow
@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2024-01-01", periods=len(X)),
        pd.date_range("2024-01-01", periods=len(X), tz="UTC"),
        pd.MultiIndex.from_product([["a", "b"], pd.date_range("2024-01-01", periods=len(X) // 2)]),
    ],
    ids=["dates", "dates with a zone", "pairs"],
)
def test_rows_that_are_called_by_dates(index, tmp_path):
    model = hg.HypergraphClassifier("hyper-conv", **QUICK).fit(pd.DataFrame(X, index=index), Y)
    hg.save(model, tmp_path / "model.safetensors")
    again = hg.load(tmp_path / "model.safetensors")
    assert again.hypergraph_.vertex_names.tolist() == [str(one) for one in index]
    assert_array_equal(again.transduction_, model.transduction_)


def test_load_returns_a_saved_network_or_one_of_the_estimators():
    known = {name for name in estimators.__all__ if issubclass(getattr(estimators, name), BaseEstimator)}
    assert set(hg.load.__annotations__["return"].split(" | ")) == {"SavedModel", *known}


def test_what_fit_accepts_as_jobs_can_be_saved(tmp_path):
    model = hg.HypergraphClassifier("mlp", n_jobs=10**9, **QUICK).fit(X, Y)
    hg.save(model, tmp_path / "model.safetensors")
    assert_array_equal(hg.load(tmp_path / "model.safetensors").predict(X), model.predict(X))
