"""Tables that are not in the paper: what it leaves open, measured under its protocol."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hypergnn.experiments.cells import Cell, Comparison, Table
from hypergnn.experiments.open_points import dynamic, families, open_points
from hypergnn.experiments.paper import NAMES, STAND_IN, TABLES, config_of
from hypergnn.experiments.results import Results
from hypergnn.experiments.systems.rows import systems
from hypergnn.models import Config
from hypergnn.models.recipes import deep_settings
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


_DEPTHS: dict[str, tuple[int, ...]] = {
    "cora": (2, 4, 8, 16, 32, 64, 128, 256),
    "citeseer": (2, 4, 8, 16, 32, 64, 128, 256),
    "pubmed": (2, 4, 8, 16, 32, 64),
}
_DEEPEST_COMPARED = 32
"""The most layers of the cures that are there for comparison only."""
_CURES: dict[str, str] = {
    "plain": "plain",
    "skip": "skip connection",
    "pair": "PairNorm",
    "initial": "initial residual",
}


def deep_config(dataset: str, cure: str, depth: int, model: str = "hyper-conv") -> Config:
    """The settings of a network of many layers: the paper's, with one of the cures against depth.

    Example:
        >>> deep_config("cora", "initial", 64).theta, deep_config("cora", "skip", 64).skip
        (0.5, True)
    """
    cures: dict[str, dict[str, Any]] = {
        "plain": {},
        "skip": {"skip": True},
        "pair": {"norm": "pair"},
        "initial": deep_settings(dataset),
    }
    return replace(config_of(dataset, model), **{**cures[cure], "depth": depth})


def _deep() -> Table:
    """From 2 to 256 layers of hypergraph convolution, plain and with three cures."""
    cells = tuple(
        Cell(
            table="deep",
            name=f"{dataset}/{cure}/{depth}",
            row=f"{NAMES[dataset]}, {words}",
            column=str(depth),
            dataset=dataset,
            config=deep_config(dataset, cure, depth),
            published=None,
        )
        for dataset, depths in _DEPTHS.items()
        for cure, words in _CURES.items()
        for depth in depths
        if cure in ("plain", "initial") or depth <= _DEEPEST_COMPARED
    )
    comparisons = (
        Comparison("cora/initial/128", "cora/initial/2"),
        *(Comparison(f"{name}/initial/{depth}", f"{name}/plain/2") for name, (*_, depth) in _DEPTHS.items()),
    )
    note = (
        "Hypergraph convolution alone, 64 features wide. Plain networks and those with a skip connection have the "
        "paper's settings; PairNorm centres and scales the rows before each activation. An initial residual with an "
        'identity mapping (`Config(residual="initial")`) has the settings published for graphs, and a dense layer '
        "before and after the layers that are counted."
    )
    return Table("deep", "Beyond the paper: up to 256 layers", cells, comparisons, note, "number of layers")


_BEST: dict[str, str] = {
    "grand+hyper-grand": "random propagation, graph and hypergraph",
    "hyper-grand": "random propagation, hypergraph",
    "grand": "random propagation, graph",
}


def _best() -> Table:
    """The most accurate networks known here on the public splits."""
    cells = [
        Cell("best", f"{dataset}/{model}", words, NAMES[dataset], dataset, config_of(dataset, model), None)
        for model, words in _BEST.items()
        for dataset in _DEPTHS
    ]
    cells += [
        Cell(
            table="best",
            name=f"{dataset}/deep",
            row="64 layers with an initial residual, graph and hypergraph",
            column=NAMES[dataset],
            dataset=dataset,
            config=deep_config(dataset, "initial", 64, "gcn+hyper-conv"),
            published=None,
        )
        for dataset in _DEPTHS
    ]
    comparisons = tuple(Comparison(f"{name}/grand+hyper-grand", f"{name}/grand") for name in _DEPTHS)
    note = (
        "Single networks, nothing averaged. Random propagation drops the features of random vertices, averages the "
        "powers of the transition and asks several draws to agree on every vertex. The settings are published ones for "
        "graphs, with ELU on Citeseer; on Cora, `steps`, `input_dropout`, `activation` and `consistency` were chosen "
        "on validation vertices (`results/tuning.jsonl`), and Pubmed has the steps of Cora. There, columns are "
        "normalised before each dense layer, as published. The deep networks are 64 wide on all datasets."
    )
    return Table("best", "Beyond the paper: the best networks", tuple(cells), comparisons, note)


BEYOND: dict[str, Table] = {
    table.name: table for table in (_directed(), families(), dynamic(), open_points(), _deep(), _best(), systems())
}
"""The tables by name."""
ALL: dict[str, Table] = {**TABLES, **BEYOND}
"""The paper's tables, then those beyond it."""


def has_more_than_the_paper(table: Table, results: Results) -> bool:
    """Whether a table has a measured cell of its own, beyond runs that it shares with the paper's or their stand-in.

    Example:
        >>> has_more_than_the_paper(BEYOND["deep"], Results({}, {}))
        False
    """
    return has_cells_of_its_own(table, (*TABLES.values(), STAND_IN), results)


def has_cells_of_its_own(table: Table, others: Iterable[Table], results: Results) -> bool:
    """Whether a cell is measured whose run is in none of the other tables.

    Example:
        >>> has_cells_of_its_own(STAND_IN, BEYOND.values(), Results({}, {}))
        False
    """
    of_others = {cell.run for one in others for cell in one.cells if cell.is_trained}
    return any(cell.is_trained and cell.run not in of_others and results.trials(cell) for cell in table.cells)
