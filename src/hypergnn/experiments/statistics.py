"""Statistics of trials: mean, interval, t-tests, and the verdict on a published mean."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

from hypergnn.experiments.cells import Published
from hypergnn.experiments.verdicts import Verdict


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
    """Mean, standard deviation and 95 % interval.

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
    return Summary(len(values), centre, spread, (centre - reach, centre + reach))


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


def verdict(summary: Summary, published: Published) -> Verdict | None:
    """Compare trials with a published mean; ``None`` if there is only one trial.

    ``reproduced``: the published mean lies in our interval, widened by the published spread. Otherwise ``above`` or
    ``below``, where our mean is.

    Example:
        >>> print(verdict(summarise([81.0, 82.0, 83.0]), Published(82.6)))
        reproduced
        >>> print(verdict(summarise([81.9, 82.0, 82.1]), Published(82.6)))
        below
    """
    if summary.interval is None:
        return None
    spread = published.spread or 0.0
    low, high = summary.interval
    if low - spread <= published.mean <= high + spread:
        return Verdict.REPRODUCED
    return Verdict.ABOVE if summary.mean > published.mean else Verdict.BELOW
