"""``hypergnn report``: one self-contained HTML page, and figures for papers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hypergnn.cli.imports import add_imports

if TYPE_CHECKING:
    from hypergnn.cli.arguments import Commands


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "report",
        help="Write a page with tables, charts and an explorer.",
        description="Write one self-contained HTML file with tables, charts and an explorer of trained networks.",
        epilog="example: hypergnn report runs/digits-hyper-conv --figures figures",
    )
    parser.add_argument("folder", metavar="RUN", help="folder of `hypergnn reproduce` or `hypergnn train`, or results/")
    parser.add_argument("--out", metavar="FILE", help="the page (default: report.html in RUN)")
    parser.add_argument("--figures", metavar="DIR", help="also write all charts as files to DIR")
    parser.add_argument(
        "--formats",
        nargs="+",
        metavar="FORMAT",
        choices=["svg", "png", "pdf"],
        help="of the figures: svg, png, pdf (default: svg)",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="seed of a random split (default: 0)")
    parser.add_argument("--data-dir", metavar="DIR", help="folder to search for datasets (default: HYPERGNN_DATA)")
    parser.add_argument("--quiet", action="store_true", help="print only the path of the page")
    add_imports(parser)
    parser.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
    _check(arguments)
    from hypergnn.report import write

    page = write(
        arguments.folder,
        arguments.out,
        figures=arguments.figures,
        formats=arguments.formats,
        data_dir=arguments.data_dir,
        seed=arguments.seed,
        on_step=None if arguments.quiet else _tell,
    )
    print(page)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Check the arguments first, so that mistakes do not show only after minutes of work."""
    if not Path(arguments.folder).is_dir():
        raise ValueError(f"RUN must be a folder of results; {arguments.folder} is not a folder.")
    if arguments.out is not None:
        path = Path(arguments.out)
        if path.is_dir() or not path.resolve().parent.is_dir():
            raise ValueError(f"--out must be a file in an existing folder; got {path}.")
    if arguments.formats is not None and arguments.figures is None:
        raise ValueError("--formats needs --figures DIR, the folder for the figures.")
    if arguments.figures is not None and Path(arguments.figures).is_file():
        raise ValueError(f"--figures must be a folder or a new name; {arguments.figures} is a file.")


def _tell(step: str) -> None:
    print(step, file=sys.stderr)
