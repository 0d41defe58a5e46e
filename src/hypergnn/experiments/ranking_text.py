"""Costs, tests and ranks of systems as rows and sentences, for the terminal, the documentation and the page."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from string import ascii_lowercase
from typing import Any, NamedTuple

from hypergnn._utils.display import text_table
from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.ranking import Ranking, against, cost_of, ranking_of
from hypergnn.experiments.results import Results
from hypergnn.experiments.statistics import summarise
from hypergnn.experiments.text import p_value

COST_HEAD = ("", "", "accuracy", "seconds of a trial", "memory, MB")
AGAINST_HEAD = ("Ours against", "", "difference", "p (Holm)", "Ours is")
RANKS_HEAD = ("", "mean rank", "group")
COST_NOTE = (
    "Seconds are processor time of one trial on one thread, and memory is the most that it needed beyond the data and "
    "the libraries, both in the median. Each system has a process of its own. The networks of Ours and GAT* train many "
    "trials together, which takes less time; three trials in a process of their own measure what one costs alone. "
    "Networks without such trials show the share of a trial in the elapsed time. The one trial of a deterministic "
    "system also loads libraries. A dash says that memory was not measured."
)
AGAINST_NOTE = (
    "Two-sided tests of the difference of the means, Welch's, or a one-sample test against a deterministic system; "
    "adjusted by Holm's method for all tests of the table. All trials of a dataset share one split: the tests say "
    "which system is better on this split, not on other splits or other data."
)


class Part(NamedTuple):
    """A table about the systems, below a sentence."""

    caption: str
    words: str
    head: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def parts_of(table: Table, results: Results, datasets: Collection[str] | None = None) -> Iterator[Part]:
    """Costs, tests and ranks of a table of systems, as far as systems were measured.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> list(parts_of(TABLES["sota"], Results({}, {})))
        []
    """
    if not any(results.trials(cell) for cell in _cells(table, datasets) if cell.system is not None):
        return
    yield Part("Time and memory", COST_NOTE, COST_HEAD, _cost_rows(table, results, datasets))
    tests: list[tuple[Any, ...]] = [
        (one.other.row, one.other.column, f"{one.difference:+.2f}", p_value(one.p), one.words)
        for one in against(table, results, datasets)
    ]
    if tests:
        yield Part("Ours against each system", AGAINST_NOTE, AGAINST_HEAD, tests)
    ranking = ranking_of(table, results, datasets)
    if ranking is not None:
        yield Part("Ranks over all datasets", ranking_words(ranking), RANKS_HEAD, _rank_rows(ranking))


def as_text(
    table: Table, results: Results, datasets: Collection[str] | None = None, *, width: int | None = None
) -> str:
    """Costs, tests and ranks for the terminal, below the table; empty if no system was measured.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> as_text(TABLES["baselines"], Results({}, {}))
        ''
    """
    found = [(one.words, text_table(one.head, one.rows, width)) for one in parts_of(table, results, datasets)]
    return "\n\n".join(text for part in found for text in part)


def cost_text(cell: Cell, results: Results) -> str:
    """The cost of a trial in a few characters; empty if there is none to show.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> cost_text(TABLES["sota"].cell("cora/ours"), Results({}, {}))
        ''
    """
    cost = cost_of(cell, results)
    if cost is None:
        return ""
    memory = "" if cost.megabytes is None else f", {cost.megabytes:.0f} MB"
    return f"{seconds_text(cost.seconds)} s{memory}"


def seconds_text(seconds: float) -> str:
    """Seconds with as many decimals as they need.

    Example:
        >>> seconds_text(0.0123), seconds_text(4.56), seconds_text(123.4)
        ('0.012', '4.6', '123')
    """
    return f"{seconds:.0f}" if seconds >= 100 else f"{seconds:.2g}"


def ranking_words(ranking: Ranking) -> str:
    """What the ranks are taken over, and which differences count."""
    p, where = p_value(ranking.p), ", ".join(ranking.datasets)
    p = p if p[0] in "<>" else f"= {p}"
    words = (
        f"Mean ranks over {len(ranking.datasets)} datasets ({where}) by the mean accuracy on each; 1 is the best. "
        f"Friedman's test that all are equal: p {p}. Mean ranks that differ by less than {ranking.critical:.2f} do not "
        "differ significantly (Nemenyi, 5 %): these systems share a letter. The trials on a dataset share its split, "
        f"so a dataset counts once, however many trials it has, and {len(ranking.datasets)} datasets can hardly "
        f"separate {len(ranking.ranks)} systems. The tests of Ours against each hold for these splits only."
    )
    left_out = f" Left out, because not measured on all of them: {', '.join(ranking.left_out)}."
    return words + left_out * bool(ranking.left_out)


def _cost_rows(table: Table, results: Results, datasets: Collection[str] | None) -> list[tuple[Any, ...]]:
    found = []
    for cell in _cells(table, datasets):
        cost = cost_of(cell, results)
        if cost is not None:
            memory = "–" if cost.megabytes is None else f"{cost.megabytes:.0f}"
            accuracy = f"{summarise(results.accuracies(cell)).mean:.2f}"
            found.append((cell.row, cell.column, accuracy, seconds_text(cost.seconds), memory))
    return found


def _rank_rows(ranking: Ranking) -> list[tuple[Any, ...]]:
    groups = ranking.groups
    return [
        (
            name,
            f"{rank:.2f}",
            "".join(letter for letter, own in zip(ascii_lowercase, groups, strict=False) if name in own),
        )
        for name, rank in ranking.ranks.items()
    ]


def _cells(table: Table, datasets: Collection[str] | None) -> list[Cell]:
    return [cell for cell in table.cells if datasets is None or cell.dataset in datasets]
