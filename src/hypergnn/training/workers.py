"""Batches of trials dealt to workers: processes where they can be forked, since those share no interpreter lock."""

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
"""Seconds between two messages of a worker at least, but for those of finished trials."""


def train_all(
    plan: Plan, config: Config, batches: Sequence[Sequence[int]], jobs: int
) -> Generator[Trial | tuple[int, int], None, None]:
    """Train all batches, and yield each trial as it ends.

    Several times a second, yielded is how many epochs of trials a worker has trained since it last said so, and how
    many trials are in training in all workers. What is raised at that place, or closing the generator, stops the
    workers: processes at once, threads as soon as they look up.

    Args:
        plan: The data, with what is known of them before training.
        config: The settings.
        batches: Seeds of the trials that are trained together.
        jobs: Number of workers at most.
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
            "a worker was killed: was there too little memory? Fewer jobs or a smaller batch need less."
        )
    except Exception as error:
        return RuntimeError(f"a worker failed, and its error cannot be read here: {error}")


def _send(connection: Connection, batch: Sequence[int]) -> None:
    with suppress(OSError):  # of a worker that is gone, which is seen when it is listened to
        connection.send(batch)


@contextmanager
def _team(plan: Plan, config: Config, size: int) -> Iterator[list[Connection]]:
    """Workers, each at the other end of a connection; they stop when it is closed."""
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
                warnings.simplefilter("ignore", DeprecationWarning)  # of other threads, which a child knows nothing of
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
                worker.kill()  # it holds nothing that is not said or can be said again
            worker.join()
        torch.set_num_threads(before)


def _warm_up(plan: Plan, config: Config) -> None:
    """Load or compile all kernels, so that workers find them."""
    torch.set_num_threads(1)
    for _ in train(plan, replace(config, max_epochs=1), [0]):
        pass


def _can_fork(plan: Plan) -> bool:
    on_cpu = (
        plan.task.y.device.type == "cpu" and not torch.accelerator.is_available()
    )  # whose threads a fork would lack
    return on_cpu and sys.platform == "linux" and not multiprocessing.current_process().daemon


def _work(connection: Connection, plan: Plan, config: Config, inherited: Sequence[Connection] | None) -> None:
    """Train batches until none is left; one torch thread, so that the number of workers changes no sum."""
    if inherited is not None:  # a process: signals are its parent's affair, and so are the parent's ends
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        for one in inherited:
            one.close()
        keep_freed_memory()
    torch.set_num_threads(1)
    trained, told = 0, 0.0

    def tell(_: int, running: int) -> None:
        nonlocal trained, told
        trained += running
        if (now := time.monotonic()) - told > SILENCE:  # to speak takes as long as a short kernel
            if connection.poll():  # nothing comes during a batch but the end
                raise EOFError
            connection.send((trained, running))
            trained, told = 0, now

    try:
        connection.send(None)
        while True:
            for trial in train(plan, config, connection.recv(), on_epoch=tell):
                connection.send(_as_arrays(trial))
            connection.send((trained, 0))
            connection.send(None)
            trained = 0
    except (EOFError, ConnectionError):
        pass
    except BaseException as error:  # handed to whoever waits
        connection.send(_portable(error))
    finally:
        connection.close()


def _portable(error: BaseException) -> BaseException:
    """The error with its trace as a note; only the trace if the error cannot be sent to another process."""
    trace = traceback.format_exc()
    error.add_note(f"In a worker:\n{trace}")
    try:
        ForkingPickler.dumps(error)
    except Exception:
        return RuntimeError(trace)
    return error


def _as_arrays(trial: Trial) -> Any:
    """The trial without tensors, which processes would pass as shared memory."""
    parameters: Any = {name: one.numpy(force=True) for name, one in trial.parameters.items()}
    scores: Any = trial.scores.numpy(force=True)
    return replace(trial, parameters=parameters, scores=scores)


def _as_tensors(trial: Trial) -> Trial:
    parameters = {name: torch.as_tensor(one) for name, one in trial.parameters.items()}
    return replace(trial, parameters=parameters, scores=torch.as_tensor(trial.scores))
