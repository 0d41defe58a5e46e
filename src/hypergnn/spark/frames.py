"""Checks of the DataFrames that callers pass: one clear error on the driver, before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark import StorageLevel
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T


def checked(frame: Any, vertex: str, hyperedge: str, weight: str | None) -> DataFrame:
    """The distinct incidences, columns ``vertex``, ``hyperedge`` and perhaps ``weight``; raise if they are bad."""
    check_frame("frame", frame)
    for argument, name in (("vertex", vertex), ("hyperedge", hyperedge), ("weight", weight)):
        if name is not None:
            check_column("frame", frame, argument, name)
    if vertex == hyperedge:
        raise ValueError(f"vertex and hyperedge must be different columns; got {vertex!r} twice.")
    for name in (vertex, hyperedge):
        kind = frame.schema[name].dataType
        if isinstance(kind, (T.MapType, T.VariantType)):
            raise TypeError(f"column {name!r} must hold ids that can be compared; got {kind.simpleString()}.")
    ids = [named(vertex).alias("vertex"), named(hyperedge).alias("hyperedge")]
    if weight is None:
        pairs: DataFrame = frame.select(*ids).distinct()
    else:
        if not isinstance(frame.schema[weight].dataType, T.NumericType):
            kind = frame.schema[weight].dataType.simpleString()
            raise TypeError(f"column {weight!r} must hold numbers, the weights of hyperedges; got {kind}.")
        pairs = frame.select(*ids, named(weight).cast("double").alias("weight")).distinct()
    _check_nulls(frame, vertex, hyperedge)
    pairs = pairs.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        if weight is not None:
            _check_weights(pairs, weight, hyperedge)
    except ValueError:
        pairs.unpersist()
        raise
    return pairs


def _check_nulls(frame: DataFrame, vertex: str, hyperedge: str) -> None:
    counts = [F.count_if(named(name).isNull()).alias(role) for role, name in (("v", vertex), ("h", hyperedge))]
    row = frame.agg(*counts, F.count("*").alias("n")).first()
    for role, name in (("v", vertex), ("h", hyperedge)):
        if row is not None and row[role]:
            raise ValueError(
                f"column {name!r} must hold no nulls; {row[role]} of {row['n']} rows have one. Remove them, e.g. with "
                f"frame.dropna(subset=[{name!r}])."
            )


def _check_weights(pairs: DataFrame, weight: str, hyperedge: str) -> None:
    value = F.col("weight")
    limits = (F.min(value).alias("least"), F.max(value).alias("most"), F.count_if(value.isNull()).alias("nulls"))
    by_hyperedge = pairs.groupBy("hyperedge").agg(*limits)
    is_bad = (F.col("nulls") > 0) | (F.col("least") <= 0) | F.col("most").isin(float("inf"), float("nan"))
    bad = by_hyperedge.where(is_bad | (F.col("least") < F.col("most"))).limit(1).collect()
    if not bad:
        return
    row = bad[0]
    if not row["nulls"] and 0 < row["least"] < row["most"] < float("inf"):
        raise ValueError(
            f"column {weight!r} must hold one weight per hyperedge; {hyperedge} {row['hyperedge']!r} has "
            f"{row['least']} and {row['most']}."
        )
    raise ValueError(
        f"column {weight!r} must hold positive, finite weights; {hyperedge} {row['hyperedge']!r} has "
        f"{'none' if row['nulls'] else row['least'] if row['least'] <= 0 else row['most']}."
    )


def named(name: str) -> Column:
    """The column with exactly this name: Spark reads a dot in a name as the field of a structure."""
    return F.col("`" + name.replace("`", "``") + "`")


def with_ids(frame: DataFrame, vertex: str, kind: T.DataType) -> DataFrame:
    """The frame with its column of vertices in the type of those of the pairs: others are compared differently.

    Raises:
        ValueError: If an id has no equal in that type.
    """
    own = frame.schema[vertex].dataType
    if own.simpleString() == kind.simpleString():
        return frame
    given, wanted = own.simpleString(), kind.simpleString()
    reason = f"column {vertex!r} of features must hold ids of the type of the pairs, {wanted}; got {given}"
    same = named(vertex).try_cast(kind)
    try:
        made = frame.withColumn(vertex, same)
        lost = frame.where(~same.try_cast(own).eqNullSafe(named(vertex))).select(named(vertex)).limit(1).collect()
    except AnalysisException as error:
        raise ValueError(f"{reason}. Convert one of them.") from error
    if lost:
        raise ValueError(f"{reason}, and {lost[0][0]!r} cannot be converted. Convert one of them.")
    return made


def check_frame(name: str, frame: Any) -> None:
    """Raise unless ``frame`` is a DataFrame of Spark."""
    if not isinstance(frame, DataFrame):
        raise TypeError(
            f"{name} must be a DataFrame of Spark; got {type(frame).__name__}. Make one, e.g. with "
            "spark.createDataFrame or spark.read.parquet."
        )


def check_column(name: str, frame: DataFrame, argument: str, column: str) -> None:
    """Raise unless the frame has the column."""
    if column not in frame.columns:
        raise ValueError(f"{argument} must name a column of {name}; got {column!r}. It has {', '.join(frame.columns)}.")


def feature_column(features: Any, vertex: str) -> tuple[str, str]:
    """The column of ``features`` that holds arrays, and the type to compute in."""
    check_frame("features", features)
    check_column("features", features, "vertex", vertex)
    found = {
        field.name: field.dataType.elementType
        for field in features.schema
        if field.name != vertex and isinstance(field.dataType, T.ArrayType)
    }
    if len(found) != 1 or not isinstance(next(iter(found.values())), T.NumericType):
        raise ValueError(
            f"features must have the column {vertex!r} and one column of arrays of numbers; got "
            f"{features.schema.simpleString()}. Select them, e.g. features.select({vertex!r}, F.array(…))."
        )
    name, element = next(iter(found.items()))
    return name, "float32" if isinstance(element, (T.FloatType, T.ByteType, T.ShortType)) else "float64"


def with_class(scores: DataFrame, class_names: Sequence[str]) -> DataFrame:
    """The scores with the name of the highest, and its probability."""
    highest = F.array_max("scores")
    names = F.array(*map(F.lit, class_names))
    place = F.array_position("scores", highest)
    total = F.aggregate("scores", F.lit(0.0).cast("double"), lambda sum_, one: sum_ + F.exp(one - highest))
    return scores.withColumn("class", F.element_at(names, place.cast("int"))).withColumn(
        "probability", (F.lit(1.0) / total).cast("float")
    )
