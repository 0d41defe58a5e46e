"""Datasets whose hyperedges point."""

import numpy as np
import pytest
from support.real_data import load

from hypergnn import Config, DirectedHypergraph, datasets
from hypergnn.training import fit


@pytest.mark.slow
@pytest.mark.parametrize(
    ("direction", "is_told"), [("undirected", False), ("forward", True), ("backward", True), ("both", True)]
)
def test_only_the_direction_tells_the_classes_of_arrows_apart(direction, is_told):
    result = fit(datasets.load("arrows"), Config(direction=direction, depth=1, max_epochs=150), trials=2, jobs=1)
    accuracies = [record.test_accuracy for record in result.records]
    assert min(accuracies) > 95 if is_told else max(accuracies) < 60


def test_an_undirected_network_trains_on_hyperedges_that_do_not_point():
    data = datasets.load("digits")
    records = [
        fit(data, Config(direction=d, max_epochs=3), trials=1, jobs=1).records for d in ("undirected", "forward")
    ]
    assert records[0][0].test_accuracy == records[1][0].test_accuracy


def test_reversing_arrows_exchanges_the_classes():
    data = datasets.load("arrows")
    colour = data.x[:, 1].astype(int)
    for tail, head in data.hypergraph.to_hyperedges():
        assert {*data.y[head]} == {*colour[tail]}
        assert {*data.y[tail]} == {1 - one for one in colour[head]}


def test_an_article_sends_to_those_that_cite_it():
    directed, plain = load("cora-directed"), load("cora")
    assert isinstance(directed.hypergraph, DirectedHypergraph)
    assert np.array_equal(directed.y, plain.y)
    tails, heads = directed.hypergraph.to_scipy()
    assert (tails != tails.T).nnz == 0  # each article is the tail of its own hyperedge
    cites = (heads - tails).tocoo()
    assert cites.nnz == 5429  # as many citations as LINQS lists
    assert directed.hypergraph.undirected().to_hyperedges()[0][0] == 0
