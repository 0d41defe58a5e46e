"""What classifiers share once they are fitted: classes, probabilities and accuracy of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from hypergnn.estimators.labels import check_all_labelled
from hypergnn.estimators.later import Later
from hypergnn.estimators.placing import PlacesRows
from hypergnn.structures.hypergraph import Hypergraph


class PredictsClasses(ClassifierMixin, PlacesRows):  # type: ignore[misc]
    """A fitted classifier whose rows are the vertices of a hypergraph."""

    classes_: npt.NDArray[Any]
    label_distributions_: npt.NDArray[np.float64]

    def _probabilities(self, features: Any, later: Later) -> Tensor:
        """The probabilities of new rows, ``(rows, n_classes)``."""
        raise NotImplementedError

    def predict(self, X: Any, *, hypergraph: Hypergraph | None = None, memberships: Any = None) -> npt.NDArray[Any]:
        """Return the most probable class of each row; new rows join the hypergraph of the training rows.

        Args:
            X: The rows; ``None`` if the classifier was fitted without features.
            hypergraph: The hyperedges of the rows, if the rule of ``construct`` is not to find them; its vertices are
                the rows. Hyperedges with the name of one of training are that one; others are new and connect the rows
                with each other. A row with the name of a training row has the hyperedges of that row as well; all
                others count as new.
            memberships: The same as a matrix or table, as in :meth:`fit`.
        """
        check_is_fitted(self)
        shares = self.predict_proba(X, hypergraph=hypergraph, memberships=memberships)
        found: npt.NDArray[Any] = self.classes_[shares.argmax(1)]
        return found

    def predict_proba(
        self, X: Any, *, hypergraph: Hypergraph | None = None, memberships: Any = None
    ) -> npt.NDArray[np.float64]:
        """Return the probability of each class for each row, ``(rows, classes)``, in the order of :attr:`classes_`.

        Arguments as for :meth:`predict`.
        """
        check_is_fitted(self)
        found = self._of_rows(X, self.label_distributions_, self._probabilities, hypergraph, memberships)
        wrong = np.flatnonzero(~np.isfinite(found).all(1))
        if wrong.size:
            others = " and others" if wrong.size > 1 else ""
            raise ValueError(
                f"probabilities must be finite; not so in row {wrong[0]}{others}. Look for numbers of X that are very "
                "large, or stand for a gap."
            )
        return found

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        hypergraph: Hypergraph | None = None,
        memberships: Any = None,
    ) -> float:
        """Return the accuracy: the share of rows whose label :meth:`predict` returns.

        Args:
            X: As in :meth:`predict`.
            y: A label for each row.
            sample_weight: Weight of each row; equal by default.
            hypergraph: As in :meth:`predict`.
            memberships: As in :meth:`predict`.

        Raises:
            ValueError: If a row has no label.
        """
        check_is_fitted(self)
        check_all_labelled(y, self.classes_)
        found = self.predict(X, hypergraph=hypergraph, memberships=memberships)
        return float(accuracy_score(y, found, sample_weight=sample_weight))
