"""Shards as files: complete or not there, each process its own, and nothing that does not fit together."""

import json

import numpy as np
import pytest
import torch

import hypergnn as hg
from hypergnn import distributed
from hypergnn.distributed import files
from hypergnn.distributed.shards import shard_of


@pytest.fixture
def H():
    return hg.Hypergraph.from_hyperedges(
        [[0, 1, 2], [2, 3], [0, 3, 4]],
        n_vertices=5,
        weight=[1.0, 2, 3],
        centroid=[4, -1, 0],
        vertex_names=list("abcde"),
    )


@pytest.fixture
def folder(H, tmp_path):
    distributed.save_shards(H, tmp_path / "shards", 2, process=[0, 0, 1, 1, 1])
    return tmp_path / "shards"


def test_a_shard_is_what_was_saved(H, folder):
    for number in range(2):
        loaded, made = distributed.load_shard(folder, number=number), shard_of(H, [0, 0, 1, 1, 1], number, 2)
        assert repr(loaded) == repr(made)
        for name in ("weight", "vertices", "hyperedges", "places", "centroid", "has_centroid"):
            assert getattr(loaded, name).tolist() == getattr(made, name).tolist()
        assert loaded.parts.there.n_sent == made.parts.there.n_sent
    assert files.read_names(folder).tolist() == list("abcde")
    assert sorted(one.name for one in folder.parent.iterdir()) == ["shards"]


def test_a_dataset_is_divided_with_its_features_and_split(tmp_path):
    data = hg.datasets.load("digits")
    head = distributed.save_shards(data, tmp_path / "digits", 3)
    parts = [distributed.load_data(tmp_path / "digits", number=number) for number in range(3)]
    for part in parts:
        rows = part.shard.vertices.numpy()
        np.testing.assert_array_equal(part.x, data.x[rows])
        np.testing.assert_array_equal(part.y, data.y[rows])
        assert set(rows[part.train]) <= set(data.train)
    assert sum(part.train.size for part in parts) == data.train.size
    assert head.data["split"] == {"train": 200, "val": 500, "test": 1000}


def test_sparse_features_stay_sparse(tmp_path):
    from scipy import sparse

    data = hg.datasets.load("digits")
    from dataclasses import replace

    sparse_data = replace(data, x=sparse.csr_array(data.x))
    distributed.save_shards(sparse_data, tmp_path / "digits", 2)
    parts = [distributed.load_data(tmp_path / "digits", number=number) for number in range(2)]
    np.testing.assert_array_equal(parts[1].x.toarray(), data.x[parts[1].shard.vertices.numpy()])
    assert (parts[0].entries_before, parts[1].entries_before) == (0, parts[0].x.nnz)


def test_an_existing_folder_stays_as_it_is(H, folder):
    before = (folder / "shards.json").read_bytes()
    with pytest.raises(ValueError, match="path must be new, or an empty folder"):
        distributed.save_shards(H, folder, 2)
    assert (folder / "shards.json").read_bytes() == before


def test_a_failure_leaves_nothing_behind(H, tmp_path, monkeypatch):
    monkeypatch.setattr(files.tensor_files, "write", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        distributed.save_shards(H, tmp_path / "shards", 2)
    assert list(tmp_path.iterdir()) == []


def test_a_hypergraph_alone_is_no_dataset(folder):
    with pytest.raises(ValueError, match="must hold a dataset; it holds a hypergraph only"):
        distributed.load_data(folder, number=0)


def test_files_of_two_divisions_do_not_fit(H, folder, tmp_path):
    distributed.save_shards(H, tmp_path / "other", 2)
    (folder / "shard-1.safetensors").write_bytes((tmp_path / "other" / "shard-1.safetensors").read_bytes())
    with pytest.raises(ValueError, match="of another division"):
        distributed.load_shard(folder, number=1)


def test_the_number_must_be_one_of_the_shards(folder):
    with pytest.raises(ValueError, match="number must be from 0 to 1; got 2"):
        distributed.load_shard(folder, number=2)


def test_the_number_of_processes_must_be_that_of_the_shards(folder):
    with distributed.start(), pytest.raises(ValueError, match=r"a shard for each of 1 processes; it has 2"):
        distributed.load_shard(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "must have format 1; got 99"),
        ({"shards": None}, "is damaged"),
        ({"cut": 3}, "is damaged"),
    ],
)
def test_a_damaged_head_is_refused(folder, change, message):
    head = json.loads((folder / "shards.json").read_text())
    (folder / "shards.json").write_text(json.dumps({**head, **change}))
    with pytest.raises(ValueError, match=message):
        distributed.load_shard(folder, number=0)


@pytest.mark.parametrize("name", ["members", "there_sent", "hyperedges", "centroid"])
def test_ids_out_of_range_in_a_file_are_refused(folder, name):
    path = folder / "shard-0.safetensors"
    content = files.tensor_files.read(path, "Shard", 1)
    content.tensors[name] = torch.full_like(content.tensors[name], 77)
    about = {key: value for key, value in content.header.items() if key not in ("kind", "format", "version")}
    files.tensor_files.write(path, "Shard", 1, about, content.tensors)
    with pytest.raises(ValueError, match="is damaged"):
        distributed.load_shard(folder, number=0)
