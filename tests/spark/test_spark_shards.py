"""Shards that executors write, against those that one process writes of the same hypergraph and division."""

import json
import os

import numpy as np
import pandas as pd
import pytest
import torch

import hypergnn as hg
from hypergnn import distributed
from hypergnn.persistence import tensor_files
from hypergnn.spark import dividing, shards

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    customer, order = rng.integers(0, 80, 300), rng.integers(0, 40, 300)
    customer[:60], order[:60] = np.arange(60), 5  # an order of most customers, which all processes share
    weight = (np.arange(40) % 5 + 1) / 4
    return pd.DataFrame({"customer": [f"c{one}" for one in customer], "order": order, "price": weight[order]})


@pytest.fixture(scope="module")
def H(spark, data):
    H = hg.spark.Hypergraph(spark.createDataFrame(data), "customer", "order", "price")
    yield H
    H.unpersist()


def stored(folder, number):
    return tensor_files.read(folder / f"shard-{number}.safetensors", "Shard", 1)


def check_equal(ours, theirs, n):
    """Compare all tensors, the routes and the head; the checksums are compared in reading."""
    for number in range(n):
        mine, yours = stored(ours, number), stored(theirs, number)
        assert set(mine.tensors) == set(yours.tensors)
        for name, tensor in yours.tensors.items():
            assert mine.tensors[name].dtype == tensor.dtype, name
            assert torch.equal(mine.tensors[name], tensor), name
        for name in ("routes", "vertices", "hyperedges", "number", "shards"):
            assert mine.header[name] == yours.header[name]
    mine, yours = (distributed.files.read_head(one) for one in (ours, theirs))
    assert (mine.n, mine.sizes, mine.cut) == (yours.n, yours.sizes, pytest.approx(yours.cut))
    assert list(distributed.files.read_names(ours)) == list(distributed.files.read_names(theirs))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_executors_write_what_one_process_would(spark, H, n, tmp_path):
    L = H.to_local()
    process = np.random.default_rng(n).integers(0, n, L.n_vertices)
    frame = pd.DataFrame({"customer": L.vertex_names, "process": process})
    H.shards(tmp_path / "spark", n, process=spark.createDataFrame(frame))
    distributed.save_shards(L, tmp_path / "local", n, process=process)
    check_equal(tmp_path / "spark", tmp_path / "local", n)


def test_the_driver_divides_so_that_few_hyperedges_are_cut(H, tmp_path):
    H.shards(tmp_path / "spark", 3)
    distributed.save_shards(H.to_local(), tmp_path / "local", 3)
    check_equal(tmp_path / "spark", tmp_path / "local", 3)


def test_many_incidences_are_divided_without_the_driver(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(dividing, "DIVIDED_BY_DRIVER", 3)
    monkeypatch.setattr(dividing, "_with_few_cuts", None)
    pairs = spark.createDataFrame([(1, "a"), (2, "a"), (2, "b"), (9, "b")], "vertex int, hyperedge string")
    H, n = hg.spark.Hypergraph(pairs), 5
    H.shards(tmp_path / "spark", n)
    L, parts = H.to_local(), [distributed.load_shard(tmp_path / "spark", number=number) for number in range(n)]
    process = np.empty(L.n_vertices, np.int64)
    for number, part in enumerate(parts):
        process[part.vertices.numpy()] = number
    assert min(part.n_vertices for part in parts) == 0  # which is a shard as well
    distributed.save_shards(L, tmp_path / "local", n, process=process)
    check_equal(tmp_path / "spark", tmp_path / "local", n)


def test_features_and_labels_go_to_the_shards_of_their_vertices(spark, H, tmp_path):
    names = [*H.to_local().vertex_names, "new 1", "new 2"]
    x = np.random.default_rng(0).random((len(names), 3)).astype(np.float32)
    features = spark.createDataFrame(
        pd.DataFrame({"customer": names, "x": list(x)}).sample(frac=1, random_state=0),
        "customer string, x array<float>",
    )
    labelled = pd.DataFrame({"customer": names[::2], "label": ["ab"[k % 2] for k in range(len(names[::2]))]})
    labelled["split"] = [("train", "val", "test")[k % 3] for k in range(len(labelled))]
    H.shards(tmp_path / "shards", 2, features=features, labels=spark.createDataFrame(labelled))
    order, before = sorted(names), 0
    for number in range(2):
        part = distributed.load_data(tmp_path / "shards", number=number)
        own = [order[one] for one in part.shard.vertices.tolist()]
        np.testing.assert_array_equal(part.x, x[[names.index(one) for one in own]])
        known = labelled.set_index("customer")
        assert [-1 if one not in known.index else "ab".index(known.label[one]) for one in own] == part.y.tolist()
        for name in ("train", "val", "test"):
            assert {own[row] for row in getattr(part, name)} == set(known.index[known.split == name]) & set(own)
        assert part.entries_before == before
        before += 3 * len(own)
    assert distributed.files.read_head(tmp_path / "shards").data["class_names"] == ["a", "b"]


def bad(spark, names):
    rows = [(name, [1.0, 2.0]) for name in names]
    schema = "customer string, x array<double>"
    labels = spark.createDataFrame([("nobody", "a"), (names[0], "b")], "customer string, label string")
    process = spark.createDataFrame([(name, 2) for name in names], "customer string, process int")
    whole = spark.createDataFrame(rows, schema)
    return {
        "have none": {"features": spark.createDataFrame(rows[1:], schema)},
        "several": {"features": spark.createDataFrame([*rows, rows[0]], schema)},
        "gaps": {"features": spark.createDataFrame([(names[0], [1.0, None]), *rows[1:]], schema)},
        "infinite values": {"features": spark.createDataFrame([(names[0], [1.0, 1e39]), *rows[1:]], schema)},
        "same length": {"features": spark.createDataFrame([(names[0], [1.0]), *rows[1:]], schema)},
        "no nulls": {"features": spark.createDataFrame([(None, [1.0, 2.0]), *rows], schema)},
        "only vertices that have features": {"features": whole, "labels": labels},
        "from 0 to 1": {"process": process},
        "labels must be combined with features": {"labels": labels},
        "must name a column": {"process": labels},
    }


def test_bad_input_is_one_error_and_leaves_nothing(spark, H, tmp_path):
    for text, given in bad(spark, list(H.to_local().vertex_names)).items():
        with pytest.raises(ValueError, match=text):
            H.shards(tmp_path / "shards", 2, **given)
        assert list(tmp_path.iterdir()) == [], text
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "something").touch()
    with pytest.raises(ValueError, match="must be new"):
        H.shards(tmp_path / "shards", 2)


def test_a_failure_at_any_moment_leaves_nothing(H, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("the disk is full")

    for place in ("write_atomic", "_write_names"):
        with monkeypatch.context() as patch:
            patch.setattr(shards, place, fail)
            with pytest.raises(OSError, match="disk is full"):
                H.shards(tmp_path / "shards", 2)
        assert list(tmp_path.iterdir()) == []


def test_executors_that_see_another_disk_are_an_error(H, tmp_path, monkeypatch):
    made = shards.ShardWriter

    def elsewhere(folder, *rest):
        return made(f"{folder}-of-another-machine", *rest)

    monkeypatch.setattr(shards, "ShardWriter", elsewhere)
    with pytest.raises(ValueError, match="storage that the driver and all executors share"):
        H.shards(tmp_path / "shards", 2)
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_an_executor_is_read_with_its_checksum(H, tmp_path):
    H.shards(tmp_path / "shards", 2)
    path = tmp_path / "shards" / "shard-1.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="does not match its checksum"):
        stored(tmp_path / "shards", 1)
    assert json.loads((tmp_path / "shards" / "shards.json").read_text())["shards"] == 2
    assert sorted(os.listdir(tmp_path)) == ["shards"]
