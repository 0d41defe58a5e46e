"""``hypergnn reproduce``: the paper's tables, measured and published side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hypergnn._utils.names import TABLES as TABLE_NAMES
from hypergnn.cli.arguments import counted
from hypergnn.cli.own_rows import Own, add_own
from hypergnn.cli.progress import shown_tables
from hypergnn.cli.signals import stoppable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypergnn.cli.arguments import Commands
    from hypergnn.experiments.cells import Table
    from hypergnn.experiments.runner import Reproduction

_QUICK_TRIALS, _TRIALS = 10, 100


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "reproduce",
        help="Reproduce the tables of the paper.",
        description="Measure tables of the paper and print them beside the published numbers. "
        "The same command resumes after an interruption. Without TABLE: --quick.",
        usage="hypergnn reproduce [TABLE ...] [options]",
        epilog="example: hypergnn reproduce skip --dataset cora --trials 20",
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLE_NAMES))
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="every table of the paper, a few hours")
    which.add_argument("--quick", action="store_true", help="10 trials of baselines on Cora, a few minutes")
    parser.add_argument("--trials", type=int, metavar="N", help="trials per cell (default: 100; quick: 10)")
    parser.add_argument("--dataset", nargs="+", metavar="NAME", help="only the cells of these datasets")
    parser.add_argument("--cell", metavar="PATTERN", help="only the cells whose names match, such as 'cora/initial/*'")
    add_own(parser)
    parser.add_argument("--out", default="runs/paper", metavar="DIR", help="folder for the runs (default: %(default)s)")
    parser.add_argument("--jobs", type=int, metavar="N", help="parallel workers (default: threads of torch)")
    parser.add_argument("--keep", metavar="DIR", help="at the end, add the records to those in DIR")
    parser.add_argument("--quiet", action="store_true", help="print only the tables")
    parser.set_defaults(run=_reproduce)


def _reproduce(arguments: argparse.Namespace) -> int:
    from hypergnn.experiments.results import recorded

    with stoppable():
        own = Own.of(arguments)
        asked, datasets, trials = _chosen(arguments, own)
        if arguments.keep is not None:  # find errors now, not after hours
            recorded(arguments.keep)
        done, tables, datasets = _run(arguments, asked, datasets, trials, own)
    if done.interrupted:
        finished = sum(map(len, done.results.runs.values()))
        print(f"stopped: {counted(finished)} finished, in {arguments.out}. To resume:", file=sys.stderr)
        print(f"  {arguments.typed}", file=sys.stderr)
        return 130
    _print(done, tables, datasets)
    if arguments.keep is not None and tables != asked:
        print(f"nothing was added to {arguments.keep}: the digits are not in the paper.", file=sys.stderr)
    elif arguments.keep is not None:
        before = recorded(arguments.keep)  # read again: another reproduction may have added to it meanwhile
        done.results.of(tables, datasets).first(trials).over(before).write(arguments.keep)
        print(f"\nrecords: {arguments.keep}")
    _write_page(arguments, done, tables)
    return 1 if done.results.of(tables, datasets).failures else 0


def _write_page(arguments: argparse.Namespace, done: Reproduction, tables: Sequence[Table]) -> None:
    """Write the page of all results, or say why not; the results do not depend on it."""
    from hypergnn.report import PAGE, write_results

    def tell(step: str) -> None:
        print(f"page: {step}", file=sys.stderr)

    try:
        page = write_results(
            done.results,
            Path(arguments.out, PAGE),
            datasets=done.datasets,
            tables=tables,
            on_step=None if arguments.quiet else tell,
        )
    except (ImportError, OSError, ValueError) as error:
        print(f"no page was written: {error}", file=sys.stderr)
    else:
        print(f"\npage: {page}")


def _chosen(arguments: argparse.Namespace, own: Own) -> tuple[list[Table], list[str] | None, int]:
    """The selected tables, datasets and number of trials."""
    from hypergnn._utils.checks import check_choice
    from hypergnn.datasets import available
    from hypergnn.experiments.beyond import ALL
    from hypergnn.experiments.paper import TABLES

    if arguments.tables and (arguments.all or arguments.quick):
        raise ValueError("TABLE must not be combined with --all or --quick. Omit one of them.")
    for name in arguments.tables:
        check_choice("TABLE", name, tuple(ALL))
    for name in arguments.dataset or ():
        check_choice("--dataset", name, (*available(), *own.datasets))
    is_quick = not arguments.all and not arguments.tables
    trials = arguments.trials if arguments.trials is not None else _QUICK_TRIALS if is_quick else _TRIALS
    names = list(TABLES) if arguments.all else list(dict.fromkeys(arguments.tables)) or ["baselines"]
    tables = own.added([ALL[name] for name in names])
    if arguments.cell is not None:
        first = next(cell.name for table in tables for cell in table.cells)
        tables = [table.only(arguments.cell) for table in tables]
        if not any(table.cells for table in tables):
            raise ValueError(
                f"--cell must match the name of a cell of {', '.join(names)}, such as {first}; got {arguments.cell!r}."
            )
    there = {cell.dataset for table in tables for cell in table.cells}
    if arguments.dataset and not there.intersection(arguments.dataset):
        raise ValueError(
            f"--dataset must name a dataset of {', '.join(names)}: {', '.join(sorted(there))}; "
            f"got {', '.join(arguments.dataset)}. Choose another TABLE, or --all."
        )
    tables = [table for table in tables if table.cells]
    datasets = list(dict.fromkeys([*(arguments.dataset or ()), *own.datasets])) or (["cora"] if is_quick else None)
    return tables, datasets, trials


def _run(
    arguments: argparse.Namespace, tables: list[Table], datasets: list[str] | None, trials: int, own: Own
) -> tuple[Reproduction, list[Table], list[str] | None]:
    """Reproduce the tables. If no data is available, not even Cora, run the baselines on the digits instead."""
    from hypergnn.datasets import DataNotFoundError
    from hypergnn.experiments.beyond import ALL
    from hypergnn.experiments.paper import STAND_IN
    from hypergnn.experiments.runner import reproduce

    def run(tables: Sequence[Table], datasets: list[str] | None) -> Reproduction:
        with shown_tables(quiet=arguments.quiet) as listener:
            return reproduce(
                tables,
                trials,
                datasets,
                out=arguments.out,
                jobs=arguments.jobs,
                on_progress=listener,
                exactly=arguments.trials is not None,
                own=own.datasets,
            )

    try:
        return run(tables, datasets), tables, datasets
    except DataNotFoundError as error:
        if ALL["baselines"] not in tables or (datasets is not None and "cora" not in datasets):
            raise
        print(f"{error}\n\nRunning the same comparison on the digits of scikit-learn instead.", file=sys.stderr)
        return run([STAND_IN], None), [STAND_IN], None


def _print(done: Reproduction, tables: Sequence[Table], datasets: list[str] | None) -> None:
    from hypergnn._utils.display import terminal_width
    from hypergnn.experiments import ranking_text, text

    width = terminal_width()
    parts = [
        one.as_text(table, done.results, datasets, width=width) for table in tables for one in (text, ranking_text)
    ]
    print("\n\n".join(filter(None, parts)))
    for name, reason in done.missing.items():
        print(f"\n{name} is not available:\n{reason}")
