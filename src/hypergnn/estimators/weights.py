"""How much each labelled row counts in training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def as_sample_weight(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return the weight of each row as floats; ``None`` if all rows count equally.

    Raises:
        ValueError: If there is not one finite weight of at least 0 per row, or all are 0.

    Example:
        >>> as_sample_weight([1, 2], 2)
        array([1., 2.])
        >>> as_sample_weight([1, 2, 3], 2)
        Traceback (most recent call last):
        ValueError: sample_weight must have shape (2,), one weight per row of X; got (3,).
    """
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight must have shape ({n_rows},), one weight per row of X; got {weight.shape}.")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight must hold finite numbers of at least 0.")
    if not weight.any():
        raise ValueError("sample_weight must be positive for some rows; all of them are zero.")
    return weight


def class_weights(class_weight: Any, classes: npt.NDArray[Any], codes: Ids) -> Floats | None:
    """Return the weight of each row by its class, 1 for unlabelled rows; ``None`` without class weights.

    Args:
        class_weight: ``"balanced"`` for weights inversely proportional to the labels of each class, a dictionary from
            class to weight (1 for classes that it leaves out), or ``None``.
        classes: The classes.
        codes: The class of each row by its number, -1 for unlabelled rows.

    Raises:
        TypeError: If it is neither.
        ValueError: If it names a class that does not exist, or a weight is negative.

    Example:
        >>> class_weights("balanced", np.array(["a", "b"]), np.array([0, 0, 1, -1]))
        array([0.75, 0.75, 1.5 , 1.  ])
        >>> class_weights({"b": 5}, np.array(["a", "b"]), np.array([0, 0, 1, -1]))
        array([1., 1., 5., 1.])
    """
    if class_weight is None:
        return None
    if class_weight == "balanced":
        size = np.bincount(codes[codes >= 0], minlength=classes.size)
        by_class = size.sum() / (classes.size * np.maximum(size, 1))
    elif isinstance(class_weight, Mapping):
        known = classes.tolist()
        unknown = [one for one in class_weight if one not in known]
        if unknown:
            raise ValueError(
                f"class_weight must name classes of y, {', '.join(map(repr, known[:10]))}; got {unknown[0]!r}."
            )
        by_class = np.array([float(class_weight.get(one, 1.0)) for one in known])
        if not np.isfinite(by_class).all() or (by_class < 0).any():
            raise ValueError("class_weight must hold finite numbers of at least 0.")
    else:
        raise TypeError(
            f"class_weight must be 'balanced', a dictionary from class to weight, or None; got {class_weight!r}."
        )
    return np.where(codes >= 0, by_class[codes], 1.0)


def check_counts(weight: Floats | None, is_labelled: npt.NDArray[np.bool_]) -> None:
    """Raise unless some labelled rows count.

    Example:
        >>> check_counts(np.array([1.0, 0.0]), np.array([False, True]))
        Traceback (most recent call last):
        ValueError: sample_weight must be positive for some labelled rows; all of them are zero.
    """
    if weight is not None and not (weight[is_labelled] > 0).any():
        raise ValueError("sample_weight must be positive for some labelled rows; all of them are zero.")


def combined(one: Floats | None, other: Floats | None) -> Floats | None:
    """Return the product of two weights; ``None`` is 1."""
    return other if one is None else one if other is None else one * other
