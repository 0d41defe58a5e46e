"""Numbers to predict, some of them unknown."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from hypergnn._utils.tables import as_column, as_numbers, encode

Floats = npt.NDArray[np.float64]


class Targets(NamedTuple):
    """The targets of all rows, scaled to mean 0 and variance 1 over the known ones."""

    scaled: Floats
    """``(N, outputs)``, NaN in rows whose target is unknown."""
    mean: Floats
    """``(outputs,)``"""
    scale: Floats
    """``(outputs,)``"""
    is_column: bool
    """Whether ``y`` is one column: predictions are then one-dimensional."""

    def read_more(self, y: Any, n_rows: int) -> Floats:
        """Further targets in the same scale, ``(rows, outputs)``, NaN where unknown; ``None`` if all are."""
        if y is None:
            return np.full((n_rows, self.mean.size), np.nan)
        values, _ = _as_floats(y)
        if values.shape != (n_rows, self.mean.size):
            raise ValueError(
                f"y must have one entry per row of X and {self.mean.size} outputs; got shape {values.shape} for "
                f"{n_rows} rows."
            )
        _check_known(values)
        return (values - self.mean) / self.scale

    def restore(self, scaled: npt.NDArray[Any]) -> Floats:
        """Predictions in the unit of ``y``, ``(rows, outputs)`` or ``(rows,)``.

        Raises:
            ValueError: If one is beyond the range of float64.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            values: Floats = np.asarray(scaled, dtype=np.float64) * self.scale + self.mean
        if not np.isfinite(scaled).all():
            raise ValueError("a prediction is not finite: the training has diverged. Use a smaller learning_rate.")
        if not np.isfinite(values).all():
            raise ValueError(
                "a prediction is not finite: y is close to the largest number of float64. Divide it by a constant "
                "before fit, and multiply the predictions by it."
            )
        return values[:, 0] if self.is_column else values


def read_targets(y: Any, n_rows: int, weight: Floats | None) -> Targets:
    """Return the targets, with NaN for rows whose target is unknown.

    Args:
        y: One number per row, or one row of numbers; NaN or ``None`` if unknown.
        n_rows: Number of rows.
        weight: The weight of each row in mean and variance.

    Raises:
        ValueError: If ``y`` does not hold numbers, is infinite, has the wrong length, has no known entry, or a row of
            several outputs is known in part.

    Example:
        >>> targets = read_targets([1.0, None, 3.0], 3, None)
        >>> targets.scaled.ravel(), targets.mean, targets.scale
        (array([-1., nan,  1.]), array([2.]), array([1.]))
    """
    values, is_column = _as_floats(y)
    if len(values) != n_rows:
        raise ValueError(
            f"y must have one entry per row of X, {n_rows}; got {len(values)}. Mark unknown targets with NaN."
        )
    unknown = _check_known(values)
    _warn_of_marks(values)
    known = ~unknown & (np.ones(n_rows, dtype=bool) if weight is None else weight > 0)
    if not known.any():
        raise ValueError("y must be known for at least one row with a positive weight; every entry is NaN.")
    share = None if weight is None else weight[known]
    unit = np.ldexp(1.0, np.frexp(np.abs(values[known]).max(0))[1] - 1)  # a power of two, so that nothing is rounded
    values = values / unit  # at most 2: squares of large numbers would be infinite, those of small ones zero
    mean = np.average(values[known], axis=0, weights=share)
    scale = np.sqrt(np.average((values[known] - mean) ** 2, axis=0, weights=share))
    scale = np.where(scale > np.finfo(np.float64).eps * np.abs(mean), scale, 1 / unit)
    return Targets(np.where(known[:, None], (values - mean) / scale, np.nan), mean * unit, scale * unit, is_column)


def warn_of_few(targets: Targets) -> None:
    """Warn if there is next to nothing to learn from: at most two known targets, or all of them equal."""
    known = targets.scaled[~np.isnan(targets.scaled).any(1)]
    if len(known) > 2 and (known != known[0]).any():
        return
    what = (
        f"only {len(known)} of {len(targets.scaled)} targets {'are' if len(known) > 1 else 'is'} known"
        if len(known) <= 2
        else f"all {len(known)} known targets are equal"
    )
    warnings.warn(f"{what}: nothing can be learned about what distinguishes the rows.", UserWarning, stacklevel=3)


def _warn_of_marks(values: Floats) -> None:
    """Warn if -1 looks like the mark of an unknown target, which it is for classifiers."""
    distinct, counts = np.unique(values, return_counts=True)
    if np.isnan(distinct).any() or distinct.size < 3:  # unknown targets have another mark, or these are two classes
        return
    if distinct[0] == -1 and distinct[1] > 0 and counts[0] >= max(2, counts.sum() / 10):
        warnings.warn(
            f"y holds -1 in {counts[0]} rows and is positive in all others; -1 is learned as a number. If it marks "
            "unknown targets, replace it with NaN.",
            UserWarning,
            stacklevel=4,
        )


def _check_known(values: Floats) -> npt.NDArray[np.bool_]:
    """Return which rows have an unknown target; raise for infinite ones and for rows that are known in part."""
    if np.isinf(values).any():
        raise ValueError("Input y contains infinity. y must hold finite numbers, or NaN where the target is unknown.")
    unknown = np.isnan(values)
    in_part = np.flatnonzero(unknown.any(1) & ~unknown.all(1))
    if in_part.size:
        row, n_unknown = in_part[0], unknown[in_part[0]].sum()
        raise ValueError(
            f"y must be known or unknown for all outputs of a row; row {row} has {n_unknown} NaN of "
            f"{values.shape[1]}. Fit one regressor per output, or mark the whole row with NaN."
        )
    return np.asarray(unknown.any(1))


def check_all_known(y: Any) -> None:
    """Raise unless every target is known: predictions can be compared with known targets only."""
    unknown = np.isnan(_as_floats(y)[0]).any(1)
    if unknown.any():
        without = f"{np.count_nonzero(unknown)} of {unknown.size} are NaN"
        raise ValueError(
            f"y must be known in each row; {without}. Leave them out, e.g. score(X[known], y[known]), "
            "or cross-validate with cv=hypergnn.model_selection.LabelledKFold()."
        )


def _as_floats(y: Any) -> tuple[Floats, bool]:
    """``y`` as ``(rows, outputs)`` floats, and whether it is one column."""
    is_known = hasattr(y, "dtype") or hasattr(y, "columns") or not hasattr(y, "__array__")
    y = y if is_known else np.asarray(y)
    if np.ndim(y) == 2 and np.shape(y)[1] != 1:
        matrix = check_array(y, dtype=np.float64, ensure_all_finite=False, input_name="y")
        return np.asarray(matrix, dtype=np.float64), False
    column = as_column(y if np.ndim(y) < 2 else column_or_1d(y, warn=True), name="y")
    if getattr(column.dtype, "kind", "") == "c":
        raise ValueError("Complex data not supported: y must hold real numbers.")
    numbers = as_numbers(column)
    if numbers is None:
        values = encode(column).values.tolist()
        other = next(one for one in values if not isinstance(one, Real) or isinstance(one, bool))
        raise ValueError(
            f"y must hold numbers, NaN where unknown; got {other!r}. Convert text to numbers with pandas.to_numeric; "
            "for classes, use HypergraphClassifier."
        )
    return numbers[:, None], True
