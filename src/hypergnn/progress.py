"""How far a training run is: one line that changes in a notebook or on a terminal, else a line per finished trial.

All but that of a notebook stand on standard error.
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
    """What :class:`hypergnn.training.Progress` tells."""

    @property
    def done(self) -> int:
        """Trials finished."""

    @property
    def total(self) -> int:
        """Trials wanted."""

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


Listener = Callable[[Progress], None]
_SECONDS_BETWEEN = 0.2  # a notebook is sent no more than it can show


@contextmanager
def shown(*, quiet: bool) -> Iterator[Listener | None]:
    """Show progress while the block runs; what it yields is to be called with each :class:`Progress`."""
    if quiet:
        log = logging.getLogger("hypergnn")
        before = log.level
        log.setLevel(logging.ERROR)
        try:
            yield None
        finally:
            log.setLevel(before)
    elif (display := _notebook_display()) is not None:
        yield _in_notebook(display)
    elif not sys.stderr.isatty():
        yield _lines()
    else:
        with _live() as listener:
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


class _Status:
    """A line of text on where a run stands."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._started: int | None = None

    def resumed(self, progress: Progress) -> str | None:
        """The first time, what an earlier session has left, if anything."""
        if self._started is not None:
            return None
        self._started = progress.done
        return f"resuming: {progress.done} of {progress.total} trials are there" if progress.done else None

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


def _notebook_display() -> Callable[..., Any] | None:
    """What shows things in the notebook that this runs in; ``None`` elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):  # a terminal's IPython has none
        return None
    from IPython.display import display

    shows: Callable[..., Any] = display
    return shows


def _in_notebook(display: Callable[..., Any]) -> Listener:
    """One line below the cell, replaced whenever something has happened: it needs no widgets."""
    status = _Status()
    handle = display({"text/plain": "starting"}, raw=True, display_id=True)
    last = -_SECONDS_BETWEEN

    def tell(progress: Progress) -> None:
        nonlocal last
        status.resumed(progress)
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN or progress.done == progress.total:
            handle.update({"text/plain": status.text(progress)}, raw=True)
            last = now

    return tell


def _lines() -> Listener:
    status = _Status()
    told = 0

    def tell(progress: Progress) -> None:
        nonlocal told
        if resumed := status.resumed(progress):
            print(resumed, file=sys.stderr, flush=True)
            told = progress.done
        if progress.done > told:
            print(status.text(progress), file=sys.stderr, flush=True)
            told = progress.done

    return tell


@contextmanager
def _live() -> Iterator[Listener]:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import SpinnerColumn, TextColumn

    status = _Status()
    bars = Bars(SpinnerColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True)
    with bars:
        task = bars.add_task("starting", total=None)

        def tell(progress: Progress) -> None:
            if resumed := status.resumed(progress):
                bars.console.print(resumed, highlight=False)
            bars.update(task, description=status.text(progress))

        yield tell


def _clock(seconds: float) -> str:
    """Minutes and seconds, with hours in front where there are any.

    Example:
        >>> _clock(65.2), _clock(3725)
        ('1:05', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
