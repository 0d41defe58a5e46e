"""What was tried, what won and what the structure added: ``report_`` of a fitted classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn._utils.display import text_table
from hypergnn.estimators.selection.budget import last_lines

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Tried:
    """A candidate and what cross-validation within the labels said of it."""

    name: str
    uses_structure: bool
    accuracy: float
    """Share of the labelled rows that it predicts without having seen their label."""
    accuracy_std: float
    """Standard error of ``accuracy``."""
    log_loss: float
    seconds: float
    weight: float
    """Its weight in the final mixture; 0 if it was left out."""


@dataclass(frozen=True)
class Report:
    """The result of a selection; prints as a table.

    Attributes:
        tried: The candidates, in the order in which they were tried.
        skipped: Candidates that were not tried, each with the reason.
        accuracy: Cross-validated accuracy of the mixture. Up to 1000 labels, its weights are chosen without the fold
            that is predicted; the settings of candidates are not.
        accuracy_std: Its standard error, see :func:`share_error`.
        largest_class: Share of the largest class among the labels.
        structure_gain: What the candidates with structure add to the accuracy of those without.
        structure_gain_std: Its standard error.
        n_labels: Number of labelled rows.
        seconds: Duration of the selection and the final fit, without ``compiling``.
        compiling: Seconds in which kernels were compiled, which happens once on a machine, or loaded.
        is_measured: Whether accuracies say something: the only label of a class cannot be predicted without it.
        out_of_time: Those of ``skipped`` for which there was no time, so that another machine may try them.
    """

    tried: tuple[Tried, ...]
    skipped: dict[str, str]
    accuracy: float
    accuracy_std: float
    largest_class: float
    structure_gain: float
    structure_gain_std: float
    n_labels: int
    seconds: float
    compiling: float = 0.0
    is_measured: bool = True
    out_of_time: tuple[str, ...] = ()

    @property
    def chosen(self) -> dict[str, float]:
        """The candidates in the mixture and their weights, the heaviest first."""
        used = [one for one in self.tried if one.weight > 0]
        return {one.name: one.weight for one in sorted(used, key=lambda one: -one.weight)}

    @property
    def is_better_than_chance(self) -> bool:
        """Whether the mixture is right more often than the name of the largest class, as far as labels can tell."""
        return self.accuracy > self.largest_class or not self.is_measured

    def chance_warning(self) -> str:
        """What to say if it is not."""
        return (
            f"in cross-validation within {self.n_labels} labels the predictions are right for "
            f"{100 * self.accuracy:.0f} % of the rows, no more than the largest class with "
            f"{100 * self.largest_class:.0f} %. Label more rows, or add features or hyperedges that have to do with "
            "the labels; print(model.report_) shows what was tried."
        )

    def __str__(self) -> str:
        """The table, followed by a summary."""
        rows = [
            [
                one.name,
                "yes" if one.uses_structure else "no",
                _percent(one.accuracy, one.accuracy_std) if self.is_measured else "",
                f"{one.log_loss:.3f}",
                f"{one.seconds:.2f}",
                f"{one.weight:.2f}" if one.weight else "",
            ]
            for one in sorted(self.tried, key=lambda one: one.log_loss)
        ]
        lines = [
            text_table(["candidate", "structure", "accuracy", "log-loss", "seconds", "weight"], rows),
            "",
            *self._measured(),
            *last_lines(self.skipped, self.seconds, self.compiling),
        ]
        return "\n".join(lines)

    def _measured(self) -> list[str]:
        if not self.is_measured:
            return ["accuracies are not measured: cross-validation needs two labels of a class, and each class has one"]
        return [
            f"mixture: accuracy {_percent(self.accuracy, self.accuracy_std)}, by cross-validation within "
            f"{self.n_labels} labels; the largest class has {100 * self.largest_class:.1f} %",
            f"structure adds {_percent(self.structure_gain, self.structure_gain_std)} points",
        ]

    def __repr__(self) -> str:
        """The same as printed."""
        return str(self)


def share_error(right: Array) -> float:
    """Standard error of a share, not 0 if all or none are right: that of Wilson's interval for one standard deviation.

    Example:
        >>> round(share_error(np.ones(32)), 3), round(share_error(np.array([1.0, 0.0] * 50)), 3)
        (0.015, 0.05)
    """
    n, share = right.size, float(right.mean())
    return float(np.sqrt(n * share * (1 - share) + 0.25) / (n + 1))


def difference_error(difference: Array) -> float:
    """Standard error of a mean of -1, 0 and 1, not 0 if all are 0: as if one further label had made a difference.

    Example:
        >>> round(difference_error(np.zeros(32)), 3)
        0.03
    """
    n = difference.size
    variance = (np.square(difference).sum() + 1) / (n + 1) - difference.mean() ** 2
    return float(np.sqrt(max(variance, 0.0) / (n + 1)))


def _percent(value: float, error: float) -> str:
    return f"{100 * value:.1f} ± {100 * error:.1f}"


Say = Callable[[str], None]
"""Shows a line of progress."""


def telling_of_compilation(say: Say | None) -> Callable[[], None] | None:
    """What a stopwatch calls when kernels have to be compiled."""
    if say is None:
        return None
    return lambda: say("compiling the kernels, once on this machine; this takes about a minute")


class Lines:
    """Progress of a selection: each state is a line of text."""

    def resumed(self, state: str) -> str | None:  # noqa: ARG002
        """Nothing was done before."""
        return None

    def text(self, state: str) -> str:
        """The line."""
        return state

    def is_news(self, state: str) -> bool:  # noqa: ARG002
        """Every line is new."""
        return True
