"""How far a training run is: a live line on a terminal, else a line per finished trial; both on standard error."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from hypergnn.experiments.runner import Progress as TablesProgress
    from hypergnn.training import Progress

Listener = Callable[["Progress"], None]
TablesListener = Callable[["TablesProgress"], None]
SECONDS_BETWEEN_LINES = 5.0
"""At least, where a reproduction has no terminal: it has thousands of trials."""


@contextmanager
def shown(*, quiet: bool) -> Iterator[Listener | None]:
    """Show progress while the block runs; what it yields is to be called with each :class:`Progress`."""
    with _shown(_Status(), quiet=quiet) as listener:
        yield listener


@contextmanager
def shown_tables(*, quiet: bool) -> Iterator[TablesListener | None]:
    """The same for the progress of a reproduction."""
    with _shown(_TablesStatus(), quiet=quiet) as listener:
        yield listener


@contextmanager
def _shown(status: _Teller, *, quiet: bool) -> Iterator[Callable[[Any], None] | None]:
    if quiet:
        log = logging.getLogger("hypergnn")
        before = log.level
        log.setLevel(logging.ERROR)
        try:
            yield None
        finally:
            log.setLevel(before)
    elif not sys.stderr.isatty():
        yield _lines(status)
    else:
        with _live(status) as listener:
            yield listener


def accuracy(values: tuple[float, ...]) -> str:
    """Mean and standard deviation of percentages.

    Example:
        >>> accuracy((80.0, 82.0)), accuracy((80.0,)), accuracy(())
        ('81.00 ± 1.41 %', '80.00 %', '–')
    """
    if not values:
        return "–"
    return f"{mean(values):.2f} ± {stdev(values):.2f} %" if len(values) > 1 else f"{values[0]:.2f} %"


def seconds_left(progress: Progress, started: int, elapsed: float) -> float | None:
    """How long the rest takes if its trials need as many epochs as the finished ones; ``None`` while none has finished.

    Args:
        progress: How far the run is.
        started: Trials that had finished before this session.
        elapsed: Seconds that this session has taken.

    Example:
        >>> from hypergnn.training import Progress
        >>> seconds_left(Progress(2, 4, 2, 300, (80.0, 82.0), (60, 140)), started=0, elapsed=30.0)
        10.0
    """
    if not progress.trial_epochs or not progress.epochs:
        return None
    expected = (progress.total - started) * mean(progress.trial_epochs)
    return elapsed * max(0.0, expected - progress.epochs) / progress.epochs


class _Teller(Protocol):
    """Says where something stands."""

    def resumed(self, progress: Any, /) -> str | None:
        """The first time, what an earlier session has left, if anything."""

    def text(self, progress: Any, /) -> str:
        """Where it stands, in a line."""

    def is_news(self, progress: Any, /) -> bool:
        """Whether that is worth a line of its own."""


class _Status:
    """A line of text on where a run stands."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._started: int | None = None
        self._told = 0

    def resumed(self, progress: Progress) -> str | None:
        """The first time, what an earlier session has left, if anything."""
        if self._started is not None:
            return None
        self._started = self._told = progress.done
        return f"resuming: {progress.done} of {progress.total} trials are there" if progress.done else None

    def is_news(self, progress: Progress) -> bool:
        """Whether a trial has ended since the last time."""
        before, self._told = self._told, progress.done
        return progress.done > before

    def text(self, progress: Progress) -> str:
        elapsed = time.monotonic() - self._start
        left = seconds_left(progress, self._started or 0, elapsed)
        return ", ".join(
            [
                f"{progress.done}/{progress.total} trials",
                *(
                    [f"{min(progress.running, progress.total - progress.done)} running"]
                    if progress.done < progress.total
                    else []
                ),
                f"{progress.epochs} epochs",
                f"test {accuracy(progress.test_accuracy)}",
                _clock(elapsed) + ("" if left is None else f" + {_clock(left)} left"),
            ]
        )


class _TablesStatus:
    """A line of text on where a reproduction stands."""

    def __init__(self) -> None:
        self._is_new = True
        self._last: tuple[float, int, int] | None = None  # when, runs and trials done

    def resumed(self, progress: TablesProgress) -> str | None:
        """The first time, what an earlier session has left, if anything."""
        was_new, self._is_new = self._is_new, False
        if not was_new or not progress.trials_done:
            return None
        return f"resuming: {progress.trials_done} of {progress.trials_total} trials are there"

    def is_news(self, progress: TablesProgress) -> bool:
        """Whether a run has ended, or a trial and the last line is some time ago."""
        now, runs, trials = progress.elapsed, progress.runs_done, progress.trials_done
        if self._last is None or runs > self._last[1]:
            is_news = True
        else:
            is_news = trials > self._last[2] and now - self._last[0] >= SECONDS_BETWEEN_LINES
        if is_news:
            self._last = now, runs, trials
        return is_news

    def text(self, progress: TablesProgress) -> str:
        """All runs together, then the one in training: what does not fit a terminal is cut off at the end."""
        current, cell = progress.current, progress.job.cells[0]
        left = "" if progress.seconds_left is None else f" + {_clock(progress.seconds_left)} left"
        return (
            f"{_clock(progress.elapsed)}{left}, {progress.runs_done}/{progress.runs_total} runs, "
            f"{progress.trials_done}/{progress.trials_total} trials | {cell.table}, {cell.row} on {cell.dataset}: "
            f"{current.done}/{current.total}, test {accuracy(current.test_accuracy)}, {current.epochs} epochs"
        )


def _lines(status: _Teller) -> Callable[[Any], None]:
    def tell(progress: Any) -> None:
        if resumed := status.resumed(progress):
            print(resumed, file=sys.stderr, flush=True)
        if status.is_news(progress):
            print(status.text(progress), file=sys.stderr, flush=True)

    return tell


@contextmanager
def _live(status: _Teller) -> Iterator[Callable[[Any], None]]:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import SpinnerColumn, TextColumn

    bars = Bars(SpinnerColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True)
    task = bars.add_task("starting", total=None)

    def tell(progress: Any) -> None:
        bars.start()  # only now: a terminal has room for one live display, and downloads have theirs
        if resumed := status.resumed(progress):
            bars.console.print(resumed, highlight=False)
        bars.update(task, description=status.text(progress))

    try:
        yield tell
    finally:
        bars.stop()


def _clock(seconds: float) -> str:
    """Minutes and seconds, with hours in front where there are any.

    Example:
        >>> _clock(65.2), _clock(3725)
        ('1:05', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
