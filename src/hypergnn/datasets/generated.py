"""Datasets that are drawn, not collected."""

from __future__ import annotations

import numpy as np

from hypergnn.datasets.dataset import Dataset
from hypergnn.datasets.splits import draw_split
from hypergnn.structures.directed import DirectedHypergraph

_N_VERTICES, _N_HYPEREDGES, _MEMBERS = 2000, 1600, 5


def arrows(seed: int = 0) -> Dataset:
    """A directed hypergraph in which only the direction of the hyperedges tells the two classes apart.

    Each vertex has a colour, its only feature, and a class, independent of each other. A hyperedge has a tail of one
    colour whose vertices are all of one class, and a head of one colour whose vertices are all of one class: the heads
    have the class that the colour of the tail names, the tails the class that the colour of the head does *not* name.
    Turning all hyperedges round exchanges the classes, so whoever ignores the direction can only guess.

    Args:
        seed: Selects the split; the data itself is always the same.

    Example:
        >>> arrows()
        Dataset('arrows': 2000 vertices, 1600 hyperedges, 2 features, 2 classes, split 40/500/1000)
    """
    rng = np.random.default_rng(0)
    kind = rng.permutation(_N_VERTICES) % 4  # as many vertices of each colour and class
    colour, y = kind % 2, kind // 2
    hyperedges = []
    for number in range(_N_HYPEREDGES):
        of_tail, of_head = number % 2, number // 2 % 2  # the colours
        tail = np.flatnonzero((colour == of_tail) & (y == 1 - of_head))
        head = np.flatnonzero((colour == of_head) & (y == of_tail))
        members = [sorted(rng.choice(part, _MEMBERS, replace=False).tolist()) for part in (tail, head)]
        hyperedges.append((members[0], members[1]))
    train, val, test = draw_split(y, seed)
    return Dataset(
        name="arrows",
        x=np.eye(2, dtype=np.float32)[colour],
        y=y.astype(np.int64),
        class_names=("first", "second"),
        graph=None,
        hypergraph=DirectedHypergraph.from_hyperedges(hyperedges, _N_VERTICES),
        train=train,
        val=val,
        test=test,
        source="generated",
        construction="tails and heads of one colour and class each",
    )
