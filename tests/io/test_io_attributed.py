"""Attributes, weights and metadata beside a hypergraph: what HIF files and other libraries say is kept and written."""

import json
from itertools import combinations
from pathlib import Path

import hypernetx
import networkx
import numpy as np
import pytest
import torch
import xgi
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generated import by_name

from hypergnn import Hypergraph, functional, io

RED = {"nodes": [{"node": "a", "weight": 2, "attrs": {"colour": "red", "tags": [1, None]}}]}


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("hif") / "hypergraph.json"


def read(path: Path, document: dict, **options: object):
    path.write_text(json.dumps(document))
    return io.read_hif(path, **options)


# What the schema of HIF 0.1 allows: ids are text or whole numbers, records may repeat, attributes are any JSON.
IDS = st.integers(-3, 6) | st.sampled_from(["a", "b", "7", ""])
NUMBERS = st.integers(-5, 5) | st.floats(-1e6, 1e6)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
ATTRS = st.dictionaries(st.sampled_from(["colour", "weight", "centroid", "", "é"]), JSON, max_size=3)


def positive_weight(record: dict) -> dict:
    """A hypergraph needs positive weights of hyperedges: no number in ``attrs`` may take their place."""
    attrs = {key: value for key, value in record.get("attrs", {}).items() if key != "weight" or "weight" in record}
    return record | ({"attrs": attrs} if "attrs" in record else {})


def records(weight=NUMBERS, **ids):
    return st.fixed_dictionaries(ids, optional={"weight": weight, "attrs": ATTRS})


DOCUMENTS = st.fixed_dictionaries(
    {"incidences": st.lists(records(edge=IDS, node=IDS), max_size=6)},
    optional={
        "nodes": st.lists(records(node=IDS), max_size=5),
        "edges": st.lists(records(edge=IDS, weight=st.floats(1e-3, 1e3)).map(positive_weight), max_size=5),
        "network-type": st.sampled_from(["undirected", "asc"]),
        "metadata": st.dictionaries(st.text(max_size=3), JSON, max_size=3),
    },
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*contradicts itself")
@settings(deadline=None, max_examples=200)
@given(DOCUMENTS)
def test_every_document_is_read_and_written_back_without_a_loss(path, document):
    attributed = read(path, document, attributes=True)
    io.write_hif(attributed, path)
    again = io.read_hif(path, attributes=True)
    assert again.equals(attributed)
    assert again.metadata == document.get("metadata", {})
    assert json.loads(path.read_text())["network-type"] == document.get("network-type", "undirected")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*contradicts itself")
@settings(deadline=None, max_examples=100)
@given(DOCUMENTS)
def test_every_attribute_of_the_last_record_is_in_its_row(path, document):
    attributed = read(path, document, attributes=True)
    names = attributed.hypergraph.vertex_names
    numbers = {name: number for number, name in enumerate(range(10**6) if names is None else names.tolist())}
    for record in {record["node"]: record for record in document.get("nodes", [])}.values():
        row = attributed.vertices[numbers[record["node"]]]
        for key, value in record.get("attrs", {}).items():
            if key != "weight":
                assert row[key] == value
        if "weight" in record:
            weights = attributed.vertex_weight
            assert (1.0 if weights is None else float(weights[numbers[record["node"]]])) == record["weight"]


def test_rows_follow_the_numbers_of_the_hypergraph_whatever_the_order_of_the_file(path):
    attributed = read(
        path,
        {
            "incidences": [
                {"edge": 1, "node": 2, "weight": 0.5},
                {"edge": 0, "node": 0, "attrs": {"role": "host"}},
                {"edge": 0, "node": 2, "weight": 3},
            ],
            "nodes": [{"node": 2, "weight": 7}, {"node": 0, "attrs": {"colour": "red"}}, {"node": 1}],
            "edges": [{"edge": 1, "weight": 4, "attrs": {"year": 1999}}],
        },
        attributes=True,
    )
    H = attributed.hypergraph
    assert (H.vertex.tolist(), H.hyperedge.tolist(), H.weight.tolist()) == ([0, 2, 2], [0, 0, 1], [1.0, 4.0])
    assert attributed.vertices == [{"colour": "red"}, {}, {}]
    assert attributed.hyperedges == [{}, {"year": 1999}]
    assert attributed.incidences == [{"role": "host"}, {}, {}]
    assert attributed.vertex_weight.tolist() == [1.0, 1.0, 7.0]
    assert attributed.incidence_weight.tolist() == [1.0, 3.0, 0.5]


def test_incidence_weights_can_be_given_to_the_attended_convolution(path):
    cells = [{"edge": 0, "node": 0, "weight": 0.5}, {"edge": 0, "node": 1}]
    attributed = read(path, {"incidences": cells}, attributes=True)
    x, incidence = torch.tensor([[[2.0]], [[4.0]]], dtype=torch.double), attributed.incidence_weight.unsqueeze(-1)
    out = functional.hypergraph_attention(x, attributed.hypergraph, incidence, normalization="row")
    torch.testing.assert_close(out.flatten(), torch.full((2,), (0.5 * 2 + 4) / 1.5, dtype=torch.double))


def test_repeated_records_are_merged_and_the_last_one_counts_with_a_warning(path):
    nodes = [
        {"node": "a", "weight": 2, "attrs": {"colour": "red", "size": 1}},
        {"node": "a", "attrs": {"colour": "blue"}},
        {"node": "b", "attrs": {"size": 5}},
        {"node": "b", "weight": 3, "attrs": {"colour": "red"}},
    ]
    with pytest.warns(UserWarning, match=r"contradicts itself: it lists node 'a' again.*The last ones are used"):
        attributed = read(path, {"incidences": [], "nodes": nodes}, attributes=True)
    assert attributed.vertices == [{"colour": "blue", "size": 1}, {"size": 5, "colour": "red"}]
    assert attributed.vertex_weight.tolist() == [2.0, 3.0]


def test_the_warning_counts_the_contradictions(path):
    cells = [{"edge": "e", "node": name, "weight": weight} for weight in (1, 2) for name in "ab"]
    with pytest.warns(UserWarning, match=r"lists incidence \('a', 'e'\) again with other values \(and 1 more\)"):
        read(path, {"incidences": cells}, attributes=True)


def test_a_weight_and_another_one_among_the_attributes_are_both_kept(path):
    edges = [{"edge": "e", "weight": 2, "attrs": {"weight": 3}}, {"edge": "f", "attrs": {"weight": "heavy"}}]
    attributed = read(path, {"incidences": [], "edges": edges}, attributes=True)
    assert attributed.hypergraph.weight.tolist() == [2.0, 1.0]
    assert attributed.hyperedges == [{"weight": 3}, {"weight": "heavy"}]
    with pytest.raises(ValueError, match=r"hyperedge 'e' must have one weight; it has weight 2\.0 and an attribute"):
        io.to_xgi(attributed)


def test_a_true_centroid_is_not_vertex_one(path):
    document = {"incidences": [{"edge": 0, "node": 0}, {"edge": 0, "node": 1}]}
    attributed = read(path, document | {"edges": [{"edge": 0, "attrs": {"centroid": True}}]}, attributes=True)
    assert attributed.hypergraph.centroid is None
    assert attributed.hyperedges == [{"centroid": True}]


def test_direction_may_be_ignored_with_attributes_too(path):
    cells = [{"edge": "e", "node": "a", "direction": side} for side in ("head", "tail")]
    assert read(path, {"incidences": cells}, attributes=True).hypergraph.to_hyperedges() == [([0], [0])]
    attributed = read(path, {"incidences": cells, **RED}, attributes=True, ignore=("direction",))
    assert attributed.vertices == [{"colour": "red", "tags": [1, None]}]


def test_a_plain_read_says_how_to_get_the_attributes(path):
    with pytest.raises(ValueError, match=r"or attributes=True to read it into tables"):
        read(path, {"incidences": [], **RED})


def test_a_vertex_weight_must_be_finite(path):
    path.write_text('{"incidences": [], "nodes": [{"node": 0, "weight": 1e999}]}')
    with pytest.raises(ValueError, match="vertex_weight must be finite; got inf"):
        io.read_hif(path, attributes=True)


TETRAHEDRON = {
    "network-type": "asc",
    "incidences": [{"edge": "T", "node": node} for node in "abcd"] + [{"edge": "ab", "node": node} for node in "ab"],
    "edges": [{"edge": "ab", "weight": 2, "attrs": {"length": 5}}, {"edge": "nothing"}],
    "nodes": [{"node": "z"}],
}


def test_all_faces_of_a_complex_become_hyperedges_on_request(path):
    H = read(path, TETRAHEDRON, simplices="all", ignore=("attrs",))
    vertices, hyperedges = by_name(H)
    faces = [frozenset(face) for size in (2, 3, 4) for face in combinations("abcd", size)]
    assert vertices[0] == "z"
    assert sorted(map(sorted, (members for _, _, members in hyperedges.values()))) == sorted(map(sorted, [[], *faces]))
    assert hyperedges["ab"] == (2.0, None, {"a", "b"})
    assert hyperedges["T"][2] == set("abcd")


def test_only_maximal_simplices_become_hyperedges_on_request(path):
    assert by_name(read(path, TETRAHEDRON, simplices="maximal"))[1] == {"T": (1.0, None, set("abcd"))}
    lone = {"network-type": "asc", "incidences": [], "edges": [{"edge": "nothing"}]}
    assert read(path, lone, simplices="maximal").n_hyperedges == 1


def test_equal_simplices_are_not_faces_of_each_other(path):
    twice = {"network-type": "asc", "incidences": [{"edge": edge, "node": 0} for edge in "ef"]}
    assert read(path, twice, simplices="maximal").n_hyperedges == 2


def test_a_complex_stays_one_and_its_listed_simplices_are_read_unless_asked_otherwise(path):
    listed = read(path, TETRAHEDRON, attributes=True)
    assert listed.is_complex
    assert listed.hypergraph.n_hyperedges == 3
    every = read(path, TETRAHEDRON, attributes=True, simplices="all")
    assert {"length": 5} in every.hyperedges
    io.write_hif(every, path)
    assert json.loads(path.read_text())["network-type"] == "asc"
    with pytest.raises(ValueError, match=r"simplicial complex.*ignore=\('asc',\)"):
        io.to_xgi(every)


def test_numbered_simplices_stay_numbers(path):
    document = {"network-type": "asc", "incidences": [{"edge": 0, "node": node} for node in range(3)]}
    H = read(path, document, simplices="all")
    assert H.hyperedge_names is None
    assert H.to_hyperedges() == [[0, 1, 2], [0, 1], [0, 2], [1, 2]]


def test_a_complex_with_too_many_faces_is_refused(path):
    document = {"network-type": "asc", "incidences": [{"edge": 0, "node": node} for node in range(40)]}
    with pytest.raises(ValueError, match=r"at most 2,000,000 faces.*Use simplices=\"maximal\""):
        read(path, document, simplices="all")
    assert read(path, document, simplices="maximal").n_incidences == 40


def test_simplices_need_a_complex_and_a_known_word(path):
    with pytest.raises(ValueError, match="simplices='all' needs a simplicial complex"):
        read(path, {"incidences": []}, simplices="all")
    with pytest.raises(ValueError, match="simplices must be one of 'all', 'maximal'; got 'some'"):
        read(path, {"incidences": [], "network-type": "asc"}, simplices="some")


def attributed(**changes: object) -> io.AttributedHypergraph:
    H = Hypergraph.from_incidence(
        [0, 1, 1], [0, 0, 1], 2, 2, [2.0, 0.5], vertex_names=["a", "b"], hyperedge_names=["x", "y"]
    )
    given = {
        "vertices": [{"colour": "red"}, {}],
        "hyperedges": [{}, {"year": 1999}],
        "vertex_weight": [1.0, 2.5],
        "metadata": {"name": "small"},
    }
    return io.AttributedHypergraph(H, **(given | changes))


CELLS = {"incidences": [{"role": "host"}, {}, {}], "incidence_weight": [1.0, 0.25, 1.0]}


@pytest.mark.parametrize(
    ("write", "read_back", "changes"),
    [
        (io.to_networkx, io.from_networkx, CELLS),
        (io.to_xgi, io.from_xgi, {}),
        (io.to_hypernetx, io.from_hypernetx, CELLS),
    ],
)
def test_libraries_hold_attributes_and_weights(write, read_back, changes):
    one = attributed(**changes)
    other = read_back(write(one), attributes=True)
    assert (other.vertices, other.hyperedges, other.metadata) == (one.vertices, one.hyperedges, one.metadata)
    assert other.incidences == one.incidences
    assert other.vertex_weight.tolist() == [1.0, 2.5]
    assert str(other.incidence_weight) == str(one.incidence_weight)
    assert by_name(other.hypergraph) == by_name(one.hypergraph)


def test_xgi_cannot_hold_what_incidences_have():
    with pytest.raises(ValueError, match=r"Give ignore=\('incidence_weights', 'attrs'\)"):
        io.to_xgi(attributed(**CELLS))
    assert io.to_xgi(attributed(**CELLS), ignore=("incidence_weights", "attrs")).num_edges == 2


def test_hypernetx_holds_a_name_and_no_other_metadata():
    with pytest.raises(ValueError, match=r"metadata \('year'\). Give ignore=\('metadata',\)"):
        io.to_hypernetx(attributed(metadata={"name": "small", "year": 1999}))


def test_complexes_of_xgi_become_hyperedges_on_request():
    complex_ = xgi.SimplicialComplex([[1, 2, 3], [3, 4]])
    sizes = [sorted(map(len, io.from_xgi(complex_, simplices=which).to_hyperedges())) for which in ("all", "maximal")]
    assert sizes == [[2, 2, 2, 2, 3], [2, 3]]


def test_networkx_marks_its_sides_itself():
    with pytest.raises(ValueError, match="must not be called 'bipartite'"):
        io.to_networkx(attributed(vertices=[{"bipartite": 1}, {}]))


@pytest.mark.parametrize(
    ("value", "shown"), [((1, 2), "tuple"), (float("nan"), "nan"), ({1: 2}, "dict"), (np.ones(2), "ndarray")]
)
def test_attributes_that_json_cannot_hold_are_refused_by_name(path, value, shown):
    with pytest.raises(ValueError, match=rf"(?s)attributes of 'a' must be text, finite numbers.*{shown}"):
        io.write_hif(attributed(vertices=[{"size": value}, {}]), path)


def test_numpy_numbers_are_written_as_numbers(path):
    io.write_hif(attributed(vertices=[{"size": np.float32(0.5)}, {"size": np.int8(3)}]), path)
    assert io.read_hif(path, attributes=True).vertices == [{"size": 0.5}, {"size": 3}]


def test_the_repr_names_sizes_and_attributes():
    assert repr(attributed(is_complex=True, **CELLS)) == (
        "AttributedHypergraph(2 vertices, 2 hyperedges, 3 incidences, weighted; vertices: colour, weight; "
        "hyperedges: year; incidences: role, weight; metadata: name; simplicial complex)"
    )


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"vertices": [{}]}, ValueError, "vertices must have 2 rows"),
        ({"vertices": "ab"}, TypeError, "vertices must be a list of dictionaries; got str"),
        ({"hyperedges": [{}, 3]}, TypeError, r"hyperedges\[1\] must be a dictionary; got int"),
        ({"incidences": [{}, {}, {1: 2}]}, TypeError, r"incidences\[2\] must have text as keys; got 1"),
        ({"vertex_weight": [1.0]}, ValueError, r"vertex_weight must have shape \(2,\); got \(1,\)"),
        ({"vertex_weight": ["a", "b"]}, ValueError, "vertex_weight must hold 2 numbers"),
        ({"incidence_weight": [1, 2, np.inf]}, ValueError, "incidence_weight must be finite; got inf"),
        (
            {"hyperedges": [{"centroid": "a"}, {}]},
            ValueError,
            r"hyperedges\[0\] must not have the attribute 'centroid'",
        ),
    ],
)
def test_tables_must_fit_the_hypergraph(changes, error, message):
    with pytest.raises(error, match=message):
        attributed(**changes)


def test_equality_sees_every_part():
    one = attributed(**CELLS)
    assert one.equals(attributed(**CELLS))
    for other in (
        attributed(**CELLS, vertices=[{}, {}]),
        attributed(**CELLS, vertices=[{"colour": "red"}, {"tall": True}]),
        attributed(**CELLS, vertex_weight=None),
        attributed(**CELLS, metadata={}),
        attributed(**CELLS, is_complex=True),
        attributed(),
        one.hypergraph,
    ):
        assert not one.equals(other)
    assert not attributed(metadata={"on": 1}).equals(attributed(metadata={"on": True}))


def test_a_table_is_copied():
    rows = [{"colour": "red"}, {}]
    one = attributed(vertices=rows)
    rows[0]["colour"] = "blue"
    assert one.vertices[0] == {"colour": "red"}


def test_libraries_without_attributes_still_convert():
    assert isinstance(io.from_networkx(networkx.Graph(), attributes=True), io.AttributedHypergraph)
    assert io.from_hypernetx(hypernetx.Hypergraph({"e": ["v"]}), attributes=True).vertices == [{}]
