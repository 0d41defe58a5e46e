"""The networks and their configuration."""

from hypergnn.models.catalogue import KINDS, Kind, check_structures
from hypergnn.models.config import Config, config_from, paper_config
from hypergnn.models.network import Network

__all__ = ["KINDS", "Config", "Kind", "Network", "check_structures", "config_from", "paper_config"]
