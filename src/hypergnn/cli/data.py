"""``hypergnn data``: list, fetch and describe datasets."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypergnn.cli.arguments import Commands


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    text = "List, fetch and describe datasets."
    parser = commands.add_parser("data", help=text, description=text, epilog="example: hypergnn data describe digits")
    actions = parser.add_subparsers(metavar="ACTION", required=True)

    listing, fetching, describing = (
        actions.add_parser(name, help=help_, epilog=f"example: hypergnn data {example}")
        for name, help_, example in (
            ("list", "all datasets, and where each is available", "list --json"),
            ("fetch", "download datasets if necessary, and check their files", "fetch cora citeseer"),
            ("describe", "size, classes, split and source of a dataset", "describe digits"),
        )
    )

    fetching.add_argument("names", nargs="+", metavar="NAME", help="names from `hypergnn data list`")
    describing.add_argument("name", metavar="NAME", help="a name from `hypergnn data list`")
    for action in (listing, fetching, describing):
        action.add_argument("--data-dir", metavar="DIR", help="folder to search first (default: HYPERGNN_DATA)")
    for action in (fetching, describing):
        action.add_argument("--quiet", action="store_true", help="no progress bar")
    for action in (listing, describing):
        action.add_argument("--json", action="store_true", help="print JSON for scripts")
    listing.set_defaults(run=_data_list)
    fetching.set_defaults(run=_data_fetch)
    describing.set_defaults(run=_data_describe)


def _data_list(arguments: argparse.Namespace) -> int:
    from hypergnn._utils.display import terminal_width, text_table
    from hypergnn.datasets.catalogue import BUNDLES, DESCRIPTIONS, WITHOUT_FILES
    from hypergnn.datasets.sources import find_local

    rows = [
        {
            "name": name,
            "description": description,
            "source": find_local(name, data_dir=arguments.data_dir) if name in BUNDLES else WITHOUT_FILES[name],
        }
        for name, description in DESCRIPTIONS.items()
    ]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return 0
    origin = {row["name"]: row["source"] or "to be downloaded" for row in rows}
    origin |= {name: f"{source}, no download" for name, source in WITHOUT_FILES.items()}
    listed = [(row["name"], row["description"], origin[row["name"]]) for row in rows]
    print(text_table(("name", "description", "source"), listed, terminal_width()))
    return 0


def _data_fetch(arguments: argparse.Namespace) -> int:
    from hypergnn._utils.checks import check_choice
    from hypergnn.datasets.catalogue import BUNDLES, DESCRIPTIONS
    from hypergnn.datasets.sources import fetch

    for name in arguments.names:
        check_choice("NAME", name, tuple(DESCRIPTIONS))
    for name in arguments.names:
        if name not in BUNDLES:
            print(f"{name}: nothing to download")
            continue
        fetched = fetch(name, data_dir=arguments.data_dir, quiet=arguments.quiet)
        print(f"{name}: {fetched.origin}, {len(fetched.content)} files checked")
    return 0


def _data_describe(arguments: argparse.Namespace) -> int:
    from hypergnn.datasets import load

    data = load(arguments.name, data_dir=arguments.data_dir, quiet=arguments.quiet)
    print(json.dumps(data.statistics(), indent=2) if arguments.json else data.describe())
    return 0
