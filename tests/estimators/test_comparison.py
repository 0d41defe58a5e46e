"""Classifiers compared on random splits."""

from dataclasses import replace

import pytest

import hypergnn as hg
from hypergnn.estimators import comparison
from hypergnn.estimators.comparison import choices, compare
from hypergnn.models import KINDS


@pytest.mark.parametrize("name", ["hyper-conv", "gcn", "nearest-neighbours", "gradient-boosting", "random-forest"])
def test_memberships_are_features_too(name, monkeypatch):
    quick = hg.Config(max_epochs=2, hidden=2, heads=1)
    monkeypatch.setattr("hypergnn.estimators.comparison.paper_config", lambda _, model: replace(quick, model=model))
    orders = {
        "who": [*range(12), *range(12)],
        "what": [place % 2 for place in range(12)] + [2 + place for place in range(12)],
    }
    data = hg.datasets.from_tables(incidences=orders, labels={"who": [*range(12)], "label": ["a", "b"] * 6})
    (found,) = compare(data, [name], splits=1)
    assert 0 <= found.accuracy[0] <= 100


def test_models_must_be_different():
    data = hg.datasets.load("digits")
    with pytest.raises(ValueError, match="models must be different"):
        compare(data, ["mlp", "mlp"])
    assert set(KINDS) < set(choices())


def test_hyperedges_that_follow_features_ignore_directions(monkeypatch):
    seen = []

    def accuracy(_, data, *__):
        seen.append(type(data.hypergraph))
        return 50.0

    monkeypatch.setattr(comparison, "_accuracy", accuracy)
    compare(hg.datasets.load("arrows"), ["hyper-conv", "dynamic-hyper-conv"], splits=1)
    assert seen == [hg.DirectedHypergraph, hg.Hypergraph]


def test_the_training_of_a_network_ends_when_its_time_is_over(monkeypatch):
    long = hg.Config(max_epochs=100_000, patience=100_000, hidden=2, heads=1)
    monkeypatch.setattr("hypergnn.estimators.comparison.paper_config", lambda _, model: replace(long, model=model))
    orders = {"who": [*range(12)], "what": [place % 2 for place in range(12)]}
    data = hg.datasets.from_tables(incidences=orders, labels={"who": [*range(12)], "label": ["a", "b"] * 6})
    (found,) = compare(data, ["hyper-conv"], splits=1, max_time=0.2)
    assert 0 <= found.accuracy[0] <= 100


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hypergraph-classifier", "hyper-conv"])
def test_there_may_be_no_limit_of_time(name, monkeypatch):
    quick = hg.Config(max_epochs=2, hidden=2, heads=1)
    monkeypatch.setattr("hypergnn.estimators.comparison.paper_config", lambda _, model: replace(quick, model=model))
    orders = {"who": [*range(12)], "what": [place % 2 for place in range(12)]}
    data = hg.datasets.from_tables(incidences=orders, labels={"who": [*range(12)], "label": ["a", "b"] * 6})
    (found,) = compare(data, [name], splits=1, max_time=None)
    assert 0 <= found.accuracy[0] <= 100
    with pytest.raises(ValueError, match="max_time must be"):
        compare(data, [name], splits=1, max_time=-1)
