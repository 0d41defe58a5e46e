"""Training leaves the process of a user as it was: nothing that the whole process shares changes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


# What the memory allocator was asked for cannot be read back, so the functions that would change it must not be called.
ALLOCATOR = {"mallopt", "malloc_trim", "malloc_set_state", "mallctl"}


WORKS = ["estimator", "regressor", "sampled", "one worker", "two workers", "lost worker"]


@pytest.fixture(scope="module")
def changes():
    """What each work changes, in a process that loads all libraries once."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "support.process_state", *WORKS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(WORKS, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("work", WORKS)
def test_nothing_that_a_process_shares_changes(changes, work):
    found = changes[work]
    assert found["changed"] == []
    assert not ALLOCATOR & set(found["looked up"])
