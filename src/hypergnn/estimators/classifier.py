"""A classifier for tables of which only some rows have a label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from hypergnn._utils.checks import find_named
from hypergnn._utils.tables import row_names
from hypergnn.estimators.base import HypergraphEstimator, as_features, one_thread
from hypergnn.estimators.labels import check_all_labelled, encode_labels
from hypergnn.estimators.points import check_order
from hypergnn.explanations import Explanation, explain
from hypergnn.persistence.models import SavedModel
from hypergnn.structures.hypergraph import Hypergraph


class HypergraphClassifier(ClassifierMixin, HypergraphEstimator):  # type: ignore[misc]
    """Semi-supervised classification: rows are vertices, what they have in common are hyperedges.

    The network learns from the labelled rows and sees all of them. Unlabelled are rows whose label is -1 or NaN
    (numbers), ``None``, NaN or the number -1 (strings), as in scikit-learn's ``LabelSpreading``; where -1 and 1 are the
    only numbers, both are classes. With a label in each row it is an ordinary classifier.

    **New rows.** ``predict`` gives a row that was there in training what training gave it (:attr:`transduction_`). It
    knows such a row by its features: where a given hypergraph tells rows with equal features apart, only
    :attr:`transduction_` and ``predict`` of the whole training table do so, and in any other table such a row gets the
    mean of its equals. A new row joins hyperedges of the training by the rule that made them, and reads what these
    hold; hyperedges and rows of the training stay what they are. So a prediction of a new row does not depend on what
    else is predicted with it.

    | ``construct``    | hyperedges                               | which a new row joins                    |
    | ---------------- | ---------------------------------------- | ---------------------------------------- |
    | ``"knn"``        | each row and its ``n_neighbors`` nearest | those around its ``n_neighbors`` nearest |
    | ``"clusters"``   | clusters of k-means                      | the one with the nearest centre          |
    | ``"attributes"`` | equal values, bins of numbers            | those of its values                      |
    | ``"text"``       | words, each with its documents           | those of its words                       |
    | a callable       | what it makes of ``X``                   | those of the nearest row                 |

    A hypergraph given to :meth:`fit` takes the place of all these; a new row then joins those of the nearest row.

    Args:
        model: ``"hyper-conv"``, ``"hyper-attention"``, or ``"mlp"``, which ignores the hypergraph.
        construct: How hyperedges are made, see above. ``"attributes"`` takes a table or an array, may have missing
            values, and uses memberships as features; ``"text"`` takes strings and uses tf-idf.
        n_neighbors: Neighbours of a row, for ``"knn"``; at most all other rows.
        construct_options: Further arguments of the constructor in :mod:`hypergnn.construct` (or of the callable), e.g.
            ``{"n_clusters": [10, 30]}``. ``"attributes"`` divides numbers into 5 bins unless told otherwise.
        scale: Whether columns are brought to the range from 0 to 1 for distances and then to mean 0 and variance 1 for
            the network. Rows of a sparse matrix are brought to length 1 instead, and stay sparse.
        hidden: Features of each head in all layers but the last.
        heads: Heads of all layers but the last.
        depth: Number of layers.
        dropout: Dropout of the input of each layer, and of a learned transition.
        learning_rate: Step size of Adam.
        weight_decay: Factor of the L2 penalty.
        max_epochs: Epochs of training; all of them are taken unless ``early_stopping``.
        early_stopping: Whether to hold labels out and stop when their loss no longer falls. By default every label is
            learned from: where labels are few, each is worth more than a measured end.
        validation_fraction: Share of each class's labels to hold out, rounded down; with ``early_stopping`` only. If
            that is none, all epochs are taken.
        n_epochs_no_change: Epochs without a lower loss after which training ends; with ``early_stopping`` only.
        random_state: A whole number for the same result each time, a ``numpy.random.RandomState``, or ``None`` for
            another result each time: it decides the first parameters, dropout and what is held out. Clusters and
            approximate neighbours have a ``"seed"`` of their own among ``construct_options``.

    Attributes:
        classes_: The classes, sorted.
        transduction_: Class of each row of the training.
        label_distributions_: Probability of each class for each row of the training.
        hypergraph_: The hypergraph.
        network_: The trained network.
        loss_curve_: Training loss of each epoch.
        validation_curve_: Loss on what was held out, of each epoch; empty if nothing was.
        n_epochs_: Epochs taken.
        n_features_in_: Number of columns of ``X``; not there for ``"text"``.
        feature_names_in_: Their names, where ``X`` is a table whose columns are all called by strings; not there for
            ``"text"``.

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
        """Keep the settings; they are checked by :meth:`fit`."""
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
        """Learn from the labelled rows, seeing all.

        Args:
            X: A table of numbers, an array or a sparse matrix, a row for each vertex; for ``"attributes"`` any table,
                for ``"text"`` strings.
            y: The label of each row, -1, ``None`` or NaN where it has none.
            hypergraph: Hyperedges over the rows, in place of those that ``construct`` would make.

        Raises:
            TypeError: If something is of a wrong kind.
            ValueError: If values or shapes cannot be, or no row has a label.
        """
        self._build(X, hypergraph)
        if y is None:
            raise ValueError("HypergraphClassifier requires y to be passed, but the target y is None")
        check_order(row_names(X), row_names(y), "y must have its labels", "label", "Sort it: y.loc[X.index].")
        self.classes_, codes = encode_labels(y, self.hypergraph_.n_vertices)
        fraction = self.validation_fraction if self.early_stopping else 0.0
        trial = self._train(codes, len(self.classes_), fraction, self.n_epochs_no_change)
        self.label_distributions_ = self._of_training(trial.scores.double().softmax(-1).numpy())
        self.transduction_ = self.classes_[self.label_distributions_.argmax(1)]
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row; new rows join the hypergraph of the training."""
        check_is_fitted(self)
        found: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(1)]
        return found

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probability of each class for each row, ``(rows, classes)``, in the order of :attr:`classes_`."""
        check_is_fitted(self)
        return self._of_rows(X, self.label_distributions_, self._probabilities)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that :meth:`predict` gives their label.

        Args:
            X: As in :meth:`predict`.
            y: A label for each row.
            sample_weight: What each row counts; all the same if omitted.

        Raises:
            ValueError: If a row has no label.
        """
        check_is_fitted(self)
        check_all_labelled(y, self.classes_)
        return float(super().score(X, y, sample_weight=sample_weight))

    def explain(self, row: Any, *, target: Any = None) -> Explanation:
        """Tell why a row of the training got its class: what each of its hyperedges added to the score.

        Hyperedges go by their names: values of columns, words, those of a given hypergraph; one of ``"knn"`` by the
        number of the row that it is around. Of rows with equal features, which :attr:`label_distributions_` gives
        their mean, this takes the one apart that was asked for.

        Args:
            row: Its name, where the hypergraph has names, or its number in the table of the training.
            target: The class to explain; the one in :attr:`transduction_` if omitted.

        Raises:
            ValueError: If there is no such row or class.

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

    def _probabilities(self, x_new: Any, readers: Hypergraph) -> Tensor:
        scores = self.network_.read(as_features(self._features), self.hypergraph_, x_new, readers)
        return scores.double().softmax(-1)  # type: ignore[union-attr]
