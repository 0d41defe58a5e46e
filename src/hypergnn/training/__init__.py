"""Learning: trials trained together, recorded as they end, resumed where they stopped."""

from hypergnn.training.fit import Outcome, Progress, fit
from hypergnn.training.predicting import predict

__all__ = ["Outcome", "Progress", "fit", "predict"]
