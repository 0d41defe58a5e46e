"""Progress: one changing line in a notebook or on a terminal, elsewhere a new line for each piece of news.

Everything except the line of a notebook goes to standard error.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import mean, stdev
from typing import Any, Protocol


class Progress(Protocol):
    """The fields of :class:`hypergnn.training.Progress`."""

    @property
    def done(self) -> int:
        """Trials finished."""

    @property
    def total(self) -> int:
        """Requested trials."""

    @property
    def running(self) -> int:
        """Trials in training."""

    @property
    def epochs(self) -> int:
        """Epochs trained."""

    @property
    def test_accuracy(self) -> tuple[float, ...]:
        """Of the finished trials."""

    @property
    def trial_epochs(self) -> tuple[int, ...]:
        """Of the finished trials."""

    @property
    def vertices_per_second(self) -> float | None:
        """Of training on batches."""


class Teller(Protocol):
    """Describes the state of something."""

    def resumed(self, progress: Any, /) -> str | None:
        """The first time, what earlier sessions have finished, if anything."""

    def text(self, progress: Any, /) -> str:
        """The state, in one line."""

    def is_news(self, progress: Any, /) -> bool:
        """Whether the state is worth a new line."""


Listener = Callable[[Progress], None]
_SECONDS_BETWEEN = 0.2  # a notebook cannot show updates faster


@contextmanager
def shown(*, quiet: bool) -> Iterator[Listener | None]:
    """Show the progress of a training run while the block runs; call what it yields with each state."""
    with showing(_Status(), quiet=quiet) as listener:
        yield listener


@contextmanager
def showing(status: Teller, *, quiet: bool) -> Iterator[Callable[[Any], None] | None]:
    """Show the lines of ``status`` for each state that the yielded listener is called with; ``None`` if ``quiet``."""
    if quiet:
        log = logging.getLogger("hypergnn")
        before = log.level
        log.setLevel(logging.ERROR)
        try:
            yield None
        finally:
            log.setLevel(before)
    elif (display := _notebook_display()) is not None:
        with _in_notebook(status, display) as listener:
            yield listener
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
    """Estimated remaining seconds, if the other trials need as many epochs as the finished ones; ``None`` before those.

    Args:
        progress: The state of the run.
        started: Trials finished before this session.
        elapsed: Seconds since the session started.

    Example:
        >>> from hypergnn.training import Progress
        >>> seconds_left(Progress(2, 4, 2, 300, (80.0, 82.0), (60, 140)), started=0, elapsed=30.0)
        10.0
    """
    if not progress.trial_epochs or not progress.epochs or progress.done == progress.total:
        return None
    expected = (progress.total - started) * mean(progress.trial_epochs)
    return elapsed * max(0.0, expected - progress.epochs) / progress.epochs


class _Status:
    """A line of text with the state of a run."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._started: int | None = None
        self._told = 0

    def resumed(self, progress: Progress) -> str | None:
        """The first time, what earlier sessions have finished, if anything."""
        if self._started is not None:
            return None
        self._started = self._told = progress.done
        return f"resuming: {progress.done} of {progress.total} trials are finished" if progress.done else None

    def is_news(self, progress: Progress) -> bool:
        """Whether a trial has finished since the last time."""
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
                *([] if progress.vertices_per_second is None else [f"{progress.vertices_per_second:,.0f} vertices/s"]),
                f"test {accuracy(progress.test_accuracy)}",
                clock(elapsed) + ("" if left is None else f" + {clock(left)} left"),
            ]
        )


def _notebook_display() -> Callable[..., Any] | None:
    """The display function of the notebook that this runs in; ``None`` elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):  # IPython in a terminal has none
        return None
    from IPython.display import display

    shows: Callable[..., Any] = display
    return shows


@contextmanager
def _in_notebook(status: Teller, display: Callable[..., Any]) -> Iterator[Callable[[Any], None]]:
    """One line below the cell that is replaced; it needs no widgets."""
    handle = display({"text/plain": "starting"}, raw=True, display_id=True)
    shown_at, waiting = -_SECONDS_BETWEEN, None

    def tell(progress: Any) -> None:
        nonlocal shown_at, waiting
        status.resumed(progress)
        waiting = progress
        if time.monotonic() - shown_at >= _SECONDS_BETWEEN:
            show()

    def show() -> None:
        nonlocal shown_at, waiting
        handle.update({"text/plain": status.text(waiting)}, raw=True)
        shown_at, waiting = time.monotonic(), None

    try:
        yield tell
    finally:
        if waiting is not None:
            show()


def _lines(status: Teller) -> Callable[[Any], None]:
    def tell(progress: Any) -> None:
        if resumed := status.resumed(progress):
            print(resumed, file=sys.stderr, flush=True)
        if status.is_news(progress):
            print(status.text(progress), file=sys.stderr, flush=True)

    return tell


@contextmanager
def _live(status: Teller) -> Iterator[Callable[[Any], None]]:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import SpinnerColumn, TextColumn

    bars = Bars(SpinnerColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True)
    task = bars.add_task("starting", total=None)

    def tell(progress: Any) -> None:
        bars.start()  # only now: a terminal can have one live display, and downloads use it first
        if resumed := status.resumed(progress):
            bars.console.print(resumed, highlight=False)
        bars.update(task, description=status.text(progress))

    try:
        yield tell
    finally:
        bars.stop()


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours if there are any.

    Example:
        >>> clock(65.2), clock(3725)
        ('1:05', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
