"""Explanations of predictions that no single layer makes: what a row's hyperedges and its own features change.

A mixture of models has no linear part to split. Instead, the hyperedges of a row and its own features join one after
the other, in many orders, and each is credited with the mean change when it joins: its Shapley value. Whatever the
orders, the changes add up to the prediction minus that of a row of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.checks import Names
from hypergnn.estimators.later import Later
from hypergnn.explanations import Explanation
from hypergnn.explanations.parts import Part, PartKind
from hypergnn.explanations.question import hyperedge_in_words
from hypergnn.structures.hypergraph import Hypergraph

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Predict = Callable[[Any, Later], Floats]
"""Predictions of rows, ``(rows, outputs)``, from their features and hyperedges."""

_ALL_ORDERS = 7
"""Up to this number of causes, all orders are tried."""
_PREDICTIONS = 4096
"""About how many predictions are made if there are more causes."""
_ALONE = 256
"""The same if predictions must be computed one by one."""


def shapley(predict: Callable[[Bools], Floats], n_causes: int, *, most: int = _PREDICTIONS) -> tuple[Floats, Floats]:
    """The prediction without any cause, ``(outputs,)``, and the mean change by each, ``(causes, outputs)``.

    Args:
        predict: Predictions, ``(sets, outputs)``, for sets of causes, ``(sets, causes)``.
        n_causes: The number of causes.
        most: About how many sets are predicted; every set if there are at most seven causes.

    Example:
        >>> base, change = shapley(lambda sets: (sets @ [2.0, 3.0] + sets.all(1))[:, None], 2)
        >>> base.tolist(), change.tolist()
        ([0.0], [[2.5], [3.5]])
    """
    if n_causes <= min(_ALL_ORDERS, int(np.log2(most))):
        return _of_all_sets(predict, n_causes)
    rng = np.random.default_rng(0)
    orders = [rng.permutation(n_causes) for _ in range(max(1, most // (2 * n_causes)))]
    orders += [order[::-1] for order in orders]  # an order and its reverse: their errors cancel in part
    sets = np.zeros((len(orders), n_causes + 1, n_causes), dtype=bool)
    for number, order in enumerate(orders):
        for place, cause in enumerate(order):
            sets[number, place + 1 :, cause] = True
    found = predict(sets.reshape(-1, n_causes)).reshape(len(orders), n_causes + 1, -1)
    change = np.zeros((n_causes, found.shape[2]))
    for order, steps in zip(orders, np.diff(found, axis=1), strict=True):
        change[order] += steps
    return found[0, 0], change / len(orders)


def _of_all_sets(predict: Callable[[Bools], Floats], n_causes: int) -> tuple[Floats, Floats]:
    """Exact values: each set weighs as much as the orders in which it comes first."""
    sets = (np.arange(2**n_causes)[:, None] >> np.arange(n_causes)) % 2 == 1
    found, size = predict(sets), sets.sum(1)
    weight = np.array([1 / (n_causes * comb(n_causes - 1, one)) for one in range(n_causes)])
    change = np.zeros((n_causes, found.shape[1]))
    for cause in range(n_causes):
        without = np.flatnonzero(~sets[:, cause])
        change[cause] = weight[size[without]] @ (found[without + 2**cause] - found[without])
    return found[0], change


def attribute(
    predict: Predict,
    features: Any,
    later: Later,
    row: int,
    *,
    typical: Any,
    features_of: Callable[[sparse.csr_array], Any] | None,
) -> tuple[Floats, Floats]:
    """The prediction of a row of which nothing is known, and what its hyperedges, then its own features, change.

    Args:
        predict: Predictions of rows.
        features: The features of all later rows.
        later: Their hyperedges.
        row: The number of the row.
        typical: Features that say nothing about a row, ``(1, F)``.
        features_of: Makes the features of a row from its hyperedges if they say the same; its own features are then no
            cause of their own.
    """
    joined = _joined_by(later, row)
    brought = np.empty(0, np.int64) if later.brought is None else _brought_by(later.brought, row)
    n_causes = joined.size + brought.size + (features_of is None)

    def with_causes(sets: Bools) -> tuple[Any, sparse.csr_array]:
        n_sets = len(sets)
        keeps = sets[:, : joined.size]
        pairs = np.nonzero(keeps)
        shape = (n_sets, later.memberships.shape[1])
        memberships = sparse.csr_array((np.ones(pairs[0].size), (pairs[0], joined[pairs[1]])), shape=shape)
        if features_of is not None:
            return features_of(memberships), memberships
        stack: Any = sparse.vstack if sparse.issparse(features) else np.vstack
        both = stack([typical, features[[row]]])
        if sparse.issparse(both):
            both = both.tocsr()
        return both[sets[:, -1].astype(np.int64)], memberships

    def together(sets: Bools) -> Floats:
        own, memberships = with_causes(sets)
        return predict(own, Later(memberships))

    def one_by_one(sets: Bools) -> Floats:
        return np.stack(
            [_changed(predict, features, later, row, *with_causes(one[None]), brought, one) for one in sets]
        )

    if later.brought is None:
        return shapley(together, n_causes)
    return shapley(one_by_one, n_causes, most=_ALONE)


def _joined_by(later: Later, row: int) -> npt.NDArray[np.int64]:
    """The hyperedges of training that a row is in."""
    return np.asarray(later.memberships[[row]].tocsr().indices, dtype=np.int64)


def _brought_by(brought: Hypergraph, row: int) -> npt.NDArray[np.int64]:
    """The new hyperedges that a row is in."""
    return np.asarray(sparse.csr_array(brought.to_scipy())[[row]].indices, dtype=np.int64)


def _changed(
    predict: Predict,
    features: Any,
    later: Later,
    row: int,
    own: Any,
    memberships: sparse.csr_array,
    brought: npt.NDArray[np.int64],
    kept: Bools,
) -> Floats:
    """The prediction of a row among all later rows, with other features and fewer hyperedges."""
    assert later.brought is not None
    n_joined = _joined_by(later, row).size
    gone = brought[~kept[n_joined : n_joined + brought.size]]
    stack: Any = sparse.vstack if sparse.issparse(features) else np.vstack
    above, below = slice(0, row), slice(row + 1, None)
    joined = sparse.csr_array(sparse.vstack([later.memberships[above], memberships, later.memberships[below]]))
    new = sparse.lil_array(later.brought.to_scipy())
    new[row, gone] = 0
    rest = Hypergraph.from_scipy(sparse.csr_array(new), weight=later.brought.weight.cpu().numpy())
    changed = stack([features[above], own, features[below]])
    if sparse.issparse(changed):
        changed = changed.tocsr()
    return np.asarray(predict(changed, Later(joined, rest))[row])


class Attribution(NamedTuple):
    """The prediction of a row, split into what each of its hyperedges and its own features change."""

    row: int
    names: Names | None
    """The names of the rows."""
    H: Hypergraph
    """The hypergraph of training."""
    later: Later
    """The hyperedges of the rows."""
    base: Floats
    """The prediction for a row about which nothing is known, ``(outputs,)``."""
    change: Floats
    """What the causes change: the hyperedges of the row, then its own features, ``(causes, outputs)``."""

    def explanation(self, target: int, output_names: Sequence[str], *, are_classes: bool) -> Explanation:
        """The contributions to one output in words.

        Args:
            target: The output.
            output_names: The names of all outputs.
            are_classes: Whether the outputs are probabilities of classes.
        """
        causes = self._causes()
        scores = self.base + self.change.sum(0)
        predicted = int(scores.argmax()) if are_classes else target
        return Explanation(
            vertex=self.row,
            vertex_name=self.row if self.names is None else self.names[self.row : self.row + 1].tolist()[0],
            target=target,
            target_name=output_names[target],
            logit=float(scores[target]),
            score=float(scores[target]),
            activation=None,
            probability=float(scores[target]) if are_classes else None,
            predicted=predicted,
            predicted_name=output_names[predicted],
            predicted_probability=float(scores[predicted]) if are_classes else None,
            parts=tuple(
                Part(kind, number, None, None, None, contribution, ())
                for (kind, number, _, _), contribution in zip(
                    causes, [*self.change[:, target].tolist(), float(self.base[target])], strict=True
                )
            ),
            names=tuple(name for _, _, name, _ in causes),
            labels=tuple(label for _, _, _, label in causes),
            attention=(),
            is_class=are_classes,
            is_probability=are_classes,
        )

    def _causes(self) -> list[tuple[PartKind, int | None, Any, str]]:
        """Kind, number, name and words of each cause."""
        found: list[tuple[PartKind, int | None, Any, str]] = [
            ("hyperedge", one, *_called(self.H, one)) for one in _joined_by(self.later, self.row).tolist()
        ]
        if self.later.brought is not None:
            for one in _brought_by(self.later.brought, self.row).tolist():
                name, label = _called(self.later.brought, one)
                found.append(("hyperedge", self.H.n_hyperedges + one, name, f"{label} (new)"))
        if len(self.change) > len(found):
            found.append(("itself", None, "itself", "its own features"))
        return [*found, ("bias", None, "bias", "a row of which nothing is known")]


def _called(H: Hypergraph, number: int) -> tuple[Any, str]:
    """The name of a hyperedge, or its number, and the hyperedge in words."""
    name = number if H.hyperedge_names is None else H.hyperedge_names[number : number + 1].tolist()[0]
    return name, hyperedge_in_words(H, number)
