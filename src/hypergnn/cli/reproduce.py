"""``hypergnn reproduce``: the paper's tables, measured beside what was published; resumed by the same command."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from hypergnn.cli.progress import shown_tables
from hypergnn.cli.signals import stoppable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypergnn.cli.arguments import Commands
    from hypergnn.experiments.cells import Table
    from hypergnn.experiments.runner import Reproduction

_TABLES = "datasets, baselines, skip, hidden, sota, newsgroup, depth, timing"
_QUICK_TRIALS, _TRIALS = 10, 100


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "reproduce",
        help="Fill the paper's tables and compare.",
        description="Measure the cells of the paper's tables and print them beside what was published. "
        "The same command resumes what was stopped. Without a table: --quick.",
        usage="hypergnn reproduce [TABLE ...] [options]",
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=_TABLES)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="every table")
    which.add_argument("--quick", action="store_true", help="10 trials of baselines on Cora: a few minutes")
    parser.add_argument("--trials", type=int, metavar="N", help="trials of each cell (default: 100; quick: 10)")
    parser.add_argument("--dataset", nargs="+", metavar="NAME", help="only the cells of these datasets")
    parser.add_argument("--out", default="runs/paper", metavar="DIR", help="where to keep runs (default: %(default)s)")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="workers, each with trials of its own (default: as torch has threads)"
    )
    parser.add_argument("--keep", metavar="DIR", help="add the records to those in DIR at the end, in compact form")
    parser.add_argument("--quiet", action="store_true", help="print the tables only")
    parser.set_defaults(run=_reproduce)


def _reproduce(arguments: argparse.Namespace) -> int:
    from hypergnn.experiments.results import kept

    with stoppable():
        asked, datasets, trials = _chosen(arguments)
        if arguments.keep is not None:  # that no fault in it is met hours later
            kept(arguments.keep)
        done, tables, datasets = _run(arguments, asked, datasets, trials)
    if done.interrupted:
        finished = sum(map(len, done.results.runs.values()))
        print(f"stopped: {finished} trials are kept in {arguments.out}. To resume:", file=sys.stderr)
        print(f"  {arguments.typed}", file=sys.stderr)
        return 130
    _print(done, tables, datasets)
    if arguments.keep is not None and tables != asked:
        print(f"nothing is added to {arguments.keep}: the paper has no digits.", file=sys.stderr)
    elif arguments.keep is not None:
        done.results.of(tables, datasets).first(trials).over(kept(arguments.keep)).write(arguments.keep)
        print(f"\nrecords: {arguments.keep}")
    _write_page(arguments)
    return 0


def _write_page(arguments: argparse.Namespace) -> None:
    """Write the page of what is there, if its libraries are; what was measured does not depend on it."""
    from hypergnn.report import write

    def tell(step: str) -> None:
        print(f"page: {step}", file=sys.stderr)

    try:
        page = write(arguments.out, on_step=None if arguments.quiet else tell)
    except (ImportError, OSError, ValueError) as error:
        print(f"without a page: {error}", file=sys.stderr)
    else:
        print(f"\npage: {page}")


def _chosen(arguments: argparse.Namespace) -> tuple[list[Table], list[str] | None, int]:
    """The tables, the datasets and the number of trials that the command line asks for."""
    from hypergnn._utils.checks import check_choice
    from hypergnn.datasets import available
    from hypergnn.experiments.paper import TABLES

    if arguments.tables and (arguments.all or arguments.quick):
        raise ValueError("either TABLE or one of --all and --quick must be given, not both.")
    for name in arguments.tables:
        check_choice("TABLE", name, tuple(TABLES))
    for name in arguments.dataset or ():
        check_choice("--dataset", name, available())
    is_quick = not arguments.all and not arguments.tables
    trials = arguments.trials if arguments.trials is not None else _QUICK_TRIALS if is_quick else _TRIALS
    names = list(TABLES) if arguments.all else list(dict.fromkeys(arguments.tables)) or ["baselines"]
    tables = [TABLES[name] for name in names]
    there = {cell.dataset for table in tables for cell in table.cells}
    if arguments.dataset and not there.intersection(arguments.dataset):
        raise ValueError(
            f"--dataset must name one that {', '.join(names)} has cells of: {', '.join(sorted(there))}; "
            f"got {', '.join(arguments.dataset)}. Name another TABLE, or --all."
        )
    return tables, arguments.dataset or (["cora"] if is_quick else None), trials


def _run(
    arguments: argparse.Namespace, tables: list[Table], datasets: list[str] | None, trials: int
) -> tuple[Reproduction, list[Table], list[str] | None]:
    """Reproduce; without any data, Cora included, the paper's baselines on the embedded digits instead."""
    from hypergnn.datasets import DataNotFoundError
    from hypergnn.experiments.paper import STAND_IN, TABLES
    from hypergnn.experiments.runner import reproduce

    def run(tables: Sequence[Table], datasets: list[str] | None) -> Reproduction:
        with shown_tables(quiet=arguments.quiet) as listener:
            return reproduce(tables, trials, datasets, out=arguments.out, jobs=arguments.jobs, on_progress=listener)

    try:
        return run(tables, datasets), tables, datasets
    except DataNotFoundError as error:
        if TABLES["baselines"] not in tables or (datasets is not None and "cora" not in datasets):
            raise
        print(f"{error}\n\nRunning the same comparison on the embedded digits instead.", file=sys.stderr)
        return run([STAND_IN], None), [STAND_IN], None


def _print(done: Reproduction, tables: Sequence[Table], datasets: list[str] | None) -> None:
    from hypergnn.experiments.text import as_text

    print("\n\n".join(as_text(table, done.results, datasets) for table in tables))
    for name, reason in done.missing.items():
        print(f"\nwithout {name}, which could not be had:\n{reason}")
