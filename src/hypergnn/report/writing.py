"""Write the page of a folder of results."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hypergnn._utils.extras import import_extra
from hypergnn.datasets import Dataset
from hypergnn.experiments.cells import Table
from hypergnn.experiments.own_cells import own_tables
from hypergnn.experiments.results import Results
from hypergnn.persistence.files import write_atomic
from hypergnn.report import figures as drawing
from hypergnn.report.depth import with_depth_charts
from hypergnn.report.networks import Datasets, Trained, show
from hypergnn.report.page import Page, render, weight
from hypergnn.report.reproductions import page_of_results
from hypergnn.report.runs import page_of_run
from hypergnn.training.ledger import RUN

PAGE = "report.html"
LARGEST = 8_000_000
"""Largest size of a page in bytes."""
RESERVE = 200_000
"""Bytes for the text of a page: its tables, captions and notes."""


def write(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    figures: str | os.PathLike[str] | None = None,
    formats: Sequence[str] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Path:
    """Write the page of a folder, and return its path.

    Args:
        run: A run folder, a folder of ``hypergnn reproduce``, or the compact results of one.
        out: The page; ``report.html`` in the folder if omitted.
        figures: Folder for all charts as files, created if missing.
        formats: Formats of the figures, a list of ``"svg"``, ``"png"`` and ``"pdf"``; only SVG if omitted. The last
            two need the extra ``figures``.
        data_dir: Folder to search for datasets first.
        seed: The seed of the random split, for datasets that have one.
        on_step: Called with what is being done.

    Raises:
        ValueError: If the folder holds no results, or a format is not known.
        ImportError: If the libraries of the extra ``report``, or of ``figures``, are needed and not installed.

    Example:
        >>> import tempfile, hypergnn as hg
        >>> data = hg.datasets.load("digits")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = hg.training.fit(data, hg.models.Config(max_epochs=2), out=folder)
        ...     write(folder).name
        'report.html'
    """
    if formats is not None and figures is None:
        raise ValueError(f"formats needs figures, the folder for the files; got formats={formats!r} alone.")
    formats = ("svg",) if formats is None else formats
    drawing.check_formats(formats)
    folder = Path(run)
    is_run = (folder / RUN).exists()
    datasets, target = Datasets(data_dir=data_dir, seed=seed), folder / PAGE if out is None else Path(out)
    if is_run:
        page, networks = page_of_run(folder)
    else:
        results = Results.read(folder)
        page, networks = page_of_results(results, folder, own_tables(folder))
        _add_depth(page, results, datasets, on_step)
    return _write(page, networks, datasets, target, figures, formats, on_step)


def write_results(
    results: Results,
    out: str | os.PathLike[str],
    *,
    datasets: Mapping[str, Dataset] | None = None,
    tables: Sequence[Table] = (),
    on_step: Callable[[str], None] | None = None,
) -> Path:
    """Write the page of results that were read already, and return its path.

    Args:
        results: What was measured.
        out: The page.
        datasets: Datasets that are loaded already, by name.
        tables: Tables with rows or columns of your own, in place of those of the same name.
        on_step: Called with what is being done.

    Raises:
        ValueError: If there are no results of the paper's tables.
        ImportError: If the libraries of the extra ``report`` are not installed.
    """
    page, networks = page_of_results(results, Path(out).parent, tables)
    available = Datasets(datasets)
    _add_depth(page, results, available, on_step)
    return _write(page, networks, available, Path(out), None, (), on_step)


def _add_depth(page: Page, results: Results, datasets: Datasets, on_step: Callable[[str], None] | None) -> None:
    """Add the charts of energies and gradients to the table of deep networks, if the page has it."""
    page.tables = [
        with_depth_charts(table, results, datasets, on_step) if table.name == "deep" else table for table in page.tables
    ]


def _write(
    page: Page,
    networks: list[Trained],
    datasets: Datasets,
    target: Path,
    figures: str | os.PathLike[str] | None,
    formats: Sequence[str],
    on_step: Callable[[str], None] | None,
) -> Path:
    import_extra("jinja2", "report", "a report")  # fail before maps are made, which takes minutes
    charts = page.charts
    room = _fit(page)
    shown = show(networks, datasets, budget=room, all_maps=figures is not None, on_step=on_step)
    page.datasets, page.networks = shown.datasets, shown.networks
    page.left_out += shown.left_out
    if not networks:
        page.left_out.append("This folder holds no trained network. Write the page of a run folder to explore one.")
    write_atomic(target, render(page).encode())
    if figures is not None:
        drawing.save(charts, shown.maps, Path(figures), formats)
    return target


def _fit(page: Page) -> int:
    """Leave out what makes the page too large, curves first, and return the bytes that networks may take."""
    if (room := _room(page)) < 0 and page.curves:
        page.curves, page.curves_note = [], "The curves are not shown: the page would become too large."
        room = _room(page)
    if room < 0:
        page.distributions, page.trials_note = [], "The trials are not shown: the page would become too large."
        room = _room(page)
    return room


def _room(page: Page) -> int:
    return LARGEST - RESERVE - weight(page)
