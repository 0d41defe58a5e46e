"""``hypergnn train``: any number of trials, recorded as they finish, resumed by the same command."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypergnn._utils.names import model_names
from hypergnn._utils.progress import Listener, Progress, accuracy, shown
from hypergnn.cli.arguments import (
    EXAMPLE,
    add_data,
    check_device,
    check_labels,
    counted,
    load_data,
    say_what_was_read,
    with_needed_graph,
)
from hypergnn.cli.signals import stoppable

if TYPE_CHECKING:
    from hypergnn.cli.arguments import Commands
    from hypergnn.datasets import Dataset
    from hypergnn.models import Config
    from hypergnn.training import Result

_SETTINGS: dict[str, tuple[Any, str]] = {
    "hidden": (int, "features of each head"),
    "heads": (int, "heads of all layers except the last"),
    "depth": (int, "number of layers"),
    "dropout": (float, "dropout of the input of each layer"),
    "attention_dropout": (float, "dropout of the attention"),
    "direction": (str, "forward, backward, both or undirected"),
    "feature_scaling": (str, "row: divide by the sum of the row; none: unscaled"),
    "learning_rate": (float, "learning rate of Adam"),
    "weight_decay": (float, "factor of the L2 penalty"),
    "patience": (int, "epochs without a lower validation loss"),
    "max_epochs": (int, "maximum number of epochs"),
}
_SPEED: dict[str, tuple[Any, str]] = {
    "batch": (int, "trials that a worker trains together"),
    "jobs": (int, "parallel workers (default: threads of torch)"),
    "device": (str, "cpu, cuda, … (default: cpu)"),
}
_METAVARS = {int: "N", float: "X", str: "NAME"}


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "train",
        help="Train a network, one trial or a hundred.",
        description="Train a network with the seeds 0, 1, 2, … The same command resumes a run.",
        usage="hypergnn train [DATASET | --incidences FILE --labels FILE ...] [options]",
        epilog=EXAMPLE.format("train", " --label segment"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,  # one line less: help must fit on a screen
    )
    parser.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)
    names = ", ".join(model_names())
    parser.add_argument("--model", default="hyper-conv", metavar="NAME", help=f"{names} (default: %(default)s)")
    parser.add_argument("--trials", type=int, default=1, metavar="N", help="number of trials (default: %(default)s)")
    parser.add_argument("--out", metavar="DIR", help="run folder (default: runs/<dataset>-<model>)")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of a random split (default: 0)")
    parser.add_argument("--curves", action="store_true", help="store the losses of each epoch")
    parser.add_argument("--quiet", action="store_true", help="print only the result")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, with all records")
    parser.add_argument(
        "--help-settings", action=_SettingsHelp, nargs=0, help="list --hidden, --dropout, --jobs, … and exit"
    )
    add_data(parser, labels=True)
    for name, (kind, _) in {**_SETTINGS, **_SPEED}.items():
        default = "cpu" if name == "device" else None
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default, help=argparse.SUPPRESS)
    parser.add_argument("--skip", action=argparse.BooleanOptionalAction, help=argparse.SUPPRESS)
    parser.set_defaults(run=_train)


class _SettingsHelp(argparse.Action):
    """Print the options that ``--help`` leaves out, and exit."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002
        values: str | Sequence[Any] | None,  # noqa: ARG002
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        lines = [
            "usage: hypergnn train ... [options]",
            "",
            "settings (default: the paper's; for new data, those for Cora):",
        ]
        lines += [_described(name, *option) for name, option in _SETTINGS.items()]
        lines += [f"  {'--skip, --no-skip':<26}skip connection in the first layer", "", "speed:"]
        lines += [_described(name, *option) for name, option in _SPEED.items()]
        print("\n".join(lines))
        parser.exit()


def _described(name: str, kind: Any, text: str) -> str:
    option = f"--{name.replace('_', '-')} {_METAVARS[kind]}"
    return f"  {option:<26}{text}"


def _train(arguments: argparse.Namespace) -> int:
    check_labels(arguments, "training")
    with stoppable():
        data = load_data(arguments)
        config = _config(arguments, data.name)
        data = with_needed_graph(data, config.model, quiet=arguments.quiet)
        out = Path("runs", f"{data.name}-{config.model}") if arguments.out is None else Path(arguments.out)
        result = _fit(data, config, out, arguments)
    if arguments.json:
        print(json.dumps(_as_json(data, config, out, result), indent=2))
    elif not result.interrupted:
        values = tuple(record.test_accuracy for record in result.records)
        print(f"test accuracy {accuracy(values)} ({counted(len(values))}, {out})")
    if result.failures:
        print(f"hypergnn: {counted(len(result.failures))} could not be trained:", file=sys.stderr)
        print(*(f"  {failure}" for failure in result.failures), sep="\n", file=sys.stderr)
    if not result.interrupted:
        return 2 if result.failures else 0
    finished = f"stopped: {len(result.records)} of {counted(arguments.trials)} finished, in {out}. To resume:"
    print(f"{finished}\n  {arguments.typed}", file=sys.stderr)
    return 130


def _config(arguments: argparse.Namespace, dataset: str) -> Config:
    from hypergnn.models import KINDS, paper_config

    given = {name: getattr(arguments, name) for name in (*_SETTINGS, "skip") if getattr(arguments, name) is not None}
    if arguments.features is not None:  # measurements are no counts: dividing by the sum of a row makes no sense
        given = {"feature_scaling": "none", **given}
    config = replace(paper_config(dataset if arguments.dataset else "", arguments.model), **given)
    if "attention_dropout" in given and not KINDS[config.model].has_attention:
        raise ValueError(f"--attention-dropout must be omitted for {config.model}, which has no attention.")
    return config


def _fit(data: Dataset, config: Config, out: Path, arguments: argparse.Namespace) -> Result:
    """Train and show the progress. An interrupt before training returns the trials that were finished before."""
    from hypergnn.training import Result, fit
    from hypergnn.training.ledger import read

    seeds = range(arguments.trials)
    missing = read(out, curves=False).missing(seeds) if (out / "run.json").exists() else seeds
    try:
        with shown(quiet=arguments.quiet) as listener:
            result = fit(
                data,
                config,
                trials=arguments.trials,
                out=out,
                batch=arguments.batch,
                jobs=arguments.jobs,
                device=check_device(arguments.device),
                curves=arguments.curves,
                on_progress=None if listener is None else _after_saying_what_was_read(data, listener),
            )
    except KeyboardInterrupt:
        before_it = read(out, curves=False).records if (out / "run.json").exists() else ()
        return Result([record for record in before_it if record.seed in seeds], interrupted=True)
    if not missing and not arguments.quiet:
        print(f"nothing to train: all of {counted(arguments.trials)} finished earlier", file=sys.stderr)
    return result


def _after_saying_what_was_read(data: Dataset, listener: Listener) -> Listener:
    """The listener; before its first call, when all settings have been accepted, the data is described."""
    is_said = False

    def tell(progress: Progress) -> None:
        nonlocal is_said
        if not is_said:
            say_what_was_read(data, quiet=False)
        is_said = True
        listener(progress)

    return tell


def _as_json(data: Dataset, config: Config, out: Path, result: Result) -> dict[str, Any]:
    from hypergnn.training.description import describe

    several = len(result.records) > 1
    centre, spread = result.test_accuracy() if result.records else (None, None)
    return {
        "dataset": data.name,
        "model": config.model,
        "out": str(out),
        "interrupted": result.interrupted,
        "trials": len(result.records),
        "test_accuracy": {
            "mean": centre,
            "std": spread if several else None,
            "interval_95": _interval([record.test_accuracy for record in result.records]),
        },
        "configuration": describe(data, config),
        "failures": [asdict(failure) for failure in result.failures],
        "records": [record.to_json() for record in result.records],
    }


def _interval(values: list[float]) -> list[float] | None:
    from hypergnn.experiments.statistics import summarise

    interval = summarise(values).interval if values else None
    return None if interval is None else list(interval)
