"""DeepWalk: embeddings of vertices from random walks, then logistic regression.

    max Σ_walks Σ_{0 < |s - t| ≤ window} log p(v_s | e_{v_t})

Perozzi, Al-Rfou and Skiena, "DeepWalk: online learning of social representations" (2014,
https://arxiv.org/abs/1403.6652). Walks are sentences for gensim's skip-gram, with negative samples; the features are
not used. The numbers of the row were first quoted without settings. Walks of 40 vertices and a window of 10 are the
paper's. The penalty is chosen on the validation vertices; ten walks from each vertex, 64 dimensions and five negative
samples are ours, untuned. The walks are our own; embeddings are gensim's, the classifier is scikit-learn's, each class
against the rest. gensim gets one worker, because several of them race, and a hash that does not differ between
processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
import numpy.typing as npt

from hypergnn._utils.extras import import_extra
from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities, SettingsByDataset
from hypergnn.experiments.systems.linear import logistic_regression, shares
from hypergnn.experiments.systems.structure import adjacency_of
from hypergnn.experiments.systems.walks import Ids, random_walks


@dataclass(frozen=True)
class DeepWalk(SettingsByDataset):
    """Skip-gram on random walks, and logistic regression on the embeddings.

    Example:
        >>> from hypergnn import datasets
        >>> DeepWalk(walks=1, length=5).fit(datasets.load("digits"), seed=0).shape
        (1797, 10)
    """

    name: ClassVar[str] = "deepwalk"
    title: ClassVar[str] = "DeepWalk"
    is_deterministic: ClassVar[bool] = False
    settings_of: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    walks: int = 10
    """Walks from each vertex."""
    length: int = 40
    """Vertices of a walk."""
    window: int = 10
    dimensions: int = 64
    negative: int = 5
    """Negative samples of each pair."""
    inverse_penalty: float = 0.1
    """The inverse strength C of the L2 penalty of the logistic regression."""

    def fit(self, data: Dataset, seed: int) -> Probabilities:
        """Walk and learn from a seed; probabilities of each class for every vertex."""
        adjacency = adjacency_of(data, self.title)
        rng = np.random.default_rng(seed)
        n_vertices = adjacency.shape[0]
        start = np.concatenate([rng.permutation(n_vertices) for _ in range(self.walks)])
        embedding = self.embedded(random_walks(adjacency, start, self.length, rng), n_vertices, seed)
        scores = logistic_regression(embedding[data.train], data.y[data.train], data.n_classes, self.inverse_penalty)
        return shares(scores(embedding))

    def embedded(self, walks: Ids, n_vertices: int, seed: int) -> npt.NDArray[np.float32]:
        """The embedding of each vertex from walks that visit all of them, ``(n_vertices, dimensions)``."""
        word2vec = import_extra("gensim.models.word2vec", "systems", purpose="DeepWalk")
        sentences = [list(map(str, walk)) for walk in walks.tolist()]
        model = word2vec.Word2Vec(
            sentences,
            vector_size=self.dimensions,
            window=self.window,
            negative=self.negative,
            sg=1,
            hs=0,
            min_count=1,
            epochs=1,
            seed=seed,
            workers=1,
            hashfxn=_hash,
        )
        found: npt.NDArray[np.float32] = model.wv[list(map(str, range(n_vertices)))]
        return found


def _hash(word: str) -> int:
    return crc32(word.encode())
