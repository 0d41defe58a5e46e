"""Memory of one forward and backward pass over a large, skewed hypergraph: no tensor of incidences × features."""

import os
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.timing

N_VERTICES, N_HYPEREDGES, N_INCIDENCES = 200_000, 100_000, 2_000_000

PROGRAM = f"""
import sys
import numpy as np
import torch
import hypergnn as hg

def resident(what):
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith(what)).split()[1]) * 1024 / 1e9

layer_name, heads, file = sys.argv[1], int(sys.argv[2]), sys.argv[3]
vertex, hyperedge = np.load(file)
H = hg.Hypergraph.from_incidence(vertex, hyperedge, {N_VERTICES}, {N_HYPEREDGES})
assert H.hyperedge_degree().max() > 50 * {N_INCIDENCES} / {N_HYPEREDGES}
x = torch.rand({N_VERTICES}, 64, requires_grad=True)
layer = getattr(hg, layer_name)(64, 64 // heads, heads=heads)
layer(torch.rand(2, 64), hg.Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)).sum().backward()
before = resident("VmRSS")
layer(x, H).sum().backward()
print(resident("VmHWM") - before)
"""


@pytest.fixture(scope="module")
def incidences(tmp_path_factory):
    """Hyperedge sizes drawn from a Pareto law: the largest holds far more than fifty times the mean."""
    rng = np.random.default_rng(0)
    popularity = rng.pareto(1.2, N_HYPEREDGES) + 0.05
    hyperedge = rng.choice(N_HYPEREDGES, size=2 * N_INCIDENCES, p=popularity / popularity.sum())
    pairs = np.unique(hyperedge * N_VERTICES + rng.integers(0, N_VERTICES, hyperedge.size))
    hyperedge, vertex = np.divmod(rng.permutation(pairs)[:N_INCIDENCES], N_VERTICES)
    file = tmp_path_factory.mktemp("scale") / "incidences.npy"
    np.save(file, np.stack([vertex, hyperedge]))
    return file


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="resident memory is read from /proc")
@pytest.mark.parametrize(
    ("layer", "heads"), [("HypergraphConv", 1), ("HypergraphAttention", 1), ("HypergraphAttention", 8)]
)
def test_one_step_needs_at_most_1200_megabytes_above_its_inputs(layer, heads, incidences):
    command = [sys.executable, "-c", PROGRAM, layer, str(heads), str(incidences)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    print(result.stdout)
    assert float(result.stdout) < 1.2
