"""A table of the paper on the page: numbers with verdicts, charts, tests."""

from __future__ import annotations

from typing import Any

from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.claims import Claim, claims_of
from hypergnn.experiments.paper import NAMES
from hypergnn.experiments.ranking_text import cost_text, parts_of
from hypergnn.experiments.remarks import remarks_of
from hypergnn.experiments.results import Results
from hypergnn.experiments.text import DETERMINISTIC, p_value, published_text, summary_of, verdict_of
from hypergnn.experiments.verdicts import Verdict
from hypergnn.report import charts
from hypergnn.report.page import CellView, Chart, ComparisonView, PartView, RowView, TableView
from hypergnn.report.systems import charts_of_systems
from hypergnn.report.words import mean_and_spread, signed, span

_SHORT = {
    "datasets": "Datasets",
    "baselines": "Baselines",
    "skip": "Skip connection",
    "hidden": "Width",
    "sota": "State of the art",
    "newsgroup": "Newsgroups",
    "depth": "Depth",
    "timing": "Timing",
    "digits": "Digits",
    "systems": "Systems",
}

TRIALS_KEY = "Dots: trials; lines: mean of the trials"
_PUBLISHED_KEY = "; diamonds: published mean"


def is_measured(cell: Cell, results: Results) -> bool:
    """Whether a cell has trials, a count or a time."""
    return bool(results.trials(cell)) or results.measured(cell) is not None


def _was_tried(cell: Cell, results: Results) -> bool:
    """Whether a cell was measured, or has a reason why not."""
    reasons = (results.failure(cell), results.failure_alone(cell), results.inapplicable(cell))
    return is_measured(cell, results) or any(one is not None for one in reasons)


def _is_quotable(cell: Cell) -> bool:
    """Whether a cell that was not measured still says something: the number of another's system."""
    return cell.is_quoted or (cell.system is not None and cell.published is not None)


def view(table: Table, results: Results) -> TableView | None:
    """The table as text and charts; ``None`` if nothing of it was measured."""
    columns = [
        column
        for column in table.columns
        if any(is_measured(cell, results) for cell in table.cells if cell.column == column)
    ]
    if not columns:
        return None
    shown = {cell.row for cell in table.cells if _is_quotable(cell) or _was_tried(cell, results)}
    rows = [row for row in table.rows if row in shown and any(table.at(row, column) for column in columns)]
    cells = {(row, column): _cell(table.at(row, column), results) for row in rows for column in columns}
    if table.setting:  # one row per value: there are more values than methods
        lines, heads = [RowView(column, [cells[row, column] for row in rows]) for column in columns], rows
    else:
        lines, heads = [RowView(row, [cells[row, column] for column in columns]) for row in rows], columns
    return TableView(
        name=table.name,
        short=_SHORT.get(table.name, table.name),
        title=table.title,
        note=" ".join([table.note, *remarks_of(table, results)]).strip(),
        caption=_caption(table, results),
        corner=table.setting or ("dataset" if table.name == "datasets" else "method"),
        columns=heads,
        rows=lines,
        has_published=has_published(table),
        charts=[*_charts(table, results, rows, columns), *charts_of_systems(table, results)],
        tests=[_comparison(one) for one in claims_of(table, results)],
        parts=[PartView(*one) for one in parts_of(table, results)],
    )


def has_published(table: Table) -> bool:
    """Whether the paper has any number for a table."""
    return any(cell.published is not None for cell in table.cells)


def distributions(table: Table, results: Results) -> list[Chart]:
    """Every trial of a table: one chart per column, or per row if the columns are values of a setting."""
    is_setting = bool(table.setting)
    found = []
    for group in table.rows if is_setting else table.columns:
        cells = [cell for cell in table.cells if group == (cell.row if is_setting else cell.column)]
        names = {cell.name: cell.column if is_setting else cell.row for cell in cells if results.trials(cell)}
        rows = [
            {"row": names[cell.name], "seed": trial.seed, "value": trial.test_accuracy}
            for cell in cells
            for trial in results.trials(cell)
        ]
        if rows:
            chart = charts.trials(rows, list(names.values()))
            name = f"trials-{table.name}-{group}"
            detail = f"{_SHORT.get(table.name, table.name)}, by {table.setting}" if is_setting else ""
            found.append(Chart(name, chart, group, detail or _SHORT.get(table.name, table.name), TRIALS_KEY))
    return found


def words_of(claim: Claim) -> str:
    """The claim, with a setting that no line break splits.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> from hypergnn.experiments.statistics import Test
        >>> table = TABLES["baselines"]
        >>> words_of(Claim(table, table.comparisons[0], *table.cells[1::-1], Test(0.5, 0.01, 0.01)))
        'Hyper-Conv. better than GCN* (Cora)'
    """
    first, second, where, setting = claim.parts
    unbroken = setting.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "-\N{WORD JOINER}")
    return f"{first} better than {second} ({', '.join(filter(None, (where, unbroken)))})"


def _comparison(claim: Claim) -> ComparisonView:
    return ComparisonView(
        words=words_of(claim),
        difference=signed(claim.test.difference),
        pooled=p_value(claim.test.p, 3),
        welch=p_value(claim.test.p_welch, 3),
        published=p_value(claim.comparison.published_p, 3),
        verdict=claim.verdict,
    )


def _cell(cell: Cell | None, results: Results) -> CellView:
    if cell is None:
        return CellView(lines=("–",))
    number = results.measured(cell)
    published = published_text(cell) if cell.measure == "accuracy" or cell.published is None else _published(cell)
    stated = (f"published {published}",) if published else ()
    verdict = verdict_of(cell, results)
    if verdict in (Verdict.QUOTED, Verdict.NOT_RUN, Verdict.FAILED, Verdict.NOT_APPLICABLE):
        return CellView(cell.name, lines=stated, verdict=verdict)
    if number is not None:
        return CellView(cell.name, _plain(number, cell), stated, verdict if verdict == Verdict.DIFFERENT else None)
    summary = summary_of(cell, results)
    if summary is None:
        return CellView(cell.name, lines=stated, verdict=verdict)
    between = () if summary.interval is None else ("95 %: {:.2f} – {:.2f}".format(*summary.interval),)
    how = (f"one trial: {DETERMINISTIC}",) if cell.is_deterministic else ()
    cost = (cost_text(cell, results),) if cell.system is not None or results.trials_alone(cell) else ()
    return CellView(cell.name, mean_and_spread(summary), (*between, *how, *cost, *stated), verdict)


def _published(cell: Cell) -> str:
    return "" if cell.published is None else _plain(cell.published.mean, cell)


def _plain(number: float, cell: Cell) -> str:
    if cell.measure == "count":
        return f"{number:.0f}"
    return f"{number:.3g} ms" if cell.measure == "milliseconds" else f"{number:.2f}"


def _caption(table: Table, results: Results) -> str:
    stated = ", and the published number" if has_published(table) else ""
    cells = [cell for cell in table.cells if not cell.is_deterministic]
    counts = [len(results.trials(cell)) for cell in cells if results.trials(cell)]
    if not counts:
        return f"Measured here{stated}."
    return f"Test accuracy in percent: mean ± standard deviation of {span(counts, 'trial')}{stated}."


def _charts(table: Table, results: Results, rows: list[str], columns: list[str]) -> list[Chart]:
    """The charts of the rows and columns that the table shows."""
    cells = [one for one in table.cells if one.row in rows and one.column in columns and one.measure == "accuracy"]
    if not cells:
        return []
    if table.setting:
        return [_by_setting(table, results, one) for one in _by_dataset(cells, results).values()]
    return [
        Chart(
            f"{table.name}-{column}",
            charts.dots([_point(cell, results) for cell in cells if cell.column == column]),
            column,
            f"Measured {'and published ' * has_published(table)}test accuracy of each method.",
            "Dots: measured mean; bars: its 95 % interval" + _PUBLISHED_KEY * has_published(table),
        )
        for column in columns
    ]


def _by_dataset(cells: list[Cell], results: Results) -> dict[str, list[Cell]]:
    """The measured cells of each dataset."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        if results.trials(cell):
            found.setdefault(cell.dataset, []).append(cell)
    return found


def _by_setting(table: Table, results: Results, cells: list[Cell]) -> Chart:
    """Accuracy against the setting, for the cells of one dataset."""
    points = [_point(cell, results) | {"x": int(cell.column)} for cell in cells]
    chart = charts.lines(points, table.setting, doubling=table.name in ("hidden", "deep"))
    words = "Lines: measured mean, with its 95 % interval." + " Diamonds: published mean." * has_published(table)
    key = "Lines: measured mean; bands: its 95 % interval" + _PUBLISHED_KEY * has_published(table)
    several, dataset = len({cell.dataset for cell in table.cells}) > 1, cells[0].dataset
    name, where = (f"{table.name}-{dataset}", f", {NAMES[dataset]}") if several else (table.name, "")
    return Chart(name, chart, f"Accuracy by {table.setting}{where}", words, key)


def _point(cell: Cell, results: Results) -> dict[str, Any]:
    """A cell as the charts need it."""
    summary = summary_of(cell, results)
    low, high = (summary.interval if summary else None) or (None, None)
    published = cell.published.mean if cell.published else None
    spread = cell.published.spread if cell.published else None
    return {
        "row": cell.row,
        "mean": _rounded(summary.mean if summary else None),
        "low": None if low is None else _rounded(max(low, 0.0)),  # the interval of two trials can exceed 0 … 100
        "high": None if high is None else _rounded(min(high, 100.0)),
        "published": published,
        "from": None if spread is None or published is None else _rounded(published - spread),
        "to": None if spread is None or published is None else _rounded(published + spread),
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 3)
