"""No call of a public function ends the process: whatever it gets, it returns or raises.

The calls run in a process of their own, so that a signal is a failure of one test and not the end of all.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROOMS = ["kernels", "functional", "layers", "structures"]


@pytest.mark.parametrize(
    ("backend", "every"),
    [
        pytest.param("numba", 31, marks=pytest.mark.sample),
        pytest.param("numba", 1, marks=pytest.mark.slow),
        pytest.param("torch", 1, marks=pytest.mark.slow),
    ],
)
def test_wrong_arguments_raise_and_never_kill_the_process(backend, every):
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
        "HYPERGNN_BACKEND": backend,
    }
    command = [sys.executable, "-X", "faulthandler", "-m", "support.unsafe_calls", str(every), *ROOMS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    n_calls, n_raised = map(int, done.stdout.split()[-2:])
    assert n_calls > 15_000 / every
    assert n_raised > n_calls / 2
