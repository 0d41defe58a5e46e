"""scikit-learn estimators: from a table to predictions; they make the hypergraph, train on it and place new rows."""

from hypergnn.estimators.classifier import HypergraphClassifier
from hypergnn.estimators.correct_and_smooth import CorrectAndSmooth
from hypergnn.estimators.embedding import HypergraphEmbedding
from hypergnn.estimators.regressor import HypergraphRegressor
from hypergnn.estimators.selection.budget import TimeLimitWarning

__all__ = ["CorrectAndSmooth", "HypergraphClassifier", "HypergraphEmbedding", "HypergraphRegressor", "TimeLimitWarning"]
