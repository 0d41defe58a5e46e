"""Learning: trials trained together, recorded as they end, resumed where they stopped."""

from hypergnn.training.fit import Outcome, Progress, fit

__all__ = ["Outcome", "Progress", "fit"]
