"""What a system of the comparison is: fitted on a dataset with a seed, it gives probabilities for all vertices.

A system is a frozen dataclass whose fields are its settings, so that a record of ``asdict(system)`` says what was run.
It sees the features, the structures, and the labels of ``data.train``; it may use those of ``data.val`` to stop or to
choose an epoch, and never those of ``data.test``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from hypergnn.datasets import Dataset

Probabilities = npt.NDArray[np.float64]


class System(Protocol):
    """A way to classify the vertices of a dataset, with settings as fields."""

    name: ClassVar[str]
    """A short name, such as ``"label-propagation"``."""
    title: ClassVar[str]
    """The name of its row, such as ``"Label Propagation"``."""
    is_deterministic: ClassVar[bool]
    """Whether all seeds give the same; then one trial is all there is. A class may also have a ``time_limit``: seconds
    that a trial may take, six hours if omitted."""

    @classmethod
    def for_dataset(cls, dataset: str) -> Self:
        """The system with its settings for a dataset: published ones, or those chosen on validation vertices."""
        ...

    def fit(self, data: Dataset, seed: int) -> Probabilities:
        """Probability of each class for every vertex, ``(n_vertices, n_classes)``; rows sum to 1.

        Raises:
            DoesNotApplyError: If the system cannot run on such data.
        """
        ...


class DoesNotApplyError(ValueError):
    """A system cannot run on a dataset; the message says why."""


class SettingsByDataset:
    """Gives a dataclass of settings its ``for_dataset``: the defaults, with the exceptions of some datasets."""

    settings_of: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Where the settings for a dataset differ from the defaults."""

    @classmethod
    def for_dataset(cls, dataset: str) -> Self:
        """The settings for a dataset; the defaults for one that is not listed."""
        return cls(**cls.settings_of.get(dataset, {}))
