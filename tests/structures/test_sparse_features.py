"""Sparse features are made without torch's remark that sparse tensors are in beta."""

import subprocess
import sys
import warnings

import pytest
import torch

import hypergnn.structures.sparse_features as module

SILENTLY = """
import threading, warnings
import numpy as np
from scipy import sparse
import hypergnn as hg
H = hg.Hypergraph.from_hyperedges([[0, 1, 2]], n_vertices=3)
x = sparse.csr_array(np.eye(3, dtype=np.float32))
data = hg.Dataset(
    name="three", x=x, y=np.array([0, 1, 1]), hypergraph=H, graph=None, class_names=("a", "b"), train=[0], val=[1],
    test=[2], source="here",
)
warnings.simplefilter("error")
before = list(warnings.filters)
threads = [threading.Thread(target=data.features) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert data.features().layout == hg.functional.dropout(data.features(), 0.5).layout
assert warnings.filters == before
"""


@pytest.mark.slow
def test_features_warn_nobody_and_change_no_filter():
    done = subprocess.run([sys.executable, "-c", SILENTLY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_filters_are_touched_once_in_a_process(monkeypatch):
    parts = (torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1), (1, 1))
    module.csr_tensor(*parts)
    monkeypatch.setattr(warnings, "catch_warnings", lambda: 1 / 0)
    assert module.csr_tensor(*parts).to_dense().tolist() == [[1.0]]
