"""The stopwatch of time limits leaves out the compilation of kernels."""

import pytest
from numba.core import event

from hypergnn.kernels import dispatch
from hypergnn.kernels.stopwatch import stopwatch


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand, in place of those of the stopwatch and of numba."""
    now = [100.0]
    monkeypatch.setattr("hypergnn.kernels.stopwatch.time.perf_counter", lambda: now[0])
    monkeypatch.setattr(event, "timer", lambda: now[0])
    return now


def test_compiling_does_not_count_and_is_told_once(clock):
    told = []
    with stopwatch(lambda: told.append("compiling")) as watch:
        clock[0] += 2
        for _ in range(2):
            with event.trigger_event("numba:compiler_lock"), event.trigger_event("numba:compile"):
                clock[0] += 30
        clock[0] += 1
        assert watch.worked() == 3
        assert watch.compiling == 60
    assert told == ["compiling"]
    with event.trigger_event("numba:compiler_lock"):
        clock[0] += 5
    assert watch.compiling == 60


def test_without_compiled_kernels_all_seconds_count(clock):
    with dispatch.using("torch"), stopwatch() as watch:
        clock[0] += 2
        assert (watch.worked(), watch.compiling) == (2, 0)
