"""Blocks for the layers of a network: receptive fields of some vertices, and mini-batches with sampled neighbours."""

from hypergnn.loader.features import rows_of
from hypergnn.loader.neighbors import Batch, NeighborLoader
from hypergnn.loader.receptive_field import Reached, receptive_field

__all__ = ["Batch", "NeighborLoader", "Reached", "receptive_field", "rows_of"]
