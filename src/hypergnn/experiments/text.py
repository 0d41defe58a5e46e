"""The tables as text: what was measured, what was published, and whether the paper's claims hold here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.claims import FEW, claims_of
from hypergnn.experiments.paper import cell_of
from hypergnn.experiments.remarks import remarks_of
from hypergnn.experiments.results import Results
from hypergnn.experiments.statistics import Summary, Verdict, summarise, verdict

OUTCOMES = {
    "holds": "so here, significantly",
    "not shown": "not shown here",
    "reversed": "the reverse here, significantly",
    "untested": "not tested: too few trials, or all alike",
}
"""What came of a claim, in words."""
_TWO_DECIMALS = ("baselines", "skip")


@dataclass(frozen=True)
class Line:
    """A cell with all that is known of it, as text; empty where there is nothing to say."""

    cell: Cell
    measured: str
    trials: str
    interval: str
    published: str
    verdict: str


def summary_of(cell: Cell, results: Results) -> Summary | None:
    """The trials of a cell in numbers; ``None`` while there is none."""
    values = results.accuracies(cell)
    return summarise(values) if values else None


def verdict_of(cell: Cell, results: Results) -> Verdict | None:
    """The verdict on a cell; ``None`` where nothing was published or not enough was measured."""
    summary = summary_of(cell, results)
    return None if summary is None or cell.published is None else verdict(summary, cell.published)


def line_of(cell: Cell, results: Results) -> Line:
    """A cell as text.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> line = line_of(TABLES["sota"].cell("pubmed/ours"), Results({}, {}))
        >>> line.measured, line.published, line.verdict
        ('–', '78.4 ± 0.3', 'not run')
    """
    published = "" if cell.published is None else _as_published(cell.published.mean, cell)
    if cell.published is not None and cell.published.spread is not None:
        published += f" ± {cell.published.spread:g}"
    if cell.is_quoted:
        return Line(cell, "", "", "", published, "quoted")
    if cell.config is None:
        number = results.measured(cell)
        said = "not run" if number is None else _judged(cell, number)
        return Line(cell, "–" if number is None else _as_published(number, cell), "", "", published, said)
    summary = summary_of(cell, results)
    if summary is None:
        return Line(cell, "–", "0", "", published, "not run")
    spread = "" if summary.sd is None else f" ± {summary.sd:.2f}"
    interval = "" if summary.interval is None else f"{summary.interval[0]:.2f} … {summary.interval[1]:.2f}"
    said = verdict_of(cell, results) or ""
    return Line(cell, f"{summary.mean:.2f}{spread}", str(summary.trials), interval, published, said)


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of text, each as wide as its widest entry.

    Example:
        >>> print(grid(["a", "b"], [["long", "1"], ["x", "2"]]))
        a     b
        long  1
        x     2
    """
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    lines = ["  ".join(entry.ljust(width) for entry, width in zip(row, widths, strict=True)) for row in (head, *rows)]
    return "\n".join(line.rstrip() for line in lines)


HEAD = ("", "", "measured", "trials", "95 % interval", "published", "verdict")
CLAIMS_HEAD = ("the paper says", "difference", "p", "p (Welch)", "published p", "here")


def rows_of(table: Table, results: Results, datasets: Sequence[str] | None = None) -> list[tuple[str, ...]]:
    """The cells of a table, row by row, as under :data:`HEAD`."""
    lines = [line_of(cell, results) for cell in table.cells if datasets is None or cell.dataset in datasets]
    return [
        (line.cell.row, line.cell.column, line.measured, line.trials, line.interval, line.published, line.verdict)
        for line in lines
    ]


def claim_rows_of(table: Table, results: Results, datasets: Sequence[str] | None = None) -> list[tuple[str, ...]]:
    """The claims of a table, as under :data:`CLAIMS_HEAD`."""
    return [
        (
            claim.words,
            f"{claim.test.difference:+.2f}",
            p_value(claim.test.p),
            p_value(claim.test.p_welch),
            "" if claim.comparison.published_p is None else f"{claim.comparison.published_p:g}",
            OUTCOMES[claim.outcome],
        )
        for claim in claims_of(table, results, datasets)
    ]


def as_text(table: Table, results: Results, datasets: Sequence[str] | None = None) -> str:
    """A table for the terminal: its cells, then the paper's claims about them.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> print(as_text(TABLES["newsgroup"], Results({}, {})).splitlines()[0])
        Section 4.2: text categorisation
    """
    parts = [table.title, grid(HEAD, rows_of(table, results, datasets))]
    if claims := claim_rows_of(table, results, datasets):
        parts.append(grid(CLAIMS_HEAD, claims))
    parts += remarks_of(table, results, datasets)
    chosen = [cell for cell in table.cells if datasets is None or cell.dataset in datasets]
    if any(0 < len(results.trials(cell)) < FEW for cell in chosen):
        parts.append("Few trials make wide intervals and weak tests: no verdict here says much.")
    absent = sorted({cell.table for cell in _elsewhere(table, datasets) if not results.trials(cell)})
    if absent and any(results.trials(cell) for cell in chosen):
        parts.append(f"Claims that need cells of {', '.join(absent)} are left out: name that table as well.")
    return "\n\n".join(parts)


def _elsewhere(table: Table, datasets: Sequence[str] | None) -> list[Cell]:
    """Cells of other tables that the claims about a table need."""
    named = [cell_of(table, name) for one in table.comparisons for name in (one.better, one.worse)]
    return [cell for cell in named if cell.table != table.name and (datasets is None or cell.dataset in datasets)]


def _judged(cell: Cell, number: float) -> str:
    if cell.measure != "count" or cell.published is None:
        return ""
    return "equal" if number == cell.published.mean else "counted otherwise"


def _as_published(number: float, cell: Cell) -> str:
    """A number with as many decimals as the paper gives."""
    if cell.measure == "count":
        return f"{number:.0f}"
    return f"{number:.2f}" if cell.table in _TWO_DECIMALS or cell.measure != "accuracy" else f"{number:.1f}"


def p_value(value: float | None, decimals: int = 4) -> str:
    """A p-value as far as its decimals go.

    Example:
        >>> p_value(0.0163), p_value(1e-7), p_value(0.99996, 3), p_value(None)
        ('0.0163', '< 0.0001', '> 0.999', '–')
    """
    if value is None:
        return "–"
    least = 10.0**-decimals
    if least <= value <= 1 - least:
        return f"{value:.{decimals}f}"
    return f"< {least:.{decimals}f}" if value < least else f"> {1 - least:.{decimals}f}"
