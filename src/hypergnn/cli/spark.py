"""``hypergnn spark``: propagation and predictions over Parquet files, by Spark."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hypergnn.cli.arguments import Commands
    from hypergnn.spark import Hypergraph

_FILES = "--incidences orders.parquet \\\n      --features people.parquet --vertex customer --hyperedge product"


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "spark",
        help="Propagate or predict with Apache Spark.",
        description="Propagate features or predict on Spark, where one machine is too small.",
        epilog=f"example:\n  hypergnn spark propagate {_FILES} \\\n      --out propagated.parquet",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = parser.add_subparsers(metavar="STEP", required=True)
    _register_propagate(steps)
    _register_predict(steps)


def _register_propagate(steps: Commands) -> None:
    parser = steps.add_parser(
        "propagate",
        help="Write the propagated features of all vertices.",
        description="Propagate features over a hypergraph and write them as Parquet.",
        usage="hypergnn spark propagate --incidences PATH --features PATH --out PATH\n"
        "                                [options]",
        epilog=f"example:\n  hypergnn spark propagate {_FILES} \\\n      --steps 2 --out propagated.parquet",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_data(parser)
    names = ("row", "symmetric", "none")
    parser.add_argument("--normalization", choices=names, default="row", help="of the transition (default: row)")
    parser.add_argument("--steps", type=int, default=1, metavar="N", help="how often to propagate (default: 1)")
    _add_session(parser)
    parser.set_defaults(run=_propagate)


def _register_predict(steps: Commands) -> None:
    parser = steps.add_parser(
        "predict",
        help="Write the class of each vertex.",
        description="Compute the scores of a trained network for all vertices, layer by layer, and\n"
        "write them as Parquet with class and probability.",
        usage="hypergnn spark predict RUN --incidences PATH --features PATH --out PATH\n"
        "                              [options]",
        epilog=f"example:\n  hypergnn spark predict runs/orders {_FILES} \\\n      --out found.parquet",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="RUN", help="run folder of `hypergnn train`, or a model file")
    _add_data(parser)
    _add_session(parser)
    parser.set_defaults(run=_predict)


def _add_data(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data: .csv or .parquet files or folders, at any address that Spark can read")
    group.add_argument("--incidences", metavar="PATH", required=True, help="one row per vertex and hyperedge")
    group.add_argument(
        "--features", metavar="PATH", required=True, help="one row per vertex: a column with an array, or numbers"
    )
    group.add_argument("--out", metavar="PATH", required=True, help="new folder of Parquet files")
    group.add_argument("--vertex", default="vertex", metavar="COLUMN", help="column of vertices (default: vertex)")
    group.add_argument("--hyperedge", default="hyperedge", metavar="COLUMN", help="column of hyperedges")
    group.add_argument("--weight", metavar="COLUMN", help="column of weights of hyperedges")


def _add_session(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Spark")
    group.add_argument("--master", metavar="URL", help="where to run (default: as spark-submit says, or local[*])")
    group.add_argument("--checkpoints", metavar="DIR", help="shared folder in which to checkpoint each hop")
    group.add_argument("--blocks", type=int, metavar="N", help="blocks of vertices: more need less memory per task")
    group.add_argument("--quiet", action="store_true", help="no notes and no progress bar")


def _propagate(arguments: argparse.Namespace) -> int:
    def compute(session: SparkSession) -> DataFrame:
        H, features = _data(session, arguments)
        return H.propagate(features, arguments.normalization, arguments.steps)

    return _run(arguments, compute)


def _predict(arguments: argparse.Namespace) -> int:
    from hypergnn.cli.predict import loaded

    model = loaded(Path(arguments.model))

    def compute(session: SparkSession) -> DataFrame:
        H, features = _data(session, arguments, model.about.get("feature_names"))
        return H.predict(model, features)

    return _run(arguments, compute)


def _run(arguments: argparse.Namespace, compute: Callable[[SparkSession], DataFrame]) -> int:
    from hypergnn.spark import files
    from hypergnn.spark.sessions import in_one_line, open_session

    session = open_session(arguments.master, checkpoints=arguments.checkpoints, quiet=arguments.quiet)
    try:
        with in_one_line("Spark has failed"):
            files.check_new(session, arguments.out)
            files.write(compute(session), arguments.out)
            if not arguments.quiet:
                written = session.read.parquet(arguments.out)
                columns = ", ".join(written.columns)
                print(f"wrote {arguments.out}: {written.count()} rows, columns {columns}", file=sys.stderr)
    finally:
        if arguments.checkpoints is not None:  # Spark makes a folder of its own there, and leaves it
            with suppress(Exception):
                files.remove(session, str(session.sparkContext.getCheckpointDir()))
        session.stop()
    return 0


def _data(
    session: SparkSession, arguments: argparse.Namespace, names: Sequence[str] | None = None
) -> tuple[Hypergraph, DataFrame]:
    """The hypergraph and the features that the command line names."""
    from hypergnn.spark import Hypergraph, files

    frame = files.read(session, "--incidences", arguments.incidences)
    features = files.features(files.read(session, "--features", arguments.features), arguments.vertex, names)
    H = Hypergraph(frame, arguments.vertex, arguments.hyperedge, arguments.weight, n_blocks=arguments.blocks)
    return H, features
