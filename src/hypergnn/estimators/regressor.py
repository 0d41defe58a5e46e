"""A regressor for tables in which only some rows have a known target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from hypergnn._utils.checks import check_choice
from hypergnn._utils.progress import showing
from hypergnn.estimators.base import HypergraphEstimator, check_labels_order
from hypergnn.estimators.compute import all_threads, capped
from hypergnn.estimators.events import FromEvents
from hypergnn.estimators.growing import GrowsRows, check_can_continue, is_one_network
from hypergnn.estimators.later import Later
from hypergnn.estimators.learning import MODELS, generator
from hypergnn.estimators.members import candidates_for
from hypergnn.estimators.regression_report import RegressionReport
from hypergnn.estimators.selection.budget import check_max_time, warn_of_time
from hypergnn.estimators.selection.report import Lines
from hypergnn.estimators.selection.views import Views
from hypergnn.estimators.stacking import Stack, fit_stack
from hypergnn.estimators.targets import check_all_known, read_targets, warn_of_few
from hypergnn.estimators.weights import as_sample_weight
from hypergnn.estimators.whole_fits import all_or_nothing, check_same_meaning, meaning_of, whole_or_not
from hypergnn.explanations import Explanation
from hypergnn.models import Network
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.training.engine import OnLosses

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class HypergraphRegressor(FromEvents, RegressorMixin, GrowsRows, HypergraphEstimator):  # type: ignore[misc]
    """Semi-supervised regression: rows are vertices, what they have in common are hyperedges.

    It sees all rows and learns from those with a known target; mark unknown targets with NaN or ``None``. By default
    several models are weighted by how well they predict known targets that were held out: ridge regression, a random
    forest, gradient boosting and a network, each with the features of a row alone and with those of its hyperedges
    too. A model that adds nothing gets the weight 0, so the structure helps where it can and is left out
    where it cannot. What the weighted models still get wrong is smoothed over the hyperedges if that helps.

    Rows, hyperedges and new rows are those of :class:`HypergraphClassifier`, as are all arguments that are not
    described here.

    Args:
        model: ``"auto"`` for the weighted models; or one network, ``"hyper-conv"``, ``"hyper-attention"`` or ``"mlp"``,
            trained with the squared error.
        construct: How to make the hyperedges.
        n_neighbors: Number of neighbours of a row, for ``"knn"``.
        construct_options: Further arguments of the constructor.
        scale: Whether to scale the columns. Targets are always scaled for training and predicted in their own unit.
        hidden: Features per head in all layers but the last.
        heads: Number of heads in all layers but the last.
        depth: Number of layers.
        dropout: Dropout rate.
        learning_rate: Step size of Adam.
        weight_decay: Factor of the L2 penalty.
        max_epochs: Number of training epochs, or the largest number with ``early_stopping``.
        early_stopping: Whether to hold out targets and stop when their loss no longer falls.
        validation_fraction: Share of the known targets to hold out; used with ``early_stopping`` only.
        n_epochs_no_change: Number of epochs without a lower loss after which training stops; used with
            ``early_stopping`` only.
        max_time: Seconds for ``"auto"``, or ``None`` for no limit. A model that would not finish in time is not tried.
            What is tried then depends on the speed of the machine, and so does the result, even with the same
            ``random_state``: a :class:`TimeLimitWarning` and ``report_`` say so. With ``None``, and with 0 for the
            first model only, the result depends on ``random_state`` alone.
        verbose: Whether to show the progress of ``"auto"``.
        warm_start: Whether :meth:`fit` continues with the network of the previous fit; not with ``"auto"``.
        n_jobs: As in :class:`HypergraphClassifier`.
        device: Where to train networks.
        on_epoch: A function called after each epoch as ``on_epoch(epoch, losses)``; see :class:`HypergraphClassifier`.
            With ``"auto"`` it is called for the networks that are trained on all known targets, if they count.
        random_state: As in :class:`HypergraphClassifier`; it also draws the folds of the cross-validation.

    Attributes:
        transduction_: The prediction for each training row, ``(N,)``, or ``(N, outputs)`` if ``y`` has several columns.
        hypergraph_: The hypergraph.
        report_: With ``"auto"``, what was tried: one dictionary per model with its name (``candidate``), its ``r2`` in
            the cross-validation (``None`` if it was not tried), its ``weight`` and the ``seconds`` that it took; then
            the R² of all weighted models together, without and with smoothed errors. Prints as a table.
        structure_gain_: With ``"auto"``, by how much the hypergraph raises R² in the cross-validation.
        structure_gain_std_: Its standard error.
        network_: With one network, the trained network; as are the next three.
        loss_curve_: Training loss of each epoch.
        validation_curve_: Loss of each epoch on the held-out targets; empty if there are none.
        n_epochs_: Number of epochs that training took.
        n_features_in_: Number of columns of ``X``; not set for ``"text"``.
        feature_names_in_: Their names, if ``X`` is a table and all are strings; not set for ``"text"``.

    Example:
        >>> import numpy as np, hypergnn as hg
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> few = np.where(np.arange(len(y)) % 4 == 0, y, np.nan)       # every fourth target
        >>> model = hg.HypergraphRegressor("hyper-conv", random_state=0).fit(X, few)
        >>> unknown = np.isnan(few)
        >>> bool(model.score(X[unknown], y[unknown]) > 0.3)
        True
    """

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
        dropout: float = 0.2,
        learning_rate: float = 0.01,
        weight_decay: float = 0.003,
        max_epochs: int = 200,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        n_epochs_no_change: int = 50,
        max_time: float | None = 60.0,
        verbose: bool = False,
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
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_epochs_no_change = n_epochs_no_change
        self.max_time = max_time
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.on_epoch = on_epoch
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Several targets at once are allowed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
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
    ) -> HypergraphRegressor:
        """Learn from the rows with a known target; all rows are seen.

        Args:
            X: As in :meth:`HypergraphClassifier.fit`.
            y: The target of each row, or several in columns; NaN or ``None`` in rows without one.
            sample_weight: How much the target of each row counts; equally by default.
            hypergraph: As in :meth:`HypergraphClassifier.fit`.
            memberships: As in :meth:`HypergraphClassifier.fit`.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If values or shapes are invalid, or no target is known.
        """
        before = meaning_of(self)
        self._build(X, hypergraph, memberships)
        check_same_meaning(self, before)
        check_choice("model", self.model, ("auto", *MODELS))
        if y is None:
            raise ValueError("HypergraphRegressor requires y to be passed, but the target y is None")
        check_labels_order(X, y, "target")
        weight = as_sample_weight(sample_weight, self.hypergraph_.n_vertices)
        self._targets = read_targets(y, self.hypergraph_.n_vertices, weight)
        warn_of_few(self._targets)
        self._learn(weight, continues=False)
        return self

    @available_if(is_one_network)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        hypergraph: Hypergraph | None = None,
        memberships: Any = None,
    ) -> HypergraphRegressor:
        """Continue training with rows and hyperedges that came later; a first call fits.

        As :meth:`HypergraphClassifier.partial_fit`. The targets keep the scale of the first call.

        Args:
            X: The new rows; ``None`` if the regressor was fitted without features.
            y: Their targets, NaN or ``None`` where unknown; ``None`` if all are.
            sample_weight: How much the targets of the new rows count; 1 by default.
            hypergraph: As in :meth:`HypergraphClassifier.partial_fit`.
            memberships: As in :meth:`HypergraphClassifier.partial_fit`.

        Example:
            >>> import hypergnn as hg
            >>> model = hg.HypergraphRegressor("hyper-conv", n_neighbors=1, random_state=0)
            >>> model = model.partial_fit([[0.0], [0.1], [0.5], [1.0]], [0.0, None, 5.0, 10.0])
            >>> model.partial_fit([[0.9], [0.2]], [9.0, None]).transduction_.shape
            (6,)
        """
        if not hasattr(self, "network_"):
            return self.fit(X, y, sample_weight, hypergraph=hypergraph, memberships=memberships)
        check_can_continue(self, self.model)
        check_labels_order(X, y, "target")
        growth = self._growth(X, hypergraph, memberships)
        n_new = growth.place.size
        new = self._targets.read_more(y, n_new)
        scaled = growth.extended(self._targets.scaled, new, np.asarray(~np.isnan(new).any(1)))
        weight = growth.weights(self._sample_weight, as_sample_weight(sample_weight, n_new))
        with all_or_nothing(self):
            self._take(growth)
            self._targets = self._targets._replace(scaled=scaled)
            self._learn(weight, continues=True)
        return self

    def _learn(self, weight: Floats | None, *, continues: bool) -> None:
        """Learn from the known targets, and predict all rows."""
        if self.model == "auto":
            scaled = self._fit_stack(weight)
        else:
            fraction = self.validation_fraction if self.early_stopping else 0.0
            y, patience = self._targets.scaled, self.n_epochs_no_change
            trial = self._train(y, self._targets.mean.size, fraction, patience, weight, continues=continues)
            scaled = trial.scores.cpu().double().numpy()
        self._sample_weight = weight
        self.transduction_ = self._targets.restore(self._of_training(scaled))

    def predict(self, X: Any, *, hypergraph: Hypergraph | None = None, memberships: Any = None) -> Floats:
        """Return the prediction for each row; new rows join the hypergraph of the training rows.

        Args:
            X: The rows; ``None`` if the regressor was fitted without features.
            hypergraph: As in :meth:`HypergraphClassifier.predict`.
            memberships: As in :meth:`HypergraphClassifier.predict`.
        """
        check_is_fitted(self)
        return self._of_rows(X, self.transduction_, self._predict_new, hypergraph, memberships)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        hypergraph: Hypergraph | None = None,
        memberships: Any = None,
    ) -> float:
        """Return R² of the predictions, the mean over outputs: 1 is perfect, 0 is as good as the mean of ``y``.

        Args:
            X: As in :meth:`predict`.
            y: The target of each row, all of them known.
            sample_weight: Weight of each row; equal by default.
            hypergraph: As in :meth:`predict`.
            memberships: As in :meth:`predict`.

        Raises:
            ValueError: If a target is unknown.
        """
        check_is_fitted(self)
        check_all_known(y)
        found = self.predict(X, hypergraph=hypergraph, memberships=memberships)
        return float(r2_score(y, found, sample_weight=sample_weight))

    def explain(
        self,
        row: Any,
        *,
        output: int = 0,
        X: Any = None,
        hypergraph: Hypergraph | None = None,
        memberships: Any = None,
    ) -> Explanation:
        """Explain the prediction for a row: what each of its hyperedges and its own features change.

        They join one after the other, in many orders; the contribution of each is the mean change of the prediction
        when it joins (its Shapley value), in the units of ``y``. A training row is explained as one that comes later,
        with the same features and hyperedges.

        Args:
            row: As in :meth:`HypergraphClassifier.explain`.
            output: Which of several targets.
            X: As in :meth:`HypergraphClassifier.explain`.
            hypergraph: As in :meth:`predict`.
            memberships: As in :meth:`predict`.

        Raises:
            ValueError: If the row or the output does not exist.

        Example:
            >>> import hypergnn as hg
            >>> H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3, 4]], n_vertices=5, hyperedge_names=["old", "new"])
            >>> model = hg.HypergraphRegressor(random_state=0).fit(None, [1.0, 1.0, None, 5.0, 5.0], hypergraph=H)
            >>> why = model.explain(0)
            >>> why.names
            ('old', 'bias')
        """
        check_is_fitted(self)
        n_outputs = self._targets.mean.size
        if not 0 <= output < n_outputs:
            raise ValueError(f"output must be from 0 to {n_outputs - 1}; got {output!r}.")

        def predict(features: Any, later: Later) -> Floats:
            return np.asarray(self._predict_new(features, later).numpy()).reshape(later.n_rows, n_outputs)

        found = self._attribute(row, predict, X, hypergraph, memberships)
        names = ("prediction",) if n_outputs == 1 else tuple(f"output {one}" for one in range(n_outputs))
        return found.explanation(output, names, are_classes=False)

    def _predict_new(self, features: Any, later: Later) -> Tensor:
        """The predictions for new rows."""
        if self.model == "auto":
            scaled = self._stack.predict(self._views.of_new(features, later))
        else:
            scaled = self._scores_of(features, later).double().numpy()
        return torch.from_numpy(np.ascontiguousarray(self._targets.restore(scaled)))

    def _fit_stack(self, weight: Floats | None) -> Floats:
        """Fit the weighted models and return their predictions for the training rows."""
        if self.warm_start:
            raise ValueError("warm_start must be False with model='auto': it continues a single network.")
        max_time = check_max_time(self.max_time)
        rng = generator(self.random_state)
        rows = np.flatnonzero(~np.isnan(self._targets.scaled).any(1))
        own = None if weight is None else weight[rows] / weight[rows].mean()
        seed = int(rng.randint(2**31 - 1))
        has_members = self._relation.has_members
        self._views = Views(self._features, self.hypergraph_, has_members=has_members, seed=seed, counts=self._is_given)
        n_outputs = self._targets.mean.size
        progress = showing(Lines(), quiet=not self.verbose)
        with all_threads(self.n_jobs), progress as say:
            tried = candidates_for(self._views, rows.size, n_outputs, rng, capped(self.n_jobs), self._train_network)
            targets = self._targets.scaled[rows]
            self._stack: Stack = fit_stack(tried, self._views, rows, targets, own, rng, max_time, say)
            scaled = self._stack.predict(self._views)
        self._views.forget()
        self.structure_gain_, self.structure_gain_std_ = self._stack.gain, self._stack.gain_error
        self.report_ = RegressionReport(
            self._stack.report, self._stack.gain, self._stack.gain_error, self._stack.seconds, self._stack.compiling
        )
        warn_of_time(self.max_time, self.report_.out_of_time, stacklevel=4)
        return scaled

    def _features_of(self, rows: Any) -> Any:
        """What the estimator sees of each row: with ``"auto"``, what is known without the hypergraph."""
        return self._relation.own(rows) if self.model == "auto" else self._relation.features(rows)

    def _train_network(self, model: str, rows: Ids, targets: Floats, weight: Floats | None) -> Network:
        """A network trained on some rows, one of the weighted models."""
        y = np.full_like(self._targets.scaled, np.nan)
        y[rows] = targets
        every = None
        if weight is not None:
            every = np.zeros(len(y))
            every[rows] = weight
        is_whole = rows.size == np.count_nonzero(~np.isnan(self._targets.scaled).any(1))
        listener = self.on_epoch if is_whole else None
        network, _ = self._train_one(
            model, y, y.shape[1], 0.0, self.max_epochs, every, listener, sees_unlabelled=model != "mlp"
        )
        return network
