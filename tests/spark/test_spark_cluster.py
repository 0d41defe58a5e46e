"""A real standalone cluster, a master and two workers on loopback: the result is right even if a worker is killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import spark as sparks

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
import numpy as np, torch, hypergnn as hg
from support import spark as sparks

address, folder = sys.argv[1:]
session = sparks.session(address, **{
    "spark.executor.memory": "512m", "spark.cores.max": "2", "spark.local.dir": folder,
    "spark.shuffle.io.maxRetries": "1", "spark.shuffle.io.retryWait": "1s",  # nobody answers at a killed worker
})
rng = np.random.default_rng(0)
dense = rng.random((60, 30)) < 0.15
dense[:40, 4] = True
local = hg.Hypergraph.from_incidence(*np.nonzero(dense), 60, 30)
rows = np.argwhere(dense).tolist()
x = rng.random((60, 3))
features = session.createDataFrame([(n, row.tolist()) for n, row in enumerate(x)], "vertex long, x array<double>")
H = hg.spark.Hypergraph(session.createDataFrame(rows, "vertex long, hyperedge long"), n_blocks=4)
result = H.propagate(features, "symmetric", steps=2)
count = session._jsc.sc().getExecutorMemoryStatus().size()
print("executors", count - 1, flush=True)
sys.stdin.readline()
found = np.array([row["x"] for row in sorted(result.collect(), key=lambda row: row["vertex"])])
expected = torch.from_numpy(x)
for _ in range(2):
    expected = hg.functional.hypergraph_conv(expected, local)
torch.testing.assert_close(torch.from_numpy(found), expected)
print("right", flush=True)
session.stop()
"""


def test_a_worker_killed_in_the_middle_does_not_change_the_result(tmp_path):
    sparks.require()
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join([str(tests.parent / "src"), str(tests), os.environ.get("PYTHONPATH", "")])
    with sparks.cluster(tmp_path) as (address, workers):
        driver = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, address, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": paths},
        )
        try:
            said = driver.stdout.readline()  # the first sums are stored by both executors
            sparks.kill(workers[0])
            out, err = driver.communicate("\n", timeout=300)
        finally:
            driver.kill()
            driver.wait()
    assert said == "executors 2\n", said + err
    assert out == "right\n", err
