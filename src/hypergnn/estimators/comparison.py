"""Networks and plain scikit-learn classifiers, trained and tested on the same random splits of a dataset."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from hypergnn._utils.checks import check_choice, check_size
from hypergnn.datasets import Dataset
from hypergnn.datasets.splits import stratified_split
from hypergnn.estimators.classifier import HypergraphClassifier
from hypergnn.estimators.compute import one_thread
from hypergnn.estimators.selection.budget import TimeLimitWarning, check_max_time
from hypergnn.experiments.comparison import Compared, ranked
from hypergnn.kernels.stopwatch import stopwatch
from hypergnn.models import KINDS, paper_config
from hypergnn.training.engine import train as train_network
from hypergnn.training.pairwise import with_graph
from hypergnn.training.plan import Plan, Task

Ids = npt.NDArray[np.int64]
OWN = "hypergraph-classifier"
PLAIN: dict[str, Callable[[int], Any]] = {
    "logistic-regression": lambda seed: LogisticRegression(max_iter=3000, random_state=seed),
    "random-forest": lambda seed: RandomForestClassifier(random_state=seed),
    "gradient-boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "naive-bayes": lambda _: GaussianNB(),
    "nearest-neighbours": lambda _: KNeighborsClassifier(),
}
"""The classifiers of scikit-learn by name, each made with a seed."""
_DENSE = ("gradient-boosting",)
_SHARES = (0.2, 0.2)
"""Shares of each class for validation and test."""


def choices() -> tuple[str, ...]:
    """The names that :func:`compare` takes: our classifier, the kinds of networks, and scikit-learn's classifiers.

    Example:
        >>> choices()[:2], "random-forest" in choices()
        (('hypergraph-classifier', 'hyper-conv'), True)
    """
    return (OWN, *KINDS, *PLAIN)


def compare(
    data: Dataset,
    models: Sequence[str] | None = None,
    splits: int = 10,
    *,
    max_time: float | None = 60.0,
    on_split: Callable[[str, Sequence[float]], None] | None = None,
) -> list[Compared]:
    """Compare classifiers on random splits of the labelled vertices, the best first.

    In each split, 20 % of each class are for testing. Networks learn from 60 % and stop by the other 20 %; all other
    classifiers learn from both. Dense features are scaled to mean 0 and variance 1 first.

    Args:
        data: The data. Its own split is not used.
        models: Names from :func:`choices`; our classifier, the networks that need no links, and all of scikit-learn's
            if omitted.
        splits: Number of splits; split ``i`` has the seed ``i``, for all classifiers.
        max_time: Seconds for each fit of our classifier, as in :class:`hypergnn.HypergraphClassifier`, and of a
            network, whose training then ends with the epoch; compiling kernels does not count. ``None``: no limit.
        on_split: Called after each split with the name of a classifier and its accuracies so far.

    Raises:
        KeyboardInterrupt: If training was stopped.
        ValueError: If a name is unknown or occurs twice, or a class has fewer than three labelled vertices.

    Example:
        >>> import hypergnn as hg
        >>> digits = hg.datasets.load("digits")
        >>> [one.name for one in compare(digits, ["naive-bayes", "nearest-neighbours"], splits=2)]
        ['nearest-neighbours', 'naive-bayes']
    """
    names = checked_names(models, splits)
    max_time = check_max_time(max_time)
    x = data.x if sparse.issparse(data.x) else np.float32(StandardScaler().fit_transform(data.x))
    drawn = [stratified_split(data.y, seed, val=_SHARES[0], test=_SHARES[1]) for seed in range(splits)]
    accuracy: dict[str, list[float]] = {}
    for name in names:
        prepared = with_graph(replace(data, x=x), name) if name in KINDS else replace(data, x=x)
        if name in KINDS and KINDS[name].is_dynamic:  # its own hyperedges do not point
            prepared = replace(prepared, hypergraph=data.hypergraph.undirected())
        accuracy[name] = []
        for seed, parts in enumerate(drawn):
            accuracy[name].append(_accuracy(name, prepared, parts, seed, max_time))
            if on_split is not None:
                on_split(name, accuracy[name])
    train, val, test = drawn[0]
    return ranked(accuracy, test.size / (train.size + val.size))


def checked_names(models: Sequence[str] | None, splits: int) -> list[str]:
    """The names of the classifiers to compare; raises as :func:`compare` does.

    Example:
        >>> checked_names(["mlp"], 2)
        ['mlp']
    """
    names = [OWN, *_without_links(), *PLAIN] if models is None else list(models)
    for name in names:
        check_choice("model", name, choices())
    if len(set(names)) < len(names) or not names:
        raise ValueError(f"models must be different, at least one; got {names}.")
    check_size("splits", splits, minimum=1)
    return names


def _without_links() -> list[str]:
    return [name for name, kind in KINDS.items() if "graph" not in kind.structures]


def _accuracy(name: str, data: Dataset, parts: tuple[Ids, Ids, Ids], seed: int, max_time: float | None) -> float:
    """The test accuracy of one classifier on one split, in percent."""
    train, val, test = parts
    if name in KINDS:
        config = paper_config(data.name, name)
        if not sparse.issparse(data.x):
            config = replace(config, feature_scaling="none")
        split = replace(data, train=train, val=val, test=test)
        plan = Plan.of(Task.of(split, config), config)
        limit = math.inf if max_time is None else max_time
        with one_thread(), stopwatch() as watch:
            (trial,) = train_network(plan, config, [0], on_losses=lambda _, __: watch.worked() > limit)
        return float(trial.accuracy["test"])
    known = np.concatenate([train, val])
    if name == OWN:
        few = np.full(data.y.size, -1)
        few[known] = data.y[known]
        own = HypergraphClassifier(random_state=seed, max_time=max_time)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TimeLimitWarning)  # the caller set the limit for a comparison
            found = own.fit(data.x, few, hypergraph=data.hypergraph.undirected()).transduction_[test]
    else:
        model: Any = BernoulliNB() if name == "naive-bayes" and sparse.issparse(data.x) else PLAIN[name](seed)
        x: Any = data.x
        if name in _DENSE and sparse.issparse(x):
            x = x.toarray()
        found = model.fit(x[known], data.y[known]).predict(x[test])
    return float(100 * np.mean(found == data.y[test]))
