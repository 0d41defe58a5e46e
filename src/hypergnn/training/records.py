"""The record of a finished trial: one type for training, run folders, results and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any

from hypergnn._utils.checks import check_size


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """A finished trial, evaluated with the parameters of its epoch with the lowest validation loss.

    Accuracies are in percent. What was not measured, or not stored, is ``None``.

    Example:
        >>> record = TrialRecord(seed=0, epochs=300, best_epoch=199, seconds=2.5, test_accuracy=81.5)
        >>> record.test_accuracy, record.val_loss
        (81.5, None)
    """

    seed: int
    epochs: int
    """Epochs trained, those after the best one included."""
    best_epoch: int
    """The epoch with the lowest validation loss, counted from 0."""
    seconds: float
    """Training time: this trial's share of the epochs that its batch trained together."""
    train_accuracy: float | None = None
    val_accuracy: float | None = None
    test_accuracy: float
    train_loss: float | None = None
    val_loss: float | None = None
    test_loss: float | None = None
    cpu_seconds: float | None = None
    """Processor time of the trial alone, for a system that has a process of its own."""
    peak_megabytes: float | None = None
    """Most memory during the trial, above that of its process when the trial began."""

    def __post_init__(self) -> None:
        """Check the seed, which identifies the trial."""
        check_size("seed", self.seed)

    def to_json(self) -> dict[str, Any]:
        """The record as a JSON object; fields that are ``None`` are left out.

        Example:
            >>> TrialRecord(seed=0, epochs=3, best_epoch=2, seconds=0.5, test_accuracy=80.0).to_json()
            {'seed': 0, 'epochs': 3, 'best_epoch': 2, 'seconds': 0.5, 'test_accuracy': 80.0}
        """
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> TrialRecord:
        """The record of a JSON object. Keys that this version does not know are ignored.

        Raises:
            ValueError: If a required field is missing, or a field is not a number.

        Example:
            >>> record = TrialRecord(seed=0, epochs=3, best_epoch=2, seconds=0.5, test_accuracy=80.0)
            >>> TrialRecord.from_json(record.to_json()) == record
            True
        """
        missing = [name for name in _REQUIRED if entry.get(name) is None]
        if missing:
            needed, lacks = ", ".join(_REQUIRED), ", ".join(missing)
            raise ValueError(f"a trial must have {needed}; that of seed {entry.get('seed')} lacks {lacks}.")
        for name in FIELDS:
            value = entry.get(name)
            if value is not None and not (type(value) is int or (type(value) is float and isfinite(value))):
                raise ValueError(f"{name} must be a finite number; got {value!r:.60}.")
        for name in ("seed", "epochs", "best_epoch"):
            if type(entry[name]) is not int or entry[name] < 0:
                raise ValueError(f"{name} must be a whole number of at least 0; got {entry[name]}.")
        return cls(**{name: entry[name] for name in FIELDS if name in entry})


FIELDS = tuple(one.name for one in fields(TrialRecord))
"""The fields of a record in the order of a run folder's lines."""
_REQUIRED = ("seed", "epochs", "best_epoch", "seconds", "test_accuracy")
