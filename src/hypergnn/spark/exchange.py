"""The driver's part: blocks as DataFrames, and the hops of a program over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hypergnn.spark import messages
from hypergnn.spark.building import TO_HYPEREDGES, Hubs, HyperedgeSide, VertexSide
from hypergnn.spark.hops import STATE, SUMS, WIDTH, Begin, Combine, End, Proceed
from hypergnn.spark.numbering import labels
from hypergnn.spark.programs import Program

_NESTED = (T.ArrayType, T.StructType)
_EXACT = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Times to the microsecond, which is all that Spark stores; by default JSON has milliseconds only."""


@dataclass(frozen=True)
class Blocks:
    """A hypergraph as blocks of vertices and blocks of hyperedges, computed once and stored by Spark."""

    labels: list[int]
    made: DataFrame
    vertices: DataFrame
    hyperedges: DataFrame
    vertex_type: T.DataType
    hops: list[DataFrame] = field(default_factory=list)
    """The stored hops of all programs that have run. Frames that were derived from a result read them, too."""

    @classmethod
    def of(cls, incidences: DataFrame, n_blocks: int, hub_degree: int | None) -> Blocks:
        """Make the blocks of distinct incidences, columns ``vertex``, ``hyperedge`` and perhaps ``weight``.

        Args:
            incidences: The pairs.
            n_blocks: Number of blocks of vertices, and of blocks of hyperedges.
            hub_degree: Number of hyperedges above which a vertex is a hub; ``None`` for no hubs.
        """
        own = labels(n_blocks)
        keyed = with_key(with_key(incidences, "vertex"), "hyperedge")
        hubs = {} if hub_degree is None else _hubs(keyed, hub_degree, n_blocks)
        keyed = keyed.withColumn("block", block_of(keyed, "hyperedge", n_blocks))
        regular, of_hubs = _divided(keyed, hubs)
        pairs = regular.withColumn("to", label_of(block_of(regular, "vertex", n_blocks), own))
        session = incidences.sparkSession
        every = session.createDataFrame([(label,) for label in own], "to int")  # blocks without pairs exist, too
        every = every.repartition(n_blocks, "to")
        made = _stored(cogrouped(pairs, every, VertexSide(own, hubs), messages.SCHEMA, n_blocks), n_blocks)
        slots = made.where(F.col("name").isin(*TO_HYPEREDGES))
        of_hubs = of_hubs.withColumn("to", label_of(F.col("block"), own)).repartition(n_blocks, "to")
        hyperedges = _stored(cogrouped(slots, of_hubs, HyperedgeSide(), messages.SCHEMA, n_blocks), n_blocks)
        vertices = made.where(~F.col("name").isin(*TO_HYPEREDGES))
        return cls(own, made, vertices, hyperedges, incidences.schema["vertex"].dataType)

    def unpersist(self) -> None:
        """Let Spark forget the blocks and all hops over them."""
        for frame in (*self.hops, self.made, self.hyperedges):
            frame.unpersist()
        self.hops.clear()


def run(
    program: Program, blocks: Blocks, features: DataFrame, dtype: str, names: tuple[str, str], width: int | None = None
) -> DataFrame:
    """Run a program and return a row for each vertex.

    Args:
        program: What to compute.
        blocks: The hypergraph.
        features: Columns ``vertex`` and ``values``.
        dtype: What to compute in, ``float32`` or ``float64``.
        names: The columns of the result.
        width: Number of features that the program takes; any if ``None``.

    Raises:
        ValueError: If the features do not fit the hypergraph or the program.
    """
    own, n_blocks = blocks.labels, len(blocks.labels)
    keyed = with_key(features, "vertex")
    keyed = keyed.withColumn("to", label_of(block_of(keyed, "vertex", n_blocks), own))
    hop = cogrouped(keyed, blocks.vertices, Begin(program, own, dtype, width), messages.SCHEMA, n_blocks)
    last = _checkpointed(hop)
    _check(last)
    blocks.hops.append(last)
    arrived = _state(last)
    for number in range(program.rounds):
        sums = last.where(F.col("name") == SUMS)
        back = cogrouped(sums, blocks.hyperedges, Combine(program, number, own), messages.SCHEMA, n_blocks)
        arrived = back.unionByName(_state(last))
        if number + 1 < program.rounds:
            step = Proceed(program, number, own)
            last = _checkpointed(cogrouped(arrived, blocks.vertices, step, messages.SCHEMA, n_blocks))
            blocks.hops.append(last)
    element = T.FloatType() if dtype == "float32" else T.DoubleType()
    schema = T.StructType([T.StructField(names[0], blocks.vertex_type), T.StructField(names[1], T.ArrayType(element))])
    return cogrouped(arrived, blocks.vertices, End(program, names, dtype), schema, n_blocks)


def _state(hop: DataFrame) -> DataFrame:
    """What the blocks remember."""
    return hop.where(F.col("name").startswith(STATE))


def cogrouped(
    left: DataFrame,
    right: DataFrame,
    function: Callable[[tuple[Any, ...], pa.Table, pa.Table], pa.Table],
    schema: str | T.StructType,
    n_blocks: int,
) -> DataFrame:
    """Call a function with the rows of each block from two frames, each block in a task of its own.

    Only ``left`` is shuffled. The rows of ``right`` must lie in their blocks already, as stored frames do.
    """

    def call(key: Any, ours: pa.Table, theirs: pa.Table) -> pa.Table:
        return function(key, ours, theirs)

    divided = left.repartition(n_blocks, "to")
    return divided.groupBy("to").cogroup(right.groupBy("to")).applyInArrow(call, schema)


def with_key(frame: DataFrame, name: str) -> DataFrame:
    """The frame, with a column of what is compared beside ids that are arrays or structures."""
    kind = frame.schema[name].dataType
    if isinstance(kind, _NESTED):
        return frame.withColumn(f"{name} key", F.to_json(name, _EXACT))
    if isinstance(kind, (T.FloatType, T.DoubleType)):
        return frame.withColumn(name, F.col(name) + F.lit(0.0).cast(kind))  # 0 and -0 are the same
    return frame


def block_of(frame: DataFrame, name: str, n_blocks: int) -> Column:
    """The number of the block that each id belongs to."""
    key = f"{name} key" if f"{name} key" in frame.columns else name
    return F.pmod(F.xxhash64(F.col(key)), F.lit(n_blocks)).cast("int")


def label_of(block: Column, own: list[int]) -> Column:
    """The label of a block."""
    return F.element_at(F.array(*map(F.lit, own)), block + 1).cast("int")


def _hubs(keyed: DataFrame, hub_degree: int, n_blocks: int) -> dict[int, Hubs]:
    """The vertices in very many hyperedges, by block. At most incidences / ``hub_degree`` exist."""
    has_key = "vertex key" in keyed.columns
    by = ["vertex", "vertex key"] if has_key else ["vertex"]
    degree = F.sum("weight") if "weight" in keyed.columns else F.count("*").cast("double")
    counted = keyed.groupBy(*by).agg(F.count("*").alias("n"), degree.alias("degree"))
    found = counted.where(F.col("n") > hub_degree)
    found = found.withColumn("block", block_of(found, "vertex", n_blocks)).toArrow()
    key = messages.whole(found["vertex key" if has_key else "vertex"])
    order = pc.sort_indices(key).to_numpy()
    hubs: dict[int, Hubs] = {}
    blocks, degrees, ids = found["block"].to_numpy(), found["degree"].to_numpy(), messages.whole(found["vertex"])
    for block in sorted(set(blocks.tolist())):
        rows = order[blocks[order] == block]
        take = pa.array(rows)
        hubs[block] = Hubs(key.take(take), ids.take(take), degrees[rows], rows)
    return hubs


def _divided(keyed: DataFrame, hubs: dict[int, Hubs]) -> tuple[DataFrame, DataFrame]:
    """The incidences of all other vertices, and those of hubs with a column ``hub``."""
    if not hubs:
        return keyed, keyed.where(F.lit(False)).withColumn("hub", F.lit(0))
    key = "vertex key" if "vertex key" in keyed.columns else "vertex"
    session = keyed.sparkSession
    parts = [pa.table({"of hub": one.keys, "hub": pa.array(one.numbers, pa.int32())}) for one in hubs.values()]
    known = F.broadcast(session.createDataFrame(pa.concat_tables(parts)))
    joined = keyed.join(known, keyed[key].eqNullSafe(known["of hub"]), "left").drop("of hub")
    return joined.where(F.col("hub").isNull()).drop("hub"), joined.where(F.col("hub").isNotNull())


def _stored(frame: DataFrame, n_blocks: int) -> DataFrame:
    """The frame, stored by Spark in the partitions that its blocks are read in."""
    return frame.repartition(n_blocks, "to").persist(StorageLevel.MEMORY_AND_DISK)


def _checkpointed(frame: DataFrame) -> DataFrame:
    """The frame, computed and stored: reliably if the session has a folder for checkpoints, else by the executors."""
    if frame.sparkSession.sparkContext.getCheckpointDir() is None:
        return frame.persist(StorageLevel.MEMORY_AND_DISK)
    stored = frame.persist(StorageLevel.MEMORY_AND_DISK)
    checkpoint = stored.checkpoint(eager=True)
    stored.unpersist()
    return checkpoint


def _check(hop: DataFrame) -> None:
    """Compute the first hop, and raise if it met a problem."""
    rows = hop.where(F.col("name").isin(messages.PROBLEM, WIDTH)).toArrow()
    for row in rows.to_pylist():
        if row["name"] == messages.PROBLEM:
            hop.unpersist()
            raise ValueError(row["data"].decode())
    widths = sorted({int.from_bytes(row["data"], "little") for row in rows.to_pylist()})
    if len(widths) > 1:
        hop.unpersist()
        raise ValueError(
            f"features must have the same length for all vertices; some have {widths[0]} numbers, others {widths[-1]}."
        )
