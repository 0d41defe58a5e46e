"""Files that Spark reads and writes; folders appear when they are complete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hypergnn._utils.separators import separator_of
from hypergnn.spark.frames import check_column, named
from hypergnn.spark.sessions import reason_of

BY_VERTEX, BY_HYPEREDGE = "by_vertex", "by_hyperedge"


def write_both_orders(incidences: DataFrame, path: str, vertex: str, hyperedge: str) -> None:
    """Write the incidences sorted by vertex, and again by hyperedge; the folder appears when both are complete."""
    with whole_folder(incidences.sparkSession, path) as part:
        for folder, first, second in ((BY_VERTEX, vertex, hyperedge), (BY_HYPEREDGE, hyperedge, vertex)):
            ordered = incidences.repartitionByRange(named(first)).sortWithinPartitions(named(first), named(second))
            ordered.write.mode("overwrite").parquet(f"{part}/{folder}")


def write(frame: DataFrame, path: str) -> None:
    """Write a frame as Parquet; the folder appears when it is complete."""
    with whole_folder(frame.sparkSession, path) as part:
        frame.write.mode("overwrite").parquet(part)


def read(session: SparkSession, option: str, path: str) -> DataFrame:
    """A .csv file or folder with a header, or Parquet files; raise if there is none."""
    try:
        if path.rstrip("/").endswith(".csv"):
            lines = session.read.text(path).where(F.length("value") > 0).head(2)
            between = separator_of("\n".join(line.value for line in lines))
            return session.read.csv(path, header=True, inferSchema=True, sep=between)
        return session.read.parquet(path)
    except (AnalysisException, Py4JJavaError) as error:
        raise ValueError(
            f"{option} must be .csv or Parquet files that Spark can read; got {path}: {reason_of(error)}."
        ) from error


def features(frame: DataFrame, vertex: str, names: Sequence[str] | None = None) -> DataFrame:
    """Features with a column of arrays; columns of numbers become one, in the order of ``names`` or of the file."""
    check_column("--features", frame, "--vertex", vertex)
    others = [field for field in frame.schema if field.name != vertex]
    if any(isinstance(field.dataType, T.ArrayType) for field in others):
        return frame
    numbers = [field.name for field in others if isinstance(field.dataType, T.NumericType)]
    if names is not None:
        missing = sorted(set(names) - set(numbers))
        if missing:
            raise ValueError(
                f"--features must have the columns that the model was trained on; missing: {missing[0]!r}."
            )
        numbers = list(names)
    elif len(numbers) < len(others) or not numbers:
        kinds = frame.schema.simpleString()
        raise ValueError(f"--features must have an array of numbers or columns of numbers; got {kinds}.")
    array = F.array(*(named(name).cast("float") for name in numbers))
    return frame.select(named(vertex), array.alias("features"))


@contextmanager
def whole_folder(session: SparkSession, path: str) -> Iterator[str]:
    """A folder beside ``path`` that becomes ``path`` when the block ends, and is removed if the block fails."""
    target = path.rstrip("/")
    check_new(session, target)
    part = f"{target}.{uuid4().hex[:12]}.part"
    try:
        yield part
        move(session, part, target)
    except BaseException:
        remove(session, part)
        raise


def check_new(session: SparkSession, path: str) -> None:
    """Raise if there is something at the path already."""
    if _file_system(session, path).exists(_path(session, path)):
        raise ValueError(f"{path} must not exist yet: nothing is overwritten. Remove it or choose another path.")


def move(session: SparkSession, source: str, target: str) -> None:
    """Rename a folder."""
    if not _file_system(session, source).rename(_path(session, source), _path(session, target)):
        raise OSError(f"{source} could not be renamed to {target}.")


def remove(session: SparkSession, path: str) -> None:
    """Remove a folder if it is there."""
    _file_system(session, path).delete(_path(session, path), True)


def _path(session: SparkSession, path: str) -> Any:
    jvm: Any = session._jvm
    return jvm.org.apache.hadoop.fs.Path(path)


def _file_system(session: SparkSession, path: str) -> Any:
    return _path(session, path).getFileSystem(session._jsc.hadoopConfiguration())
