"""A table of the paper as the page shows it: numbers with verdicts, charts, tests."""

from __future__ import annotations

from typing import Any

from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.claims import Claim, claims_of
from hypergnn.experiments.remarks import remarks_of
from hypergnn.experiments.results import Results
from hypergnn.experiments.statistics import summarise, verdict
from hypergnn.experiments.text import p_value
from hypergnn.report import charts
from hypergnn.report.page import CellView, Chart, ComparisonView, RowView, TableView
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
}
_OUTCOMES = {
    "holds": ("significant", ""),
    "not shown": ("not shown", "none"),
    "reversed": ("the reverse", "below"),
    "untested": ("not tested", "none"),
}
"""What came of a claim, in words and as a kind of verdict."""
_VERDICTS = {"reproduced": "≈ reproduced", "above": "▲ above", "below": "▼ below"}


def is_measured(cell: Cell, results: Results) -> bool:
    """Whether there is anything of ours to show for a cell."""
    return bool(results.trials(cell)) or results.measured(cell) is not None


def view(table: Table, results: Results) -> TableView | None:
    """The table in words and charts; ``None`` if nothing of it was measured."""
    columns = [
        column
        for column in table.columns
        if any(is_measured(cell, results) for cell in table.cells if cell.column == column)
    ]
    if not columns:
        return None
    shown = {cell.row for cell in table.cells if cell.is_quoted or is_measured(cell, results)}
    rows = [row for row in table.rows if row in shown and any(table.at(row, column) for column in columns)]
    cells = {(row, column): _cell(table, table.at(row, column), results) for row in rows for column in columns}
    if table.setting:  # a line for each value: there are more of them than of methods
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
        charts=_charts(table, results, rows, columns),
        tests=[_comparison(one) for one in claims_of(table, results)],
    )


def has_published(table: Table) -> bool:
    """Whether the paper has any number for a table."""
    return any(cell.published is not None for cell in table.cells)


def distributions(table: Table, results: Results) -> list[Chart]:
    """Every trial of a table: a chart for each column, or for each row where columns are values of a setting."""
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
            found.append(Chart(name, chart, group, detail or _SHORT.get(table.name, table.name)))
    return found


def words_of(claim: Claim) -> str:
    """What the paper says of two cells.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> from hypergnn.experiments.statistics import Test
        >>> table = TABLES["baselines"]
        >>> words_of(Claim(table, table.comparisons[0], *table.cells[1::-1], Test(0.5, 0.01, 0.01)))
        'Hyper-Conv. better than GCN* (Cora)'
    """
    first, second, where = claim.parts
    return f"{first} better than {second} ({_unbroken(where)})"


def _unbroken(column: str) -> str:
    """A column's name with its setting kept in one line."""
    name, comma, setting = column.partition(", ")
    return name + comma + setting.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "-\N{WORD JOINER}")


def _comparison(claim: Claim) -> ComparisonView:
    verdict, kind = _OUTCOMES[claim.outcome]
    return ComparisonView(
        words=words_of(claim),
        difference=signed(claim.test.difference),
        pooled=p_value(claim.test.p, 3),
        welch=p_value(claim.test.p_welch, 3),
        published=p_value(claim.comparison.published_p, 3),
        verdict=verdict,
        kind=kind,
    )


def _cell(table: Table, cell: Cell | None, results: Results) -> CellView:
    if cell is None:
        return CellView(lines=("–",))
    published = cell.published
    stated = () if published is None else (f"published {_published(table, cell)}",)
    if cell.is_quoted:
        return CellView(cell.name, lines=stated, verdict="quoted", kind="quoted")
    if cell.measure != "accuracy":
        number = results.measured(cell)
        if number is None:
            return CellView(cell.name, lines=(*stated, "not measured"))
        is_other = cell.measure == "count" and published is not None and number != published.mean
        return CellView(cell.name, _plain(number, cell), stated, "counted otherwise" if is_other else "", "none")
    accuracies = results.accuracies(cell)
    if not accuracies:
        return CellView(cell.name, lines=(*stated, "not run"))
    summary = summarise(accuracies)
    between = () if summary.interval is None else ("95 %: {:.2f} – {:.2f}".format(*summary.interval),)
    found = None if published is None else verdict(summary, published)
    return CellView(
        cell.name,
        mean_and_spread(summary),
        (*between, *stated),
        verdict=_VERDICTS[found] if found else "",
        kind=found or "",
    )


def _published(table: Table, cell: Cell) -> str:
    """A published number with as many digits as its table gives."""
    published = cell.published
    if published is None:
        return "–"
    if cell.measure != "accuracy":
        return _plain(published.mean, cell)
    is_fine = any(one.published and round(one.published.mean, 1) != one.published.mean for one in table.cells)
    number = f"{published.mean:.{2 if is_fine else 1}f}"
    return number if published.spread is None else f"{number} ± {published.spread}"


def _plain(number: float, cell: Cell) -> str:
    if cell.measure == "count":
        return f"{number:.0f}"
    return f"{number:.3g} ms" if cell.measure == "milliseconds" else f"{number:.2f}"


def _caption(table: Table, results: Results) -> str:
    stated = ", and what the paper states" if has_published(table) else ""
    counts = [len(results.trials(cell)) for cell in table.cells if results.trials(cell)]
    if not counts:
        return f"Counted or timed here{stated}."
    return f"Test accuracy in percent: mean ± standard deviation of {span(counts, 'trial')}{stated}."


def _charts(table: Table, results: Results, rows: list[str], columns: list[str]) -> list[Chart]:
    """Charts of the rows and columns that the table shows."""
    cells = [one for one in table.cells if one.row in rows and one.column in columns and one.measure == "accuracy"]
    if not cells:
        return []
    if table.setting:
        points = [_point(cell, results) | {"x": int(cell.column)} for cell in cells if results.trials(cell)]
        chart = charts.lines(points, table.setting, doubling=table.name == "hidden")
        words = "Lines: measured mean with its 95 % interval." + " Diamonds: published." * has_published(table)
        return [Chart(table.name, chart, f"Accuracy against the {table.setting}", words)]
    return [
        Chart(
            f"{table.name}-{column}",
            charts.dots([_point(cell, results) for cell in cells if cell.column == column]),
            column,
            f"Measured {'and published ' * has_published(table)}test accuracy of each method.",
        )
        for column in columns
    ]


def _point(cell: Cell, results: Results) -> dict[str, Any]:
    """A cell as charts take it."""
    accuracies = results.accuracies(cell)
    summary = summarise(accuracies) if accuracies else None
    low, high = (summary.interval if summary else None) or (None, None)
    published = cell.published.mean if cell.published else None
    spread = cell.published.spread if cell.published else None
    return {
        "row": cell.row,
        "mean": _rounded(summary.mean if summary else None),
        "low": None if low is None else _rounded(max(low, 0.0)),  # two trials can have an interval beyond all sense
        "high": None if high is None else _rounded(min(high, 100.0)),
        "published": published,
        "from": None if spread is None or published is None else _rounded(published - spread),
        "to": None if spread is None or published is None else _rounded(published + spread),
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 3)
