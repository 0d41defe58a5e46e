"""How much time a comparison of models may take, and what is said if it was too little."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from hypergnn._utils.checks import check_number
from hypergnn.kernels.stopwatch import Stopwatch


class TimeLimitWarning(UserWarning):
    """Models were not tried because of ``max_time``: the result depends on the speed of the machine."""


class OutOfTimeError(Exception):
    """A candidate would not finish in time."""


class Budget:
    """The seconds of work that a comparison may take.

    Args:
        max_time: The seconds; ``None`` for no limit.
        watch: Counts those that have passed; compiling kernels does not count.
        share: Share of the time that may pass before the last candidate is tried; the rest is for fitting.

    Example:
        >>> budget = Budget(60.0, Stopwatch())
        >>> budget.is_over(), Budget(0.0, Stopwatch()).is_over(), Budget(None, Stopwatch()).is_over()
        (False, True, False)
    """

    def __init__(self, max_time: float | None, watch: Stopwatch, share: float = 1.0) -> None:
        """Start with the first candidate, which is tried however long it takes."""
        self.max_time, self.watch = max_time, watch
        self.reserved = 0.0
        """Seconds that fitting what was tried so far will take."""
        self._limit = float("inf") if max_time is None else share * max_time
        self._start: float | None = None

    def is_over(self) -> bool:
        """Whether no further candidate can be tried."""
        return self.watch.worked() + self.reserved > self._limit

    def start(self, *, is_first: bool) -> None:
        """Begin with a candidate, the first in any case; raise if there is no time for another."""
        if not is_first and self.is_over():
            raise OutOfTimeError
        self._start = None if is_first else self.watch.worked()

    def check(self, done: float) -> None:
        """Raise if the present candidate, of which this share is done, would not finish in time."""
        if self._start is None or done >= 1:
            return
        passed = self.watch.worked() - self._start
        if self._start + passed / done + self.reserved > self._limit:
            raise OutOfTimeError

    @property
    def reason(self) -> str:
        """Why a candidate was not tried."""
        return f"would not have finished within max_time={self.max_time:g}"


def warn_of_time(max_time: float | None, names: Sequence[str], stacklevel: int) -> None:
    """Warn that candidates were not tried; not with a limit of 0, which always leaves the first only.

    Args:
        max_time: The limit.
        names: The candidates.
        stacklevel: As of :func:`warnings.warn`, seen from the caller.
    """
    if names and max_time:
        warnings.warn(
            f"max_time={max_time:g} was too short to try {', '.join(names)}. What is tried depends on the speed of the "
            "machine; with max_time=None the result depends on random_state alone.",
            TimeLimitWarning,
            stacklevel=stacklevel + 1,
        )


def check_max_time(max_time: float | None) -> float | None:
    """The number of seconds, or ``None`` for no limit; raise if it is neither.

    Example:
        >>> check_max_time(None), check_max_time(60)
        (None, 60.0)
    """
    return None if max_time is None else float(check_number("max_time", max_time))


def last_lines(skipped: Mapping[str, str], seconds: float, compiling: float) -> list[str]:
    """The last lines of a report: what was not tried and why, and how long all of it took.

    Example:
        >>> last_lines({"forest": "few labels"}, 4.24, 55.0)
        ['not tried: forest (few labels)', '4.2 seconds in all, and 55 to compile or load kernels']
    """
    compiled = f", and {compiling:.0f} to compile or load kernels" if compiling >= 1 else ""
    return [
        *(f"not tried: {name} ({reason})" for name, reason in skipped.items()),
        f"{seconds:.1f} seconds in all{compiled}",
    ]
