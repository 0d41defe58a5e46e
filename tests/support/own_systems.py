"""Systems small enough for a test: one that is deterministic, one that depends on its seed, and some that fail."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from hypergnn.experiments.systems import DoesNotApplyError


def _soft(scores):
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Tiny:
    """What the systems share."""

    name: ClassVar[str] = "tiny"
    title: ClassVar[str] = "Tiny"
    is_deterministic: ClassVar[bool] = False
    noise: float = 0.0

    @classmethod
    def for_dataset(cls, dataset):
        return cls(noise=0.3 if dataset == "digits" else 0.1)

    def fit(self, data, seed):
        """The class of the nearest mean of training vertices, with some noise."""
        x = np.asarray(data.features().to_dense(), dtype=np.float64)
        means = np.stack([x[data.train][data.y[data.train] == one].mean(axis=0) for one in range(data.n_classes)])
        means += self.noise * x.std() * np.random.default_rng(seed).normal(size=means.shape)
        return _soft(-np.square(x[:, None] - means).sum(axis=2) / x.shape[1])


@dataclass(frozen=True)
class Centroid(Tiny):
    name: ClassVar[str] = "centroid"
    title: ClassVar[str] = "Nearest centroid"
    is_deterministic: ClassVar[bool] = True

    @classmethod
    def for_dataset(cls, dataset):  # noqa: ARG003
        return cls()


@dataclass(frozen=True)
class Slow(Tiny):
    name: ClassVar[str] = "slow"
    title: ClassVar[str] = "Slow"


@dataclass(frozen=True)
class Faulty(Tiny):
    """Fails in the way that its setting says, from a seed on."""

    name: ClassVar[str] = "faulty"
    title: ClassVar[str] = "Faulty"
    how: str = "raises"
    since: int = 0
    time_limit: ClassVar[float] = 60.0

    def fit(self, data, seed):
        found = super().fit(data, seed)
        if seed < self.since:
            return found
        if self.how == "raises":
            raise ValueError("the graph must be connected.\nIt is not.")
        if self.how == "lacks links":
            raise DoesNotApplyError("it needs a list of links.")
        if self.how == "lacks":
            import no_such_package  # noqa: F401
        if self.how == "exits":
            raise SystemExit(3)
        if self.how == "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.how == "waits":
            time.sleep(600)
        if self.how in ("forks", "detaches") and os.fork() == 0:  # it holds the pipe for the answers
            if self.how == "detaches":
                os.setsid()
            time.sleep(40)
            os._exit(0)
        if self.how in ("forks", "detaches"):
            os._exit(7)
        return {
            "nan": np.full_like(found, np.nan),
            "shape": found[:, 0],
            "scores": 3 * found,
            "text": "done",
        }[self.how]


@dataclass(frozen=True)
class Curious(Tiny):
    """Looks at labels that it must not see."""

    name: ClassVar[str] = "curious"
    title: ClassVar[str] = "Curious"

    def fit(self, data, seed):  # noqa: ARG002
        print("a print must not disturb the answers")
        return np.eye(data.n_classes)[np.maximum(data.y, 0)]


@dataclass(frozen=True)
class Forking(Tiny):
    """Leaves a process behind, whose number it writes to a file."""

    name: ClassVar[str] = "forking"
    title: ClassVar[str] = "Forking"
    note: str = ""

    def fit(self, data, seed):
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        Path(self.note).write_text(str(child))
        return super().fit(data, seed)
