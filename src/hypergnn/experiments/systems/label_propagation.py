"""Label Propagation: Gaussian fields and harmonic functions.

    f_U = (D_UU - A_UU)^-1 A_UL Y_L

Zhu, Ghahramani and Lafferty, "Semi-supervised learning using Gaussian fields and harmonic functions" (2003). Each
vertex without a label gets the mean of its neighbours, exactly: SciPy factorises the sparse system of each connected
part. Vertices that no labelled one reaches get the shares of the classes among the training vertices. Links have
weight 1, features are not used. Where labels are few, the function is nearly constant, and the class with the
best-linked labels wins almost everywhere. The paper's class mass normalisation corrects that: it scales each class so
that its sum over the vertices without a label is its share of the training vertices. Whether to do so is chosen on the
validation vertices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities, SettingsByDataset
from hypergnn.experiments.systems.structure import adjacency_of


@dataclass(frozen=True)
class LabelPropagation(SettingsByDataset):
    """The harmonic function that equals the labels of the training vertices.

    Example:
        >>> from hypergnn import datasets
        >>> LabelPropagation().fit(datasets.load("digits"), seed=0).shape
        (1797, 10)
    """

    name: ClassVar[str] = "label-propagation"
    title: ClassVar[str] = "Label Propagation"
    is_deterministic: ClassVar[bool] = True
    settings_of: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    class_mass: bool = True
    """Whether the sum of each class is scaled to its share of the training vertices."""

    def fit(self, data: Dataset, seed: int) -> Probabilities:  # noqa: ARG002
        """Solve; probabilities of each class for every vertex."""
        adjacency = adjacency_of(data, self.title)
        known = np.eye(data.n_classes)[data.y[data.train]]
        out = np.tile(known.mean(axis=0), (adjacency.shape[0], 1))
        out[data.train] = known
        _, part = connected_components(adjacency, directed=False)
        is_reached = np.isin(part, part[data.train])
        is_reached[data.train] = False
        unknown = np.flatnonzero(is_reached)
        if unknown.size:
            degree = np.asarray(adjacency.sum(axis=1))[unknown]
            rows = adjacency[unknown]
            left = sparse.csc_array(sparse.diags_array(degree) - rows[:, unknown])
            factors = splu(left, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
            out[unknown] = factors.solve(rows[:, data.train] @ known)
        out = out.clip(min=0)
        if self.class_mass and unknown.size:
            out[unknown] *= known.mean(axis=0) / np.maximum(out[unknown].sum(axis=0), np.finfo(float).tiny)
        normalized: Probabilities = out / out.sum(axis=1, keepdims=True)
        return normalized
