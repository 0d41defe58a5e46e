"""The comparison of classifiers evaluates what it states, and its page is generated from its results."""

import copy
import json

import numpy as np
import pytest

from benchmarks import estimators, practice_cases, practice_report


@pytest.fixture(scope="module")
def results():
    return json.loads(estimators.RESULTS.read_text())


@pytest.fixture(scope="module")
def practice():
    return json.loads(practice_report.RESULTS.read_text())


def test_the_page_is_generated_from_the_results(results, practice):
    assert estimators.PAGE.read_text() == estimators.page(results, practice)


def test_the_summary_of_practice_follows_the_results(practice):
    changed = copy.deepcopy(practice)
    for cells in changed["found"].values():
        for seed in cells[practice_report.OURS]:
            seed["accuracy"] = 0.0
    sections = practice_report.sections(changed)
    assert "ranks 8 of 8" in sections["practice_summary"]
    assert sections["practice_table"] != practice_report.sections(practice)["practice_table"]


def test_half_of_the_cases_are_aside_and_all_were_measured(practice):
    names = [case.name for case in practice_cases.CASES]
    aside = practice_cases.put_aside()
    assert len(set(names)) == len(names) >= 16
    assert abs(len(aside) - len(names) / 2) <= 2
    assert {case.kind for case in practice_cases.CASES if case.name in aside} == {
        case.kind for case in practice_cases.CASES
    }
    assert set(practice["found"]) == set(practice["kinds"])


def test_known_labels_leave_every_class_known_and_hidden():
    y = np.repeat([0, 1, 2], [4, 30, 200])
    known = practice_cases.known_labels(y, 0.05, seed=1)
    assert np.bincount(y[known]).tolist() == [2, 2, 10]
    assert (known == practice_cases.known_labels(y, 0.05, seed=1)).all()
    assert np.bincount(y[practice_cases.known_labels(y, 9, seed=1)]).tolist() == [3, 9, 9]


def test_the_page_changes_with_the_results(results, practice):
    changed = copy.deepcopy(results)
    for by_labels in changed["found"]["random forest"].values():
        for cell in by_labels.values():
            cell["accuracy"] = [100.0] * results["splits"]
    text = estimators.page(changed, practice)
    assert "| random forest | **100.0 ± 0.0** |" in text
    assert 'HypergraphClassifier("hyper-conv") ranks 2 of' in text
    assert "is the best in 0 of 9 columns" in text


def test_all_classifiers_were_measured_on_all_datasets(results):
    names = {name for name, _, _ in estimators.contestants(np.eye(4))}
    assert set(results["found"]) == names
    for by_dataset in results["found"].values():
        assert list(by_dataset) == list(estimators.DATASETS)
        for by_labels in by_dataset.values():
            assert list(by_labels) == [str(number) for number in estimators.LABELS]
            assert all(len(cell["accuracy"]) == estimators.SPLITS for cell in by_labels.values())


def test_labels_have_the_requested_number_and_depend_on_the_seed_alone():
    y = np.repeat([0, 1, 2], 30)
    few = estimators.few_labels(y, 5, seed=7)
    assert [int((few == one).sum()) for one in (-1, 0, 1, 2)] == [75, 5, 5, 5]
    assert (few == y)[few >= 0].all()
    assert (few == estimators.few_labels(y, 5, seed=7)).all()
    assert (few != estimators.few_labels(y, 5, seed=8)).any()


def test_only_hidden_rows_are_evaluated_and_their_labels_are_not_seen():
    y, few = np.array([0, 0, 1, 1]), np.array([0, -1, 1, -1])
    seen = []

    class Spy:
        transduction_ = np.array([1, 0, 0, 0])  # wrong where the label is known

        def fit(self, X, y):
            seen.append((len(X), y.tolist()))
            return self

        def predict(self, X):
            return np.ones(len(X), dtype=int)

    X = np.zeros((4, 2))
    assert estimators.judge(estimators.OURS, X, y, few, lambda _: Spy(), 0)[0] == 50.0
    assert estimators.judge("kNN classifier; standardised", X, y, few, lambda _: Spy(), 0)[0] == 50.0
    assert seen == [(4, [0, -1, 1, -1]), (2, [0, 1])]
