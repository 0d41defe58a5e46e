"""Correct and smooth: the errors of a classifier and its predictions, spread over the hyperedges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hypergnn.estimators.later import Later
from hypergnn.estimators.selection.candidates import log_loss
from hypergnn.estimators.selection.diffusion import diffuse, received
from hypergnn.estimators.selection.known import Known
from hypergnn.structures.hypergraph import Hypergraph

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Used = npt.NDArray[np.bool_]
Strengths = dict[str, dict[str, float]]

REACHES = (0.5, 0.9)
"""How far values spread over the hyperedges."""
AMOUNTS = (0.0, 0.3, 0.6, 1.0)
"""How much of the correction is added, or how much of the smoothed prediction replaces the other; 0: none."""
FOLDS = 5


@dataclass(frozen=True)
class Smoother:
    """Errors and predictions that have spread to all rows of training.

    Attributes:
        strengths: How far and how much, for ``"correct"`` and for ``"smooth"``.
        errors: The errors that reach each row, and in the last column how much reaches it, ``(N, classes + 1)``.
        usual: How much usually reaches a labelled row.
        smoothed: The smoothed predictions, ``(N, classes)``.
        shares: The corrected and smoothed predictions of the rows, ``(N, classes)``.
    """

    strengths: Strengths
    errors: Floats
    usual: float
    smoothed: Floats
    shares: Floats

    @classmethod
    def of(cls, strengths: Strengths, plain: Floats, unseen: Floats, known: Known, H: Hypergraph) -> Smoother:
        """Correct and smooth the predictions of a classifier that was fitted to all labels.

        Args:
            strengths: What :func:`choose` returned.
            plain: Its predictions for all rows, ``(N, classes)``.
            unseen: What it says of the labelled rows without their labels, ``(n, classes)``.
            known: The labels.
            H: The hypergraph.
        """
        every = np.ones((1, known.size), dtype=bool)
        correct, smooth = strengths["correct"], strengths["smooth"]
        errors = _spread(known.one_hot - unseen, every, known, H, correct["reach"])
        usual = _usual(errors, known)
        corrected = _corrected(plain[None], errors, correct["amount"], usual)
        smoothed = _smoothed(corrected, every, known, H, smooth["reach"])
        shares = _blend(corrected, smoothed, smooth["amount"])
        return cls(strengths, errors[0], usual, smoothed[0], shares[0])

    def new(self, plain: Floats, H: Hypergraph, later: Later) -> Floats:
        """Correct and smooth the predictions for new rows."""
        correct, smooth = self.strengths["correct"], self.strengths["smooth"]
        errors = correct["reach"] * received(self.errors, H, later)
        corrected = _corrected(plain, errors, correct["amount"], self.usual)
        around = _normalised(received(self.smoothed, H, later), corrected)
        return _blend(corrected, around, smooth["amount"])


def choose(by_fold: Floats, fold: Ids, known: Known, H: Hypergraph) -> tuple[Strengths, Floats]:
    """How far and how much to correct and to smooth, by the log-loss of labels that were held out.

    Args:
        by_fold: What a classifier says of all rows without the labels of each fold, ``(folds, N, classes)``.
        fold: The fold of each labelled row.
        known: The labels.
        H: The hypergraph.

    Returns:
        The strengths, and with them the predictions of labels that were held out, ``(n, classes)``.
    """
    unseen = by_fold[fold, known.rows]
    best, chosen, lowest = _strengths(REACHES[0], 0.0, REACHES[0], 0.0), unseen, np.inf
    used = fold != np.arange(len(by_fold))[:, None]  # (folds, labelled rows)
    for reach in REACHES:
        spread = _spread(known.one_hot - unseen, used, known, H, reach)
        for amount in AMOUNTS if reach == REACHES[0] else AMOUNTS[1:]:
            corrected = _corrected(by_fold, spread, amount, _usual(spread, known))
            for further in REACHES:
                smoothed = _smoothed(corrected, used, known, H, further)
                for share in AMOUNTS if further == REACHES[0] else AMOUNTS[1:]:
                    found = _blend(corrected, smoothed, share)[fold, known.rows]
                    loss = log_loss(0.99 * found + 0.01 * known.prior, known)
                    if loss < lowest - 1e-3:
                        best, chosen, lowest = _strengths(reach, amount, further, share), found, loss
    return best, chosen


def _strengths(reach: float, amount: float, further: float, share: float) -> Strengths:
    return {"correct": {"reach": reach, "amount": amount}, "smooth": {"reach": further, "amount": share}}


def _spread(errors: Floats, used: Used, known: Known, H: Hypergraph, reach: float) -> Floats:
    """The errors of some labelled rows spread to all rows, and in the last column how much reaches each."""
    sent = np.zeros((len(used), H.n_vertices, known.n_classes + 1))
    sent[:, known.rows] = used[:, :, None] * np.column_stack([errors, np.ones(known.size)])
    return _diffuse(sent, H, reach)


def _diffuse(values: Floats, H: Hypergraph, reach: float) -> Floats:
    """Spread the values of several folds, ``(folds, N, K)``, together."""
    n_folds, n_rows, width = values.shape
    side_by_side = diffuse(values.swapaxes(0, 1).reshape(n_rows, -1), H, reach)
    return np.asarray(side_by_side.reshape(n_rows, n_folds, width).swapaxes(0, 1))


def _usual(spread: Floats, known: Known) -> float:
    """How much usually reaches a labelled row."""
    return max(float(spread[..., known.rows, -1].mean()), 1e-12)


def _corrected(p: Floats, spread: Floats, amount: float, usual: float) -> Floats:
    """Probabilities plus the mean error that reaches each row, drawn towards 0 where little does."""
    return _normalised(np.clip(p + amount * spread[..., :-1] / (spread[..., -1:] + 0.3 * usual), 0.0, None), p)


def _smoothed(p: Floats, used: Used, known: Known, H: Hypergraph, reach: float) -> Floats:
    """Probabilities, with the labels of some rows in their place, spread over the hyperedges."""
    fixed = p.copy()
    fixed[:, known.rows] = np.where(used[:, :, None], known.one_hot, p[:, known.rows])
    return _normalised(_diffuse(fixed, H, reach), p)


def _normalised(found: Floats, otherwise: Floats) -> Floats:
    """Rows that add up to 1; those of zeros are replaced."""
    total = found.sum(-1, keepdims=True)
    return np.where(total > 0, found / np.where(total > 0, total, 1.0), otherwise)


def _blend(p: Floats, smoothed: Floats, amount: float) -> Floats:
    return np.asarray((1 - amount) * p + amount * smoothed)
