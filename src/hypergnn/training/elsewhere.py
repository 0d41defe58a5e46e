"""Train batches of trials on whatever joblib is connected to: a Dask, Ray or Spark cluster.

    with joblib.parallel_config(backend="dask"):
        hypergnn.training.fit(data, trials=100, out="run")

The run folder stays with the caller: workers return finished trials. A trial depends on its seed only, so one whose
worker was lost is trained again and gives the same.
"""

from __future__ import annotations

import logging
import pickle
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import torch

from hypergnn.models import Config, check_registered
from hypergnn.training.engine import Trial, train
from hypergnn.training.here import one_thread
from hypergnn.training.plan import Plan
from hypergnn.training.schedule import Failure, Loss, Schedule
from hypergnn.training.worker import portable

_OF_JOBLIB = "joblib._parallel_backends"  # the module of those that stay on this machine
_log = logging.getLogger(__name__)
IDLE = 60.0
"""Seconds without a batch after which a worker frees the data of a run."""
_plans: dict[str, Plan] = {}
_timers: dict[str, threading.Timer] = {}
Message = Trial | Failure | tuple[int, int]
Answer = tuple[int, list[Trial] | BaseException]


def is_elsewhere() -> bool:
    """Whether ``joblib.parallel_config`` has selected workers outside of joblib itself, such as those of Dask.

    Processes and threads of this machine are left to the pool of this package.

    Example:
        >>> is_elsewhere()
        False
    """
    joblib = sys.modules.get("joblib")
    if joblib is None:
        return False
    backend, _ = joblib.parallel.get_active_backend()
    is_nested = bool(getattr(backend, "nesting_level", 0))  # inside a task: its worker is all that it should use
    return type(backend).__module__ != _OF_JOBLIB and not is_nested


def n_workers_elsewhere() -> int:
    """Number of tasks that the selected workers run at once."""
    import joblib

    return max(1, int(joblib.effective_n_jobs(-1)))


def n_jobs_elsewhere(n_jobs: int | None) -> int:
    """How many of the selected workers ``n_jobs`` means; 1 if none are selected, or it is 1.

    Example:
        >>> n_jobs_elsewhere(2)
        1
    """
    if not is_elsewhere():
        return 1
    import joblib

    return max(1, min(int(joblib.effective_n_jobs(n_jobs)), n_workers_elsewhere()))


def train_elsewhere(
    plan: Plan, config: Config, batches: Sequence[Sequence[int]], jobs: int
) -> Generator[Message, None, None]:
    """Do as :func:`hypergnn.training.workers.train_all`, in the workers that joblib is connected to.

    A round gives out all batches that wait. If it ends early, a worker was lost, and batches without an answer are
    trained again. If a whole round was in vain, they go one by one, so that a batch that ends its worker is found.

    Args:
        plan: The data, with everything that was computed before training.
        config: The settings.
        batches: The seeds of the trials to train together, batch by batch.
        jobs: Number of workers.
    """
    packed = (_packed(plan), uuid4().hex)
    try:
        yield from _trained(packed, config, Schedule(batches), jobs)
    finally:
        _forget(packed[1])  # if the workers were threads of this process


def _trained(
    packed: tuple[npt.NDArray[np.uint8], str], config: Config, schedule: Schedule, jobs: int
) -> Generator[Message, None, None]:
    one_by_one = False
    while waiting := _next_batches(schedule, one_by_one):
        left = dict(enumerate(waiting))
        yield 0, sum(map(len, waiting))
        try:
            with closing(_answers(packed, config, waiting, jobs)) as answers:
                for number, trials in answers:
                    for trial in _checked(trials):
                        schedule.gain()
                        yield trial
                    del left[number]
                    yield 0, sum(map(len, left.values()))
        except _LostError as error:
            cause = f"of joblib was lost: {error}"
            one_by_one = len(left) == len(waiting)
            if len(waiting) == 1:
                yield from schedule.lose(waiting[0], Loss(cause))
            else:
                _log.warning("a worker %s; training again: %d batches", cause, len(left))
                for batch in reversed(left.values()):
                    schedule.put_back(batch)
        else:
            one_by_one = False


class _LostError(Exception):
    """A worker was lost, or the connection to it."""


def _next_batches(schedule: Schedule, one_by_one: bool) -> list[list[int]]:
    waiting: list[list[int]] = []
    while batch := schedule.next_batch(alone=not waiting):
        waiting.append(batch)
        if one_by_one:
            break
    return waiting


def _answers(
    packed: tuple[npt.NDArray[np.uint8], str], config: Config, batches: Sequence[Sequence[int]], jobs: int
) -> Generator[Answer, None, None]:
    """The trials of each batch with its number, in the order in which they finish."""
    import joblib

    backend, _ = joblib.parallel.get_active_backend()
    how = "generator_unordered" if getattr(backend, "supports_return_generator", False) else "list"
    parallel = joblib.Parallel(n_jobs=jobs, return_as=how, batch_size=1)
    tasks = (joblib.delayed(train_there)(*packed, config, number, list(seeds)) for number, seeds in enumerate(batches))
    try:
        answers = parallel(tasks)
        yield from answers
    except (GeneratorExit, KeyboardInterrupt):
        raise
    except Exception as error:  # what training raises is an answer: this is the way to the workers
        lines = str(error).splitlines()
        raise _LostError(f"{type(error).__name__}: {lines[0]:.200}" if lines else type(error).__name__) from error


def train_there(data: npt.NDArray[np.uint8], token: str, config: Config, number: int, seeds: list[int]) -> Answer:
    """What a worker does: train a batch with one thread, and return its trials or its error.

    Args:
        data: The task, pickled.
        token: The number of the run; a worker prepares the data once for each.
        config: The settings.
        number: The number of the batch.
        seeds: The seeds.
    """
    try:
        with one_thread():  # no sum depends on the worker
            plan = _plans.get(token)
            if plan is None:
                check_registered(config.model, "the run")
                task, start = pickle.loads(data.tobytes())  # of the caller, whose code this worker runs anyway
                plan = replace(Plan.of(task, config), start=start)
            _remember(token, plan)
            return number, [_as_arrays(trial) for trial in train(plan, config, seeds)]
    except Exception as error:
        return number, portable(error)
    finally:
        _forget(token, after=IDLE)


def _remember(token: str, plan: Plan) -> None:
    """Store the plan of this run for further batches, and no other."""
    for one in [*_plans]:
        if one != token:
            _forget(one)
    _plans[token] = plan


def _forget(token: str, after: float = 0) -> None:
    """Free the plan of a run: now, or once no batch of it has ended for some seconds."""
    if (earlier := _timers.pop(token, None)) is not None:
        earlier.cancel()
    if not after:
        _plans.pop(token, None)
        return
    _timers[token] = timer = threading.Timer(after, _forget, (token,))
    timer.daemon = True
    timer.start()


def _checked(answer: list[Trial] | BaseException) -> Iterator[Trial]:
    if isinstance(answer, (MemoryError, torch.OutOfMemoryError)):
        raise _LostError("it ran out of memory")
    if isinstance(answer, BaseException):
        raise answer
    for trial in answer:
        parameters = {name: torch.as_tensor(one) for name, one in trial.parameters.items()}
        yield replace(trial, parameters=parameters, scores=torch.as_tensor(trial.scores))


def _packed(plan: Plan) -> npt.NDArray[np.uint8]:
    """Task and start as bytes in an array, which backends send once to each worker; workers make the plan."""
    return np.frombuffer(pickle.dumps((plan.task, plan.start), protocol=5), np.uint8)


def _as_arrays(trial: Trial) -> Any:
    """The trial with arrays in place of tensors, which some backends would send as files of shared memory."""
    parameters = {name: one.numpy(force=True) for name, one in trial.parameters.items()}
    return replace(trial, parameters=parameters, scores=trial.scores.numpy(force=True))  # type: ignore[arg-type]
