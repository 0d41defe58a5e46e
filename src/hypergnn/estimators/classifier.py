"""A classifier for tables in which only some rows have a label."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from hypergnn._utils.checks import check_choice, find_named
from hypergnn._utils.progress import showing
from hypergnn.estimators.base import HypergraphEstimator, check_labels_order
from hypergnn.estimators.classes import PredictsClasses
from hypergnn.estimators.compute import all_threads, capped, one_thread
from hypergnn.estimators.events import FromEvents
from hypergnn.estimators.growing import GrowsRows, check_can_continue, is_one_network
from hypergnn.estimators.labels import encode_known, encode_labels
from hypergnn.estimators.later import Later
from hypergnn.estimators.learning import OF_CLASSES, generator
from hypergnn.estimators.selection.budget import check_max_time, warn_of_time
from hypergnn.estimators.selection.candidates import Context
from hypergnn.estimators.selection.known import divide
from hypergnn.estimators.selection.network import OfNetwork
from hypergnn.estimators.selection.report import Lines
from hypergnn.estimators.selection.search import select
from hypergnn.estimators.selection.views import Views
from hypergnn.estimators.weights import as_sample_weight, check_counts, class_weights, combined
from hypergnn.estimators.whole_fits import all_or_nothing, check_same_meaning, meaning_of, whole_or_not
from hypergnn.explanations import Explanation, explain
from hypergnn.models import Network
from hypergnn.persistence.models import SavedModel
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.training.engine import OnLosses

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_ENOUGH = 20
"""Of fewer rows it says little if all get the same class, and of fewer labels if few are predicted."""


class HypergraphClassifier(FromEvents, GrowsRows, PredictsClasses, HypergraphEstimator):
    """Semi-supervised classification: rows are vertices, what they have in common are hyperedges.

    All rows are seen, and those with a label are learned from. A row is unlabelled if its label is -1 or NaN (among
    numbers), or ``None``, NaN or the number -1 (among strings), as in scikit-learn's ``LabelSpreading``; if -1 and 1
    are the only numbers, both are classes. If every row has a label, it is an ordinary classifier.

    **The default** compares several models by cross-validation within the given labels, and mixes the good ones:
    logistic regression, naive Bayes, nearest neighbours, random forest and gradient boosting, which ignore the
    hypergraph; logistic regression and trees that also see what a row receives over its hyperedges; labels, and the
    errors of other models, spread over the hyperedges; for a given hypergraph also a hypergraph convolution.
    ``print(model.report_)`` shows what was tried, and :attr:`structure_gain_` what the hypergraph added.

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
        model: ``"auto"``, see above, or one network: ``"hyper-conv"``, ``"hyper-attention"``, ``"hyper-diffusion"``,
            whose hyperedges have a learned update, ``"hyper-grand"``, which propagates random rows, or ``"mlp"``, which
            ignores the hypergraph. The arguments from ``hidden`` to ``max_epochs``, ``n_estimators``, ``device`` and
            ``on_epoch`` belong to networks, also to the one that ``"auto"`` may try, with ``weight_decay`` and a tenth
            of it.
        construct: How to make the hyperedges, see above. ``"attributes"`` gives networks the memberships and the
            numbers of the table as features; ``"text"`` takes strings and uses tf-idf features.
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
        batch_size: Number of labelled rows in a batch, with a training step for each batch; by default one step per
            epoch for all of them. Needs ``"hyper-conv"`` or ``"hyper-attention"`` as model, not ``"auto"``.
        fanout: With ``batch_size``, ``(hyperedges of each row, rows of each hyperedge)`` to draw in each layer, e.g.
            ``[(5, 5), (5, 5)]``; all by default. See :class:`hypergnn.NeighborLoader`.
        early_stopping: Whether to hold out labels and stop when their loss no longer falls. By default the network
            learns from every label: if labels are few, each is worth more than a measured end of training.
        validation_fraction: Share of each class's labels to hold out, rounded down; used with ``early_stopping`` only.
            If that leaves none, training takes all epochs.
        n_epochs_no_change: Number of epochs without a lower loss after which training stops; used with
            ``early_stopping`` only.
        n_estimators: Number of networks, trained together from different seeds, whose probabilities are averaged.
        max_time: Seconds for ``"auto"``, or ``None`` for no limit. A model that would not finish within 60 % of them is
            not tried; the rest is for the final fit. What is tried then depends on the speed of the machine, and so
            does the result, even with the same ``random_state``: a :class:`TimeLimitWarning` and ``report_`` say so.
            With ``None``, and with 0 for the first model only, the result depends on ``random_state`` alone.
        verbose: Whether to show the progress of ``"auto"``.
        class_weight: How much the labels of each class count: ``"balanced"`` for weights inversely proportional to
            their numbers, a dictionary from class to weight, or ``None`` for equal weights.
        warm_start: Whether :meth:`fit` continues with the network of the previous fit; not with ``"auto"``.
        n_jobs: Number of threads; one by default, -1 for all cores. Inside ``joblib.parallel_config(backend=…)`` with a
            backend of Dask, Ray or Spark, number of its workers that train the networks of ``n_estimators``; if
            omitted, as many as that configuration says.
        device: Where to train, e.g. ``"cuda"``; predictions are computed on the CPU.
        on_epoch: A function called after each epoch as ``on_epoch(epoch, losses)``, see
            :class:`hypergnn.training.Losses`. Training ends if it returns ``True``; what it raises leaves :meth:`fit`.
        random_state: A whole number for the same result each time, a ``numpy.random.RandomState``, or ``None`` for a
            different result each time. It determines the initial parameters, dropout and the held-out labels. Clusters
            and approximate neighbours have their own ``"seed"`` in ``construct_options``.

    Attributes:
        classes_: The classes, sorted.
        transduction_: Class of each training row.
        label_distributions_: Probability of each class for each training row.
        hypergraph_: The hypergraph.
        report_: With ``"auto"``, what was tried, with which accuracy and in which time, and the weights of the mixture;
            prints as a table.
        structure_gain_: With ``"auto"``, by how much the models that use the hypergraph raise the cross-validated
            accuracy: 0.05 are five percentage points.
        structure_gain_std_: Its standard error.
        network_: With one network, the trained network, or the ensemble of ``n_estimators``; the next three are then
            those of the network, or of the first one.
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

    _models = OF_CLASSES

    def __init__(
        self,
        model: str = "auto",
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
        batch_size: int | None = None,
        fanout: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        n_epochs_no_change: int = 50,
        n_estimators: int = 1,
        max_time: float | None = 60.0,
        verbose: bool = False,
        class_weight: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        device: Any = "cpu",
        on_epoch: OnLosses | None = None,
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
        self.batch_size = batch_size
        self.fanout = fanout
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_epochs_no_change = n_epochs_no_change
        self.n_estimators = n_estimators
        self.max_time = max_time
        self.verbose = verbose
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.on_epoch = on_epoch
        self.random_state = random_state

    @whole_or_not
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        hypergraph: Hypergraph | None = None,
        memberships: Any = None,
    ) -> HypergraphClassifier:
        """Learn from the labelled rows; the network sees all rows.

        Args:
            X: A table, an array or a sparse matrix, one row per vertex. Words, dates and gaps are encoded as numbers by
                :class:`hypergnn.construct.TableEncoder`. For ``"text"``, strings. ``None`` if the hypergraph is all
                there is: the network then sees the hyperedges of each row.
            y: The label of each row; -1, ``None`` or NaN if it has none.
            sample_weight: How much the label of each row counts; equally by default.
            hypergraph: A hypergraph whose vertices are the rows, to use in place of ``construct``.
            memberships: The same as a sparse matrix of zeros and ones, rows × hyperedges, or as a table of two columns,
                the row (its number, or its name in the index of ``X``) and the hyperedge.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If values or shapes are invalid, or the labels are not of at least two classes.
        """
        return self._fit(X, y, sample_weight, hypergraph, memberships)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, hypergraph: Hypergraph | None, memberships: Any, classes: Any = None
    ) -> HypergraphClassifier:
        check_choice("model", self.model, ("auto", *self._models))
        before = meaning_of(self)
        self._build(X, hypergraph, memberships)
        if y is None:
            raise ValueError("HypergraphClassifier requires y to be passed, but the target y is None")
        check_labels_order(X, y, "label")
        n_rows = self.hypergraph_.n_vertices
        self.classes_, codes = encode_labels(y, n_rows)
        if classes is None and len(self.classes_) < 2:
            raise ValueError(
                f"y must hold labels of at least two classes; got one class only, {self.classes_.tolist()[0]!r}. Label "
                "rows of other classes too."
            )
        if classes is not None:
            self.classes_ = np.unique(np.asarray(classes))
            codes = encode_known(y, n_rows, self.classes_)
        check_same_meaning(self, before)
        self._learn(codes, as_sample_weight(sample_weight, n_rows), continues=False)
        return self

    @available_if(is_one_network)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        hypergraph: Hypergraph | None = None,
        memberships: Any = None,
    ) -> HypergraphClassifier:
        """Continue training with rows and hyperedges that came later; a first call fits.

        The rows become vertices of :attr:`hypergraph_`, members of known hyperedges and of those that they bring, and
        the network trains on from its last parameters, for ``max_epochs`` epochs, with all labels that are known by
        now. Scales and encodings stay those of the first call; where memberships are the features, new hyperedges are
        new features. A row with the name of a known row is that row: its features are replaced, a label replaces the
        earlier one, and it joins further hyperedges.

        Only for a single network, e.g. ``HypergraphClassifier("hyper-conv")``.

        Args:
            X: The new rows, in the form of :meth:`fit`; ``None`` if the classifier was fitted without features.
            y: Their labels, -1, ``None`` or NaN where there is none; ``None`` if no row has one.
            classes: In the first call, all classes that may come; those of ``y`` if omitted.
            sample_weight: How much the labels of the new rows count; 1 by default.
            hypergraph: The hyperedges of the new rows, recognised by name as in :meth:`predict`. Without it and
                ``memberships``, the rows join by the rule of ``construct``.
            memberships: The same as a matrix or table.

        Raises:
            ValueError: If a label is not among the classes, or values or shapes are invalid. The classifier is then
                what it was.

        Example:
            >>> import hypergnn as hg
            >>> model = hg.HypergraphClassifier("hyper-conv", n_neighbors=1, random_state=0)
            >>> model = model.partial_fit([[0.0], [0.1], [1.0]], ["low", None, "high"])
            >>> model = model.partial_fit([[0.9], [0.2]], [None, "low"])
            >>> model.hypergraph_.n_vertices, model.predict([[0.9], [0.15]]).tolist()
            (5, ['high', 'low'])
        """
        if not hasattr(self, "network_"):
            return self._fit(X, y, sample_weight, hypergraph, memberships, classes)
        check_can_continue(self, self.model)
        if classes is not None and np.unique(np.asarray(classes)).tolist() != self.classes_.tolist():
            raise ValueError(
                f"classes must be those of the first call, {self.classes_.tolist()}; got {list(classes)}. Omit it."
            )
        check_labels_order(X, y, "label")
        growth = self._growth(X, hypergraph, memberships)
        n_new = growth.place.size
        new = encode_known(y, n_new, self.classes_)
        codes = growth.extended(self._codes, new, new >= 0)
        weight = growth.weights(self._sample_weight, as_sample_weight(sample_weight, n_new))
        with all_or_nothing(self):
            self._take(growth)
            self._learn(codes, weight, continues=True)
        return self

    def _learn(self, codes: Ids, sample_weight: Floats | None, *, continues: bool) -> None:
        """Learn from the labels, and predict all rows."""
        weight = combined(sample_weight, class_weights(self.class_weight, self.classes_, codes))
        check_counts(weight, codes >= 0)
        if self.model == "auto":
            shares = self._select(codes, weight)
        else:
            fraction = self.validation_fraction if self.early_stopping else 0.0
            n_classes = len(self.classes_)
            trial = self._train(codes, n_classes, fraction, self.n_epochs_no_change, weight, continues=continues)
            shares = trial.scores.cpu().double().softmax(-1).numpy()
        self._codes, self._sample_weight = codes, sample_weight
        self.label_distributions_ = self._of_training(shares)
        self.transduction_ = self.classes_[self.label_distributions_.argmax(1)]
        self._warn()

    def _select(self, codes: Ids, weight: Floats | None) -> Floats:
        """Choose among candidates within the labels; return the probabilities of the rows."""
        for name in ("early_stopping", "warm_start"):
            if getattr(self, name):
                raise ValueError(f"{name} must be False with model='auto'; choose a network, e.g. model='hyper-conv'.")
        if self.batch_size is not None or self.fanout is not None:
            raise ValueError(
                "batch_size and fanout must be None with model='auto', which compares models on all rows; choose a "
                "network, e.g. model='hyper-conv'."
            )
        self._config(self.max_epochs, "hyper-conv")  # refuses settings that no network can have
        max_time = check_max_time(self.max_time)
        rng = generator(self.random_state)
        known = divide(codes, len(self.classes_), rng, weight)
        seeds = rng.randint(2**31 - 1, size=2).tolist()
        self._views = Views(
            self._features,
            self.hypergraph_,
            has_members=self._relation.has_members,
            seed=seeds[0],
            draws_in=True,
            counts=self._is_given,
        )
        networks = self._network_candidates(codes, weight) if self._is_given else []
        progress = showing(Lines(), quiet=not self.verbose)
        with all_threads(self.n_jobs), progress as say:
            context = Context(self._views, known, seeds[1], capped(self.n_jobs))
            self._mixture, self.report_ = select(context, networks, max_time, say)
            shares = self._mixture.training(self._views)
        self._views.forget()
        self.structure_gain_ = self.report_.structure_gain
        self.structure_gain_std_ = self.report_.structure_gain_std
        return shares

    def _network_candidates(self, codes: Ids, weight: Floats | None) -> list[OfNetwork]:
        """Networks that learn from some of the labelled rows."""

        def train(model: str, rows: Ids, weight_decay: float, *, is_last: bool) -> tuple[Network, Floats]:
            some = np.full_like(codes, -1)
            some[rows] = codes[rows]
            listener = self.on_epoch if is_last else None
            network, trial = self._train_one(
                model, some, len(self.classes_), 0.0, self.max_epochs, weight, listener, weight_decay
            )
            return network, trial.scores.cpu().double().softmax(-1).numpy()

        usual, less = self.weight_decay, self.weight_decay / 10
        return [
            OfNetwork("hyper-conv", partial(train, "hyper-conv"), (usual, less), needs_smoothness=True),
            OfNetwork("hyper-diffusion", partial(train, "hyper-diffusion"), (less,), needs_smoothness=False),
            OfNetwork("hyper-grand", partial(train, "hyper-grand"), (less,), needs_smoothness=True),
        ]

    def _warn(self) -> None:
        """Warn if time was too short, or the predictions are worth no more than the name of the largest class."""
        if self.model == "auto":
            warn_of_time(self.max_time, self.report_.out_of_time, stacklevel=5)
        if len(self.classes_) < 2 or len(self.transduction_) < _ENOUGH:
            return
        if len(np.unique(self.label_distributions_.argmax(1))) == 1:
            warnings.warn(_one_class(str(self.transduction_[0]), self.model), UserWarning, stacklevel=5)
        elif self.model == "auto" and self.report_.n_labels >= _ENOUGH and not self.report_.is_better_than_chance:
            warnings.warn(self.report_.chance_warning(), UserWarning, stacklevel=5)

    def explain(
        self,
        row: Any,
        *,
        target: Any = None,
        X: Any = None,
        hypergraph: Hypergraph | None = None,
        memberships: Any = None,
    ) -> Explanation:
        """Explain why a row got its class: what each of its hyperedges contributed.

        For a single network, e.g. ``HypergraphClassifier("hyper-conv")``, contributions are the terms of the score. A
        mixture (``"auto"``) has no such terms: its contributions are the changes of the probability as the hyperedges
        and the row's own features join one after the other, averaged over many orders (Shapley values). A training row
        is then explained as one that comes later, with the same features and hyperedges.

        Hyperedges appear by name: values of columns, words, or the names of a given hypergraph; a hyperedge of
        ``"knn"`` by the number of the row that it is around. Rows with equal features share the mean of their
        probabilities in :attr:`label_distributions_`; the explanation is of this row's own score.

        Args:
            row: Its number in the training table, or its name if the hypergraph names its vertices. With later rows,
                its number in ``X`` or its name in their hypergraph.
            target: The class to explain; by default the predicted one.
            X: Rows that come later, to explain one of them in place of a training row; ``None`` with ``hypergraph`` or
                ``memberships`` if the classifier was fitted without features.
            hypergraph: The hyperedges of the later rows, as in :meth:`predict`.
            memberships: The same as a matrix or table.

        Raises:
            ValueError: If the row or the class does not exist.

        Example:
            >>> import hypergnn as hg
            >>> texts = ["ripe apple pie", "apple and plum", "steel hammer", "hammer and nail"]
            >>> model = hg.HypergraphClassifier(
            ...     "hyper-conv", construct="text", construct_options={"min_df": 1, "max_df": 1.0}, random_state=0
            ... ).fit(texts, ["fruit", None, "tool", None])
            >>> why = model.explain(1)
            >>> why.target_name, sorted(why.names)
            ('fruit', ['apple', 'bias', 'plum'])
        """
        check_is_fitted(self)
        classes = self.classes_.tolist()
        if target is not None and target not in classes:
            raise ValueError(
                f"target must be one of the classes, {', '.join(map(repr, classes[:10]))}; got {target!r}."
            )
        if self.model == "auto":
            found = self._attribute(row, self._mixed, X, hypergraph, memberships)
            scores = found.base + found.change.sum(0)
            chosen = int(scores.argmax()) if target is None else classes.index(target)
            return found.explanation(chosen, tuple(map(str, classes)), are_classes=True)
        named = SavedModel(self.network_, tuple(map(str, classes)), {})
        if X is not None or hypergraph is not None or memberships is not None:
            chosen = None if target is None else classes.index(target)
            return self._explain_later(row, named, chosen, X, hypergraph, memberships)
        names = self._names()
        number = find_named("row", row, names, self.hypergraph_.n_vertices)
        wanted = classes.index(self.transduction_[number] if target is None else target)
        with one_thread():
            why = explain(named, self.hypergraph_, number, x=self._features, target=wanted)
        return why if names is None else replace(why, vertex_name=names[[number]].tolist()[0])

    def _features_of(self, rows: Any) -> Any:
        """What the estimator sees of each row: with ``"auto"``, what is known without the hypergraph."""
        return self._relation.own(rows) if self.model == "auto" else self._relation.features(rows)

    def _probabilities(self, features: Any, later: Later) -> Tensor:
        """The probabilities of new rows, ``(rows, n_classes)``."""
        if self.model == "auto":
            return torch.from_numpy(self._mixed(features, later))
        probabilities: Tensor = self._scores_of(features, later).double().softmax(-1)
        return probabilities

    def _mixed(self, features: Any, later: Later) -> Floats:
        """What the mixture of ``"auto"`` gives new rows, ``(rows, n_classes)``."""
        return self._mixture.new(self._views.of_new(features, later))


def _one_class(name: str, model: str) -> str:
    """The warning if every row gets the same class."""
    advice = (
        "Check that X or the hypergraph has something to do with the labels, and label more rows."
        if model == "auto"
        else "Try model='auto', which compares several models, a smaller weight_decay or more epochs."
    )
    return f"every row was predicted to be of class {name!r}. {advice}"
