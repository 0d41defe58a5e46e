"""``hypergnn compare``: networks and plain scikit-learn classifiers on the same data, with intervals and tests."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from hypergnn._utils.progress import showing
from hypergnn.cli.arguments import ENCODED_ALWAYS, EXAMPLE, add_data, check_labels, load_data, say_what_was_read
from hypergnn.cli.imports import add_imports
from hypergnn.cli.signals import stoppable

if TYPE_CHECKING:
    from hypergnn.cli.arguments import Commands
    from hypergnn.datasets import Dataset
    from hypergnn.experiments.comparison import Compared


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "compare",
        help="Compare networks with scikit-learn's classifiers on your data.",
        description="Train classifiers on the same random splits and test each against the best.\n"
        "Quicker: --model NAME, --splits 3, --max-time 10.",
        usage="hypergnn compare [DATASET | --incidences FILE ...] [options]",
        epilog=EXAMPLE.format("compare", " --label segment"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,  # one line less: help must fit on a screen
    )
    parser.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)
    parser.add_argument(
        "--model", action="append", metavar="NAME", help="compare only this; may be repeated (default: all)"
    )
    parser.add_argument("--list", action="store_true", help="list the names of all models and exit")
    parser.add_argument("--splits", type=int, default=10, metavar="N", help="random splits (default: %(default)s)")
    parser.add_argument(
        "--max-time",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds to fit our classifier or a network (default: 60)",
    )
    parser.add_argument("--page", metavar="FILE", help="also write a page, an .html file")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="print only the result")
    add_imports(parser)
    add_data(parser, labels=True)
    parser.set_defaults(run=_compare)


def _compare(arguments: argparse.Namespace) -> int:
    _check_page(arguments.page)
    from hypergnn.estimators.comparison import checked_names, choices, compare

    if arguments.list:
        print("\n".join(choices()))
        return 0
    check_labels(arguments, "a comparison")
    names = checked_names(arguments.model, arguments.splits)
    with stoppable(), showing(_Splits(arguments.splits, len(names)), quiet=arguments.quiet) as show:
        data = load_data(arguments, encode_features=True)
        say_what_was_read(data, quiet=arguments.quiet, encoded=ENCODED_ALWAYS)

        def tell(name: str, accuracy: Sequence[float]) -> None:
            if show is not None:
                show((name, accuracy))

        found = compare(data, arguments.model, arguments.splits, max_time=arguments.max_time, on_split=tell)
    _show(found, data, arguments)
    return 0


class _Splits:
    """Progress of a comparison: a classifier with its accuracies so far."""

    def __init__(self, splits: int, models: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._splits, self._models, self._clock = splits, models, clock
        self._start = clock()
        self._done: dict[str, int] = {}

    def resumed(self, state: tuple[str, Sequence[float]]) -> str | None:  # noqa: ARG002
        """Nothing was done before."""
        return None

    def text(self, state: tuple[str, Sequence[float]]) -> str:
        """The classifier, its mean accuracy, the splits done and the time left if the others take as long."""
        name, accuracy = state
        self._done[name] = len(accuracy)
        done, total = sum(self._done.values()), self._splits * self._models
        left = "" if self.is_news(state) else f", {len(accuracy)} of {self._splits} splits"
        if done < total:
            left += f", about {_duration((self._clock() - self._start) / done * (total - done))} left"
        return f"{name}: {mean(accuracy):.2f} %{left}"

    def is_news(self, state: tuple[str, Sequence[float]]) -> bool:
        """A line for each classifier that is finished."""
        return len(state[1]) == self._splits


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def _check_page(page: str | None) -> None:
    from hypergnn._utils.checks import check_choice

    if page is None:
        return
    check_choice("the ending of --page", Path(page).suffix, (".html",))
    if Path(page).is_dir() or not Path(page).resolve().parent.is_dir():
        raise ValueError(f"--page must be a file in an existing folder; got {page}.")


def _show(found: Sequence[Compared], data: Dataset, arguments: argparse.Namespace) -> None:
    from hypergnn._utils.display import terminal_width, text_table
    from hypergnn.report.comparison import HEAD, as_rows, write_comparison

    if arguments.json:
        print(json.dumps([_as_json(one) for one in found], indent=2))
    else:
        print(text_table(HEAD, as_rows(found), terminal_width()))
    if arguments.page is not None:
        lead = f"{len(found)} classifiers on {len(found[0].accuracy)} random splits of {data.name}."
        page = write_comparison(found, arguments.page, title=f"Comparison on {data.name}", lead=lead)
        if not arguments.quiet:
            print(f"wrote {page}", file=sys.stderr)


def _as_json(one: Compared) -> dict[str, Any]:
    return {
        "model": one.name,
        "mean": one.summary.mean,
        "std": one.summary.sd,
        "interval_95": None if one.summary.interval is None else list(one.summary.interval),
        "behind": one.behind,
        "p": one.p,
        "test_accuracy": list(one.accuracy),
    }
