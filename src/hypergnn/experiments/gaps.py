"""The gaps between our means and the published ones, and what is known about their cause."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean, median

from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.results import Results

MANY = 10
"""Cells from which on it cannot be chance that all means lie above the published ones."""


@dataclass(frozen=True)
class Gap:
    """Our mean minus the published one, in points."""

    cell: Cell
    points: float


def gaps_of(results: Results, tables: Iterable[Table]) -> list[Gap]:
    """The gap of every cell of a network that has trials and a published number.

    Example:
        >>> gaps_of(Results({}, {}), [])
        []
    """
    return [
        Gap(cell, mean(accuracies) - cell.published.mean)
        for table in tables
        for cell in table.cells
        if cell.config is not None and cell.published is not None and (accuracies := results.accuracies(cell))
    ]


def are_all_above(gaps: list[Gap]) -> bool:
    """Whether so many means all lie above the published ones that it cannot be chance."""
    return len(gaps) >= MANY and min(gap.points for gap in gaps) > 0


def why_above(gaps: list[Gap], paper_map: str) -> str:
    """The statement that all means of our networks lie above the published ones, and what we know about the cause.

    Args:
        gaps: The gaps; the statement is empty unless all of them are positive.
        paper_map: The name of the page that lists the choices which the paper leaves open, with a link if possible.
    """
    if not are_all_above(gaps):
        return ""
    middle = median(gap.points for gap in gaps)
    text = (
        f"All {len(gaps)} means of our networks lie above the published ones, by {middle:.2f} points in the median. "
        "This is not chance: our protocol or our data differ from the paper's. The paper does not say how features are "
        "scaled, where exactly dropout is applied, or whether a hyperedge contains its own article, and other choices "
        f"than ours change a mean by more than that ({paper_map} lists our choices). "
    )
    if max(gaps, key=lambda gap: gap.points).cell.dataset == "20news":
        text += "For 20-newsgroup, with the largest gap, it does not publish the split either. "
    return f"{text}Which of these explains the gaps, we do not know."
