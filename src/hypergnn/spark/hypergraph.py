"""The public class: a hypergraph whose incidences are a DataFrame."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hypergnn._utils.checks import check_choice, check_size
from hypergnn.functional.convolution import NORMALIZATIONS
from hypergnn.spark import files
from hypergnn.spark.exchange import Blocks, run
from hypergnn.spark.frames import checked, feature_column, named, with_class, with_ids
from hypergnn.spark.inference import inference_of
from hypergnn.spark.numbering import LEAST, n_blocks_for
from hypergnn.spark.programs import Normalization, Propagation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hypergnn.persistence.models import SavedModel
    from hypergnn.structures.hypergraph import Hypergraph as LocalHypergraph

HUB_DEGREE = 1 << 17
"""Number of hyperedges above which the incidences of one vertex are divided among tasks."""


class Hypergraph:
    """A hypergraph of a DataFrame with a row for each pair of vertex and hyperedge.

    Ids may have any type that Spark can group by. Pairs that occur several times count once. The blocks that
    :meth:`propagate` and :meth:`predict` work on are computed at the first call. Spark stores them, and the sums of
    each hop, until :meth:`unpersist`.

    Args:
        frame: The pairs, one per row, in any order; other columns are ignored.
        vertex: The column of vertices.
        hyperedge: The column of hyperedges.
        weight: The column of weights of hyperedges, positive and the same in all rows of a hyperedge; all 1 if omitted.
        n_blocks: Into how many blocks the vertices are divided. More blocks need less memory per task, and let more
            sums cross between tasks. At least 2; by default one per core, or more if the incidences are very many.

    Raises:
        TypeError: If ``frame`` is not a DataFrame, or ids cannot be grouped by.
        ValueError: If a column is missing, ids are null, or weights are not positive or differ within a hyperedge.

    Example:
        >>> H = Hypergraph(orders, vertex="customer", hyperedge="order")  # doctest: +SKIP
        >>> H.propagate(features, normalization="row", steps=2).write.parquet("propagated")  # doctest: +SKIP
    """

    def __init__(
        self,
        frame: DataFrame,
        vertex: str = "vertex",
        hyperedge: str = "hyperedge",
        weight: str | None = None,
        *,
        n_blocks: int | None = None,
    ) -> None:
        """Check the pairs."""
        self.vertex, self.hyperedge, self.weight = vertex, hyperedge, weight
        self._n_blocks = None if n_blocks is None else check_size("n_blocks", n_blocks, minimum=1)
        self._pairs = checked(frame, vertex, hyperedge, weight)
        self._blocks: dict[bool, Blocks] = {}

    @property
    def incidences(self) -> DataFrame:
        """The distinct incidences, with the caller's names of the columns."""
        names = {"vertex": self.vertex, "hyperedge": self.hyperedge, "weight": self.weight or "weight"}
        return self._pairs.select(*(F.col(name).alias(names[name]) for name in self._pairs.columns))

    @cached_property
    def n_vertices(self) -> int:
        """Number of vertices that are in a hyperedge."""
        return self._pairs.select("vertex").distinct().count()

    @cached_property
    def n_hyperedges(self) -> int:
        """Number of hyperedges."""
        return self._pairs.select("hyperedge").distinct().count()

    @cached_property
    def n_incidences(self) -> int:
        """Number of distinct incidences."""
        return self._pairs.count()

    def vertex_degree(self) -> DataFrame:
        """The sum of the weights of the hyperedges of each vertex, ``D`` of the paper, in the column ``degree``."""
        degree = F.count("*").cast("double") if self.weight is None else F.sum("weight")
        return self._pairs.groupBy(F.col("vertex").alias(self.vertex)).agg(degree.alias("degree"))

    def hyperedge_degree(self) -> DataFrame:
        """The number of members of each hyperedge, ``B`` of the paper, in the column ``degree``."""
        degree = F.count("*").cast("double").alias("degree")
        return self._pairs.groupBy(F.col("hyperedge").alias(self.hyperedge)).agg(degree)

    def statistics(self) -> dict[str, float]:
        """Sizes, and the mean and maximum of members per hyperedge and of hyperedges per vertex."""
        found: dict[str, float] = {"n_incidences": self.n_incidences}
        for name, of in (("hyperedge", "members_per_hyperedge"), ("vertex", "hyperedges_per_vertex")):
            sizes = self._pairs.groupBy(name).count()
            row = sizes.agg(
                F.count("*").alias("n"), F.avg("count").alias("mean"), F.max("count").alias("max")
            ).collect()[0]
            plural = "n_hyperedges" if name == "hyperedge" else "n_vertices"
            found |= {plural: row["n"], f"mean_{of}": row["mean"] or 0.0, f"max_{of}": row["max"] or 0}
        return found

    def propagate(self, features: DataFrame, normalization: Normalization = "row", steps: int = 1) -> DataFrame:
        """``T X``, ``steps`` times over: what a convolution computes before its projection.

        The features are checked and the first sums computed at once; the rest when the result is first used.

        Args:
            features: A row for each vertex: its id in the column of vertices, and one column with an array of numbers,
                all of the same length. Vertices that are in no hyperedge are isolated and get zeros.
            normalization: ``"row"`` for ``D^-1 H W B^-1 Hᵀ``, ``"symmetric"`` for ``D^-1/2 H W B^-1 Hᵀ D^-1/2`` or
                ``"none"`` for ``H W Hᵀ``.
            steps: How often.

        Returns:
            A DataFrame with the columns of ``features`` and its rows, in any order: arrays of ``float``, or of
            ``double`` if the features are.

        Raises:
            ValueError: If features are missing, null or of different lengths, or a vertex occurs twice.

        Example:
            >>> H.propagate(features, normalization="symmetric", steps=2).show()  # doctest: +SKIP
        """
        check_choice("normalization", normalization, NORMALIZATIONS)
        check_size("steps", steps, minimum=1)
        column, dtype = feature_column(features, self.vertex)
        program = Propagation(normalization, steps)
        return run(
            program,
            self._stored(hubs=True),
            _prepared(features, self.vertex, self._pairs.schema["vertex"].dataType, column, dtype),
            dtype,
            (self.vertex, column),
        )

    def predict(self, model: str | os.PathLike[str] | SavedModel, features: DataFrame) -> DataFrame:
        """The scores of a trained network for all vertices, layer by layer: each vertex once per layer, no sampling.

        Args:
            model: A model file, such as ``model.safetensors`` of a run of ``hypergnn train``, or what
                :func:`hypergnn.load` has read. Its network must be made of hypergraph convolutions or attentions,
                or be an ``mlp``, for example one that was trained on propagated features.
            features: As for :meth:`propagate`, in the order of training.

        Returns:
            The column of vertices, ``scores`` in the order of the model's classes, and, unless the model is a
            regression, ``class`` and its ``probability``.

        Raises:
            ValueError: If the features do not fit the network, or the network is of another kind.

        Example:
            >>> H.predict("runs/orders/model.safetensors", features).show()  # doctest: +SKIP
        """
        program, loaded = inference_of(model)
        column, _ = feature_column(features, self.vertex)
        prepared = _prepared(features, self.vertex, self._pairs.schema["vertex"].dataType, column, "float32")
        attends = any(layer.scores is not None for layer in program.layers)
        blocks = self._stored(hubs=not attends)  # the hyperedges of a vertex compete: one task must see them all
        width = loaded.network.n_features
        scores = run(program, blocks, prepared, "float32", (self.vertex, "scores"), width)
        return scores if loaded.network.linear_output else with_class(scores, loaded.class_names)

    def to_local(self) -> LocalHypergraph:
        """The hypergraph in the memory of the driver, with ids as names, in ascending order of the ids."""
        from hypergnn.spark.local import local_hypergraph

        return local_hypergraph(self._pairs)

    def shards(
        self,
        path: str | os.PathLike[str],
        n: int,
        *,
        features: DataFrame | None = None,
        labels: DataFrame | None = None,
        process: DataFrame | None = None,
    ) -> None:
        """Write the folder of shards that :mod:`hypergnn.distributed` trains from, one shard per process.

        The executors write the shards, one task each, which must hold one shard. The driver holds the names of the
        vertices, their labels and, up to 67 million incidences, the numbers of these, which it divides so that few
        hyperedges are cut. Beyond that, a hash divides the vertices unless ``process`` is given. Vertices are numbered
        in the order of their ids. The folder is complete or not there.

        Args:
            path: A new folder, on storage that the driver and all executors share.
            n: Number of processes.
            features: As for :meth:`propagate`, to train from the shards; without them, only the hypergraph is written.
            labels: The column of vertices, a column ``label``, and perhaps ``split``: ``train``, ``val`` or ``test``.
            process: The column of vertices, and a column ``process`` with the process of each, from 0 to ``n - 1``.

        Raises:
            ValueError: If the folder exists, vertices have no features or no process, labels are of other vertices, or
                the executors do not see the folder of the driver.
        """
        from hypergnn.spark.shards import write_shards

        given = None if features is None else (features, feature_column(features, self.vertex)[0])
        write_shards(self._pairs, path, n, self.vertex, given, labels, process)

    def write_parquet(self, path: str) -> None:
        """Write the distinct incidences in both orders, into ``by_vertex`` and ``by_hyperedge`` of a new folder.

        Raises:
            ValueError: If the folder exists.
        """
        files.write_both_orders(self.incidences, path, self.vertex, self.hyperedge)

    @classmethod
    def read_parquet(cls, session: SparkSession, path: str, weight: str | None = None) -> Hypergraph:
        """Read what :meth:`write_parquet` has written."""
        frame = session.read.parquet(f"{path.rstrip('/')}/{files.BY_VERTEX}")
        vertex, hyperedge = frame.columns[:2]
        return cls(frame, vertex, hyperedge, weight)

    def unpersist(self) -> None:
        """Let Spark forget the stored incidences, blocks and hops; what is used later is computed again."""
        for blocks in self._blocks.values():
            blocks.unpersist()
        self._blocks.clear()
        self._pairs.unpersist()

    def __repr__(self) -> str:
        """The columns."""
        weight = "" if self.weight is None else f", weight={self.weight!r}"
        return f"Hypergraph(vertex={self.vertex!r}, hyperedge={self.hyperedge!r}{weight})"

    def _stored(self, *, hubs: bool) -> Blocks:
        """The blocks; without hubs, all hyperedges of a vertex are in the same block."""
        is_possible = hubs and self.n_incidences > HUB_DEGREE
        if is_possible not in self._blocks:
            context = self._pairs.sparkSession.sparkContext
            n_blocks = self._n_blocks or n_blocks_for(self.n_incidences, context.defaultParallelism)
            n_blocks = max(LEAST, n_blocks)
            self._blocks[is_possible] = Blocks.of(self._pairs, n_blocks, HUB_DEGREE if is_possible else None)
        return self._blocks[is_possible]


def _prepared(features: DataFrame, vertex: str, kind: T.DataType, column: str, dtype: str) -> DataFrame:
    """Columns ``vertex``, in the type of the pairs, and ``values``, in the type that is computed in."""
    element: Any = T.FloatType() if dtype == "float32" else T.DoubleType()
    features = with_ids(features, vertex, kind)
    return features.select(named(vertex).alias("vertex"), named(column).cast(T.ArrayType(element)).alias("values"))
