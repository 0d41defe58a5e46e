"""From a table of events and a table of vertices to features, labels and hypergraph in one order."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import hypergnn as hg
from hypergnn.construct import from_events, from_table

ORDERS = {
    "customer": ["ann", "bob", "bob", "eve", "ann"],
    "product": ["tea", "tea", "nail", "nail", "tea"],
    "category": ["food", "food", "tools", None, "food"],
    "rarity": [1.0, 1.0, 3.0, 3.0, 1.0],
}
CUSTOMERS = {
    "customer": ["eve", "bob", "ann", "zoe"],
    "age": [31, None, 40, 27],
    "town": ["Rome", "Rome", "Oslo", None],
    "segment": ["trade", None, "private", None],
}


def members(H):
    names = range(H.n_vertices) if H.vertex_names is None else H.vertex_names
    return {
        edge: [names[one] for one in own]
        for edge, own in zip(H.hyperedge_names.tolist(), H.to_hyperedges(), strict=True)
    }


def test_several_columns_of_hyperedges_keep_their_names():
    H = from_table(ORDERS, vertex="customer", hyperedge=["product", "category"])
    assert members(H) == {
        ("product", "tea"): ["ann", "bob"],
        ("product", "nail"): ["bob", "eve"],
        ("category", "food"): ["ann", "bob"],
        ("category", "tools"): ["bob"],  # eve's order has no category
    }
    one = from_table(ORDERS, vertex="customer", hyperedge=["product"])
    assert one.hyperedge_names.tolist() == [("product", "tea"), ("product", "nail")]


def test_each_column_of_hyperedges_may_have_its_weights(tmp_path):
    H = from_table(ORDERS, vertex="customer", hyperedge=["product", "category"], weight={"product": "rarity"})
    assert H.weight.tolist() == [1.0, 3.0, 1.0, 1.0]
    both = {"who": [0, 1], "a": ["p", "q"], "b": ["x", "y"], "worth": [2.0, 5.0]}
    H = from_table(both, vertex="who", hyperedge=["a", "b"], weight="worth")
    assert H.weight.tolist() == [2.0, 5.0, 2.0, 5.0]
    H.save(tmp_path / "H.safetensors")
    assert hg.Hypergraph.load(tmp_path / "H.safetensors").hyperedge_names.tolist() == H.hyperedge_names.tolist()


def test_dates_and_numbers_of_several_columns_are_plain_names():
    table = pd.DataFrame({"who": ["a", "b"], "day": pd.to_datetime(["2024-01-02", "2024-01-03"]), "shop": [7, 8]})
    names = from_table(table, vertex="who", hyperedge=["day", "shop"]).hyperedge_names
    assert names[0] == ("day", pd.Timestamp("2024-01-02").to_pydatetime())
    assert names[2] == ("shop", 7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hyperedge": []}, r"hyperedge must name at least one column, each once; got \[\]"),
        ({"hyperedge": ["product", "product"]}, "each once; got"),
        ({"hyperedge": ["product", "colour"]}, "hyperedge must name a column of the table; got 'colour'"),
        ({"hyperedge": ["product"], "weight": {"shop": "rarity"}}, "columns of hyperedges, 'product'; got 'shop'"),
        ({"hyperedge": ["product"], "weight": {"product": "worth"}}, "weight must name a column of the table; got 'wo"),
        ({"hyperedge": ["product"], "duplicates": "error"}, "row 4 repeats that 'ann' is in 'tea'"),
    ],
)
def test_columns_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        from_table(ORDERS, vertex="customer", **options)


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_features_labels_and_hypergraph_have_one_order(kind):
    found = from_events(
        kind(ORDERS), vertex="customer", hyperedge=["product", "category"], features=kind(CUSTOMERS), labels="segment"
    )
    assert found.vertex_names.tolist() == found.hypergraph.vertex_names.tolist() == CUSTOMERS["customer"]
    assert found.labels.tolist() == CUSTOMERS["segment"]
    assert list(found.features) == ["age", "town"]
    assert members(found.hypergraph)["product", "nail"] == ["eve", "bob"]
    assert found.hypergraph.vertex_degree().tolist() == [1, 4, 2, 0]  # zoe has ordered nothing
    assert found.by_vertex("abcd") == {"eve": "a", "bob": "b", "ann": "c", "zoe": "d"}


def test_ids_may_be_the_index_and_labels_a_dictionary():
    customers = pd.DataFrame(CUSTOMERS).set_index("customer")
    found = from_events(ORDERS, vertex="customer", hyperedge="product", features=customers, labels={"bob": 1, "ann": 0})
    assert found.labels.tolist() == [None, 1, 0, None]
    assert found.features.index.tolist() == CUSTOMERS["customer"]
    series = from_events(ORDERS, vertex="customer", hyperedge="product", labels=customers["segment"].drop("zoe"))
    assert series.by_vertex(series.labels) == {"ann": "private", "bob": None, "eve": "trade"}
    assert sparse.issparse(series.features)
    assert series.features.shape == (3, 2)


def test_ids_of_files_and_of_tables_in_memory_are_the_same(tmp_path):
    (tmp_path / "orders.csv").write_text("customer,product\n7,p1\n8,p1\n")
    customers = pd.DataFrame({"customer": [8, 7], "age": [30, 40]})
    found = from_events(tmp_path / "orders.csv", vertex="customer", hyperedge="product", features=customers)
    assert found.vertex_names.tolist() == [8, 7]
    assert found.hypergraph.to_hyperedges() == [[0, 1]]
    assert found.labels is None


def test_a_table_of_nothing_but_ids_and_labels_has_memberships_as_features():
    table = {"customer": ["bob", "ann", "eve"], "segment": ["a", "b", None]}
    found = from_events(ORDERS, vertex="customer", hyperedge="product", features=table, labels="segment")
    assert found.features.toarray().tolist() == [[1, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": {"age": [1]}}, "ids of the vertices in a column 'customer', or in the index of a pandas table"),
        ({"features": {"customer": ["ann", "ann"], "age": [1, 2]}}, "one row per vertex; 'ann' has 2 rows"),
        ({"features": {"customer": ["ann", None], "age": [1, 2]}}, "an id in each row of features; row 1 has none"),
        ({"features": {"customer": ["ann"], "age": [1]}}, r"2 have none: 'bob', 'eve'\. Add their rows"),
        (
            {"labels": "class"},
            r"labels must name a column of features.*got 'class'\. The columns are 'customer', 'age'",
        ),
        ({"labels": ["age"]}, r"labels must name a column of features.*got \['age'\]"),
        ({"labels": {"max": 1}}, r"labels must be those of vertices; 1 have other ids: 'max'\. .*'eve', 'bob'"),
        ({"features": None, "labels": "segment"}, "labels by vertex if there are no features; got 'segment'"),
        ({"hyperedge": "customer"}, "must name different columns; both name 'customer'"),
        ({"events": {**ORDERS, "customer": ["ann", None, "bob", "eve", "ann"]}}, "each row of events; row 1 has none"),
    ],
)
def test_tables_that_do_not_fit_each_other_are_refused(changes, message):
    given = {"events": ORDERS, "vertex": "customer", "hyperedge": "product", "features": CUSTOMERS, **changes}
    with pytest.raises(ValueError, match=message):
        from_events(given.pop("events"), **given)


def test_ids_that_count_are_not_names():
    found = from_events(
        {"who": [2, 0], "what": ["a", "a"]}, vertex="who", hyperedge="what", features={"who": [0, 1, 2], "x": [1, 2, 3]}
    )
    assert found.hypergraph.vertex_names is None
    assert found.hypergraph.to_hyperedges() == [[0, 2]]
    assert np.array_equal(found.vertex_names, [0, 1, 2])
