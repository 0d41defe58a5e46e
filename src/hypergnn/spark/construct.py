"""Hyperedges from tables, texts and baskets, as aggregations that Spark runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hypergnn._utils.checks import check_choice, check_size
from hypergnn.spark.frames import check_column, check_frame, named
from hypergnn.spark.hypergraph import Hypergraph

_WORD = r"(?U)\b\w\w+\b"  # scikit-learn's: two or more letters or digits
_ACCURACY = 1_000_000


def from_attributes(
    frame: DataFrame,
    vertex: str,
    columns: Sequence[str] | None = None,
    *,
    bins: int | Mapping[str, int] | None = None,
    missing: Literal["ignore", "value"] = "ignore",
) -> Hypergraph:
    """Make one hyperedge per value of each column: all rows with that value, named ``column=value``.

    It does what :func:`hypergnn.construct.from_attributes` does. A value that all rows share gives no hyperedge.

    Args:
        frame: A table with one row per vertex.
        vertex: The column of their ids.
        columns: The columns to use; all others by default.
        bins: Number of quantile bins: one number for all numeric columns, or a number for each column. Numeric columns
            without bins are taken as they are.
        missing: ``"ignore"`` puts a row without a value in no hyperedge of that column, ``"value"`` all such rows in
            one, named ``column missing``.

    Raises:
        ValueError: If a column does not exist, or is binned but not numeric.

    Example:
        >>> H = from_attributes(customers, "customer", ["city", "age"], bins={"age": 5})  # doctest: +SKIP
    """
    check_frame("frame", frame)
    check_column("frame", frame, "vertex", vertex)
    check_choice("missing", missing, ("ignore", "value"))
    chosen = [name for name in frame.columns if name != vertex] if columns is None else list(columns)
    for name in [*chosen, *(bins if isinstance(bins, Mapping) else ())]:
        check_column("frame", frame, "columns", name)
    frame = _without_nan(frame, chosen)
    parts = [
        frame.select(named(vertex).alias("vertex"), label.alias("hyperedge"))
        for label in (_label(frame, name, _bins_of(frame, name, bins), missing) for name in chosen)
    ]
    if not parts:
        raise ValueError("columns must name at least one column; got none.")
    pairs = reduce(DataFrame.unionByName, parts).where(F.col("hyperedge").isNotNull())
    shared = pairs.groupBy("hyperedge").count().where(F.col("count") < frame.count()).select("hyperedge")
    return Hypergraph(pairs.join(shared, "hyperedge", "left_semi").withColumnRenamed("vertex", vertex), vertex)


def _without_nan(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The frame with null, a missing value, in place of NaN."""
    kinds = {name: frame.schema[name].dataType for name in columns}
    floats = [name for name, kind in kinds.items() if isinstance(kind, (T.FloatType, T.DoubleType))]
    return frame.withColumns({name: F.when(~F.isnan(named(name)), named(name)) for name in floats})


def _bins_of(frame: DataFrame, name: str, bins: int | Mapping[str, int] | None) -> int | None:
    is_numeric = isinstance(frame.schema[name].dataType, T.NumericType)
    own = bins.get(name) if isinstance(bins, Mapping) else bins if is_numeric else None
    if own is None:
        return None
    if not is_numeric:
        raise ValueError(f"bins must be given for numeric columns only; column {name!r} is not numeric.")
    return check_size("bins", own, minimum=2)


def _label(frame: DataFrame, name: str, n_bins: int | None, missing: str) -> Column:
    """The name of the hyperedge that each row belongs to."""
    value = named(name)
    if n_bins is None:
        text = F.initcap(value.cast("string")) if _is_boolean(frame, name) else value.cast("string")
        label = F.concat(F.lit(f"{name}="), text)
    else:
        label = F.lit(None).cast("string")
        for upper, text in reversed(list(_bins(frame, name, n_bins))):
            label = F.when(value <= F.lit(upper), F.lit(text)).otherwise(label)
    if missing == "ignore":
        return label
    return F.when(value.isNull(), F.lit(f"{name} missing")).otherwise(label)


def _is_boolean(frame: DataFrame, name: str) -> bool:
    return isinstance(frame.schema[name].dataType, T.BooleanType)


def _bins(frame: DataFrame, name: str, n_bins: int) -> Iterator[tuple[Any, str]]:
    """The largest value of each bin, and its label. Each bin ends at a value of the column."""
    at = [number / n_bins for number in range(1, n_bins + 1)]
    found = frame.agg(
        F.percentile_approx(named(name), at, _ACCURACY).alias("upper"), F.min(named(name)).alias("least")
    ).first()
    if found is None or found["least"] is None:
        return
    uppers = sorted(set(found["upper"]))
    yield uppers[0], f"{name}=[{found['least']!s}, {uppers[0]!s}]"
    for low, high in pairwise(uppers):
        yield high, f"{name}=({low!s}, {high!s}]"


def from_text(
    frame: DataFrame,
    vertex: str,
    text: str,
    *,
    min_df: int | float = 2,
    max_df: int | float = 0.5,
    stop_words: Literal["english"] | Sequence[str] | None = "english",
) -> Hypergraph:
    """Make one hyperedge per word: all documents that use it, named by the word.

    It does what :func:`hypergnn.construct.from_text` does. A document that uses none of the words is isolated.

    Args:
        frame: A table with one row per document.
        vertex: The column of their ids.
        text: The column of texts.
        min_df: Smallest number of documents that use a word (``int``), or their share of all documents (``float``).
        max_df: Largest number of documents that use a word, or their share.
        stop_words: ``"english"`` for scikit-learn's list, a list of words, or ``None``.

    Example:
        >>> H = from_text(articles, "article", "body", min_df=5)  # doctest: +SKIP
    """
    check_frame("frame", frame)
    for argument, name in (("vertex", vertex), ("text", text)):
        check_column("frame", frame, argument, name)
    if not isinstance(frame.schema[text].dataType, T.StringType):
        raise TypeError(f"column {text!r} must hold strings; got {frame.schema[text].dataType.simpleString()}.")
    words = F.explode(F.array_distinct(F.regexp_extract_all(F.lower(named(text)), F.lit(_WORD), F.lit(0))))
    pairs = frame.select(named(vertex), words.alias("hyperedge"))
    left_out = _stop_words(stop_words)
    if left_out:
        known = frame.sparkSession.createDataFrame([(word,) for word in left_out], "hyperedge string")
        pairs = pairs.join(F.broadcast(known), "hyperedge", "left_anti")
    n = frame.count()
    fewest, most = (limit * n if isinstance(limit, float) else limit for limit in (min_df, max_df))
    counted = pairs.groupBy("hyperedge").count()
    used = counted.where(F.col("count").between(fewest, most)).select("hyperedge")
    return Hypergraph(pairs.join(used, "hyperedge", "left_semi"), vertex)


def _stop_words(given: str | Sequence[str] | None) -> list[str]:
    if given is None:
        return []
    if isinstance(given, str):
        check_choice("stop_words", given, ("english",))
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return sorted(ENGLISH_STOP_WORDS)
    return list(given)


def from_baskets(frame: DataFrame, basket: str, items: str) -> Hypergraph:
    """Make one hyperedge per basket: the items in it are its vertices.

    Args:
        frame: A table with one row per basket; several rows of a basket are put together.
        basket: The column of their ids, which name the hyperedges.
        items: The column with an array of items, or with one item; the items are the vertices.

    Example:
        >>> H = from_baskets(orders, "order", "products")  # doctest: +SKIP
    """
    check_frame("frame", frame)
    for argument, name in (("basket", basket), ("items", items)):
        check_column("frame", frame, argument, name)
    is_list = isinstance(frame.schema[items].dataType, T.ArrayType)
    item = F.explode(named(items)).alias(items) if is_list else named(items)
    return Hypergraph(frame.select(named(basket), item), items, basket)
