"""Cross-validation where only some rows have a label: hold out labelled rows, and keep the others for training.

There are two questions to ask of an estimator, and a tool for each.

- *How good is it on rows that come later?* :class:`LabelledKFold` is a splitter for ``GridSearchCV``,
  ``cross_val_score`` and all else in scikit-learn that takes ``cv=``. Held-out rows are not seen in training.
- *How good is it on the unlabelled rows that it sees in training?* :func:`transductive_scores` hides the labels of the
  held-out rows and keeps the rows themselves, with their place in the hypergraph.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from hypergnn._utils.checks import check_size
from hypergnn._utils.tables import as_column
from hypergnn.estimators.labels import encode_labels
from hypergnn.estimators.targets import read_targets

Ids = npt.NDArray[np.int64]

_SOME = 20
"""Of fewer labels it says little if most are different."""

__all__ = ["LabelledKFold", "transductive_scores"]


class LabelledKFold(BaseCrossValidator):  # type: ignore[misc]
    """Hold out labelled rows, fold by fold; unlabelled rows are always in the training part.

    The test parts contain each labelled row once, the classes in equal shares, and no unlabelled row. A class with a
    single labelled row stays in training: a model that has never seen it could not predict it.

    scikit-learn takes the held-out rows away from ``X``, so a hypergraph of all rows no longer fits. Pass it as
    ``memberships``, a matrix that scikit-learn divides as it divides ``X``, with metadata routing: see the second
    example.

    Args:
        n_splits: Number of folds.
        stratify: Whether labels are classes, to be divided into equal shares. By default they are, unless ``y`` has
            numbers with a fraction, or mostly different numbers. Pass ``False`` for a regression whose targets are few
            different whole numbers. Without stratification, only NaN and ``None`` are unknown.
        shuffle: Whether to shuffle the labelled rows first.
        random_state: Seed of the shuffling.

    Example:
        >>> import numpy as np, hypergnn as hg
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.model_selection import GridSearchCV
        >>> X, y = load_wine(return_X_y=True)
        >>> few = np.where(np.arange(len(y)) % 4 == 0, y, -1)
        >>> model = hg.HypergraphClassifier("hyper-conv", max_epochs=30, random_state=0)
        >>> search = GridSearchCV(model, {"n_neighbors": [3, 10]}, cv=hg.model_selection.LabelledKFold(3)).fit(X, few)
        >>> bool(search.best_score_ > 0.9)
        True

        With a hypergraph of your own:

        >>> import sklearn
        >>> from sklearn.model_selection import cross_val_score
        >>> H = hg.construct.from_knn(X, 5)
        >>> with sklearn.config_context(enable_metadata_routing=True):
        ...     model = model.set_fit_request(memberships=True).set_score_request(memberships=True)
        ...     cv = hg.model_selection.LabelledKFold(3)
        ...     scores = cross_val_score(model, X, few, cv=cv, params={"memberships": H.to_scipy()})
        >>> bool(scores.mean() > 0.5)
        True
    """

    def __init__(
        self, n_splits: int = 5, *, stratify: bool | None = None, shuffle: bool = False, random_state: Any = None
    ) -> None:
        """Store the settings."""
        self.n_splits = check_size("n_splits", n_splits, minimum=2)
        self.stratify = stratify
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of folds.

        Args:
            X: Ignored.
            y: Ignored.
            groups: Ignored.
        """
        return self.n_splits

    def _iter_test_indices(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[Ids]:  # noqa: ARG002
        """The held-out rows of each fold; scikit-learn makes all others the training part."""
        if y is None:
            raise ValueError("y must be given: LabelledKFold holds out the rows that have a label.")
        codes = self._codes(y)
        rng = check_random_state(self.random_state) if self.shuffle else None
        ordered = []
        for one in np.unique(codes[codes >= 0]):
            rows = np.flatnonzero(codes == one)
            rows = rows if rng is None else rng.permutation(rows)
            if rows.size > 1 or not self._is_stratified(y):
                ordered.append(rows)
        rows = np.concatenate([*ordered, np.empty(0, dtype=np.int64)])
        if rows.size < self.n_splits:
            raise ValueError(
                f"y must have at least n_splits={self.n_splits} labelled rows that can be held out (a class with one "
                f"row cannot); got {rows.size}. Use fewer splits."
            )
        fold = np.arange(rows.size) % self.n_splits  # classes one after another: each is spread over all folds
        for number in range(self.n_splits):
            yield np.sort(rows[fold == number])

    def _is_stratified(self, y: Any) -> bool:
        return not _are_numbers(y) if self.stratify is None else self.stratify

    def _codes(self, y: Any) -> Ids:
        """The class of each row, or 0 if labels are numbers; -1 without a label."""
        if self._is_stratified(y):
            return encode_labels(y, len(y))[1]
        unknown = np.isnan(read_targets(y, len(y), None).scaled).any(1)
        return np.where(unknown, -1, 0)


def transductive_scores(
    estimator: Any, X: Any, y: Any, *, cv: Any = None, hypergraph: Any = None, memberships: Any = None
) -> npt.NDArray[np.float64]:
    """Score an estimator on rows that it sees in training without their labels, fold by fold.

    Each fold hides the labels of its held-out rows, fits a copy of the estimator to all rows and compares what it finds
    for these rows (``transduction_``) with their labels: accuracy of a classifier, R² of a regressor.

    Args:
        estimator: A :class:`hypergnn.HypergraphClassifier` or :class:`hypergnn.HypergraphRegressor`.
        X: The rows, as in ``fit``.
        y: Their labels, some of which may be missing.
        cv: A splitter, or the number of folds of a :class:`LabelledKFold`; 5 folds if omitted.
        hypergraph: As in ``fit``.
        memberships: As in ``fit``.

    Returns:
        One score per fold.

    Example:
        >>> import numpy as np, hypergnn as hg
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> few = np.where(np.arange(len(y)) % 4 == 0, y, -1)
        >>> model = hg.HypergraphClassifier("hyper-conv", max_epochs=30, random_state=0)
        >>> bool(transductive_scores(model, X, few, hypergraph=hg.construct.from_knn(X, 5)).mean() > 0.6)
        True
    """
    is_number = is_regressor(estimator)
    folds: Any = 5 if cv is None else cv
    splitter: Any = LabelledKFold(int(folds), stratify=not is_number) if isinstance(folds, Integral) else folds
    n_rows = len(y)
    hidden: npt.NDArray[Any]
    if is_number:
        hidden = np.asarray([np.nan if one is None else one for one in as_column(y, name="y")], dtype=np.float64)
    else:
        classes, codes = encode_labels(y, n_rows)
        hidden = np.fromiter([None if code < 0 else classes[code] for code in codes], dtype=object, count=n_rows)
    scores = []
    for _, held in splitter.split(np.zeros((n_rows, 1)), y):
        rest = hidden.copy()
        rest[held] = np.nan if is_number else None
        fitted = clone(estimator).fit(X, rest, hypergraph=hypergraph, memberships=memberships)
        measure = r2_score if is_number else accuracy_score
        wanted = hidden[held] if is_number else np.array(hidden[held].tolist())
        scores.append(measure(wanted, fitted.transduction_[held]))
    return np.array(scores)


def _are_numbers(y: Any) -> bool:
    """Whether some labels have a fraction, or most of many are different numbers, none of them the mark -1.

    Example:
        >>> _are_numbers([0.5, 1.0]), _are_numbers([1.0, 2.0]), _are_numbers(np.arange(30.0))
        (True, False, True)
    """
    column = np.asarray(y)
    if column.dtype.kind == "O":
        numbers = [one for one in column.ravel().tolist() if isinstance(one, float) and one == one]
        column = np.array(numbers, dtype=np.float64)
    if column.dtype.kind != "f":
        return False
    known = column[np.isfinite(column)]
    if (known != np.floor(known)).any():
        return True
    distinct = np.unique(known)
    return bool(known.size > _SOME and 2 * distinct.size > known.size and -1 not in distinct)
