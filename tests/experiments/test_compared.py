"""Classifiers ranked over random splits."""

import numpy as np
import pytest
from scipy import stats

from hypergnn.experiments.comparison import ranked
from hypergnn.report.comparison import as_rows

THREE = {"b": [80.0, 84.0, 79.0, 82.0], "a": [85.0, 88.0, 86.0, 85.0], "c": [85.0, 87.0, 84.0, 85.0]}


def test_the_best_comes_first_and_the_others_are_tested_against_it():
    found = ranked(THREE, test_to_train=0.25)
    assert [one.name for one in found] == ["a", "c", "b"]
    assert found[0].behind == 0
    assert found[0].p is None
    assert found[2].behind == pytest.approx(np.mean(THREE["a"]) - np.mean(THREE["b"]))


def test_without_overlap_the_tests_are_paired_t_tests_with_holms_adjustment():
    _, c, b = ranked(THREE, test_to_train=0.0)
    raw = {name: stats.ttest_rel(THREE["a"], THREE[name], alternative="greater").pvalue for name in "bc"}
    assert raw["b"] < raw["c"]
    assert b.p == pytest.approx(2 * raw["b"])
    assert c.p == pytest.approx(max(raw["c"], 2 * raw["b"]))


def test_intervals_and_tests_take_the_overlap_of_splits_into_account():
    apart, overlapping = (ranked(THREE, test_to_train=share) for share in (0.0, 0.25))
    low, high = stats.t.interval(0.95, 3, np.mean(THREE["a"]), stats.sem(THREE["a"]))
    assert apart[0].summary.interval == pytest.approx((low, high))
    widths = [np.diff(found[0].summary.interval)[0] for found in (apart, overlapping)]
    assert widths[1] / widths[0] == pytest.approx(np.sqrt((1 / 4 + 0.25) / (1 / 4)))
    assert overlapping[2].p > apart[2].p


def test_equal_and_constant_results():
    same, other = ranked({"a": [80.0, 81.0], "b": [80.0, 81.0]}, 0.25)
    assert (same.p, other.p, other.behind) == (None, None, 0.0)
    _, worse = ranked({"a": [81.2, 82.3], "b": [80.1, 81.2]}, 0.25)
    assert worse.p is None, "two equal distances do not show how much distances vary"
    assert as_rows(ranked({"a": [81.0, 82.0], "b": [80.0, 81.0]}, 0.25))[1][-1] == "–"
    alone, single = ranked({"a": [81.0], "b": [80.0]}, 0.25)
    assert (alone.summary.interval, single.p) == (None, None)


def test_intervals_stay_within_possible_accuracies():
    (high,) = ranked({"a": [100.0, 97.0]}, 0.25)
    (low,) = ranked({"a": [1.0, 3.0]}, 0.25)
    assert (high.summary.interval[1], low.summary.interval[0]) == (100.0, 0.0)


@pytest.mark.parametrize("accuracy", [{}, {"a": []}, {"a": [1.0], "b": [1.0, 2.0]}])
def test_splits_must_be_the_same(accuracy):
    with pytest.raises(ValueError, match="the same splits for each classifier"):
        ranked(accuracy, 0.25)
