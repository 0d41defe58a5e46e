"""Which of several classifiers is best: means over random splits, intervals, and tests against the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, variance

from hypergnn.experiments.statistics import Summary, holm

_SAME = 1e-9
"""Points up to which two differences are the same, apart from rounding."""


@dataclass(frozen=True)
class Compared:
    """One classifier of a comparison."""

    name: str
    accuracy: tuple[float, ...]
    """Test accuracy in percent, one per split."""
    summary: Summary
    """Its interval takes into account that the splits overlap."""
    behind: float
    """How far its mean is below the best one, in points."""
    p: float | None
    """How likely such a distance is if both are equally good, adjusted for the number of classifiers.

    ``None`` for the best, with a single split, and if the distance is the same in all splits.
    """


def ranked(accuracy: Mapping[str, Sequence[float]], test_to_train: float) -> list[Compared]:
    """Rank classifiers by their mean accuracy over the same random splits, and test each against the best.

    Random splits of one dataset overlap, so their results are not independent. The variance of a mean is therefore
    ``s² (1/n + n_test/n_train)`` instead of ``s²/n`` (Nadeau and Bengio, 2003). Tests are paired by split, one-sided,
    and adjusted by Holm's method.

    Args:
        accuracy: Test accuracies in percent by classifier, one per split, in the same order of splits.
        test_to_train: Number of test vertices divided by the number of training vertices.

    Raises:
        ValueError: If there is no classifier, or the numbers of splits differ.

    Example:
        >>> best, other = ranked({"forest": [80.0, 82.0, 81.0], "network": [85.0, 88.0, 86.0]}, test_to_train=0.25)
        >>> best.name, best.p, round(other.behind, 2), round(other.p, 3)
        ('network', None, 5.33, 0.003)
    """
    counts = {len(values) for values in accuracy.values()}
    if len(counts) != 1 or counts == {0}:
        raise ValueError(f"accuracy must have the same splits for each classifier, at least one; got {sorted(counts)}.")
    order = sorted(accuracy, key=lambda name: -mean(accuracy[name]))
    best = accuracy[order[0]]
    raw = {name: _p_value(best, accuracy[name], test_to_train) for name in order[1:]}
    adjusted = holm({name: p for name, p in raw.items() if p is not None})
    return [
        Compared(
            name=name,
            accuracy=tuple(accuracy[name]),
            summary=_summary(accuracy[name], test_to_train),
            behind=mean(best) - mean(accuracy[name]),
            p=adjusted.get(name),
        )
        for name in order
    ]


def _summary(values: Sequence[float], test_to_train: float) -> Summary:
    if len(values) == 1:
        return Summary(1, values[0], None, None)
    from scipy.stats import t

    centre, spread = mean(values), sqrt(variance(values))
    reach = float(t.ppf(0.975, len(values) - 1)) * spread * sqrt(1 / len(values) + test_to_train)
    return Summary(len(values), centre, spread, (max(centre - reach, 0.0), min(centre + reach, 100.0)))


def _p_value(best: Sequence[float], other: Sequence[float], test_to_train: float) -> float | None:
    """Paired one-sided test whether the first is better; ``None`` if their differences have no spread to go by."""
    differences = [one - two for one, two in zip(best, other, strict=True)]
    if max(differences) - min(differences) < _SAME:
        return None
    from scipy.stats import t

    centre, spread = mean(differences), variance(differences)
    return float(t.sf(centre / sqrt(spread * (1 / len(best) + test_to_train)), len(best) - 1))
