"""Hypergraphs in a real Spark on two cores of this machine; all tests share one session."""

import datetime
import gc
import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from support import spark as sparks

import hypergnn as hg
from hypergnn.cli import main
from hypergnn.persistence.models import save
from hypergnn.spark import exchange, files, hypergraph, sessions

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data():
    """Weighted orders of customers: pairs that occur twice, a customer with many orders, and a very large order."""
    rng = np.random.default_rng(0)
    customer, order = rng.integers(0, 60, 240), rng.integers(0, 25, 240)
    customer[:20], order[:20] = 7, np.arange(20)
    customer[20:60], order[20:60] = np.arange(40), 3
    weight = (np.arange(25) % 4 + 1) / 2
    return pd.DataFrame({"customer": [f"c{one:02}" for one in customer], "order": order, "price": weight[order]})


@pytest.fixture(scope="module")
def H(spark, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hypergraph, "HUB_DEGREE", 12)
        H = hg.spark.Hypergraph(spark.createDataFrame(data), "customer", "order", "price", n_blocks=2)
        H._stored(hubs=True)
        yield H
        H.unpersist()


@pytest.fixture(scope="module")
def x(H):
    """Features by customer; the last two have no orders."""
    names = [*H.to_local().vertex_names, "new 1", "new 2"]
    return pd.DataFrame({"customer": names, "x": list(np.random.default_rng(1).random((len(names), 4)))})


@pytest.fixture(scope="module")
def features(spark, x):
    return spark.createDataFrame(x, "customer string, x array<float>").cache()


def local(H, n_isolated=2):
    """The same hypergraph in memory, with isolated vertices after the others."""
    L = H.to_local()
    sizes = (L.n_vertices + n_isolated, L.n_hyperedges)
    return hg.Hypergraph.from_incidence(L.vertex.numpy(), L.hyperedge.numpy(), *sizes, weight=L.weight)


def in_order(frame, x, column):
    rows = {row["customer"]: row[column] for row in frame.collect()}
    assert len(rows) == len(x)
    return np.array([rows[name] for name in x["customer"]])


@pytest.mark.parametrize(("normalization", "steps"), [("row", 1), ("symmetric", 3), ("none", 1)])
def test_propagation_equals_the_local_one(H, x, features, normalization, steps):
    expected = torch.tensor(np.stack(x["x"]), dtype=torch.float32)
    for _ in range(steps):
        expected = hg.functional.hypergraph_conv(expected, local(H), normalization=normalization)
    result = H.propagate(features, normalization, steps)
    assert result.schema.simpleString() == "struct<customer:string,x:array<float>>"
    np.testing.assert_allclose(in_order(result, x, "x"), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention"])
def test_scores_equal_the_local_ones(H, x, features, tmp_path, model):
    torch.manual_seed(0)
    network = hg.Network(hg.Config(model=model, hidden=3, heads=2, skip=True, feature_scaling="none"), 4, 3).eval()
    save(network, tmp_path / "model.safetensors", class_names=["low", "mid", "high"])
    with torch.no_grad():
        expected = network(torch.tensor(np.stack(x["x"]), dtype=torch.float32), hypergraph=local(H))
    found = H.predict(tmp_path / "model.safetensors", features).cache()
    np.testing.assert_allclose(in_order(found, x, "scores"), expected, atol=1e-5)
    np.testing.assert_allclose(in_order(found, x, "probability"), expected.softmax(1).amax(1), atol=1e-5)
    named = np.array(["low", "mid", "high"])[expected.argmax(1)]
    assert in_order(found, x, "class").tolist() == named.tolist()


def test_sizes_and_degrees_equal_the_local_ones(H, data):
    L = H.to_local()
    distinct = data.drop_duplicates()
    assert len(distinct) < len(data)
    found = H.statistics()
    assert (found["n_incidences"], found["n_vertices"], found["n_hyperedges"]) == (len(distinct), L.n_vertices, 25)
    assert found["max_members_per_hyperedge"] == L.hyperedge_degree().max() >= 40
    assert found["mean_hyperedges_per_vertex"] == pytest.approx(len(distinct) / L.n_vertices)
    for frame, name, names, degree in (
        (H.vertex_degree(), "customer", L.vertex_names, L.vertex_degree()),
        (H.hyperedge_degree(), "order", np.arange(25), L.hyperedge_degree()),
    ):
        by_name = {row[name]: row["degree"] for row in frame.collect()}
        assert by_name == dict(zip(names.tolist(), degree.tolist(), strict=True))
    assert H.n_vertices == L.n_vertices
    assert repr(H) == "Hypergraph(vertex='customer', hyperedge='order', weight='price')"


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("customer != 'c07'", "a row for each vertex of the hypergraph; vertex 'c07' has none"),
        ("true", None),
    ],
    ids=["missing", "fits"],
)
def test_missing_features_are_one_error_on_the_driver(H, features, rows, problem):
    if problem is None:
        H.propagate(features.where(rows))
    else:
        with pytest.raises(ValueError, match=problem):
            H.propagate(features.where(rows))


def test_lengths_that_differ_between_blocks_are_an_error(spark):
    H = hg.spark.Hypergraph(spark.createDataFrame([(0, 0), (1, 0), (2, 0)], "vertex int, hyperedge int"), n_blocks=3)
    features = spark.createDataFrame([(0, [1.0]), (1, [1.0, 2.0]), (2, [1.0])], "vertex int, x array<double>")
    with pytest.raises(ValueError, match="the same length for all vertices"):
        H.propagate(features)


def test_a_model_with_other_features_is_an_error(H, features, tmp_path):
    save(hg.Network(hg.Config(), 7, 2), tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="the model takes 7 features per vertex; got 4"):
        H.predict(tmp_path / "model.safetensors", features)


@pytest.mark.parametrize(
    ("rows", "schema", "problem"),
    [
        ([(1, 2), (None, 3)], "vertex int, hyperedge int", "column 'vertex' must hold no nulls; 1 of 2 rows"),
        ([(1, None)], "vertex int, hyperedge int", "column 'hyperedge' must hold no nulls"),
        (
            [(1, 2)],
            "vertex int, edge int",
            "hyperedge must name a column of frame; got 'hyperedge'. It has vertex, edge",
        ),
        ([(1, 2, 0.0)], "vertex int, hyperedge int, weight double", "positive, finite weights; hyperedge 2 has 0.0"),
        ([(1, 2, None)], "vertex int, hyperedge int, weight double", "positive, finite weights; hyperedge 2 has none"),
        ([(1, 2, 1.0), (3, 2, 4.0)], "vertex int, hyperedge int, weight double", "hyperedge 2 has 1.0 and 4.0"),
    ],
)
def test_bad_pairs_are_one_error_on_the_driver(spark, rows, schema, problem):
    with pytest.raises(ValueError, match=problem):
        hg.spark.Hypergraph(spark.createDataFrame(rows, schema), weight="weight" if "weight" in schema else None)


def test_hops_are_stored_as_long_as_a_derived_frame_may_read_them(spark):
    H = hg.spark.Hypergraph(spark.createDataFrame([(0, 0), (1, 0), (2, 1)], "vertex int, hyperedge int"), n_blocks=2)
    features = spark.createDataFrame([(one, [1.0]) for one in range(3)], "vertex int, x array<double>")
    derived = H.propagate(features, steps=3).select("x")
    gc.collect()
    leaves = derived._jdf.queryExecution().withCachedData().collectLeaves()
    assert {leaves.apply(one).nodeName() for one in range(leaves.size())} == {"InMemoryRelation"}
    hops = list(H._blocks[False].hops)
    assert [one.storageLevel.useMemory for one in hops] == [True] * 3
    H.unpersist()
    assert [one.storageLevel.useMemory for one in hops] == [False] * 3


def test_what_is_no_frame_is_refused(spark, H):
    with pytest.raises(TypeError, match="frame must be a DataFrame of Spark; got list"):
        hg.spark.Hypergraph([(1, 2)])
    with pytest.raises(ValueError, match="one column of arrays of numbers"):
        H.propagate(spark.createDataFrame([("c01", 1.0)], "customer string, x double"))
    with pytest.raises(ValueError, match="normalization must be one of"):
        H.propagate(None, "rows")
    with pytest.raises(ValueError, match="steps must be at least 1"):
        H.propagate(None, steps=0)


def test_ids_may_be_structures_and_dates(spark):
    day = datetime.date(2024, 5, 1)
    rows = [((1, "a"), day), ((1, "b"), day), ((2, "a"), datetime.date(2024, 5, 2)), ((1, "a"), day)]
    kind = "struct<number:int,letter:string>"
    H = hg.spark.Hypergraph(spark.createDataFrame(rows, f"vertex {kind}, hyperedge date"), n_blocks=2)
    features = [((1, "a"), [2.0]), ((1, "b"), [4.0]), ((2, "a"), [5.0]), ((9, "z"), [7.0])]
    result = H.propagate(spark.createDataFrame(features, f"vertex {kind}, x array<double>"), "row")
    found = {tuple(row["vertex"]): row["x"] for row in result.collect()}
    assert found == {(1, "a"): [3.0], (1, "b"): [3.0], (2, "a"): [5.0], (9, "z"): [0.0]}
    assert H.to_local().vertex_names.tolist() == [(1, "a"), (1, "b"), (2, "a")]


def test_ids_of_another_type_are_converted_or_refused(spark):
    pairs = spark.createDataFrame([(0, 0), (1, 0), (2, 0)], "vertex int, hyperedge int")
    H = hg.spark.Hypergraph(pairs, n_blocks=3)
    rows = [(0, [3.0]), (1, [6.0]), (2, [0.0])]
    result = H.propagate(spark.createDataFrame(rows, "vertex bigint, x array<double>"))
    assert result.schema["vertex"].dataType.simpleString() == "int"
    assert sorted((row["vertex"], row["x"]) for row in result.collect()) == [(0, [3.0]), (1, [3.0]), (2, [3.0])]
    for kind, lost in (("bigint", 1 << 40), ("double", 1.5), ("string", "one")):
        other = spark.createDataFrame([(lost, [1.0])], f"vertex {kind}, x array<double>")
        with pytest.raises(ValueError, match=f"type of the pairs, int; got {kind}, and {lost!r} cannot be converted"):
            H.propagate(other)
    with pytest.raises(ValueError, match=r"type of the pairs, int; got date\. Convert one of them"):
        H.propagate(spark.createDataFrame([(datetime.date(2024, 5, 1), [1.0])], "vertex date, x array<double>"))


def test_times_inside_ids_differ_by_microseconds(spark):
    times = [datetime.datetime(2024, 5, 1, microsecond=one) for one in (1, 2)]
    for kind in ("timestamp", "timestamp_ntz"):
        frame = spark.createDataFrame([([one],) for one in times], f"vertex array<{kind}>")
        keys = [row["vertex key"] for row in exchange.with_key(frame, "vertex").collect()]
        assert len(set(keys)) == 2


def hyperedges(L):
    """Members by name of the hyperedge."""
    members = [frozenset(L.vertex_names[one].tolist()) for one in L.to_hyperedges()]
    return dict(zip(L.hyperedge_names.tolist(), members, strict=True))


def test_attributes_become_the_hyperedges_that_they_become_locally(spark):
    table = pd.DataFrame(
        {
            "colour": ["red", "green", "red", None],
            "grams": [150.0, 160.0, 8.0, 120.0],
            "sweet": [0.5, np.nan, 1.0, 0.5],
            "ripe": [True, False, True, True],
            "kind": ["fruit"] * 4,
        },
        index=pd.Index(["apple", "pear", "cherry", "fig"], name="name"),
    )
    expected = hg.construct.from_attributes(table, bins={"grams": 2}, missing="value")
    frame = spark.createDataFrame(
        table.reset_index(), "name string, colour string, grams double, sweet double, ripe boolean, kind string"
    )
    H = hg.spark.from_attributes(frame, "name", bins={"grams": 2}, missing="value")
    assert hyperedges(H.to_local()) == hyperedges(expected)


def test_words_become_the_hyperedges_that_they_become_locally(spark):
    texts = ["A hypergraph has hyperedges.", "Hyperedges have Vertices, 12.", "Graphs have vertices.", "And? 12 x"]
    documents = pd.Series(texts, index=[10, 11, 12, 13])
    frame = spark.createDataFrame(list(documents.items()), "article int, body string")
    found = hg.spark.from_text(frame, "article", "body").to_local()
    assert hyperedges(found) == hyperedges(hg.construct.from_text(documents))


def test_baskets_become_hyperedges_of_their_items(spark):
    frame = spark.createDataFrame([(1, ["milk", "tea"]), (2, ["tea", "tea"])], "order int, products array<string>")
    found = hg.spark.from_baskets(frame, "order", "products").to_local()
    assert hyperedges(found) == {1: {"milk", "tea"}, 2: {"tea"}}


def test_parquet_in_both_orders_is_written_whole_and_read_again(spark, H, tmp_path):
    path = str(tmp_path / "orders")
    H.write_parquet(path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["orders"]
    by_order = spark.read.parquet(f"{path}/{files.BY_HYPEREDGE}")
    assert by_order.columns == ["customer", "order", "price"]
    again = hg.spark.Hypergraph.read_parquet(spark, path, weight="price").to_local()
    assert again.equals(H.to_local())
    with pytest.raises(ValueError, match="must not exist yet"):
        H.write_parquet(path)


def test_hops_are_checkpointed_where_the_session_has_a_folder(spark, H, x, features, tmp_path):
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    try:
        found = in_order(H.propagate(features, "row", 2), x, "x")
        assert len(list(tmp_path.rglob("part-*"))) >= 4  # two hops of two blocks
    finally:
        spark._jsc.sc().setCheckpointDir(None)  # Spark has no public way back
    expected = torch.tensor(np.stack(x["x"]), dtype=torch.float32)
    for _ in range(2):
        expected = hg.functional.hypergraph_conv(expected, local(H), normalization="row")
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


class Shared:
    """The session of the tests, which a command must not stop."""

    def __init__(self, session):
        self._session = session

    def __getattr__(self, name):
        return getattr(self._session, name)

    def stop(self):
        pass


@pytest.fixture
def shared(spark, monkeypatch):
    monkeypatch.setattr(sessions, "open_session", lambda *_, **__: Shared(spark))


@pytest.mark.usefixtures("shared")
def test_the_command_propagates_csv_files(spark, data, x, H, tmp_path, capsys):
    name = {"customer": "customer.id"}  # no field of a structure
    data.rename(columns=name).to_csv(tmp_path / "orders.csv", index=False)
    columns = pd.DataFrame(np.stack(x["x"])).add_prefix("f.").assign(customer=x["customer"])
    columns.rename(columns=name).to_csv(tmp_path / "people.csv", index=False)
    given = ["--incidences", str(tmp_path / "orders.csv"), "--features", str(tmp_path / "people.csv")]
    given += ["--vertex", "customer.id", "--hyperedge", "order", "--weight", "price", "--out", str(tmp_path / "out")]
    spark.sparkContext.setCheckpointDir(str(tmp_path / "checkpoints"))
    try:
        assert main(["spark", "propagate", *given, "--checkpoints", str(tmp_path / "checkpoints")]) == 0
    finally:
        spark._jsc.sc().setCheckpointDir(None)
    assert not list((tmp_path / "checkpoints").iterdir())
    assert f"{len(x)} rows, columns customer.id, features" in capsys.readouterr().err
    start = torch.tensor(np.stack(x["x"]), dtype=torch.float32)
    expected = hg.functional.hypergraph_conv(start, local(H), normalization="row")
    written = spark.read.parquet(str(tmp_path / "out")).toDF("customer", "features")
    np.testing.assert_allclose(in_order(written, x, "features"), expected, rtol=1e-5, atol=1e-6)
    assert main(["spark", "propagate", *given]) == 2
    assert "must not exist yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ('Kunde;"Preis, EUR"\r\nAnn;3,5\r\n', ["Kunde", "Preis, EUR"]),
        ("notes; remarks\nlate\n", ["notes; remarks"]),
        ("\ufeffKunde\tOrt\n\nAnn\tUlm\n", ["Kunde", "Ort"]),
        ('customer,"a;b;c"\nAnn,"1;2;3"\n', ["customer", "a;b;c"]),
    ],
)
def test_csv_files_are_separated_as_elsewhere(spark, tmp_path, content, names):
    path = tmp_path / "kunden.csv"
    path.write_text(content, encoding="utf-8", newline="")
    assert files.read(spark, "--features", str(path)).columns == names


@pytest.mark.usefixtures("shared")
def test_the_command_leaves_nothing_behind_after_an_error(data, x, tmp_path, capsys):
    data.to_parquet(tmp_path / "orders.parquet")
    x.iloc[1:].to_parquet(tmp_path / "people.parquet")
    save(hg.Network(hg.Config(), 4, 2), tmp_path / "model.safetensors")
    given = ["--incidences", str(tmp_path / "orders.parquet"), "--features", str(tmp_path / "people.parquet")]
    given += ["--vertex", "customer", "--hyperedge", "order", "--out", str(tmp_path / "out")]
    before = sorted(tmp_path.iterdir())
    assert main(["spark", "predict", str(tmp_path / "model.safetensors"), *given]) == 2
    error = capsys.readouterr().err
    assert error.startswith("hypergnn: features must have a row for each vertex")
    assert error.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.usefixtures("shared")
def test_files_that_are_no_parquet_are_one_clear_error(tmp_path, capsys):
    path = tmp_path / "orders.parquet"
    path.write_text("no Parquet")
    assert main(["spark", "propagate", "--incidences", str(path), "--features", str(path), "--out", "out"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"hypergnn: --incidences must be .csv or Parquet files that Spark can read; got {path}")
    assert error.count("\n") == 1


def test_errors_of_java_are_one_line(tmp_path, capsys, monkeypatch):
    def fail(_):
        raise Py4JError("An error occurred while calling o1.\n: org.apache.spark.SparkException: no such place\n\tat x")

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", fail)
    monkeypatch.setattr(sessions, "check_java", lambda: None)
    files = ["--incidences", "a.csv", "--features", "b.csv", "--out", str(tmp_path / "out")]
    assert main(["spark", "propagate", *files, "--master", "nonsense"]) == 2
    error = capsys.readouterr().err
    assert "--master must be where Spark can run; got 'nonsense': org.apache.spark.SparkException: no such" in error
    assert error.count("\n") == 1


def test_labels_hash_as_spark_does(spark):
    from hypergnn.spark.numbering import spark_hash

    rows = spark.range(50).selectExpr("cast(id as int) id", "hash(cast(id as int)) h").collect()
    assert [spark_hash(row["id"]) for row in rows] == [row["h"] for row in rows]


def test_without_java_there_is_one_clear_error(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    given = ["--incidences", "a.csv", "--features", "b.csv", "--out", str(tmp_path / "out")]
    assert main(["spark", "propagate", *given]) == 2
    error = capsys.readouterr().err
    assert "Spark needs Java 17 or newer: there is no java on the PATH" in error
    assert error.count("\n") == 1


def test_help_fits_on_a_screen_and_ends_with_an_example(capsys):
    for command in (["propagate"], ["predict"], []):
        with pytest.raises(SystemExit):
            main(["spark", *command, "--help"])
        lines = capsys.readouterr().out.rstrip().splitlines()
        assert len(lines) <= 40
        assert "--features" in "".join(lines[-4:])
        assert any(line == "example:" for line in lines[-4:])


def test_tests_without_java_skip_with_the_reason_except_in_ci(monkeypatch):
    monkeypatch.setattr(sparks.shutil, "which", lambda _: None)
    monkeypatch.setattr(sparks, "IN_CI", False)
    with pytest.raises(pytest.skip.Exception, match="install Debian's package openjdk-17-jre-headless"):
        sparks.require()
    monkeypatch.setattr(sparks, "IN_CI", True)
    sparks.require()


def test_the_example_finds_the_segments_of_customers(spark, tmp_path, capsys):
    path = Path(__file__).parents[2] / "examples" / "spark" / "orders.py"
    spec = importlib.util.spec_from_file_location("orders", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main(tmp_path, n_customers=200, session=spark) > 0.8
    assert "200 customers scored, 90 of them labelled" in capsys.readouterr().out


def test_shards_are_those_that_several_processes_train_from(spark, H, x, features, tmp_path):
    distributed = pytest.importorskip("hypergnn.distributed")
    names = x["customer"].tolist()
    labels = spark.createDataFrame(
        [(name, "ab"[place % 2]) for place, name in enumerate(names)], "customer string, label string"
    )
    H.shards(tmp_path / "shards", 2, features=features, labels=labels)
    parts = [distributed.load_data(tmp_path / "shards", number=number) for number in range(2)]
    rows = np.concatenate([one.shard.vertices.numpy() for one in parts])
    assert sorted(rows.tolist()) == list(range(len(x)))
    assert sum(one.shard.incidence.n_pairs for one in parts) == H.n_incidences
    with pytest.raises(ValueError, match="labels must be combined with features"):
        H.shards(tmp_path / "more", 2, labels=labels)
