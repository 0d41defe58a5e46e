"""Tables of numbers, words, dates and gaps as numbers."""

import json
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hypergnn.construct import TableEncoder

FLATS = {
    "rooms": [2, 4, None, 3, 2],
    "district": ["north", "south", "north", None, "south"],
    "built": [date(2001, 1, 1), date(2001, 1, 3), date(2001, 1, 2), date(2001, 1, 1), None],
    "lift": [True, False, True, True, None],
    "owner": ["a", "b", "c", "d", "e"],
    "country": ["it", "it", "it", "it", "it"],
    "note": [None, None, None, None, None],
}
NAMES = [
    "rooms", "rooms missing", "district=north", "district=south", "district missing", "built", "built missing", "lift",
    "lift missing",
]  # fmt: skip
M = 0.35  # marks a word or a gap
ENCODED = [
    [0.0, 0, M, 0, 0, 0.0, 0, 1, 0],
    [1.0, 0, 0, M, 0, 1.0, 0, 0, 0],
    [0.25, M, M, 0, 0, 0.5, 0, 1, 0],
    [0.5, 0, 0, 0, M, 0.0, 0, 1, 0],
    [0.0, 0, 0, M, 0, 0.25, M, 1, M],
]


def rows(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


KINDS = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table, "rows": rows}


@pytest.mark.parametrize("kind", [*KINDS.values(), pl.LazyFrame], ids=[*KINDS, "lazy"])
def test_every_kind_of_table_is_encoded_alike(kind):
    encoder = TableEncoder()
    assert encoder.fit_transform(kind(FLATS)).tolist() == ENCODED
    assert encoder.feature_names == NAMES


def test_kinds_of_columns_of_pandas():
    table = pd.DataFrame(FLATS)
    table["rooms"] = table["rooms"].astype("Int64")
    table["district"] = table["district"].astype("category")
    table["built"] = pd.to_datetime(table["built"]).dt.tz_localize("Europe/Rome")
    table["lift"] = table["lift"].astype("boolean")
    assert TableEncoder().fit_transform(table).tolist() == ENCODED
    numbered = pd.DataFrame({"zone": pd.Categorical([3, 1, 3, 1]), "stay": pd.to_timedelta([1, 3, 2, 1], unit="D")})
    assert TableEncoder().fit(numbered).feature_names == ["zone=3", "zone=1", "stay"]
    assert TableEncoder().fit_transform(numbered)[:, 2].tolist() == [0, 1, 0.5, 0]


def test_arrays_have_numbered_columns():
    array = np.array([[1, "x"], [3, "y"], [None, "x"]], dtype=object)
    encoder = TableEncoder().fit(array)
    assert encoder.feature_names == ["x0", "x0 missing", "x1=x"]
    assert encoder.transform(array).tolist() == [[0, 0, M], [1, 0, 0], [0.5, M, M]]


def test_new_rows_may_hold_new_words_gaps_and_numbers():
    encoder = TableEncoder().fit({"age": [20, 40, 30], "town": ["Rome", "Rome", "Oslo"]})
    new = {"town": ["Bern", None, "Rome"], "age": [60, None, 30], "other": [1, 2, 3]}  # columns go by name
    assert encoder.transform(new).tolist() == [[2.0, 0], [0.5, 0], [0.5, M]]


def test_the_most_frequent_words_get_a_column():
    table = {"word": ["c"] * 4 + ["a"] * 2 + ["b"] * 3 + ["d"]}
    assert TableEncoder().fit(table).feature_names == ["word=c", "word=a", "word=b"]
    assert TableEncoder(max_values=2).fit(table).feature_names == ["word=c", "word=b"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"age": [1.0, np.inf]}, "Input X contains infinity or a value too large: column 'age', row 1"),
        ({"name": ["a", "b"]}, "column that distinguishes rows"),
        ({"age": []}, "at least one row and one column"),
        ({"id": [2**60, 1]}, "column 'id' holds the whole number 1152921504606846976"),
        (np.ones(3), r"shape \(rows, columns\); got \(3,\)"),
    ],
)
def test_bad_tables_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(table)


def test_new_rows_must_have_the_columns():
    encoder = TableEncoder().fit({"age": [20, 40], "size": [1, 2]})
    with pytest.raises(ValueError, match="all columns that it had when it was learned; 'size' is missing"):
        encoder.transform({"age": [20]})
    with pytest.raises(ValueError, match="column 'age' of X must hold numbers"):
        encoder.transform({"age": ["old"], "size": [1]})
    with pytest.raises(ValueError, match="max_values must be at least 1; got 0"):
        TableEncoder(max_values=0)


def test_words_do_not_hide_numbers():
    near, other_word, far = TableEncoder().fit_transform({"x": [0.0, 0.1, 1.0, 0.0], "word": ["a", "b", "a", "b"]})[:3]
    assert np.linalg.norm(near - other_word) < np.linalg.norm(near - far)


def test_settings_are_json_and_make_the_encoder_again():
    table = {"age": [20, None, 40], "town": ["Rome", "Rome", None], "size": pd.Categorical([3, 3, 4]), "one": [1, 1, 1]}
    encoder = TableEncoder().fit(table)
    again = TableEncoder.from_settings(json.loads(json.dumps(encoder.settings())))
    assert again.feature_names == encoder.feature_names
    np.testing.assert_array_equal(again.transform(table), encoder.transform(table))


@pytest.mark.parametrize(
    "settings", [{}, {"max_values": 3, "columns": [{"name": "a"}]}, {"max_values": 3, "columns": 7}]
)
def test_settings_of_something_else_are_refused(settings):
    with pytest.raises(ValueError, match="settings must be those of a TableEncoder"):
        TableEncoder.from_settings(settings)


def test_names_that_json_cannot_hold_are_refused():
    with pytest.raises(TypeError, match=r"must be text or numbers to be stored; column \('a', 1\)"):
        TableEncoder().fit({("a", 1): [1, 2]}).settings()
