"""What a session of training keeps and tells: the records of its trials, the best model, how far it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import mean, stdev
from typing import Any

from hypergnn._utils.display import html_table
from hypergnn.datasets import Dataset
from hypergnn.models import Config, Network
from hypergnn.persistence.models import save
from hypergnn.training.engine import Trial
from hypergnn.training.ledger import Ledger

MODEL_FILE = "model.safetensors"
_SHOWN = 10


@dataclass(frozen=True)
class Progress:
    """How far a run is: what ``on_progress`` gets several times a second and after each finished trial."""

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


class Session:
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
        """Begin with what the ledger holds."""
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
        """Tell all listeners how far it is."""
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
