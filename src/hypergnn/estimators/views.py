"""What a candidate model sees of rows: their own features, those of their hyperedges, and the scores of a network."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from torch import Tensor

from hypergnn.estimators.compute import as_features
from hypergnn.estimators.later import Later
from hypergnn.functional import hypergraph_conv
from hypergnn.models import KINDS, Network
from hypergnn.structures.hypergraph import Hypergraph

Floats = npt.NDArray[np.float64]
N_COMPONENTS = 100
"""Sparse features are reduced to this number for models that need dense ones."""


class Reduction:
    """Features with few columns: dense ones unchanged, sparse ones by their principal components.

    Example:
        >>> Reduction(np.eye(3)).of(np.eye(3)).shape, Reduction(sparse.eye_array(200).tocsr()).of(np.eye(200)).shape
        ((3, 3), (200, 100))
    """

    def __init__(self, features: Any) -> None:
        """Learn the components."""
        n_rows, n_columns = features.shape
        self._svd = None
        if sparse.issparse(features) and min(n_rows, n_columns) > N_COMPONENTS:
            self._svd = TruncatedSVD(N_COMPONENTS, random_state=0).fit(features)

    def of(self, features: Any) -> npt.NDArray[np.float32]:
        """The reduced features of some rows, float32."""
        if self._svd is not None:
            return np.asarray(self._svd.transform(features), dtype=np.float32)
        return np.asarray(features.toarray() if sparse.issparse(features) else features, dtype=np.float32)


class Views:
    """The views of the training rows, or of later rows that join them.

    Args:
        H: The hypergraph of training.
        features: The features of the training rows.
        reduction: How to reduce them.
        new: The features of later rows, if the views are theirs.
        later: The hyperedges of these rows.
    """

    def __init__(
        self, H: Hypergraph, features: Any, reduction: Reduction, new: Any = None, later: Later | None = None
    ) -> None:
        """Remember the rows; each view is computed when it is asked for."""
        self._H, self._all, self._reduction, self._new, self._later = H, features, reduction, new, later

    @property
    def own(self) -> Any:
        """The features of the rows, which may be sparse."""
        return self._all if self._later is None else self._new

    @cached_property
    def reduced(self) -> npt.NDArray[np.float32]:
        """The features of the rows with few columns."""
        return self._reduction.of(self.own)

    @cached_property
    def structure(self) -> npt.NDArray[np.float32]:
        """The reduced features, their means over the hyperedges, and the means of these: ``[X, TX, TTX]``."""
        if self._later is None:
            once = self._spread(torch.from_numpy(self.reduced), self._H)
            return np.hstack([self.reduced, once.numpy(), self._spread(once, self._H).numpy()])
        first, last = self._later.blocks(self._H, 2)
        every = torch.from_numpy(np.vstack([self._reduction.of(self._all), self.reduced]))
        once = self._spread(every, first)
        return np.hstack([self.reduced, once.numpy()[self._H.n_vertices :], self._spread(once, last).numpy()])

    def smoothed(self, values: Floats) -> Floats:
        """The mean over the hyperedges of each row of what the training rows have, ``(N, F)`` → ``(rows, F)``."""
        if self._later is None:
            return self._spread(torch.from_numpy(values), self._H).numpy()
        every = np.vstack([values, np.zeros((self._later.n_rows, values.shape[1]))])
        (block,) = self._later.blocks(self._H, 1)
        return self._spread(torch.from_numpy(every), block).numpy()

    def scores(self, network: Network) -> Tensor:
        """The scores of a network, ``(rows, outputs)``."""
        with torch.no_grad():
            scores: Tensor
            if not KINDS[network.config.model].structures:
                scores = network(as_features(self.own))
            elif self._later is None:
                scores = network(as_features(self._all), hypergraph=self._H)
            else:
                stack = sparse.vstack if sparse.issparse(self._new) else np.vstack
                blocks = self._later.blocks(self._H, network.config.depth)
                scores = network(as_features(stack([self._all, self._new])), hypergraph=blocks)
        return scores

    @staticmethod
    def _spread(x: Tensor, structure: Any) -> Tensor:
        with torch.no_grad():
            return hypergraph_conv(x, structure, normalization="row")
