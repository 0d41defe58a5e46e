"""``hypergnn train``: any number of trials, kept as they end, resumed by the same command."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypergnn._utils.progress import accuracy, shown
from hypergnn.cli.arguments import add_data, check_device, load_data
from hypergnn.cli.signals import stoppable

if TYPE_CHECKING:
    from hypergnn.cli.arguments import Commands
    from hypergnn.datasets import Dataset
    from hypergnn.models import Config
    from hypergnn.training import Outcome

_MODELS = "hyper-conv, hyper-attention, gcn, gat, gcn+hyper-conv, gat+hyper-attention, mlp"
_SETTINGS: dict[str, tuple[Any, str]] = {
    "hidden": (int, "features of each head"),
    "heads": (int, "heads of all layers but the last"),
    "depth": (int, "number of layers"),
    "dropout": (float, "share of each layer's input left out"),
    "attention_dropout": (float, "share of what attention learns left out"),
    "feature_scaling": (str, "row: divide by the row's sum; none: as it is (default of --features)"),
    "learning_rate": (float, "of Adam"),
    "weight_decay": (float, "factor of the L2 penalty"),
    "patience": (int, "epochs to wait for a lower validation loss"),
    "max_epochs": (int, "epochs at most"),
}


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "train",
        help="Train a network, one trial or a hundred.",
        description="Train a network with the seeds 0, 1, 2, … The same command resumes a run that was stopped.",
        usage="hypergnn train [DATASET | --incidences FILE --labels FILE ...] [options]",
    )
    parser.add_argument("--model", default="hyper-conv", metavar="NAME", help=f"{_MODELS} (default: %(default)s)")
    parser.add_argument("--trials", type=int, default=1, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--out", metavar="DIR", help="run folder (default: runs/<dataset>-<model>)")
    parser.add_argument("--seed", type=int, metavar="N", help="which split to draw, where it is drawn (default: 0)")
    parser.add_argument("--curves", action="store_true", help="keep the losses of each epoch")
    parser.add_argument("--quiet", action="store_true", help="print the result only")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, with all records")
    add_data(parser, labels=True)
    settings = parser.add_argument_group("settings (default: the paper's for the dataset, or else for Cora)")
    for name, (kind, text) in _SETTINGS.items():
        metavar = {int: "N", float: "X", str: "HOW"}[kind]
        settings.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=text)
    settings.add_argument("--skip", action=argparse.BooleanOptionalAction, help="skip connection in the first layer")
    speed = parser.add_argument_group("speed")
    speed.add_argument("--batch", type=int, metavar="N", help="trials trained together by a worker")
    speed.add_argument(
        "--jobs", type=int, metavar="N", help="workers, each with trials of its own (default: as torch has threads)"
    )
    speed.add_argument("--device", default="cpu", metavar="NAME", help="cpu, cuda, … (default: %(default)s)")
    parser.set_defaults(run=_train)


def _train(arguments: argparse.Namespace) -> int:
    if arguments.incidences is not None and arguments.labels is None:
        raise ValueError("--labels must be given with --incidences: there is nothing to learn without.")
    with stoppable():
        data = load_data(arguments)
        config = _config(arguments, data.name)
        out = Path("runs", f"{data.name}-{config.model}") if arguments.out is None else Path(arguments.out)
        outcome = _fit(data, config, out, arguments)
    if arguments.json:
        print(json.dumps(_as_json(data, config, out, outcome), indent=2))
    elif not outcome.interrupted:
        values = tuple(record["test_accuracy"] for record in outcome.records)
        print(f"test accuracy {accuracy(values)} ({_trials(len(values))}, {out})")
    if not outcome.interrupted:
        return 0
    kept = f"stopped: {len(outcome.records)} of {_trials(arguments.trials)} are kept in {out}. To resume:"
    print(f"{kept}\n  {arguments.typed}", file=sys.stderr)
    return 130


def _config(arguments: argparse.Namespace, dataset: str) -> Config:
    from hypergnn.models import KINDS, paper_config

    given = {name: getattr(arguments, name) for name in (*_SETTINGS, "skip") if getattr(arguments, name) is not None}
    if arguments.features is not None:  # rows of measurements mean nothing as shares: one alone would always be 1
        given = {"feature_scaling": "none", **given}
    config = replace(paper_config(dataset if arguments.dataset else "", arguments.model), **given)
    if "attention_dropout" in given and not KINDS[config.model].has_attention:
        raise ValueError(f"--attention-dropout must be omitted with {config.model}, which has no attention.")
    return config


def _fit(data: Dataset, config: Config, out: Path, arguments: argparse.Namespace) -> Outcome:
    """Train, and show how far it is; an interrupt while nothing is trained leaves what was there before."""
    from hypergnn.training import Outcome, fit
    from hypergnn.training.ledger import read

    seeds = range(arguments.trials)
    before = read(out).missing(seeds) if (out / "run.json").exists() else seeds
    try:
        with shown(quiet=arguments.quiet) as listener:
            outcome = fit(
                data,
                config,
                trials=arguments.trials,
                out=out,
                batch=arguments.batch,
                jobs=arguments.jobs,
                device=check_device(arguments.device),
                curves=arguments.curves,
                on_progress=listener,
            )
    except KeyboardInterrupt:
        there = read(out).records if (out / "run.json").exists() else ()
        return Outcome([record for record in there if record["seed"] in seeds], interrupted=True)
    if not before and not arguments.quiet:
        print(f"nothing to train: {_trials(arguments.trials)} had ended before", file=sys.stderr)
    return outcome


def _as_json(data: Dataset, config: Config, out: Path, outcome: Outcome) -> dict[str, Any]:
    from hypergnn.training.description import describe

    several = len(outcome.records) > 1
    centre, spread = outcome.test_accuracy() if outcome.records else (None, None)
    return {
        "dataset": data.name,
        "model": config.model,
        "out": str(out),
        "interrupted": outcome.interrupted,
        "trials": len(outcome.records),
        "test_accuracy": {
            "mean": centre,
            "std": spread if several else None,
            "interval_95": _interval([record["test_accuracy"] for record in outcome.records]),
        },
        "configuration": describe(data, config),
        "records": outcome.records,
    }


def _interval(values: list[float]) -> list[float] | None:
    from hypergnn.experiments.statistics import summarise

    interval = summarise(values).interval if values else None
    return None if interval is None else list(interval)


def _trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count} trials"
