"""Learning: trials trained together, recorded as they end, resumed where they stopped."""

from hypergnn.training.prediction import predict
from hypergnn.training.session import Outcome, Progress
from hypergnn.training.trainer import fit

__all__ = ["Outcome", "Progress", "fit", "predict"]
