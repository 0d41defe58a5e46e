"""Arguments that several commands share: the data, a dataset by name or your own tables."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypergnn.datasets import Dataset

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

TABLES = ("incidences", "features", "labels", "links")


def add_data(parser: argparse.ArgumentParser, *, labels: bool) -> None:
    """Add the arguments that select the data."""
    group = parser.add_argument_group("data: DATASET, or your own .csv or .parquet files")
    group.add_argument("dataset", nargs="?", metavar="DATASET", help="a name from `hypergnn data list`")
    group.add_argument("--data-dir", metavar="DIR", help="folder with the files of DATASET (default: HYPERGNN_DATA)")
    group.add_argument("--incidences", metavar="FILE", help="columns vertex, hyperedge and optionally weight")
    if labels:
        group.add_argument("--labels", metavar="FILE", help="columns vertex, label and optionally split")
    group.add_argument("--features", metavar="FILE", help="column vertex and numbers (default: memberships)")
    group.add_argument("--links", metavar="FILE", help="columns source and target: a graph for gcn and gat")


def load_data(arguments: argparse.Namespace) -> Dataset:
    """The data that the command line selects; raise if it selects none, or two."""
    from hypergnn.datasets import from_tables, load

    tables = {name: getattr(arguments, name, None) for name in TABLES}
    given = [f"--{name}" for name, file in tables.items() if file is not None]
    seed = getattr(arguments, "seed", None)
    if arguments.dataset is not None:
        if given:
            raise ValueError(
                f"DATASET and {given[0]} must not be combined; got {arguments.dataset!r}. Omit one of them."
            )
        return load(arguments.dataset, data_dir=arguments.data_dir, seed=seed, quiet=arguments.quiet)
    if tables["incidences"] is None:
        raise ValueError("DATASET or --incidences must be given to select the data; got neither.")
    if arguments.data_dir is not None:
        raise ValueError("--data-dir must be combined with DATASET; got --incidences. Omit --data-dir.")
    return from_tables(
        incidences=tables["incidences"],
        features=tables["features"],
        labels=tables["labels"],
        links=tables["links"],
        seed=seed,
    )


def with_needed_graph(data: Dataset, model: str, *, quiet: bool) -> Dataset:
    """The data with a graph if the model needs one, and a note on standard error if it had to be made."""
    from hypergnn.training.pairwise import with_graph

    completed = with_graph(data, model)
    if completed.graph is not data.graph and completed.graph is not None and not quiet:
        links = completed.graph.n_links
        print(f"{data.name} has no graph: {model} uses {links} links made from its hyperedges", file=sys.stderr)
    return completed


def counted(trials: int) -> str:
    """A number of trials in words.

    Example:
        >>> counted(1), counted(20)
        ('1 trial', '20 trials')
    """
    return "1 trial" if trials == 1 else f"{trials} trials"


def check_device(name: str) -> str:
    """Return the name of an available device, or raise."""
    import torch

    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"--device must be available on this computer, for example cpu; got {name!r}: {reason}"
        ) from error
    return name
