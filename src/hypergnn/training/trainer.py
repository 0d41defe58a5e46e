"""``fit``: train any number of trials in workers, record each when it ends, and resume an interrupted run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace

import psutil
import torch

from hypergnn._utils.checks import check_size, check_trials
from hypergnn._utils.progress import shown
from hypergnn.datasets import Dataset
from hypergnn.functional.projection import n_entries
from hypergnn.kernels.memory import ROOM
from hypergnn.models import KINDS, Config, check_structures, paper_config
from hypergnn.models.residual import RECOMPUTED
from hypergnn.persistence.models import SavedModel
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.training.continuing import continuing
from hypergnn.training.description import describe
from hypergnn.training.elsewhere import is_elsewhere, n_workers_elsewhere, train_elsewhere
from hypergnn.training.engine import OnLosses, Trial
from hypergnn.training.here import train_batches, train_here
from hypergnn.training.ledger import Ledger
from hypergnn.training.order import near_together
from hypergnn.training.plan import Plan, Task
from hypergnn.training.schedule import Failure
from hypergnn.training.session import Progress, Result, Session
from hypergnn.training.workers import train_all

LARGEST_BATCH = 32
SMALLEST_BATCH = 4
WORTH_SHARING = 1 << 23
"""Activations of a layer, summed over the batch, beyond which a larger batch is no faster."""


def fit(
    data: Dataset,
    config: Config | None = None,
    *,
    trials: int = 1,
    out: str | os.PathLike[str] | None = None,
    batch: int | None = None,
    jobs: int | None = None,
    device: str | torch.device = "cpu",
    curves: bool = False,
    checkpoint_every: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_epoch: OnLosses | None = None,
    progress: bool = False,
    start: SavedModel | None = None,
) -> Result:
    """Train a network ``trials`` times, with seeds 0, 1, 2, …, and evaluate each trial on the test vertices.

    On the same kind of CPU, the result of a trial depends on its seed only: not on other trials, ``batch``, ``jobs`` or
    interruptions.

    A worker process that is killed, crashes, runs out of memory, or shows no sign of life for a minute is replaced. Its
    trials are trained again, fewer at a time. A trial whose worker is lost again, with nothing else running, is left
    out and listed in ``Result.failures``; the other trials finish.

    Args:
        data: The dataset.
        config: The settings; the paper's for this dataset if omitted.
        trials: The number of trials.
        out: Run folder for the records and the best model. Trials already recorded in it are not trained again, except
            the best one if its model file is lost or damaged.
        batch: Number of trials that a worker trains together. If omitted, up to 32, more for smaller data and
            networks, as far as memory allows.
        jobs: Number of workers, each with one thread; ``torch.get_num_threads()`` if omitted. Workers are processes on
            Linux machines without an accelerator, and threads elsewhere. Inside ``joblib.parallel_config(backend=…)``
            with a backend of Dask, Ray or Spark, they are the workers of that cluster, all of them if omitted.
        device: The device to train on.
        curves: Whether to store the losses of each epoch in the run folder.
        checkpoint_every: With ``config.batch_size``, the number of batches after which the state of a trial is saved in
            the run folder. A run that was killed continues from there, and ends with the same result to the bit.
        on_progress: Called several times a second and after each finished trial, in this thread.
        on_epoch: Called after each epoch as ``on_epoch(epoch, losses)`` with the :class:`Losses` of the trials trained
            together, in this thread; training then takes place in this process, with one job. If it returns ``True``,
            the run stops: finished trials stay, those in training are dropped. Its exceptions propagate from ``fit``.
            It does not affect the results.
        progress: Whether to show a progress line, in a notebook or on a terminal.
        start: A model to continue, loaded with :func:`hypergnn.load`: every trial starts from its parameters. The data
            may have other vertices and hyperedges, but must have its features, and no other classes; ``config`` is that
            of the model if omitted.

    Raises:
        ChildProcessError: If workers were lost and no trial could be trained.

    Example:
        >>> import hypergnn as hg
        >>> data = hg.datasets.load("digits")
        >>> run = fit(data, Config(max_epochs=3), trials=2)
        >>> [record.epochs for record in run.records]
        [3, 3]
    """
    if config is not None and not isinstance(config, Config):
        raise TypeError(
            f"config must be a hypergnn.Config; got {type(config).__name__}. Of a network, pass its config: each trial "
            "draws parameters of its own."
        )
    if start is not None:
        data, config = continuing(start, data, config)
    config = paper_config(data.name) if config is None else config
    check_run(data, config, trials, out, curves=curves, checkpoint_every=checkpoint_every)
    if on_epoch is not None and jobs not in (None, 1):
        raise ValueError(f"jobs must be 1 or omitted with on_epoch, which is called in this process; got {jobs!r}.")
    _check_batches(config, batch, jobs)
    usual = n_workers_elsewhere() if is_elsewhere() else torch.get_num_threads()
    jobs = check_size("jobs", usual if jobs is None else jobs, minimum=1)
    jobs = min(jobs, max(2, trials)) if on_epoch is None else 1  # more would have nothing to do
    parameters = None if start is None else start.network.state_dict()
    with ExitStack() as stack:
        ledger = None
        if out is not None:
            ledger = stack.enter_context(Ledger.open(out, describe(data, config, parameters)))
        listeners = [] if on_progress is None else [on_progress]
        if progress and (shows := stack.enter_context(shown(quiet=False))) is not None:
            listeners.append(shows)
        session = Session(data, config, ledger, trials, curves, listeners)
        seeds = session.to_train()
        interrupted = False
        if seeds and config.batch_size is not None:
            task = Task.of(data, config, device)
            interrupted = train_batches(task, config, seeds, session, checkpoint_every, on_epoch, parameters)
        elif seeds:
            plan = replace(Plan.of(Task.of(near_together(data), config, device), config), start=parameters)
            size = _even_batch(len(seeds), _fitting_batch(plan.task, config, jobs), jobs) if batch is None else batch
            batches = [seeds[start : start + size] for start in range(0, len(seeds), size)]
            if on_epoch is None:
                interrupted = _train_all(plan, config, batches, jobs, session)
            else:
                interrupted = train_here(plan, config, batches, session, on_epoch)
    records = [session.records[seed] for seed in sorted(session.records) if seed < trials]
    failures = tuple(sorted(session.failures, key=lambda one: one.seed))
    if failures and not records:
        raise ChildProcessError(
            "no trial could be trained:\n  " + "\n  ".join(map(str, failures)) + "\nUse fewer jobs or a "
            "smaller batch if memory is short."
        )
    networks = {seed: one.cpu() for seed, one in session.networks.items() if seed < trials}
    return Result(records, interrupted, failures, networks)


def _train_all(plan: Plan, config: Config, batches: Sequence[Sequence[int]], jobs: int, session: Session) -> bool:
    """Train all batches; return whether a keyboard interrupt stopped it."""
    try:
        if is_elsewhere():
            workers = train_elsewhere(plan, config, batches, jobs)
        else:  # a resumed run may have stopped because a trial crashes its process: that must not be this one
            workers = train_all(plan, config, batches, jobs, isolated=bool(session.records))
        with closing(workers) as messages:
            for message in messages:
                if isinstance(message, Trial):
                    session.finish(message)
                elif isinstance(message, Failure):
                    session.fail(message)
                else:
                    trained, session.running = message
                    session.epochs += trained
                    session.report()
    except KeyboardInterrupt:
        return True
    return False


def _even_batch(trials: int, most: int, jobs: int) -> int:
    """The batch size, at most ``most``, that gives all jobs the same number of batches of about the same size.

    Example:
        >>> _even_batch(32, 9, jobs=2), _even_batch(10, 9, jobs=2), _even_batch(0, 9, jobs=2)
        (8, 5, 1)
    """
    rounds = -(-trials // (most * jobs))
    return -(-trials // (rounds * jobs)) if trials else 1


def _fitting_batch(task: Task, config: Config, jobs: int) -> int:
    """How many trials to train together: no more than pays, and than half of the available memory holds."""
    n_ways = 2 if config.direction == "both" else 1
    rows, width = task.y.shape[0], n_ways * config.heads * config.hidden
    worth = min(max(SMALLEST_BATCH, WORTH_SHARING // (rows * width)), LARGEST_BATCH)
    floats = 16 * rows * width * config.depth + 8 * n_entries(task.x) + 6 * task.n_features * width
    without_recomputation = RECOMPUTED // (rows * width * config.depth)
    if config.is_residual and without_recomputation > 1:
        worth = min(worth, without_recomputation)
    if config.norm == "batch":  # each draw propagates all columns
        floats += (3 * config.draws + 4) * rows * task.n_features
        worth = min(worth, max(1, WORTH_SHARING // (rows * task.n_features)))
    if KINDS[config.model].has_attention:
        n_pairs = sum(one.n_terms for one in task.structures.values())
        floats += 24 * n_pairs * config.heads * config.depth
    free = psutil.virtual_memory().available
    return max(1, min(worth, int(free / 2 / ROOM) // (4 * floats) // jobs))


def _check_checkpoints(config: Config, every: int | None, out: str | os.PathLike[str] | None) -> None:
    if every is None:
        return
    check_size("checkpoint_every", every, minimum=1)
    if config.batch_size is None:
        raise ValueError("checkpoint_every needs a configuration with batch_size: it counts batches.")
    if out is None:
        raise ValueError("out must be given with checkpoint_every: checkpoints are stored in the run folder.")


def _check_batches(config: Config, batch: int | None, jobs: int | None) -> None:
    """Raise if ``batch`` or ``jobs`` do not fit the configuration, or joblib is connected to other workers."""
    if batch is not None:
        check_size("batch", batch, minimum=1)
    if config.batch_size is None:
        return
    if batch is not None or jobs not in (None, 1):
        raise ValueError(
            f"batch and jobs must be omitted with batch_size: trials are trained one by one; got batch={batch!r}, "
            f"jobs={jobs!r}."
        )
    if is_elsewhere():
        raise ValueError(
            "batch_size must be omitted inside joblib.parallel_config(backend=…): sampled batches are trained in this "
            "process. Call fit outside of it."
        )


def check_run(
    data: Dataset,
    config: Config,
    trials: int,
    out: str | os.PathLike[str] | None,
    *,
    curves: bool,
    checkpoint_every: int | None,
) -> None:
    """Raise if a run with these arguments of :func:`fit` cannot be started."""
    check_trials(trials)
    _check_checkpoints(config, checkpoint_every, out)
    if curves and out is None:
        raise ValueError("out must be given with curves=True: the curves are stored in the run folder.")
    check_structures(config.model, {"graph": data.graph, "hypergraph": data.hypergraph}, data.name)
    _check_direction(data, config)
    check_split(data.name, {part: getattr(data, part).size for part in ("train", "val", "test")})


def _check_direction(data: Dataset, config: Config) -> None:
    if config.direction in ("backward", "both") and data.hypergraph is not None:
        data.hypergraph.ways(config.direction)  # raises unless its hyperedges point
    if KINDS[config.model].is_dynamic and isinstance(data.hypergraph, DirectedHypergraph):
        raise ValueError(
            f"the model {config.model!r} needs a hypergraph whose hyperedges do not point; {data.name} has a "
            "DirectedHypergraph. Replace it by its undirected(), or omit --role."
        )


def check_split(name: str, sizes: Mapping[str, int]) -> None:
    """Raise if a part of the split of a dataset has no vertices."""
    for part in ("train", "val", "test"):
        if not sizes[part]:
            raise ValueError(
                f"{name} must have train, val and test vertices; {part} is empty. Give it some labelled vertices."
            )
