"""The disjoint union of hypergraphs: nothing flows between its members, and they can be taken out again."""

import pytest
import torch
from support.structures import HYPERGRAPHS, hypergraph, random
from torch.utils import _pytree as pytree

import hypergnn as hg
from hypergnn.persistence import tensor_files


def everything():
    return [hypergraph(name) for name in HYPERGRAPHS]


def named():
    return [
        hg.Hypergraph.from_hyperedges([[0, 1]], 2, vertex_names=["a", "b"]),
        hg.Hypergraph.from_hyperedges([[0, 1], []], 3, weight=[1.0, 2.0], hyperedge_names=["x", "y"]),
        hg.Hypergraph.from_hyperedges([[0]], 1, vertex_names=["a"], centroid=[0]),
    ]


@pytest.mark.parametrize("members", [everything(), named()], ids=["every kind", "named"])
def test_members_come_out_as_they_went_in(members):
    both = hg.batch(members)
    assert both.n_members == len(members)
    assert both.n_vertices == sum(one.n_vertices for one in members)
    assert both.n_hyperedges == sum(one.n_hyperedges for one in members)
    assert torch.bincount(both.vertex_member, minlength=len(members)).tolist() == [one.n_vertices for one in members]
    assert torch.bincount(both.hyperedge_member, minlength=len(members)).tolist() == [
        one.n_hyperedges for one in members
    ]
    for found, expected in zip(both.split(), members, strict=True):
        assert type(found) is hg.Hypergraph
        assert found.equals(expected) or expected.centroid is not None
        assert found.to_hyperedges() == expected.to_hyperedges()
        assert found.weight.tolist() == expected.weight.tolist()


def test_centroids_are_shifted_and_come_back():
    one = hg.Hypergraph.from_hyperedges([[0, 1], [1]], 2, centroid=[1, -1])
    both = hg.batch([hg.Hypergraph.from_hyperedges([[0, 1, 2]], 3), one, one])
    assert both.centroid.tolist() == [-1, 4, -1, 6, -1]
    assert [member.centroid is None for member in both.split()] == [True, False, False]
    assert both.split()[2].equals(one)


@pytest.mark.parametrize(
    "layer",
    [hg.HypergraphConv(3, 2), hg.HypergraphConv(3, 2, learn_weight=True), hg.HypergraphAttention(3, 2, heads=2)],
    ids=["convolution", "learned weights", "attention"],
)
def test_each_member_gets_what_it_gets_alone(layer):
    members, layer = everything(), layer.double()
    x = [random(one.n_vertices, 3) for one in members]
    together = layer(torch.cat(x), hg.batch(members))
    torch.testing.assert_close(together, torch.cat([layer(*pair) for pair in zip(x, members, strict=True)]))


def test_names_become_pairs():
    both = hg.batch(named())
    assert both.vertex_names.tolist() == [(0, "a"), (0, "b"), (1, 0), (1, 1), (1, 2), (2, "a")]
    assert both.hyperedge_names.tolist() == [(0, 0), (1, "x"), (1, "y"), (2, 0)]
    assert hg.batch(everything()).vertex_names is None


def test_it_is_a_structure_like_others(tmp_path):
    both = hg.batch(named())
    assert repr(both) == "HypergraphBatch(3 members, 6 vertices, 4 hyperedges, 5 incidences, weighted, partly centred)"
    both.save(tmp_path / "both.safetensors")
    for verify in (False, True):
        loaded = hg.HypergraphBatch.load(tmp_path / "both.safetensors", verify=verify)
        assert loaded.equals(both)
        assert loaded.n_members == 3
    leaves, how = pytree.tree_flatten(both)
    again = pytree.tree_unflatten(leaves, how)
    assert torch.equal(again.vertex_member, both.vertex_member)
    assert both.to("meta").vertex_member.device.type == "meta"
    with pytest.raises(ValueError, match=r"both\.safetensors"):
        hg.Hypergraph.load(tmp_path / "both.safetensors")


def test_a_batch_may_hold_batches():
    one = hg.batch(named()[:2])
    assert hg.batch([one, named()[2]]).n_members == 2


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([], ValueError, "at least one hypergraph; got none"),
        ([named()[0], [[0, 1]]], TypeError, "sequence of Hypergraph; number 1 is a list"),
        ([named()[0], named()[1].to("meta")], ValueError, "must be on one device; got cpu, meta"),
    ],
)
def test_what_is_no_batch_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        hg.batch(given)


@pytest.mark.parametrize("number", [10**18, 2**62, 10_007, -1])
def test_a_file_cannot_ask_for_any_number_of_members(tmp_path, number):
    both = hg.batch([hg.Hypergraph.from_hyperedges([[0, 1]], 2)] * 2)
    both.save(tmp_path / "b.safetensors")
    header, tensors = tensor_files.read(tmp_path / "b.safetensors", "HypergraphBatch", both.FORMAT)
    tensors = {name: one.clone() for name, one in tensors.items()} | {"n_members": torch.tensor([number])}
    tensor_files.write(tmp_path / "b.safetensors", "HypergraphBatch", both.FORMAT, {"names": header["names"]}, tensors)
    with pytest.raises(ValueError, match="n_members must be at most 10006"):
        hg.HypergraphBatch.load(tmp_path / "b.safetensors")


def test_a_batch_is_made_of_a_sequence():
    with pytest.raises(TypeError, match="hypergraphs must be a sequence of Hypergraph; got int"):
        hg.batch(5)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("hyperedge_member", [0, 0, 1], "holds vertices of another member"),
        ("centroid", [0, 0, 2], "has its centroid in another member"),
    ],
)
def test_members_of_a_file_do_not_share_anything(tmp_path, name, values, message):
    one = hg.Hypergraph.from_hyperedges([[0, 1]], 2, centroid=[0])
    both = hg.batch([one, hg.Hypergraph.from_hyperedges([[0], [0, 1]], 2, centroid=[0, 1])])
    both.save(tmp_path / "b.safetensors")
    header, tensors = tensor_files.read(tmp_path / "b.safetensors", "HypergraphBatch", both.FORMAT)
    tensors = {key: own.clone() for key, own in tensors.items()} | {name: torch.tensor(values)}
    tensor_files.write(tmp_path / "b.safetensors", "HypergraphBatch", both.FORMAT, {"names": header["names"]}, tensors)
    with pytest.raises(ValueError, match=message):
        hg.HypergraphBatch.load(tmp_path / "b.safetensors")


def test_a_batch_of_nothing_has_a_limit():
    with pytest.raises(ValueError, match="at most 10000 empty ones"):
        hg.batch([hg.Hypergraph.from_hyperedges([], 0)] * 10_001)
