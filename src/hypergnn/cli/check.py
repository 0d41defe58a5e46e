"""``hypergnn check``: verify the files of a run or of results, without changing them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypergnn.cli.arguments import Commands
    from hypergnn.training.checking import Checked

_DAMAGED = 1


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "check",
        help="Verify records, curves and models of a run.",
        description="Verify records, curves, models and results of a folder. It prints one line per finding and a "
        "summary, and changes nothing. Exit code: 0 if all is whole, 1 if something is damaged or incomplete, 2 if "
        "the folder cannot be checked.",
        epilog="example: hypergnn check runs/paper",
    )
    parser.add_argument("folder", metavar="RUN", help="folder of `hypergnn train` or `hypergnn reproduce`, or results/")
    parser.add_argument("--quiet", action="store_true", help="print only the findings")
    parser.set_defaults(run=_check)


def _check(arguments: argparse.Namespace) -> int:
    from hypergnn.experiments.checking import check

    checked = check(Path(arguments.folder))
    for finding in checked.findings:
        print(finding)
    if not arguments.quiet:
        print(_summary(checked))
    return _DAMAGED if checked.findings else 0


def _summary(checked: Checked) -> str:
    parts = [_count(checked.runs, "run"), _count(checked.records, "record")]
    parts += [_count(checked.curves, "set", " of curves"), _count(checked.models, "model")]
    found = _count(len(checked.findings), "finding") if checked.findings else "no findings"
    return f"{', '.join(parts)} checked: {found}"


def _count(number: int, word: str, rest: str = "") -> str:
    return f"{number} {word}{'' if number == 1 else 's'}{rest}"
