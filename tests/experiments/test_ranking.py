"""Tests of Ours against each system, and ranks with the critical difference."""

from dataclasses import replace
from math import sqrt

import numpy as np
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


PAIR = Table(
    "systems",
    "Systems",
    (
        *TABLE.cells,
        *(replace(one, name=f"wine/{one.row}", column="Wine", dataset="wine") for one in TABLE.cells),
    ),
)


def on_both(wine, digits=WHOLE):
    """Results of the table on digits, and on wine with these accuracies by row, which may lack some."""
    runs = {
        one.run: [
            TrialRecord(seed=seed, epochs=0, best_epoch=0, seconds=2.0, test_accuracy=value)
            for seed, value in enumerate(wine[one.row])
        ]
        for one in PAIR.cells
        if one.dataset == "wine" and one.row in wine
    }
    return Results({**digits.runs, **runs}, {})


WINE = {"Ours": [90.0, 91.0], "Tiny": [92.0, 93.0], "Slow": [90.4], "Nearest centroid": [80.0]}


def test_ranks_by_hand():
    ranking = ranking_of(PAIR, on_both(WINE))
    blocks = [[83.425, 80.4, 83.4667, 82.0], [90.5, 92.5, 90.4, 80.0]]  # means of Ours, Tiny, Slow and the centroid
    assert ranking.ranks == {"Ours": 2.0, "Slow": 2.0, "Tiny": 2.5, "Nearest centroid": 3.5}
    assert ranking.p == pytest.approx(stats.friedmanchisquare(*zip(*blocks, strict=True)).pvalue)
    assert ranking.datasets == ("digits", "Wine")
    assert ranking.critical == critical_difference(4, 2)
    assert ranking_of(TABLE, WHOLE) is None, "one dataset is too few"
    assert ranking_of(PAIR, on_both(WINE), datasets=["wine"]) is None
    assert ranking_of(PAIR, on_both({"Ours": [90.0], "Tiny": [91.0]})) is None, (
        "two cannot be ranked by Friedman's test"
    )
    assert ranking_of(PAIR, on_both({name: [80.0] for name in WINE if name != "Ours"})) is None, "without Ours"
    one_value = measured(ours=[80.0], tiny=[80.0], slow=[80.0], centroid=[80.0])
    equal = ranking_of(PAIR, on_both({name: [80.0] for name in WINE}, one_value))
    assert (equal.p, set(equal.ranks.values())) == (1.0, {2.5})


@pytest.mark.slow
def test_more_trials_on_a_split_do_not_make_ranks_differ():
    """They are no further blocks: they say nothing about how systems do on other data."""
    more = measured(ours=OURS * 25, tiny=TINY * 25, slow=SLOW * 25, centroid=[82.0])
    few, many = ranking_of(PAIR, on_both(WINE)), ranking_of(PAIR, on_both(WINE, more))
    assert (many.p, many.critical, list(many.ranks)) == (few.p, few.critical, list(few.ranks))
    rng, rejected = np.random.default_rng(0), 0
    for _ in range(60):  # on each dataset another one is better by chance, in all of its trials
        on_one, on_other = rng.normal(80, 3, (2, 4, 1)) + rng.normal(0, 0.5, (2, 4, 20))
        digits = measured(**dict(zip(("ours", "tiny", "slow", "centroid"), on_one.tolist(), strict=True)))
        rejected += ranking_of(PAIR, on_both(dict(zip(WINE, on_other.tolist(), strict=True)), digits)).p < 0.05
    assert rejected <= 6


def test_rows_that_lack_a_dataset_are_left_out():
    ranking = ranking_of(PAIR, on_both({name: own for name, own in WINE.items() if name != "Nearest centroid"}))
    assert set(ranking.ranks) == {"Ours", "Tiny", "Slow"}
    assert ranking.left_out == ("Nearest centroid",)
    assert "not measured on all of them: Nearest centroid." in ranking_text.ranking_words(ranking)


@pytest.mark.parametrize(("systems", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_critical_differences_are_those_of_the_published_table(systems, q):
    assert critical_difference(systems, 30) == pytest.approx(q * sqrt(systems * (systems + 1) / 180), abs=1e-3)


def test_groups_are_the_largest_sets_within_the_critical_difference():
    ranks_of = {"A": 1.0, "B": 1.5, "C": 2.2, "D": 4.0, "E": 6.0}
    ranking = Ranking(ranks_of, ("x", "y"), 0.0, 1.0, ())
    assert ranking.groups == [("A", "B"), ("B", "C")]
    assert Ranking(ranks_of, ("x", "y"), 0.0, 9.0, ()).groups == [tuple(ranks_of)]


def test_costs_tests_and_ranks_in_words():
    costs, tests, order = parts_of(PAIR, on_both(WINE))
    assert costs.rows[:4] == [
        ("Tiny", "digits", "80.40", "2", "20"),
        ("Slow", "digits", "83.47", "2", "20"),
        ("Nearest centroid", "digits", "82.00", "4", "20"),
        ("Ours", "digits", "83.42", "2", "–"),
    ]
    assert [row[-1] for row in tests.rows[:3]] == ["better", "no significant difference", "better"]
    assert [row[0] for row in order.rows] == ["Slow", "Ours", "Tiny", "Nearest centroid"]
    assert {row[-1] for row in order.rows} == {"a"}
    assert "Mean ranks over 2 datasets (digits, Wine) by the mean accuracy on each; 1 is the best." in order.words
    assert "2 datasets can hardly separate 4 systems." in order.words
    assert cost_of(TABLE.cells[0], Results({}, {})) is None
    text = ranking_text.as_text(PAIR, on_both(WINE))
    assert "seconds of a trial" in text
    assert "mean rank" in text
    assert len(list(parts_of(TABLE, WHOLE))) == 2, "one dataset gives no ranks"
    assert list(parts_of(TABLE, measured(ours=OURS))) == [], "no system was measured"


def test_systems_are_on_the_page_and_in_the_documentation(tmp_path, monkeypatch):
    results = on_both(WINE)
    found = view(PAIR, results)
    assert [chart.name for chart in found.charts] == [
        "systems-digits",
        "systems-Wine",
        "systems-time-digits",
        "systems-time-Wine",
        "systems-ranks",
    ]
    assert [part.caption for part in found.parts] == [
        "Time and memory",
        "Ours against each system",
        "Ranks over all datasets",
    ]
    centroid = next(row for row in found.rows if row.label == "Nearest centroid").cells[0]
    assert centroid.lines == ("one trial: deterministic", "4 s, 20 MB")
    page, _ = page_of_results(results, tmp_path, [PAIR])
    assert "systems" in [table.name for table in page.tables]
    monkeypatch.setitem(BEYOND, "systems", PAIR)
    text = results_page(results)
    assert "| Nearest centroid | digits | 82.00 | 1, deterministic |" in text
    assert "| Ours against |" in text
    assert "| Slow | 2.00 | a |" in text


def test_the_drawings_name_every_system():
    points = [(f"System {number}", 0.01 * 4**number, 80.0 + number % 3) for number in range(9)]
    drawing = accuracy_by_time(points).inline("time")
    assert all(name in drawing for name, _, _ in points)
    assert accuracy_by_time([("A", 0.0, 80.0), ("B", 0.0, 80.0)]).inline("time").count("<circle") == 2
    diagram = ranks(ranking_of(PAIR, on_both(WINE))).figure("Ranks", "", 600)
    assert all(name in diagram for name in ("Ours 2.00", "Slow 2.00", "Nearest centroid 3.50", "Tiny 2.50"))
    assert "critical difference" in diagram
    assert charts_of_systems(TABLE, measured(ours=OURS)) == []
