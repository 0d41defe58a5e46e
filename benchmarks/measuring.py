"""Timing in turns, so that a disturbance of the machine affects all contestants, and the ratios of their times."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

import torch

Clock = Callable[[], float]
Work = Callable[[int], None]
Say = Callable[[str], None]

READINGS = 3
"""How often each number of threads is timed before one is chosen."""
LONG = 2.0
"""Seconds of work after which one timing suffices."""


@dataclass(frozen=True)
class Contestant:
    """A piece of work whose speed is measured."""

    name: str
    work: Work
    """Does the work the given number of times."""
    units: float = 1
    """The amount of work in one call, such as trials or bytes; times are reported per unit."""
    least: int = 1
    """Minimum number of calls between two readings of the clock."""
    threads: int | None = None
    """Number of torch threads; if ``None``, one or all, whichever is faster."""


@dataclass(frozen=True)
class Ready:
    """A warmed-up contestant, with its number of threads and of calls between two readings of the clock."""

    contestant: Contestant
    threads: int
    times: int

    def seconds_per_unit(self, clock: Clock = time.perf_counter) -> float:
        """Do the work and time it."""
        return _timed(self.contestant, self.threads, self.times, clock) / (self.times * self.contestant.units)


@dataclass(frozen=True)
class Spread:
    """Median and quartiles."""

    median: float
    lower: float
    upper: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Median and quartiles of some values.

        Example:
            >>> Spread.of([1.0, 2.0, 3.0, 4.0, 5.0])
            Spread(median=3.0, lower=2.0, upper=4.0)
        """
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        lower, middle, upper = quantiles(values, n=4, method="inclusive")
        return cls(middle, lower, upper)


def prepare(
    contestant: Contestant,
    *,
    seconds: float,
    all_threads: int,
    is_warm: bool = False,
    clock: Clock = time.perf_counter,
) -> Ready:
    """Warm up a contestant, choose its number of threads, and choose how often to repeat its work.

    Args:
        contestant: The contestant.
        seconds: Approximate duration of the work between two readings of the clock.
        all_threads: The maximum number of threads.
        is_warm: Whether it has been warmed up already.
        clock: Returns the time in seconds.
    """
    choices = [contestant.threads] if contestant.threads else sorted({1, all_threads})
    best = dict.fromkeys(choices, float("inf"))
    for threads in () if is_warm else choices:
        _timed(contestant, threads, contestant.least, clock)
    for _ in range(READINGS):
        for threads in choices:  # in turns, so that a disturbance does not decide
            best[threads] = min(best[threads], _timed(contestant, threads, contestant.least, clock))
        if min(best.values()) >= LONG:
            break
    threads = min(best, key=lambda choice: best[choice])
    once = max(best[threads] / contestant.least, 1e-9)
    return Ready(contestant, threads, max(contestant.least, round(seconds / once)))


def interleave(
    ours: Ready, peers: Sequence[Ready], *, repetitions: int, say: Say, clock: Clock = time.perf_counter
) -> dict[str, Any]:
    """Time us, the first peer, us, the second peer, …, and repeat.

    Returns:
        Our number of threads; for each peer its number of threads, and seconds per unit of each pair, ours and theirs.
    """
    pairs: dict[str, dict[str, Any]] = {
        peer.contestant.name: {"threads": peer.threads, "ours": [], "theirs": []} for peer in peers
    }
    for repetition in range(repetitions):
        for peer in peers:
            pair = pairs[peer.contestant.name]
            mine, theirs = ours.seconds_per_unit(clock), peer.seconds_per_unit(clock)
            pair["ours"].append(mine)
            pair["theirs"].append(theirs)
            say(f"{repetition + 1}/{repetitions} {peer.contestant.name}: {theirs:.3g} s / {mine:.3g} s")
    return {"threads": ours.threads, "peers": pairs}


def ratios(pair: dict[str, Any]) -> Spread:
    """The ratio of a peer's time to ours, pair by pair.

    Example:
        >>> ratios({"ours": [1.0, 2.0, 2.0], "theirs": [3.0, 8.0, 10.0]})
        Spread(median=4.0, lower=3.5, upper=4.5)
    """
    return Spread.of([theirs / ours for ours, theirs in zip(pair["ours"], pair["theirs"], strict=True)])


def _timed(contestant: Contestant, threads: int, times: int, clock: Clock) -> float:
    torch.set_num_threads(threads)
    gc.collect(1)  # garbage of the previous contestant; a full collection would take longer than some work
    start = clock()
    contestant.work(times)
    return clock() - start
