"""Structures are checked where bytes or arrays become one, once, and cannot be changed unnoticed afterwards."""

import copy
import gc
import io
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from support.structures import hypergraph

from hypergnn import Graph, Hypergraph, HypergraphAttention, HypergraphConv, SharedGraph, functional, kernels
from hypergnn.structures import Incidence, incidence


@pytest.fixture
def small():
    return Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4, weight=[1.0, 3.0], centroid=[0, 1])


def ids(*numbers):
    return torch.tensor(numbers, dtype=torch.int32)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"members": ids(0, 0, 1, 0, 1, 2)}, r"members must hold ids from 0 to 1; got 2"),
        ({"members": ids(0, 0, 1, 0, 1, -1)}, r"members must hold ids from 0 to 1; got -1"),
        ({"back_members": ids(0, 1, 2, 1, 2, 4)}, r"members must hold ids from 0 to 3; got 4"),
        ({"members": ids(0, 1, 0, 0, 1, 1)}, r"ids of each group must ascend"),
        ({"members": ids(0, 0, 0, 0, 1, 1)}, r"ids of each group must ascend"),
        ({"back_members": ids(0, 1, 3, 1, 2, 3)}, r"by row must be those grouped by column"),
        ({"back_position": ids(0, 1, 3, 2, 4, 4)}, r"by row must be those grouped by column"),
        ({"back_position": ids(0, 1, 3, 2, 4, 6)}, r"position must hold ids from 0 to 5; got 6"),
        ({"back_position": None}, r"by row must be those grouped by column"),
        ({"offsets": ids(0, 1, 3, 5, 7)}, r"offsets must ascend from 0 to 6; got 0 to 7"),
        ({"offsets": ids(0, 5, 3, 5, 6)}, r"offsets must ascend from 0 to 6"),
        ({"back_offsets": ids(1, 3, 6)}, r"offsets must ascend from 0 to 6; got 1 to 6"),
        ({"back_offsets": ids()}, r"offsets must not be empty"),
        ({"members": ids(0, 0, 1)}, r"there must be 3 ids in each order; got \[3, 6\]"),
        ({"members": torch.tensor([0, 0, 1, 0, 1, 1])}, r"ids must be int32 or int64, all alike; got torch.int64"),
        ({"members": ids(0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0)[::2]}, r"ids must be contiguous"),
        ({"position": ids(0, 1, 2, 3, 4, 9)}, r"its own place, the same in both orders"),
        ({"position": ids(0, 1, 2, 3, 5, 4)}, r"by row must be those grouped by column"),
    ],
)
def test_pairs_that_are_not_sound_are_refused_by_every_step(small, changes, match):
    pairs = small.incidence._replace(**changes)
    for call in (
        pairs.check,
        pairs.T.check,
        pairs.rows,
        lambda: kernels.segment_sum(torch.ones(2, 3), pairs),
        lambda: kernels.value_sums(torch.ones(6, 3), pairs.T),
        lambda: kernels.segment_softmax(torch.ones(6, 3), pairs),
        lambda: functional.hypergraph_conv(
            torch.ones(4, 2), Hypergraph(pairs, small.weight, small._vertex_degree, small._hyperedge_degree)
        ),
    ):
        with pytest.raises(ValueError, match=r"must" if call not in (pairs.check, pairs.rows) else match):
            call()


def test_sound_pairs_are_read_once(small, monkeypatch):
    pairs = Incidence(*[None if one is None else one.clone() for one in small.incidence])
    pairs.check()
    monkeypatch.setattr(incidence, "_check_sound", None)
    pairs.check()
    pairs.T.check()
    small.incidence.check()  # made by from_pairs, which sorts: never read
    small.incidence.to("cpu").check()


@pytest.mark.slow
def test_what_is_known_of_pairs_is_forgotten_with_them():
    gc.collect()  # what other tests left
    before = set(incidence.KNOWN)
    H = hypergraph("isolated vertex")
    H = Hypergraph.from_scipy(H.to_scipy())
    added = set(incidence.KNOWN) - before
    assert len(added) == 2
    kept = H.incidence.offsets
    del H
    gc.collect()
    assert not added & set(incidence.KNOWN)
    assert kept.shape[0] == 6


@pytest.mark.parametrize("name", ["offsets", "members", "back_offsets", "back_members", "back_position"])
def test_ids_that_were_changed_in_place_are_noticed(small, name):
    x = torch.ones(4, 2)
    functional.hypergraph_conv(x, small)
    getattr(small.incidence, name)[-1] = 10**9
    for call in (
        lambda: functional.hypergraph_conv(x, small),
        lambda: HypergraphConv(2, 2)(x, small),
        lambda: HypergraphAttention(2, 2)(x, small),
        lambda: kernels.segment_sum(x, small.incidence.T),
        lambda: small.incidence.rows(),
    ):
        with pytest.raises(ValueError, match=r"ids of a structure were changed in place"):
            call()


@pytest.mark.parametrize("name", ["weight", "centroid", "_vertex_degree", "_hyperedge_degree"])
def test_tensors_that_were_changed_in_place_are_noticed(small, name):
    getattr(small, name).mul_(2)
    for call in (
        lambda: functional.hypergraph_conv(torch.ones(4, 2), small),
        lambda: HypergraphAttention(2, 2)(torch.ones(4, 2), small),
        small.vertex_degree,
        small.to_scipy,
        lambda: small.around([0]),
    ):
        with pytest.raises(ValueError, match=r"a tensor of this Hypergraph was changed in place"):
            call()


def test_graphs_and_blocks_notice_changes_too(small):
    graph, block = Graph.from_links([0, 1], [1, 2], n_vertices=4), small.around([0])
    graph.degree.add_(1)
    block.weight.add_(1)
    with pytest.raises(ValueError, match=r"a tensor of this Graph was changed in place"):
        functional.graph_conv(torch.ones(4, 2), graph)
    with pytest.raises(ValueError, match=r"a tensor of this Block was changed in place"):
        functional.hypergraph_conv(torch.ones(3, 2), block)


def test_structures_do_not_alias_what_they_were_made_of():
    vertex, hyperedge = np.array([0, 1, 2], np.int32), np.array([0, 0, 1], np.int32)
    weight, centroid, names = np.ones(2), np.array([0, 2]), np.array([5, 6, 7])
    H = Hypergraph.from_incidence(vertex, hyperedge, 3, 2, weight, centroid, names)
    wanted, made = np.array([0, 2]), torch.tensor([0, 2])
    blocks = [H.around(wanted), H.around(made), Graph.from_links([0], [1], 3).around(wanted)]
    shared = SharedGraph.from_hypergraph(H).around(wanted)
    for one in (vertex, hyperedge, weight, centroid, names, wanted, made):
        one[:] = 1
    assert H.to_hyperedges() == [[0, 1], [2]]
    assert (H.weight.tolist(), H.centroid.tolist(), H.vertex_names.tolist()) == ([1, 1], [0, 2], [5, 6, 7])
    assert [one.made.tolist() for one in blocks] == [[0, 2]] * 3
    assert shared.rows.tolist() == [0, 2]


def test_names_cannot_be_changed_and_matrices_are_copies(small):
    H = Hypergraph.from_hyperedges([[0, 1]], n_vertices=2, vertex_names=["a", "b"])
    with pytest.raises(ValueError, match="read-only"):
        H.vertex_names[0] = "b"
    matrix = small.to_scipy()
    matrix.indices[:], matrix.indptr[:] = 9, 9
    assert small.to_hyperedges() == [[0, 1, 2], [1, 2, 3]]


def test_structures_come_back_from_a_pickle_and_are_checked(small):
    block = small.around([1])
    for one in (small, block, Graph.from_links([0, 1], [1, 2], n_vertices=4), SharedGraph.from_hypergraph(small)):
        functional_form = functional.graph_conv if "Graph" in type(one).__name__ else functional.hypergraph_conv
        x = torch.rand(one.n_vertices, 3)
        for again in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
            assert torch.equal(functional_form(x, again), functional_form(x, one))
    bad = Hypergraph(
        small.incidence._replace(members=ids(0, 0, 1, 0, 1, 7)),
        small.weight,
        small._vertex_degree,
        small._hyperedge_degree,
    )
    content = pickle.dumps({"kind": type(bad), "fields": bad.incidence})
    assert pickle.loads(content)["fields"].members.tolist() == [0, 0, 1, 0, 1, 7]
    with pytest.raises(ValueError, match=r"members must hold ids from 0 to 1; got 7"):
        pickle.dumps(bad)
    far = (*small.incidence[:1], ids(0, 0, 1, 0, 1, 7), *small.incidence[2:])
    values = {"incidence": Incidence(*far), "weight": small.weight}
    degrees = {"_vertex_degree": small._vertex_degree, "_hyperedge_degree": small._hyperedge_degree}
    restored, _ = small.__reduce__()
    with pytest.raises(ValueError, match=r"the pickle is damaged.*got 7"):
        restored(Hypergraph, values | degrees)
    with pytest.raises(TypeError, match=r"kind must be a structure"):
        restored(dict, {})


@pytest.mark.slow
def test_an_import_changes_no_list_of_safe_classes():
    code = "import torch; a = list(torch.serialization.get_safe_globals()); import hypergnn; "
    code += "assert torch.serialization.get_safe_globals() == a, torch.serialization.get_safe_globals()"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


def test_torch_makes_no_structure_of_weights(small):
    file = io.BytesIO()
    torch.save(small, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"Unsupported global|weights_only"):
        torch.load(file, weights_only=True)


def test_structures_made_in_inference_mode_work_outside(small):
    with torch.inference_mode():
        H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4, weight=[1.0, 3.0])
        functional.hypergraph_conv(torch.ones(4, 2), H)
    x = torch.rand(4, 2, requires_grad=True)
    functional.hypergraph_conv(x, H).sum().backward()
    torch.testing.assert_close(functional.hypergraph_conv(x, H), functional.hypergraph_conv(x, small))


@pytest.mark.parametrize("way", ["numpy", "data"])
def test_ids_that_are_handed_out_are_copies(small, way):
    graph, x = Graph.from_links([0, 1], [1, 2], n_vertices=4), torch.ones(4, 2)
    before = functional.hypergraph_conv(x, small), functional.graph_conv(x, graph)
    for ids in (small.vertex, small.hyperedge, graph.source, graph.target):
        (ids.numpy() if way == "numpy" else ids.data)[0] = 2**30
    assert torch.equal(functional.hypergraph_conv(x, small), before[0])
    assert torch.equal(functional.graph_conv(x, graph), before[1])
    assert small.vertex.max() < 4
    assert graph.source.max() < 4
