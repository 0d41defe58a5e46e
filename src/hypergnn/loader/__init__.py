"""Blocks for the layers of a network: what the scores of some vertices depend on."""

from hypergnn.loader.receptive_field import Reached, receptive_field

__all__ = ["Reached", "receptive_field"]
