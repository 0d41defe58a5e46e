"""The networks and their configuration."""

from hypergnn.models.catalogue import KINDS, Kind
from hypergnn.models.config import Config, config_from, paper_config
from hypergnn.models.control_variates import ControlVariates
from hypergnn.models.ensemble import Ensemble
from hypergnn.models.inference import infer
from hypergnn.models.network import Network
from hypergnn.models.registry import UnregisteredError, check_registered, register, unregister
from hypergnn.models.requirements import check_structures

__all__ = [
    "KINDS",
    "Config",
    "ControlVariates",
    "Ensemble",
    "Kind",
    "Network",
    "UnregisteredError",
    "check_registered",
    "check_structures",
    "config_from",
    "infer",
    "paper_config",
    "register",
    "unregister",
]
