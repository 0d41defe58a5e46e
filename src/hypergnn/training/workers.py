"""Train batches of trials in workers: forked processes where possible, since threads share the interpreter lock."""

from __future__ import annotations

import logging
import multiprocessing
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch

from hypergnn.models import Config
from hypergnn.training.engine import Trial, train
from hypergnn.training.plan import Plan
from hypergnn.training.schedule import Failure, Loss, Schedule
from hypergnn.training.teams import Team, Threads

_log = logging.getLogger(__name__)


def train_all(
    plan: Plan, config: Config, batches: Sequence[Sequence[int]], jobs: int, *, isolated: bool = False
) -> Generator[Trial | Failure | tuple[int, int], None, None]:
    """Train all batches; yield each trial as it ends, and each that could not be trained as a `Failure`.

    Several times a second, the generator also yields progress: the number of epochs that a worker has trained since
    its last message, summed over trials, and the number of trials now in training in all workers. An exception in the
    consumer, or closing the generator, stops the workers: processes at once, threads at their next progress message.

    Args:
        plan: The data, with everything that was computed before training.
        config: The settings.
        batches: The seeds of the trials to train together, batch by batch.
        jobs: Maximum number of workers.
        isolated: Whether even a single worker must be a process if ``jobs`` is more than 1, because it may crash.
    """
    schedule, limit = Schedule(batches), min(jobs, len(batches))
    with _team(plan, config, jobs if isolated else limit) as team:
        while True:
            limit = _give_all(team, schedule, limit)
            team.dismiss_idle()
            if not team.n_busy:
                return
            for worker, message in team.receive():
                if isinstance(message, Trial):
                    worker.seeds.remove(message.seed)
                    schedule.gain()
                    yield message
                elif isinstance(message, tuple):
                    trained, worker.running = message
                    yield trained, team.n_running
                elif message is None:
                    worker.is_busy = False
                else:
                    loss = _as_loss(message)
                    if worker in team.workers:
                        team.dismiss(worker)
                    yield 0, team.n_running
                    yield from _note(schedule, worker.seeds, loss)


def _give_all(team: Team, schedule: Schedule, limit: int) -> int:
    """Give batches to up to ``limit`` workers; return how many the system can start."""
    while team.n_busy < limit and (batch := schedule.next_batch(alone=not team.n_busy)):
        try:
            team.give(batch)
        except OSError as error:
            if not team.n_busy:
                raise
            _log.warning("no further worker could be started (%s): %d go on", error, team.n_busy)
            schedule.put_back(batch)
            return team.n_busy
    return limit


def _as_loss(message: BaseException | Loss) -> Loss:
    """The loss of a worker; errors other than a lack of memory are raised."""
    if isinstance(message, (MemoryError, torch.OutOfMemoryError)):
        return Loss("ran out of memory")
    if isinstance(message, BaseException):
        raise message
    return message


def _note(schedule: Schedule, seeds: Sequence[int], loss: Loss) -> list[Failure]:
    failed = schedule.lose(seeds, loss)
    again = [seed for seed in seeds if seed not in {one.seed for one in failed}]
    code = "" if loss.exit_code is None else f" (exit code {loss.exit_code})"
    if again:
        _log.warning("a worker %s%s; training again: seeds %s", loss.cause, code, ", ".join(map(str, again)))
    return failed


@contextmanager
def _team(plan: Plan, config: Config, size: int) -> Iterator[Team]:
    """A team of processes if there are several workers and the system can fork; it ends with the block."""
    forks = size > 1 and _can_fork(plan)
    before = torch.get_num_threads()
    team: Team | None = None
    try:
        if forks:
            from hypergnn.training.processes import Processes  # needs what only Linux has

            _warm_up(plan, config)
            team = Processes(plan, config)
        else:
            team = Threads(plan, config)
        yield team
    finally:
        if team is not None:
            team.dismiss(*team.workers)
        torch.set_num_threads(before)


def _warm_up(plan: Plan, config: Config) -> None:
    """Load or compile all kernels before the fork, so that no worker has to."""
    torch.set_num_threads(1)
    for _ in train(plan, replace(config, max_epochs=1), [0]):
        pass


def _can_fork(plan: Plan) -> bool:
    # The driver of an accelerator has threads that a forked process lacks.
    on_cpu = plan.task.y.device.type == "cpu" and not torch.accelerator.is_available()
    return on_cpu and sys.platform == "linux" and not multiprocessing.current_process().daemon
