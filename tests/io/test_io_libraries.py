import re
import subprocess
import sys

import dhg
import hypernetx
import networkx
import numpy as np
import pytest
import torch
import xgi
from hypothesis import given, settings
from support.generated import by_name, hypergraphs
from torch_geometric.data import Batch, Data
from torch_geometric.data.hypergraph_data import HyperGraphData

import hypergnn as hg
from hypergnn import Hypergraph, io

unhurried = settings(deadline=None, max_examples=60)


def named(**changes: object) -> Hypergraph:
    """Vertex c is isolated, hyperedge y is empty, and a vertex and a hyperedge share the name a."""
    arguments = {
        "vertex": [0, 1, 1],
        "hyperedge": [0, 0, 1],
        "n_vertices": 3,
        "n_hyperedges": 3,
        "weight": [2.0, 0.5, 1.0],
        "vertex_names": ["a", "b", "c"],
        "hyperedge_names": ["x", "a", "y"],
    }
    return Hypergraph.from_incidence(**(arguments | changes))


@unhurried
@given(hypergraphs(names=None, centroids=False))
def test_scipy_preserves_sizes_incidences_and_weights(H):
    assert io.from_scipy(*io.to_scipy(H)).equals(H)


@pytest.mark.parametrize("kind", ["Data", "HyperGraphData"])
@unhurried
@given(hypergraphs())
def test_pyg_preserves_everything(kind, H):
    data = io.to_pyg(H, kind=kind)
    assert type(data).__name__ == kind
    assert io.from_pyg(data).equals(H)


@unhurried
@given(hypergraphs(names=None, centroids=False, repeated=False, min_vertices=1))
def test_dhg_preserves_sizes_incidences_and_weights(H):
    theirs = io.to_dhg(H)
    assert (theirs.num_v, theirs.num_e) == (H.n_vertices, H.n_hyperedges)
    assert io.from_dhg(theirs).equals(H)


@unhurried
@given(hypergraphs())
def test_networkx_preserves_everything(H):
    graph = io.to_networkx(H)
    assert graph.number_of_edges() == H.n_incidences
    assert io.from_networkx(graph).equals(H)


@unhurried
@given(hypergraphs())
def test_xgi_preserves_everything(H):
    theirs = io.to_xgi(H)
    assert (theirs.num_nodes, theirs.num_edges) == (H.n_vertices, H.n_hyperedges)
    assert io.from_xgi(theirs).equals(H)


@settings(deadline=None, max_examples=30)
@given(hypergraphs(isolated=False, empty=False))
def test_hypernetx_preserves_everything_but_the_order_of_hyperedges(H):
    theirs = io.to_hypernetx(H)
    assert theirs.shape == (H.n_vertices, H.n_hyperedges)
    assert by_name(io.from_hypernetx(theirs)) == by_name(H)


def test_dhg_gets_the_members_and_weights_of_each_hyperedge():
    theirs = io.to_dhg(Hypergraph.from_hyperedges([[2, 0], [1], []], 4, weight=[3.0, 1.0, 2.0]))
    assert theirs.e == ([(0, 2), (1,), ()], [3.0, 1.0, 2.0])


def test_pyg_index_has_vertices_in_the_first_row_and_weights_have_the_requested_dtype():
    data = io.to_pyg(named(), dtype=torch.float32)
    assert data.hyperedge_index.tolist() == [[0, 1, 1], [0, 0, 1]]
    assert data.hyperedge_index.dtype == torch.int64
    assert data.hyperedge_weight.dtype == torch.float32
    assert (data.num_nodes, data.num_hyperedges) == (3, 3)


def test_changing_pyg_data_does_not_change_the_hypergraph():
    H = named(centroid=[1, -1, -1])
    data = io.to_pyg(H)
    for tensor in (data.hyperedge_weight, data.hyperedge_index, data.hyperedge_centroid):
        tensor.zero_()
    data.vertex_names[0] = "z"
    assert H.equals(named(centroid=[1, -1, -1]))


def test_pyg_sizes_default_to_the_features_and_the_largest_id():
    index = torch.tensor([[0, 1], [0, 2]])
    assert repr(io.from_pyg(Data(x=torch.ones(4, 1), hyperedge_index=index))).startswith("Hypergraph(4 vertices, 3 hyp")
    weighted = Data(num_nodes=2, hyperedge_index=index, hyperedge_weight=torch.ones(5))
    assert io.from_pyg(weighted).n_hyperedges == 5
    assert io.from_pyg(Data(num_nodes=2, num_hyperedges=4, hyperedge_index=index)).n_hyperedges == 4


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Data(hyperedge_index=torch.tensor([[0], [0]])), "set data.num_nodes"),
        (Data(edge_index=torch.tensor([[0], [0]]), num_nodes=1), "must have hyperedge_index"),
        (Data(hyperedge_index=[[0], [0]], num_nodes=1), r"a tensor of shape \(2, incidences\).*got \[\[0\], \[0\]\]"),
        (HyperGraphData(num_nodes=1), r"must have hyperedge_index \(edge_index in a HyperGraphData\)"),
    ],
)
def test_incomplete_pyg_data_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        io.from_pyg(data)


def test_bipartite_nodes_are_tagged_and_untagged_graphs_keep_their_names():
    graph = io.to_networkx(named(centroid=[1, -1, -1]))
    assert graph.nodes["hyperedge", "a"] == {"bipartite": 1, "weight": 0.5}
    assert graph.nodes["hyperedge", "x"] == {"bipartite": 1, "weight": 2.0, "centroid": "b"}
    foreign = networkx.Graph([("v", "e"), ("e", "w")])
    networkx.set_node_attributes(foreign, {"v": 0, "w": 0, "e": 1}, "bipartite")
    assert by_name(io.from_networkx(foreign)) == (["v", "w"], {"e": (1.0, None, {"v", "w"})})


def test_numbers_from_zero_on_stay_numbers_in_whatever_order_they_come():
    H = io.from_xgi(xgi.Hypergraph({7: [2, 0], 8: [1]}))
    assert H.vertex_names is None
    assert H.hyperedge_names.tolist() == [7, 8]
    assert (H.vertex.tolist(), H.hyperedge.tolist()) == ([0, 1, 2], [0, 1, 0])


WRITERS = {
    "networkx": (io.to_networkx, io.from_networkx),
    "xgi": (io.to_xgi, io.from_xgi),
    "hypernetx": (io.to_hypernetx, io.from_hypernetx),
}


@pytest.mark.parametrize("library", [*WRITERS, "hif", "parquet"])
def test_names_that_would_be_read_as_numbers_are_refused_unless_ignored(tmp_path, library):
    if library in WRITERS:
        write, read = WRITERS[library]
    elif library == "hif":
        path = tmp_path / "names.json"
        write, read = lambda H, **options: io.write_hif(H, path, **options), lambda _: io.read_hif(path)
    else:
        path = tmp_path / "names.parquet"
        write, read = (
            lambda H, **options: io.write_incidence_table(H, path, **options),
            lambda _: io.read_incidence_table(path),
        )
    plain = Hypergraph.from_incidence([0, 1, 2], [0, 0, 0], 3, 1)
    H = Hypergraph.from_incidence([0, 1, 2], [0, 0, 0], 3, 1, vertex_names=[2, 0, 1])
    with pytest.raises(ValueError, match=r"names that are the numbers 0 to 2 in another order.*ignore=\('names',\)"):
        write(H)
    assert read(write(H, ignore=("names",))).equals(plain)
    assert Hypergraph.from_incidence([0, 1, 2], [0, 0, 0], 3, 1, vertex_names=[0, 1, 2]).equals(plain)
    assert io.from_pyg(io.to_pyg(H)).equals(H)


def bipartite(graph: networkx.Graph, **attributes: object) -> networkx.Graph:
    graph.add_node("v", bipartite=0)
    graph.add_node("e", bipartite=1)
    graph.add_edge("v", "e", **attributes)
    return graph


def weighted_cells(weight: float) -> hypernetx.Hypergraph:
    return hypernetx.Hypergraph({"e": {"v": {"weight": weight}}})


def dhg_with_groups() -> dhg.Hypergraph:
    made = dhg.Hypergraph(2, [[0]])
    made.add_hyperedges([[1]], group_name="other")
    return made


FOREIGN = {
    "weight of an edge": (io.from_networkx, lambda: bipartite(networkx.Graph(), weight=2.0), "incidence_weights"),
    "attribute of an edge": (io.from_networkx, lambda: bipartite(networkx.Graph(), role="x"), "attrs"),
    "name of a graph": (io.from_networkx, lambda: bipartite(networkx.Graph(name="g")), "metadata"),
    "complex": (io.from_xgi, lambda: xgi.SimplicialComplex([[1, 2]]), "asc"),
    "metadata": (io.from_xgi, lambda: xgi.Hypergraph([[1]], name="g"), "metadata"),
    "cell weight": (io.from_hypernetx, lambda: weighted_cells(2.0), "incidence_weights"),
    "node weight": (
        io.from_hypernetx,
        lambda: hypernetx.Hypergraph({"e": ["v"]}, node_properties={"v": {"weight": 3}}),
        "vertex_weights",
    ),
    "array": (
        io.from_hypernetx,
        lambda: hypernetx.Hypergraph({"e": ["v"]}, edge_properties={"e": {"place": np.ones(2)}}),
        "attrs",
    ),
    "array as weight": (
        io.from_networkx,
        lambda: bipartite(networkx.Graph(), weight=np.ones(2)),
        "incidence_weights",
    ),
    "edge property": (
        io.from_hypernetx,
        lambda: hypernetx.Hypergraph({"e": ["v"]}, edge_properties={"e": {"colour": "red"}}),
        "attrs",
    ),
    "vertex weight": (io.from_dhg, lambda: dhg.Hypergraph(2, [[0, 1]], v_weight=[1.0, 2.0]), "vertex_weights"),
    "groups": (io.from_dhg, dhg_with_groups, "attrs"),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_what_a_hypergraph_cannot_hold_is_refused_unless_ignored(case):
    convert, make, word = FOREIGN[case]
    with pytest.raises(ValueError, match=re.escape(f"Give ignore=('{word}',)")):
        convert(make())
    assert convert(make(), ignore=(word,)).n_incidences > 0


def test_head_and_tail_become_one_set_of_members_when_direction_is_ignored():
    H = io.from_xgi(xgi.DiHypergraph({"e": (["a", "b"], ["b", "c"])}), ignore=("direction",))
    assert by_name(H)[1] == {"e": (1.0, None, {"a", "b", "c"})}


def test_a_centroid_attribute_that_is_not_a_vertex_is_an_ordinary_attribute():
    theirs = xgi.Hypergraph({"e": ["a"]})
    theirs.set_edge_attributes({"e": {"centroid": [0.5, 0.5]}})
    with pytest.raises(ValueError, match=r"attributes of hyperedges \('centroid'\)"):
        io.from_xgi(theirs)


OURS = {
    "scipy names": (io.to_scipy, named(), "names"),
    "scipy centroids": (io.to_scipy, Hypergraph.from_hyperedges([[0]], 1, centroid=[0]), "centroids"),
    "dhg names": (io.to_dhg, named(), "names"),
    "dhg centroids": (io.to_dhg, Hypergraph.from_hyperedges([[0]], 1, centroid=[0]), "centroids"),
    "hypernetx isolated": (io.to_hypernetx, Hypergraph.from_hyperedges([[0]], 2), "isolated"),
    "hypernetx empty": (io.to_hypernetx, Hypergraph.from_hyperedges([[0], []], 1), "empty"),
}


@pytest.mark.parametrize("case", OURS)
def test_what_a_library_cannot_hold_is_refused_unless_ignored(case):
    convert, H, word = OURS[case]
    with pytest.raises(ValueError, match=re.escape(f"Give ignore=('{word}',)")):
        convert(H)
    convert(H, ignore=(word,))


def test_an_error_names_everything_that_would_be_lost_and_the_full_fix():
    graph = bipartite(networkx.Graph(name="g"), weight=2.0, role="x")
    with pytest.raises(ValueError, match=r"ignore=\('incidence_weights', 'attrs', 'metadata'\)"):
        io.from_networkx(graph, ignore=("attrs",))


@pytest.mark.parametrize(("hyperedges", "n"), [([[0, 1], [1, 0]], 2), ([[], [], [0]], 1)])
def test_dhg_would_merge_hyperedges_with_the_same_vertices(hyperedges, n):
    with pytest.raises(ValueError, match="2 have"):
        io.to_dhg(Hypergraph.from_hyperedges(hyperedges, n))


def test_dhg_needs_a_vertex():
    with pytest.raises(ValueError, match="at least one vertex"):
        io.to_dhg(Hypergraph.from_hyperedges([], 0))


def test_ignore_takes_a_tuple_of_known_words():
    with pytest.raises(TypeError, match=re.escape("Write ('names',)")):
        io.to_scipy(named(), ignore="names")
    with pytest.raises(ValueError, match="got 'weights'"):
        io.to_scipy(named(), ignore=("weights",))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (networkx.path_graph(2), "0 has None"),
        (networkx.Graph([("v", "w")]), "on the same side"),
        (bipartite(bipartite(networkx.MultiGraph())), "vertex 'v' occurs several times in hyperedge 'e'"),
    ],
)
def test_graphs_that_are_not_bipartite_are_refused(graph, message):
    if message == "on the same side":
        networkx.set_node_attributes(graph, 0, "bipartite")
    with pytest.raises(ValueError, match=message):
        io.from_networkx(graph)


@pytest.mark.parametrize("convert", [io.from_pyg, io.from_dhg, io.from_networkx, io.from_xgi, io.from_hypernetx])
def test_other_objects_are_refused(convert):
    with pytest.raises(TypeError, match="got ndarray"):
        convert(np.ones(3))


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgi", None)
    with pytest.raises(
        ImportError, match=re.escape("needs xgi") + ".*" + re.escape("pip install '.[interop]' in the folder")
    ):
        io.to_xgi(named())


@pytest.mark.slow
def test_importing_the_package_imports_none_of_the_libraries():
    libraries = ("dhg", "hypernetx", "networkx", "pandas", "pyarrow", "torch_geometric", "xgi")
    code = (
        "import sys, torch, scipy.sparse; before = set(sys.modules); import hypergnn.io; "
        f"print([name for name in {libraries} if name in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


MEMBERS = {
    "plain": [Hypergraph.from_hyperedges([[0, 1], [1]], 3), Hypergraph.from_hyperedges([[0, 1, 2]], 3)],
    "more hyperedges than vertices": [Hypergraph.from_hyperedges([[0], [0, 1], [1], []], 2)] * 3,
    "empty ones": [Hypergraph.from_hyperedges([], 1), Hypergraph.from_hyperedges([[0], []], 1)],
    "everything": [
        Hypergraph.from_hyperedges([[0, 1]], 2, [2.0], [1], vertex_names=["a", "b"]),
        Hypergraph.from_hyperedges([[0, 1], [0]], 3, hyperedge_names=["x", "y"]),
    ],
}


@pytest.mark.parametrize("name", MEMBERS)
def test_batches_go_to_pyg_and_back(name):
    there = io.to_pyg(hg.batch(MEMBERS[name]))
    assert isinstance(there, Batch)
    assert there.num_graphs == len(MEMBERS[name])
    back = io.from_pyg(there)
    assert back.equals(hg.batch(MEMBERS[name]))
    assert there.batch.tolist() == back.vertex_member.tolist()
    assert there.hyperedge_index.tolist() == [back.vertex.tolist(), back.hyperedge.tolist()]


def test_a_layer_over_a_pyg_batch_of_ours_mixes_nothing():
    members = MEMBERS["more hyperedges than vertices"]
    data = io.to_pyg(hg.batch(members), dtype=torch.float32)
    layer, x = hg.pyg.HypergraphConv(3, 2), torch.randn(6, 3)
    alone = [layer(x[2 * k : 2 * k + 2], io.to_pyg(one).hyperedge_index) for k, one in enumerate(members)]
    torch.testing.assert_close(layer(x, data.hyperedge_index, data.hyperedge_weight), torch.cat(alone))


def test_a_batch_of_other_data_keeps_its_members_apart():
    plain = [io.to_pyg(one) for one in MEMBERS["plain"]]
    assert io.from_pyg(Batch.from_data_list(plain)).equals(hg.batch(MEMBERS["plain"]))


def test_a_batch_of_hypergraph_data_is_refused():
    with pytest.raises(ValueError, match="kind must be 'Data' for a batch"):
        io.to_pyg(hg.batch(MEMBERS["plain"]), kind="HyperGraphData")
