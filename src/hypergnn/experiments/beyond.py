"""Tables that are not in the paper: what it leaves open, measured under its protocol."""

from __future__ import annotations

from dataclasses import replace

from hypergnn.experiments.cells import Cell, Comparison, Table
from hypergnn.experiments.paper import TABLES, config_of
from hypergnn.structures.base import Direction

_DIRECTIONS: dict[Direction, str] = {
    "undirected": "directions ignored",
    "forward": "forward, from tails to heads",
    "backward": "backward",
    "both": "both ways",
}


def _directed() -> Table:
    """Directed hypergraphs: the direction of the citations of Cora, and data that only the direction explains."""
    columns: dict[tuple[str, str], tuple[str, int]] = {
        ("cora-directed", "hyper-conv"): ("Cora with directions, Hyper-Conv.", 2),
        ("cora-directed", "hyper-attention"): ("Cora with directions, Hyper-Atten.", 2),
        ("arrows", "hyper-conv"): ("arrows, Hyper-Conv.", 1),
    }
    cells = tuple(
        Cell(
            table="directed",
            name=f"{dataset}/{model}/{direction}",
            row=row,
            column=column,
            dataset=dataset,
            config=replace(config_of(dataset, model), direction=direction, depth=depth),
            published=None,
        )
        for direction, row in _DIRECTIONS.items()
        for (dataset, model), (column, depth) in columns.items()
    )
    comparisons = tuple(
        Comparison(f"{dataset}/{model}/both", f"{dataset}/{model}/{other}")
        for dataset, model in columns
        for other in ("undirected", "forward")
    )
    note = (
        "An article sends to those that cite it; undirected, its hyperedge holds both. The classes of `arrows`, a "
        "generated dataset, depend on the direction alone: turning all hyperedges round exchanges them. One layer is "
        "enough for it."
    )
    return Table("directed", "Beyond the paper: directed hypergraphs", cells, comparisons, note)


BEYOND: dict[str, Table] = {table.name: table for table in (_directed(),)}
"""The tables by name."""
ALL: dict[str, Table] = {**TABLES, **BEYOND}
"""The paper's tables, then those beyond it."""
