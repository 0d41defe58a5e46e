"""Sampled batches by several processes: each draws its own from the whole hypergraph, and gradients are averaged.

In a step of ``n`` processes, process ``r`` takes batch ``n * step + r`` of the epoch, and all take the step of the mean
of their gradients. Where the batches of an epoch cannot be divided evenly, the last round repeats the first batches.
All processes have the same parameters, since they start from the same ones and take the same steps.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from hypergnn.datasets import Dataset
from hypergnn.distributed.groups import agreed, check_same, on_first, rank_and_size, sum_gradients, sum_of_all
from hypergnn.models import Config
from hypergnn.persistence.models import SavedModel
from hypergnn.training import Result
from hypergnn.training.checkpoints import Checkpoints, Moment
from hypergnn.training.continuing import continuing
from hypergnn.training.description import describe
from hypergnn.training.here import SILENCE, one_thread
from hypergnn.training.ledger import Ledger
from hypergnn.training.plan import Task
from hypergnn.training.sampled import train_sampled
from hypergnn.training.session import Progress, Session
from hypergnn.training.trainer import check_run


def fit_batches(
    data: Dataset,
    config: Config,
    *,
    trials: int = 1,
    out: str | os.PathLike[str] | None = None,
    device: str | torch.device = "cpu",
    checkpoint_every: int | None = None,
    curves: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    start: SavedModel | None = None,
) -> Result:
    """Train a network on sampled batches, all processes together; the run folder is that of :func:`training.fit`.

    A step of ``n`` processes is that of the mean of the gradients of ``n`` batches. So one process gives what
    :func:`training.fit` gives, to the bit, and several give another, larger batch.

    Args:
        data: The data, the same in all processes.
        config: The settings, with ``batch_size``: the number of vertices of a batch of one process.
        trials: The number of trials.
        out: Run folder, which process 0 writes.
        device: The device of this process.
        checkpoint_every: Number of steps after which the state of a trial is saved in the run folder.
        curves: Whether to store the losses of each epoch in the run folder.
        on_progress: Called in process 0 several times a second and after each finished trial.
        start: A model to continue: every trial starts from its parameters.

    Raises:
        ValueError: If the settings have no ``batch_size``, or processes have different data.

    Example:
        >>> import hypergnn as hg
        >>> config = Config(max_epochs=2, batch_size=100, fanout=((3, 3), (3, 3)))
        >>> with hg.distributed.start():
        ...     fit_batches(hg.datasets.load("digits"), config).records[0].epochs
        2
    """
    _, size = rank_and_size()

    def checked() -> tuple[Dataset, Config]:
        used = (data, config) if start is None else continuing(start, data, config)
        if used[1].batch_size is None:
            raise ValueError(
                "config must have batch_size, the vertices of a batch; use fit for training on all vertices."
            )
        check_run(*used, trials, out, curves=curves, checkpoint_every=checkpoint_every)
        return used

    data, config = agreed(checked)
    parameters = None if start is None else start.network.state_dict()
    configuration = describe(data, config, parameters)
    agreed(lambda: check_same("data and settings", json.dumps(configuration, sort_keys=True)))
    configuration = configuration if size == 1 else {**configuration, "processes": size}
    with ExitStack() as stack:
        opened: list[Session] = []

        def begin() -> list[int]:
            ledger = None if out is None else stack.enter_context(Ledger.open(out, configuration))
            opened.append(Session(data, config, ledger, trials, curves, [] if on_progress is None else [on_progress]))
            return opened[0].to_train()

        seeds: list[int] = on_first(begin)
        session = opened[0] if opened else None
        checkpoints = None if out is None or checkpoint_every is None else _Checkpoints(out, checkpoint_every)
        if seeds:
            _train(Task.of(data, config, device), config, seeds, session, checkpoints, parameters)
        records: Any = on_first(lambda: [] if session is None else [session.records[seed] for seed in range(trials)])
    networks = {} if session is None else {seed: one.cpu() for seed, one in session.networks.items() if seed < trials}
    return Result(records, interrupted=False, networks=networks)


def _train(
    task: Task,
    config: Config,
    seeds: list[int],
    session: Session | None,
    checkpoints: Checkpoints | None,
    start: dict[str, Tensor] | None,
) -> None:
    processes = _Processes()
    trained, since = 0, time.monotonic()

    def count(n_vertices: int) -> None:
        nonlocal trained, since
        trained += n_vertices * processes.size
        elapsed = time.monotonic() - since
        if session is not None and elapsed > SILENCE:
            session.vertices_per_second = trained / elapsed
            session.report()
            trained, since = 0, time.monotonic()

    def end() -> None:
        if session is not None:
            session.epochs += 1

    with one_thread():
        for seed in seeds:
            if session is not None:
                session.running = 1
            settings: dict[str, Any] = {"checkpoints": checkpoints, "start": start, "processes": processes}
            trial = train_sampled(task, config, seed, on_batch=count, on_epoch=end, **settings)
            if session is not None:
                session.finish(trial)
            if checkpoints is not None:
                checkpoints.remove(seed)


class _Processes:
    """The processes of this run; see :class:`hypergnn.training.sampled.Processes`."""

    def __init__(self) -> None:
        self.rank, self.size = rank_and_size()

    def total(self, value: Tensor) -> Tensor:
        """The sum over all processes."""
        return sum_of_all(value)

    def average_gradients(self, parameters: list[Tensor]) -> None:
        """Give each process the mean of the gradients of all."""
        sum_gradients(parameters)
        for one in parameters:
            if one.grad is not None:
                one.grad /= self.size


class _Checkpoints(Checkpoints):
    """Checkpoints that process 0 writes, and all processes continue from."""

    def write(self, seed: int, moment: Moment) -> None:
        """Replace the checkpoint of a trial, in process 0."""
        if rank_and_size()[0] == 0:
            super().write(seed, moment)

    def read(self, seed: int) -> Moment | None:
        """What process 0 reads."""
        return on_first(lambda: super(_Checkpoints, self).read(seed))

    def remove(self, seed: int) -> None:
        """Remove the checkpoint of a trial that has finished, in process 0."""
        if rank_and_size()[0] == 0:
            super().remove(seed)
