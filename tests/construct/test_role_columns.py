"""Tables whose rows say whether a vertex is in the tail or in the head of a hyperedge."""

import pandas as pd
import pytest

import hypergnn as hg
from hypergnn import construct

MAIL = {
    "who": ["ann", "bob", "eve", "ann", "ann"],
    "letter": ["p", "p", "p", "q", "q"],
    "part": ["tail", "head", "head", "tail", "head"],
    "pages": [2.0, 2.0, 2.0, 1.0, 1.0],
}


@pytest.mark.parametrize("kind", [dict, pd.DataFrame])
def test_tails_send_and_heads_receive(kind):
    H = construct.from_table(kind(MAIL), vertex="who", hyperedge="letter", role="part", weight="pages")
    assert isinstance(H, hg.DirectedHypergraph)
    assert H.to_hyperedges() == [([0], [1, 2]), ([0], [0])]
    assert H.vertex_names.tolist() == ["ann", "bob", "eve"]
    assert H.weight.tolist() == [2.0, 1.0]


def test_repeated_rows_count_once_in_each_part():
    table = {"who": ["ann", "ann", "ann"], "letter": [7, 7, 7], "part": ["tail", "tail", "head"]}
    assert construct.from_table(table, vertex="who", hyperedge="letter", role="part").to_hyperedges() == [([0], [0])]
    with pytest.raises(ValueError, match="row 1 repeats that 'ann' is in 7"):
        construct.from_table(table, vertex="who", hyperedge="letter", role="part", duplicates="error")
    both = {name: column[1:] for name, column in table.items()}
    construct.from_table(both, vertex="who", hyperedge="letter", role="part", duplicates="error")


def test_several_columns_of_hyperedges_share_the_roles():
    table = {"who": ["ann", "bob"], "letter": ["p", "p"], "day": ["Mon", None], "part": ["tail", "head"]}
    H = construct.from_table(table, vertex="who", hyperedge=["letter", "day"], role="part")
    assert H.to_hyperedges() == [([0], [1]), ([0], [])]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (["tail", "sender"], r"column 'part' must hold 'tail' or 'head' in each row; got 'sender'"),
        (["tail", None], r"column 'part' must hold 'tail' or 'head' in each row; row 1 has nothing"),
        ([1, 2], r"must hold 'tail' or 'head' in each row; got"),
    ],
)
def test_other_roles_are_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        construct.from_table({"v": [0, 1], "e": [0, 0], "part": parts}, vertex="v", hyperedge="e", role="part")


def test_a_dataset_of_own_tables_may_point():
    people = {"who": ["ann", "bob", "eve"], "age": [1.0, 2.0, 3.0]}
    tables = {"incidences": MAIL, "features": people, "vertex": "who", "hyperedge": "letter"}
    data = hg.datasets.from_tables(**tables, role="part")
    assert data.hypergraph.to_hyperedges() == [([0], [1, 2]), ([0], [0])]
    assert isinstance(hg.datasets.from_tables(**tables).hypergraph, hg.Hypergraph)
    with pytest.raises(ValueError, match="role must name a column; got 'role'"):
        hg.datasets.from_tables(**tables, role="role")
