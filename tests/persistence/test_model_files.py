import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import hypergnn as hg
from hypergnn.models import Config, Network
from hypergnn.persistence import models, tensor_files


@pytest.fixture
def path(tmp_path):
    torch.manual_seed(0)
    hg.save(Network(Config(hidden=2, heads=2), 3, 2), tmp_path / "model.safetensors", about={"seed": 3})
    return tmp_path / "model.safetensors"


def test_a_network_is_loaded_unchanged(path):
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
    with pytest.raises(ValueError, match=r"is a safetensors file, but was not written by hypergnn"):
        hg.load(tmp_path / "other.safetensors")
    with monkeypatch.context() as patch:
        patch.setattr(models, "FORMAT", 99)
        hg.save(Network(Config(), 3, 2), path)
    with pytest.raises(ValueError, match=r"has format 99, written by hypergnn .*; this version reads format 1"):
        hg.load(path)


def test_only_networks_with_a_name_per_score_are_saved(tmp_path):
    with pytest.raises(TypeError, match=r"network must be a hypergnn.models.Network; got HypergraphConv"):
        hg.save(hg.HypergraphConv(3, 2), tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"class_names must have 2 names, one per score; got 1"):
        hg.save(Network(Config(), 3, 2), tmp_path / "model.safetensors", class_names=["a"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("names", [np.array([3, 5]), np.array(["3", "5"]), [3, 5], ("3", "5")])
def test_class_names_are_stored_as_text(tmp_path, names):
    hg.save(Network(Config(), 3, 2), tmp_path / "a.safetensors", class_names=names)
    assert hg.load(tmp_path / "a.safetensors").class_names == ("3", "5")


@pytest.mark.parametrize("argument", ["about", "hypergraph"])
@pytest.mark.parametrize("value", [{"ages": np.arange(3)}, {("a", "b"): 1}, ["a"]])
def test_values_that_json_cannot_hold_are_refused(tmp_path, argument, value):
    with pytest.raises(TypeError, match=rf"{argument} must be a dictionary of JSON types"):
        hg.save(Network(Config(), 3, 2), tmp_path / "a.safetensors", **{argument: value})
    assert not list(tmp_path.iterdir())


def test_names_and_origin_are_loaded(tmp_path):
    names = np.array(["ann", "<bob>", "é"], dtype=object)
    made = {"construction": "kNN", "k": 7}
    hg.save(Network(Config(), 3, 2), tmp_path / "a.safetensors", vertex_names=names, hypergraph=made)
    saved = hg.load(tmp_path / "a.safetensors")
    assert saved.vertex_names.tolist() == names.tolist()
    assert saved.hypergraph == made
    assert saved.version == hg.__version__


def test_training_stores_how_the_hypergraph_was_built(tmp_path):
    people = [f"person {number}" for number in range(12)]
    data = hg.datasets.from_tables(
        incidences={"member": people, "club": ["chess", "rowing", "choir"] * 4},
        labels={"member": people, "town": ["Oslo", "Rome"] * 6},
    )
    hg.training.fit(data, Config(max_epochs=2), out=tmp_path)
    saved = hg.load(tmp_path / "model.safetensors")
    assert saved.vertex_names.tolist() == people
    assert saved.hypergraph["construction"] == "member × club"
    assert saved.hypergraph["incidences"] == 12


def test_a_file_of_the_first_version_is_still_read(path):
    header, tensors = tensor_files.read(path, "Network", 1)
    del header["hypergraph"]
    tensor_files.write(path, "Network", 1, header, tensors)
    assert hg.load(path).hypergraph is None


def without(header, tensors, name):
    return {key: value for key, value in header.items() if key != name}, tensors


HARM = {
    "no config": lambda header, tensors: without(header, tensors, "config"),
    "no class names": lambda header, tensors: without(header, tensors, "class_names"),
    "no number of features": lambda header, tensors: without(header, tensors, "n_features"),
    "no about": lambda header, tensors: without(header, tensors, "about"),
    "config is a list": lambda header, tensors: (header | {"config": [1]}, tensors),
    "unknown setting": lambda header, tensors: (header | {"config": {"colour": "red"}}, tensors),
    "impossible setting": lambda header, tensors: (header | {"config": {"heads": -1}}, tensors),
    "far too many layers": lambda header, tensors: (header | {"config": {"depth": 10**9}}, tensors),
    "far too many features": lambda header, tensors: (header | {"n_features": 10**12}, tensors),
    "features are text": lambda header, tensors: (header | {"n_features": "3"}, tensors),
    "names without a tensor": lambda header, tensors: (header | {"vertex_names": "json"}, tensors),
    "missing tensor": lambda header, tensors: (header, dict(list(tensors.items())[1:])),
    "extra tensor": lambda header, tensors: (header, tensors | {"more": torch.ones(1)}),
    "wrong shape": lambda header, tensors: (header, {name: torch.ones(2, 3, 4) for name in tensors}),
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_a_whole_file_with_wrong_content_is_one_clear_error(path, harm):
    header, tensors = harm(*tensor_files.read(path, "Network", 1))
    tensor_files.write(path, "Network", 1, header, tensors)
    with pytest.raises(ValueError, match=r"model\.safetensors is not a valid model file, .*: ") as caught:
        hg.load(path)
    assert "\n" not in str(caught.value)
    tensor_files.write(path, "Network", 1, header | {"version": "0.0.1"}, tensors)
    with pytest.raises(
        ValueError, match=r"model\.safetensors was written by hypergnn 0\.0\.1 and does not fit this version: "
    ):
        hg.load(path)


def test_a_file_cut_off_anywhere_is_one_clear_error(path):
    content = path.read_bytes()
    for length in range(0, len(content), 61):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"model\.safetensors"):
            hg.load(path)


def test_a_loaded_network_can_be_trained_further(path):
    network = hg.load(path).network.train()
    H = hg.Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3)
    network(torch.rand(3, 3), hypergraph=H).sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())
    before = path.read_bytes()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    assert path.read_bytes() == before
