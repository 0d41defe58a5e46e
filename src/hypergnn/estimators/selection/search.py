"""Try the candidates within the labels, mix the good ones and fit them to all labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hypergnn.estimators.selection.budget import Budget, OutOfTimeError
from hypergnn.estimators.selection.candidates import (
    Bayes,
    Boosting,
    Candidate,
    Context,
    Forest,
    Linear,
    Model,
    Neighbours,
    log_loss,
    trees_with_structure,
)
from hypergnn.estimators.selection.known import Known
from hypergnn.estimators.selection.mixture import (
    best_sharpness,
    mixed,
    mixing_weights,
    sharpen,
    towards_the_most_accurate,
)
from hypergnn.estimators.selection.network import OfNetwork
from hypergnn.estimators.selection.report import (
    Report,
    Say,
    Tried,
    difference_error,
    share_error,
    telling_of_compilation,
)
from hypergnn.estimators.selection.spread import Smoothed, Spread, WithLabels
from hypergnn.estimators.selection.views import NewViews, Views
from hypergnn.kernels.stopwatch import Stopwatch, stopwatch

Array = npt.NDArray[Any]

_NEARLY_ALL = 0.98
_SHARE = 0.6
"""Share of the time that may pass before the last candidate is tried; the rest is for fitting."""
_LARGE = 3000
"""Networks are tried on at most so many rows."""
_TINY, _TINY_LABELS = 500, 60
"""With at most so many rows and labels, only the first network that fits is tried: each takes longer than the rest."""
_FEW, _ENOUGH, _QUICK = 100, 200, 2.0
"""Boosting needs so many labels, and with fewer than enough it must be quick: it then seldom wins."""
_SOME, _MANY = 1000, 10_000
"""With more labels, candidates that compare labelled rows with each other, or repeat others, are left out."""


@dataclass
class Mixture:
    """The chosen candidates, fitted to all labels."""

    members: list[tuple[float, float, Model]]
    """Weight, sharpness and model of each."""

    def training(self, views: Views) -> Array:
        """Probabilities of the rows of training."""
        return _sum(weight * sharpen(model.training(views), sharpness) for weight, sharpness, model in self.members)

    def new(self, views: NewViews) -> Array:
        """Probabilities of new rows."""
        return _sum(weight * sharpen(model.new(views), sharpness) for weight, sharpness, model in self.members)


@dataclass
class Result:
    """A candidate with its calibrated predictions of labels that it has not seen."""

    candidate: Candidate
    raw: Array
    p: Array
    sharpness: float
    seconds: float
    loss: float
    right: Array


def select(
    context: Context, networks: Sequence[OfNetwork], max_time: float | None, say: Say | None
) -> tuple[Mixture, Report]:
    """Compare the candidates by cross-validation within the labels, and fit a mixture of the good ones.

    Args:
        context: The rows and their labels.
        networks: Networks to try too, some of them only if the structure helps.
        max_time: Seconds of work; a candidate that would not finish in time is not tried. Compiling kernels does not
            count. ``None`` for no limit.
        say: Called with a line about each candidate.
    """
    with stopwatch(telling_of_compilation(say)) as watch:
        budget = Budget(max_time, watch, _SHARE)
        return _select(replace(context, budget=budget), networks, budget, say)


def _select(
    context: Context,
    networks: Sequence[OfNetwork],
    budget: Budget,
    say: Say | None,
) -> tuple[Mixture, Report]:
    views, known = context.views, context.known
    results: list[Result] = []
    skipped: dict[str, str] = {}
    late: list[str] = []

    def try_in_time(candidate: Candidate) -> None:
        try:
            budget.start(is_first=not results)
            results.append(_try(candidate, context, say, budget.watch))
        except OutOfTimeError:
            late.append(candidate.name)
            skipped[candidate.name] = budget.reason

    for candidate in _first(views, known):
        try_in_time(candidate)
    labels = next((one for one in results if isinstance(one.candidate, Spread)), None)
    if labels is not None and 10 <= known.size <= _SOME:
        try_in_time(WithLabels("extra trees, labels", cast(Spread, labels.candidate), labels.raw))
    boosting, reason = _boosting(results, context, budget)
    if boosting is not None:
        try_in_time(boosting)
    else:
        skipped["gradient boosting"] = reason
    if views.has_structure:
        helps = _structure_helps(results)
        is_tiny = views.hypergraph.n_vertices <= _TINY and known.size <= _TINY_LABELS
        fitting = [network for network in networks if helps or not network.needs_smoothness]
        for network in networks:
            if views.hypergraph.n_vertices > _LARGE:
                skipped[network.name] = f"more than {_LARGE:,} rows"
            elif network not in fitting:
                skipped[network.name] = "the hypergraph does not help others"
            elif is_tiny and network is not fitting[0]:
                skipped[network.name] = f"at most {_TINY_LABELS} labels and {_TINY} rows"
            else:
                try_in_time(network)
        if (plain := _to_smooth(results, context)) is not None:
            try_in_time(Smoothed(plain))
        bases = [one for one in results if not isinstance(one.candidate, Spread | Smoothed)]
        base = min(bases, key=lambda one: one.loss)
        try_in_time(Spread(f"{base.candidate.name}, corrected", base.candidate, base.p, base.sharpness))
    weights = _weights([one.p for one in results], known)
    members = [
        (weight, one.sharpness, context.fitted(one.candidate))
        for weight, one in zip(weights.tolist(), results, strict=True)
        if weight > 0
    ]
    report = replace(_report(results, weights, skipped, known, budget.watch), out_of_time=tuple(late))
    return Mixture(members), report


def _first(views: Views, known: Known) -> list[Candidate]:
    """The candidates that are always tried, in this order."""
    found: list[Candidate] = [Linear("logistic regression", "own", uses_structure=False)]
    if known.size >= 4 and (views.is_counts or not views.is_sparse):
        found.append(Bayes("naive Bayes", "own", uses_structure=False))
    if 3 <= known.size <= _MANY:
        found.append(Neighbours())
    if known.size >= 10:
        found.append(Forest("random forest", "own", uses_structure=False))
    if not views.has_structure:
        return found
    found.append(Spread("labels, propagated"))
    found.append(Linear("logistic regression, propagated", "spread", uses_structure=True))
    if views.has_further:
        found.append(Linear("logistic regression, memberships", "members", uses_structure=True))
    if known.size >= 10:
        found.append(trees_with_structure())
    return found


def _structure_helps(results: list[Result]) -> bool:
    """Whether the best candidate uses the structure."""
    return min(results, key=lambda one: one.loss).candidate.uses_structure


def _to_smooth(results: list[Result], context: Context) -> Linear | Forest | None:
    """The better of logistic regression and forest without structure, where smoothing may help."""
    if not context.views.has_members or context.known.size > _MANY or not _structure_helps(results):
        return None
    plain = [one for one in results if isinstance(one.candidate, Linear | Forest) and not one.candidate.uses_structure]
    return cast(Linear | Forest, max(plain, key=lambda one: one.right.mean()).candidate) if plain else None


def _try(candidate: Candidate, context: Context, say: Say | None, watch: Stopwatch) -> Result:
    start = watch.worked()
    known = context.known
    raw = candidate.score(context)
    sharpness = best_sharpness(raw, known)
    p = sharpen(raw, sharpness)
    right = p.argmax(1) == known.y
    result = Result(candidate, raw, p, sharpness, watch.worked() - start, log_loss(p, known), right)
    if say is not None:
        say(f"{candidate.name}: accuracy {100 * right.mean():.1f} %, {result.seconds:.1f} seconds")
    return result


def _boosting(results: list[Result], context: Context, budget: Budget) -> tuple[Boosting | None, str]:
    """Gradient boosting of the rows that the better forest saw, or why it is not worth its time here."""
    known = context.known
    if known.size < _FEW:
        return None, f"fewer than {_FEW} labels"
    forests = [one for one in results if isinstance(one.candidate, Forest)]
    if not forests:
        return None, "no time for trees"
    forest = min(forests, key=lambda one: one.loss)
    best = min(results, key=lambda one: one.loss)
    behind = best.right.astype(float) - forest.right
    if behind.mean() * known.size**0.5 > 2 * behind.std():
        return None, "trees are behind the best candidate"
    if best.right.mean() > _NEARLY_ALL:
        return None, "little is left to gain"
    found = (
        Boosting("gradient boosting, propagated", "spread", uses_structure=True, most_folds=3)
        if forest.candidate.uses_structure
        else Boosting(
            "gradient boosting", "dense" if context.views.is_sparse else "own", uses_structure=False, most_folds=3
        )
    )
    seconds = found.expected_seconds(context)
    if seconds > (4 + known.size / 2000 if known.size >= _ENOUGH else _QUICK):
        return None, f"would take about {seconds:.0f} seconds"
    if budget.max_time is not None and seconds > 0.35 * budget.max_time:
        return None, f"would take about {seconds:.0f} of {budget.max_time:g} seconds"
    return found, ""


def _weights(members: list[Array], known: Known) -> Array:
    stacked = np.stack(members)
    return towards_the_most_accurate(stacked, mixing_weights(stacked, known), known)


def _report(results: list[Result], weights: Array, skipped: dict[str, str], known: Known, watch: Stopwatch) -> Report:
    right, without = _right_when_left_out(results, known)
    gain = right - without
    tried = [
        Tried(
            one.candidate.name,
            one.candidate.uses_structure,
            float(one.right.mean()),
            share_error(one.right),
            one.loss,
            one.seconds,
            weight,
        )
        for one, weight in zip(results, weights.tolist(), strict=True)
    ]
    return Report(
        tuple(tried),
        skipped,
        float(right.mean()),
        share_error(right),
        float(np.bincount(known.y).max() / known.size),
        float(gain.mean()),
        difference_error(gain),
        known.size,
        watch.worked(),
        watch.compiling,
        is_measured=bool(np.bincount(known.y).max() > 1),
    )


def _right_when_left_out(results: list[Result], known: Known) -> tuple[Array, Array]:
    """Whether all candidates, and those without structure, predict each label, 1 or 0.

    Sharpness and weights are chosen without the label's fold. With many labels the choice hardly depends on a fold,
    and is made once.
    """
    every = list(range(len(results)))
    plain = [place for place in every if not results[place].candidate.uses_structure]
    right, without = np.zeros(known.size), np.zeros(known.size)
    fold = known.folds[0] if 1 < known.size <= _SOME else np.zeros(known.size, dtype=np.int64)
    for one in np.unique(fold):
        held = fold == one
        rest, kept = (known, held) if held.all() else (known.without(held), ~held)
        powers = [best_sharpness(result.raw[kept], rest) for result in results]
        seen, unseen = (
            [sharpen(result.raw[rows], power) for result, power in zip(results, powers, strict=True)]
            for rows in (kept, held)
        )
        for found, places in ((right, every), (without, plain)):
            weights = _weights([seen[place] for place in places], rest)
            predicted = mixed(np.stack([unseen[place] for place in places]), weights).argmax(1)
            found[held] = predicted == known.y[held]
    return right, without


def _sum(parts: Any) -> Array:
    return np.asarray(np.sum(list(parts), axis=0))
