"""New rows join the hyperedges of the relations that points, tables and documents give."""

import inspect
import pickle
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_wine
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

import hypergnn as hg
from hypergnn.construct import Attributes, Clusters, NearestNeighbours, NearestVertex, Words

WINE = load_wine().data
TEXTS = ["The cat and a dog", "A dog barks", "The cat sleeps", "", "and the"]
FRUIT = {"colour": ["red", "green", "red", None], "weight": [150.0, 160.0, 8.0, 120.0]}

FORMS = pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
KINDS = pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=["dict", "pd", "pl", "pa"])


def joined_names(relation, rows):
    names = relation.hypergraph.hyperedge_names
    return [names[row.astype(bool)].tolist() for row in relation.join(rows).toarray()]


@pytest.mark.parametrize(
    ("function", "relation"),
    [
        (hg.construct.from_knn, NearestNeighbours),
        (hg.construct.from_clusters, Clusters),
        (hg.construct.from_attributes, Attributes),
        (hg.construct.from_text, Words),
    ],
)
def test_a_function_and_its_class_have_the_same_arguments(function, relation):
    assert inspect.signature(function).parameters == inspect.signature(relation).parameters


@pytest.mark.parametrize(
    ("relation", "expected", "rows"),
    [
        (NearestNeighbours(WINE, 4), hg.construct.from_knn(WINE, 4), WINE[:3]),
        (Clusters(WINE, [3, 10]), hg.construct.from_clusters(WINE, [3, 10]), WINE[:3]),
        (Attributes(FRUIT, bins=2), hg.construct.from_attributes(FRUIT, bins=2), FRUIT),
        (Words(TEXTS), hg.construct.from_text(TEXTS), TEXTS),
        (NearestVertex(hg.construct.from_knn(WINE, 4), WINE), hg.construct.from_knn(WINE, 4), WINE[:3]),
    ],
    ids=["NearestNeighbours", "Clusters", "Attributes", "Words", "NearestVertex"],
)
def test_a_relation_holds_the_hypergraph_and_gives_memberships(relation, expected, rows):
    assert relation.hypergraph.equals(expected)
    joined = relation.join(rows)
    assert isinstance(joined, sparse.csr_array)
    assert joined.shape[1] == expected.n_hyperedges
    assert set(joined.data) == {1.0}
    assert_array_equal(pickle.loads(pickle.dumps(relation)).join(rows).toarray(), joined.toarray())


@FORMS
def test_rows_of_the_data_join_their_own_hyperedges(convert):
    for relation in (
        Clusters(convert(WINE), [3, 10]),
        NearestVertex(hg.construct.from_clusters(WINE, 7), convert(WINE)),
    ):
        assert_array_equal(relation.join(convert(WINE)).toarray(), relation.hypergraph.to_scipy().toarray())
    for relation, data in ((Attributes(FRUIT, bins=2, missing="value"), FRUIT), (Words(TEXTS), TEXTS)):
        assert_array_equal(relation.join(data).toarray(), relation.hypergraph.to_scipy().toarray())


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine"])
@FORMS
def test_a_new_point_joins_the_hyperedges_around_its_nearest_points(metric, convert):
    points, new = WINE[::2], WINE[1::2]
    nearest = np.argsort(cdist(new, points, metric), axis=1)[:, :4]
    joined = NearestNeighbours(convert(points), 4, metric=metric).join(convert(new))
    assert [set(row.nonzero()[0]) for row in joined.toarray()] == [set(row) for row in nearest]


def test_new_points_far_from_the_origin_join_the_same_hyperedges():
    digits = load_digits().data[:200]
    H = hg.construct.from_clusters(digits, 10)
    for make in (lambda X: NearestNeighbours(X, 4), lambda X: NearestVertex(H, X)):
        near, far = (make(digits[:200] + shift).join(digits + 0.25 + shift) for shift in (0, 2.0**27))
        assert_array_equal(far.toarray(), near.toarray())


@FORMS
def test_a_new_point_joins_the_cluster_with_the_nearest_centre_at_each_scale(convert):
    relation = Clusters(convert(WINE[::2]), [3, 10])
    centres = [one.toarray() if sparse.issparse(one) else one for one in relation.centres]
    assert [one.shape for one in centres] == [(3, 13), (10, 13)]
    members = relation.hypergraph.to_hyperedges()
    np.testing.assert_allclose(np.vstack(centres), [WINE[::2][edge].mean(0) for edge in members])
    nearest = np.column_stack(
        [cdist(WINE[1::2], one).argmin(1) + start for one, start in zip(centres, (0, 3), strict=True)]
    )
    assert_array_equal(relation.join(convert(WINE[1::2])).toarray().nonzero()[1].reshape(-1, 2), nearest)


def test_new_points_must_have_the_features_of_the_others():
    for relation in (NearestNeighbours(WINE), Clusters(WINE), NearestVertex(hg.construct.from_knn(WINE), WINE)):
        with pytest.raises(ValueError, match="X must have 13 features, as the points it joins; got 2"):
            relation.join(WINE[:, :2])
        with pytest.raises(ValueError, match="row 0, column 3 is nan"):
            relation.join(np.where(np.arange(13) == 3, np.nan, WINE[:1]))


def test_the_nearest_vertex_needs_a_hypergraph_and_a_row_for_each_vertex():
    with pytest.raises(ValueError, match="one vertex for each row of X, 10; got 178"):
        NearestVertex(hg.construct.from_knn(WINE), WINE[:10])
    with pytest.raises(TypeError, match="hypergraph must be a Hypergraph; got list"):
        NearestVertex([[0, 1]], WINE[:2])


@KINDS
def test_new_rows_join_the_hyperedges_of_their_values(kind):
    relation = Attributes(kind(FRUIT), bins=2)
    rows = kind({"colour": ["green", "blue", None], "weight": [120.5, None, 1e6]})
    assert joined_names(relation, rows) == [["colour=green", "weight=(120.0, 160.0]"], [], ["weight=(120.0, 160.0]"]]
    with_missing = Attributes(kind(FRUIT), ["colour"], missing="value")
    assert joined_names(with_missing, rows) == [["colour=green"], [], ["colour missing"]]


def test_numbers_join_the_bins_of_their_names():
    relation = Attributes({"rooms": [1, 2, 3, 4, 4], "lift": [0, 1, 0, 1, 1]}, bins=4)
    names = relation.hypergraph.hyperedge_names
    assert names.tolist() == ["rooms=[1, 2]", "rooms=(2, 3]", "rooms=(3, 4]", "lift=0", "lift=1"]
    relation = Attributes({"rooms": [1, 2, 3]}, bins=5)
    assert relation.hypergraph.hyperedge_names.tolist() == ["rooms=[1, 1]", "rooms=(1, 2]", "rooms=(2, 3]"]
    expected = [["rooms=(2, 3]"], ["rooms=(2, 3]"], ["rooms=[1, 1]"], ["rooms=[1, 1]"], []]
    assert joined_names(relation, {"rooms": [2.5, 5, 0, 1, np.nan]}) == expected
    with pytest.raises(ValueError, match="column 'rooms' must hold numbers, as it did"):
        relation.join({"rooms": ["two"]})


def test_two_values_in_bins_are_joined_by_their_order():
    relation = Attributes({"lift": [1, 0, 1, 0]}, bins={"lift": 2})
    assert joined_names(relation, {"lift": [1, 0]}) == [["lift=(0, 1]"], ["lift=[0, 0]"]]


@KINDS
def test_new_rows_join_by_dates_of_any_resolution(kind):
    days = [datetime(2024, 1, 2), datetime(2024, 1, 1), datetime(2024, 1, 2)]
    relation = Attributes(kind({"day": days}))
    for column in (days, pd.Series(days).astype("datetime64[s]"), np.array(days, dtype="datetime64[ns]")):
        assert_array_equal(relation.join({"day": column}).toarray(), [[1, 0], [0, 1], [1, 0]])


def test_only_columns_with_hyperedges_are_needed_to_join():
    relation = Attributes({**FRUIT, "constant": ["x"] * 4}, bins=2)
    assert relation.join(FRUIT).shape == (4, 4)
    with pytest.raises(ValueError, match="all columns that hyperedges were made from; 'weight' is missing"):
        relation.join({"colour": ["red"]})


def test_a_new_document_joins_the_words_it_uses():
    relation = Words(TEXTS)
    assert joined_names(relation, ["Dog, dog and dog!", "a bird", "cat & dog"]) == [["dog"], [], ["cat", "dog"]]
    assert sorted(relation.vectorizer.vocabulary_) == ["cat", "dog"]
    pairs = Words(TEXTS, vectorizer=CountVectorizer(ngram_range=(2, 2)))
    assert joined_names(pairs, ["the cat sat"]) == [["the cat"]]
    hashed = Words(TEXTS, vectorizer=HashingVectorizer(n_features=64))
    assert_array_equal(hashed.join(TEXTS).toarray(), hashed.hypergraph.to_scipy().toarray())
    with pytest.raises(TypeError, match="got a single one"):
        relation.join("the cat")
