"""The checkpoint of trials in training: process 0 writes it, and all processes continue from it."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from hypergnn.distributed.groups import on_first, rank_and_size
from hypergnn.persistence import tensor_files
from hypergnn.persistence.files import refuse_link
from hypergnn.training.checkpoints import check_curves, check_numbers, check_tensors

NAME = "checkpoint.safetensors"
_FORMAT = 1
_OF_EACH = ("seeds", "best_loss", "best_epoch", "seconds", "curves")
"""What has an entry for each trial."""
_log = logging.getLogger(__name__)


class FolderCheckpoints:
    """A checkpoint in a run folder, replaced every few epochs; see :class:`hypergnn.training.engine.Checkpoints`.

    Args:
        folder: The run folder; nothing is saved if ``None``.
        every: Number of epochs between two checkpoints.
    """

    def __init__(self, folder: Path | None, every: int) -> None:
        """Note where the file is."""
        self.folder, self.every = folder, every

    @property
    def path(self) -> Path | None:
        """The file."""
        return None if self.folder is None else self.folder / NAME

    def seeds(self) -> list[int]:
        """The seeds of the trials in the checkpoint; none if there is none, or it is damaged."""
        found = self._read()
        return [] if found is None else [int(seed) for seed in found[0]["seeds"]]

    def load(self, state: Any) -> int:
        """Restore the state of these trials in all processes; return the epoch to continue with."""
        found: Any = on_first(lambda: self._read(state))
        if found is None:
            return 0
        numbers, tensors = found
        with torch.no_grad():
            for part, values in _parts(state).items():
                for name, one in values.items():
                    one.copy_(tensors[f"{part}.{name}"])
        state.optimizer.steps = numbers["steps"]
        for name in _OF_EACH[1:]:
            setattr(state, name, numbers[name])
        return int(numbers["epoch"])

    def save(self, state: Any, epoch: int) -> None:
        """Replace the checkpoint, if it is time for that."""
        if self.path is None or epoch % self.every or rank_and_size()[0] != 0:
            return
        numbers = {
            "epoch": epoch,
            "seeds": state.seeds,
            "steps": state.optimizer.steps,
            **{name: getattr(state, name) for name in _OF_EACH[1:]},
        }
        tensors = {
            f"{part}.{name}": one.detach().cpu()
            for part, values in _parts(state).items()
            for name, one in values.items()
        }
        refuse_link(self.path)
        tensor_files.write(self.path, "Checkpoint", _FORMAT, {"numbers": numbers}, tensors)

    def remove(self) -> None:
        """Remove the checkpoint of trials that have finished."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _read(self, state: Any = None) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
        """What the file holds; ``None`` if it is damaged, or does not fit the state."""
        if self.path is None or not self.path.exists():
            return None
        try:
            content = tensor_files.read(self.path, "Checkpoint", _FORMAT)
            numbers = content.header.get("numbers")
            if not isinstance(numbers, dict):
                raise ValueError(f"{self.path} is damaged: its numbers are missing")
            check_numbers("seeds", numbers.get("seeds"), lowest=0, whole=True)
            if len(set(numbers["seeds"])) < len(numbers["seeds"]):
                raise ValueError("the checkpoint is damaged: a seed occurs twice")
            if state is not None:
                if not set(state.seeds) <= set(numbers["seeds"]):  # of other trials
                    return None
                numbers, tensors = _of_seeds(state.seeds, numbers, content.tensors)
                _check(numbers, tensors, state)
                return numbers, tensors
            return numbers, {name: one.clone() for name, one in content.tensors.items()}
        except ValueError as error:
            _log.warning("%s; training from the beginning", str(error).rstrip("."))
            return None


def _of_seeds(
    seeds: list[int], numbers: dict[str, Any], tensors: dict[str, Tensor]
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What a checkpoint holds of some of its trials."""
    n, places = len(numbers["seeds"]), [numbers["seeds"].index(seed) for seed in seeds]
    chosen = {}
    for name in _OF_EACH:
        if not isinstance(numbers.get(name), list) or len(numbers[name]) != n:
            raise ValueError(f"the checkpoint is damaged: it must have {name} of {n} trials.")
        chosen[name] = [numbers[name][place] for place in places]
    for name, one in tensors.items():
        if one.ndim == 0 or one.shape[0] != n:
            raise ValueError(f"the checkpoint is damaged: {name} must have {n} rows, one per trial.")
    return numbers | chosen, {name: one[places] for name, one in tensors.items()}


def _check(numbers: dict[str, Any], tensors: dict[str, Tensor], state: Any) -> None:
    """Raise unless all that a checkpoint holds fits the trials."""
    expected = {f"{part}.{name}": one for part, values in _parts(state).items() for name, one in values.items()}
    check_tensors(tensors, expected)
    n = len(state.seeds)
    check_numbers("epochs and steps", [numbers.get("epoch"), numbers.get("steps")], lowest=0, whole=True)
    check_numbers("best epochs", numbers.get("best_epoch"), lowest=0, size=n, whole=True)
    check_numbers("seconds", numbers.get("seconds"), lowest=0, size=n)
    losses = numbers.get("best_loss")
    known = [one for one in losses if one != math.inf] if isinstance(losses, list) and len(losses) == n else None
    check_numbers("best losses", known, lowest=0)
    curves = numbers.get("curves")
    if not isinstance(curves, list) or len(curves) != n:
        raise ValueError(f"the checkpoint is damaged: it must have curves of {n} trials.")
    for one, best in zip(curves, cast(list[float], losses), strict=True):
        check_curves(one, {"train_loss": numbers["epoch"], "val_loss": 0 if best == math.inf else numbers["epoch"]})


def _parts(state: Any) -> dict[str, dict[str, Tensor]]:
    return {
        "parameters": state.parameters,
        "best": state.best,
        "means": state.optimizer.means,
        "squares": state.optimizer.squares,
    }
