"""How far it is from a layer to the loops: few files, so that the way can be read."""

import sys
import threading
from pathlib import Path

import pytest
import torch

import hypergnn as hg

MOST = 12
"""Files of the steady state: a layer and a hypergraph that have met before, as in every epoch but the first."""
MOST_AT_FIRST = 17
"""Files of the first pass over a hypergraph, which also checks its pairs and computes the factors that are cached."""
ROOT = str(Path(hg.__file__).parent)


def files_of_a_pass(layer, x, H):
    files = set()

    def note(frame, *_):
        if frame.f_code.co_filename.startswith(ROOT):
            files.add(frame.f_code.co_filename.removeprefix(ROOT))

    before = sys.gettrace()
    sys.settrace(note)
    threading.settrace(note)
    try:
        layer(x, H).sum().backward()
    finally:
        sys.settrace(before)
        threading.settrace(None)
    return files


def test_a_convolution_and_its_gradient_run_through_few_files(monkeypatch):
    pytest.importorskip("numba", reason="the way to the compiled loops")
    monkeypatch.setattr("hypergnn.kernels.dispatch.wanted", "numba")
    known, fresh = (
        hg.Hypergraph.from_hyperedges([[0, 1, 2], last], n_vertices=4, weight=[1.0, 3.0])
        for last in ([1, 2, 3], [2, 3])
    )
    layer, x = hg.HypergraphConv(8, 2), torch.rand(4, 8, requires_grad=True)
    layer(x, known).sum().backward()  # loads and compiles
    steady, first = files_of_a_pass(layer, x, known), files_of_a_pass(layer, x, fresh)
    assert 0 < len(steady) <= MOST, sorted(steady)
    assert 0 < len(first) <= MOST_AT_FIRST, sorted(first)
    assert files_of_a_pass(layer, x, fresh) == steady
