"""What the estimators share: they read ``X``, make the hypergraph, train on it and let new rows join it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data
from torch import Tensor

from hypergnn._utils.checks import Names, check_choice, check_number, find_named
from hypergnn._utils.tables import row_names
from hypergnn.construct import NearestVertex, Relation
from hypergnn.estimators.compute import as_features, available, n_rows_of, threads
from hypergnn.estimators.known_rows import KnownRows
from hypergnn.estimators.labels import hold_out
from hypergnn.estimators.later import Later, as_hypergraph, read_later
from hypergnn.estimators.rows import (
    CONSTRUCTORS,
    AttributeRows,
    MembershipRows,
    NumericRows,
    Rows,
    Scales,
    TextRows,
    check_texts,
    clusters,
    nearest_neighbours,
    options_of,
)
from hypergnn.explanations import Explanation, explain
from hypergnn.functional.checks import Features
from hypergnn.models import KINDS, Config, Network
from hypergnn.persistence.models import SavedModel
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.training.engine import OnLosses, Trial
from hypergnn.training.engine import train as fit_trials
from hypergnn.training.plan import Plan, Task

MODELS = ("hyper-conv", "hyper-attention", "mlp")
Ids = npt.NDArray[np.int64]
Values = npt.NDArray[Any]


class HypergraphEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator whose rows are the vertices of a hypergraph."""

    construct: Any
    construct_options: Mapping[str, Any] | None
    n_neighbors: int
    scale: bool
    model: str
    hidden: int
    heads: int
    depth: int
    dropout: float
    learning_rate: float
    weight_decay: float
    max_epochs: int
    warm_start: bool
    n_jobs: int | None
    device: Any
    on_epoch: OnLosses | None
    random_state: Any

    def __sklearn_tags__(self) -> Any:
        """Which inputs are accepted; that depends on ``construct``."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.construct not in ("attributes", "text")
        tags.input_tags.allow_nan = tags.input_tags.categorical = self.construct == "attributes"
        tags.input_tags.string = self.construct == "text"
        tags.input_tags.two_d_array = self.construct != "text"
        return tags

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Check ``X``, and store the names of its columns (``reset``) or compare them with the stored ones."""
        if self.construct == "text":
            return check_texts(X)
        if self.construct != "attributes":
            return self._read_numbers(X, reset=reset)
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        if array.dtype.kind == "O" and not _strings(array):  # must be numbers
            array = check_array(array, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
        return array

    def _read_numbers(self, X: Any, *, reset: bool) -> Any:
        """Check ``X`` as :meth:`_read` does; strings and NaN are errors that say how to use such data."""
        try:
            matrix = validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan"
            )
        except ValueError as error:
            if not any(map(_is_word, _strings(X))):
                raise
            raise ValueError(
                f"{error}. X must hold numbers: encode words, or use construct='attributes', which makes hyperedges of "
                "equal values, or construct='text' for texts."
            ) from error
        if np.isnan(matrix.data if sparse.issparse(matrix) else matrix).any():
            raise ValueError(
                "Input X contains NaN. Fill in missing values, or use construct='attributes', which allows them."
            )
        return matrix

    def _build(self, X: Any, hypergraph: Hypergraph | None, memberships: Any = None) -> None:
        """Read ``X``, make the hypergraph and the features of its vertices."""
        if not isinstance(self.scale, (bool, np.bool_)):
            raise TypeError(f"scale must be True or False; got {self.scale!r} of type {type(self.scale).__name__}.")
        is_alone = X is None and (hypergraph is not None or memberships is not None)
        rows = None if is_alone else self._read(X, reset=True)
        n_rows = None if rows is None else n_rows_of(rows)
        hypergraph = as_hypergraph(hypergraph, memberships, n_rows, row_names(X))
        self._relation = self._relate(rows, hypergraph)
        self.hypergraph_ = self._relation.hypergraph
        self._is_given = hypergraph is not None or callable(self.construct)
        if self._is_given:
            check_order(
                row_names(X),
                self.hypergraph_.vertex_names,
                "hypergraph must have its vertices",
                "vertex",
                "Make it with vertices=X.index, or sort X and y like it: X.loc[hypergraph.vertex_names].",
            )
        self._features = self._features_of(rows)
        self._known = KnownRows(self._features)

    def _features_of(self, rows: Any) -> Any:
        """What the estimator sees of each row."""
        return self._relation.features(rows)

    def _relate(self, X: Any, hypergraph: Hypergraph | None) -> Rows:
        options = dict(self.construct_options or {})
        if not callable(self.construct):
            check_choice("construct", self.construct, tuple(CONSTRUCTORS))
            _check_options(options, self.construct)
        if hypergraph is not None:
            self._check_nothing_to_construct(options)
            if X is None:
                return MembershipRows(hypergraph)
        elif callable(self.construct):
            hypergraph = self.construct(X, **options)
            if not isinstance(hypergraph, Hypergraph):
                raise TypeError(f"construct must return a Hypergraph; it returned a {type(hypergraph).__name__}.")
        elif self.construct == "attributes":
            return AttributeRows(X, options)
        elif self.construct == "text":
            return TextRows(X, options)
        scales = Scales(X, scale=self.scale)
        positions = scales.positions(X)
        relation: Relation
        if hypergraph is not None:
            relation = NearestVertex(hypergraph, positions)
        elif self.construct == "knn":
            relation = nearest_neighbours(positions, self.n_neighbors, options)
        else:
            relation = clusters(positions, options)
        return NumericRows(scales, relation)

    def _check_nothing_to_construct(self, options: Mapping[str, Any]) -> None:
        """Raise if settings of the estimator ask for hyperedges although a hypergraph is given."""
        if self.construct in ("attributes", "text"):
            raise ValueError(
                f"hypergraph must not be given with construct={self.construct!r}, which makes its own: "
                "encode X as numbers and leave construct out."
            )
        if options:
            raise ValueError("construct_options must be left out if a hypergraph is given: nothing is constructed.")

    def _config(self, patience: int, model: str, weight_decay: float | None = None) -> Config:
        check_choice("model", model, MODELS)
        return Config(
            model=model,
            hidden=self.hidden,
            heads=self.heads,
            depth=self.depth,
            dropout=self.dropout,
            attention_dropout=self.dropout,
            feature_scaling="none",
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay if weight_decay is None else weight_decay,
            patience=patience,
            max_epochs=self.max_epochs,
        )

    def _train(
        self,
        y: Values,
        n_outputs: int,
        validation_fraction: float,
        patience: int,
        weight: npt.NDArray[np.float64] | None = None,
    ) -> Trial:
        """Train the network of the estimator on the labelled rows; arguments as for :meth:`_train_one`."""
        self.network_, trial = self._train_one(
            self.model, y, n_outputs, validation_fraction, patience, weight, self.on_epoch
        )
        self.loss_curve_ = trial.curves["train_loss"]
        self.validation_curve_ = trial.curves["val_loss"]
        self.n_epochs_ = trial.epochs
        return trial

    def _train_one(
        self,
        model: str,
        y: Values,
        n_outputs: int,
        validation_fraction: float,
        patience: int,
        weight: npt.NDArray[np.float64] | None,
        on_epoch: OnLosses | None,
        weight_decay: float | None = None,
    ) -> tuple[Network, Trial]:
        """Train a network on the labelled rows, for all epochs unless some labels are for validation.

        Args:
            model: The kind of network.
            y: Classes, -1 for unlabelled rows; or targets, ``(N, n_outputs)``, NaN for unknown ones.
            n_outputs: Number of classes or of targets.
            validation_fraction: Share of the labels to hold out.
            patience: Number of epochs without a lower loss on them after which training stops.
            weight: Weight of each row in the loss; rows of weight 0 teach nothing.
            on_epoch: Called after each epoch.
            weight_decay: Factor of the L2 penalty in place of the estimator's.
        """
        rng = generator(self.random_state)
        is_known = y >= 0 if y.ndim == 1 else ~np.isnan(y).any(1)
        labelled = np.flatnonzero(is_known if weight is None else is_known & (weight > 0))
        fraction = check_number("validation_fraction", validation_fraction, below=1)
        train, val = hold_out(y if y.ndim == 1 else np.zeros(len(y), dtype=np.int64), labelled, fraction, rng)
        config, seed = self._config(patience, model, weight_decay), int(rng.randint(2**31 - 1))
        task = self._task(y, n_outputs, train, val, weight)
        start = self._earlier_parameters(config, task)
        with threads(self.n_jobs):
            trial = next(fit_trials(Plan.of(task, config), config, [seed], on_losses=on_epoch, start=start))
        parameters = {name: one.cpu() for name, one in trial.parameters.items()}
        sizes = (task.n_features, n_outputs)
        return Network.from_parameters(config, *sizes, parameters, linear_output=y.ndim == 2), trial

    def _task(self, y: Values, n_outputs: int, train: Ids, val: Ids, weight: npt.NDArray[np.float64] | None) -> Task:
        """The rows, their hypergraph and their labels as tensors on the device."""
        x, device = as_features(self._features), available(self.device)
        return Task(
            x=x.to(device),
            structures={"hypergraph": self.hypergraph_.to(device)},
            y=torch.from_numpy(y if y.ndim == 1 else np.float32(np.nan_to_num(y))).to(device),
            train=torch.from_numpy(train).to(device),
            val=torch.from_numpy(val).to(device),
            test=torch.empty(0, dtype=torch.int64, device=device),
            n_features=x.shape[-1],
            n_classes=n_outputs,
            weight=None if weight is None else torch.from_numpy(np.float32(weight)).to(device),
        )

    def _earlier_parameters(self, config: Config, task: Task) -> dict[str, Tensor] | None:
        """The parameters of the previous fit with ``warm_start``; ``None`` to draw new ones."""
        if not self.warm_start or not hasattr(self, "network_"):
            return None
        earlier = {name: one.detach() for name, one in self.network_.state_dict().items()}
        asked = Network.empty(config, task.n_features, task.n_classes).state_dict()
        shapes = [{name: tuple(one.shape) for name, one in part.items()} for part in (earlier, asked)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                "warm_start continues the previous network, which must have the same model, depth, width, number of "
                f"features and number of outputs; that had {shapes[0]}, this has {shapes[1]}. Fit with "
                "warm_start=False."
            )
        return earlier

    def _of_training(self, values: Values) -> Values:
        """The values of the training rows; equal rows share their mean, unless the caller gave the hypergraph."""
        return values if self._is_given else self._known.mean(values)[self._known.group]

    def _of_rows(
        self,
        X: Any,
        trained: Values,
        read: Callable[[Any, Later], Tensor],
        hypergraph: Hypergraph | None = None,
        memberships: Any = None,
    ) -> Values:
        """The values of each row: those of training if it is a training row, else what its hyperedges give it."""
        if hypergraph is not None or memberships is not None:
            features, later = self._later(X, hypergraph, memberships)
            with threads(self.n_jobs), torch.no_grad():
                return np.asarray(read(features, later).numpy(), dtype=trained.dtype)
        if X is None and isinstance(self._relation, MembershipRows):
            return trained
        rows = self._read_later(X)
        features = self._features_of(rows)
        group = self._known.find(features)
        if np.array_equal(group, self._known.group):
            return trained
        known = self._known.mean(trained)
        out = np.empty((group.size, *trained.shape[1:]), dtype=trained.dtype)
        out[group >= 0] = known[group[group >= 0]]
        new = np.flatnonzero(group < 0)
        if new.size:
            later = Later(sparse.csr_array(self._relation.join(rows))[new])
            with threads(self.n_jobs), torch.no_grad():
                out[new] = read(features[new], later).numpy()
        return out

    def _later(self, X: Any, hypergraph: Hypergraph | None, memberships: Any) -> tuple[Any, Later]:
        """The features and hyperedges of rows that come later, whose memberships the caller gives."""
        is_alone = isinstance(self._relation, MembershipRows)
        rows = None if X is None and is_alone else self._read_later(X)
        n_rows = None if rows is None else n_rows_of(rows)
        R = as_hypergraph(hypergraph, memberships, n_rows, row_names(X))
        if R is None:
            if rows is None:
                raise ValueError("hypergraph or memberships must be given: the rows of later data are their members.")
            return self._features_of(rows), Later(sparse.csr_array(self._relation.join(rows)))
        later = read_later(self.hypergraph_, R)
        if isinstance(self._relation, MembershipRows):
            return self._relation.features_of(later.memberships), later
        return self._features_of(rows), later

    def _explain_later(
        self,
        row: Any,
        named: SavedModel,
        target: int | None,
        X: Any,
        hypergraph: Hypergraph | None,
        memberships: Any,
    ) -> Explanation:
        """Explain the score of a row that comes later."""
        features, later = self._later(X, hypergraph, memberships)
        names = row_names(X) if later.names is None else later.names
        number = find_named("row", row, names, later.n_rows)
        first, _ = later.blocks(self.hypergraph_, 2)
        with threads(self.n_jobs):
            return explain(
                named, first, self.hypergraph_.n_vertices + number, x=self._with_new(features), target=target
            )

    def _read_later(self, X: Any) -> Any:
        """Check rows that come later."""
        if isinstance(self._relation, MembershipRows):
            raise ValueError(
                "X must be None: the estimator was fitted without features. Pass the hyperedges of later rows as "
                "hypergraph= or memberships=, e.g. predict(None, memberships=table)."
            )
        if X is None:
            raise ValueError("X must be given: the estimator was fitted with features.")
        return self._read(X, reset=False)

    def _scores_of(self, features: Any, later: Later) -> Tensor:
        """The scores of new rows, ``(rows, outputs)``."""
        config = self.network_.config
        if not KINDS[config.model].structures:
            scores = self.network_(as_features(features))
        else:
            blocks = later.blocks(self.hypergraph_, config.depth)
            scores = self.network_(self._with_new(features), hypergraph=blocks)
        return cast(Tensor, scores)

    def _with_new(self, features: Any) -> Features:
        """The features of the training rows, followed by those of new rows."""
        stack = sparse.vstack if sparse.issparse(features) else np.vstack
        return as_features(stack([self._features, features]))


def _check_options(options: Mapping[str, Any], construct: str) -> None:
    """Raise unless the constructor has these options."""
    known = options_of(construct)
    unknown = [name for name in options if name not in known]
    if unknown:
        hint = {"knn": " For the number of neighbours, set n_neighbors.", "text": " For others, pass a vectorizer."}
        raise ValueError(
            f"construct_options must be among those of construct={construct!r}, {', '.join(map(repr, known))}; "
            f"got {unknown[0]!r}.{hint.get(construct, '')}"
        )


def check_order(rows: Names | None, others: Names | None, must: str, entry: str, remedy: str) -> None:
    """Raise if the entries of something have the names of the rows of X, but in another order."""
    if rows is None or others is None:
        return
    ours, theirs = rows.tolist(), others.tolist()
    if ours != theirs and set(ours) == set(theirs) and len(ours) == len(theirs):
        place = next(place for place, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other)
        raise ValueError(
            f"{must} in the order of the rows of X; {entry} {place} is {theirs[place]!r}, row {place} is "
            f"{ours[place]!r}. {remedy}"
        )


def generator(random_state: Any) -> np.random.RandomState:
    """The random numbers of one fit; ``None`` seeds them by the operating system and leaves NumPy's own alone."""
    return np.random.RandomState() if random_state is None else check_random_state(random_state)


def _strings(X: Any) -> list[str]:
    """The strings in an array or a table."""
    return [] if sparse.issparse(X) else [one for one in np.asarray(X, dtype=object).flat if isinstance(one, str)]


def _is_word(text: str) -> bool:
    """Whether a string is not a number."""
    try:
        float(text)
    except ValueError:
        return True
    return False
