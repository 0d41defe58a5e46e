"""The page of a comparison of classifiers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from hypergnn.experiments.comparison import Compared
from hypergnn.experiments.text import p_value
from hypergnn.persistence.files import write_atomic
from hypergnn.report import charts
from hypergnn.report.page import CellView, Chart, Fact, Page, RowView, TableView, render
from hypergnn.report.tables import TRIALS_KEY
from hypergnn.report.words import MODELS, counted, mean_and_spread


def write_comparison(compared: Sequence[Compared], out: str | os.PathLike[str], *, title: str, lead: str) -> Path:
    """Write a comparison as one self-contained page, and return its path.

    Args:
        compared: The classifiers, the best first.
        out: The page.
        title: Its title.
        lead: What was compared, in a sentence.

    Raises:
        ImportError: If the libraries of the extra ``report`` are not installed.

    Example:
        >>> import tempfile
        >>> from hypergnn.experiments.comparison import ranked
        >>> found = ranked({"forest": [80.0, 82.0], "network": [85.0, 88.0]}, test_to_train=0.25)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_comparison(found, f"{folder}/compare.html", title="Shop", lead="Two classifiers.").name
        'compare.html'
    """
    best, splits = compared[0], len(compared[0].accuracy)
    named = [(MODELS.get(one.name, one.name), one) for one in compared]
    trials = [
        {"row": name, "seed": seed, "value": round(value, 3)}
        for name, one in named
        for seed, value in enumerate(one.accuracy)
    ]
    order = [name for name, _ in named]
    page = Page(
        title=title,
        lead=lead,
        facts=[
            Fact(order[0], "is best"),
            Fact(f"{best.summary.mean:.2f} %", "its mean test accuracy"),
            Fact(str(splits), counted(splits, "split").split()[1]),
        ],
        tables=[_table(named, splits)],
        trials_differ="The trials of a row are those of the random splits.",
        is_of_runs=False,
        distributions=[Chart("trials", charts.trials(trials, order), "Accuracy in each split", key=TRIALS_KEY)],
    )
    path = Path(out)
    write_atomic(path, render(page).encode())
    return path


def as_rows(compared: Sequence[Compared]) -> list[list[str]]:
    """The cells of the table: name, accuracy, interval, distance to the best, p-value.

    Example:
        >>> from hypergnn.experiments.comparison import ranked
        >>> as_rows(ranked({"forest": [80.0, 82.0], "network": [85.0, 88.0]}, test_to_train=0.25))[1]
        ['forest', '81.00 ± 1.41', '65.44 – 96.56', '5.50', '0.035']
    """
    return [
        [
            one.name,
            mean_and_spread(one.summary),
            _interval(one),
            f"{one.behind:.2f}" if one.behind else "best",
            "" if one is compared[0] else p_value(one.p, 3),
        ]
        for one in compared
    ]


def _interval(one: Compared) -> str:
    if one.summary.interval is None:
        return ""
    return "{:.2f} – {:.2f}".format(*one.summary.interval)


HEAD = ("model", "test accuracy, %", "95 % interval", "behind the best", "p")


def _table(named: Sequence[tuple[str, Compared]], splits: int) -> TableView:
    rows = as_rows([one for _, one in named])
    return TableView(
        name="compare",
        short="Comparison",
        title="All classifiers",
        note="p: how likely a distance to the best as large as this one is if both are equally good; paired by split, "
        "corrected for the overlap of the splits and for the number of classifiers. A dash: not tested, because there "
        "is one split, or the distance is the same in all of them.",
        caption=f"Test accuracy in percent: mean ± standard deviation of {counted(splits, 'random split')}.",
        corner=HEAD[0],
        columns=HEAD[1:],
        rows=[
            RowView(name, [CellView(f"{name}-{place}", text) for place, text in enumerate(cells[1:])])
            for (name, _), cells in zip(named, rows, strict=True)
        ],
        has_published=False,
    )
