import pytest
import torch
from safetensors.torch import save_file

import hypergnn as hg
from hypergnn import saving
from hypergnn.models import Config, Network


@pytest.fixture
def path(tmp_path):
    torch.manual_seed(0)
    hg.save(Network(Config(hidden=2, heads=2), 3, 2), tmp_path / "model.safetensors", about={"seed": 3})
    return tmp_path / "model.safetensors"


def test_a_network_comes_back_as_it_was(path):
    saved = hg.load(path)
    torch.manual_seed(0)
    expected = Network(Config(hidden=2, heads=2), 3, 2).state_dict()
    assert saved.network.config == Config(hidden=2, heads=2)
    assert saved.class_names == ("0", "1")
    assert saved.about == {"seed": 3}
    assert not saved.network.training
    for name, tensor in saved.network.state_dict().items():
        assert torch.equal(tensor, expected[name])


def test_one_wrong_byte_anywhere_is_one_clear_error(path):
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(ValueError, match=r"model\.safetensors"):
            hg.load(path)


def test_files_of_another_kind_or_format_are_refused(path, tmp_path, monkeypatch):
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"is damaged or not a file of hypergnn"):
        hg.load(path)
    save_file({"a": torch.ones(2)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match=r"is a safetensors file, but not one that hypergnn has written"):
        hg.load(tmp_path / "other.safetensors")
    with monkeypatch.context() as patch:
        patch.setattr(saving, "FORMAT", 99)
        hg.save(Network(Config(), 3, 2), path)
    with pytest.raises(ValueError, match=r"has format 99, written by hypergnn .*; this version reads format 1"):
        hg.load(path)


def test_only_networks_with_a_name_per_score_are_saved(tmp_path):
    with pytest.raises(TypeError, match=r"network must be a hypergnn.models.Network; got HypergraphConv"):
        hg.save(hg.HypergraphConv(3, 2), tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"class_names must have 2 names, one per score; got 1"):
        hg.save(Network(Config(), 3, 2), tmp_path / "model.safetensors", class_names=["a"])
    assert not list(tmp_path.iterdir())
