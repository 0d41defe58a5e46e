"""Teams of workers: forked processes, which can be replaced when they are lost, or threads of this process."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any

from hypergnn.models import Config
from hypergnn.training.plan import Plan
from hypergnn.training.worker import work

CHECK = 1.0
"""Seconds between two checks of a worker that sends nothing."""


class Worker(ABC):
    """A worker, seen from the side that started it."""

    seeds: list[int]
    """The trials of its batch that have not finished."""
    is_busy: bool = False
    running: int = 0
    """Trials that it trained at its last message."""

    def give(self, batch: list[int]) -> None:
        """Let it train a batch."""
        self.seeds, self.is_busy = list(batch), True
        self._send(batch)

    @abstractmethod
    def _send(self, batch: list[int]) -> None:
        """Pass the batch on; a worker that is gone is noticed later."""

    @abstractmethod
    def stop(self) -> None:
        """Make it stop, without waiting for it."""

    @abstractmethod
    def join(self) -> None:
        """Wait until it has stopped."""


class Team(ABC):
    """The workers of one call of ``fit``."""

    def __init__(self, plan: Plan, config: Config) -> None:
        """Start without workers."""
        self.plan, self.config = plan, config
        self.workers: list[Any] = []

    @property
    def n_busy(self) -> int:
        """How many workers have a batch."""
        return sum(worker.is_busy for worker in self.workers)

    @property
    def n_running(self) -> int:
        """How many trials are in training, as far as the workers have said."""
        return sum(worker.running for worker in self.workers)

    def give(self, batch: list[int]) -> None:
        """Let an idle worker, or a new one, train a batch.

        Raises:
            OSError: If the system cannot start another process.
        """
        idle = [worker for worker in self.workers if not worker.is_busy]
        (idle[0] if idle else self._start()).give(batch)

    def dismiss(self, *workers: Worker) -> None:
        """Stop some workers and wait until they have stopped."""
        for worker in workers:
            self.workers.remove(worker)
            worker.stop()
        for worker in workers:
            worker.join()

    def dismiss_idle(self) -> None:
        """Stop the workers that have nothing to do."""
        self.dismiss(*(worker for worker in self.workers if not worker.is_busy))

    @abstractmethod
    def _start(self) -> Any:
        """Start a worker and add it to the team."""

    @abstractmethod
    def receive(self) -> Iterator[tuple[Any, Any]]:
        """Wait for messages, at most about a second; yield each with its worker.

        A `Loss` follows the last message of a worker that is gone; such a worker is no longer part of the team.
        """


class _Thread(Worker):
    """A thread with a queue in each direction."""

    def __init__(self, results: SimpleQueue[tuple[_Thread, Any]]) -> None:
        self.results = results
        self.batches: SimpleQueue[list[int] | None] = SimpleQueue()
        self.stopping = threading.Event()
        self.thread: threading.Thread | None = None

    def _send(self, batch: list[int]) -> None:
        self.batches.put(batch)

    def stop(self) -> None:
        """Let the thread end at its next progress message."""
        self.stopping.set()
        self.batches.put(None)

    def join(self) -> None:
        """Wait until the thread has ended."""
        if self.thread is not None:
            self.thread.join()

    # The side of the worker

    def next_batch(self) -> list[int]:
        """Wait for a batch."""
        batch = self.batches.get()
        if batch is None:
            raise EOFError
        return batch

    def send(self, message: Any) -> None:
        """Pass a message on."""
        if self.stopping.is_set():
            raise EOFError
        self.results.put((self, message))

    def is_closed(self) -> bool:
        """Whether the worker was stopped."""
        return self.stopping.is_set()


class Threads(Team):
    """Workers that are threads. They share memory and fate with this process: none can be killed alone."""

    def __init__(self, plan: Plan, config: Config) -> None:
        """Start without workers."""
        super().__init__(plan, config)
        self._results: SimpleQueue[tuple[_Thread, Any]] = SimpleQueue()

    def _start(self) -> _Thread:
        worker = _Thread(self._results)
        worker.thread = threading.Thread(target=work, args=(worker, self.plan, self.config), daemon=True)
        worker.thread.start()
        self.workers.append(worker)
        return worker

    def receive(self) -> Iterator[tuple[_Thread, Any]]:
        """Wait for one message."""
        try:
            worker, message = self._results.get(timeout=CHECK)
        except Empty:
            return
        if worker in self.workers:
            yield worker, message
