"""Any classifier of scikit-learn, corrected and smoothed over a hypergraph (after Huang et al., 2021)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter
from torch import Tensor

from hypergnn.estimators.base import HypergraphEstimator, check_labels_order
from hypergnn.estimators.classes import PredictsClasses
from hypergnn.estimators.compute import threads
from hypergnn.estimators.labels import encode_labels
from hypergnn.estimators.later import Later
from hypergnn.estimators.learning import generator
from hypergnn.estimators.selection.candidates import all_classes
from hypergnn.estimators.selection.known import Known, divide
from hypergnn.estimators.selection.smoothing import FOLDS, Smoother, choose
from hypergnn.estimators.weights import as_sample_weight, check_counts
from hypergnn.estimators.whole_fits import whole_or_not
from hypergnn.structures.hypergraph import Hypergraph

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class CorrectAndSmooth(PredictsClasses, MetaEstimatorMixin, HypergraphEstimator):  # type: ignore[misc]
    """Correct the errors of any classifier over a hypergraph, then smooth its predictions.

    Rows in the same hyperedges tend to have the same errors and the same classes. The base classifier learns from the
    labelled rows without the hypergraph. Its errors on labelled rows that it has not seen (by cross-validation) spread
    over the hyperedges and correct the predictions of the other rows; then the predictions and the known labels
    spread, and smooth. Cross-validation decides how far and how much; if neither helps, the base classifier is left
    alone. Unlabelled rows are marked as in :class:`HypergraphClassifier`; hyperedges are made and new rows handled as
    there.

    Args:
        estimator: A classifier of scikit-learn with ``predict_proba``; logistic regression by default. It sees the
            rows as numbers: scaled, for ``"attributes"`` with words one-hot and gaps filled, for ``"text"`` as tf-idf.
        construct: How to make the hyperedges, as in :class:`HypergraphClassifier`.
        n_neighbors: Number of neighbours of a row, for ``"knn"``.
        construct_options: Further arguments of the constructor.
        scale: Whether to scale the columns.
        n_jobs: Number of threads; one by default, -1 for all cores.
        random_state: Seed of the folds.

    Attributes:
        classes_: The classes, sorted.
        estimator_: The base classifier, fitted to all labelled rows.
        strengths_: What cross-validation chose: ``reach`` and ``amount`` of the correction and of the smoothing.
        transduction_: Class of each training row.
        label_distributions_: Probability of each class for each training row.
        hypergraph_: The hypergraph.
        n_features_in_: Number of columns of ``X``; not set for ``"text"``.
        feature_names_in_: Their names, if ``X`` is a table and all are strings; not set for ``"text"``.

    Example:
        >>> import numpy as np, hypergnn as hg
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> X, y = load_wine(return_X_y=True)
        >>> few = np.where(np.arange(len(y)) % 10 == 0, y, -1)          # every tenth label
        >>> model = hg.CorrectAndSmooth(RandomForestClassifier(20, random_state=0), random_state=0).fit(X, few)
        >>> bool((model.transduction_ == y).mean() > 0.85)
        True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        construct: str | Callable[..., Hypergraph] = "knn",
        n_neighbors: int = 10,
        construct_options: Mapping[str, Any] | None = None,
        scale: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        """Store the settings; :meth:`fit` checks them."""
        self.estimator = estimator
        self.construct = construct
        self.n_neighbors = n_neighbors
        self.construct_options = construct_options
        self.scale = scale
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are accepted if the base classifier accepts them."""
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags.sparse &= get_tags(self.estimator).input_tags.sparse
        return tags

    @whole_or_not
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        hypergraph: Hypergraph | None = None,
        memberships: Any = None,
    ) -> CorrectAndSmooth:
        """Fit the base classifier to the labelled rows, and choose how to correct and smooth it.

        Args:
            X: As in :meth:`HypergraphClassifier.fit`.
            y: The label of each row; -1, ``None`` or NaN if it has none.
            sample_weight: How much the label of each row counts; equally by default. Rows of weight 0 count as
                unlabelled.
            hypergraph: As in :meth:`HypergraphClassifier.fit`.
            memberships: As in :meth:`HypergraphClassifier.fit`.

        Raises:
            TypeError: If an argument has the wrong type, or the base classifier has no ``predict_proba``, or takes no
                ``sample_weight`` although one is given.
            ValueError: If values or shapes are invalid, or no row has a label.
        """
        base = LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator
        if not hasattr(base, "predict_proba"):
            raise TypeError(
                f"estimator must be a classifier with predict_proba; {type(base).__name__} has none. For a "
                "support vector machine, wrap it in CalibratedClassifierCV."
            )
        if sample_weight is not None and not has_fit_parameter(base, "sample_weight"):
            raise TypeError(f"sample_weight must be left out: {type(base).__name__}.fit does not take it.")
        self._build(X, hypergraph, memberships)
        if y is None:
            raise ValueError("CorrectAndSmooth requires y to be passed, but the target y is None")
        check_labels_order(X, y, "label")
        self.classes_, codes = encode_labels(y, self.hypergraph_.n_vertices)
        weight = as_sample_weight(sample_weight, codes.size)
        if weight is not None:
            check_counts(weight, codes >= 0)
            codes = np.where(weight > 0, codes, -1)
        known = divide(codes, len(self.classes_), generator(self.random_state), weight)
        with threads(self.n_jobs):
            self._fit(base, known)
        return self

    def _fit(self, base: Any, known: Known) -> None:
        x, fold = self._features, known.folds[0] % FOLDS
        by_fold = _predict_folds(base, x, known, fold)
        strengths, _ = choose(by_fold, fold, known, self.hypergraph_)
        self.estimator_ = _fitted(base, x, known, np.ones(known.size, dtype=bool))
        plain = all_classes(self.estimator_, x, known.n_classes)
        self._smoother = Smoother.of(strengths, plain, by_fold[fold, known.rows], known, self.hypergraph_)
        self.strengths_ = strengths
        self.label_distributions_ = self._of_training(self._smoother.shares)
        self.transduction_ = self.classes_[self.label_distributions_.argmax(1)]

    def _features_of(self, rows: Any) -> Any:
        """What the base classifier sees of each row."""
        return self._relation.own(rows)

    def _probabilities(self, features: Any, later: Later) -> Tensor:
        """The probabilities of new rows, ``(rows, n_classes)``."""
        plain = all_classes(self.estimator_, features, len(self.classes_))
        return torch.from_numpy(self._smoother.new(plain, self.hypergraph_, later))


def _predict_folds(base: Any, x: Any, known: Known, fold: Ids) -> Floats:
    """What the base says of all rows without the labels of each fold, ``(folds, N, classes)``."""
    out = np.empty((fold.max() + 1, x.shape[0], known.n_classes))
    for one in range(fold.max() + 1):
        rest = fold != one
        if not rest.any():
            out[one] = known.prior
            continue
        out[one] = all_classes(_fitted(base, x, known, rest), x, known.n_classes)
    return out


def _fitted(base: Any, x: Any, known: Known, chosen: npt.NDArray[np.bool_]) -> Any:
    """A copy of the base, fitted to some of the labelled rows."""
    given = {} if known.weight is None else {"sample_weight": known.weight[chosen]}
    return clone(base).fit(x[known.rows[chosen]], known.y[chosen], **given)
