"""Labels, or the errors of another candidate, spread over the hyperedges."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import ExtraTreesClassifier

from hypergnn.estimators.selection.candidates import (
    Candidate,
    Context,
    Forest,
    Linear,
    Model,
    all_classes,
    grow,
    log_loss,
)
from hypergnn.estimators.selection.diffusion import diffuse, received
from hypergnn.estimators.selection.known import Known
from hypergnn.estimators.selection.mixture import sharpen
from hypergnn.estimators.selection.smoothing import FOLDS, Smoother, choose
from hypergnn.estimators.selection.views import NewViews, Views

Array = npt.NDArray[Any]

REACHES = (0.5, 0.85, 0.97)
DOUBTS = (0.03, 0.3, 3.0)
"""The weight of the prediction without the hypergraph, in units of what usually reaches a row."""
_COLUMNS = 400


@dataclass(frozen=True)
class Strength:
    """How far values spread, how much they count, and whether rare hyperedges count more."""

    reach: float
    doubt: float
    rare: bool


class Spread:
    """The labels that reach a row over its hyperedges or, with a base, the errors of the base that reach it."""

    uses_structure = True

    def __init__(
        self, name: str, base: Candidate | None = None, base_scores: Array | None = None, sharpness: float = 1.0
    ) -> None:
        """Name it; ``base_scores`` are the sharpened scores of the base for the labelled rows, without their labels."""
        self.name, self.base, self._base_scores, self._sharpness = name, base, base_scores, sharpness
        self.strength = Strength(REACHES[0], DOUBTS[1], rare=False)

    def score(self, context: Context) -> Array:
        """Spread from all folds but one to that one, for several strengths; return the best."""
        known, views = context.known, context.views
        base, values = self._start(known)
        best, lowest = base, np.inf
        for rare, reach in product((False, True) if views.has_rarity else (False,), REACHES):
            H = views.weighted if rare else views.hypergraph
            mass, total = _reaching(values, known, H, reach)
            for doubt in DOUBTS:
                found = _combined(base, total, mass, doubt * _usual(mass))
                loss = log_loss(found, known)
                if loss < lowest:
                    best, lowest, self.strength = found, loss, Strength(reach, doubt, rare)
        return best

    def _start(self, known: Known) -> tuple[Array, Array]:
        """What each labelled row has without the hypergraph, and what it sends to others."""
        if self._base_scores is None:
            base = np.tile(known.prior, (known.size, 1))
            return base, known.one_hot - base
        return self._base_scores, known.one_hot - self._base_scores

    def fit(self, context: Context) -> Model:
        """Spread from all labelled rows."""
        known, views = context.known, context.views
        _, values = self._start(known)
        H = views.weighted if self.strength.rare else views.hypergraph
        sent = np.zeros((H.n_vertices, known.n_classes + 1))
        weight = np.ones(known.size) if known.weight is None else known.weight
        sent[known.rows] = np.column_stack([values, np.ones(known.size)]) * weight[:, None]
        spread = diffuse(sent, H, self.strength.reach)
        mass = _reaching(values, known, H, self.strength.reach)[0]
        model = None if self.base is None else context.fitted(self.base)
        doubt = self.strength.doubt * _usual(mass)
        return SpreadModel(model, self._sharpness, known.prior, spread, self.strength, doubt)


@dataclass
class SpreadModel:
    """What has reached each row."""

    base: Model | None
    sharpness: float
    prior: Array
    spread: Array
    strength: Strength
    doubt: float

    def training(self, views: Views) -> Array:
        """Probabilities of the rows of training."""
        rows = self.spread.shape[0]
        base = np.tile(self.prior, (rows, 1))
        if self.base is not None:
            base = sharpen(self.base.training(views), self.sharpness)
        return _combined(base, self.spread[:, :-1], self.spread[:, -1:], self.doubt)

    def new(self, views: NewViews) -> Array:
        """Probabilities of new rows."""
        H = views.structure(rare=self.strength.rare)
        got = self.strength.reach * received(self.spread, H, views.later)
        base = np.tile(self.prior, (got.shape[0], 1))
        if self.base is not None:
            base = sharpen(self.base.new(views), self.sharpness)
        return _combined(base, got[:, :-1], got[:, -1:], self.doubt)


def _reaching(values: Array, known: Known, H: Any, reach: float) -> tuple[Array, Array]:
    """What reaches each labelled row from the other folds: how much ``(n, 1)``, and the sum of values ``(n, K)``."""
    held = known.held_out
    n, width = known.size, values.shape[1] + 1
    sent = np.column_stack([values, np.ones(n)]) * (1.0 if known.weight is None else known.weight[:, None])
    got = np.zeros((n, width))
    chunk = max(1, _COLUMNS // width)
    for first in range(0, held.shape[0], chunk):
        part = held[first : first + chunk]
        columns = np.zeros((H.n_vertices, part.shape[0] * width))
        columns[known.rows] = ((~part).T[:, :, None] * sent[:, None, :]).reshape(n, -1)
        spread = diffuse(columns, H, reach)[known.rows].reshape(n, part.shape[0], width)
        got += (part.T[:, :, None] * spread).sum(1)
    got /= known.folds.shape[0]
    return got[:, -1:], got[:, :-1]


def _usual(mass: Array) -> float:
    """How much usually reaches a row."""
    return max(float(mass.mean()), 1e-12)


def _combined(base: Array, total: Array, mass: Array, doubt: float) -> Array:
    """The base plus the mean of what reaches a row, drawn towards 0 where that is little."""
    found = np.clip(base + total / (mass + doubt), 1e-4, None)
    return np.asarray(found / found.sum(1, keepdims=True))


class WithLabels:
    """Extra trees that see rows, what these receive, and the labels that reach them."""

    uses_structure = True

    def __init__(self, name: str, labels: Spread, scores: Array, view: str = "spread") -> None:
        """Name it; ``scores`` are the labels that reach the labelled rows from other folds."""
        self.name, self.view = name, view
        self._labels, self._scores = labels, scores
        self._forest: Any = None

    def score(self, context: Context) -> Array:
        """Fit the trees and return what those say that have not seen a row."""
        known = context.known
        x = np.hstack([context.views.get(self.view)[known.rows], self._scores])
        self._forest, out = grow(ExtraTreesClassifier, x, context)
        return out

    def fit(self, context: Context) -> Model:
        """The trees are fitted already."""
        return WithLabelsModel(self.view, context.fitted(self._labels), self._forest, context.known.n_classes)


@dataclass
class WithLabelsModel:
    """Trees, and the labels that have reached each row."""

    view: str
    labels: Model
    forest: Any
    n_classes: int

    def training(self, views: Views) -> Array:
        """Probabilities of the rows of training."""
        x = np.hstack([views.get(self.view), self.labels.training(views)])
        return all_classes(self.forest, x, self.n_classes)

    def new(self, views: NewViews) -> Array:
        """Probabilities of new rows."""
        return all_classes(self.forest, np.hstack([views.get(self.view), self.labels.new(views)]), self.n_classes)


class Smoothed:
    """A candidate without structure, corrected and smoothed over the hyperedges."""

    uses_structure = True

    def __init__(self, base: Linear | Forest) -> None:
        """Name it after its base."""
        self.name, self.base = f"{base.name}, corrected and smoothed", base
        self._strengths: Any = None
        self._unseen: Array | None = None

    def score(self, context: Context) -> Array:
        """Choose how far and how much, by the labels of folds that the base has not seen."""
        known = context.known
        fold = known.folds[0] % FOLDS
        by_fold = self.base.by_fold(context, fold)
        self._unseen = by_fold[fold, known.rows]
        self._strengths, found = choose(by_fold, fold, known, context.views.hypergraph)
        return found

    def fit(self, context: Context) -> Model:
        """Correct and smooth the base, fitted to all labels."""
        base, views = context.fitted(self.base), context.views
        unseen = cast(Array, self._unseen)
        smoother = Smoother.of(self._strengths, base.training(views), unseen, context.known, views.hypergraph)
        return SmoothedModel(base, smoother)


@dataclass
class SmoothedModel:
    """A fitted base, and what has spread from it."""

    base: Model
    smoother: Smoother

    def training(self, views: Views) -> Array:  # noqa: ARG002
        """Probabilities of the rows of training."""
        return self.smoother.shares

    def new(self, views: NewViews) -> Array:
        """Probabilities of new rows."""
        return self.smoother.new(self.base.new(views), views.structure(rare=False), views.later)
