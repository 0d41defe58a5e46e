"""Workers that train batches of trials: forked processes where possible, since threads share the interpreter lock."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any, cast

import torch

from hypergnn.models import Config
from hypergnn.training.allocator import keep_freed_memory
from hypergnn.training.engine import Trial, train
from hypergnn.training.plan import Plan

SILENCE = 0.2
"""Minimum number of seconds between two progress messages of a worker."""


def train_all(
    plan: Plan, config: Config, batches: Sequence[Sequence[int]], jobs: int
) -> Generator[Trial | tuple[int, int], None, None]:
    """Train all batches, and yield each trial as it ends.

    Several times a second, the generator also yields progress: the number of epochs that a worker has trained since
    its last message, summed over trials, and the number of trials now in training in all workers. An exception in the
    consumer, or closing the generator, stops the workers: processes at once, threads at their next progress message.

    Args:
        plan: The data, with everything that was computed before training.
        config: The settings.
        batches: The seeds of the trials to train together, batch by batch.
        jobs: Maximum number of workers.
    """
    waiting = iter(batches)
    with _team(plan, config, min(jobs, len(batches))) as connections:
        running = dict.fromkeys(connections, 0)
        while running:
            for connection in cast(list[Connection], wait(list(running))):
                message = _receive(connection)
                if isinstance(message, BaseException):
                    raise message
                if isinstance(message, Trial):
                    yield _as_tensors(message)
                elif message is not None:
                    trained, running[connection] = message
                    yield trained, sum(running.values())
                elif (batch := next(waiting, None)) is not None:
                    _send(connection, batch)
                else:
                    del running[connection]
                    connection.close()


def _receive(connection: Any) -> Any:
    try:
        return connection.recv()
    except (EOFError, OSError):
        return RuntimeError(
            "a worker process was killed, probably for lack of memory. Use fewer jobs or a smaller batch."
        )
    except Exception as error:
        return RuntimeError(f"a worker failed, and its error could not be sent to this process: {error}")


def _send(connection: Connection, batch: Sequence[int]) -> None:
    with suppress(OSError):  # the worker is gone; the next receive reports it
        connection.send(batch)


@contextmanager
def _team(plan: Plan, config: Config, size: int) -> Iterator[list[Connection]]:
    """Start workers and yield a connection to each; a worker stops when its connection closes."""
    forks = size > 1 and _can_fork(plan)
    ours: list[Connection] = []
    workers: list[threading.Thread | BaseProcess] = []
    before = torch.get_num_threads()
    try:
        if forks:
            _warm_up(plan, config)
        for _ in range(size):
            near, far = multiprocessing.Pipe()
            if forks:
                arguments: Any = (far, plan, config, [*ours, near])
                make: Any = multiprocessing.get_context("fork").Process
            else:
                make, arguments = threading.Thread, (far, plan, config, None)
            worker = make(target=_work, args=arguments, daemon=True)
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", DeprecationWarning
                )  # forking with other threads: the child uses none of them
                worker.start()
            workers.append(worker)
            ours.append(near)
            if forks:
                far.close()
        yield ours
    finally:
        for connection in ours:
            connection.close()
        for worker in workers:
            if isinstance(worker, BaseProcess):
                worker.kill()  # loses nothing: finished trials were sent, others can be trained again
            worker.join()
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


def _work(connection: Connection, plan: Plan, config: Config, inherited: Sequence[Connection] | None) -> None:
    """Train batches until the connection closes; with one torch thread, so that no sum depends on ``jobs``."""
    if inherited is not None:  # a process: the parent handles signals and owns these ends
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        for one in inherited:
            one.close()
        keep_freed_memory()
    torch.set_num_threads(1)
    trained, last_sent = 0, 0.0

    def report(_: int, running: int) -> None:
        nonlocal trained, last_sent
        trained += running
        if (now := time.monotonic()) - last_sent > SILENCE:  # a message costs as much as a short kernel
            if connection.poll():  # during a batch, only the closing of the connection can arrive
                raise EOFError
            connection.send((trained, running))
            trained, last_sent = 0, now

    try:
        connection.send(None)
        while True:
            for trial in train(plan, config, connection.recv(), on_epoch=report):
                connection.send(_as_arrays(trial))
            connection.send((trained, 0))
            connection.send(None)
            trained = 0
    except (EOFError, ConnectionError):
        pass
    except BaseException as error:  # raised again in the parent
        connection.send(_portable(error))
    finally:
        connection.close()


def _portable(error: BaseException) -> BaseException:
    """The error with its traceback as a note; a ``RuntimeError`` with the traceback if it cannot be pickled."""
    trace = traceback.format_exc()
    error.add_note(f"In a worker:\n{trace}")
    try:
        ForkingPickler.dumps(error)
    except Exception:
        return RuntimeError(trace)
    return error


def _as_arrays(trial: Trial) -> Any:
    """The trial with arrays in place of tensors, which would be passed through shared memory."""
    parameters: Any = {name: one.numpy(force=True) for name, one in trial.parameters.items()}
    scores: Any = trial.scores.numpy(force=True)
    return replace(trial, parameters=parameters, scores=scores)


def _as_tensors(trial: Trial) -> Trial:
    parameters = {name: torch.as_tensor(one) for name, one in trial.parameters.items()}
    return replace(trial, parameters=parameters, scores=torch.as_tensor(trial.scores))
