"""The runs that fill tables, each once, and roughly how long their trials take."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.systems.base import System
from hypergnn.models import Config

TRIALS_ALONE = 3
"""Trials of a network in a process of its own, for its time and its memory."""
_OF_MODEL = {
    "mlp": 0.5,
    "gcn": 1.0,
    "hyper-conv": 1.5,
    "gcn+hyper-conv": 2.0,
    "gat": 2.0,
    "hyper-attention": 6.0,
    "gat+hyper-attention": 7.5,
    "hyper-sage": 2.0,
    "hyper-monet": 4.0,
    "dynamic-hyper-conv": 6.0,
    "hyper-diffusion": 3.0,
    "grand": 12.0,
    "hyper-grand": 15.0,
    "grand+hyper-grand": 20.0,
}  # measured time of a trial on Cora, relative to GCN
_OF_DATA = {
    ("pubmed", "gat"): 1.8,
    ("pubmed", "hyper-attention"): 5.0,
    ("20news", "gcn"): 11.0,
    ("20news", "hyper-conv"): 2.7,
    ("20news", "hyper-attention"): 6.0,
    ("pubmed", "dynamic-hyper-conv"): 10.0,
}  # the same, relative to Cora
_OF_SYSTEM = {
    "mlp": 0.5,
    "manifold-regularization": 1.0,
    "semi-supervised-embedding": 3.0,
    "label-propagation": 0.1,
    "deepwalk": 9.0,
    "ica": 0.3,
    "planetoid": 8.0,
    "chebyshev": 1.5,
    "gcn": 1.0,
    "hgnn": 6.0,
    "monet": 4.0,
    "variance-reduction": 1.5,
    "gat": 6.0,
}  # a trial of a system, in a process of its own
_OF_OWN_SYSTEM = 4.0  # of a system of the user's own
_OF_LARGE = {"pubmed": 4.0, "20news": 4.0}  # the same on a large dataset, relative to Cora
_NARROW = 0.7  # a narrow network: shorter epochs, but more of them
_PER_LAYER = 0.15  # per layer of a deep network, relative to two layers: longer epochs, but fewer


@dataclass(frozen=True)
class Job:
    """A run and the cells that it fills: trials of a network, or of a system."""

    run: str
    dataset: str
    config: Config | None
    cells: tuple[Cell, ...]
    system: System | None = None
    most: int | None = None
    """Trials at most, for a run that only measures what a trial costs."""

    @property
    def model(self) -> str:
        """The kind of network, which says what structures it needs; a system gets a graph, as ``gcn`` does."""
        return "gcn" if self.config is None else self.config.model

    @property
    def weight(self) -> float:
        """Approximate relative time of one of its trials, for the estimate of the remaining time only."""
        if self.config is None:
            name = "" if self.system is None else self.system.name
            return _OF_SYSTEM.get(name, _OF_OWN_SYSTEM) * _OF_LARGE.get(self.dataset, 1.0)
        is_narrow = self.config.heads * self.config.hidden < 64
        deep = 1.0 if self.config.depth <= 2 else _PER_LAYER * self.config.depth
        of_data = _OF_DATA.get((self.dataset, self.config.model), 1.0)
        return _OF_MODEL.get(self.config.model, 1.0) * of_data * deep * (_NARROW if is_narrow else 1.0)


def runs_of(tables: Iterable[Table], datasets: Collection[str] | None = None) -> list[Job]:
    """The runs that fill these tables, each once, in the order of the tables; then those that measure costs only.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> len(runs_of([TABLES["baselines"]])), len(runs_of([TABLES["baselines"]], datasets=["cora"]))
        (12, 6)
    """
    found: dict[str, list[Cell]] = {}
    alone: dict[str, Cell] = {}
    for table in tables:
        for cell in table.cells:
            if datasets is not None and cell.dataset not in datasets:
                continue
            if cell.is_trained:
                found.setdefault(cell.run, []).append(cell)
            if cell.run_alone is not None:
                alone.setdefault(cell.run_alone, cell)
    return [
        *(Job(run, own[0].dataset, own[0].config, tuple(own), own[0].system) for run, own in found.items()),
        *(Job(run, one.dataset, None, (one,), one.alone, TRIALS_ALONE) for run, one in alone.items()),
    ]
