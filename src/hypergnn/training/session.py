"""One call of ``fit``: it records finished trials, saves the best model and reports progress."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from statistics import mean, stdev
from typing import Any, Protocol

from hypergnn._utils.display import html_table
from hypergnn.datasets import Dataset
from hypergnn.models import Config, Ensemble, Network
from hypergnn.persistence.files import refuse_link
from hypergnn.persistence.models import save
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.training.best_model import MODEL_FILE, best_seed, problem
from hypergnn.training.engine import Trial
from hypergnn.training.ledger import Ledger
from hypergnn.training.records import FIELDS, TrialRecord
from hypergnn.training.schedule import Failure

_SHOWN = 10

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """The state of a run, passed to ``on_progress`` several times a second and after each finished trial."""

    done: int
    """Finished trials, earlier sessions included."""
    total: int
    running: int
    """Trials in training now."""
    epochs: int
    """Epochs trained in this session, summed over trials."""
    test_accuracy: tuple[float, ...]
    """Of the finished trials, in percent."""
    trial_epochs: tuple[int, ...]
    """Epochs of each finished trial, earlier sessions included."""
    vertices_per_second: float | None = None
    """Training vertices per second, in training on batches."""


@dataclass(frozen=True)
class Result:
    """The records of all finished trials of a run, in the order of their seeds.

    Example:
        >>> trials = [
        ...     TrialRecord(seed=seed, epochs=300, best_epoch=199, seconds=2.5, test_accuracy=accuracy)
        ...     for seed, accuracy in enumerate([80.0, 82.0])
        ... ]
        >>> Result(trials, interrupted=False)
        Result(2 trials, test accuracy 81.00 ± 1.41 %)
        >>> Result(trials, interrupted=False).records[1].test_accuracy
        82.0
    """

    records: list[TrialRecord]
    interrupted: bool
    """Whether the run was stopped before all trials had finished."""
    failures: tuple[Failure, ...] = ()
    """Trials that could not be trained, because their worker was lost each time. The next call tries them again."""
    networks: Mapping[int, Network] = field(default_factory=dict, repr=False, compare=False)
    """The networks of the trials that this call has trained, by seed; a run folder holds only the best one."""

    def ensemble(self) -> Ensemble:
        """The networks of all trials as one model, which averages their probabilities.

        Raises:
            ValueError: If a trial was trained by an earlier call, so that its network is not known.

        Example:
            >>> import hypergnn as hg
            >>> data = hg.datasets.load("digits")
            >>> run = hg.training.fit(data, hg.Config(max_epochs=3), trials=2)
            >>> hg.training.predict(run.ensemble(), data).shape
            (1797, 10)
        """
        missing = [record.seed for record in self.records if record.seed not in self.networks]
        if missing or not self.records:
            raise ValueError(
                f"an ensemble needs the network of each trial; those of the seeds {missing} were trained by an earlier "
                "call, and a run folder holds only the best one. Call fit without out, or with a new folder."
            )
        return Ensemble.of([self.networks[record.seed] for record in self.records])

    def test_accuracy(self) -> tuple[float, float]:
        """Mean and standard deviation over the trials, in percent."""
        values = [record.test_accuracy for record in self.records]
        return mean(values), stdev(values) if len(values) > 1 else 0.0

    def __repr__(self) -> str:
        """The number of trials and their test accuracy."""
        failed = f", {len(self.failures)} failed" if self.failures else ""
        if not self.records:
            return f"Result(no trials{failed})"
        centre, spread = self.test_accuracy()
        if len(self.records) == 1:
            return f"Result(1 trial, test accuracy {centre:.2f} %{failed})"
        return f"Result({len(self.records)} trials, test accuracy {centre:.2f} ± {spread:.2f} %{failed})"

    def _repr_html_(self) -> str:
        names = [name for name in FIELDS if any(getattr(record, name) is not None for record in self.records)]
        rows = [[getattr(record, name) for name in names] for record in self.records[:_SHOWN]]
        more = f", the first {_SHOWN}" if len(self.records) > _SHOWN else ""
        return html_table(f"{self!r}{more}", [name.replace("_", " ") for name in names], rows)


class Sizes(Protocol):
    """The sizes of a hypergraph, and the names of its vertices."""

    @property
    def n_vertices(self) -> int: ...  # noqa: D102
    @property
    def n_hyperedges(self) -> int: ...  # noqa: D102
    @property
    def n_incidences(self) -> int: ...  # noqa: D102
    @property
    def vertex_names(self) -> Any: ...  # noqa: D102


class Described(Protocol):
    """What a model file says of the data: a `Dataset`, or what a process knows of a divided one."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def n_features(self) -> int: ...  # noqa: D102
    @property
    def n_classes(self) -> int: ...  # noqa: D102
    @property
    def class_names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def feature_names(self) -> tuple[str, ...] | None: ...  # noqa: D102
    @property
    def construction(self) -> str | None: ...  # noqa: D102
    @property
    def source(self) -> str: ...  # noqa: D102
    @property
    def encoding(self) -> Mapping[str, Any] | None: ...  # noqa: D102
    @property
    def hypergraph(self) -> Sizes: ...  # noqa: D102


class Session:
    """One call of ``fit``: the finished trials, and the listeners that follow its progress."""

    def __init__(
        self,
        data: Described,
        config: Config,
        ledger: Ledger | None,
        total: int,
        curves: bool,
        listeners: Sequence[Callable[[Progress], None]],
    ) -> None:
        """Start with the records of the ledger."""
        self.data, self.config, self.ledger, self.total = data, config, ledger, total
        self.keeps_curves, self.listeners = curves, listeners
        self.records = {record.seed: record for record in (ledger.records if ledger else ())}
        self._epochs_before = self._epochs_of_records()
        self.failures: list[Failure] = []
        self.networks: dict[int, Network] = {}
        self.epochs = 0
        self.running = 0
        self.vertices_per_second: float | None = None

    def to_train(self) -> list[int]:
        """The seeds without a record, and the one whose model is lost or damaged and must be made again."""
        missing = [seed for seed in range(self.total) if seed not in self.records]
        best = best_seed(self.records.values())
        if self.ledger is None or best is None:
            return missing
        if (wrong := problem(self.ledger.folder, list(self.records.values()))) is None:
            return missing
        path = self.ledger.folder / MODEL_FILE
        _log.warning("%s: %s; training seed %d again to rebuild it", path, wrong, best)
        return [best, *missing]

    def finish(self, trial: Trial) -> None:
        """Record a trial. The model is saved before the record, so that a record implies that its model was saved."""
        if trial.seed in self.records:  # only its model was lost
            if trial.seed == best_seed(self.records.values()):
                self._save_model(trial)
            return
        self.networks[trial.seed] = self._network(trial)
        record = as_record(trial)
        losses = [one.val_loss for one in self.records.values() if one.val_loss is not None]
        if self.ledger is not None:
            if trial.loss["val"] < min(losses, default=inf):
                self._save_model(trial)
            self.ledger.append(record, curves=_finite_curves(trial) if self.keeps_curves else None)
        self.records[trial.seed] = record
        self.report()

    def fail(self, failure: Failure) -> None:
        """Note a trial that could not be trained."""
        _log.warning("not trained: %s", failure)
        self.failures.append(failure)
        self.report()

    def report(self) -> None:
        """Report the progress to all listeners."""
        if self.listeners:
            done = [self.records[seed] for seed in sorted(self.records) if seed < self.total]
            accuracy = tuple(record.test_accuracy for record in done)
            epochs = tuple(record.epochs for record in done)
            trained = self.epochs
            if self.config.batch_size is None:  # else a checkpoint may hold epochs of an earlier session
                trained = max(trained, self._epochs_of_records() - self._epochs_before)  # workers count now and then
            state = (len(done), self.total, self.running, trained, accuracy, epochs, self.vertices_per_second)
            for listener in self.listeners:
                listener(Progress(*state))

    def _epochs_of_records(self) -> int:
        return sum(record.epochs for record in self.records.values())

    def _network(self, trial: Trial) -> Network:
        return Network.from_parameters(self.config, self.data.n_features, self.data.n_classes, trial.parameters)

    def _save_model(self, trial: Trial) -> None:
        if self.ledger is None:
            return
        network = self._network(trial)
        about = {
            "data": self.data.name,
            "feature_names": self.data.feature_names,
            **({} if self.data.encoding is None else {"encoding": dict(self.data.encoding)}),
            **({"memberships": self.data.has_memberships} if isinstance(self.data, Dataset) else {}),
            "directed": isinstance(self.data.hypergraph, DirectedHypergraph),
            "seed": trial.seed,
            "val_loss": trial.loss["val"],
        }
        H, path = self.data.hypergraph, self.ledger.folder / MODEL_FILE
        refuse_link(path)
        save(
            network,
            path,
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
    """The curves with ``None`` for infinite losses, which JSON cannot hold."""
    return {name: [loss if isfinite(loss) else None for loss in curve] for name, curve in trial.curves.items()}


def as_record(trial: Trial) -> TrialRecord:
    """The record of a trial that the engine has finished."""
    accuracy, loss = trial.accuracy, trial.loss
    return TrialRecord(
        seed=trial.seed,
        epochs=trial.epochs,
        best_epoch=trial.best_epoch,
        seconds=round(trial.seconds, 3),
        train_accuracy=accuracy["train"],
        val_accuracy=accuracy["val"],
        test_accuracy=accuracy["test"],
        train_loss=loss["train"],
        val_loss=loss["val"],
        test_loss=loss["test"],
    )
