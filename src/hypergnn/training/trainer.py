"""Training of any number of trials: dealt to workers, recorded as they end, resumed where they stopped."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing

import psutil
import torch

from hypergnn._utils.checks import check_size
from hypergnn._utils.progress import shown
from hypergnn.datasets import Dataset
from hypergnn.functional.projection import n_entries
from hypergnn.kernels.cpu import buffers
from hypergnn.models import KINDS, Config, check_structures, paper_config
from hypergnn.training.description import describe
from hypergnn.training.engine import Trial
from hypergnn.training.ledger import Ledger
from hypergnn.training.order import near_together
from hypergnn.training.plan import Plan, Task
from hypergnn.training.session import Progress, Result, Session
from hypergnn.training.workers import train_all

LARGEST_BATCH = 32
SMALLEST_BATCH = 4
WORTH_SHARING = 1 << 23
"""Entries of a layer's activations up to which more trials in a batch, sharing the cost of each step, gain anything."""


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
    on_progress: Callable[[Progress], None] | None = None,
    progress: bool = False,
) -> Result:
    """Train a network ``trials`` times, with the seeds 0, 1, 2, …, and judge each on the test vertices.

    On one kind of processor, a trial's outcome depends on its seed only: not on the others, on ``batch``, on ``jobs``
    or on interruptions.

    Args:
        data: The dataset.
        config: The settings; the paper's for this dataset if omitted.
        trials: How many.
        out: Run folder for the records and the best model. Trials that stand in it are not trained again.
        batch: Trials trained together by a worker; 4 to 32 if omitted, the more the smaller they are, as memory
            allows.
        jobs: Workers, each with one thread and trials of its own; ``torch.get_num_threads()`` if omitted. They are
            processes on Linux where there is no other device than the CPU, and threads elsewhere.
        device: Where to train.
        curves: Keep the losses of each epoch in the run folder.
        on_progress: Called several times a second and after each finished trial, from this thread.
        progress: Show how far it is: one line that changes, in a notebook and on a terminal.

    Example:
        >>> import hypergnn as hg
        >>> data = hg.datasets.load("digits")
        >>> run = fit(data, Config(max_epochs=3), trials=2)
        >>> [record.epochs for record in run.records]
        [3, 3]
    """
    config = paper_config(data.name) if config is None else config
    check_size("trials", trials, minimum=1)
    jobs = check_size("jobs", torch.get_num_threads() if jobs is None else jobs, minimum=1)
    if curves and out is None:
        raise ValueError("out must be given with curves: they are kept in the run folder.")
    check_structures(config.model, {"graph": data.graph, "hypergraph": data.hypergraph}, data.name)
    _check_split(data)
    with ExitStack() as stack:
        ledger = None
        if out is not None:
            ledger = stack.enter_context(Ledger.open(out, describe(data, config)))
        listeners = [] if on_progress is None else [on_progress]
        if progress and (shows := stack.enter_context(shown(quiet=False))) is not None:
            listeners.append(shows)
        session = Session(data, config, ledger, trials, curves, listeners)
        missing = [seed for seed in range(trials) if seed not in session.records]
        plan = Plan.of(Task.of(near_together(data), config, device), config)
        chosen = _even_batch(len(missing), _fitting_batch(plan.task, config, jobs), jobs)
        size = check_size("batch", chosen if batch is None else batch, minimum=1)
        interrupted = _train_all(
            plan, config, [missing[i : i + size] for i in range(0, len(missing), size)], jobs, session
        )
    records = [session.records[seed] for seed in sorted(session.records) if seed < trials]
    return Result(records, interrupted)


def _train_all(plan: Plan, config: Config, batches: Sequence[Sequence[int]], jobs: int, session: Session) -> bool:
    """Train all batches; whether an interrupt from the keyboard ended that early."""
    try:
        with closing(train_all(plan, config, batches, jobs)) as messages:
            for message in messages:
                if isinstance(message, Trial):
                    session.finish(message)
                else:
                    trained, session.running = message
                    session.epochs += trained
                    session.tell()
    except KeyboardInterrupt:
        return True
    return False


def _even_batch(trials: int, most: int, jobs: int) -> int:
    """Trials of a batch, ``most`` at most, so that each job gets as many batches, and these as many trials.

    Example:
        >>> _even_batch(32, 9, jobs=2), _even_batch(10, 9, jobs=2), _even_batch(0, 9, jobs=2)
        (8, 5, 1)
    """
    rounds = -(-trials // (most * jobs))
    return -(-trials // (rounds * jobs)) if trials else 1


def _fitting_batch(task: Task, config: Config, jobs: int) -> int:
    """How many trials are worth training together, if what the gradient keeps fits in half of the free memory."""
    rows, width = task.y.shape[0], config.heads * config.hidden
    worth = min(max(SMALLEST_BATCH, WORTH_SHARING // (rows * width)), LARGEST_BATCH)
    floats = 16 * rows * width * config.depth + 8 * n_entries(task.x) + 6 * task.n_features * width
    if KINDS[config.model].has_attention:
        n_pairs = sum(one.n_terms for one in task.structures.values())
        floats += 24 * n_pairs * config.heads * config.depth
    free = psutil.virtual_memory().available
    return max(1, min(worth, int(free / 2 / buffers.ROOM) // (4 * floats) // jobs))


def _check_split(data: Dataset) -> None:
    for name in ("train", "val", "test"):
        if not getattr(data, name).size:
            raise ValueError(f"{data.name} must have vertices to train, validate and test on; {name} has none.")
