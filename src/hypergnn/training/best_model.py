"""The model file of a run: that of the trial with the lowest validation loss."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from hypergnn._utils.file_errors import reason_of
from hypergnn.persistence.models import load
from hypergnn.training.records import TrialRecord

MODEL_FILE = "model.safetensors"


def best_seed(records: Iterable[TrialRecord]) -> int | None:
    """The seed of the trial with the lowest validation loss; ``None`` if no record has one.

    Example:
        >>> trial = {"epochs": 3, "best_epoch": 2, "seconds": 0.5, "test_accuracy": 80.0}
        >>> best_seed([TrialRecord(seed=0, val_loss=0.7, **trial), TrialRecord(seed=1, val_loss=0.6, **trial)])
        1
    """
    known = [(record.val_loss, record.seed) for record in records if record.val_loss is not None]
    return min(known)[1] if known else None


def problem(folder: Path, records: Collection[TrialRecord]) -> str | None:
    """What is wrong with the model file of a run with these records; ``None`` if nothing is.

    The model of a trial without a record is right: the run was stopped between saving the one and the other.

    Example:
        >>> trial = TrialRecord(seed=0, epochs=3, best_epoch=2, seconds=0.5, test_accuracy=80.0, val_loss=0.7)
        >>> problem(Path("nowhere"), [trial])
        'it is missing'
    """
    losses = {record.seed: record.val_loss for record in records if record.val_loss is not None}
    if not losses:
        return None
    path = folder / MODEL_FILE
    if not path.exists():
        return "it is missing"
    try:
        about = load(path).about
    except ValueError as error:
        return reason_of(error)
    seed, lowest = about.get("seed"), min(losses.values())
    if isinstance(seed, int) and seed in losses and losses[seed] > lowest:
        return f"it is the model of seed {seed}, but seed {best_seed(records)} has a lower validation loss"
    return None
