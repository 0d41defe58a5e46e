"""The models that a regressor weighs against each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.multioutput import MultiOutputRegressor

from hypergnn.estimators.selection.views import Views
from hypergnn.estimators.stacking import Candidate, OfNetwork, OfScikitLearn
from hypergnn.models import Network

Train = Callable[..., Network]
PENALTIES = np.logspace(-2, 4, 13)
ROWS_OF_A_TREE = 5000
"""With more rows, each tree of a forest sees a sample of this size."""
ENOUGH_TO_BOOST = 100
"""Gradient boosting with its default settings needs this number of known targets."""


def candidates_for(
    views: Views, n_known: int, n_outputs: int, rng: np.random.RandomState, n_jobs: int | None, train: Train
) -> list[Candidate]:
    """The candidates for some data, the quickest first.

    Args:
        views: The views of the training rows.
        n_known: Number of known targets.
        n_outputs: Number of targets of each row.
        rng: Seeds forests and boosting.
        n_jobs: Number of threads.
        train: Trains a network of some kind on some rows.
    """
    seed = int(rng.randint(2**31 - 1))
    most = ROWS_OF_A_TREE if n_known > 2 * ROWS_OF_A_TREE else None
    forest = RandomForestRegressor(max_samples=most, n_jobs=n_jobs, random_state=seed)
    extra = ExtraTreesRegressor(bootstrap=most is not None, max_samples=most, n_jobs=n_jobs, random_state=seed)
    boosting: Any = HistGradientBoostingRegressor(random_state=seed)
    boosting = boosting if n_outputs == 1 else MultiOutputRegressor(boosting)
    ridge: list[Candidate] = [OfScikitLearn("ridge, own features", _ridge(n_known, views.is_sparse), "own")]
    trees: list[Candidate] = [
        OfScikitLearn("forest, own features", forest, "dense"),
        OfScikitLearn("extra trees, own features", extra, "dense"),
    ]
    networks: list[Candidate] = [OfNetwork("network, own features", partial(train, "mlp"), uses_structure=False)]
    boosted: list[Candidate] = [OfScikitLearn("boosting, own features", boosting, "dense")]
    if views.has_structure:
        ridge.append(OfScikitLearn("ridge, propagated", _ridge(n_known, False), "spread"))
        trees.append(OfScikitLearn("forest, propagated", forest, "spread"))
        networks.append(OfNetwork("network, hypergraph convolution", partial(train, "hyper-conv")))
        boosted.append(OfScikitLearn("boosting, propagated", boosting, "spread"))
    if views.has_further:
        ridge.append(OfScikitLearn("ridge, memberships", _ridge(n_known, True), "members"))
    if n_known > 2 * ROWS_OF_A_TREE:  # where time may run out, what learns most in a second comes first
        return [*ridge, *boosted, *trees, *networks]
    return [*ridge, *trees, *(boosted if n_known >= ENOUGH_TO_BOOST else []), *networks]


def _ridge(n_known: int, is_sparse: bool) -> Any:
    """Ridge regression whose penalty is found by leaving rows out; a fixed one for sparse rows and for very few."""
    return Ridge(1.0) if is_sparse or n_known < 5 else RidgeCV(PENALTIES)
