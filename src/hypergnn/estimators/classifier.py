"""A classifier for tables in which only some rows have a label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from hypergnn._utils.checks import find_named
from hypergnn._utils.tables import row_names
from hypergnn.estimators.base import HypergraphEstimator, as_features, check_order, one_thread
from hypergnn.estimators.events import FromEvents
from hypergnn.estimators.labels import check_all_labelled, encode_labels
from hypergnn.explanations import Explanation, explain
from hypergnn.models import KINDS
from hypergnn.persistence.models import SavedModel
from hypergnn.structures.hypergraph import Hypergraph


class HypergraphClassifier(FromEvents, ClassifierMixin, HypergraphEstimator):  # type: ignore[misc]
    """Semi-supervised classification: rows are vertices, what they have in common are hyperedges.

    The network sees all rows and learns from those with a label. A row is unlabelled if its label is -1 or NaN (among
    numbers), or ``None``, NaN or the number -1 (among strings), as in scikit-learn's ``LabelSpreading``; if -1 and 1
    are the only numbers, both are classes. If every row has a label, it is an ordinary classifier.

    **New rows.** ``predict`` returns for a training row what training gave it (:attr:`transduction_`). It recognises
    such a row by its features. If a given hypergraph distinguishes rows with equal features, only
    :attr:`transduction_` and ``predict`` of the whole training table distinguish them too; in any other table such a
    row gets the mean of the rows equal to it. A new row joins hyperedges of the training data by the rule that made
    them, and takes up their features; the hyperedges and the training rows do not change. The prediction of a new row
    therefore does not depend on the other rows of the same call.

    | ``construct``    | hyperedges                               | a new row joins                                    |
    | ---------------- | ---------------------------------------- | -------------------------------------------------- |
    | ``"knn"``        | each row and its ``n_neighbors`` nearest | the hyperedges around its ``n_neighbors`` nearest  |
    | ``"clusters"``   | clusters of k-means                      | the cluster with the nearest centre                |
    | ``"attributes"`` | equal values, bins of numbers            | the hyperedges of its values                       |
    | ``"text"``       | words, each with its documents           | the hyperedges of its words                        |
    | a callable       | those of the hypergraph it returns       | the hyperedges of the nearest row                  |

    A hypergraph passed to :meth:`fit` replaces all these; a new row then joins the hyperedges of the nearest row.

    Args:
        model: ``"hyper-conv"``, ``"hyper-attention"``, or ``"mlp"``, which ignores the hypergraph.
        construct: How to make the hyperedges, see above. ``"attributes"`` uses memberships and the numbers of the table
            as features; ``"text"`` takes strings and uses tf-idf features.
        n_neighbors: Number of neighbours of a row, for ``"knn"``; at most all other rows.
        construct_options: Further arguments of the constructor in :mod:`hypergnn.construct` (or of the callable), e.g.
            ``{"n_clusters": [10, 30]}``. ``"attributes"`` divides numbers into 5 bins by default.
        scale: Whether to scale each column to the range from 0 to 1 for distances, and then to mean 0 and variance 1
            for the network. Rows of a sparse matrix are scaled to length 1 instead, and stay sparse.
        hidden: Features per head in all layers but the last.
        heads: Number of heads in all layers but the last.
        depth: Number of layers.
        dropout: Dropout rate of each layer's input, and of a learned transition.
        learning_rate: Step size of Adam.
        weight_decay: Factor of the L2 penalty.
        max_epochs: Number of training epochs, or the largest number with ``early_stopping``.
        early_stopping: Whether to hold out labels and stop when their loss no longer falls. By default the network
            learns from every label: if labels are few, each is worth more than a measured end of training.
        validation_fraction: Share of each class's labels to hold out, rounded down; used with ``early_stopping`` only.
            If that leaves none, training takes all epochs.
        n_epochs_no_change: Number of epochs without a lower loss after which training stops; used with
            ``early_stopping`` only.
        random_state: A whole number for the same result each time, a ``numpy.random.RandomState``, or ``None`` for a
            different result each time. It determines the initial parameters, dropout and the held-out labels. Clusters
            and approximate neighbours have their own ``"seed"`` in ``construct_options``.

    Attributes:
        classes_: The classes, sorted.
        transduction_: Class of each training row.
        label_distributions_: Probability of each class for each training row.
        hypergraph_: The hypergraph.
        network_: The trained network.
        loss_curve_: Training loss of each epoch.
        validation_curve_: Loss of each epoch on the held-out labels; empty if there are none.
        n_epochs_: Number of epochs that training took.
        n_features_in_: Number of columns of ``X``; not set for ``"text"``.
        feature_names_in_: Their names, if ``X`` is a table and all are strings; not set for ``"text"``.

    Example:
        >>> import numpy as np, hypergnn as hg
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> few = np.where(np.arange(len(y)) % 10 == 0, y, -1)          # every tenth label
        >>> model = hg.HypergraphClassifier(random_state=0).fit(X, few)
        >>> bool((model.transduction_ == y).mean() > 0.9)
        True
        >>> model.hypergraph_
        Hypergraph(178 vertices, 178 hyperedges, 1958 incidences, centred)
    """

    def __init__(
        self,
        model: str = "hyper-conv",
        *,
        construct: str | Callable[..., Hypergraph] = "knn",
        n_neighbors: int = 10,
        construct_options: Mapping[str, Any] | None = None,
        scale: bool = True,
        hidden: int = 8,
        heads: int = 8,
        depth: int = 2,
        dropout: float = 0.5,
        learning_rate: float = 0.01,
        weight_decay: float = 0.01,
        max_epochs: int = 100,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        n_epochs_no_change: int = 50,
        random_state: Any = None,
    ) -> None:
        """Store the settings; :meth:`fit` checks them."""
        self.model = model
        self.construct = construct
        self.n_neighbors = n_neighbors
        self.construct_options = construct_options
        self.scale = scale
        self.hidden = hidden
        self.heads = heads
        self.depth = depth
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_epochs_no_change = n_epochs_no_change
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, hypergraph: Hypergraph | None = None) -> HypergraphClassifier:
        """Learn from the labelled rows; the network sees all rows.

        Args:
            X: A table, an array or a sparse matrix, one row per vertex. Words, dates and gaps are encoded as numbers by
                :class:`hypergnn.construct.TableEncoder`. For ``"text"``, strings.
            y: The label of each row; -1, ``None`` or NaN if it has none.
            hypergraph: A hypergraph whose vertices are the rows, to use in place of ``construct``.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If values or shapes are invalid, or no row has a label.
        """
        self._build(X, hypergraph)
        if y is None:
            raise ValueError("HypergraphClassifier requires y to be passed, but the target y is None")
        check_order(row_names(X), row_names(y), "y must have its labels", "label", "Sort y: y.loc[X.index].")
        self.classes_, codes = encode_labels(y, self.hypergraph_.n_vertices)
        fraction = self.validation_fraction if self.early_stopping else 0.0
        trial = self._train(codes, len(self.classes_), fraction, self.n_epochs_no_change)
        self.label_distributions_ = self._of_training(trial.scores.double().softmax(-1).numpy())
        self.transduction_ = self.classes_[self.label_distributions_.argmax(1)]
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row; new rows join the hypergraph of the training rows."""
        check_is_fitted(self)
        found: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(1)]
        return found

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the probability of each class for each row, ``(rows, classes)``, in the order of :attr:`classes_`."""
        check_is_fitted(self)
        return self._of_rows(X, self.label_distributions_, self._probabilities)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose label :meth:`predict` returns.

        Args:
            X: As in :meth:`predict`.
            y: A label for each row.
            sample_weight: Weight of each row; equal by default.

        Raises:
            ValueError: If a row has no label.
        """
        check_is_fitted(self)
        check_all_labelled(y, self.classes_)
        return float(super().score(X, y, sample_weight=sample_weight))

    def explain(self, row: Any, *, target: Any = None) -> Explanation:
        """Explain why a training row got its class: what each of its hyperedges contributed to the score.

        Hyperedges appear by name: values of columns, words, or the names of a given hypergraph; a hyperedge of
        ``"knn"`` by the number of the row that it is around. Rows with equal features share the mean of their
        probabilities in :attr:`label_distributions_`; the explanation is of this row's own score.

        Args:
            row: Its number in the training table, or its name if the hypergraph names its vertices.
            target: The class to explain; by default the one in :attr:`transduction_`.

        Raises:
            ValueError: If the row or the class does not exist.

        Example:
            >>> import hypergnn as hg
            >>> texts = ["ripe apple pie", "apple and plum", "steel hammer", "hammer and nail"]
            >>> model = hg.HypergraphClassifier(
            ...     construct="text", construct_options={"min_df": 1, "max_df": 1.0}, random_state=0
            ... ).fit(texts, ["fruit", None, "tool", None])
            >>> why = model.explain(1)
            >>> why.target_name, sorted(why.names)
            ('fruit', ['apple', 'bias', 'plum'])
        """
        check_is_fitted(self)
        number = find_named("row", row, self.hypergraph_.vertex_names, self.hypergraph_.n_vertices)
        wanted = self.transduction_[number] if target is None else target
        classes = self.classes_.tolist()
        if wanted not in classes:
            raise ValueError(
                f"target must be one of the classes, {', '.join(map(repr, classes[:10]))}; got {wanted!r}."
            )
        named = SavedModel(self.network_, tuple(map(str, classes)), {})
        with one_thread():
            return explain(named, self.hypergraph_, number, x=self._features, target=classes.index(wanted))

    def _probabilities(self, features: Any, memberships: sparse.csr_array) -> Tensor:
        """The probabilities of new rows, ``(rows, n_classes)``."""
        if not KINDS[self.model].structures:
            scores = self.network_(as_features(features))
        else:
            blocks = self.hypergraph_.joined_by(memberships, self.depth)
            scores = self.network_(self._with_new(features), hypergraph=blocks)
        probabilities: Tensor = scores.double().softmax(-1)
        return probabilities
