"""Datasets: published ones by name, your own from tables, and train/validation/test splits.

Example:
    >>> import hypergnn as hg
    >>> hg.datasets.load("digits")
    Dataset('digits': 1797 vertices, 1797 hyperedges, 64 features, 10 classes, split 200/500/1000)
"""

from hypergnn.datasets.catalogue import DataError, DataNotFoundError
from hypergnn.datasets.dataset import Dataset
from hypergnn.datasets.own_tables import from_tables
from hypergnn.datasets.published import available, load
from hypergnn.datasets.sources import cache_folder
from hypergnn.datasets.splits import draw_split, stratified_split

__all__ = [
    "DataError",
    "DataNotFoundError",
    "Dataset",
    "available",
    "cache_folder",
    "draw_split",
    "from_tables",
    "load",
    "stratified_split",
]
