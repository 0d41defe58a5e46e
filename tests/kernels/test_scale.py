"""Time and memory over large, skewed hypergraphs: building, saving, loading, and steps of training.

No tensor of incidences × features is made, nothing is copied that can be mapped.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="resident memory is read from /proc")

MEDIUM = (200_000, 100_000, 2_000_000)  # vertices, hyperedges, incidences
LARGE = (1_000_000, 500_000, 20_000_000)

MEASURES = """
import sys, time
import numpy as np
import torch
import hypergnn as hg
from hypergnn.models import Config, Network

def resident(what):
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith(what)).split()[1]) * 1024 / 1e9

small = hg.Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
"""

LAYER = f"""
layer_name, heads, file = sys.argv[1], int(sys.argv[2]), sys.argv[3]
H = hg.Hypergraph.from_incidence(*np.load(file), {MEDIUM[0]}, {MEDIUM[1]})
assert H.hyperedge_degree().max() > 50 * {MEDIUM[2]} / {MEDIUM[1]}
x = torch.rand({MEDIUM[0]}, 64, requires_grad=True)
layer = getattr(hg, layer_name)(64, 64 // heads, heads=heads)
layer(torch.rand(2, 64), small).sum().backward()
before = resident("VmRSS")
layer(x, H).sum().backward()
print(resident("VmHWM") - before)
"""

BUILD = f"""
vertex, hyperedge = np.load(sys.argv[1])
before, start = resident("VmRSS"), time.thread_time()
H = hg.Hypergraph.from_incidence(vertex, hyperedge, {LARGE[0]}, {LARGE[1]})
print(time.thread_time() - start, resident("VmHWM") - before)
before = resident("VmHWM")
H.save(sys.argv[2])
assert resident("VmHWM") - before < 0.1
"""

LOAD = """
small.save(sys.argv[1] + ".small")
hg.Hypergraph.load(sys.argv[1] + ".small")
before, start = resident("VmRSS"), time.thread_time()
H = hg.Hypergraph.load(sys.argv[1])
print(time.thread_time() - start, resident("VmRSS") - before)
"""

STEP = """
H = hg.Hypergraph.load(sys.argv[1])
x, y = torch.rand(H.n_vertices, 64), torch.randint(16, (H.n_vertices,))
network = Network(Config(model="hyper-conv", hidden=8, heads=8), 64, 16)
optimizer = torch.optim.Adam(network.parameters())
torch.nn.functional.cross_entropy(network(x, hypergraph=H), y).backward()
optimizer.step()
print(resident("VmHWM"))
"""


def run(program, *arguments):
    """The numbers printed by a program in its own process."""
    command = [sys.executable, "-c", MEASURES + program, *map(str, arguments)]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    print(result.stdout)
    return [float(number) for number in result.stdout.split()]


def draw(path, n_vertices, n_hyperedges, n_incidences):
    """Hyperedge sizes drawn from a Pareto law: the largest holds far more than fifty times the mean."""
    rng = np.random.default_rng(0)
    share = rng.pareto(1.2, n_hyperedges) + 0.05
    sizes = np.minimum(share / share.sum() * n_incidences * 1.2, n_vertices // 4).astype(np.int64) + 1
    keys = np.repeat(np.arange(n_hyperedges) * n_vertices, sizes)
    keys += rng.integers(0, n_vertices, keys.size)
    keys.sort()
    keys = rng.permutation(keys[np.diff(keys, prepend=-1) > 0])[:n_incidences]
    assert keys.size == n_incidences
    hyperedge, vertex = np.divmod(keys, n_vertices)
    np.save(path, np.stack([vertex, hyperedge]))
    return path


@pytest.fixture(scope="module")
def medium(tmp_path_factory):
    return draw(tmp_path_factory.mktemp("medium") / "incidences.npy", *MEDIUM)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The large hypergraph as a file, and the seconds and gigabytes needed to build it."""
    folder = tmp_path_factory.mktemp("large")
    incidences, file = draw(folder / "incidences.npy", *LARGE), folder / "large.safetensors"
    yield file, run(BUILD, incidences, file)
    for path in folder.iterdir():  # half a gigabyte
        path.unlink()


@pytest.mark.slow  # not timing: what its process needs does not depend on others
@pytest.mark.parametrize(
    ("layer", "heads"), [("HypergraphConv", 1), ("HypergraphAttention", 1), ("HypergraphAttention", 8)]
)
def test_one_step_needs_at_most_1200_megabytes_above_its_inputs(layer, heads, medium):
    (gigabytes,) = run(LAYER, layer, heads, medium)
    assert gigabytes < 1.2


@pytest.mark.timing
def test_twenty_million_incidences_are_built_within_15_seconds_and_half_a_gigabyte(built):
    _, (seconds, gigabytes) = built
    assert seconds < 15
    assert gigabytes < 0.5


@pytest.mark.timing
def test_twenty_million_incidences_are_loaded_within_a_second_and_not_read(built):
    file, _ = built
    assert 0.3e9 < file.stat().st_size < 0.35e9
    seconds, gigabytes = run(LOAD, file)
    assert seconds < 1
    assert gigabytes < 0.05


@pytest.mark.timing
def test_one_training_step_over_twenty_million_incidences_stays_below_8_gigabytes(built):
    file, _ = built
    (gigabytes,) = run(STEP, file)
    assert gigabytes < 8
