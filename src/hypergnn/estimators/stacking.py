"""Several regressors, weighted by how well they predict targets that they have not seen.

Each candidate predicts every known target by cross-validation. The weights are those with the smallest squared error
of the weighted sum, none of them negative and together at most 1; a candidate that adds nothing gets the weight 0. If
targets are few, a single large one could decide; the weights are then the mean over samples of the targets. A
candidate that does not predict unseen targets well never predicts more than the largest known target or less than the
smallest: a line through few targets goes far astray in rows that are unlike them. The errors that remain are smoothed
over the hyperedges if that helps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import nnls
from sklearn.base import clone

from hypergnn.estimators.compute import as_features
from hypergnn.estimators.selection.budget import Budget, OutOfTimeError
from hypergnn.estimators.selection.diffusion import received
from hypergnn.estimators.selection.report import Say, telling_of_compilation
from hypergnn.estimators.selection.views import NewViews, Views
from hypergnn.functional import hypergraph_conv
from hypergnn.kernels.stopwatch import stopwatch
from hypergnn.models import KINDS, Network

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
SHRINKAGE = (1.0, 0.3, 0.1, 0.03)
"""How much the smoothed errors of few known rows are drawn towards 0."""
ENOUGH = 0.01
"""Least share by which smoothing must lower the squared error, and least weight of a candidate."""
TRUSTED = 0.8
"""Least R² of a candidate whose predictions may go beyond the known targets."""
FEW, SAMPLES = 1000, 25
"""With at most so many targets, the weights are the mean over so many samples of them."""


class Fitted(Protocol):
    """A fitted candidate."""

    def predict(self, views: Views | NewViews, rows: Ids | None = None) -> Floats:
        """Predictions for all rows of the views, or for some of them, ``(rows, outputs)``."""
        ...


class Candidate(Protocol):
    """A model that can be fitted to some of the training rows."""

    @property
    def name(self) -> str:
        """What the report calls it."""
        ...

    @property
    def uses_structure(self) -> bool:
        """Whether it sees more than the features of a row."""
        ...

    def fit(self, views: Views, rows: Ids, targets: Floats, weight: Floats | None) -> Fitted:
        """Fit a copy."""
        ...


@dataclass
class OfScikitLearn:
    """A regressor of scikit-learn that sees one of the views."""

    name: str
    regressor: Any
    view: Literal["own", "dense", "spread", "members"]

    @property
    def uses_structure(self) -> bool:
        """Whether it sees more than the features of a row."""
        return self.view in ("spread", "members")

    def fit(self, views: Views, rows: Ids, targets: Floats, weight: Floats | None) -> OfScikitLearn:
        """A fitted copy."""
        y = targets[:, 0] if targets.shape[1] == 1 else targets
        fitted = clone(self.regressor).fit(views.get(self.view)[rows], y, sample_weight=weight)
        return OfScikitLearn(self.name, fitted, self.view)

    def predict(self, views: Views | NewViews, rows: Ids | None = None) -> Floats:
        """Predictions, ``(rows, outputs)``."""
        seen = views.get(self.view)
        found = np.asarray(self.regressor.predict(seen if rows is None else seen[rows]), dtype=np.float64)
        return found.reshape(len(found), -1)


@dataclass
class OfNetwork:
    """A network that is yet to be trained."""

    name: str
    train: Callable[[Ids, Floats, Floats | None], Network]
    """Trains on some rows with their targets and weights."""
    uses_structure: bool = True

    def fit(self, views: Views, rows: Ids, targets: Floats, weight: Floats | None) -> TrainedNetwork:  # noqa: ARG002
        """A trained network."""
        return TrainedNetwork(self.name, self.train(rows, targets, weight), self.uses_structure)


@dataclass
class TrainedNetwork:
    """A trained network."""

    name: str
    network: Network
    uses_structure: bool = True

    def predict(self, views: Views | NewViews, rows: Ids | None = None) -> Floats:
        """Predictions, ``(rows, outputs)``."""
        found = scores_of(self.network, views)
        return found if rows is None else found[rows]


@dataclass
class Stack:
    """Fitted candidates with their weights, and the errors to smooth."""

    members: list[Fitted]
    weights: Floats
    errors: Floats | None = None
    """The error of each training row, then 1 if it is known, ``(N, outputs + 1)``; ``None`` to smooth nothing."""
    shrinkage: float = 0.0
    report: list[dict[str, Any]] = field(default_factory=list)
    gain: float = 0.0
    gain_error: float = 0.0
    bounds: list[Floats | None] = field(default_factory=list)
    """Least and largest prediction of each member, ``(2, outputs)``; ``None``, or an empty list, for no bounds."""
    seconds: float = 0.0
    """Seconds of work, without ``compiling``."""
    compiling: float = 0.0
    """Seconds in which kernels were compiled or loaded."""

    def predict(self, views: Views | NewViews) -> Floats:
        """Predictions, ``(rows, outputs)``."""
        bounds = self.bounds or [None] * len(self.members)
        each = (bounded(one.predict(views), within) for one, within in zip(self.members, bounds, strict=True))
        total = sum(share * one for share, one in zip(self.weights, each, strict=True))
        found = np.asarray(total, dtype=np.float64)
        if self.errors is None:
            return found
        return found + correction(smoothed(self.errors, views), self.shrinkage)


def bounds_of(targets: Floats) -> Floats:
    """The smallest and the largest target, ``(2, outputs)``."""
    return np.stack([targets.min(0), targets.max(0)])


def bounded(found: Floats, bounds: Floats | None) -> Floats:
    """Predictions, none of them outside of the bounds."""
    return found if bounds is None else np.clip(found, bounds[0], bounds[1])


def smoothed(values: Floats, views: Views | NewViews) -> Floats:
    """The mean over the hyperedges of each row of what the training rows have, ``(N, F)`` → ``(rows, F)``."""
    if isinstance(views, NewViews):
        return received(values, views.structure(rare=True), views.later)
    with torch.no_grad():
        spread = hypergraph_conv(torch.from_numpy(values), views.weighted, normalization="row")
    return np.asarray(spread.numpy())


def scores_of(network: Network, views: Views | NewViews) -> Floats:
    """The scores of a network, ``(rows, outputs)``."""
    takes_structure = bool(KINDS[network.config.model].structures)
    with torch.no_grad():
        if not takes_structure:
            scores = network(as_features(views.get("own")))
        elif isinstance(views, NewViews):
            blocks = views.later.blocks(views.structure(rare=False), network.config.n_steps)
            scores = network(as_features(views.with_training()), hypergraph=blocks)
        else:
            scores = network(as_features(views.get("own")), hypergraph=views.hypergraph)
    return np.asarray(scores.double().numpy())


def correction(smoothed: Floats, shrinkage: float) -> Floats:
    """Mean error of the known rows around each row, drawn towards 0 where few are known, ``(rows, outputs)``."""
    return smoothed[:, :-1] / (smoothed[:, -1:] + shrinkage)


def fit_stack(
    candidates: Sequence[Candidate],
    views: Views,
    rows: Ids,
    targets: Floats,
    weight: Floats | None,
    rng: np.random.RandomState,
    max_time: float | None,
    say: Say | None = None,
) -> Stack:
    """Weigh the candidates by cross-validation and fit those that count to all known rows.

    Args:
        candidates: The candidates; the first is fitted however long it takes.
        views: The views of the training rows.
        rows: The rows whose target is known.
        targets: Their targets, scaled to mean 0 and variance 1, ``(rows, outputs)``.
        weight: Their weights; equal if ``None``.
        rng: Draws the folds.
        max_time: Seconds of work; a candidate that would not finish in time is not tried. Compiling kernels does not
            count. ``None`` for no limit.
        say: Called with a line about each candidate.
    """
    folds = _folds(rows.size, rng)
    with stopwatch(telling_of_compilation(say)) as watch:
        budget = Budget(max_time, watch)
        tried, unseen, report, bounds = _cross_validated(candidates, views, rows, targets, weight, folds, budget, say)
        weights = _weights(unseen, targets, weight) if folds else np.array([1.0])
        for entry, share in zip((one for one in report if one["r2"] is not None), weights, strict=True):
            entry["weight"] = float(share)
        chosen = [place for place, share in enumerate(weights) if share > 0]
        members = [tried[place].fit(views, rows, targets, weight) for place in chosen]
        stack = Stack(members, weights[chosen], report=report, bounds=[bounds[place] for place in chosen])
        if folds:
            errors = targets - _left_out(unseen, targets, weight, folds)
            remaining = _smooth(stack, views, rows, errors, targets, weight, folds)
            _compare(stack, remaining, tried, unseen, targets, weight, folds)
        stack.seconds, stack.compiling = watch.worked(), watch.compiling
    return stack


def _cross_validated(
    candidates: Sequence[Candidate],
    views: Views,
    rows: Ids,
    targets: Floats,
    weight: Floats | None,
    folds: Sequence[Ids],
    budget: Budget,
    say: Say | None,
) -> tuple[list[Candidate], list[Floats], list[dict[str, Any]], list[Floats | None]]:
    """Try candidates while there is time; return them, their predictions of unseen targets, the report and bounds."""
    report: list[dict[str, Any]] = []
    bounds: list[Floats | None] = []
    tried: list[Candidate] = []
    unseen: list[Floats] = []
    for one in candidates:
        if tried and rows.size < 2:
            report.append(_entry(one.name, None) | {"reason": "one known target cannot be held out"})
            continue
        start, out = budget.watch.worked(), np.zeros_like(targets)
        try:
            budget.start(is_first=not tried)
            for number, held in enumerate(folds):
                rest = np.setdiff1d(np.arange(rows.size), held)
                fitted = one.fit(views, rows[rest], targets[rest], None if weight is None else weight[rest])
                out[held] = fitted.predict(views, rows[held])
                budget.check((number + 1) / (len(folds) + 1))  # it may be fitted once more, to all rows
        except OutOfTimeError:
            report.append(_entry(one.name, None) | {"reason": budget.reason, "is_late": True})
            continue
        seconds = budget.watch.worked() - start
        budget.reserved += seconds / max(len(folds) - 1, 1)
        is_trusted = _r2(targets, out, weight) >= TRUSTED or not folds
        bounds.append(None if is_trusted else bounds_of(targets))
        out = out if is_trusted else _bounded_by_fold(out, targets, folds)
        tried.append(one)
        unseen.append(out)
        report.append(_entry(one.name, _r2(targets, out, weight), seconds))
        if say is not None:
            say(f"{one.name}: R² {report[-1]['r2']:.3f}, {seconds:.1f} seconds")
    return tried, unseen, report, bounds


def _bounded_by_fold(unseen: Floats, targets: Floats, folds: Sequence[Ids]) -> Floats:
    """The predictions of each fold within the targets of the others."""
    out = unseen.copy()
    for held in folds:
        out[held] = bounded(unseen[held], bounds_of(np.delete(targets, held, axis=0)))
    return out


def _folds(n_rows: int, rng: np.random.RandomState) -> list[Ids]:
    """Rows to hold out, fold by fold; fewer folds of more rows."""
    n_folds = min(5 if n_rows <= 2000 else 3 if n_rows <= 10_000 else 2, n_rows)
    return [] if n_folds < 2 else np.array_split(rng.permutation(n_rows), n_folds)


def _weights(unseen: Sequence[Floats], targets: Floats, weight: Floats | None) -> Floats:
    """The weight of each candidate, at least 0; together with the weight of the mean, which predicts 0, they are 1."""
    n, draw = len(targets), np.random.RandomState(0)
    samples = [draw.randint(n, size=n) for _ in range(SAMPLES)] if n <= FEW else [np.arange(n)]
    each = [found for one in samples if (found := _least_squares(unseen, targets, weight, one)) is not None]
    found = np.mean(each, axis=0) if each else np.zeros(len(unseen))
    found[found < ENOUGH] = 0.0
    if not found.any():  # nothing predicts better than the mean
        found[int(np.argmin([np.square(targets - one).sum() for one in unseen]))] = ENOUGH
    return np.asarray(found)


def _least_squares(unseen: Sequence[Floats], targets: Floats, weight: Floats | None, rows: Ids) -> Floats | None:
    """The weights with the least squared error in some rows; ``None`` if they are not found, as rows are too alike."""
    root = np.ones((rows.size, 1)) if weight is None else np.sqrt(weight[rows])[:, None]
    scaled = [(root * one[rows]).ravel() for one in (*unseen, np.zeros_like(targets))]
    wanted = (root * targets[rows]).ravel()
    strict = 1e3 * max(np.abs(wanted).max(), 1.0) * np.sqrt(wanted.size)  # a row that makes the weights add up to 1
    columns = np.stack([np.append(one, strict) for one in scaled], axis=1)
    try:
        found: Floats = nnls(columns, np.append(wanted, strict))[0][:-1]
    except RuntimeError:  # too many iterations
        return None
    return found


def _left_out(unseen: Sequence[Floats], targets: Floats, weight: Floats | None, folds: Sequence[Ids]) -> Floats:
    """The weighted predictions of each fold, with the weights that the other folds give, ``(rows, outputs)``."""
    out = np.zeros_like(targets)
    for held in folds:
        rest = np.setdiff1d(np.arange(len(targets)), held)
        shares = _weights([one[rest] for one in unseen], targets[rest], None if weight is None else weight[rest])
        out[held] = sum(share * one[held] for share, one in zip(shares, unseen, strict=True))
    return out


def _smooth(
    stack: Stack,
    views: Views,
    rows: Ids,
    errors: Floats,
    targets: Floats,
    weight: Floats | None,
    folds: Sequence[Ids],
) -> Floats:
    """Let the stack smooth its errors over the hyperedges if that helps; return the errors that remain."""
    n_vertices = views.hypergraph.n_vertices

    def placed(chosen: Ids) -> Floats:
        out = np.zeros((n_vertices, targets.shape[1] + 1))
        share = np.ones(chosen.size) if weight is None else weight[chosen]
        out[rows[chosen]] = np.hstack([errors[chosen], np.ones((chosen.size, 1))]) * share[:, None]
        return out

    around = np.zeros((rows.size, targets.shape[1] + 1))
    for held in folds:
        rest = np.setdiff1d(np.arange(rows.size), held)
        around[held] = smoothed(placed(rest), views)[rows[held]]
    before, variance = _error(errors, weight), _error(targets, weight) or 1.0
    stack.report.append(_entry("all, weighted", 1 - before / variance))
    after = {one: _error(errors - correction(around, one), weight) for one in SHRINKAGE}
    best = min(SHRINKAGE, key=lambda one: after[one])
    if after[best] >= (1 - ENOUGH) * before:
        return errors
    stack.errors, stack.shrinkage = placed(np.arange(rows.size)), best
    stack.report.append(_entry("all, errors smoothed", 1 - after[best] / variance))
    return errors - correction(around, best)


def _compare(
    stack: Stack,
    remaining: Floats,
    tried: Sequence[Candidate],
    unseen: Sequence[Floats],
    targets: Floats,
    weight: Floats | None,
    folds: Sequence[Ids],
) -> None:
    """Measure what the structure adds to R²: the stack against one of structure-free candidates."""
    free = [out for one, out in zip(tried, unseen, strict=True) if not one.uses_structure]
    share = np.ones(len(targets)) if weight is None else weight / weight.mean()
    plain = targets - _left_out(free, targets, weight, folds)
    saved = share * (np.square(plain) - np.square(remaining)).mean(1)
    variance = _error(targets, weight) or 1.0
    stack.gain = float(saved.mean() / variance)
    stack.gain_error = float(saved.std() / np.sqrt(len(saved)) / variance)


def _entry(name: str, r2: float | None, seconds: float = 0.0) -> dict[str, Any]:
    return {"candidate": name, "r2": r2, "weight": 0.0, "seconds": seconds}


def _error(errors: Floats, weight: Floats | None) -> float:
    return float(np.average(np.square(errors).mean(1), weights=weight))


def _r2(targets: Floats, found: Floats, weight: Floats | None) -> float:
    return 1 - _error(targets - found, weight) / (_error(targets, weight) or 1.0)
