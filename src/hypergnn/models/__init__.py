"""The networks and their configuration."""

from hypergnn.models.catalogue import KINDS, Kind
from hypergnn.models.config import Config, config_from, paper_config
from hypergnn.models.network import Network
from hypergnn.models.requirements import check_structures

__all__ = ["KINDS", "Config", "Kind", "Network", "check_structures", "config_from", "paper_config"]
