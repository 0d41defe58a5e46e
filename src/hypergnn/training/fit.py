"""Training of any number of trials: dealt to workers, recorded as they end, resumed where they stopped."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from math import isfinite
from statistics import mean, stdev
from typing import Any

import torch

from hypergnn.checks import check_size
from hypergnn.datasets import Dataset
from hypergnn.display import html_table
from hypergnn.models import KINDS, Config, Network, paper_config
from hypergnn.progress import shown
from hypergnn.saving import save
from hypergnn.training.description import describe
from hypergnn.training.engine import Task, Trial
from hypergnn.training.ledger import Ledger
from hypergnn.training.workers import train_all

MODEL_FILE = "model.safetensors"
LARGEST_BATCH = 4
_SHOWN = 10


@dataclass(frozen=True)
class Progress:
    """How far a run is: what ``on_progress`` gets after each epoch and each finished trial."""

    done: int
    """Trials finished, those of earlier sessions included."""
    total: int
    running: int
    """Trials in training at the moment."""
    epochs: int
    """Epochs trained in this session, summed over trials."""
    test_accuracy: tuple[float, ...]
    """Of the finished trials, in percent."""
    trial_epochs: tuple[int, ...]
    """Of the finished trials, those of earlier sessions included."""


@dataclass(frozen=True)
class Outcome:
    """The records of all finished trials of a run, in the order of their seeds.

    Example:
        >>> run = Outcome([{"seed": 0, "test_accuracy": 80.0}, {"seed": 1, "test_accuracy": 82.0}], interrupted=False)
        >>> run
        Outcome(2 trials, test accuracy 81.00 ± 1.41 %)
    """

    records: list[dict[str, Any]]
    interrupted: bool
    """Whether the run was stopped before all trials had ended."""

    def test_accuracy(self) -> tuple[float, float]:
        """Mean and standard deviation over the trials, in percent."""
        values = [record["test_accuracy"] for record in self.records]
        return mean(values), stdev(values) if len(values) > 1 else 0.0

    def __repr__(self) -> str:
        """The outcome at a glance."""
        if not self.records:
            return "Outcome(no trial)"
        centre, spread = self.test_accuracy()
        if len(self.records) == 1:
            return f"Outcome(1 trial, test accuracy {centre:.2f} %)"
        return f"Outcome({len(self.records)} trials, test accuracy {centre:.2f} ± {spread:.2f} %)"

    def _repr_html_(self) -> str:
        wanted = ("seed", "epochs", "best_epoch", "train_accuracy", "val_accuracy", "test_accuracy", "seconds")
        columns = [name for name in wanted if any(name in record for record in self.records)]
        rows = [[record.get(name) for name in columns] for record in self.records[:_SHOWN]]
        more = f", the first {_SHOWN}" if len(self.records) > _SHOWN else ""
        return html_table(f"{self!r}{more}", [name.replace("_", " ") for name in columns], rows)


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
) -> Outcome:
    """Train a network ``trials`` times, with the seeds 0, 1, 2, …, and judge each on the test vertices.

    A trial's outcome depends on its seed only: not on the others, on ``batch``, on ``jobs`` or on interruptions.

    Args:
        data: The dataset.
        config: The settings; the paper's for this dataset if omitted.
        trials: How many.
        out: Run folder for the records and the best model. Trials that stand in it are not trained again.
        batch: Trials trained together by a worker; chosen from the memory at hand if omitted.
        jobs: Workers, each with trials of its own; ``torch.get_num_threads()`` if omitted.
        device: Where to train.
        curves: Keep the losses of each epoch in the run folder.
        on_progress: Called after each epoch and each finished trial, from this thread.
        progress: Show how far it is: one line that changes, in a notebook and on a terminal.

    Example:
        >>> import hypergnn as hg
        >>> data = hg.datasets.load("digits")
        >>> run = fit(data, Config(max_epochs=3), trials=2)
        >>> [record["epochs"] for record in run.records]
        [3, 3]
    """
    config = paper_config(data.name) if config is None else config
    check_size("trials", trials, minimum=1)
    jobs = check_size("jobs", torch.get_num_threads() if jobs is None else jobs, minimum=1)
    if curves and out is None:
        raise ValueError("out must be given with curves: they are kept in the run folder.")
    _check_structures(data, config)
    _check_split(data)
    task = Task.of(data, config, device)
    with ExitStack() as stack:
        ledger = None
        if out is not None:
            ledger = stack.enter_context(Ledger.open(out, describe(data, config)))
        listeners = [] if on_progress is None else [on_progress]
        if progress and (shows := stack.enter_context(shown(quiet=False))) is not None:
            listeners.append(shows)
        session = _Session(data, config, ledger, trials, curves, listeners)
        missing = [seed for seed in range(trials) if seed not in session.records]
        chosen = min(_fitting_batch(task, config, jobs), -(-len(missing) // jobs) or 1)
        size = check_size("batch", chosen if batch is None else batch, minimum=1)
        interrupted = _train_all(
            task, config, [missing[i : i + size] for i in range(0, len(missing), size)], jobs, session
        )
    records = [session.records[seed] for seed in sorted(session.records) if seed < trials]
    return Outcome(records, interrupted)


class _Session:
    """What is finished, and who is told of it."""

    def __init__(
        self,
        data: Dataset,
        config: Config,
        ledger: Ledger | None,
        total: int,
        curves: bool,
        listeners: Sequence[Callable[[Progress], None]],
    ) -> None:
        self.data, self.config, self.ledger, self.total = data, config, ledger, total
        self.keeps_curves, self.listeners = curves, listeners
        self.records = {record["seed"]: dict(record) for record in (ledger.records if ledger else ())}
        self.epochs = 0
        self.running = 0

    def finish(self, trial: Trial) -> None:
        """Keep a trial. The model goes to disk before the record: a record says that all of its trial is there."""
        record = as_record(trial)
        lowest = min((one["val_loss"] for one in self.records.values()), default=float("inf"))
        if self.ledger is not None:
            if record["val_loss"] < lowest:
                self._save_model(trial)
            self.ledger.append(record, curves=_finite_curves(trial) if self.keeps_curves else None)
        self.records[trial.seed] = record
        self.tell()

    def tell(self) -> None:
        if self.listeners:
            done = [self.records[seed] for seed in sorted(self.records) if seed < self.total]
            accuracy, epochs = (tuple(record[what] for record in done) for what in ("test_accuracy", "epochs"))
            for listener in self.listeners:
                listener(Progress(len(done), self.total, self.running, self.epochs, accuracy, epochs))

    def _save_model(self, trial: Trial) -> None:
        if self.ledger is None:
            return
        network = Network(self.config, self.data.n_features, self.data.n_classes)
        network.load_state_dict(trial.parameters)
        about = {
            "data": self.data.name,
            "feature_names": self.data.feature_names,
            "seed": trial.seed,
            "val_loss": trial.loss["val"],
        }
        H = self.data.hypergraph
        save(
            network,
            self.ledger.folder / MODEL_FILE,
            class_names=self.data.class_names,
            about=about,
            vertex_names=H.vertex_names,
            hypergraph={
                "construction": self.data.construction,
                "source": self.data.source,
                "vertices": H.n_vertices,
                "hyperedges": H.n_hyperedges,
                "incidences": H.n_incidences,
            },
        )


def _finite_curves(trial: Trial) -> dict[str, list[float | None]]:
    """The curves with ``None`` where a loss has grown beyond all numbers, which JSON cannot hold."""
    return {name: [loss if isfinite(loss) else None for loss in curve] for name, curve in trial.curves.items()}


def as_record(trial: Trial) -> dict[str, Any]:
    """A trial as one line of the ledger."""
    judged = {
        f"{part}_{what}": values[part]
        for what, values in (("accuracy", trial.accuracy), ("loss", trial.loss))
        for part in ("train", "val", "test")
    }
    times = {"epochs": trial.epochs, "best_epoch": trial.best_epoch, "seconds": round(trial.seconds, 3)}
    return {"seed": trial.seed, **times, **judged}


def _train_all(task: Task, config: Config, batches: Sequence[Sequence[int]], jobs: int, session: _Session) -> bool:
    """Train all batches; whether an interrupt from the keyboard ended that early."""
    try:
        with closing(train_all(task, config, batches, jobs)) as messages:
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


def _fitting_batch(task: Task, config: Config, jobs: int) -> int:
    """How many trials' activations, with what the gradient keeps of them, fit in half of the free memory."""
    rows = task.y.shape[0]
    floats = 16 * rows * config.heads * config.hidden * config.depth + 8 * rows * task.n_features
    if KINDS[config.model].has_attention:
        n_incidences = sum(
            getattr(one, "n_incidences", 0) + getattr(one, "n_links", 0) * 2 for one in task.structures.values()
        )
        floats += 24 * n_incidences * config.heads * config.depth
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        free = 4 << 30
    return max(1, min(LARGEST_BATCH, free // 2 // (4 * floats) // jobs))


def _check_structures(data: Dataset, config: Config) -> None:
    for name in KINDS[config.model].structures:
        if getattr(data, name) is None:
            raise ValueError(
                f"the model {config.model!r} needs a {name}, and {data.name} has none: choose another model."
            )


def _check_split(data: Dataset) -> None:
    for name in ("train", "val", "test"):
        if not getattr(data, name).size:
            raise ValueError(f"{data.name} must have vertices to train, validate and test on; {name} has none.")
