"""Training in this process and thread, so that a callback sees the losses of each epoch."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from hypergnn.models import Config
from hypergnn.training.checkpoints import Checkpoints
from hypergnn.training.engine import OnLosses, train
from hypergnn.training.losses import Losses, is_true
from hypergnn.training.plan import Plan, Task
from hypergnn.training.sampled import train_sampled
from hypergnn.training.session import Session

SILENCE = 0.2
"""Minimum number of seconds between two reports of progress."""


class _StoppedError(Exception):
    """The callback wants the run to stop."""


def train_here(
    plan: Plan, config: Config, batches: Sequence[Sequence[int]], session: Session, on_epoch: OnLosses
) -> bool:
    """Train all batches; return whether a keyboard interrupt or the callback stopped it.

    Args:
        plan: The data, with everything that was computed before training.
        config: The settings.
        batches: The seeds of the trials to train together, batch by batch.
        session: Records finished trials and reports progress.
        on_epoch: Called after each epoch.
    """
    last = time.monotonic()

    def report(_: int, running: int) -> None:
        nonlocal last
        session.running = running
        session.epochs += running
        if time.monotonic() - last > SILENCE:
            session.report()
            last = time.monotonic()

    def tell(epoch: int, losses: Losses) -> None:
        if is_true(on_epoch(epoch, losses)):
            raise _StoppedError

    try:
        with one_thread():
            for batch in batches:
                for trial in train(plan, config, batch, on_epoch=report, on_losses=tell):
                    session.finish(trial)
    except (KeyboardInterrupt, _StoppedError):
        return True
    finally:
        session.running = 0
    return False


def train_batches(
    task: Task,
    config: Config,
    seeds: Sequence[int],
    session: Session,
    checkpoint_every: int | None,
    on_epoch: OnLosses | None,
    start: Mapping[str, Tensor] | None = None,
) -> bool:
    """Train trials on mini-batches, one after the other; return whether it was stopped, as :func:`train_here`.

    Args:
        task: The data.
        config: The settings.
        seeds: The seeds of the trials.
        session: Records finished trials and reports progress.
        checkpoint_every: Number of batches after which the state is saved in the run folder; ``None`` for never.
        on_epoch: Called after each epoch.
        start: Parameters that every trial starts from; drawn from its seed if omitted.
    """
    folder = None if session.ledger is None else session.ledger.folder
    checkpoints = None if folder is None or checkpoint_every is None else Checkpoints(folder, checkpoint_every)
    trained, since = 0, time.monotonic()

    def count(n_vertices: int) -> None:
        nonlocal trained, since
        trained += n_vertices
        elapsed = time.monotonic() - since
        if elapsed > SILENCE:
            session.vertices_per_second = trained / elapsed
            session.report()
            trained, since = 0, time.monotonic()

    def end() -> None:
        session.epochs += 1

    def tell(epoch: int, losses: Losses) -> None:
        if on_epoch is not None and is_true(on_epoch(epoch, losses)):
            raise _StoppedError

    try:
        with one_thread():
            for seed in seeds:
                session.running = 1
                trial = train_sampled(
                    task,
                    config,
                    seed,
                    checkpoints=checkpoints,
                    on_batch=count,
                    on_epoch=end,
                    on_losses=tell,
                    start=start,
                )
                session.finish(trial)
                if checkpoints is not None:
                    checkpoints.remove(seed)
    except (KeyboardInterrupt, _StoppedError):
        return True
    finally:
        session.running = 0
    return False


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in one thread within the block, as in a worker: no sum depends on where it is computed."""
    with _Blocks.lock:
        if not _Blocks.n_open:
            _Blocks.before = torch.get_num_threads()
        _Blocks.n_open += 1
    torch.set_num_threads(1)
    try:
        yield
    finally:
        with _Blocks.lock:
            _Blocks.n_open -= 1
            torch.set_num_threads(_Blocks.before)


class _Blocks:
    """The open blocks of all threads. Torch gives a new thread the number that any thread has set last."""

    lock = threading.Lock()
    n_open = 0
    before = 1
    """The number of threads before the first of them."""
