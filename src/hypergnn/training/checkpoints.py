"""Checkpoints inside a trial: what training needs to continue from a batch as if it had never stopped."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from torch import Tensor

from hypergnn.persistence import tensor_files
from hypergnn.persistence.files import refuse_link

_FORMAT = 1
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Moment:
    """A moment in the training of a trial."""

    numbers: dict[str, Any]
    """Epoch, batch, losses and the like, in JSON types."""
    tensors: dict[str, Tensor]
    """Parameters, the best ones so far, and the moments of the optimiser."""


class Checkpoints:
    """The checkpoint files of a run folder, one for each trial in training.

    Example:
        >>> import tempfile, torch
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoints = Checkpoints(folder, every=10)
        ...     checkpoints.write(0, Moment({"epoch": 3}, {"weight": torch.ones(2)}))
        ...     checkpoints.read(0).numbers
        {'epoch': 3}
    """

    def __init__(self, folder: str | os.PathLike[str], every: int) -> None:
        """Note where the files are, and after how many batches one is written."""
        self.folder, self.every = Path(folder), every

    def path(self, seed: int) -> Path:
        """The file of a trial."""
        return self.folder / f"checkpoint-{seed}.safetensors"

    def write(self, seed: int, moment: Moment) -> None:
        """Replace the checkpoint of a trial; it is on disk when the function returns."""
        path = self.path(seed)
        refuse_link(path)
        tensor_files.write(path, "Checkpoint", _FORMAT, {"numbers": moment.numbers}, moment.tensors)

    def read(self, seed: int) -> Moment | None:
        """The checkpoint of a trial; ``None`` if there is none, or it is damaged: the trial then starts again."""
        path = self.path(seed)
        if not path.exists():
            return None
        try:
            content = tensor_files.read(path, "Checkpoint", _FORMAT)
            if not isinstance(content.header.get("numbers"), dict):
                raise ValueError(f"{path} is damaged: its numbers are missing.")
        except ValueError as error:
            self.refuse(seed, error)
            return None
        return Moment(content.header["numbers"], {name: one.clone() for name, one in content.tensors.items()})

    def refuse(self, seed: int, error: Exception) -> None:
        """Say that the checkpoint of a trial cannot be used."""
        _log.warning("%s; training seed %d from its beginning", str(error).rstrip("."), seed)

    def remove(self, seed: int) -> None:
        """Remove the checkpoint of a trial that has finished."""
        self.path(seed).unlink(missing_ok=True)


def check_tensors(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Raise unless a checkpoint holds exactly the expected tensors: names, types, shapes, and finite numbers.

    Example:
        >>> import torch
        >>> check_tensors({"weight": torch.ones(2)}, {"weight": torch.ones(3)})
        Traceback (most recent call last):
        ValueError: the checkpoint is of another network, or damaged: weight does not fit.
    """
    for name in sorted({*found, *expected}):
        one, other = found.get(name), expected.get(name)
        if one is None or other is None or (one.shape, one.dtype) != (other.shape, other.dtype):
            raise ValueError(f"the checkpoint is of another network, or damaged: {name} does not fit.")
        if not bool(one.isfinite().all()):
            raise ValueError(f"the checkpoint is damaged: {name} is not finite.")


def check_numbers(name: str, values: object, *, lowest: float, size: int | None = None, whole: bool = False) -> None:
    """Raise unless a checkpoint has a list of finite numbers there, of at least ``lowest``.

    Args:
        name: What the numbers are.
        values: What the checkpoint has there.
        lowest: The smallest number that can be.
        size: How many numbers there must be; any number if omitted.
        whole: Whether they are whole numbers.

    Example:
        >>> check_numbers("losses", [0.5, float("nan")], lowest=0)
        Traceback (most recent call last):
        ValueError: the checkpoint is damaged: losses must be a list of numbers.
    """
    kinds = (int,) if whole else (int, float)
    is_right = isinstance(values, list) and (size is None or len(values) == size)
    if is_right and all(type(one) in kinds and math.isfinite(one) and one >= lowest for one in cast(list[Any], values)):
        return
    what = f"{'' if size is None else f'{size} '}{'whole numbers' if whole else 'numbers'}"
    raise ValueError(f"the checkpoint is damaged: {name} must be a list of {what}.")


def check_curves(curves: object, n_epochs: Mapping[str, int]) -> None:
    """Raise unless a checkpoint has the curves of these names, each with a loss for so many epochs.

    Example:
        >>> check_curves({"train_loss": [1.0, 0.5], "val_loss": []}, {"train_loss": 2, "val_loss": 0})
    """
    if not isinstance(curves, dict) or set(curves) != set(n_epochs):
        raise ValueError("the checkpoint is damaged: its curves have other names.")
    for name, values in curves.items():
        check_numbers(name, values, lowest=0, size=n_epochs[name])
