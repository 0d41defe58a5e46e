import os

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from hypergnn.persistence import tensor_files

TENSORS = {
    "flags": torch.tensor([True, False, True]),
    "bytes": torch.arange(5, dtype=torch.uint8),
    "half": torch.rand(3).to(torch.bfloat16),
    "matrix": torch.rand(2, 3),
    "number": torch.tensor(7),
    "nothing": torch.empty(0, 4, dtype=torch.float64),
    "turned": torch.rand(3, 2).T,
}


@pytest.fixture
def path(tmp_path):
    tensor_files.write(tmp_path / "a.safetensors", "box", 3, {"age": [7, "é"]}, TENSORS)
    return tmp_path / "a.safetensors"


def test_tensors_of_all_kinds_come_back_and_other_readers_read_them(path):
    header, tensors = tensor_files.read(path, "box", 3)
    assert header["age"] == [7, "é"]
    for read in (tensors, load_file(path)):
        assert read.keys() == TENSORS.keys()
        for name, tensor in TENSORS.items():
            assert read[name].dtype == tensor.dtype
            assert torch.equal(read[name], tensor), name


def test_every_tensor_is_aligned_to_its_own_width(path):
    tensors = tensor_files.read(path, "box", 3).tensors
    assert all(tensor.data_ptr() % tensor.element_size() == 0 for tensor in tensors.values())


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="mapped files are listed in /proc")
def test_tensors_are_mapped_and_changing_them_leaves_the_file_unchanged(path):
    tensors = tensor_files.read(path, "box", 3, verify=False).tensors
    with open("/proc/self/maps") as maps:
        assert str(path) in maps.read()
    before = path.read_bytes()
    tensors["matrix"].zero_()
    assert path.read_bytes() == before


def test_a_file_may_be_replaced_while_it_is_in_use(path):
    tensors = tensor_files.read(path, "box", 3, verify=False).tensors
    tensor_files.write(path, "box", 3, {}, {"matrix": torch.zeros(2, 3)})
    assert torch.equal(tensors["matrix"], TENSORS["matrix"])
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("kind", [["box"], {}, 7, None])
def test_a_kind_that_is_not_text_is_refused(path, kind):
    tensor_files.write(path, "box", 3, {"kind": kind}, TENSORS)
    with pytest.raises(ValueError, match="the kind in its header must be text; got a "):
        tensor_files.read(path, "box", 3)


def test_another_kind_format_or_origin_is_refused(path, tmp_path):
    with pytest.raises(ValueError, match=r"a\.safetensors must contain a Graph; got a box"):
        tensor_files.read(path, "Graph", 3)
    with pytest.raises(ValueError, match=r"has format 3, written by hypergnn .*; this version reads format 4"):
        tensor_files.read(path, "box", 4)
    save_file({"a": torch.ones(2)}, tmp_path / "b.safetensors")
    with pytest.raises(ValueError, match=r"b\.safetensors is a safetensors file, but was not written by hypergnn"):
        tensor_files.read(tmp_path / "b.safetensors", "box", 3)
    save_file({"a": torch.ones(2)}, tmp_path / "c.safetensors", {"hypergnn": "[1]"})
    with pytest.raises(ValueError, match=r"c\.safetensors is damaged: its header cannot be read"):
        tensor_files.read(tmp_path / "c.safetensors", "box", 3, verify=False)
    (tmp_path / "d.safetensors").write_text("vertex,hyperedge")
    with pytest.raises(ValueError, match=r"d\.safetensors is damaged or not a file of hypergnn"):
        tensor_files.read(tmp_path / "d.safetensors", "box", 3)
    with pytest.raises(FileNotFoundError):
        tensor_files.read(tmp_path / "e.safetensors", "box", 3)
    with pytest.raises(IsADirectoryError):
        tensor_files.read(tmp_path, "box", 3)


def test_only_verifying_notices_damage_within_a_tensor(path):
    with safe_open(path, framework="pt") as file:
        assert set(file.metadata()) == {"hypergnn", "sha256"}
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    tensor_files.read(path, "box", 3, verify=False)
    with pytest.raises(ValueError, match=r"is damaged: its content does not match its checksum"):
        tensor_files.read(path, "box", 3)
