"""What the estimators share: reading ``X``, making the hypergraph, and joining new rows to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data
from torch import Tensor

from hypergnn._utils.checks import check_choice, check_number
from hypergnn._utils.tables import row_names
from hypergnn.estimators.known_rows import KnownRows
from hypergnn.estimators.labels import hold_out
from hypergnn.estimators.points import Clusters, Given, Neighbours, check_order
from hypergnn.estimators.properties import Attributes, Words, check_texts
from hypergnn.functional.checks import Features
from hypergnn.models import Config, Network
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.sparse_features import SparseFeatures
from hypergnn.training.engine import Trial
from hypergnn.training.engine import train as fit_trials
from hypergnn.training.plan import Plan, Task

OPTIONS = {
    "knn": ("metric", "approximate", "seed"),  # its k is n_neighbors
    "clusters": ("n_clusters", "seed"),
    "attributes": ("columns", "bins", "missing"),
    "text": ("min_df", "max_df", "max_words", "stop_words", "vectorizer"),
}
MODELS = ("hyper-conv", "hyper-attention", "mlp")
Ids = npt.NDArray[np.int64]
Values = npt.NDArray[Any]
Relation = Neighbours | Clusters | Given | Attributes | Words


class HypergraphEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that sees rows as the vertices of a hypergraph."""

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
    random_state: Any

    def __sklearn_tags__(self) -> Any:
        """What input is taken: it depends on ``construct``."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.construct not in ("attributes", "text")
        tags.input_tags.allow_nan = tags.input_tags.categorical = self.construct == "attributes"
        tags.input_tags.string = self.construct == "text"
        tags.input_tags.two_d_array = self.construct != "text"
        return tags

    def _read(self, X: Any, *, reset: bool) -> Any:
        """``X`` checked, and its names remembered or compared with those of the training."""
        if self.construct == "text":
            return check_texts(X)
        if self.construct != "attributes":
            with _advising():
                return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float64)
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        if array.dtype.kind == "O" and not any(isinstance(one, str) for one in array.flat):  # numbers, or an error
            array = check_array(array, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
        return array

    def _build(self, X: Any, hypergraph: Hypergraph | None) -> None:
        """Read ``X``, make the hypergraph of the training and the features of its vertices."""
        if not isinstance(self.scale, (bool, np.bool_)):
            raise TypeError(f"scale must be True or False; got {self.scale!r} of type {type(self.scale).__name__}.")
        rows = self._read(X, reset=True)
        self._relation = self._relate(rows, hypergraph)
        self.hypergraph_ = self._relation.hypergraph
        self._is_given = hypergraph is not None or callable(self.construct)
        if self._is_given:
            check_order(
                row_names(X),
                self.hypergraph_.vertex_names,
                "hypergraph must have its vertices",
                "vertex",
                "Make it with vertices=X.index, or sort X and y by it: X.loc[hypergraph.vertex_names].",
            )
        self._features = self._relation.features(rows)
        self._known = KnownRows(self._features)

    def _relate(self, X: Any, hypergraph: Hypergraph | None) -> Relation:
        options = dict(self.construct_options or {})
        if not callable(self.construct):
            check_choice("construct", self.construct, tuple(OPTIONS))
            _check_options(options, self.construct)
        if hypergraph is not None:
            if self.construct in ("attributes", "text"):
                raise ValueError(
                    f"hypergraph must not be given with construct={self.construct!r}, which makes its own: "
                    "encode X as numbers and leave construct out."
                )
            if options:
                raise ValueError(
                    "construct_options must be left out where a hypergraph is given: nothing is constructed."
                )
            return Given(X, scale=self.scale, make=lambda _: hypergraph)
        if callable(self.construct):
            construct: Callable[..., Any] = self.construct
            return Given(X, scale=self.scale, make=lambda rows: construct(rows, **options))
        if self.construct == "knn":
            return Neighbours(X, scale=self.scale, n_neighbors=self.n_neighbors, options=options)
        if self.construct == "clusters":
            return Clusters(X, scale=self.scale, options=options)
        return Attributes(X, options=options) if self.construct == "attributes" else Words(X, options=options)

    def _config(self, patience: int) -> Config:
        check_choice("model", self.model, MODELS)
        return Config(
            model=self.model,
            hidden=self.hidden,
            heads=self.heads,
            depth=self.depth,
            dropout=self.dropout,
            attention_dropout=self.dropout,
            feature_scaling="none",
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            patience=patience,
            max_epochs=self.max_epochs,
        )

    def _train(self, y: Ids, n_classes: int, validation_fraction: float, patience: int) -> Trial:
        """Train a network on the labelled rows; without validation, for all epochs."""
        rng = check_random_state(self.random_state)
        labelled = np.flatnonzero(y >= 0)
        train, val = hold_out(y, labelled, check_number("validation_fraction", validation_fraction, below=1), rng)
        config, seed = self._config(patience), int(rng.randint(2**31 - 1))
        x = as_features(self._features)
        task = Task(
            x=x,
            structures={"hypergraph": self.hypergraph_},
            y=torch.from_numpy(y),
            train=torch.from_numpy(train),
            val=torch.from_numpy(val),
            test=torch.empty(0, dtype=torch.int64),
            n_features=x.shape[-1],
            n_classes=n_classes,
        )
        with one_thread():
            trial = next(fit_trials(Plan.of(task, config), config, [seed]))
        self.network_ = Network.from_parameters(config, task.n_features, n_classes, trial.parameters)
        self.loss_curve_ = trial.curves["train_loss"]
        self.validation_curve_ = trial.curves["val_loss"]
        self.n_epochs_ = trial.epochs
        return trial

    def _of_training(self, values: Values) -> Values:
        """What rows of the training are given: equal rows the same, unless the caller's hypergraph tells them apart."""
        return values if self._is_given else self._known.mean(values)[self._known.group]

    def _of_rows(self, X: Any, trained: Values, read: Callable[[Features, Hypergraph], Tensor]) -> Values:
        """For each row what it got in training if it was there, else what it reads from the hypergraph."""
        rows = self._read(X, reset=False)
        features = self._relation.features(rows)
        group = self._known.find(features)
        if np.array_equal(group, self._known.group):
            return trained
        known = self._known.mean(trained)
        out = np.empty((group.size, *trained.shape[1:]), dtype=trained.dtype)
        out[group >= 0] = known[group[group >= 0]]
        new = np.flatnonzero(group < 0)
        if new.size:
            joined = sparse.csr_array(self._relation.join(rows))[new]
            readers = Hypergraph.from_scipy(joined, weight=self.hypergraph_.weight)
            with one_thread(), torch.no_grad():
                out[new] = read(as_features(features[new]), readers).numpy()
        return out


def _check_options(options: Mapping[str, Any], construct: str) -> None:
    """Raise unless the constructor has these options."""
    unknown = [name for name in options if name not in OPTIONS[construct]]
    if unknown:
        there_are = ", ".join(map(repr, OPTIONS[construct]))
        hint = {"knn": " For the number of neighbours: n_neighbors=.", "text": " For others: a vectorizer."}
        raise ValueError(
            f"construct_options must be among those of construct={construct!r}, {there_are}; got {unknown[0]!r}."
            f"{hint.get(construct, '')}"
        )


@contextmanager
def _advising() -> Iterator[None]:
    """What is not numbers is refused with the way to use it."""
    try:
        yield
    except ValueError as error:
        told = str(error).splitlines()[0]
        if "contains NaN" in told:
            raise ValueError(
                f"{told} Fill in what is missing, or take construct='attributes', which allows it."
            ) from error
        if "could not convert string" in told:
            raise ValueError(
                f"{told}. X must hold numbers: encode words, or take construct='attributes', which makes hyperedges of "
                "equal ones, or construct='text' for texts."
            ) from error
        raise


def as_features(matrix: Any) -> Features:
    """A matrix as the networks take it."""
    return SparseFeatures.from_scipy(matrix) if sparse.issparse(matrix) else torch.tensor(matrix, dtype=torch.float32)


@contextmanager
def one_thread() -> Iterator[None]:
    """Threads of torch wait more than they work on small data, and one gives the same sums on every machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
