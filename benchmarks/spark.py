"""Propagation on Spark, ``local[2]``: against plain DataFrames, with a very large hyperedge, and growth with size.

``python -m benchmarks.spark --cases narrow`` measures one case in new processes and adds it to the file of results, so
that cases can be measured one by one. Both contestants read cached inputs, and both drop their results (``noop``).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.machine import describe
from hypergnn.persistence.files import write_atomic

RESULTS = Path(__file__).parent / "spark.json"


class Size(NamedTuple):
    """A generated hypergraph with features."""

    incidences: int
    features: int
    vertices: int
    hub: bool = False
    """Whether one hyperedge holds all vertices, and half of all incidences."""


def narrow(scale: float, repetitions: int) -> dict[str, Any]:
    """10 million incidences with 32 features, against plain DataFrames."""
    return _against_plain(_sized(10_000_000 * scale, 32), repetitions)


def wide(scale: float, repetitions: int) -> dict[str, Any]:
    """2 million incidences with 128 features, against plain DataFrames."""
    return _against_plain(_sized(2_000_000 * scale, 128), repetitions)


def hub(scale: float, repetitions: int) -> dict[str, Any]:
    """10 million incidences with 32 features, even, and with half of them in one hyperedge."""
    n = int(10_000_000 * scale)
    even = _in_own_process(_ours, Size(n, 32, n // 2), repetitions)
    skewed = _in_own_process(_ours, Size(n, 32, n // 2, hub=True), repetitions)
    found = {"even": even, "hub": skewed, "time_ratio": skewed["median"] / even["median"]}
    return found | {"memory_ratio": skewed["task_peak_bytes"] / even["task_peak_bytes"]}


def growth(scale: float, repetitions: int) -> dict[str, Any]:
    """10 times as many incidences."""
    smaller = _in_own_process(_ours, _sized(1_000_000 * scale, 32), repetitions)
    larger = _in_own_process(_ours, _sized(10_000_000 * scale, 32), repetitions)
    return {"smaller": smaller, "larger": larger, "ratio": larger["median"] / smaller["median"]}


CASES: dict[str, Callable[[float, int], dict[str, Any]]] = {
    "narrow": narrow,
    "wide": wide,
    "hub": hub,
    "growth": growth,
}


def _sized(incidences: float, features: int) -> Size:
    return Size(int(incidences), features, int(incidences) // 10)


def _against_plain(size: Size, repetitions: int) -> dict[str, Any]:
    found: dict[str, Any] = _in_own_process(_ours, size, repetitions, True)
    return found


def _ours(size: Size, repetitions: int, with_plain: bool = False) -> dict[str, Any]:
    """Seconds of warm runs, taking turns with plain DataFrames if wanted, and the peak memory of the Python workers."""
    with tempfile.TemporaryDirectory() as folder:
        spark = _session(folder)
        import hypergnn.spark as hs

        pairs, features = _generated(spark, size)
        start = time.perf_counter()
        H = hs.Hypergraph(pairs)
        H.propagate(features).write.format("noop").mode("overwrite").save()
        first = time.perf_counter() - start
        columns = _as_columns(features, size.features) if with_plain else None
        if columns is not None:
            _plain(pairs, columns, size.features)
        ours, theirs = [], []
        for _ in range(repetitions):
            ours.append(_timed(lambda: H.propagate(features).write.format("noop").mode("overwrite").save()))
            _say(f"ours {ours[-1]:.2f} s")
            if columns is not None:
                theirs.append(_timed(lambda: _plain(pairs, columns, size.features)))
                _say(f"plain {theirs[-1]:.2f} s")
        found: dict[str, Any] = {"size": size._asdict(), "first": first, "ours": ours, "median": median(ours)}
        found["task_peak_bytes"] = _peak_of_workers()
        if theirs:
            found |= {"plain": theirs, "ratio": median(t / o for t, o in zip(theirs, ours, strict=True))}
        spark.stop()
    return found


def _session(folder: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.memory": "6g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": folder,
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _generated(spark: Any, size: Size) -> tuple[Any, Any]:
    from pyspark.sql import functions as sql

    n_hyperedges = size.incidences // 10
    n_random = size.incidences // 2 if size.hub else size.incidences
    vertex = sql.floor(sql.rand(1) * size.vertices).alias("vertex")
    pairs = spark.range(n_random).select(vertex, sql.floor(sql.rand(2) * n_hyperedges).alias("hyperedge")).distinct()
    everyone = spark.range(size.vertices).withColumnRenamed("id", "vertex")
    if size.hub:
        pairs = pairs.unionByName(everyone.withColumn("hyperedge", sql.lit(-1).cast("long")))
    pairs = pairs.cache()
    values = sql.array(*(sql.rand(number).cast("float") for number in range(size.features)))
    features = everyone.select("vertex", values.alias("features")).cache()
    _say(f"{pairs.count()} incidences, {features.count()} vertices")
    return pairs, features


def _as_columns(features: Any, width: int) -> Any:
    from pyspark.sql import functions as sql

    columns = features.select("vertex", *(sql.col("features")[place].alias(f"f{place}") for place in range(width)))
    columns.cache().count()
    return columns


def _plain(pairs: Any, columns: Any, width: int) -> None:
    """The mean over hyperedges of the means over their members, in plain SQL."""
    from pyspark.sql import functions as sql

    means = [sql.avg(f"f{place}").alias(f"f{place}") for place in range(width)]
    hyperedges = pairs.join(columns, "vertex").groupBy("hyperedge").agg(*means)
    vertices = pairs.join(hyperedges, "hyperedge").groupBy("vertex").agg(*means)
    vertices.write.format("noop").mode("overwrite").save()


def _peak_of_workers() -> int:
    """The largest peak memory of a Python worker, as the kernel counts it."""
    import psutil

    peaks = [0]
    for process in psutil.Process().children(recursive=True):
        if process.name() != "java":
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            peaks += [1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return max(peaks)


def _timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _in_own_process(function: Callable[..., Any], *given: Any) -> Any:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *given).result()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Measure the chosen cases, and add each to the file as soon as it is finished."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.spark",
        description="Measure propagation on Spark, local[2]. Cases that are in the file already stay there.",
        epilog="Run it on an idle machine with 12 GB of free memory. Example: python -m benchmarks.spark --cases wide",
    )
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full sizes (default: 1)")
    parser.add_argument("--repetitions", type=int, default=3, metavar="N", help="warm runs of each (default: 3)")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE", help="default: benchmarks/spark.json")
    options = parser.parse_args(arguments)
    results: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {"cases": {}}
    for name in options.cases:
        _say(name)
        found = CASES[name](options.scale, options.repetitions)
        results["cases"][name] = found | {"scale": options.scale, "machine": describe(2)}
        write_atomic(options.out, (json.dumps(results, indent=1) + "\n").encode())
        _say(json.dumps({key: value for key, value in found.items() if key.endswith("ratio")}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
