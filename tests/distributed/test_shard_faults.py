"""Folders of shards under faults and damage: complete or not there, and nothing damaged is used."""

import json
import os
import sys
from contextlib import suppress

import numpy as np
import pytest
import torch
from scipy import sparse
from support.faults import DeathError, Faulty, injected, points

import hypergnn as hg
from hypergnn import distributed
from hypergnn.distributed import files
from hypergnn.persistence import tensor_files
from hypergnn.persistence.files import new_folder, write_atomic

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the injector needs /proc")


def dataset(x=None):
    H = hg.Hypergraph.from_hyperedges(
        [[0, 1, 2], [2, 3], [3, 4, 5]], n_vertices=6, vertex_names=list("abcdef"), centroid=[0, -1, 3]
    )
    ids = np.array([0, 1])
    return hg.Dataset(
        name="small",
        x=np.eye(6, 5, dtype=np.float32) if x is None else x,
        y=np.arange(6) % 3,
        class_names=("a", "b", "c"),
        graph=None,
        hypergraph=H,
        train=ids,
        val=ids + 2,
        test=ids + 4,
        source="memory",
    )


def save(folder):
    return distributed.save_shards(dataset(), folder / "shards", 2)


def error_of(work):
    """The error of the disk that some work raises; ``None`` if it succeeds."""
    try:
        work()
    except OSError as error:
        return error
    return None


def check(folder):
    """The folder is complete, or not there; then the next call writes it, and nothing else is left."""
    if (folder / "shards").exists() and any((folder / "shards").iterdir()):
        for number in range(2):
            distributed.load_data(folder / "shards", number=number)
    else:
        save(folder)
        assert os.listdir(folder) == ["shards"], "the next call removes what the dead one left"


@pytest.mark.slow
@ON_LINUX
def test_shards_are_complete_or_not_there_if_a_call_fails(tmp_path, tally):
    for number, (at, part) in enumerate(points(lambda: save(tmp_path / "first"), most=60)):
        live = tmp_path / str(number)
        live.mkdir()
        with injected(Faulty("error", at, part, number=28)) as faulty:
            failed = error_of(lambda live=live: save(live))
        assert failed is None or str(tmp_path) in str(failed)
        if failed is not None and "rename" not in faulty.calls[:at]:
            assert os.listdir(live) == []
        check(live)
        tally("failing calls: shards")


@pytest.mark.slow
@ON_LINUX
@pytest.mark.parametrize("fault", ["kill", "power"])
def test_shards_are_complete_or_not_there_after_death(fault, tmp_path, tally):
    for number, (at, part) in enumerate(points(lambda: save(tmp_path / "first"), most=60)):
        live, after = tmp_path / str(number), tmp_path / f"{number}-after"
        live.mkdir()
        faulty = Faulty(fault, at, part)
        faulty.disk.start_with(live)
        with injected(faulty), suppress(DeathError):
            save(live)
        if fault == "power":
            faulty.disk.restore(live, after)
        check(after if fault == "power" else live)
        tally(f"{'power cuts' if fault == 'power' else 'kills'}: shards")


def test_the_folder_of_a_living_writer_stays(tmp_path):
    with new_folder(tmp_path / "both") as first:
        write_atomic(first / "a", b"first")
        with new_folder(tmp_path / "other") as second:
            write_atomic(second / "a", b"second")
        with new_folder(tmp_path / "both") as third:
            assert first.exists()
            write_atomic(third / "a", b"third")
        (tmp_path / "both" / "a").unlink()
    assert (tmp_path / "both" / "a").read_bytes() == b"first"


def test_every_flipped_bit_of_a_shard_is_found_or_harmless(tmp_path, tally):
    save(tmp_path)
    path = tmp_path / "shards" / "shard-0.safetensors"
    content, expected = path.read_bytes(), distributed.load_data(tmp_path / "shards", number=0)
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.unlink()
        path.write_bytes(damaged)
        with suppress(ValueError):
            loaded = distributed.load_data(tmp_path / "shards", number=0)
            np.testing.assert_array_equal(loaded.x, expected.x)
            assert loaded.shard.weight.tolist() == expected.shard.weight.tolist()
            assert loaded.shard.places.tolist() == expected.shard.places.tolist()
        tally("corrupt bytes: shards")


def rewritten(path, change):
    """Change the header and the tensors of a shard as somebody would who knows the format."""
    content = tensor_files.read(path, "Shard", 1)
    about = {key: value for key, value in content.header.items() if key not in ("kind", "format", "version")}
    tensors = {name: one.clone() for name, one in content.tensors.items()}
    change(about, tensors)
    path.unlink()
    tensor_files.write(path, "Shard", 1, about, tensors)


def moved(name, by):
    return lambda _, tensors: tensors.__setitem__(name, tensors[name] + by)


def cast(name, dtype):
    return lambda _, tensors: tensors.__setitem__(name, tensors[name].to(dtype))


HOSTILE = {
    "classes out of range": moved("y", 10**9),
    "classes as bytes": cast("y", torch.uint8),
    "rows out of range": moved("train", 10**9),
    "rows as a mask": cast("val", torch.uint8),
    "no rows": lambda _, tensors: tensors.pop("test"),
    "no classes": lambda _, tensors: tensors.pop("y"),
    "places out of range": moved("places", -(10**9)),
    "too few places": lambda _, tensors: tensors.__setitem__("places", tensors["places"][1:].clone()),
    "features that are no numbers": lambda _, tensors: tensors["x"].fill_(torch.nan),
    "features of fewer rows": lambda _, tensors: tensors.__setitem__("x", tensors["x"][1:].clone()),
    "no places of features": lambda _, tensors: tensors.pop("entries_before"),
    "centroids without a mask": lambda _, tensors: tensors.pop("has_centroid"),
    "a mask of numbers": cast("has_centroid", torch.int64),
    "a route of negative length": lambda about, _: about["routes"]["there"].update(sent=[-1, 3]),
    "a route without end": lambda about, _: about["routes"]["back"].update(most=10**15),
    "sizes of another hypergraph": lambda about, _: about.update(vertices=10**30),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_shard_is_refused(name, tmp_path, tally):
    save(tmp_path)
    rewritten(tmp_path / "shards" / "shard-0.safetensors", HOSTILE[name])
    with pytest.raises(ValueError, match="is damaged"):
        distributed.load_data(tmp_path / "shards", number=0)
    tally("hostile files: shards")


@pytest.mark.parametrize("name", ["x_offsets", "x_columns"])
def test_sparse_features_of_a_shard_cannot_lead_outside_of_their_arrays(name, tmp_path, tally):
    distributed.save_shards(dataset(sparse.csr_array(np.eye(6, 5, dtype=np.float32))), tmp_path / "shards", 2)
    rewritten(tmp_path / "shards" / "shard-0.safetensors", lambda _, tensors: tensors[name][1:2].fill_(-(10**8)))
    with pytest.raises(ValueError, match="is damaged"):
        distributed.load_data(tmp_path / "shards", number=0)
    tally("hostile files: shards")


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b"null",
        b"\xff",
        b'{"format": 1, "shards": 1e999}',
        {"shards": "2"},
        {"shards": 2.5},
        {"sizes": {}},
        {"data": {}},
        {"data": []},
        {"cut": []},
    ],
)
def test_a_hostile_head_is_refused(content, tmp_path, tally):
    save(tmp_path)
    path = tmp_path / "shards" / "shards.json"
    whole = content if isinstance(content, bytes) else json.dumps({**json.loads(path.read_text()), **content}).encode()
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="is damaged"):
        distributed.load_data(tmp_path / "shards", number=0)
    tally("hostile files: shards")


def test_damaged_names_are_refused(tmp_path):
    save(tmp_path)
    for about, tensors in (
        ({}, {"names": torch.ones(2)}),
        ({"how": "text"}, {}),
        ({"how": 5}, {"names": torch.ones(2)}),
    ):
        tensor_files.write(tmp_path / "shards" / "names.safetensors", "Names", 1, about, tensors)
        with pytest.raises(ValueError, match="is damaged"):
            files.read_names(tmp_path / "shards")
