"""Runs what fills the tables: cells with the same data and settings share one run, and every run can be resumed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import cast

from hypergnn._utils.checks import check_size
from hypergnn.datasets import DataNotFoundError, Dataset, load
from hypergnn.experiments import measures
from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.results import Results, note, note_seconds, seconds_of
from hypergnn.models import KINDS, Config
from hypergnn.structures.graph import Graph
from hypergnn.structures.shared_graph import SharedGraph
from hypergnn.training import Outcome, fit
from hypergnn.training import Progress as RunProgress
from hypergnn.training.environment import environment
from hypergnn.training.ledger import is_left_over

_OF_MODEL = {
    "mlp": 0.5,
    "gcn": 1.0,
    "hyper-conv": 1.5,
    "gcn+hyper-conv": 2.0,
    "gat": 2.0,
    "hyper-attention": 6.0,
    "gat+hyper-attention": 7.5,
}  # how long a trial takes on Cora, GCN's being 1, as measured
_OF_DATA = {
    ("pubmed", "gat"): 1.8,
    ("pubmed", "hyper-attention"): 5.0,
    ("20news", "gcn"): 11.0,
    ("20news", "hyper-conv"): 2.7,
}  # how many times as long as on Cora
_NARROW = 0.7  # a trial of few features: shorter epochs, but more of them
_PER_LAYER = 0.15  # of a trial of two layers, for each layer of a deeper one: longer epochs, but fewer
_USUAL_EPOCHS = 500
_TELLING = 0.1  # of a trial: what must be trained before the time left is worth a guess
_SHARE_OF_UNFINISHED = 0.9  # of a trial counts as trained while it goes on


@dataclass(frozen=True)
class Job:
    """A run that is to be made, and the cells that it fills."""

    run: str
    dataset: str
    config: Config
    cells: tuple[Cell, ...]

    @property
    def weight(self) -> float:
        """About how long one of its trials takes, compared with those of others; only the time left depends on it."""
        is_narrow = self.config.heads * self.config.hidden < 64
        deep = 1.0 if self.config.depth <= 2 else _PER_LAYER * self.config.depth
        of_data = _OF_DATA.get((self.dataset, self.config.model), 1.0)
        return _OF_MODEL[self.config.model] * of_data * deep * (_NARROW if is_narrow else 1.0)


@dataclass(frozen=True)
class Progress:
    """How far a reproduction is: what ``on_progress`` gets."""

    job: Job
    """The run in training."""
    runs_done: int
    runs_total: int
    trials_done: int
    """Of all runs, those of earlier sessions included."""
    trials_total: int
    current: RunProgress
    """How far the run in training is."""
    elapsed: float
    """Seconds that this session has taken."""
    seconds_left: float | None
    """For all runs together; ``None`` while nothing is known."""


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction has given."""

    results: Results
    interrupted: bool
    """Whether it was stopped before the end; the same call goes on."""
    missing: dict[str, str] = field(default_factory=dict)
    """Datasets that could not be had, each with the reason."""


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


def with_graph(data: Dataset) -> Dataset:
    """The dataset with a graph for the pairwise networks, also where the data itself has none.

    For ``20news`` the graph joins two postings that share a word, for ``digits`` an image with its nearest neighbours.

    Example:
        >>> with_graph(load("digits")).graph
        Graph(1797 vertices, 12340 links)
    """
    H = data.hypergraph
    if data.graph is not None:
        return data
    if H.centroid is None:
        return replace(data, graph=SharedGraph.from_hypergraph(H))
    return replace(data, graph=Graph.from_links(H.vertex, H.centroid[H.hyperedge], H.n_vertices))


def reproduce(
    tables: Sequence[Table],
    trials: int = 100,
    datasets: Collection[str] | None = None,
    out: str | os.PathLike[str] = "runs/paper",
    jobs: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Reproduction:
    """Fill tables of the paper: train what is missing, note what is counted and timed, and read all of it back.

    Args:
        tables: Which, of :data:`hypergnn.experiments.paper.TABLES`.
        trials: Trials of each cell, with the seeds 0, 1, 2, …
        datasets: Only the cells of these; all if omitted.
        out: Folder of the reproduction. Trials that stand in it are not trained again.
        jobs: As in :func:`hypergnn.training.fit`.
        on_progress: Called as training goes on, from this thread. Without it, downloads show no progress either.

    Raises:
        DataNotFoundError: If none of the datasets can be had.

    Example:
        >>> import tempfile
        >>> from hypergnn.experiments.paper import STAND_IN
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     reproduce([STAND_IN], datasets=[], out=folder).results.runs
        {}
    """
    check_size("trials", trials, minimum=1)
    try:
        session = _Session(Path(out), trials, jobs, runs_of(tables, datasets), on_progress)
        session.note_measures(tables, datasets)
        interrupted = session.train()
    except KeyboardInterrupt:  # while nothing was in training
        return Reproduction(_read(Path(out)), interrupted=True)
    if session.missing and not session.loaded:
        raise session.missing[next(iter(session.missing))]
    missing = {name: str(error) for name, error in session.missing.items()}
    return Reproduction(_read(Path(out)), interrupted, missing)


def _read(out: Path) -> Results:
    try:
        return Results.read(out)
    except ValueError:
        if out.exists() and any(out.iterdir()):
            files = [path for path in out.rglob("*") if not path.is_dir()]
            if not all(is_left_over(path.name) for path in files):
                raise
        return Results({}, {})


class _Session:
    """The runs of one call, one after the other: a single run keeps all workers busy."""

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
        self.joined: dict[str, Dataset] = {}  # the same with graphs
        self.missing: dict[str, DataNotFoundError] = {}
        found = _read(out)
        self.noted = found.measures
        self.before = {job.run: sum(record.seed < trials for record in found.runs.get(job.run, [])) for job in todo}
        self.done = dict(self.before)
        self.worked = 0.0  # trials finished in this session, in units of Job.weight
        self.training = 0.0  # seconds that they took
        self.fitting_since = self.start

    def data(self, name: str) -> Dataset | None:
        """A dataset, loaded once; ``None``, and noted as missing, if it cannot be had."""
        if name not in self.loaded and name not in self.missing:
            try:
                self.loaded[name] = load(name, quiet=self.on_progress is None)
            except DataNotFoundError as error:
                self.missing[name] = error
        return self.loaded.get(name)

    def note_measures(self, tables: Sequence[Table], datasets: Collection[str] | None) -> None:
        """Count and time what the tables have of that, unless it was noted before."""
        for table in tables:
            wanted = {cell.dataset for cell in table.cells if cell.measure != "accuracy"}
            for name in sorted(wanted if datasets is None else wanted.intersection(datasets)):
                own = {f"{table.name}:{cell.name}" for cell in table.cells if cell.dataset == name}
                data = None if own <= self.noted.keys() else self.data(name)
                if data is not None:
                    found = measures.times(data) if table.name == "timing" else measures.counts(data)
                    named = {f"{table.name}:{cell}": number for cell, number in found.items()}
                    note(self.out, {cell: number for cell, number in named.items() if cell in own}, environment())

    def train(self) -> bool:
        """Train all that is missing; whether an interrupt ended that early."""
        for job in self.todo:  # all data before any training, so that nothing is found missing hours later
            self.data(job.dataset)
        for job in self.todo:
            data = self.data(job.dataset)
            if data is None:
                continue
            if "graph" in KINDS[job.config.model].structures:
                if job.dataset not in self.joined:
                    self.joined[job.dataset] = with_graph(data)
                data = self.joined[job.dataset]
            outcome = self._fit(job, data)
            self.done[job.run] = len(outcome.records)
            self.training += time.monotonic() - self.fitting_since
            self.worked += (self.done[job.run] - self.before[job.run]) * job.weight
            if outcome.interrupted:
                return True
        return False

    def _fit(self, job: Job, data: Dataset) -> Outcome:
        folder = self.out / job.run
        spent = seconds_of(folder) if self.before[job.run] else seconds_of(folder) or 0.0
        noted: int | None = None  # trials that were done when the time was last written down

        def note_time() -> None:
            if spent is not None and self.before[job.run] < self.trials:  # else that of earlier trials is not known
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
            if noted is not None:  # else the folder may be another's
                note_time()

    def _progress(self, job: Job, current: RunProgress) -> Progress:
        counted = [one for one in self.todo if one.dataset not in self.missing]
        now = time.monotonic()
        usual = mean(current.trial_epochs) if current.trial_epochs else _USUAL_EPOCHS
        ended = current.done - self.before[job.run]
        most = ended + _SHARE_OF_UNFINISHED * (self.trials - current.done)
        trained = min(max(current.epochs / usual, ended), most)  # those that are running in part
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
