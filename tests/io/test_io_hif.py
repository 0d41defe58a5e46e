import json
import re
from pathlib import Path

import hypernetx
import hypernetx.hif
import numpy as np
import pytest
import xgi
from hypothesis import given, settings
from support.generated import by_name, hypergraphs

from hypergnn import DirectedHypergraph, Hypergraph, io


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("hif") / "hypergraph.json"


def document(path: Path, **fields: object) -> Path:
    path.write_text(json.dumps({"incidences": [{"edge": "e", "node": "a"}]} | fields))
    return path


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(H=hypergraphs())
def test_a_file_preserves_everything(path, H):
    io.write_hif(H, path)
    assert io.read_hif(path).equals(H)


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(H=hypergraphs())
def test_xgi_reads_all_of_our_files_and_we_theirs(path, H):
    io.write_hif(H, path)
    theirs = xgi.read_hif(path)
    same_but_for_order(io.from_xgi(theirs), H)
    xgi.write_hif(theirs, path)
    same_but_for_order(io.read_hif(path), H)


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(H=hypergraphs(isolated=False, empty=False).filter(lambda H: H.n_incidences))
def test_hypernetx_reads_all_of_our_files_and_we_theirs(path, H):
    with pytest.MonkeyPatch.context() as patch:
        # HyperNetX would download the schema; this one allows everything. The rules are tested below.
        patch.setattr(hypernetx.hif.requests, "get", lambda _: type("Response", (), {"text": "{}"}))
        io.write_hif(H, path)
        theirs = hypernetx.from_hif(hif=json.loads(path.read_text()))
        same_but_for_order(io.from_hypernetx(theirs), H)
        path.write_text(json.dumps(hypernetx.to_hif(theirs)))
        same_but_for_order(io.read_hif(path), H)


def same_but_for_order(one: Hypergraph, other: Hypergraph) -> None:
    (vertices, hyperedges), (other_vertices, other_hyperedges) = by_name(one), by_name(other)
    assert set(vertices) == set(other_vertices)
    assert hyperedges == other_hyperedges


def test_a_file_follows_the_format(path):
    H = Hypergraph.from_incidence([1], [0], 2, 2, [2.0, 1.0], centroid=[1, -1], vertex_names=["a", "b"])
    io.write_hif(H, path)
    assert json.loads(path.read_text()) == {
        "network-type": "undirected",
        "nodes": [{"node": "a"}, {"node": "b"}],
        "edges": [
            {"edge": 0, "weight": 2.0, "attrs": {"weight": 2.0, "centroid": "b"}},
            {"edge": 1, "weight": 1.0, "attrs": {"weight": 1.0}},
        ],
        "incidences": [{"edge": 0, "node": "b"}],
    }


def test_listing_vertices_and_hyperedges_is_optional_and_text_is_not_a_number(path):
    H = io.read_hif(
        document(path, incidences=[{"edge": 5.0, "node": "1"}, {"edge": 5, "node": 1}], nodes=[{"node": 7}])
    )
    assert by_name(H) == ([7, "1", 1], {5: (1.0, None, {"1", 1})})


BROKEN = {
    "incidences[0] must have 'node'": {"incidences": [{"edge": 1}]},
    "'node' of incidences[0] must be a string or an integer; got True": {"incidences": [{"edge": 1, "node": True}]},
    "'edge' of edges[0] must be a string or an integer; got 1.5": {"edges": [{"edge": 1.5}]},
    "'edge' of edges[0] must be a string or an integer; got inf": {"edges": [{"edge": float("1e999")}]},
    "nodes[1] must have 'node'; got nothing": {"nodes": [{"node": "b"}, {}]},
    "nodes[0] must be an object; got 'b'": {"nodes": ["b"]},
    "nodes[0] must have only 'node', 'weight', 'attrs'; got 'colour'": {"nodes": [{"node": "b", "colour": "red"}]},
    "the document must have only": {"vertices": []},
    "'nodes' of the document must be an array": {"nodes": {}},
    "'metadata' of the document must be an object": {"metadata": []},
    "'network-type' of the document must be": {"network-type": "graph"},
    "'direction' of incidences[0] must be": {"incidences": [{"edge": 1, "node": 1, "direction": "in"}]},
    "'weight' of edges[0] must be a number; got '2'": {"edges": [{"edge": "e", "weight": "2"}]},
    "'attrs' of edges[0] must be an object": {"edges": [{"edge": "e", "attrs": []}]},
    "a Hypergraph cannot hold attributes of hyperedges ('weight')": {
        "edges": [{"edge": "e", "weight": 2, "attrs": {"weight": 3}}]
    },
    "weight must be positive": {"edges": [{"edge": "e", "weight": 0}]},
    "the weight of a hyperedge must be a finite number": {"edges": [{"edge": "e", "weight": 10**400}]},
}


@pytest.mark.parametrize("message", BROKEN)
def test_a_file_that_breaks_a_rule_is_refused_with_its_name_and_the_rule(path, message):
    text = json.dumps({"incidences": [{"edge": "e", "node": "a"}]} | BROKEN[message]).replace("Infinity", "1e999")
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"cannot read {path} as HIF: {message}")):
        io.read_hif(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"incidences": [', "\xff"])
def test_a_file_that_is_not_a_document_is_refused_by_name(path, text):
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=re.escape(f"cannot read {path} as HIF")):
        io.read_hif(path)


def test_a_repeated_key_is_refused(path):
    path.write_text('{"incidences": [{"edge": 1, "node": 2, "node": 3}]}')
    with pytest.raises(ValueError, match="each key once; 'node' occurs 2 times"):
        io.read_hif(path)


def test_vertices_hyperedges_and_incidences_may_be_listed_twice(path):
    document(
        path,
        nodes=[{"node": 42}, {"node": 42}],
        edges=[{"edge": "e", "weight": 3}, {"edge": "e"}],
        incidences=[{"edge": "e", "node": 42}] * 2,
    )
    assert by_name(io.read_hif(path)) == ([42], {"e": (3.0, None, {42})})


def test_integers_of_any_size_stay_integers(path):
    ids = [2**63 + 1, -1]
    H = io.read_hif(document(path, incidences=[{"edge": "e", "node": one} for one in ids]))
    assert H.vertex_names.tolist() == ids


def test_numbers_that_json_lacks_are_refused(path):
    path.write_text('{"incidences": [], "metadata": {"x": NaN}}')
    with pytest.raises(ValueError, match="JSON has no NaN"):
        io.read_hif(path, ignore=("metadata",))


def test_a_missing_file_raises_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        io.read_hif(tmp_path / "nothing.json")


LOSSES = {
    "asc": {"network-type": "asc"},
    "vertex_weights": {"nodes": [{"node": "a", "weight": 2}]},
    "incidence_weights": {"incidences": [{"edge": "e", "node": "a", "weight": 0.5}]},
    "attrs": {"nodes": [{"node": "a", "attrs": {"colour": "red"}}]},
    "metadata": {"metadata": {"name": "mine"}},
}


@pytest.mark.parametrize("word", LOSSES)
def test_what_a_hypergraph_cannot_hold_is_refused_unless_ignored(path, word):
    document(path, **LOSSES[word])
    with pytest.raises(ValueError, match=re.escape(f"Give ignore=('{word}',)")):
        io.read_hif(path)
    assert by_name(io.read_hif(path, ignore=(word,))) == (["a"], {"e": (1.0, None, {"a"})})


def test_a_directed_network_is_directed_even_without_heads_and_tails(path):
    assert isinstance(io.read_hif(document(path, **{"network-type": "directed", "incidences": []})), DirectedHypergraph)


def test_names_that_are_neither_text_nor_integers_are_refused_unless_ignored(path):
    H = Hypergraph.from_incidence([0], [0], 1, 1, vertex_names=[0.5])
    with pytest.raises(ValueError, match=r"names such as 0\.5"):
        io.write_hif(H, path)
    io.write_hif(H, path, ignore=("names",))
    assert io.read_hif(path).equals(Hypergraph.from_incidence([0], [0], 1, 1))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "hypergraph.json"
    H = Hypergraph.from_hyperedges([[0]], 1)
    io.write_hif(H, path)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        io.write_hif(Hypergraph.from_hyperedges([[0], [0]], 1), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_numpy_numbers_are_names_like_any_other(path):
    names = np.fromiter([np.int64(7), "a"], dtype=object, count=2)
    io.write_hif(Hypergraph.from_incidence([0], [0], 2, 1, vertex_names=names), path)
    assert io.read_hif(path).vertex_names.tolist() == [7, "a"]
