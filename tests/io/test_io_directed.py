"""Directed hypergraphs in other libraries and in files."""

import json

import networkx
import numpy as np
import pytest
import xgi
from hypothesis import given, settings
from hypothesis import strategies as st
from support.structures import DIRECTED

import hypergnn as hg
from hypergnn import io

NAMED = hg.DirectedHypergraph.from_hyperedges(
    [([0, 1], [2]), ([2], [0, 2]), ([], [3]), ([3], [])],
    n_vertices=5,
    weight=[1.0, 2.5, 1.0, 4.0],
    centroid=[-1, 2, -1, 3],
    vertex_names=["A", "B", "C", "D", "E"],
    hyperedge_names=["one", "two", "three", "four"],
)


def through_hif(H, folder):
    io.write_hif(H, folder / "x.json")
    return io.read_hif(folder / "x.json")


def through_scipy(H, _):
    return io.from_scipy(*io.to_scipy(H, ignore=("names", "centroids")))


WAYS = {
    "hif": through_hif,
    "networkx": lambda H, _: io.from_networkx(io.to_networkx(H)),
    "xgi": lambda H, _: io.from_xgi(io.to_xgi(H)),
}


@st.composite
def directed(draw):
    n_vertices, n_hyperedges = draw(st.integers(0, 5)), draw(st.integers(0, 4))
    part = st.lists(st.integers(0, max(0, n_vertices - 1)), unique=True, max_size=n_vertices if n_vertices else 0)
    hyperedges = draw(st.lists(st.tuples(part, part), min_size=n_hyperedges, max_size=n_hyperedges))
    weight = draw(st.lists(st.sampled_from([1.0, 0.5, 3.0]), min_size=n_hyperedges, max_size=n_hyperedges))
    return hg.DirectedHypergraph.from_hyperedges(hyperedges, n_vertices, weight=weight)


def made(name):
    hyperedges, n_vertices, weight, centroid = DIRECTED[name]
    return hg.DirectedHypergraph.from_hyperedges(hyperedges, n_vertices, weight, centroid)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [*DIRECTED, "named"])
def test_a_round_trip_loses_nothing(name, way, tmp_path):
    H = NAMED if name == "named" else made(name)
    again = WAYS[way](H, tmp_path)
    assert isinstance(again, hg.DirectedHypergraph)
    if way == "xgi" and name == "named":  # the members of a set have no order
        assert sorted(again.vertex_names) == list("ABCDE")
        assert again.hyperedge_names.tolist() == H.hyperedge_names.tolist()
        assert [
            tuple({again.vertex_names[one] for one in part} for part in pair) for pair in again.to_hyperedges()
        ] == [tuple({H.vertex_names[one] for one in part} for part in pair) for pair in H.to_hyperedges()]
    else:
        assert again.equals(H)


@settings(max_examples=25, deadline=None)
@given(H=directed())
def test_every_directed_hypergraph_survives_hif_networkx_and_scipy(H, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hif")
    for way in (through_hif, WAYS["networkx"], through_scipy):
        assert way(H, folder).equals(H)


def test_hif_says_directed_and_which_way(tmp_path):
    path = tmp_path / "x.json"
    io.write_hif(hg.DirectedHypergraph.from_hyperedges([([0, 1], [1])], n_vertices=2), path)
    document = json.loads(path.read_text())
    assert document["network-type"] == "directed"
    assert [(one["node"], one["direction"]) for one in document["incidences"]] == [
        (0, "tail"),
        (1, "tail"),
        (1, "head"),
    ]


def test_xgi_reads_what_we_write_and_we_read_what_it_writes(tmp_path):
    ours, theirs = tmp_path / "ours.json", tmp_path / "theirs.json"
    io.write_hif(NAMED, ours)
    read = xgi.read_hif(ours)
    assert isinstance(read, xgi.DiHypergraph)
    assert read.edges.dimembers("one") == ({"A", "B"}, {"C"})
    xgi.write_hif(read, theirs)
    again = io.read_hif(theirs)
    place = {name: number for number, name in enumerate(again.vertex_names)}
    tails, heads = again.to_hyperedges()[again.hyperedge_names.tolist().index("one")]
    assert (set(tails), set(heads)) == ({place["A"], place["B"]}, {place["C"]})


def test_tails_send_in_xgi_and_here():
    H = io.from_xgi(xgi.DiHypergraph({"r": ([0, 1], [2])}))
    assert H.to_hyperedges() == [([0, 1], [2])]


@pytest.mark.parametrize("reader", [io.from_xgi, io.from_networkx])
def test_the_direction_may_be_ignored(reader):
    other = {io.from_xgi: io.to_xgi, io.from_networkx: io.to_networkx}[reader](made("overlapping parts"))
    H = reader(other, ignore=("direction",))
    assert isinstance(H, hg.Hypergraph)
    assert H.to_hyperedges() == made("overlapping parts").undirected().to_hyperedges()


def test_attributes_of_directed_incidences_are_read_and_written(tmp_path):
    path, again = tmp_path / "x.json", tmp_path / "again.json"
    path.write_text(
        json.dumps(
            {
                "network-type": "directed",
                "incidences": [
                    {"edge": "e", "node": "b", "direction": "head", "attrs": {"n": 2}, "weight": 0.5},
                    {"edge": "e", "node": "a", "direction": "tail", "attrs": {"n": 1}},
                    {"edge": "e", "node": "b", "direction": "tail"},
                ],
            }
        )
    )
    found = io.read_hif(path, attributes=True)
    assert repr(found).startswith("AttributedHypergraph(2 vertices, 1 hyperedges, 2 tails, 1 heads; incidences: n")
    place = found.hypergraph.vertex_names.tolist()
    assert place == ["b", "a"]
    assert found.incidences == [{}, {"n": 1}, {"n": 2}]  # tails by vertex, then heads
    assert found.incidence_weight.tolist() == [1.0, 1.0, 0.5]
    io.write_hif(found, again)
    assert io.read_hif(again, attributes=True).equals(found)
    for to, back in ((io.to_networkx, io.from_networkx),):
        assert back(to(found), attributes=True).equals(found)
    with pytest.raises(ValueError, match="attributes of incidences"):
        io.to_xgi(found)
    with pytest.raises(ValueError, match="attributes of incidences"):
        io.read_hif(path)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            {"network-type": "directed", "incidences": [{"edge": 0, "node": 0}]},
            r"each incidence of a directed hypergraph must have a 'direction', \"tail\" or \"head\"; incidences\[0\]",
        ),
        (
            {"incidences": [{"edge": 0, "node": 0, "direction": "tail"}, {"edge": 0, "node": 1}]},
            r"incidences\[1\] has none.*ignore=\('direction',\)",
        ),
        (
            {"network-type": "undirected", "incidences": [{"edge": 0, "node": 0, "direction": "tail"}]},
            r"must have no 'direction' if the network type is 'undirected'",
        ),
        (
            {"network-type": "asc", "incidences": [{"edge": 0, "node": 0, "direction": "head"}]},
            r"must have no 'direction' if the network type is 'asc'",
        ),
        (
            {"network-type": "directed", "incidences": [{"edge": 0, "node": 0, "direction": "both"}]},
            r"'direction' of incidences\[0\] must be \"head\" or \"tail\"; got 'both'",
        ),
    ],
)
def test_bad_directions_in_a_file_are_refused(document, message, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message):
        io.read_hif(path)


def test_directions_of_some_incidences_may_be_ignored(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"incidences": [{"edge": 0, "node": 0, "direction": "tail"}, {"edge": 0, "node": 1}]}))
    assert io.read_hif(path, ignore=("direction",)).to_hyperedges() == [[0, 1]]


def test_arcs_of_a_digraph_lead_into_and_out_of_hyperedges():
    graph = io.to_networkx(NAMED)
    assert isinstance(graph, networkx.DiGraph)
    assert set(graph.predecessors(("hyperedge", "one"))) == {("vertex", "A"), ("vertex", "B")}
    assert set(graph.successors(("hyperedge", "one"))) == {("vertex", "C")}


def test_each_arc_becomes_a_hyperedge():
    graph = networkx.DiGraph()
    graph.add_nodes_from("abcd")
    graph.add_edge("a", "b", weight=2.0)
    graph.add_edge("b", "b")
    H = io.from_networkx_arcs(graph)
    assert H.to_hyperedges() == [([0], [1]), ([1], [1])]
    assert H.hyperedge_names.tolist() == [("a", "b"), ("b", "b")]
    assert H.weight.tolist() == [2.0, 1.0]
    assert H.n_vertices == 4


def test_bad_graphs_are_refused():
    with pytest.raises(TypeError, match=r"must be a networkx.DiGraph; got Graph"):
        io.from_networkx_arcs(networkx.Graph([(0, 1)]))
    with pytest.raises(ValueError, match="several from 0 to 1"):
        io.from_networkx_arcs(networkx.MultiDiGraph([(0, 1), (0, 1)]))
    with pytest.raises(ValueError, match=r"attributes of hyperedges \('colour'\)"):
        io.from_networkx_arcs(networkx.DiGraph([(0, 1, {"colour": "red"})]))
    with pytest.raises(ValueError, match="use from_networkx_arcs"):
        io.from_networkx(networkx.DiGraph([(0, 1)]))


@pytest.mark.parametrize("write", [io.to_hypernetx, io.to_pyg, io.to_dhg])
def test_libraries_without_directions_refuse_them(write):
    with pytest.raises(TypeError, match=r"cannot hold tails and heads. Give H.undirected\(\)"):
        write(NAMED)
    with pytest.raises(TypeError, match=r"cannot hold tails and heads"):
        write(io.AttributedHypergraph(NAMED)) if write is io.to_hypernetx else write(made("a path"))


def test_scipy_matrices_of_other_shapes_are_refused():
    tails, weight, _ = io.to_scipy(made("a path"))
    with pytest.raises(ValueError, match=r"heads must have the shape of tails, \(6, 2\)"):
        io.from_scipy(tails, weight, heads=tails[:3])


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_tables_have_a_column_of_roles(ending, tmp_path):
    path = tmp_path / f"x{ending}"
    H = hg.DirectedHypergraph.from_hyperedges(
        [([0, 1], [2]), ([2], [0, 2])], 3, [1.0, 2.0], vertex_names=["A", "B", "C"], hyperedge_names=["p", "q"]
    )
    io.write_incidence_table(H, path)
    again = io.read_incidence_table(path, weight="weight", role="role")
    assert again.to_hyperedges() == [([0, 1], [2]), ([2], [0, 2])]
    assert again.vertex_names.tolist() == ["A", "B", "C"]
    turned = H.reversed()  # whose first vertices are heads
    io.write_incidence_table(turned, path)
    assert io.read_incidence_table(path, weight="weight", role="role").equals(turned)
    assert again.weight.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="has a column 'role': give role='role' to read it"):
        io.read_incidence_table(path, weight="weight")


def test_tables_hold_neither_isolated_vertices_nor_other_roles(tmp_path):
    path = tmp_path / "x.csv"
    with pytest.raises(ValueError, match="cannot hold vertices without a hyperedge"):
        io.write_incidence_table(made("a path"), path)
    path.write_text("vertex,hyperedge,role\na,e,tail\nb,e,sender\n")
    with pytest.raises(ValueError, match="role must be 'tail' or 'head' for each incidence; got 'sender'"):
        io.read_incidence_table(path, role="role")
    path.write_text("vertex,hyperedge,role\na,e,tail\nb,e,\n")
    with pytest.raises(ValueError, match="role"):
        io.read_incidence_table(path, role="role")


def test_edits_of_what_was_read_work(tmp_path):
    H = through_hif(NAMED, tmp_path).remove([0])
    assert H.hyperedge_names.tolist() == ["two", "three", "four"]
    assert np.array_equal(H.weight.numpy(), [2.5, 1.0, 4.0])
