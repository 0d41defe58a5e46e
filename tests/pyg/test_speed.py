"""A model for Cora is several times as fast after its imports were changed."""

import time

import pytest
import torch
from torch_geometric.nn import HypergraphConv as PyGHypergraphConv

import hypergnn as hg
from benchmarks.from_pyg import training
from hypergnn.pyg import HypergraphConv, dropout

pytestmark = pytest.mark.timing


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_a_ported_model_trains_eight_times_as_fast():
    data = hg.datasets.load("cora")
    theirs = training(data, PyGHypergraphConv, torch.nn.functional.dropout, "convolution")
    ours = training(data, HypergraphConv, dropout, "convolution")
    best = {theirs: float("inf"), ours: float("inf")}
    for _ in range(6):
        for work in best:
            start = time.process_time()
            work(3)
            best[work] = min(best[work], time.process_time() - start)
    assert best[theirs] > 8 * best[ours], best
