"""Training: trials run together, are recorded as they finish, and resume after an interruption."""

from hypergnn.training.losses import Losses
from hypergnn.training.prediction import predict
from hypergnn.training.records import TrialRecord
from hypergnn.training.schedule import Failure
from hypergnn.training.session import Progress, Result
from hypergnn.training.trainer import fit

__all__ = ["Failure", "Losses", "Progress", "Result", "TrialRecord", "fit", "predict"]
