"""Runs that fill the tables. Cells with the same data and settings share one run, and every run can be resumed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from hypergnn._utils.checks import check_trials
from hypergnn.datasets import DataNotFoundError, Dataset, load
from hypergnn.experiments import measures
from hypergnn.experiments.cells import Table
from hypergnn.experiments.identity import usual_trials
from hypergnn.experiments.jobs import Job, runs_of
from hypergnn.experiments.own_cells import note_own, own_tables
from hypergnn.experiments.results import Results, note
from hypergnn.experiments.run_notes import note_failure, note_inapplicable, note_seconds, seconds_of
from hypergnn.experiments.systems import running
from hypergnn.training import Progress as RunProgress
from hypergnn.training import Result, fit, ledger
from hypergnn.training.environment import environment
from hypergnn.training.ledger import is_left_over
from hypergnn.training.pairwise import with_graph
from hypergnn.training.records import TrialRecord

_USUAL_EPOCHS = 500
_TELLING = 0.1  # share of a trial to train before the remaining time is estimated
_SHARE_OF_UNFINISHED = 0.9  # largest share of a trial that counts as trained while it runs


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


def reproduce(
    tables: Sequence[Table],
    trials: int = 100,
    datasets: Collection[str] | None = None,
    out: str | os.PathLike[str] = "runs/paper",
    jobs: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    exactly: bool = False,
    own: Mapping[str, Dataset] | None = None,
) -> Reproduction:
    """Fill tables of the paper: train the missing trials, count and time the rest, and return all results.

    A system that raises, or returns something else than probabilities, fails its own cells only, and so does a network
    that cannot be trained; see ``Results.failures``.

    Args:
        tables: Tables of :data:`hypergnn.experiments.paper.TABLES`.
        trials: Trials of each cell, with the seeds 0, 1, 2, …
        datasets: Only the cells of these datasets; all if omitted.
        out: Folder of the reproduction. Trials recorded in it are not trained again.
        jobs: As in :func:`hypergnn.training.fit`.
        on_progress: Called during training, from this thread. Without it, downloads show no progress either.
        exactly: Whether systems whose trials take long get as many as the others; see
            :func:`hypergnn.experiments.identity.usual_trials`.
        own: Datasets of your own by the names that the cells have for them.

    Raises:
        DataNotFoundError: If none of the datasets is available.

    Example:
        >>> import tempfile
        >>> from hypergnn.experiments.paper import STAND_IN
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     reproduce([STAND_IN], datasets=[], out=folder).results.runs
        {}
    """
    check_trials(trials)
    own_tables(Path(out))  # find errors now, not after hours
    session = _Session(Path(out), trials, jobs, runs_of(tables, datasets), on_progress, exactly=exactly)
    session.loaded.update(own or {})
    try:
        session.note_measures(tables, datasets)
        interrupted = session.train()
    except KeyboardInterrupt:  # while nothing was in training
        interrupted = True
    if session.results.folders:
        note_own(Path(out), tables)
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
        *,
        exactly: bool = False,
    ) -> None:
        self.out, self.jobs, self.todo, self.on_progress = out, jobs, todo, on_progress
        self.most, self.exactly = trials, exactly
        self.start = time.monotonic()
        self.loaded: dict[str, Dataset] = {}
        self.graphs: dict[tuple[str, str], Dataset] = {}  # with the graph that a model needs
        self.missing: dict[str, DataNotFoundError] = {}
        self.failed: set[str] = set()  # runs that cannot be finished
        self.results = _read(out)  # once; what this session adds is added here as well
        runs = self.results.runs
        self.trials = {job.run: self._trials_of(job, runs.get(job.run, [])) for job in todo}
        self.before = {run: sum(one.seed < most for one in runs.get(run, [])) for run, most in self.trials.items()}
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
            if self.data(job.dataset) is None:
                continue
            try:
                result = self._fit_all(job)
            except (ValueError, ChildProcessError) as error:  # such data, or no worker that lives: the others go on
                self.failed.add(job.run)
                self.results = self.results.with_failure(job.run, " ".join(str(error).split()))
                continue
            self.done[job.run] = len(result.records)
            added = self.done[job.run] - self.before[job.run]
            self.worked += added * job.weight
            if result.failures:
                self._note_failure(job, result)
            elif added and not result.interrupted:
                note_failure(self.out / job.run, None)
            if added or result.failures or job.run not in self.results.runs:
                self.results = self.results.with_run(job.run, ledger.read(self.out / job.run, curves=False))
            if result.interrupted:
                return True
        return False

    def _fit_all(self, job: Job) -> Result:
        """The trials of a run: all, or the first few, whose time decides how many more to run."""
        data = self._data_for(job)
        result = self._fit(job, data)
        more = self._trials_of(job, result.records)
        if more > self.trials[job.run] and not result.interrupted and not result.failures:
            self.trials[job.run] = more  # the first ones were short
            result = self._fit(job, data)
        return result

    def _trials_of(self, job: Job, so_far: Sequence[TrialRecord]) -> int:
        """How many trials a run has, judging by the recorded ones."""
        if job.system is None:
            return self.most
        in_order = sorted(so_far, key=lambda one: one.seed)
        spent = [one.seconds if one.cpu_seconds is None else one.cpu_seconds for one in in_order]
        return min(usual_trials(job.system, self.most, spent, exactly=self.exactly), job.most or self.most)

    def _note_failure(self, job: Job, result: Result) -> None:
        """Note in the folder of a run that a trial failed, or that its system does not apply."""
        self.failed.add(job.run)
        failure, folder = result.failures[0], self.out / job.run
        if failure.inapplicable is not None and not result.records:
            note_inapplicable(folder, failure.inapplicable)
        else:
            note_failure(
                folder, str(failure) if job.system is None else f"seed {failure.seed}: the system {failure.cause}"
            )

    def _data_for(self, job: Job) -> Dataset:
        """The dataset of a run, with a graph if its model needs one; made once per dataset and kind of graph."""
        if (job.dataset, job.model) not in self.graphs:
            self.graphs[job.dataset, job.model] = with_graph(self.loaded[job.dataset], job.model)
        return self.graphs[job.dataset, job.model]

    def _fit(self, job: Job, data: Dataset) -> Result:
        folder = self.out / job.run
        spent = seconds_of(folder) if self.before[job.run] else seconds_of(folder) or 0.0
        trials = self.trials[job.run]
        noted: int | None = None  # finished trials when the time was last written

        def note_time() -> None:
            if spent is not None and self.before[job.run] < trials:  # else the time of earlier trials is unknown
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
            if job.system is not None:
                jobs = 1 if job.most is not None else self.jobs  # what only measures costs: most trials are warm
                return running.fit(job.system, data, trials=trials, out=folder, jobs=jobs, on_progress=tell)
            return fit(data, job.config, trials=trials, out=folder, jobs=self.jobs, curves=True, on_progress=tell)
        finally:
            if noted is not None:  # else the folder may belong to another run
                note_time()
            self.training += time.monotonic() - self.fitting_since
            self.fitting_since = time.monotonic()

    def _progress(self, job: Job, current: RunProgress) -> Progress:
        counted = [one for one in self.todo if one.dataset not in self.missing and one.run not in self.failed]
        now = time.monotonic()
        usual = (mean(current.trial_epochs) if current.trial_epochs else 0) or _USUAL_EPOCHS
        ended = current.done - self.before[job.run]
        most = ended + _SHARE_OF_UNFINISHED * (self.trials[job.run] - current.done)
        trained = min(max(current.epochs / usual, ended), most)  # running trials count in part
        worked = self.worked + trained * job.weight
        is_telling = self.worked > 0 or trained >= _TELLING
        rest = sum((self.trials[one.run] - self.done[one.run]) * one.weight for one in counted if one is not job)
        rest += (self.trials[job.run] - self.before[job.run] - trained) * job.weight
        return Progress(
            job=job,
            runs_done=sum(self.done[one.run] >= self.trials[one.run] for one in counted),
            runs_total=len(counted),
            trials_done=sum(self.done[one.run] for one in counted),
            trials_total=sum(self.trials[one.run] for one in counted),
            current=current,
            elapsed=now - self.start,
            seconds_left=(self.training + now - self.fitting_since) * rest / worked if is_telling else None,
        )
