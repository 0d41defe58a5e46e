"""Sessions of Spark for the command line."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hypergnn._utils.extras import import_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_java() -> None:
    """Raise if there is no Java to run Spark with."""
    home = os.environ.get("JAVA_HOME")
    if not (Path(home, "bin", "java").exists() if home else shutil.which("java")):
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java on the PATH"
        raise OSError(f"Spark needs Java 17 or newer: {where}. Install it, e.g. Debian's openjdk-17-jre-headless.")


@contextmanager
def in_one_line(what: str) -> Iterator[None]:
    """Turn an error of Spark, which has the stack of Java in its message, into one with its first line."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise RuntimeError(f"{what}: {reason_of(error)}") from error


def reason_of(error: Exception) -> str:
    """What an error of Spark says, in one line, without what Python has called and the stack of Java."""
    lines = str(error).splitlines() or [type(error).__name__]
    of_java = [line.removeprefix(": ") for line in lines[:2] if line.startswith(": ")]  # after what Python has called
    return (of_java or lines)[0].rstrip(". ")


def open_session(master: str | None, *, checkpoints: str | None = None, quiet: bool = False) -> SparkSession:
    """A session of this process: the one that ``spark-submit`` describes, or one of this machine.

    Args:
        master: Where to run; by default what ``spark-submit`` says, or else all cores of this machine.
        checkpoints: A folder that all executors share, which each hop is checkpointed in.
        quiet: Whether Spark shows no progress bar.
    """
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = import_extra("pyspark.sql", "spark", "hypergnn spark").SparkSession.builder.appName("hypergnn")
    if master is not None:
        builder = builder.master(master)
    elif import_extra("pyspark", "spark").SparkConf().get("spark.master") is None:
        builder = builder.master("local[*]")
    builder = builder.config("spark.ui.showConsoleProgress", str(not quiet).lower())
    where = "no session could be started" if master is None else f"--master must be where Spark can run; got {master!r}"
    with in_one_line(where):
        session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    if checkpoints is not None:
        session.sparkContext.setCheckpointDir(checkpoints)
    return session
