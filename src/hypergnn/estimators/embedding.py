"""A transformer that combines the features of each row with those of its hyperedges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from hypergnn._utils.checks import check_size
from hypergnn.estimators.base import HypergraphEstimator
from hypergnn.estimators.compute import as_features, one_thread
from hypergnn.estimators.labels import encode_labels
from hypergnn.estimators.later import Later
from hypergnn.estimators.weights import as_sample_weight, check_counts
from hypergnn.estimators.whole_fits import check_same_meaning, meaning_of, whole_or_not
from hypergnn.functional import hypergraph_conv
from hypergnn.functional.projection import to_dense
from hypergnn.models import KINDS
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.training.engine import OnLosses


class HypergraphEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, HypergraphEstimator):  # type: ignore[misc]
    """Vertex embeddings: features propagated over a hypergraph, or the hidden features of a trained network.

    By default nothing is trained and labels are not used: each step replaces the features of a row by the average over
    its hyperedges of their members' mean, ``D^-1 H W B^-1 Hᵀ X``. With ``trained=True``, :meth:`fit` trains the
    network of :class:`HypergraphClassifier` on the labels, and the embedding is the input of its last layer.
    Hyperedges and new rows are handled as in :class:`HypergraphClassifier`, which describes the other arguments too.

    Args:
        trained: Whether to train on labels, which :meth:`fit` then requires.
        steps: Number of propagation steps; used if not ``trained``.
        model: The network; used if ``trained``, as are the arguments from ``hidden`` on.
        construct: How to make the hyperedges.
        n_neighbors: Number of neighbours of a row, for ``"knn"``.
        construct_options: Further arguments of the constructor.
        scale: Whether to scale the columns.
        hidden: Features per head; the embedding has ``hidden * heads`` features.
        heads: Number of heads.
        depth: Number of layers, at least 2.
        dropout: Dropout rate.
        learning_rate: Step size of Adam.
        weight_decay: Factor of the L2 penalty.
        max_epochs: Number of training epochs.
        warm_start: Whether :meth:`fit` continues with the network of the previous fit.
        n_jobs: Number of threads; one by default, -1 for all cores.
        device: Where to train.
        on_epoch: A function called after each epoch as ``on_epoch(epoch, losses)``; it ends training if it returns
            ``True``.
        random_state: Seed of training.

    Attributes:
        embedding_: Embedding of the training rows.
        hypergraph_: The hypergraph.
        network_: The trained network; set if ``trained``, as are the next three.
        loss_curve_: Training loss of each epoch.
        validation_curve_: Empty, because no labels are held out.
        n_epochs_: Number of epochs that training took.
        n_features_in_: Number of columns of ``X``; not set for ``"text"``.
        feature_names_in_: Their names, if ``X`` is a table and all are strings; not set for ``"text"``.

    Example:
        >>> import hypergnn as hg
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> hg.HypergraphEmbedding().fit_transform(X).shape
        (178, 13)
        >>> hg.HypergraphEmbedding(trained=True, hidden=4, random_state=0).fit(X, y).transform(X[:5]).shape
        (5, 32)
    """

    def __init__(
        self,
        *,
        trained: bool = False,
        steps: int = 2,
        model: str = "hyper-conv",
        construct: str | Callable[..., Hypergraph] = "knn",
        n_neighbors: int = 10,
        construct_options: Mapping[str, Any] | None = None,
        scale: bool = True,
        hidden: int = 8,
        heads: int = 8,
        depth: int = 2,
        dropout: float = 0.5,
        learning_rate: float = 0.01,
        weight_decay: float = 0.01,
        max_epochs: int = 100,
        warm_start: bool = False,
        n_jobs: int | None = None,
        device: Any = "cpu",
        on_epoch: OnLosses | None = None,
        random_state: Any = None,
    ) -> None:
        """Store the settings; :meth:`fit` checks them."""
        self.trained = trained
        self.steps = steps
        self.model = model
        self.construct = construct
        self.n_neighbors = n_neighbors
        self.construct_options = construct_options
        self.scale = scale
        self.hidden = hidden
        self.heads = heads
        self.depth = depth
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.on_epoch = on_epoch
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Labels are required for training only."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.trained
        tags.transformer_tags.preserves_dtype = []
        return tags

    @whole_or_not
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        hypergraph: Hypergraph | None = None,
        memberships: Any = None,
    ) -> HypergraphEmbedding:
        """Make the hypergraph, train the network if ``trained``, and embed the rows.

        Args:
            X: As in :meth:`HypergraphClassifier.fit`.
            y: Labels if ``trained``, otherwise ignored.
            sample_weight: How much the label of each row counts if ``trained``, otherwise ignored.
            hypergraph: As in :meth:`HypergraphClassifier.fit`.
            memberships: As in :meth:`HypergraphClassifier.fit`.
        """
        before = meaning_of(self)
        self._build(X, hypergraph, memberships)
        check_same_meaning(self, before)
        weight = as_sample_weight(sample_weight, self.hypergraph_.n_vertices)
        if self.trained:
            check_size("depth", self.depth, minimum=2)
            if y is None:
                raise ValueError("HypergraphEmbedding(trained=True) requires y to be passed, but the target y is None")
            classes, codes = encode_labels(y, self.hypergraph_.n_vertices)
            check_counts(weight, codes >= 0)
            self._train(codes, len(classes), 0.0, self.max_epochs, weight)
        else:
            check_size("steps", self.steps, minimum=1)
        with one_thread(), torch.no_grad():
            self.embedding_ = self._of_training(self._embed().numpy())
        self._n_features_out = self.embedding_.shape[1]
        return self

    def transform(self, X: Any, *, hypergraph: Hypergraph | None = None, memberships: Any = None) -> npt.NDArray[Any]:
        """Return the embedding of each row; new rows join the hypergraph of the training rows.

        Args:
            X: The rows.
            hypergraph: As in :meth:`HypergraphClassifier.predict`.
            memberships: As in :meth:`HypergraphClassifier.predict`.
        """
        check_is_fitted(self)
        return self._of_rows(X, self.embedding_, self._embed_new, hypergraph, memberships)

    def _embed(self) -> Tensor:
        x = as_features(self._features)
        if self.trained:
            return to_dense(self.network_.hidden(x, hypergraph=self.hypergraph_))
        for _ in range(self.steps):
            x = hypergraph_conv(x, self.hypergraph_, normalization="row")
        return to_dense(x)

    def _embed_new(self, features: Any, later: Later) -> Tensor:
        """The embedding of new rows."""
        if self.trained and not KINDS[self.model].structures:
            return to_dense(self.network_.hidden(as_features(features)))
        if self.trained:
            blocks = later.blocks(self.hypergraph_, self.depth - 1)
            return to_dense(self.network_.hidden(self._with_new(features), hypergraph=blocks))
        x = self._with_new(features)
        for block in later.blocks(self.hypergraph_, self.steps):
            x = hypergraph_conv(x, block, normalization="row")
        return to_dense(x)
