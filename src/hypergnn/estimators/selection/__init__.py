"""The choice among candidates within the given labels: what ``HypergraphClassifier(model="auto")`` does."""
