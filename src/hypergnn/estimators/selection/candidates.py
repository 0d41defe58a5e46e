"""What is tried: each candidate predicts labels that it has not seen, and is then fitted to all of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import NearestNeighbors

from hypergnn.estimators.selection.budget import Budget
from hypergnn.estimators.selection.known import Known
from hypergnn.estimators.selection.softmax import Rotated, fit_softmax, predict_softmax
from hypergnn.estimators.selection.views import NewViews, Views

Array = npt.NDArray[Any]

TREES = 100
"""Trees of a forest."""
_MOST_ROWS = 10_000
"""Each tree sees at most so many rows."""


@dataclass(frozen=True)
class Context:
    """What every candidate works with."""

    views: Views
    known: Known
    seed: int
    n_jobs: int | None = None
    budget: Budget | None = None
    _fitted: dict[int, Any] = field(default_factory=dict)

    def fitted(self, candidate: Candidate) -> Model:
        """A candidate fitted to all labels, once."""
        if id(candidate) not in self._fitted:
            self._fitted[id(candidate)] = candidate.fit(self)
        model: Model = self._fitted[id(candidate)]
        return model

    def check_time(self, done: float) -> None:
        """Raise if the candidate that is tried, of which this share is done, would not finish in time."""
        if self.budget is not None:
            self.budget.check(done)


class Model(Protocol):
    """A candidate, fitted to all labels."""

    def training(self, views: Views) -> Array:
        """Probabilities of the rows of training, ``(N, n_classes)``."""
        ...

    def new(self, views: NewViews) -> Array:
        """Probabilities of new rows, ``(rows, n_classes)``."""
        ...


class Candidate(Protocol):
    """A way to classify rows."""

    name: str
    uses_structure: bool

    def score(self, context: Context) -> Array:
        """Probabilities of the labelled rows, each predicted without its own label, ``(n, n_classes)``."""
        ...

    def fit(self, context: Context) -> Model:
        """Learn from all labels."""
        ...


def log_loss(p: Array, known: Known) -> float:
    """Mean negative logarithm of the probability of the right class."""
    right = np.clip(p[np.arange(known.size), known.y], 1e-6, None)
    return float(np.average(-np.log(right), weights=known.weight))


class Linear:
    """Logistic regression; the strength of its penalty is climbed to, from a usual one."""

    def __init__(self, name: str, view: str, *, uses_structure: bool) -> None:
        """Name it and say which form of the rows it sees."""
        self.name, self.view, self.uses_structure = name, view, uses_structure
        self.strength = 1.0

    def score(self, context: Context) -> Array:
        """Predict each fold from the others, for several strengths; return the predictions of the best."""
        known = context.known
        rows = context.views.get(self.view)[known.rows]
        start = 10.0 if hasattr(rows, "tocsr") else 1.0
        x = Rotated.of(rows).x
        best = self._predict(x, known, start)
        lowest, self.strength = log_loss(best, known), start
        for factor in (0.1, 10.0):
            strength, steps = start, 0
            while steps < 2:
                strength, steps = strength * factor, steps + 1
                found = self._predict(x, known, strength)
                loss = log_loss(found, known)
                if loss >= lowest - 1e-3:
                    break
                best, lowest, self.strength = found, loss, strength
            if steps > 1 or self.strength != start:
                break
        return best

    def _predict(self, x: Any, known: Known, strength: float) -> Array:
        held = known.held_out
        counts = (~held) * (1.0 if known.weight is None else known.weight)
        chunk = max(1, int(2e6 // ((x.shape[1] + 1) * known.n_classes)))
        total = np.zeros((known.size, known.n_classes))
        for first in range(0, held.shape[0], chunk):
            part = slice(first, first + chunk)
            p = predict_softmax(x, fit_softmax(x, known.y, counts[part], known.n_classes, strength))
            total += np.einsum("fn,fcn->nc", held[part].astype(float), p)
        return np.asarray(total / known.folds.shape[0])

    def by_fold(self, context: Context, fold: Array) -> Array:
        """What it says of all rows without the labels of each fold, ``(folds, N, n_classes)``."""
        known, x = context.known, context.views.get(self.view)
        rotated = Rotated.of(x[known.rows])
        counts = (fold != np.arange(fold.max() + 1)[:, None]) * (1.0 if known.weight is None else known.weight)
        parameters = fit_softmax(rotated.x, known.y, counts, known.n_classes, self.strength)
        return predict_softmax(x, rotated.widened(parameters)).swapaxes(1, 2)

    def fit(self, context: Context) -> Model:
        """Learn from all labels with the strength that was best."""
        known = context.known
        rotated = Rotated.of(context.views.get(self.view)[known.rows])
        counts = np.ones((1, known.size)) if known.weight is None else known.weight[None]
        parameters = fit_softmax(rotated.x, known.y, counts, known.n_classes, self.strength)
        return LinearModel(self.view, rotated.widened(parameters))


@dataclass
class LinearModel:
    """A fitted logistic regression."""

    view: str
    parameters: Array

    def training(self, views: Views) -> Array:
        """Probabilities of the rows of training."""
        return np.asarray(predict_softmax(views.get(self.view), self.parameters)[0].T)

    def new(self, views: NewViews) -> Array:
        """Probabilities of new rows."""
        return np.asarray(predict_softmax(views.get(self.view), self.parameters)[0].T)


@dataclass
class SklearnModel:
    """A fitted classifier of scikit-learn, which may not have seen all classes."""

    view: str
    classifier: Any
    n_classes: int

    def training(self, views: Views) -> Array:
        """Probabilities of the rows of training."""
        return all_classes(self.classifier, views.get(self.view), self.n_classes)

    def new(self, views: NewViews) -> Array:
        """Probabilities of new rows."""
        return all_classes(self.classifier, views.get(self.view), self.n_classes)


def all_classes(classifier: Any, x: Any, n_classes: int) -> Array:
    """The probabilities of all classes, 0 for those that the classifier has not seen."""
    out = np.zeros((x.shape[0], n_classes))
    with np.errstate(divide="ignore", invalid="ignore"):
        out[:, classifier.classes_] = np.nan_to_num(classifier.predict_proba(x))
    return out


class CrossValidated:
    """A classifier of scikit-learn that is fitted once per fold."""

    def __init__(self, name: str, view: str, *, uses_structure: bool, most_folds: int | None = None) -> None:
        """Name it and say which form of the rows it sees."""
        self.name, self.view, self.uses_structure, self.most_folds = name, view, uses_structure, most_folds

    def make(self, context: Context) -> Any:
        """The classifier, not fitted."""
        raise NotImplementedError

    def score(self, context: Context) -> Array:
        """Predict each fold from the others."""
        known = context.known
        x = context.views.get(self.view)[known.rows]
        held = known.held_out
        if self.most_folds is not None:
            fold = known.folds[0] % self.most_folds
            held = fold == np.arange(min(self.most_folds, fold.max() + 1))[:, None]
        total = np.zeros((known.size, known.n_classes))
        for number, one in enumerate(held):
            weight = None if known.weight is None else known.weight[~one]
            with np.errstate(divide="ignore", invalid="ignore"):  # features that do not vary
                classifier = self.make(context).fit(x[~one], known.y[~one], sample_weight=weight)
                total[one] += all_classes(classifier, x[one], known.n_classes)
            context.check_time((number + 1) / len(held))
        return np.asarray(total / held.sum(0)[:, None])

    def fit(self, context: Context) -> Model:
        """Learn from all labels."""
        known = context.known
        x = context.views.get(self.view)[known.rows]
        classifier = self.make(context).fit(x, known.y, sample_weight=known.weight)
        return SklearnModel(self.view, classifier, known.n_classes)


class Bayes(CrossValidated):
    """Naive Bayes: of counts if the rows are sparse, of normal distributions if they are dense."""

    def make(self, context: Context) -> Any:
        """The classifier, not fitted."""
        return (
            MultinomialNB(alpha=0.5)
            if hasattr(context.views.get(self.view), "tocsr")
            else GaussianNB(var_smoothing=1e-3)
        )


class Boosting(CrossValidated):
    """Gradient boosting of trees."""

    def make(self, context: Context) -> Any:
        """The classifier, not fitted."""
        return HistGradientBoostingClassifier(random_state=context.seed, max_iter=100)

    def expected_seconds(self, context: Context) -> float:
        """Roughly how long trying and fitting it takes on one core."""
        known = context.known
        per_tree = 8e-4 + 1.2e-8 * known.size * context.views.get(self.view).shape[1]
        return float(100 * (1 if known.n_classes == 2 else known.n_classes) * 4 * per_tree)


class Forest:
    """Many trees; each row is predicted by the trees that have not seen its label."""

    def __init__(self, name: str, view: str, *, uses_structure: bool, kind: Any = RandomForestClassifier) -> None:
        """Name it and say which form of the rows it sees."""
        self.name, self.view, self.uses_structure, self.kind = name, view, uses_structure, kind
        self._model: SklearnModel | None = None

    def score(self, context: Context) -> Array:
        """Fit the trees and return what those say that have not seen a row."""
        known = context.known
        forest, out = grow(self.kind, context.views.get(self.view)[known.rows], context)
        self._model = SklearnModel(self.view, forest, known.n_classes)
        return out

    def by_fold(self, context: Context, fold: Array) -> Array:
        """What it says of all rows without the labels of each fold, ``(folds, N, n_classes)``."""
        known, x = context.known, context.views.get(self.view)
        found = []
        for one in range(fold.max() + 1):
            rest = fold != one
            weight = None if known.weight is None else known.weight[rest]
            forest = self.kind(n_estimators=50, random_state=context.seed, n_jobs=context.n_jobs)
            forest.fit(x[known.rows[rest]], known.y[rest], sample_weight=weight)
            found.append(all_classes(forest, x, known.n_classes))
            context.check_time((one + 1) / (fold.max() + 1))
        return np.stack(found)

    def fit(self, context: Context) -> Model:
        """The trees are fitted already."""
        if self._model is None:
            self.score(context)
        return cast(Model, self._model)


def grow(kind: Any, x: Any, context: Context) -> tuple[Any, Array]:
    """Fit trees to labelled rows; return them, and for each row the prediction of the trees that have not seen it."""
    known = context.known
    forest = kind(
        n_estimators=TREES,
        bootstrap=True,
        oob_score=True,
        max_samples=_MOST_ROWS if known.size > _MOST_ROWS else None,
        random_state=context.seed,
        n_jobs=context.n_jobs,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")  # they get the prior
        forest.fit(x, known.y, sample_weight=known.weight)
    out = np.zeros((known.size, known.n_classes))
    out[:, forest.classes_] = np.nan_to_num(forest.oob_decision_function_)
    out[out.sum(1) == 0] = known.prior
    return forest, out


class Neighbours:
    """The labels of the nearest labelled rows, near ones counting more."""

    name, uses_structure = "nearest neighbours", False

    def __init__(self) -> None:
        """Look at ten neighbours."""
        self.k = 10

    def score(self, context: Context) -> Array:
        """Predict each labelled row by the other labelled rows."""
        index, known = self._built(context), context.known
        k = min(self.k, known.size - 1)
        distance, neighbours = index.kneighbors(n_neighbors=k)
        return _vote(distance, neighbours, known)

    def fit(self, context: Context) -> Model:
        """Store the labelled rows."""
        return NeighboursModel(self._built(context), context.known, min(self.k, context.known.size))

    def _built(self, context: Context) -> NearestNeighbors:
        x = context.views.get("own")[context.known.rows]
        return NearestNeighbors(metric="cosine" if context.views.is_sparse else "minkowski").fit(x)


@dataclass
class NeighboursModel:
    """The labelled rows, ready to be compared with others."""

    index: NearestNeighbors
    known: Known
    k: int

    def training(self, views: Views) -> Array:
        """Probabilities of the rows of training."""
        return self._of(views.get("own"))

    def new(self, views: NewViews) -> Array:
        """Probabilities of new rows."""
        return self._of(views.get("own"))

    def _of(self, x: Any) -> Array:
        distance, neighbours = self.index.kneighbors(x, n_neighbors=self.k)
        return _vote(distance, neighbours, self.known)


def _vote(distance: Array, neighbours: Array, known: Known) -> Array:
    scale = np.maximum(distance.mean(1, keepdims=True), 1e-12)
    weight = 1 / (0.1 + distance / scale)
    if known.weight is not None:
        weight = weight * known.weight[neighbours]
    votes = np.zeros((distance.shape[0], known.n_classes))
    np.add.at(votes, (np.arange(distance.shape[0])[:, None], known.y[neighbours]), weight)
    votes += 0.3 * weight.mean(1, keepdims=True) * known.prior
    return np.asarray(votes / votes.sum(1, keepdims=True))


def trees_with_structure() -> Forest:
    """Extra trees that see rows, what these receive, and the labels that reach them."""
    return Forest("extra trees, propagated", "spread", uses_structure=True, kind=ExtraTreesClassifier)
