"""scikit-learn estimators: from a table to a classifier, with the hypergraph made, learned on and extended for you."""

from hypergnn.estimator.classifier import HypergraphClassifier
from hypergnn.estimator.embedding import HypergraphEmbedding

__all__ = ["HypergraphClassifier", "HypergraphEmbedding"]
