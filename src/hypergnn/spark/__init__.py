"""Hypergraphs in Apache Spark: propagation and predictions where one machine ends.

:class:`Hypergraph` takes a DataFrame of (vertex, hyperedge) pairs. Only sums travel between machines: each task sums
the features of its own vertices at their hyperedges before anything is shuffled, so a hyperedge with millions of
members costs one row per task.

The executors need hypergnn, NumPy, SciPy and PyArrow, but not PyTorch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypergnn.spark.construct import from_attributes, from_baskets, from_text
    from hypergnn.spark.hypergraph import Hypergraph

__all__ = ["Hypergraph", "from_attributes", "from_baskets", "from_text"]

_ROOM = {
    "Hypergraph": "hypergraph",
    "from_attributes": "construct",
    "from_baskets": "construct",
    "from_text": "construct",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: executors import this package, and need none of them."""
    if name not in __all__:
        raise AttributeError(f"module 'hypergnn.spark' has no attribute {name!r}")
    return getattr(import_module(f"hypergnn.spark.{_ROOM[name]}"), name)


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)
