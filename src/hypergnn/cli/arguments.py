"""Arguments that several commands share: the data, a dataset by name or your own tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypergnn.construct import TableEncoder
    from hypergnn.datasets import Dataset
    from hypergnn.persistence.models import SavedModel
    from hypergnn.structures.hypergraph import Hypergraph

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

TABLES = ("incidences", "features", "labels", "links")
COLUMNS = ("vertex", "hyperedge", "label", "weight", "role")
EXAMPLE = """example:
  hypergnn {} --incidences orders.csv --features people.csv \\
      --vertex customer --hyperedge product{}"""


def add_data(parser: argparse.ArgumentParser, *, labels: bool) -> None:
    """Add the arguments that select the data."""
    group = parser.add_argument_group("data: DATASET, or your own .csv or .parquet files or folders of them")
    group.add_argument("dataset", nargs="?", metavar="DATASET", help="a name from `hypergnn data list`")
    group.add_argument("--data-dir", metavar="DIR", help="folder of DATASET (default: HYPERGNN_DATA)")
    group.add_argument("--incidences", metavar="FILE", help="one row per vertex and hyperedge")
    group.add_argument("--features", metavar="FILE", help="one row per vertex (default: memberships)")
    if labels:
        group.add_argument("--labels", metavar="FILE", help="vertex, label and optionally split: train, val or test")
    group.add_argument("--links", metavar="FILE", help="columns source and target: a graph for gcn and gat")
    group.add_argument(
        "--vertex", dest="vertex_column", metavar="COLUMN", help="column of vertices (default: vertex, or the first)"
    )
    group.add_argument(
        "--hyperedge",
        dest="hyperedge_column",
        metavar="COLUMN",
        action="append",
        help="column of hyperedges; may be repeated",
    )
    group.add_argument(
        "--weight", dest="weight_column", metavar="COLUMN", help="column of weights of hyperedges (default: weight)"
    )
    group.add_argument(
        "--role", dest="role_column", metavar="COLUMN", help="column of tail and head: the hyperedges point"
    )
    if labels:
        group.add_argument(
            "--label", dest="label_column", metavar="COLUMN", help="column of classes, in --labels or in --features"
        )


def check_labels(arguments: argparse.Namespace, purpose: str) -> None:
    """Raise if own tables are given without labels."""
    if arguments.incidences is not None and arguments.labels is None and arguments.label_column is None:
        raise ValueError(
            f"--labels must be given with --incidences: {purpose} needs labels. If they are a column of --features, "
            "name it with --label."
        )


def load_data(arguments: argparse.Namespace, *, encode_features: bool | TableEncoder | None = None) -> Dataset:
    """The data that the command line selects; raise if it selects none, or two.

    Args:
        arguments: What the command line says.
        encode_features: As in ``datasets.from_tables``; ``None`` to encode tables that hold words or gaps.
    """
    from hypergnn.datasets import from_tables, load

    tables = {name: getattr(arguments, name, None) for name in TABLES}
    columns = {name: getattr(arguments, f"{name}_column", None) for name in COLUMNS}
    given = [f"--{name}" for name, value in {**tables, **columns}.items() if value is not None]
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
    hyperedges = columns["hyperedge"]
    return from_tables(
        incidences=tables["incidences"],
        features=_narrowed(tables["features"], columns["vertex"], getattr(arguments, "known_features", None)),
        labels=tables["labels"],
        links=tables["links"],
        vertex=columns["vertex"],
        hyperedge=hyperedges[0] if hyperedges is not None and len(hyperedges) == 1 else hyperedges,
        weight=columns["weight"],
        role=columns["role"],
        label=columns["label"],
        seed=seed,
        encode_features="auto" if encode_features is None else encode_features,
    )


def _narrowed(features: str | None, vertex: str | None, known: Sequence[str] | None) -> Any:
    """The file of features, or only its ids and the features that a network knows: labels may be among the columns."""
    if features is None or known is None:
        return features
    from hypergnn._utils.table_sources import Source
    from hypergnn._utils.tables import read_table

    names = list(Source(features).names)
    ids = vertex if vertex is not None else "vertex" if "vertex" in names else next(iter(names), None)
    trained = set(known)
    wanted = [name for name in names if name == ids or name in trained]
    if vertex not in (None, *names) or len(wanted) == len(names) or not trained <= set(wanted):
        return features
    return read_table(features, [("features", name) for name in wanted], text=[ids]).columns


ENCODED_HERE = "a column has words or gaps, so features are encoded as numbers from 0 to 1"
ENCODED_ALWAYS = "features are encoded as numbers from 0 to 1"
ENCODED_BEFORE = "features are encoded as those that the model was trained on"


def encoding_of(model: SavedModel | None) -> str:
    """How features are encoded to train a new model, or one further."""
    return ENCODED_HERE if model is None else ENCODED_BEFORE


def say_what_was_read(data: Dataset, *, quiet: bool, encoded: str = ENCODED_BEFORE) -> None:
    """Say on standard error what was read, its sizes, and how features were encoded if they were, unless ``quiet``."""
    if not quiet:
        own = data.feature_names is not None and data.construction is not None
        print(summary(str(data.construction) if own else data.name, data.hypergraph.undirected()), file=sys.stderr)
        if data.encoding is not None:
            from hypergnn._utils.table_sources import quoted

            print(f"{encoded}: {quoted(list(data.feature_names or ()))}", file=sys.stderr)


def summary(what: str, H: Hypergraph) -> str:
    """The sizes of a hypergraph in one line.

    Example:
        >>> import hypergnn as hg
        >>> summary("customer × product", hg.Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=12_000))
        'customer × product: 12,000 vertices, 2 hyperedges, 3 incidences'
    """
    sizes = {"vertices": H.n_vertices, "hyperedges": H.n_hyperedges, "incidences": H.n_incidences}
    words = (f"{size:,} {name}" if size > 9999 else f"{size} {name}" for name, size in sizes.items())
    return f"{what}: {', '.join(words)}"


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
        torch.ones(1, device=name).item()  # the device meta holds shapes and computes nothing
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"--device must be available on this computer, for example cpu; got {name!r}: {reason}"
        ) from error
    return name
