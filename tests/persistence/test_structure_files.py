import copy
import os
import pickle
import random

import numpy as np
import pytest
import torch
from safetensors import safe_open
from scipy.sparse import csr_array
from torch.utils import _pytree as pytree

import hypergnn as hg
from hypergnn import Graph, Hypergraph, SharedGraph, functional, kernels
from hypergnn.models import Config, Network
from hypergnn.persistence import tensor_files
from hypergnn.structures import stored as stored_files


def make(**changes: object) -> Hypergraph:
    arguments = {"vertex": [0, 1, 1, 3], "hyperedge": [1, 0, 1, 1], "n_vertices": 4, "n_hyperedges": 3}
    return Hypergraph.from_incidence(**(arguments | changes))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "structure.safetensors"


def again(H, path):
    H.save(path)
    assert type(H).load(path, verify=True).device == H.device
    return type(H).load(path)


def stored(path):
    with safe_open(path, framework="pt") as file:
        return set(file.keys())


@pytest.mark.slow
def test_every_hypergraph_comes_back(H, path):
    loaded = again(H, path)
    assert loaded.equals(H)
    assert repr(loaded) == repr(H)
    x = torch.rand(H.n_vertices, 3)
    assert torch.equal(functional.hypergraph_conv(x, loaded), functional.hypergraph_conv(x, H))


def test_every_graph_comes_back(graph, path):
    loaded = again(graph, path)
    assert loaded.equals(graph)
    for mine, theirs in zip(pytree.tree_leaves(loaded), pytree.tree_leaves(graph), strict=True):
        assert (mine is None) == (theirs is None)
        assert theirs is None or (mine.dtype == theirs.dtype and torch.equal(mine, theirs))


@pytest.mark.parametrize(
    "changes",
    [
        {"weight": [0.1, 2.0, 3.0]},
        {"centroid": [0, 1, 2]},
        {"centroid": [0, -1, 2]},
        {"vertex_names": ["a", 7, (1, "b"), None], "hyperedge_names": np.array([2.5, 1.5, 0.5])},
        {"hyperedge_names": np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="M8[D]")},
        {"vertex": [], "hyperedge": []},
        {"vertex": [], "hyperedge": [], "n_vertices": 0, "n_hyperedges": 0, "vertex_names": []},
    ],
    ids=str,
)
def test_weights_centroids_and_names_come_back(changes, path):
    H = make(**changes)
    loaded = again(H, path)
    assert loaded.equals(H)
    assert loaded.is_centred == H.is_centred


def test_a_file_does_not_repeat_what_offsets_imply(path):
    grouped = {"vertex", "hyperedge", "vertex_offsets", "hyperedge_offsets", "hyperedge_members", "hyperedge_position"}
    make().save(path)
    assert stored(path) == grouped
    make(weight=[1.0, 2.0, 1.0], centroid=[0, 1, 2]).save(path)
    assert stored(path) == grouped | {"weight", "_vertex_degree", "centroid"}
    Graph.from_links([0, 1], [1, 2], n_vertices=4).save(path)
    assert stored(path) == {"target", "source", "target_offsets", "source_position"}


def test_degrees_do_not_depend_on_the_order_in_which_incidences_are_given():
    weight = np.random.default_rng(0).random(50) + 0.1
    order = list(range(50))
    random.Random(0).shuffle(order)
    H = Hypergraph.from_incidence([0] * 50, range(50), 1, 50, weight)
    assert Hypergraph.from_incidence([0] * 50, order, 1, 50, weight).equals(H)


def test_files_of_other_kinds_say_how_to_load_them(path):
    make().save(path)
    with pytest.raises(ValueError, match=r"must contain a Graph; got a Hypergraph\. Load it with Hypergraph\.load"):
        Graph.load(path)
    with pytest.raises(ValueError, match=r"must contain a Network; got a Hypergraph"):
        hg.load(path)
    hg.save(Network(Config(), 3, 2), path)
    with pytest.raises(ValueError, match=r"must contain a Hypergraph; got a Network\. Load it with hypergnn\.load"):
        Hypergraph.load(path)


def test_files_of_another_format_are_refused(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Hypergraph, "FORMAT", 99)
        make().save(path)
    with pytest.raises(ValueError, match=r"has format 99, written by hypergnn .*; this version reads format 1"):
        Hypergraph.load(path)


def test_names_that_no_file_can_hold_leave_the_old_file(path):
    make().save(path)
    with pytest.raises(TypeError, match=r"names must be text.*got frozenset"):
        make(hyperedge_names=[frozenset([1]), 2, 3]).save(path)
    assert Hypergraph.load(path).equals(make())


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"vertex_offsets": None}, r"it has no 'vertex_offsets'"),
        ({"hyperedge": None}, r"it has no 'hyperedge'"),
        ({"hyperedge": torch.tensor([1, 0, 1], dtype=torch.int32)}, r"there must be 4 ids in each order; got \[3, 4\]"),
        ({"hyperedge": torch.tensor([1, 0, 1, 1])}, r"ids must be int32 or int64, all alike; got torch.int64 \(4,\)"),
        ({"vertex": torch.zeros(2, 2, dtype=torch.int32)}, r"ids must be .*got torch.int32 \(2, 2\)"),
        ({"vertex_offsets": torch.tensor([0, 1, 3, 3, 5], dtype=torch.int32)}, r"ascend from 0 to 4; got 0 to 5"),
        ({"vertex_offsets": torch.tensor([0, 3, 1, 3, 4], dtype=torch.int32)}, r"offsets must ascend from 0 to 4"),
        ({"hyperedge_offsets": torch.empty(0, dtype=torch.int32)}, r"negative dimension"),
        ({"weight": torch.tensor([1.0, 2.0, -1.0]).double()}, r"weight must be positive and finite.*got -1\.0"),
        ({"weight": torch.ones(3)}, r"weight must be torch.float64 \(3,\); got torch.float32"),
        ({"_vertex_degree": torch.ones(3).double()}, r"_vertex_degree must be torch.float64 \(4,\); got"),
        ({"centroid": torch.tensor([0, 1, 4])}, r"centroid must hold ids from 0 to 3"),
        ({"centroid": torch.tensor([0, 1])}, r"centroid must have shape \(3,\)"),
        ({"vertex_names": torch.tensor(list(b'["a"]'), dtype=torch.uint8)}, r"vertex_names must have shape \(4,\)"),
        ({"vertex_names": torch.tensor(list(b'["a"'), dtype=torch.uint8)}, r"names cannot be read"),
        ({"colour": torch.ones(3)}, r"it holds colour"),
        ({"vertex_places": torch.ones(1, dtype=torch.int32)}, r"it holds vertex_places"),
    ],
)
def test_inconsistent_sizes_are_noticed_without_reading_the_incidences(changes, match, path):
    make(vertex_names=list("abcd")).save(path)
    rewrite(path, changes)
    with pytest.raises(ValueError, match=r"structure\.safetensors is damaged.*" + match):
        Hypergraph.load(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("_vertex_degree", [3.0, 4.0, 0.0, 2.0]),
        ("_vertex_degree", [3.0, float("nan"), 0.0, 3.0]),
        ("_hyperedge_degree", [1.0, 3.0, 1.0]),
        ("hyperedge", [1, 0, 1, 7]),
        ("hyperedge", [1, 1, 0, 1]),
        ("hyperedge", [1, 1, 1, 1]),
        ("vertex", [0, 1, 1, -1]),
        ("hyperedge_members", [1, 0, 1, 2**30]),
        ("hyperedge_position", [1, 0, 2, 2]),
    ],
)
def test_inconsistent_tensors_with_a_valid_checksum_are_refused(name, values, path, monkeypatch):
    make(weight=[1.0, 3.0, 2.0]).save(path)
    rewrite(path, {name: torch.tensor(values, dtype=torch.float64 if name.endswith("degree") else torch.int32)})
    for verify in (False, True):
        with pytest.raises(ValueError, match=r"structure\.safetensors is damaged"):
            Hypergraph.load(path, verify=verify)
    monkeypatch.setattr(stored_files, "AT_ONCE", 0)  # as if it were large
    for use in USES:
        H = Hypergraph.load(path)
        for _ in range(2):
            with pytest.raises(ValueError, match=r"structure\.safetensors is damaged"):
                use(H)
    for use in KERNELS:
        if not name.endswith("degree") and name != "vertex":
            with pytest.raises(ValueError, match=r"must"):
                use(Hypergraph.load(path))
    with pytest.raises(ValueError, match=r"structure\.safetensors is damaged"):
        Hypergraph.load(path, verify=True)


USES = [
    lambda H: functional.hypergraph_conv(torch.ones(4, 2), H),
    lambda H: functional.vertex_degree(H),
    lambda H: hg.HypergraphConv(2, 2)(torch.ones(4, 2), H),
    lambda H: hg.HypergraphAttention(2, 2)(torch.ones(4, 2), H),
    lambda H: H.around([0, 1]),
    lambda H: H.joined_by(csr_array([[1, 0, 1]])),
    lambda H: H.to_scipy(),
    lambda H: H.to_hyperedges(),
    lambda H: H.vertex,
    lambda H: H.hyperedge,
    lambda H: SharedGraph.from_hypergraph(H),
    lambda H: H.save(os.devnull),
    lambda H: pickle.loads(pickle.dumps(H)),
    lambda H: copy.deepcopy(H).check(),
]
KERNELS = [
    lambda H: kernels.segment_sum(torch.ones(3, 2), H.incidence),
    lambda H: kernels.segment_sum(torch.ones(4, 2), H.incidence.T),
    lambda H: kernels.transition(torch.ones(4, 2), H.senders, H.receivers),
    lambda H: kernels.value_sums(torch.ones(4, 2), H.incidence),
    lambda H: kernels.attend(torch.ones(4, 2), torch.ones(3, 2), H.incidence, 0.2),
    lambda H: H.incidence.rows(),
    lambda H: H.incidence.pairs_of(np.array([0])),
    lambda H: H.incidence.select_rows(np.array([0])),
]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("tail_members", [0, 2**30]),
        ("head_members", [-1]),
        ("_sender_degree", [7.0, 1, 0]),
        ("_receiver_degree", [0.0, 0, 9]),
    ],
)
@pytest.mark.parametrize("direction", ["forward", "backward", "both", "undirected"])
def test_directions_of_a_damaged_file_are_refused(name, values, direction, path, monkeypatch):
    monkeypatch.setattr(stored_files, "AT_ONCE", 0)  # as if it were large
    hg.DirectedHypergraph.from_hyperedges([([0, 1], [2])], n_vertices=3, weight=[2.0]).save(path)
    changed = torch.tensor(values, dtype=torch.float64 if name.endswith("degree") else torch.int32)
    rewrite(path, {name: changed}, "DirectedHypergraph")
    for use in (
        lambda H: hg.HypergraphConv(2, 2, direction=direction)(torch.ones(3, 2), H),
        lambda H: H.around([0], direction=direction),
        lambda H: H.undirected(),
        lambda H: H.reversed(),
    ):
        with pytest.raises(ValueError, match=r"structure\.safetensors is damaged"):
            use(hg.DirectedHypergraph.load(path))


def test_verifying_notices_names_that_occur_twice(path):
    make(vertex_names=list("abcd"), hyperedge_names=[5, 6, 7]).save(path)
    rewrite(path, {"vertex_names": torch.tensor(list(b'["a","b","a","d"]'), dtype=torch.uint8)})
    with pytest.raises(ValueError, match=r"vertex_names must all be different; 1 are repetitions"):
        Hypergraph.load(path, verify=True)
    make(vertex_names=list("abcd"), hyperedge_names=[5, 6, 7]).save(path)
    rewrite(path, {"hyperedge_names": torch.tensor([5, 6, 5])})
    with pytest.raises(ValueError, match=r"hyperedge_names must all be different"):
        Hypergraph.load(path, verify=True)


def test_verifying_notices_a_link_in_one_direction_only(path):
    Graph.from_links([0, 1], [1, 2], n_vertices=4).save(path)
    source = Graph.load(path, verify=True).source.clone()
    source[1] = 3
    rewrite(path, {"source": source}, "Graph")
    with pytest.raises(ValueError, match=r"structure\.safetensors is damaged.*by row must be those grouped by column"):
        Graph.load(path, verify=True)


@pytest.mark.slow
def test_one_wrong_byte_anywhere_is_noticed_by_verifying_and_breaks_nothing_otherwise(path):
    H = make(weight=[1.0, 2.0, 3.0], vertex_names=list("abcd"))
    H.save(path)
    content = path.read_bytes()
    for place in range(0, len(content), 3):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(ValueError, match=r"structure\.safetensors"):
            Hypergraph.load(path, verify=True)
        try:
            loaded = Hypergraph.load(path)
        except ValueError as error:
            assert "structure.safetensors" in str(error)  # noqa: PT017
        else:
            assert (loaded.n_vertices, loaded.n_hyperedges, loaded.n_incidences) == (4, 3, 4)


def rewrite(path, changes, kind="Hypergraph"):
    """The same file with other tensors, or without those that are None, and the checksum that belongs to it."""
    header, tensors = tensor_files.read(path, kind, 1)
    kept = {name: tensor.clone() for name, tensor in (tensors | changes).items() if tensor is not None}
    tensor_files.write(path, kind, 1, {"names": header["names"]}, kept)
