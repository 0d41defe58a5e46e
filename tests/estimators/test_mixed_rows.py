"""Estimators on tables of numbers and words with gaps, and on tables of events."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import hypergnn as hg


@pytest.fixture(scope="module")
def people():
    """Sixty people; the class depends on age and town, and some of both are missing."""
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    town = np.where(rng.random(60) < 0.9, truth, 1 - truth)
    table = pd.DataFrame({"age": 30.0 + 25 * truth + rng.normal(0, 6, 60), "town": np.array(["Oslo", "Rome"])[town]})
    table.loc[::7, "age"], table.loc[3::11, "town"] = np.nan, None
    return table, truth, np.where(np.arange(60) < 16, truth, -1)


def records(table):
    return table.to_dict("records")


KINDS = {
    "pandas": lambda table: table,
    "polars": pl.from_pandas,
    "arrow": lambda table: pl.from_pandas(table).to_arrow(),
    "lazy": lambda table: pl.from_pandas(table).lazy(),
    "columns": lambda table: table.to_dict("list"),
    "rows": records,
    "objects": lambda table: table.to_numpy(object),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("construct", ["knn", "clusters", "attributes"])
def test_words_and_gaps_are_taken_as_they_are(people, kind, construct):
    table, truth, few = people
    max_time = None if kind is KINDS["pandas"] else 0  # the same rows, so the same comparison of models
    model = hg.HypergraphClassifier(construct=construct, max_time=max_time, random_state=0).fit(kind(table), few)
    assert (model.transduction_ == truth)[16:].mean() > 0.8
    assert (model.predict(kind(table)) == model.transduction_).all()
    assert model.n_features_in_ == 2
    new = pd.DataFrame({"age": [70.0, np.nan], "town": ["Bern", "Oslo"]}, dtype=object).astype({"age": float})
    assert model.predict(kind(new)).tolist() == [1, 0]


def test_the_embedding_takes_them_too(people):
    table, *_ = people
    assert hg.HypergraphEmbedding(max_epochs=2, random_state=0).fit_transform(table).shape[0] == 60


@pytest.mark.slow
def test_attributes_keep_the_numbers_as_features():
    X = pd.DataFrame({"size": np.linspace(0, 1, 40), "kind": ["a", "b"] * 20})
    model = hg.HypergraphClassifier("hyper-conv", construct="attributes", construct_options={"bins": 2}, max_epochs=20)
    features = model.fit(X, [0, 1] * 20)._features.toarray()
    assert features.shape == (40, model.hypergraph_.n_hyperedges + 1)
    np.testing.assert_allclose(features[:, -1], X["size"], rtol=1e-6)


@pytest.mark.slow
def test_gaps_in_new_rows_only_get_the_median_and_columns_are_counted(people):
    table, truth, _ = people
    full = table[["age"]].fillna(30.0).to_dict("list")
    model = clone(hg.HypergraphClassifier(max_epochs=20, random_state=0)).fit(full, truth)
    assert model.feature_names_in_.tolist() == ["age"]
    assert model.predict({"age": [1.0, 60.0]}).tolist() == [0, 1]
    for gap in ({"age": [np.nan, 3.0]}, pd.DataFrame({"age": [np.nan, 3.0]})):
        middle = {"age": [np.median(full["age"]), 3.0]}
        assert (model.predict_proba(gap) == model.predict_proba(middle)).all()
    with pytest.raises(ValueError, match="X has 2 features, but HypergraphClassifier is expecting 1 features"):
        model.predict({"age": [1.0], "town": [2.0]})


ORDERS = {
    "customer": [*"abcdefgh", "a", "e"],
    "product": ["tea"] * 4 + ["nail"] * 4 + ["cake", "saw"],
    "category": ["food"] * 4 + ["tools"] * 4 + ["food", "tools"],
}
CUSTOMERS = {
    "customer": list("hgfedcba"),
    "age": [30, None, 32, 33, 29, 31, 35, 30],
    "segment": ["trade", None, None, None, None, None, None, "private"],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "features", [CUSTOMERS, pd.DataFrame(CUSTOMERS), pd.DataFrame(CUSTOMERS).set_index("customer")]
)
def test_events_are_fitted_in_one_line(features):
    model = hg.HypergraphClassifier.from_events(
        ORDERS,
        vertex="customer",
        hyperedge=["product", "category"],
        features=features,
        labels="segment",
        settings={"model": "hyper-conv", "random_state": 0},
    )
    assert model.predictions_ == {**dict.fromkeys("abcd", "private"), **dict.fromkeys("efgh", "trade")}
    assert ("product", "tea") in model.hypergraph_.hyperedge_names.tolist()
    assert "('product', 'nail')" in map(str, model.explain("h").names)


@pytest.mark.slow
def test_events_without_features_or_names():
    orders = {"customer": [0, 1, 2, 3], "product": ["tea", "tea", "nail", "nail"]}
    model = hg.HypergraphClassifier.from_events(
        orders, vertex="customer", hyperedge="product", labels={0: "x", 2: "y"}, settings={"random_state": 0}
    )
    assert model.predictions_ == {0: "x", 1: "x", 2: "y", 3: "y"}


@pytest.mark.slow
def test_labels_in_another_order_than_the_rows():
    order = np.random.default_rng(0).permutation(30)
    table = pd.DataFrame({"age": np.arange(30.0)})
    y = pd.Series(np.arange(30) % 2)
    model = hg.HypergraphClassifier("hyper-conv", max_epochs=100, random_state=0)
    for rows, labels in ((table, y[order]), (table.iloc[order], y)):
        with pytest.warns(UserWarning, match="y has the index of X in another order; the labels are taken by their"):
            model.fit(rows, labels)
    model.fit(table.iloc[order], y.iloc[order])
    with pytest.raises(ValueError, match="y must have its labels in the order of the rows of X"):
        model.fit(table.iloc[order], y.iloc[order[::-1]])
