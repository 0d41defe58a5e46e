"""scikit-learn estimators: from a table to a classifier; they make the hypergraph, train on it and place new rows."""

from hypergnn.estimators.classifier import HypergraphClassifier
from hypergnn.estimators.embedding import HypergraphEmbedding

__all__ = ["HypergraphClassifier", "HypergraphEmbedding"]
