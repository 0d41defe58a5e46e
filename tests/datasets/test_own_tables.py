"""Datasets from the user's own tables: files and tables in memory, ids, labels, splits, and errors."""

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from scipy import sparse

from hypergnn.datasets import from_tables, stratified_split

INCIDENCES = {"vertex": ["b", "a", "b", "c", "007"], "hyperedge": ["x", "x", "y", "y", "y"]}
FEATURES = {
    "vertex": ["a", "b", "c", "lonely", "007"],
    "age": [1, 2, 3, 4, 5],
    "tall": [True, False, True, True, False],
}
LABELS = {
    "vertex": ["c", "b", "a", "007"],
    "label": ["red", "blue", "red", None],
    "split": ["train", "val", "test", ""],
}


def write(folder, name, columns):
    table = pyarrow.table(columns)
    path = folder / name
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        rows = zip(
            *(["" if one is None else str(one).lower() for one in column] for column in columns.values()), strict=True
        )
        path.write_text("\n".join(",".join(row) for row in [columns, *rows]) + "\n")
    return path


def check(data):
    H = data.hypergraph
    assert H.vertex_names.tolist() == FEATURES["vertex"]
    assert H.hyperedge_names.tolist() == ["x", "y"]
    assert H.to_scipy().toarray().tolist() == [[1, 0], [1, 1], [0, 1], [0, 0], [0, 1]]
    assert data.x.dtype == np.float32
    assert data.x.tolist() == [[1, 1], [2, 0], [3, 1], [4, 1], [5, 0]]
    assert data.feature_names == ("age", "tall")
    assert data.class_names == ("blue", "red")
    assert data.y.tolist() == [1, 0, 1, -1, -1]
    assert [part.tolist() for part in (data.train, data.val, data.test)] == [[2], [1], [0]]
    assert data.graph is None


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files(tmp_path, ending):
    paths = [
        write(tmp_path, f"{name}.{ending}", columns)
        for name, columns in [("members", INCIDENCES), ("people", FEATURES), ("colours", LABELS)]
    ]
    data = from_tables(incidences=paths[0], features=str(paths[1]), labels=paths[2])
    check(data)
    assert (data.name, data.source) == ("members", f"members.{ending}, people.{ending}, colours.{ending}")


@pytest.mark.parametrize("kind", [dict, pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_tables_in_memory(kind):
    data = from_tables(incidences=kind(INCIDENCES), features=kind(FEATURES), labels=kind(LABELS))
    check(data)
    assert (data.name, data.source) == ("tables", "tables in memory")


def test_columns_are_found_by_name_by_position_or_as_asked():
    swapped = {"hyperedge": ["x", "y"], "note": [0, 0], "vertex": ["a", "b"]}
    by_place = {"who": ["a", "b"], "where": ["x", "y"]}
    for table in (swapped, by_place):
        H = from_tables(incidences=table).hypergraph
        assert (H.vertex_names.tolist(), H.hyperedge_names.tolist()) == (["a", "b"], ["x", "y"])
    H = from_tables(incidences=by_place, vertex="where", hyperedge="who").hypergraph
    assert H.vertex_names.tolist() == ["x", "y"]
    H = from_tables(incidences={**by_place, "weight": [2.0, 3.0]}).hypergraph
    assert H.weight.tolist() == [2, 3]
    assert from_tables(incidences={**by_place, "heavy": [5, 6]}, weight="heavy").hypergraph.weight.tolist() == [5, 6]


def test_columns_may_be_called_like_a_role():
    table = {"vertex": ["a", "b", "a"], "hyperedge 0": ["x", "x", "y"], "hyperedge": ["p", "q", "q"]}
    data = from_tables(incidences=table, hyperedge=["hyperedge", "hyperedge 0"])
    assert data.construction == "vertex × hyperedge, hyperedge 0"
    names = [tuple(name) for name in data.hypergraph.hyperedge_names]
    assert sorted(names) == [("hyperedge", "p"), ("hyperedge", "q"), ("hyperedge 0", "x"), ("hyperedge 0", "y")]
    named = from_tables(incidences=table | {"hyperedge weight": [1, 2, 3]})
    assert named.construction == "vertex × hyperedge"


def test_weights_of_a_csv_file_are_numbers(tmp_path):
    path = write(tmp_path, "a.csv", {"vertex": ["a", "b"], "hyperedge": ["7", "8"], "weight": [0.5, 2]})
    assert from_tables(incidences=path).hypergraph.weight.tolist() == [0.5, 2]


def test_numbers_in_one_file_are_the_same_ids_as_text_in_another(tmp_path):
    incidences = write(tmp_path, "a.parquet", {"vertex": [10, 2, 2], "hyperedge": [5, 5, 6]})
    labels = write(tmp_path, "b.csv", {"vertex": ["2", "10"], "label": ["1", "0"], "split": ["train", "val"]})
    with pytest.raises(ValueError, match="test has none"):
        from_tables(incidences=incidences, labels=labels)
    features = {"vertex": np.array([2.0, 10.0]), "x": [1.5, 2.5]}
    H = from_tables(incidences=incidences, features=features).hypergraph
    assert (H.vertex_names.tolist(), H.hyperedge_names.tolist()) == (["2", "10"], ["5", "6"])
    assert H.to_scipy().toarray().tolist() == [[1, 1], [1, 0]]


def test_numbers_and_text_number_the_hyperedges_alike():
    for ids in ([1, 0, 1], ["1", "0", "1"], [1, "0", "1"]):
        table = {"vertex": ["a", "b", "c"], "hyperedge": pandas.Series(ids, dtype=object)}
        H = from_tables(incidences=table).hypergraph
        assert (H.hyperedge_names.tolist(), H.to_scipy().toarray().tolist()) == (["1", "0"], [[1, 0], [0, 1], [1, 0]])
    with pytest.raises(ValueError, match="column 'vertex' must hold an id in each row; row 1 has none"):
        from_tables(incidences={"vertex": ["a", None], "hyperedge": ["x", "y"]})
    H = from_tables(incidences={"vertex": ["a", "b"], "hyperedge": ["x", None]}).hypergraph  # a gap joins nothing
    assert H.to_hyperedges() == [[0]]


def test_without_features_the_incidence_matrix_is_used():
    incidences = {"v": ["b", "a", "z"], "e": ["x", "x", "y"]}
    labels = {"vertex": ["z", "a", "b"], "label": [0, 1, 0], "split": ["train", "val", "test"]}
    data = from_tables(incidences=incidences, labels=labels, links={"from": ["a"], "to": ["b"]})
    assert data.hypergraph.vertex_names.tolist() == ["b", "a", "z"]
    assert sparse.issparse(data.x)
    assert data.x.toarray().tolist() == [[1, 0], [1, 0], [0, 1]]
    assert data.feature_names == ("x", "y")
    assert data.y.tolist() == [0, 1, 0]
    assert data.graph.to_scipy().toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    with pytest.raises(
        ValueError, match=r"labels must name only vertices that are in a hyperedge; 1 ids are in none: 'q'"
    ):
        from_tables(incidences=incidences, labels={"vertex": ["q"], "label": [0]})


def test_features_that_are_mostly_zero_become_sparse():
    names = [f"v{number}" for number in range(20)]
    wide = {"vertex": names} | {f"w{number}": np.arange(20) == number for number in range(20)}
    data = from_tables(incidences={"v": names, "e": ["x"] * 20}, features=wide)
    assert sparse.issparse(data.x)
    assert np.array_equal(data.x.toarray(), np.eye(20))


def test_classes_are_sorted_by_their_type():
    vertices = [str(number) for number in range(9)]
    incidences = {"vertex": vertices, "hyperedge": ["x"] * 9}
    for labels, expected in [
        (np.array([10, 9, 1] * 3), ("1", "9", "10")),
        (np.array([10.0, 9, 1] * 3), ("1", "9", "10")),
        (["10", "9", "b"] * 3, ("10", "9", "b")),
        ([True, False, True] * 3, ("False", "True")),
    ]:
        data = from_tables(incidences=incidences, labels={"vertex": vertices, "label": labels})
        assert data.class_names == expected
        assert [data.class_names[number] for number in data.y[:3]] == [
            str(value).removesuffix(".0") for value in labels[:3]
        ]


@pytest.mark.parametrize("missing", [None, "", " ", float("nan")])
def test_empty_labels_mean_unlabelled(missing):
    vertices = [f"v{number}" for number in range(8)]
    column = pandas.Series(["a", "b"] * 3 + [missing] * 2, dtype=object)
    data = from_tables(incidences={"v": vertices, "e": ["x"] * 8}, labels={"vertex": vertices, "label": column})
    assert data.y.tolist() == [0, 1] * 3 + [-1, -1]
    assert sorted(np.concatenate([data.train, data.val, data.test])) == list(range(6))


def test_a_drawn_split_gives_each_class_its_share_and_follows_the_seed():
    y = np.array([0] * 50 + [1] * 10 + [2] * 3 + [-1] * 20)
    train, val, test = stratified_split(y, seed=1)
    assert [np.bincount(y[part]).tolist() for part in (train, val, test)] == [[30, 6, 1], [10, 2, 1], [10, 2, 1]]
    assert sorted(np.concatenate([train, val, test])) == list(range(63))
    assert all(np.array_equal(*pair) for pair in zip((train, val, test), stratified_split(y, seed=1), strict=True))
    assert not np.array_equal(train, stratified_split(y, seed=2)[0])
    assert [part.size for part in stratified_split(y, seed=1, val=0.1, test=0.5)] == [
        63 - 7 - 31,
        7,
        31,
    ]  # 5 + 1 + 1, 25 + 5 + 1


def test_the_seed_and_the_shares_reach_the_split():
    vertices = [f"v{number}" for number in range(40)]
    tables = {
        "incidences": {"v": vertices, "e": ["x"] * 40},
        "labels": {"vertex": vertices, "label": ["a", "b"] * 20},
    }
    first, second = from_tables(**tables), from_tables(**tables, seed=1)
    assert [part.size for part in (first.train, first.val, first.test)] == [24, 8, 8]
    assert first.train.tolist() != second.train.tolist()
    assert from_tables(**tables, seed=0).train.tolist() == first.train.tolist()
    assert from_tables(**tables, val=0.1, test=0.7).test.size == 28


def changed(table, **columns):
    return {**table, **columns}


@pytest.mark.parametrize(
    ("tables", "error", "match"),
    [
        (
            {"features": changed(FEATURES, age=[1, None, 3, 4, 5])},
            ValueError,
            r"features: column 'age' must hold a finite number in each row; row 1, vertex 'b', has none",
        ),
        (
            {"features": changed(FEATURES, age=[1, 2, 1e39, 4, 5])},
            ValueError,
            r"column 'age' .* row 2, vertex 'c', has 1e\+39",
        ),
        (
            {"features": changed(FEATURES, town=["Rom"] * 5)},
            TypeError,
            r"features: column 'town' must hold numbers\. .* construct\.from_attributes",
        ),
        ({"features": changed(FEATURES, vertex=list("abcab"))}, ValueError, r"name each vertex once; 'a' has 2 rows"),
        ({"features": {"vertex": FEATURES["vertex"]}}, ValueError, r"features must have a column of numbers"),
        (
            {"incidences": {"vertex": ["a", "A", "B"], "hyperedge": ["x"] * 3}},
            ValueError,
            r"incidences must name only vertices that have features; 2 ids have none: 'A', 'B'\..*with 'a', 'b'",
        ),
        ({"labels": changed(LABELS, vertex=["c", "b", "a", "q"])}, ValueError, r"labels must name only .*: 'q'"),
        (
            {"features": None, "incidences": {"vertex": [], "hyperedge": []}},
            ValueError,
            r"incidences must have rows; got none",
        ),
        ({"links": {"source": ["a"], "target": ["q"]}}, ValueError, r"links must name only vertices .*: 'q'"),
        ({"labels": changed(LABELS, vertex=["c", "b", "a", "a"])}, ValueError, r"labels: .* 'a' has 2 rows"),
        ({"labels": changed(LABELS, label=["red"] * 4)}, ValueError, r"labels: .* at least two classes; got 'red'"),
        ({"labels": changed(LABELS, label=[0.5, 1, 2, 3])}, TypeError, r"labels: column 'label' .*; got 0\.5"),
        (
            {"labels": changed(LABELS, split=["train", "dev", "", ""])},
            ValueError,
            r"train, val, test or empty cells; got 'dev'",
        ),
        (
            {"labels": changed(LABELS, split=["train", "val", "", "test"])},
            ValueError,
            r"label; '007', in test, has none",
        ),
        (
            {"labels": {"vertex": list("abc"), "label": list("rbr")}},
            ValueError,
            r"labels: each class must have at least 3 labelled vertices to draw a split; 'b' has 1, and 2 classes",
        ),
        ({"seed": 3}, ValueError, r"labels: seed must be omitted: column 'split'"),
        ({"labels": None, "seed": 3}, ValueError, r"^seed must be omitted without labels"),
        (
            {"incidences": changed(INCIDENCES, vertex=["a", None, "b", "c", "c"])},
            ValueError,
            r"incidences: .* row 1 has none",
        ),
        ({"incidences": changed(INCIDENCES, weight=[1, 2, 3, 3, 3])}, ValueError, r"incidences: .* 'x' has"),
        ({"incidences": {"vertex": ["a"]}}, ValueError, r"incidences: the table must have a column for the hyperedge"),
        ({"vertex": "id"}, ValueError, r"incidences: vertex must name a column; got 'id'\. The columns are 'vertex'"),
        ({"hyperedge": ["hyperedge", "no"]}, ValueError, r"incidences: hyperedge must name a column; got 'no'\."),
        ({"hyperedge": "vertex"}, ValueError, r"must be in different columns; both are in 'vertex'"),
        ({"incidences": {"vertex": [], "hyperedge": []}, "features": None, "labels": None}, ValueError, r"no rows"),
        ({"incidences": 3}, TypeError, r"incidences: table must be"),
        ({"incidences": "nowhere.csv"}, FileNotFoundError, r"nowhere\.csv"),
        (
            {"incidences": "table.xlsx"},
            ValueError,
            r"incidences, table\.xlsx: the ending of path must be one of '\.csv'",
        ),
    ],
)
def test_tables_that_do_not_fit_are_refused_with_the_place(tables, error, match):
    given = {"incidences": INCIDENCES, "features": FEATURES, "labels": LABELS, **tables}
    with pytest.raises(error, match=match):
        from_tables(**given)


@pytest.mark.parametrize(("val", "test"), [(0.0, 0.2), (0.5, 0.5), (0.2, float("nan"))])
def test_shares_that_leave_a_part_empty_are_refused(val, test):
    with pytest.raises(ValueError, match="leave something to train on"):
        stratified_split([0, 1] * 10, 0, val=val, test=test)


def test_a_class_too_small_to_be_split_is_refused():
    with pytest.raises(ValueError, match=r"at least 3 vertices.*class 1 has 2"):
        stratified_split([0] * 9 + [1] * 2, 0)


@pytest.mark.slow
def test_a_million_incidences_take_seconds(tmp_path):
    rng = np.random.default_rng(0)
    ids = pyarrow.array([f"vertex {number}" for number in range(100_000)])
    table = {"vertex": ids.take(rng.integers(0, 100_000, 10**6)), "hyperedge": rng.integers(0, 50_000, 10**6)}
    path = write(tmp_path, "large.parquet", table)
    features = pyarrow.table({"vertex": ids} | {f"f{number}": rng.random(100_000) for number in range(20)})
    data = from_tables(incidences=path, features=features)
    assert data.hypergraph.n_incidences > 990_000
    assert data.x.shape == (100_000, 20)


def test_words_and_gaps_of_features_are_encoded_on_request():
    tables = {
        "incidences": {"who": ["a", "b", "c"], "club": ["x", "x", "y"]},
        "features": {"who": ["a", "b", "c"], "age": [20, None, 40], "town": ["Rome", "Oslo", "Rome"]},
    }
    data = from_tables(**tables, encode_features=True)
    assert data.feature_names == ("age", "age missing", "town=Rome")
    assert data.x[:, 0].tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(ValueError, match="features: X must have a column that distinguishes rows"):
        from_tables(incidences=tables["incidences"], features={"who": [*"abc"], "n": [*"abc"]}, encode_features=True)
