"""scikit-learn estimators: from a table to a classifier, with the hypergraph made, learned on and extended for you."""

from hypergnn.estimators.classifier import HypergraphClassifier
from hypergnn.estimators.embedding import HypergraphEmbedding

__all__ = ["HypergraphClassifier", "HypergraphEmbedding"]
