"""From Spark to one machine."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from hypergnn.spark.building import Coded
from hypergnn.spark.exchange import with_key
from hypergnn.structures.hypergraph import Hypergraph


def local_hypergraph(pairs: DataFrame) -> Hypergraph:
    """Distinct incidences as a hypergraph in memory; vertices and hyperedges are numbered in the order of their ids."""
    collected = with_key(with_key(pairs, "vertex"), "hyperedge").toArrow()
    vertex, hyperedge = (Coded.of(collected, name) for name in ("vertex", "hyperedge"))
    weight = collected["weight"].to_numpy()[hyperedge.first] if "weight" in collected.column_names else None
    return Hypergraph.from_incidence(
        vertex.codes,
        hyperedge.codes,
        len(vertex.keys),
        len(hyperedge.keys),
        weight=weight,
        vertex_names=names_of(vertex.ids),
        hyperedge_names=names_of(hyperedge.ids),
    )


def names_of(ids: pa.Array) -> np.ndarray:
    """Ids as names of vertices or hyperedges."""
    found = ids.to_pylist()
    if any(isinstance(one, (dict, list)) for one in found[:1]):
        found = [tuple(one.values()) if isinstance(one, dict) else tuple(one) for one in found]
    names = np.empty(len(found), dtype=object)
    names[:] = found
    return names if pa.types.is_nested(ids.type) or pa.types.is_string(ids.type) else ids.to_numpy(zero_copy_only=False)
