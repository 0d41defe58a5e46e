"""Hypergraphs from tables and texts."""

import subprocess
import sys
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from support.memory import PEAK

import hypergnn as hg
from hypergnn.construct import from_attributes, from_table, from_text


def rows(columns):
    """A list of dictionaries."""
    names = list(columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def dataset(columns):
    """A dataset of pyarrow, which reads columns on demand."""
    return pyarrow.dataset.dataset(pa.table(columns))


IN_MEMORY = [dict, pd.DataFrame, pl.DataFrame, pa.table]
KINDS = pytest.mark.parametrize("kind", IN_MEMORY, ids=["dict", "pd", "pl", "pa"])
ALL_KINDS = pytest.mark.parametrize(
    "kind", [*IN_MEMORY, rows, pl.LazyFrame, dataset], ids=["dict", "pd", "pl", "pa", "rows", "lazy", "dataset"]
)


def hyperedges(H):
    groups = np.split(H.incidence.back_members.numpy(), H.incidence.back_offsets[1:-1].numpy())
    return dict(zip(H.hyperedge_names.tolist(), [group.tolist() for group in groups], strict=True))


ANIMALS = {"legs": ["two", "four", "four", None], "tame": [True, True, False, True], "alive": [1, 1, 1, 1]}


@ALL_KINDS
def test_each_value_that_only_some_rows_share_is_a_hyperedge(kind):
    expected = {"legs=two": [0], "legs=four": [1, 2], "tame=True": [0, 1, 3], "tame=False": [2]}
    assert hyperedges(from_attributes(kind(ANIMALS))) == expected
    with_missing = hyperedges(from_attributes(kind(ANIMALS), ["legs"], missing="value"))
    assert with_missing == {"legs=two": [0], "legs=four": [1, 2], "legs missing": [3]}


def test_declared_categories_may_be_numbers_and_unused_ones_give_no_hyperedge():
    table = pd.DataFrame({"class": pd.Categorical([3, 1, 2, 3], categories=[1, 2, 3, 4])}, index=list("wxyz"))
    H = from_attributes(table)
    assert hyperedges(H) == {"class=3": [0, 3], "class=1": [1], "class=2": [2]}
    assert H.vertex_names.tolist() == list("wxyz")
    enum = pl.DataFrame({"class": pl.Series(["c", "a", "c"], dtype=pl.Enum(["a", "b", "c"]))})
    assert hyperedges(from_attributes(enum)) == {"class=c": [0, 2], "class=a": [1]}


@ALL_KINDS
def test_numbers_are_divided_into_quantiles_on_request(kind):
    table = kind({"dose": [0.0, 0.0, 0.0, 2.5, 1.5, None], "sex": ["f", "m", "f", "m", "f", "m"]})
    binned = {"dose=[0.0, 0.0]": [0, 1, 2], "dose=(0.0, 2.5]": [3, 4], "sex=f": [0, 2, 4], "sex=m": [1, 3, 5]}
    assert hyperedges(from_attributes(table, bins=2)) == binned
    assert hyperedges(from_attributes(table, bins={"dose": 2})) == binned
    with pytest.raises(ValueError, match=r"column 'dose' is numeric with 3 values: pass bins=\{'dose': 5\}"):
        from_attributes(table)
    with pytest.raises(ValueError, match="column 'sex' is not numeric"):
        from_attributes(table, bins={"dose": 2, "sex": 2})


def test_quantile_bins_hold_about_as_many_rows_each():
    H = from_attributes(load_wine(as_frame=True).data, ["alcohol", "proline"], bins=4)
    assert H.n_hyperedges == 8
    assert H.vertex_degree().tolist() == [2] * 178
    assert H.hyperedge_degree().min() >= 40


def test_bad_attributes_are_refused():
    with pytest.raises(ValueError, match="none has a value that only some rows share: alive"):
        from_attributes(ANIMALS, ["alive"])
    with pytest.raises(ValueError, match=r"'wings'. The columns are 'legs', 'tame', 'alive'"):
        from_attributes(ANIMALS, ["wings"])
    with pytest.raises(TypeError, match=r"columns=\['legs'\]"):
        from_attributes(ANIMALS, "legs")
    with pytest.raises(ValueError, match="bins must name columns that are used; got 'wings'"):
        from_attributes(ANIMALS, bins={"wings": 2})
    with pytest.raises(ValueError, match="at least one row"):
        from_attributes(pd.DataFrame({"legs": []}))
    with pytest.raises(ValueError, match="at least one column"):
        from_attributes({})
    with pytest.raises(ValueError, match="infinite"):
        from_attributes({"dose": [1.0, 2.0, np.inf]}, bins=2)
    with pytest.raises(ValueError, match=r"columns of equal length; got {'a': 1, 'b': 2}"):
        from_attributes({"a": [1], "b": [1, 2]})
    with pytest.raises(ValueError, match="'a' occurs twice"):
        from_attributes(pd.DataFrame([["x", "y"]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="missing must be one of 'ignore', 'value'; got 'drop'"):
        from_attributes(ANIMALS, missing="drop")
    with pytest.raises(TypeError, match="table must be a pandas, polars or pyarrow table, or a dictionary"):
        from_attributes([["red"], ["green"]])
    with pytest.raises(TypeError, match=r"a list of dictionaries, .* folder or list of files; got NoneType"):
        from_attributes(None)


def test_values_with_the_same_name_are_refused():
    with pytest.raises(ValueError, match=r"'b=1' would be the name of 2 hyperedges"):
        from_attributes({"b": [1, "1", "2"]})


@pytest.mark.parametrize("cells", [[[1], [2, 3]], [{"part": 1}, {"part": 2}]], ids=["list", "struct"])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_cells_that_hold_several_values_are_refused(kind, cells):
    with pytest.raises(TypeError, match="column 'cells' must hold one plain value in each row"):
        from_attributes(kind({"cells": cells}))


SALES = {"item": ["tea", "milk", "tea", "tea"], "basket": [7, 7, 2, 7], "worth": [1.5, 1.5, 4.0, 1.5]}


@ALL_KINDS
def test_ids_of_any_kind_become_names_in_the_order_of_appearance(kind):
    H = from_table(kind(SALES), vertex="item", hyperedge="basket", weight="worth")
    expected = hg.Hypergraph.from_incidence([0, 1, 0], [0, 0, 1], 2, 2, [1.5, 4.0], None, ["tea", "milk"], [7, 2])
    assert H.equals(expected)
    with pytest.raises(ValueError, match=r"row 3 repeats that 'tea' is in 7 \(repeated rows: 1\).*duplicates='drop'"):
        from_table(kind(SALES), vertex="item", hyperedge="basket", duplicates="error")


@ALL_KINDS
def test_ids_that_count_from_zero_stay_numbers(kind):
    H = from_table(kind({"v": [2, 0, 1], "e": [1, 1, 0], "w": [3.0, 3.0, 2.0]}), vertex="v", hyperedge="e", weight="w")
    assert H.equals(hg.Hypergraph.from_incidence([2, 0, 1], [1, 1, 0], 3, 2, [2.0, 3.0]))
    H = from_table(kind({"v": [2, 0, 3], "e": [1, 1, 0]}), vertex="v", hyperedge="e", vertices=range(4))
    assert H.equals(hg.Hypergraph.from_incidence([2, 0, 3], [1, 1, 0], 4, 2))
    H = from_table(kind({"v": [2, 0, 1], "e": [1, 1, 2]}), vertex="v", hyperedge="e", vertices=[1, 2, 0])
    assert (H.vertex_names.tolist(), H.hyperedge_names.tolist()) == ([1, 2, 0], [1, 2])
    assert H.vertex.tolist() == [0, 1, 2]


@ALL_KINDS
def test_vertices_may_be_listed(kind):
    H = from_table(kind(SALES), vertex="item", hyperedge="basket", vertices=["milk", "jam", "tea"])
    assert H.to_scipy().toarray().tolist() == [[1, 0], [0, 0], [1, 1]]
    assert H.vertex_names.tolist() == ["milk", "jam", "tea"]
    with pytest.raises(ValueError, match=r"vertices=; the table also has 'tea' \(1 in total\)\. .*starts with 'milk'"):
        from_table(kind(SALES), vertex="item", hyperedge="basket", vertices=["milk", "jam"])


@pytest.mark.slow
@settings(deadline=None)
# pandas takes a NUL for the end of a string and confuses halves of surrogate pairs.
@given(
    st.sets(
        st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=3), st.integers(-5, 5)),
        min_size=1,
    )
)
def test_a_table_and_its_hypergraph_hold_the_same_pairs(pairs):
    rows = sorted(pairs)
    table = {"v": [v for v, _ in rows], "e": [e for _, e in rows]}
    for kind in (dict, pd.DataFrame, pl.DataFrame, pa.table):
        H = from_table(kind(table), vertex="v", hyperedge="e", duplicates="error")
        e = np.arange(H.n_hyperedges) if H.hyperedge_names is None else H.hyperedge_names
        back = zip(H.vertex_names[H.vertex.numpy()], e[H.hyperedge.numpy()], strict=True)
        assert set(back) == pairs


@ALL_KINDS
def test_bad_rows_are_refused(kind):
    def make(**changes):
        return from_table(kind({**SALES, **changes}), vertex="item", hyperedge="basket", weight="worth")

    with pytest.raises(
        ValueError, match=r"column 'item' must hold an id in each row; row 1 has none \(rows without an id: 2\)"
    ):
        make(item=["tea", None, "tea", None])
    with pytest.raises(ValueError, match=r"one weight per hyperedge; 7 has 1.5 and 9.0"):
        make(worth=[1.5, 1.5, 4.0, 9.0])
    with pytest.raises(ValueError, match="'worth' must hold a weight in each row; row 2 has none"):
        make(worth=[1.5, 1.5, None, 1.5])
    with pytest.raises(TypeError, match="'worth' must hold the weights of hyperedges, which are numbers"):
        make(worth=["1", "1", "4", "1"])
    with pytest.raises(ValueError, match="weight must be positive"):
        make(worth=[0, 0, 4, 0])
    with pytest.raises(
        ValueError, match=r"hyperedge must name a column of the table; got 'order'. The columns are 'item', 'ba"
    ):
        from_table(kind(SALES), vertex="item", hyperedge="order")


@KINDS
def test_dates_of_all_libraries_are_the_same_vertices(kind):
    days = [datetime(2024, 1, 2), datetime(2024, 1, 1)]
    table = kind({"day": days, "e": ["x", "y"]})
    for known in (sorted(days), pd.DatetimeIndex(sorted(days)), np.array(sorted(days), dtype="datetime64[s]")):
        H = from_table(table, vertex="day", hyperedge="e", vertices=known)
        assert H.to_scipy().toarray().tolist() == [[0, 1], [1, 0]]
    with pytest.raises(ValueError, match=r"the table also has .*2024"):
        from_table(table, vertex="day", hyperedge="e", vertices=days[:1])


@KINDS
def test_a_table_without_rows_needs_vertices(kind):
    empty = kind({"item": [], "basket": []})
    with pytest.raises(ValueError, match=r"at least one row; got none. Pass vertices="):
        from_table(empty, vertex="item", hyperedge="basket")
    H = from_table(empty, vertex="item", hyperedge="basket", vertices=["tea", "milk"])
    assert (H.n_vertices, H.n_hyperedges) == (2, 0)


def test_polars_without_pyarrow_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"polars table needs pyarrow.*\.\[tables\]"):
        from_attributes(pl.DataFrame({"a": ["x", "y"]}))


TEXTS = ["The cat and a dog", "A dog barks", "The cat sleeps", "", "and the"]


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, pa.array])
def test_words_are_hyperedges(kind):
    H = from_text(kind(TEXTS))
    assert hyperedges(H) == {"cat": [0, 2], "dog": [0, 1]}
    assert H.n_vertices == 5


def test_a_table_is_not_accepted_as_documents():
    for table in (pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, pa.RecordBatch.from_pydict):
        with pytest.raises(ValueError, match=r"documents must be one column, e.g. table\['text'\]; got a "):
            from_text(table({"text": TEXTS, "title": TEXTS}))


def test_subclasses_of_tables_are_tables():
    class Frame(pd.DataFrame):
        @property
        def _constructor(self):
            return Frame

    assert from_attributes(Frame(ANIMALS, index=list("wxyz"))).vertex_names.tolist() == list("wxyz")


def test_options_choose_the_words():
    assert set(hyperedges(from_text(TEXTS, min_df=1))) == {"barks", "cat", "dog", "sleeps"}
    assert set(hyperedges(from_text(TEXTS, stop_words=["and"], max_df=0.4))) == {"cat", "dog"}
    assert set(hyperedges(from_text(TEXTS, stop_words=None, max_df=1.0, max_words=1))) == {"the"}
    assert from_text(pd.Series(TEXTS, index=list("vwxyz"))).vertex_names.tolist() == list("vwxyz")


def test_a_vectoriser_brings_its_own_words():
    vectorizer = CountVectorizer(vocabulary=None, ngram_range=(2, 2))
    assert hyperedges(from_text(TEXTS, vectorizer=vectorizer))["the cat"] == [0, 2]
    later = from_text(["Over there: the cat!"], vectorizer=vectorizer)
    assert [name for name, documents in hyperedges(later).items() if documents] == ["the cat"]
    assert later.n_hyperedges == len(vectorizer.vocabulary_)
    hashed = from_text(TEXTS, vectorizer=HashingVectorizer(n_features=64))
    assert hashed.n_hyperedges == 64
    assert hashed.hyperedge_names is None
    with pytest.raises(ValueError, match="vectorizer brings its own min_df"):
        from_text(TEXTS, vectorizer=vectorizer, min_df=1)


def test_bad_documents_are_refused():
    with pytest.raises(ValueError, match=r"contain no words to make hyperedges of.*stop words"):
        from_text(["and the", "of a"])
    with pytest.raises(ValueError, match=r"contain no words to make hyperedges of.*min_df"):
        from_text(["cat", "dog", "cow", "hen"])
    with pytest.raises(ValueError, match=r"max_df corresponds.*pass max_df=1\.0"):
        from_text(["cat", "cat dog", "dog"])
    with pytest.raises(ValueError, match=r"^The 'min_df' parameter"):
        from_text(TEXTS, min_df=-1)
    with pytest.raises(ValueError, match="at least one string"):
        from_text([])
    with pytest.raises(TypeError, match="several strings, one per vertex; got a single one"):
        from_text("the cat")
    with pytest.raises(TypeError, match=r"document 1 is None of type NoneType. Pass ''"):
        from_text(["cat", None])


BIG_TABLE = f"""{PEAK}
import time
import numpy as np, polars as pl, hypergnn as hg
rng = np.random.default_rng(0)
table = pl.DataFrame({{"v": rng.integers(0, 1_000_000, ROWS), "e": rng.integers(0, 500_000, ROWS)}})
table = table.select(pl.format("vertex-{{}}", "v").alias("v"), pl.format("hyperedge-{{}}", "e").alias("e"))
given = KIND(table)
start = time.perf_counter()
H = hg.construct.from_table(given, vertex="v", hyperedge="e")
seconds, gigabytes = time.perf_counter() - start, peak() / 2**30
assert H.n_incidences > 0.99 * ROWS
start = time.perf_counter()
n_names = [len(set(table[name].to_list())) for name in ("v", "e")]
print(seconds / (time.perf_counter() - start), gigabytes)
"""


@pytest.mark.timing
@pytest.mark.parametrize(
    ("kind", "millions"), [("pl.DataFrame", 5), ("pl.DataFrame.to_arrow", 3), ("pl.DataFrame.to_pandas", 3)]
)
def test_millions_of_rows_of_strings(kind, millions):
    """At most four times as long as Python takes to find the different names, in the same process."""
    program = BIG_TABLE.replace("KIND", kind).replace("ROWS", f"{millions}_000_000")
    answer = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    ratio, gigabytes = map(float, answer.stdout.split())
    assert ratio < 4
    assert gigabytes < 0.4 + 0.36 * millions


@pytest.mark.parametrize("hyperedge", ["basket", ["basket"]])
def test_a_gap_joins_no_hyperedge(hyperedge):
    table = {"item": ["tea", "milk", "jam"], "basket": ["b7", None, "b7"], "worth": [2.0, None, 2.0]}
    H = from_table(table, vertex="item", hyperedge=hyperedge, weight="worth")
    assert (H.vertex_names.tolist(), H.to_hyperedges()) == (["tea", "milk", "jam"], [[0, 2]])
