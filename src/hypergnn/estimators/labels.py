"""Labels, some of them missing, in the form that scikit-learn's semi-supervised estimators take."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from hypergnn._utils.tables import as_column, encode

Ids = npt.NDArray[np.int64]


def encode_labels(y: Any, n_rows: int) -> tuple[npt.NDArray[Any], Ids]:
    """Return the sorted classes and the number of each row's class, -1 for rows without a label.

    Among numbers, -1 and NaN mark a missing label; among strings, ``None``, NaN and the number -1 do. If -1 and 1 are
    the only numbers, both are classes: two classes are often coded so, and a single class leaves nothing to learn.

    Raises:
        TypeError: If labels are of several kinds.
        ValueError: If labels are not classes, no row has a label, there is not one entry per row, or a label is the
            text that NumPy makes of a missing label among strings.

    Example:
        >>> encode_labels(["b", None, "a"], 3)
        (array(['a', 'b'], dtype=object), array([ 1, -1,  0]))
    """
    column = _column(y)
    if len(column) != n_rows:
        raise ValueError(
            f"y must have one entry per row of X, {n_rows}; got {len(column)}. Mark missing labels with -1."
        )
    codes, values, is_numeric = encode(column)
    if values.size:
        codes = np.where((codes >= 0) & _marks_missing(values, is_numeric)[codes], -1, codes)
    present = np.unique(codes[codes >= 0])
    if not present.size:
        raise ValueError("y must label at least one row; every entry is -1, None or NaN.")
    labels = _of_one_type(values[present], is_numeric)
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    try:
        np.unique(labels)
    except TypeError as error:
        raise TypeError(f"y must hold labels of one kind, all strings or all numbers: {error}.") from error
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        broken = labels[labels != np.floor(labels)][0]
        raise ValueError(
            f"Unknown label type: continuous. y must hold classes; got numbers such as {broken}. To predict numbers, "
            "use HypergraphRegressor; to use these as classes, pass them as strings."
        )
    counts = np.bincount(codes[codes >= 0])[present]
    check_classification_targets(np.repeat(labels, np.minimum(counts, 2 * labels.size)))  # it compares their number
    if labels.dtype.kind == "f" and (codes < 0).any():  # whole numbers, turned into floats by a NaN among them
        labels = labels.astype(np.int64)
    classes, place = np.unique(labels, return_inverse=True)
    number = np.full(values.size + 1, -1)
    number[present] = place
    return classes, number[codes]


def encode_known(y: Any, n_rows: int, classes: npt.NDArray[Any]) -> Ids:
    """Return the number of each row's class among known classes, -1 for rows without a label.

    Args:
        y: The labels; ``None`` if no row has one.
        n_rows: The number of rows.
        classes: The classes, sorted.

    Raises:
        ValueError: If there is not one entry per row, or a label is none of the classes.

    Example:
        >>> encode_known(["b", None], 2, np.array(["a", "b"]))
        array([ 1, -1])
    """
    if y is None:
        return np.full(n_rows, -1)
    column = _column(y)
    if len(column) != n_rows:
        raise ValueError(
            f"y must have one entry per row of X, {n_rows}; got {len(column)}. Mark missing labels with -1."
        )
    codes, values, _ = encode(column)
    number = {label: place for place, label in enumerate(classes.tolist())}
    found = np.full(values.size + 1, -1)  # the last entry is that of rows without a value
    for place, label in enumerate(values.tolist()):
        if label in number:
            found[place] = number[label]
        elif isinstance(label, (str, bytes)) or label != -1:
            raise ValueError(
                f"y must hold known classes, {', '.join(map(repr, list(number)[:10]))}; got {label!r}. Pass all "
                "classes to the first partial_fit as classes=, or fit again."
            )
    return found[codes]


def check_all_labelled(y: Any, classes: npt.NDArray[Any]) -> None:
    """Raise unless each entry is a label: predictions can be compared with labels only.

    Example:
        >>> check_all_labelled([1, -1], np.array([-1, 1]))  # here -1 is a class
        >>> check_all_labelled([2, -1], np.array([1, 2]))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: y must have a label in each row; 1 of 2 have none. Leave them out, e.g. ...
    """
    codes, values, _ = encode(_column(y))
    is_label = np.append(~_marks_missing(values, is_numeric=False) | (-1 in classes.tolist()), False)[codes]
    if not is_label.all():
        without = f"{np.count_nonzero(~is_label)} of {is_label.size} have none"
        raise ValueError(
            f"y must have a label in each row; {without}. Leave them out, e.g. score(X[known], y[known]), or "
            "cross-validate with cv=hypergnn.model_selection.LabelledKFold()."
        )


def _column(y: Any) -> Any:
    """Return ``y`` as one column of its own library."""
    has_columns = hasattr(y, "dtype") or not hasattr(y, "__array__")
    y = y if has_columns else np.asarray(y)
    return as_column(y if np.ndim(y) < 2 else column_or_1d(y, warn=True), name="y")


def _marks_missing(values: npt.NDArray[Any], is_numeric: bool) -> npt.NDArray[np.bool_]:
    """Which of the distinct entries of ``y`` mark a missing label."""
    listed = values.tolist()
    if is_numeric and set(listed) == {-1, 1}:
        return np.zeros(values.size, dtype=bool)
    return np.array([not isinstance(one, (str, bytes)) and one == -1 for one in listed], dtype=bool)


def _of_one_type(labels: npt.NDArray[Any], is_numeric: bool) -> npt.NDArray[Any]:
    """Return the labels, numbers and booleans with their own dtype; raise if text stands for a missing label."""
    for text in ("-1", "nan", ""):
        if any(isinstance(label, str) and label == text for label in labels):
            raise ValueError(f"y holds the text {text!r} as a label; mark missing labels among strings with None.")
    if labels.dtype.kind == "O" and (is_numeric or all(isinstance(label, bool) for label in labels)):
        return np.array(labels.tolist())
    return labels


def hold_out(y: Ids, labelled: Ids, fraction: float, rng: np.random.RandomState) -> tuple[Ids, Ids]:
    """Divide the labelled rows: a fraction of each class, rounded down, for validation, and the rest for training.

    Example:
        >>> train, val = hold_out(np.array([0, 0, 0, 0, 1]), np.arange(5), 0.5, np.random.RandomState(0))
        >>> len(train), len(val)
        (3, 2)
    """
    chosen = []
    for one in np.unique(y[labelled]):
        rows = labelled[y[labelled] == one]
        chosen.append(rng.permutation(rows)[: int(fraction * rows.size)])
    val = np.sort(np.concatenate(chosen))
    return np.setdiff1d(labelled, val), val
