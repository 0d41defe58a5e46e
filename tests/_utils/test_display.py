"""What notebooks show."""

import re

import hypergnn as hg
from hypergnn._utils.display import html_table, markdown_table, text_table
from hypergnn.training import Result, TrialRecord

NAMES = ["<script>", "b & c", "d"]


def cells(html):
    return re.findall(r"<td[^>]*>(.*?)</td>", html)


def test_text_is_never_markup():
    html = html_table("<i>", ["<b>"], [["<script>alert(1)</script>"]])
    assert not re.search(r"<(i|b|script)>", html)
    assert cells(html) == ["&lt;script&gt;alert(1)&lt;/script&gt;"]


def test_a_table_without_rows_is_its_head():
    assert text_table(["a", "b"], []) == "a  b"


def test_a_hypergraph_shows_its_first_hyperedges():
    H = hg.Hypergraph.from_hyperedges(
        [[0, 1], [2]], n_vertices=3, weight=[1.0, 2.5], vertex_names=NAMES, hyperedge_names=["x", "<y>"]
    )
    html = H._repr_html_()
    assert "Hypergraph(3 vertices, 2 hyperedges, 3 incidences, weighted)" in html
    assert cells(html) == ["x", "2", "1.0000", "&lt;script&gt;, b &amp; c", "&lt;y&gt;", "1", "2.5000", "d"]


def test_a_large_hypergraph_shows_a_few():
    html = hg.Hypergraph.from_hyperedges([list(range(50))] * 20, n_vertices=50)._repr_html_()
    assert "the first 5 hyperedges" in html
    assert cells(html)[3] == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …"
    assert len(cells(html)) == 20
    assert hg.Hypergraph.from_hyperedges([], n_vertices=0)._repr_html_().startswith("<table>")
    assert hg.Hypergraph.from_hyperedges([[0]], n_vertices=1).to("meta")._repr_html_().startswith("<table>")


def test_a_dataset_shows_its_sizes_and_how_it_was_made():
    html = hg.datasets.load("digits")._repr_html_()
    assert "10 nearest neighbours of the images" in html
    assert "0 (178), 1 (182)" in html


def test_tables_fit_a_width_by_wrapping_their_cells():
    rows = [["a name of several words", 12.5], ["[b]no markup[/b]", 1]]
    assert text_table(["name", "size"], rows).splitlines() == [
        "name                        size",
        "a name of several words  12.5000",
        "[b]no markup[/b]               1",
    ]
    narrow = text_table(["name", "size"], rows, width=24).splitlines()
    assert max(map(len, narrow)) <= 24
    assert " ".join(line.split()[0] for line in narrow[1:3]) == "a several"


def test_the_same_rows_make_text_markdown_and_html():
    head, rows = ["model", "trials"], [["GCN*", 100], ["a|b", None]]
    assert text_table(head, rows).splitlines()[1:] == ["GCN*      100", "a|b"]
    assert markdown_table(head, rows).splitlines()[2:] == [r"| GCN\* | 100 |", r"| a\|b |  |"]
    assert cells(html_table("", head, rows)) == ["GCN*", "100", "a|b", ""]


def test_a_result_shows_its_trials():
    times = {"epochs": 9, "best_epoch": 3, "seconds": 0.5}
    result = Result([TrialRecord(seed=seed, test_accuracy=80.0, **times) for seed in range(12)], interrupted=False)
    assert cells(result._repr_html_())[:5] == ["0", "9", "3", "0.5000", "80.0000"]
    assert "the first 10" in result._repr_html_()
    assert "no trials" in Result([], interrupted=True)._repr_html_()
