"""From a folder of results to a file that a browser opens."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from hypergnn.persistence.files import write_atomic
from hypergnn.report import figures as drawing
from hypergnn.report.networks import Trained, show
from hypergnn.report.page import Page, render
from hypergnn.report.reproductions import page_of_results
from hypergnn.report.runs import page_of_run, trained
from hypergnn.training.ledger import RUN

PAGE = "report.html"
LARGEST = 8_000_000
"""Bytes that a page may have."""
_RESERVE = 100_000
"""Bytes for what is said of networks: controls, the map, and which have no place."""


def write(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    figures: str | os.PathLike[str] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Path:
    """Write the page of a run, and return where it is.

    Args:
        run: A run folder, a folder of ``hypergnn reproduce``, or the compact results of one.
        out: The page; ``report.html`` in the folder if omitted.
        figures: Folder for every chart as PNG and SVG, made if it is not there.
        data_dir: Where to look for datasets first.
        seed: Which split was drawn, where it was drawn.
        on_step: Told what is being done, for those who wait.

    Raises:
        ValueError: If the folder holds no results.
        ImportError: If the libraries of the extra ``report`` are not installed.

    Example:
        >>> import tempfile, hypergnn as hg
        >>> data = hg.datasets.load("digits")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = hg.training.fit(data, hg.models.Config(max_epochs=2), out=folder)
        ...     write(folder).name
        'report.html'
    """
    folder = Path(run)
    page, networks = _content(folder)
    charts = page.charts
    room = _fit(page)
    shown = show(networks, data_dir=data_dir, seed=seed, budget=room, all_maps=figures is not None, on_step=on_step)
    page.datasets, page.networks, page.left_out = shown.datasets, shown.networks, shown.left_out
    if not networks:
        page.left_out.append(
            "There is no trained network in this folder. Write the page of a run folder, where the networks are kept."
        )
    target = folder / PAGE if out is None else Path(out)
    write_atomic(target, render(page).encode())
    if figures is not None:
        drawing.save(charts, shown.maps, Path(figures))
    return target


def _fit(page: Page) -> int:
    """Leave out what a page is too heavy for, the curves first, and return the bytes that networks may have."""
    if (room := _room(page)) < 0 and page.curves:
        page.curves, page.curves_note = [], "The curves are not shown: the page would become too heavy."
        room = _room(page)
    if room < 0:
        page.distributions, page.trials_note = [], "The trials are not shown: the page would become too heavy."
        room = _room(page)
    return room


def _room(page: Page) -> int:
    return LARGEST - _RESERVE - len(render(page).encode())


def _content(folder: Path) -> tuple[Page, list[Trained]]:
    """The page without its networks, and the networks that it could show."""
    if (folder / RUN).exists():
        return page_of_run(folder), trained(folder)
    return page_of_results(folder)
