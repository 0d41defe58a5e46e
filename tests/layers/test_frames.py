"""How far it is from a layer to the loops: few files, so that the way can be read."""

import sys
import threading
from pathlib import Path

import pytest
import torch

import hypergnn as hg
from hypergnn.kernels import dispatch

MOST = 12
ROOT = str(Path(hg.__file__).parent)


@pytest.mark.skipif(not dispatch.is_compiled("cpu", torch.float32), reason="the way to the compiled loops")
def test_a_convolution_and_its_gradient_run_through_few_files():
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4, weight=[1.0, 3.0])
    layer, x = hg.HypergraphConv(8, 2), torch.rand(4, 8, requires_grad=True)
    layer(x, H).sum().backward()  # loads and compiles
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
    assert 0 < len(files) <= MOST, sorted(files)
