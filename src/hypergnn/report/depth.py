"""Charts of what many layers do, made from the saved networks of the table `deep`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import log10

from hypergnn.datasets import DataNotFoundError, Dataset
from hypergnn.experiments.beyond import BEYOND
from hypergnn.experiments.cells import Cell
from hypergnn.experiments.diagnostics import gradient_norms, layer_energies
from hypergnn.experiments.paper import NAMES
from hypergnn.experiments.results import Results
from hypergnn.models import Network
from hypergnn.persistence.models import load as load_model
from hypergnn.report import charts
from hypergnn.report.networks import Datasets
from hypergnn.report.page import Chart, TableView
from hypergnn.training.best_model import MODEL_FILE

_LEAST = 1e-12
"""Energies and ratios are drawn as at least this."""
_KEY = "Lines: the network with the lowest validation loss of each run"


def with_depth_charts(
    table: TableView, results: Results, datasets: Datasets, on_step: Callable[[str], None] | None = None
) -> TableView:
    """The table with charts of the energy of each layer and of the gradients, for each dataset that is available.

    Args:
        table: The view of the table ``deep``.
        results: What was measured, with the folders of the runs.
        datasets: Where to get the data.
        on_step: Called with what is being done.
    """
    found = []
    for name in dict.fromkeys(cell.dataset for cell in BEYOND["deep"].cells):
        if on_step is not None:
            on_step(f"energies and gradients of deep networks on {NAMES[name]}")
        found += _charts(name, results, datasets)
    return replace(table, charts=[*table.charts, *found])


def _charts(name: str, results: Results, datasets: Datasets) -> list[Chart]:
    try:
        trained = [(cell, network, data) for cell, network, data in _networks(name, results, datasets)]
    except (DataNotFoundError, ValueError, OSError):
        return []
    if not trained:
        return []
    deepest = max(int(cell.column) for cell, _, _ in trained)
    energies = [
        _point(cell, layer, _logarithm(energy))
        for cell, network, data in trained
        if int(cell.column) == deepest
        for layer, energy in enumerate(layer_energies(network, data), 1)
        if layer & (layer - 1) == 0  # 1, 2, 4, 8, …
    ]
    ratios = []
    for cell, network, data in trained:
        first, last = gradient_norms(network, data)
        ratios.append(_point(cell, int(cell.column), _logarithm(first / last if last else 0.0)))
    energy, ratio = "log₁₀ of the Dirichlet energy", "log₁₀ of the gradient, first over last layer"
    return [
        Chart(
            f"deep-energy-{name}",
            charts.lines(energies, "layer", doubling=True, y_title=energy),
            f"Dirichlet energy by layer, {deepest} layers, {NAMES[name]}",
            "How much rows differ from those that they share hyperedges with, relative to their length.",
            _KEY,
        ),
        Chart(
            f"deep-gradient-{name}",
            charts.lines(ratios, "number of layers", doubling=True, y_title=ratio),
            f"Gradient of the first layer over that of the last, {NAMES[name]}",
            "Of the training loss, without dropout. Far below 0, the first layers hardly learn.",
            _KEY,
        ),
    ]


def _networks(name: str, results: Results, datasets: Datasets) -> Iterator[tuple[Cell, Network, Dataset]]:
    """The saved networks of a dataset."""
    for cell in BEYOND["deep"].cells:
        folder = results.run_folder(cell)
        if cell.dataset == name and folder is not None and (folder / MODEL_FILE).exists():
            yield cell, load_model(folder / MODEL_FILE).network, datasets.get(name, "hyper-conv")


def _point(cell: Cell, x: int, value: float) -> dict[str, object]:
    return {"row": cell.row, "x": x, "mean": value, "low": None, "high": None, "published": None}


def _logarithm(value: float) -> float:
    return round(log10(max(value, _LEAST)), 3)
