"""The rows of the tables: measured numbers, published numbers, verdicts, and the paper's claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypergnn._utils.display import text_table
from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.claims import claims_of
from hypergnn.experiments.paper import TABLES, cell_of
from hypergnn.experiments.remarks import remarks_of
from hypergnn.experiments.results import Results
from hypergnn.experiments.statistics import Summary, summarise, verdict
from hypergnn.experiments.verdicts import Verdict

DETERMINISTIC = "deterministic"
"""Of a system whose trials would all be the same."""
FEW = 30
"""Trials below which intervals are too wide to say much."""
HEAD = ("", "", "measured", "trials", "95 % interval", "published", "verdict")
CLAIMS_HEAD = ("claim of the paper", "difference", "p", "p (Welch)", "published p", "verdict")
_TWO_DECIMALS = ("baselines", "skip")


@dataclass(frozen=True)
class Line:
    """A cell as text; empty where there is nothing to show."""

    cell: Cell
    measured: str
    trials: int | str | None
    """The number of trials; for a deterministic system, a note that it is deterministic."""
    interval: str
    published: str
    verdict: str


def summary_of(cell: Cell, results: Results) -> Summary | None:
    """The summary of a cell's trials; ``None`` while there are none, or if one failed."""
    values = results.accuracies(cell)
    return summarise(values) if values else None


def verdict_of(cell: Cell, results: Results) -> Verdict | None:
    """The verdict on a cell; ``None`` if nothing was published, or if there is only one trial.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> print(verdict_of(TABLES["baselines"].cell("cora/gcn"), Results({}, {})))
        not run
    """
    if cell.is_quoted:
        return Verdict.QUOTED
    if not cell.is_trained:
        number = results.measured(cell)
        if number is None:
            return Verdict.NOT_RUN
        if cell.measure != "count" or cell.published is None:
            return None
        return Verdict.EQUAL if number == cell.published.mean else Verdict.DIFFERENT
    if results.failure(cell) is not None:
        return Verdict.FAILED
    summary = summary_of(cell, results)
    if summary is None:
        return Verdict.NOT_RUN if results.inapplicable(cell) is None else Verdict.NOT_APPLICABLE
    if cell.published is None:
        return None
    return verdict(summary, cell.published, is_deterministic=cell.is_deterministic)


def published_text(cell: Cell) -> str:
    """The published number with the decimals and the spread that the paper gives; empty if there is none.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> published_text(TABLES["sota"].cell("pubmed/ours"))
        '78.4 ± 0.3'
    """
    if cell.published is None:
        return ""
    spread = "" if cell.published.spread is None else f" ± {cell.published.spread:g}"
    return _as_published(cell.published.mean, cell) + spread


def line_of(cell: Cell, results: Results) -> Line:
    """A cell as text.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> line = line_of(TABLES["sota"].cell("pubmed/ours"), Results({}, {}))
        >>> line.measured, line.published, line.verdict
        ('–', '78.4 ± 0.3', 'not run')
    """
    published, found = published_text(cell), str(verdict_of(cell, results) or "")
    if not cell.is_trained:
        number = results.measured(cell)
        measured = _as_published(number, cell) if number is not None else "" if cell.is_quoted else "–"
        return Line(cell, measured, None, "", published, found)
    summary = summary_of(cell, results)
    if summary is None:
        return Line(cell, "–", len(results.finished(cell)), "", published, found)
    spread = "" if summary.sd is None else f" ± {summary.sd:.2f}"
    interval = "" if summary.interval is None else f"{summary.interval[0]:.2f} … {summary.interval[1]:.2f}"
    trials = f"{summary.trials}, {DETERMINISTIC}" if cell.is_deterministic else summary.trials
    return Line(cell, f"{summary.mean:.2f}{spread}", trials, interval, published, found)


def rows_of(table: Table, results: Results, datasets: Sequence[str] | None = None) -> list[tuple[Any, ...]]:
    """The cells of a table as rows under :data:`HEAD`."""
    lines = [line_of(cell, results) for cell in _chosen(table, datasets)]
    return [
        (line.cell.row, line.cell.column, line.measured, line.trials, line.interval, line.published, line.verdict)
        for line in lines
    ]


def claims_head(table: Table) -> tuple[str, ...]:
    """The titles above :func:`claim_rows_of`; comparisons of tables beyond the paper are not its claims.

    Example:
        >>> from hypergnn.experiments.beyond import BEYOND
        >>> claims_head(BEYOND["directed"])[0]
        'comparison, not in the paper'
    """
    first = CLAIMS_HEAD[0] if table.name in TABLES else "comparison, not in the paper"
    return (first, *CLAIMS_HEAD[1:])


def claim_rows_of(table: Table, results: Results, datasets: Sequence[str] | None = None) -> list[tuple[Any, ...]]:
    """The claims of a table as rows under :func:`claims_head`."""
    return [
        (
            claim.words,
            f"{claim.test.difference:+.2f}",
            p_value(claim.test.p),
            p_value(claim.test.p_welch),
            "" if claim.comparison.published_p is None else f"{claim.comparison.published_p:g}",
            str(claim.verdict),
        )
        for claim in claims_of(table, results, datasets)
    ]


def as_text(table: Table, results: Results, datasets: Sequence[str] | None = None, *, width: int | None = None) -> str:
    """A table for the terminal: its cells, the paper's claims about them, and remarks.

    Args:
        table: The table.
        results: What was measured.
        datasets: Only the cells of these datasets; all if omitted.
        width: Characters of a line; as many as the table needs if omitted.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> print(as_text(TABLES["newsgroup"], Results({}, {})).splitlines()[0])
        Section 4.2: text categorisation
    """
    parts = [table.title, text_table(HEAD, rows_of(table, results, datasets), width)]
    if claims := claim_rows_of(table, results, datasets):
        parts.append(text_table(claims_head(table), claims, width))
    parts += remarks_of(table, results, datasets)
    chosen = _chosen(table, datasets)
    if any(0 < len(results.trials(cell)) < FEW for cell in chosen if not cell.is_deterministic):
        parts.append(
            f"With fewer than {FEW} trials intervals are wide and tests are weak: read the verdicts with care."
        )
    absent = sorted({cell.table for cell in _elsewhere(table, datasets) if not results.trials(cell)})
    if absent and any(results.trials(cell) for cell in chosen):
        parts.append(f"Claims that compare with {', '.join(absent)} are left out: add that table to the command.")
    return "\n\n".join(parts)


def p_value(value: float | None, decimals: int = 4) -> str:
    """A p-value, rounded; ``<`` or ``>`` where its decimals end.

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


def _chosen(table: Table, datasets: Sequence[str] | None) -> list[Cell]:
    return [cell for cell in table.cells if datasets is None or cell.dataset in datasets]


def _elsewhere(table: Table, datasets: Sequence[str] | None) -> list[Cell]:
    """Cells of other tables that the claims of a table need."""
    named = [cell_of(table, name) for one in table.comparisons for name in (one.better, one.worse)]
    return [cell for cell in named if cell.table != table.name and (datasets is None or cell.dataset in datasets)]


def _as_published(number: float, cell: Cell) -> str:
    """A number with as many decimals as the paper gives."""
    if cell.measure == "count":
        return f"{number:.0f}"
    return f"{number:.2f}" if cell.table in _TWO_DECIMALS or cell.measure != "accuracy" else f"{number:.1f}"
