"""``hypergnn explain``: why a network predicts a class for a vertex."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypergnn.cli.arguments import EXAMPLE, add_data, say_what_was_read
from hypergnn.cli.imports import add_imports
from hypergnn.cli.predict import data_of, loaded

if TYPE_CHECKING:
    from hypergnn.cli.arguments import Commands
    from hypergnn.datasets import Dataset
    from hypergnn.explanations import Explanation


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "explain",
        help="Explain the prediction of a trained network.",
        description="Print the class of a vertex, its probability, and what speaks\nfor it: each hyperedge and link.",
        usage="hypergnn explain RUN VERTEX [DATASET | --incidences FILE ...] [options]",
        epilog=EXAMPLE.format("explain runs/shop ann", " --plot why.png"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="RUN", help="run folder of `hypergnn train`, or a model file")
    parser.add_argument("vertex", metavar="VERTEX", help="name or number of a vertex")
    add_data(parser, labels=False)
    parser.add_argument("--class", dest="target", metavar="NAME", help="class to explain (default: the predicted one)")
    parser.add_argument("--plot", metavar="FILE", help="also draw a figure, a .png, .svg or .pdf file")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    parser.add_argument("--quiet", action="store_true", help="no notes and no progress bar")
    add_imports(parser)
    parser.set_defaults(run=_explain)


def _explain(arguments: argparse.Namespace) -> int:
    from hypergnn._utils.checks import check_choice

    if arguments.plot is not None:
        check_choice("the ending of --plot", Path(arguments.plot).suffix, (".png", ".svg", ".pdf"))
    from hypergnn.explanations import explain

    model = loaded(Path(arguments.model))
    data = data_of(arguments, model)
    found = explain(model, data, _vertex(arguments.vertex, data), target=arguments.target)
    say_what_was_read(data, quiet=arguments.quiet)
    if arguments.plot is not None:
        from hypergnn.persistence.files import replacing

        with replacing(arguments.plot) as file:
            found.plot().savefig(file, format=Path(arguments.plot).suffix[1:])
    print(json.dumps(_as_json(found), indent=2, default=str) if arguments.json else found)
    return 0


def _vertex(typed: str, data: Dataset) -> Any:
    """The typed name or number. Names that are not text are compared as text."""
    names = data.hypergraph.vertex_names
    for name in () if names is None else names.tolist():
        if str(name) == typed:
            return name
    return int(typed) if typed.isdecimal() else typed


def _as_json(found: Explanation) -> dict[str, Any]:
    return {
        "vertex": found.vertex_name,
        "class": found.target_name,
        "logit": found.logit,
        "score": found.score,
        "probability": found.probability,
        "predicted": found.predicted_name,
        "predicted_probability": found.predicted_probability,
        "parts": found.records(),
        "attention": [one._asdict() for one in found.attention],
    }
