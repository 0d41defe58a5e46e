"""Runs that fill the tables. Cells with the same data and settings share one run, and every run can be resumed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import cast

from hypergnn._utils.checks import check_size
from hypergnn.datasets import DataNotFoundError, Dataset, load
from hypergnn.experiments import measures
from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.results import Results, note, note_seconds, seconds_of
from hypergnn.models import Config
from hypergnn.training import Progress as RunProgress
from hypergnn.training import Result, fit, ledger
from hypergnn.training.environment import environment
from hypergnn.training.ledger import is_left_over
from hypergnn.training.pairwise import with_graph

_OF_MODEL = {
    "mlp": 0.5,
    "gcn": 1.0,
    "hyper-conv": 1.5,
    "gcn+hyper-conv": 2.0,
    "gat": 2.0,
    "hyper-attention": 6.0,
    "gat+hyper-attention": 7.5,
    "hyper-sage": 2.0,
    "hyper-monet": 4.0,
}  # measured time of a trial on Cora, relative to GCN
_OF_DATA = {
    ("pubmed", "gat"): 1.8,
    ("pubmed", "hyper-attention"): 5.0,
    ("20news", "gcn"): 11.0,
    ("20news", "hyper-conv"): 2.7,
}  # the same, relative to Cora
_NARROW = 0.7  # a narrow network: shorter epochs, but more of them
_PER_LAYER = 0.15  # per layer of a deep network, relative to two layers: longer epochs, but fewer
_USUAL_EPOCHS = 500
_TELLING = 0.1  # share of a trial to train before the remaining time is estimated
_SHARE_OF_UNFINISHED = 0.9  # largest share of a trial that counts as trained while it runs


@dataclass(frozen=True)
class Job:
    """A run and the cells that it fills."""

    run: str
    dataset: str
    config: Config
    cells: tuple[Cell, ...]

    @property
    def weight(self) -> float:
        """Approximate relative time of one of its trials, for the estimate of the remaining time only."""
        is_narrow = self.config.heads * self.config.hidden < 64
        deep = 1.0 if self.config.depth <= 2 else _PER_LAYER * self.config.depth
        of_data = _OF_DATA.get((self.dataset, self.config.model), 1.0)
        return _OF_MODEL.get(self.config.model, 1.0) * of_data * deep * (_NARROW if is_narrow else 1.0)


@dataclass(frozen=True)
class Progress:
    """The state of a reproduction, passed to ``on_progress``."""

    job: Job
    """The run in training."""
    runs_done: int
    runs_total: int
    trials_done: int
    """Finished trials of all runs, earlier sessions included."""
    trials_total: int
    current: RunProgress
    """The state of the run in training."""
    elapsed: float
    """Seconds since the session started."""
    seconds_left: float | None
    """Estimate for all runs together; ``None`` while there is none."""


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction returns."""

    results: Results
    interrupted: bool
    """Whether it was stopped before the end; the same call resumes it."""
    missing: dict[str, str] = field(default_factory=dict)
    """Datasets that were not available, each with the reason."""
    datasets: dict[str, Dataset] = field(default_factory=dict)
    """The datasets that were loaded, by name."""


def runs_of(tables: Iterable[Table], datasets: Collection[str] | None = None) -> list[Job]:
    """The runs that fill these tables, each once, in the order of the tables.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> len(runs_of([TABLES["baselines"]])), len(runs_of([TABLES["baselines"]], datasets=["cora"]))
        (12, 6)
    """
    found: dict[str, list[Cell]] = {}
    for table in tables:
        for cell in table.cells:
            if cell.config is not None and (datasets is None or cell.dataset in datasets):
                found.setdefault(cell.run, []).append(cell)
    return [Job(run, cells[0].dataset, cast(Config, cells[0].config), tuple(cells)) for run, cells in found.items()]


def reproduce(
    tables: Sequence[Table],
    trials: int = 100,
    datasets: Collection[str] | None = None,
    out: str | os.PathLike[str] = "runs/paper",
    jobs: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Reproduction:
    """Fill tables of the paper: train the missing trials, count and time the rest, and return all results.

    Args:
        tables: Tables of :data:`hypergnn.experiments.paper.TABLES`.
        trials: Trials of each cell, with the seeds 0, 1, 2, …
        datasets: Only the cells of these datasets; all if omitted.
        out: Folder of the reproduction. Trials recorded in it are not trained again.
        jobs: As in :func:`hypergnn.training.fit`.
        on_progress: Called during training, from this thread. Without it, downloads show no progress either.

    Raises:
        DataNotFoundError: If none of the datasets is available.

    Example:
        >>> import tempfile
        >>> from hypergnn.experiments.paper import STAND_IN
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     reproduce([STAND_IN], datasets=[], out=folder).results.runs
        {}
    """
    check_size("trials", trials, minimum=1)
    session = _Session(Path(out), trials, jobs, runs_of(tables, datasets), on_progress)
    try:
        session.note_measures(tables, datasets)
        interrupted = session.train()
    except KeyboardInterrupt:  # while nothing was in training
        interrupted = True
    if session.missing and not session.loaded and not interrupted:
        raise session.missing[next(iter(session.missing))]
    missing = {name: str(error) for name, error in session.missing.items()}
    return Reproduction(session.results, interrupted, missing, session.loaded)


def _read(out: Path) -> Results:
    """The results of earlier sessions; none if there was none, or if it was stopped before its first run."""
    try:
        return Results.read(out)
    except ValueError:
        if out.exists() and any(out.iterdir()):
            files = [path for path in out.rglob("*") if not path.is_dir()]
            if not all(is_left_over(path.name) for path in files):
                raise
        return Results({}, {})


class _Session:
    """The runs of one call, one after the other: a single run occupies all workers."""

    def __init__(
        self,
        out: Path,
        trials: int,
        jobs: int | None,
        todo: list[Job],
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self.out, self.trials, self.jobs, self.todo, self.on_progress = out, trials, jobs, todo, on_progress
        self.start = time.monotonic()
        self.loaded: dict[str, Dataset] = {}
        self.graphs: dict[tuple[str, str], Dataset] = {}  # with the graph that a model needs
        self.missing: dict[str, DataNotFoundError] = {}
        self.results = _read(out)  # once; what this session adds is added here as well
        runs = self.results.runs
        self.before = {job.run: sum(record.seed < trials for record in runs.get(job.run, [])) for job in todo}
        self.done = dict(self.before)
        self.worked = 0.0  # trials finished in this session, in units of Job.weight
        self.training = 0.0  # seconds that they took
        self.fitting_since = self.start

    def data(self, name: str) -> Dataset | None:
        """A dataset, loaded once; ``None``, and listed as missing, if it is not available."""
        if name not in self.loaded and name not in self.missing:
            try:
                self.loaded[name] = load(name, quiet=self.on_progress is None)
            except DataNotFoundError as error:
                self.missing[name] = error
        return self.loaded.get(name)

    def note_measures(self, tables: Sequence[Table], datasets: Collection[str] | None) -> None:
        """Count and time what the tables need, unless that was done before."""
        for table in tables:
            wanted = {cell.dataset for cell in table.cells if cell.measure != "accuracy"}
            for name in sorted(wanted if datasets is None else wanted.intersection(datasets)):
                own = {f"{table.name}:{cell.name}" for cell in table.cells if cell.dataset == name}
                data = None if own <= self.results.measures.keys() else self.data(name)
                if data is not None:
                    found = measures.times(data) if table.name == "timing" else measures.counts(data)
                    named = {f"{table.name}:{cell}": number for cell, number in found.items()}
                    wanted_here = {cell: number for cell, number in named.items() if cell in own}
                    self.results = note(self.out, self.results, wanted_here, environment())

    def train(self) -> bool:
        """Train the missing trials; whether an interrupt ended this early."""
        for job in self.todo:  # all data before any training, so that nothing turns out to be missing hours later
            self.data(job.dataset)
        for job in self.todo:
            data = self._data_for(job)
            if data is None:
                continue
            result = self._fit(job, data)
            self.done[job.run] = len(result.records)
            self.training += time.monotonic() - self.fitting_since
            added = self.done[job.run] - self.before[job.run]
            self.worked += added * job.weight
            if added or job.run not in self.results.runs:
                self.results = self.results.with_run(job.run, ledger.read(self.out / job.run, curves=False))
            if result.interrupted:
                return True
        return False

    def _data_for(self, job: Job) -> Dataset | None:
        """The dataset of a run, with a graph if its model needs one; made once per dataset and kind of graph."""
        data, model = self.data(job.dataset), job.config.model
        if data is None:
            return None
        if (job.dataset, model) not in self.graphs:
            self.graphs[job.dataset, model] = with_graph(data, model)
        return self.graphs[job.dataset, model]

    def _fit(self, job: Job, data: Dataset) -> Result:
        folder = self.out / job.run
        spent = seconds_of(folder) if self.before[job.run] else seconds_of(folder) or 0.0
        noted: int | None = None  # finished trials when the time was last written

        def note_time() -> None:
            if spent is not None and self.before[job.run] < self.trials:  # else the time of earlier trials is unknown
                note_seconds(folder, spent + time.monotonic() - self.fitting_since)

        def tell(current: RunProgress) -> None:
            nonlocal noted
            self.done[job.run] = current.done
            if current.done != noted:
                noted = current.done
                note_time()
            if self.on_progress is not None:
                self.on_progress(self._progress(job, current))

        self.fitting_since = time.monotonic()
        try:
            return fit(data, job.config, trials=self.trials, out=folder, jobs=self.jobs, curves=True, on_progress=tell)
        finally:
            if noted is not None:  # else the folder may belong to another run
                note_time()

    def _progress(self, job: Job, current: RunProgress) -> Progress:
        counted = [one for one in self.todo if one.dataset not in self.missing]
        now = time.monotonic()
        usual = mean(current.trial_epochs) if current.trial_epochs else _USUAL_EPOCHS
        ended = current.done - self.before[job.run]
        most = ended + _SHARE_OF_UNFINISHED * (self.trials - current.done)
        trained = min(max(current.epochs / usual, ended), most)  # running trials count in part
        worked = self.worked + trained * job.weight
        is_telling = self.worked > 0 or trained >= _TELLING
        rest = sum((self.trials - self.done[one.run]) * one.weight for one in counted if one is not job)
        rest += (self.trials - self.before[job.run] - trained) * job.weight
        return Progress(
            job=job,
            runs_done=sum(self.done[one.run] >= self.trials for one in counted),
            runs_total=len(counted),
            trials_done=sum(self.done[one.run] for one in counted),
            trials_total=self.trials * len(counted),
            current=current,
            elapsed=now - self.start,
            seconds_left=(self.training + now - self.fitting_since) * rest / worked if is_telling else None,
        )
