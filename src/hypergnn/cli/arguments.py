"""What several commands ask for: the data, a dataset by name or tables of one's own."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypergnn.datasets import Dataset

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

TABLES = ("incidences", "features", "labels", "links")


def add_data(parser: argparse.ArgumentParser, *, labels: bool) -> None:
    """Add the ways to say which data is meant."""
    parser.add_argument("dataset", nargs="?", metavar="DATASET", help="a name that `hypergnn data list` prints")
    group = parser.add_argument_group("own data instead of DATASET, .csv or .parquet files")
    group.add_argument("--incidences", metavar="FILE", help="columns vertex, hyperedge, and perhaps weight")
    group.add_argument("--features", metavar="FILE", help="column vertex, and numbers (default: memberships)")
    if labels:
        group.add_argument("--labels", metavar="FILE", help="columns vertex, label, and perhaps split")
    group.add_argument("--links", metavar="FILE", help="columns source, target: the graph, for gcn and gat")
    parser.add_argument("--data-dir", metavar="DIR", help="folder to look for DATASET in (default: HYPERGNN_DATA)")


def load_data(arguments: argparse.Namespace) -> Dataset:
    """The data that the command line names, or raise if it names none, or two."""
    from hypergnn.datasets import from_tables, load

    tables = {name: getattr(arguments, name, None) for name in TABLES}
    given = [f"--{name}" for name, file in tables.items() if file is not None]
    seed = getattr(arguments, "seed", None)
    if arguments.dataset is not None:
        if given:
            raise ValueError(
                f"either DATASET or {given[0]} must be given, not both; got {arguments.dataset!r} as well."
            )
        return load(arguments.dataset, data_dir=arguments.data_dir, seed=seed, quiet=arguments.quiet)
    if tables["incidences"] is None:
        raise ValueError("DATASET or --incidences must be given: there is no data without.")
    if arguments.data_dir is not None:
        raise ValueError("--data-dir must be given with DATASET only: the tables say where they are.")
    return from_tables(
        incidences=tables["incidences"],
        features=tables["features"],
        labels=tables["labels"],
        links=tables["links"],
        seed=seed,
    )


def check_device(name: str) -> str:
    """Return the name of a device that this computer has, or raise."""
    import torch

    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"--device must name a device of this computer, such as cpu; got {name!r}: {reason}"
        ) from error
    return name
