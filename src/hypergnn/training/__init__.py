"""Learning: trials trained together, recorded as they end, resumed where they stopped."""

from hypergnn.training.fit import fit
from hypergnn.training.predicting import predict
from hypergnn.training.session import Outcome, Progress

__all__ = ["Outcome", "Progress", "fit", "predict"]
