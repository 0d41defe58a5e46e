"""Networks over the hypergraph as candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from hypergnn.estimators.compute import as_features
from hypergnn.estimators.selection.candidates import Context, Model, log_loss
from hypergnn.estimators.selection.views import NewViews, Views
from hypergnn.models import Network

Array = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]
_FOLDS = 3


class Train(Protocol):
    """Trains a network on some of the labelled rows."""

    def __call__(self, rows: Ids, weight_decay: float, *, is_last: bool) -> tuple[Network, Array]:
        """Return the network and its probabilities for all rows."""
        ...


class OfNetwork:
    """A network of some kind, with the best of some weight decays.

    Args:
        name: The kind.
        train: How to train it.
        decays: The weight decays.
        needs_smoothness: Whether to try it only if the structure helps other candidates: a convolution averages over
            hyperedges as they do, a learned update of the hyperedges may find what they miss.
    """

    uses_structure = True

    def __init__(self, name: str, train: Train, decays: tuple[float, ...], *, needs_smoothness: bool) -> None:
        """Store how to train it."""
        self.name, self.needs_smoothness = name, needs_smoothness
        self._train, self._decays = train, decays
        self._decay = decays[0]

    def score(self, context: Context) -> Array:
        """Predict each of three folds from the others."""
        known = context.known
        fold = known.folds[0] % _FOLDS
        best, lowest = np.tile(known.prior, (known.size, 1)), np.inf
        parts = np.unique(fold)
        for number, decay in enumerate(self._decays):
            found = np.tile(known.prior, (known.size, 1))
            for one in parts:
                held = fold == one
                if held.all():
                    continue
                _, shares = self._train(known.rows[~held], decay, is_last=False)
                found[held] = shares[known.rows[held]]
                context.check_time((number * parts.size + one + 1) / (len(self._decays) * parts.size))
            loss = log_loss(found, known)
            if loss < lowest:
                best, lowest, self._decay = found, loss, decay
        return best

    def fit(self, context: Context) -> Model:
        """Train it on all labels."""
        network, shares = self._train(context.known.rows, self._decay, is_last=True)
        return TrainedNetwork(network, shares)


@dataclass
class TrainedNetwork:
    """A trained network and its probabilities for the rows of training."""

    network: Network
    shares: Array

    def training(self, views: Views) -> Array:  # noqa: ARG002
        """Probabilities of the rows of training."""
        return self.shares

    def new(self, views: NewViews) -> Array:
        """Probabilities of new rows."""
        with torch.no_grad():
            blocks = views.later.blocks(views.structure(rare=False), self.network.config.n_steps)
            scores = self.network(as_features(views.with_training()), hypergraph=blocks)
        return np.asarray(scores.double().softmax(-1).numpy())
