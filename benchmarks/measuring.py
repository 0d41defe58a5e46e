"""Contestants timed in turn, so that whatever disturbs the machine disturbs all of them, and their ratios."""

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

LONG = 2.0  # seconds of work whose noise is small enough to choose threads by


@dataclass(frozen=True)
class Contestant:
    """Something whose speed is measured."""

    name: str
    work: Work
    """Does the work as many times as it is told."""
    units: float = 1
    """What the work amounts to when it is done once: trials, bytes; times are given per unit."""
    least: int = 1
    """How often the work is done at least between two readings of the clock."""
    threads: int | None = None
    """Threads of torch; the faster of one and all if ``None``."""


@dataclass(frozen=True)
class Ready:
    """A contestant that is warm, with its number of threads and the amount of work between two readings."""

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
    """Warm a contestant up, choose its threads, and let it work long enough that the clock is no matter.

    Args:
        contestant: Who.
        seconds: How long the work between two readings shall last, about.
        all_threads: How many threads "all" are.
        is_warm: Whether it has worked before, so that this needs no time.
        clock: Tells the time in seconds.
    """
    choices = [contestant.threads] if contestant.threads else sorted({1, all_threads})
    best: dict[int, float] = {}
    for threads in choices:
        if not is_warm:
            _timed(contestant, threads, contestant.least, clock)
        best[threads] = _timed(contestant, threads, contestant.least, clock)
        if best[threads] < LONG:
            best[threads] = min(best[threads], _timed(contestant, threads, contestant.least, clock))
    threads = min(best, key=lambda choice: best[choice])
    once = max(best[threads] / contestant.least, 1e-9)
    return Ready(contestant, threads, max(contestant.least, round(seconds / once)))


def interleave(
    ours: Ready, peers: Sequence[Ready], *, repetitions: int, say: Say, clock: Clock = time.perf_counter
) -> dict[str, Any]:
    """Time us, the first peer, us, the second peer, …, and all that again for each repetition.

    Returns:
        For us and for each peer the threads; for each peer the seconds per unit of each pair, ours and theirs.
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
    """How many times as long a peer took as we did, pair by pair.

    Example:
        >>> ratios({"ours": [1.0, 2.0, 2.0], "theirs": [3.0, 8.0, 10.0]})
        Spread(median=4.0, lower=3.5, upper=4.5)
    """
    return Spread.of([theirs / ours for ours, theirs in zip(pair["ours"], pair["theirs"], strict=True)])


def _timed(contestant: Contestant, threads: int, times: int, clock: Clock) -> float:
    torch.set_num_threads(threads)
    gc.collect(1)  # the garbage of whoever worked before; older objects would take longer than some of the work
    start = clock()
    contestant.work(times)
    return clock() - start
