"""Progress of a reproduction: all runs, and the run in training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hypergnn._utils.progress import accuracy, clock, showing

if TYPE_CHECKING:
    from hypergnn.experiments.runner import Progress

SECONDS_BETWEEN_LINES = 5.0
"""Minimum without a terminal: a reproduction has thousands of trials."""


@contextmanager
def shown_tables(*, quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Show progress while the block runs; call what it yields with each :class:`Progress`."""
    with showing(_TablesStatus(), quiet=quiet) as listener:
        yield listener


class _TablesStatus:
    """A line of text with the state of a reproduction."""

    def __init__(self) -> None:
        self._is_new = True
        self._last: tuple[float, int, int] | None = None  # when, runs and trials done

    def resumed(self, progress: Progress) -> str | None:
        """The first time, what earlier sessions have finished, if anything."""
        was_new, self._is_new = self._is_new, False
        if not was_new or not progress.trials_done:
            return None
        return f"resuming: {progress.trials_done} of {progress.trials_total} trials are finished"

    def is_news(self, progress: Progress) -> bool:
        """Whether a run has finished, or a trial and the last line is some time ago."""
        now, runs, trials = progress.elapsed, progress.runs_done, progress.trials_done
        if self._last is None or runs > self._last[1]:
            is_news = True
        else:
            is_news = trials > self._last[2] and now - self._last[0] >= SECONDS_BETWEEN_LINES
        if is_news:
            self._last = now, runs, trials
        return is_news

    def text(self, progress: Progress) -> str:
        """All runs together, then the run in training. A terminal that is too narrow cuts off the end."""
        from hypergnn.experiments.paper import NAMES

        current, cell = progress.current, progress.job.cells[0]
        which = "" if cell.column == NAMES.get(cell.dataset, cell.dataset) else f" ({cell.column})"
        left = "" if progress.seconds_left is None else f" + {clock(progress.seconds_left)} left"
        return (
            f"{clock(progress.elapsed)}{left}, {progress.runs_done}/{progress.runs_total} runs, "
            f"{progress.trials_done}/{progress.trials_total} trials | "
            f"{cell.table}, {cell.row} on {cell.dataset}{which}: "
            f"{current.done}/{current.total}, test {accuracy(current.test_accuracy)}"
            + (f", {current.epochs} epochs" if progress.job.system is None else "")
        )
