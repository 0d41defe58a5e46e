"""Statistics of trials: mean, interval, t-tests, and the verdict on a published mean."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

from hypergnn.experiments.cells import Published
from hypergnn.experiments.verdicts import Verdict

ROUNDED = 0.0500001
"""Half of the last decimal of a published accuracy, in points."""


@dataclass(frozen=True)
class Summary:
    """Summary of trials; standard deviation and interval are ``None`` if there is only one."""

    trials: int
    mean: float
    sd: float | None
    """Standard deviation of the trials, with n − 1 in the denominator."""
    interval: tuple[float, float] | None
    """95 % confidence interval of the mean, by Student's t."""


@dataclass(frozen=True)
class Test:
    """Is the mean of one cell above that of another? p-values of one-sided two-sample t-tests."""

    difference: float
    """Mean of the cell that the paper calls better, minus the mean of the other."""
    p: float | None
    """Pooled test, as in the paper, which assumes equal variances; ``None`` with fewer than two trials."""
    p_welch: float | None
    """Welch's test, which does not assume equal variances."""

    @property
    def p_reverse(self) -> float:
        """Pooled test of the opposite order; 1 if there is no test."""
        return 1.0 if self.p is None else 1.0 - self.p

    __test__ = False  # pytest would collect the class by its name


def summarise(values: Sequence[float]) -> Summary:
    """Mean, standard deviation and 95 % interval of percentages.

    Example:
        >>> summarise([80.0, 82.0]).mean
        81.0
    """
    if not values:
        raise ValueError("values must hold at least one trial; got none.")
    if len(values) == 1:
        return Summary(1, values[0], None, None)
    from scipy.stats import t

    centre, spread = mean(values), stdev(values)
    reach = float(t.ppf(0.975, len(values) - 1)) * spread / sqrt(len(values))
    return Summary(len(values), centre, spread, (max(centre - reach, 0.0), min(centre + reach, 100.0)))


def compare(better: Sequence[float], worse: Sequence[float]) -> Test:
    """Test whether the first trials are better than the second, by the paper's t-test and by Welch's.

    Example:
        >>> test = compare([82.0, 82.5, 83.0], [80.0, 81.0, 80.5])
        >>> test.difference, round(test.p, 4), round(test.p_welch, 4)
        (2.0, 0.004, 0.004)
    """
    difference = mean(better) - mean(worse)
    if min(len(better), len(worse)) < 2 or len({*better}) == len({*worse}) == 1:
        return Test(difference, None, None)
    from scipy.stats import ttest_ind

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # SciPy warns if all trials of a cell are equal
        pooled, welch = (
            float(ttest_ind(better, worse, equal_var=equal, alternative="greater").pvalue) for equal in (True, False)
        )
    return Test(difference, pooled, welch)


def two_sided(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The p-value of a difference of the means: Welch's test, or a one-sample test if one side is a single number.

    A single number stands for a system that always gives it. ``None`` if both sides are single numbers, or if no
    trial differs from another.

    Example:
        >>> round(two_sided([82.0, 82.5, 83.0], [80.0, 81.0, 80.5]), 4), round(two_sided([82.0, 82.5, 83.0], [80.5]), 4)
        (0.008, 0.0202)
    """
    if len(first) < len(second):
        first, second = second, first
    if len({*first}) == len({*second}) == 1:
        return None
    from scipy.stats import ttest_1samp, ttest_ind

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # SciPy warns if all trials of a cell are equal
        if len(second) == 1:
            return float(ttest_1samp(first, second[0]).pvalue)
        return float(ttest_ind(first, second, equal_var=False).pvalue)


def holm(values: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjustment: the smallest p-value times the number of tests, the next times one less, never falling.

    Example:
        >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
        {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, name in enumerate(sorted(values, key=lambda one: values[one])):
        highest = max(highest, min(1.0, values[name] * (len(values) - rank)))
        adjusted[name] = highest
    return adjusted


def verdict(summary: Summary, published: Published, *, is_deterministic: bool = False) -> Verdict | None:
    """Compare trials with a published mean; ``None`` if there is only one trial of several that could differ.

    ``reproduced``: the published mean lies in our interval, widened by the published spread. Otherwise ``above`` or
    ``below``, where our mean is. The one trial of a deterministic system has no interval: it reproduces the published
    number if it rounds to it, with one decimal.

    Example:
        >>> print(verdict(summarise([81.0, 82.0, 83.0]), Published(82.6)))
        reproduced
        >>> print(verdict(summarise([81.9, 82.0, 82.1]), Published(82.6)))
        below
    """
    if summary.interval is None and not is_deterministic:
        return None
    spread = published.spread or 0.0
    low, high = summary.interval or (summary.mean - ROUNDED, summary.mean + ROUNDED)
    if low - spread <= published.mean <= high + spread:
        return Verdict.REPRODUCED
    return Verdict.ABOVE if summary.mean > published.mean else Verdict.BELOW
