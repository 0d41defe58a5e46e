"""Tests of Ours against each system, and ranks with the critical difference."""

from math import sqrt

import pytest
from scipy import stats
from support.own_systems import Centroid, Slow, Tiny
from support.tables import cell

from hypergnn.experiments import ranking_text
from hypergnn.experiments.beyond import BEYOND
from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.markdown import results_page
from hypergnn.experiments.ranking import Ranking, against, cost_of, critical_difference, ranking_of
from hypergnn.experiments.ranking_text import parts_of
from hypergnn.experiments.results import Results
from hypergnn.experiments.statistics import two_sided
from hypergnn.report.reproductions import page_of_results
from hypergnn.report.systems import accuracy_by_time, charts_of_systems, ranks
from hypergnn.report.tables import view
from hypergnn.training import TrialRecord

OURS = [83.0, 83.5, 84.0, 83.2]
TINY = [80.0, 80.5, 81.0, 80.1]
SLOW = [83.1, 83.4, 83.9]


def of(system):
    return Cell("systems", f"digits/{system.title}", system.title, "digits", "digits", None, None, system=system)


TABLE = Table(
    "systems",
    "Systems",
    (
        of(Tiny()),
        of(Slow()),
        of(Centroid()),
        Cell("systems", "digits/ours", "Ours", "digits", "digits", cell("net").config, None),
    ),
)


def measured(**accuracies):
    """Results of the table with these accuracies."""
    titles = {"tiny": "Tiny", "slow": "Slow", "centroid": "Nearest centroid", "ours": "ours"}
    runs = {}
    for name, values in accuracies.items():
        cost = {} if name == "ours" else {"cpu_seconds": 0.5 * len(name), "peak_megabytes": 20.0}
        runs[TABLE.cell(f"digits/{titles[name]}").run] = [
            TrialRecord(seed=seed, epochs=0, best_epoch=0, seconds=2.0, test_accuracy=value, **cost)
            for seed, value in enumerate(values)
        ]
    return Results(runs, {})


WHOLE = measured(ours=OURS, tiny=TINY, slow=SLOW, centroid=[82.0])


def test_ours_is_tested_against_each_with_holms_adjustment():
    found = {one.other.row: one for one in against(TABLE, WHOLE)}
    raw = {
        "Tiny": stats.ttest_ind(OURS, TINY, equal_var=False).pvalue,
        "Slow": stats.ttest_ind(OURS, SLOW, equal_var=False).pvalue,
        "Nearest centroid": stats.ttest_1samp(OURS, 82.0).pvalue,
    }
    assert sorted(raw, key=raw.get) == ["Tiny", "Nearest centroid", "Slow"]
    assert found["Tiny"].p == pytest.approx(3 * raw["Tiny"])
    assert found["Nearest centroid"].p == pytest.approx(2 * raw["Nearest centroid"])
    assert found["Slow"].p == pytest.approx(raw["Slow"])
    assert [one.words for one in found.values()] == ["better", "no significant difference", "better"]
    assert found["Tiny"].difference == pytest.approx(83.425 - 80.4)


def test_too_few_trials_are_not_tested():
    few = measured(ours=[83.0, 84.0], tiny=[80.0])
    (only,) = against(TABLE, few)
    assert (only.p, only.words) == (None, "not tested")
    assert against(TABLE, measured(tiny=TINY)) == [], "there is nothing to compare with"
    assert two_sided([80.0], [81.0]) is None
    assert two_sided([80.0, 80.0], [81.0]) is None


def test_ranks_by_hand():
    ranking = ranking_of(TABLE, WHOLE)
    assert ranking.n_blocks == 3, "the seeds that all have"
    blocks = [[83.0, 80.0, 83.1, 82.0], [83.5, 80.5, 83.4, 82.0], [84.0, 81.0, 83.9, 82.0]]
    assert ranking.ranks == {
        "Ours": pytest.approx(4 / 3),
        "Slow": pytest.approx(5 / 3),
        "Nearest centroid": 3.0,
        "Tiny": 4.0,
    }
    assert ranking.p == pytest.approx(stats.friedmanchisquare(*zip(*blocks, strict=True)).pvalue)
    assert ranking.datasets == ("digits",)
    assert ranking.critical == critical_difference(4, 3)
    assert ranking.critical_of_datasets == pytest.approx(ranking.critical * sqrt(3))
    assert ranking_of(TABLE, measured(ours=OURS, tiny=TINY)) is None, "two cannot be ranked by Friedman's test"
    assert ranking_of(TABLE, measured(ours=[80.0], tiny=[81.0], slow=[82.0])) is None, "one block is too few"
    assert ranking_of(TABLE, measured(slow=SLOW, tiny=TINY, centroid=[1.0])) is None, "without Ours"
    assert ranking_of(TABLE, WHOLE, datasets=["cora"]) is None
    equal = ranking_of(TABLE, measured(ours=[80.0] * 3, tiny=[80.0] * 3, slow=[80.0] * 3))
    assert (equal.p, set(equal.ranks.values())) == (1.0, {2.0})


def test_rows_that_lack_a_dataset_are_left_out():
    far = Cell("systems", "cora/ours", "Ours", "Cora", "cora", cell("far").config, None)
    others = [Cell("systems", f"cora/{one.title}", one.title, "Cora", "cora", None, None, system=one) for one in KINDS]
    table = Table("systems", "Systems", (*TABLE.cells, far, *others))
    runs = {one.run: WHOLE.trials(TABLE.cell("digits/Tiny")) for one in (far, *others)}
    ranking = ranking_of(table, Results({**WHOLE.runs, **runs}, {}))
    assert set(ranking.ranks) == {"Ours", "Tiny", "Slow"}
    assert ranking.left_out == ("Nearest centroid",)
    assert ranking.n_blocks == 3 + 4
    assert "not measured on all of them: Nearest centroid." in ranking_text.ranking_words(ranking)


KINDS = (Tiny(), Slow())


@pytest.mark.parametrize(("systems", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_critical_differences_are_those_of_the_published_table(systems, q):
    assert critical_difference(systems, 30) == pytest.approx(q * sqrt(systems * (systems + 1) / 180), abs=1e-3)


def test_groups_are_the_largest_sets_within_the_critical_difference():
    ranks_of = {"A": 1.0, "B": 1.5, "C": 2.2, "D": 4.0, "E": 6.0}
    ranking = Ranking(ranks_of, ("x",), 20, 0.0, 1.0, 9.0, ())
    assert ranking.groups == [("A", "B"), ("B", "C")]
    assert Ranking(ranks_of, ("x",), 20, 0.0, 9.0, 9.0, ()).groups == [tuple(ranks_of)]


def test_costs_tests_and_ranks_in_words():
    costs, tests, order = parts_of(TABLE, WHOLE)
    assert costs[2] == [
        ("Tiny", "digits", "80.40", "2", "20"),
        ("Slow", "digits", "83.47", "2", "20"),
        ("Nearest centroid", "digits", "82.00", "4", "20"),
        ("Ours", "digits", "83.42", "2", "–"),
    ]
    assert [row[-1] for row in tests[2]] == ["better", "no significant difference", "better"]
    assert [row[0] for row in order[2]] == ["Ours", "Slow", "Nearest centroid", "Tiny"]
    assert {row[-1] for row in order[2]} == {"a"}
    assert "Mean ranks over 3 blocks, a seed on a dataset each (digits); 1 is the best." in order[0]
    assert cost_of(TABLE.cells[0], Results({}, {})) is None
    text = ranking_text.as_text(TABLE, WHOLE)
    assert "seconds of a trial" in text
    assert "critical difference" in text
    assert list(parts_of(TABLE, measured(ours=OURS))) == [], "no system was measured"


def test_systems_are_on_the_page_and_in_the_documentation(tmp_path, monkeypatch):
    found = view(TABLE, WHOLE)
    assert [chart.name for chart in found.charts] == ["systems-digits", "systems-time-digits", "systems-ranks"]
    assert [part.caption for part in found.parts] == [
        "Time and memory",
        "Ours against each system",
        "Ranks over all datasets",
    ]
    centroid = next(row for row in found.rows if row.label == "Nearest centroid").cells[0]
    assert centroid.lines == ("one trial: deterministic", "4 s, 20 MB")
    page, _ = page_of_results(WHOLE, tmp_path, [TABLE])
    assert "systems" in [table.name for table in page.tables]
    monkeypatch.setitem(BEYOND, "systems", TABLE)
    text = results_page(WHOLE)
    assert "| Nearest centroid | digits | 82.00 | 1, deterministic |" in text
    assert "| Ours against |" in text
    assert "| Slow | 1.67 | a |" in text


def test_the_drawings_name_every_system():
    points = [(f"System {number}", 0.01 * 4**number, 80.0 + number % 3) for number in range(9)]
    drawing = accuracy_by_time(points).inline("time")
    assert all(name in drawing for name, _, _ in points)
    assert accuracy_by_time([("A", 0.0, 80.0), ("B", 0.0, 80.0)]).inline("time").count("<circle") == 2
    diagram = ranks(ranking_of(TABLE, WHOLE)).figure("Ranks", "", 600)
    assert all(name in diagram for name in ("Ours 1.33", "Slow 1.67", "Nearest centroid 3.00", "Tiny 4.00"))
    assert "critical difference" in diagram
    assert charts_of_systems(TABLE, measured(ours=OURS)) == []
