"""Which trials to train next, and what becomes of those whose worker was lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

MOST_LOSSES = 24
"""Workers that may be lost in a row, without a finished trial between them, before the run gives up."""


@dataclass(frozen=True)
class Loss:
    """How a worker ended before its batch was finished."""

    cause: str
    """What happened, and why if known; it completes the sentence "the worker …"."""
    exit_code: int | None = None
    """Exit code of the process, negative for a signal; ``None`` for a thread, or if it is unknown."""


@dataclass(frozen=True)
class Failure:
    """A trial that could not be trained, because its worker was lost each time.

    Example:
        >>> print(Failure(seed=3, cause="was killed by SIGKILL", exit_code=-9))
        seed 3: its worker was killed by SIGKILL (exit code -9)
    """

    seed: int
    cause: str
    """What happened to its last worker, and the probable reason."""
    exit_code: int | None = None
    """Exit code of its last worker, negative for a signal; ``None`` if it is unknown."""
    inapplicable: str | None = None
    """Why a system cannot run on such data; ``None`` if it can, or if a network was trained."""

    def __str__(self) -> str:
        """One line with everything."""
        code = "" if self.exit_code is None else f" (exit code {self.exit_code})"
        return f"seed {self.seed}: its worker {self.cause}{code}"


class Schedule:
    """Batches of seeds that still have to be trained.

    When a worker is lost, its batch is trained again in two halves. A trial that loses its worker while trained alone
    gets a second chance after all others, with no other worker beside it. If that worker is lost as well, the trial
    has failed.

    Example:
        >>> schedule = Schedule([[0, 1, 2]])
        >>> batch = schedule.next_batch(alone=True)
        >>> schedule.lose(batch, Loss("was killed"))
        []
        >>> schedule.next_batch(alone=True), schedule.next_batch(alone=False)
        ([0, 1], [2])
    """

    def __init__(self, batches: Sequence[Sequence[int]]) -> None:
        """Start with all batches waiting."""
        self._waiting = deque(list(batch) for batch in batches)
        self._last: deque[int] = deque()  # lost once while trained alone
        self._lost_alone: set[int] = set()
        self._in_a_row = 0

    def next_batch(self, *, alone: bool) -> list[int]:
        """Take the seeds to train next; none if there is nothing to train now.

        Args:
            alone: Whether no other worker is busy.
        """
        if self._waiting:
            return self._waiting.popleft()
        return [self._last.popleft()] if self._last and alone else []

    def put_back(self, batch: list[int]) -> None:
        """Return a batch that no worker could take."""
        self._waiting.appendleft(batch)

    def gain(self) -> None:
        """Note that a trial has finished."""
        self._in_a_row = 0

    def lose(self, seeds: Sequence[int], loss: Loss) -> list[Failure]:
        """Note that a worker was lost with these unfinished trials; return those that have failed."""
        self._in_a_row += 1
        if self._in_a_row > MOST_LOSSES:
            failed = [*seeds, *chain.from_iterable(self._waiting), *self._last]
            self._waiting.clear()
            self._last.clear()
        elif len(seeds) > 1:
            half = (len(seeds) + 1) // 2
            self._waiting.extendleft([list(seeds[half:]), list(seeds[:half])])
            failed = []
        else:
            failed = [seed for seed in seeds if seed in self._lost_alone]
            again = [seed for seed in seeds if seed not in self._lost_alone]
            self._lost_alone.update(again)
            self._last.extend(again)
        return [Failure(seed, loss.cause, loss.exit_code) for seed in failed]
