"""``hypergnn train``: any number of trials, recorded as they finish, resumed by the same command."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
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
    encoding_of,
    load_data,
    say_what_was_read,
    with_needed_graph,
)
from hypergnn.cli.imports import HELP, add_imports
from hypergnn.cli.signals import stoppable

if TYPE_CHECKING:
    from hypergnn.cli.arguments import Commands
    from hypergnn.datasets import Dataset
    from hypergnn.models import Config
    from hypergnn.persistence.models import SavedModel
    from hypergnn.training import Result

_USUAL: dict[str, tuple[Any, str]] = {
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
_MORE: dict[str, tuple[Any, str]] = {
    "weights": (str, "given, inverse-frequency or learned"),
    "hyperedge_features": (str, "members or co-occurrence"),
    "rebuild_every": (int, "epochs between new hyperedges of dynamic-hyper-conv"),
    "pool": (str, "hyper-sage: mean, max or attention"),
    "residual": (str, "initial: initial residual and identity mapping; none"),
    "alpha": (float, "share of the first features, with --residual initial"),
    "theta": (float, "share of learned mappings, with --residual initial"),
    "layer_decay": (float, "L2 penalty of the layers, with --residual initial"),
    "norm": (str, "pair: PairNorm; batch, for random propagation; none"),
    "activation": (str, "elu; relu for deep networks, random propagation"),
    "input_dropout": (float, "dropout of the features (default: --dropout)"),
    "steps": (int, "random propagation: power of the transition"),
    "draws": (int, "random propagation: draws in a training step"),
    "row_dropout": (float, "random propagation: share of dropped vertices"),
    "consistency": (float, "random propagation: weight of the consensus"),
    "temperature": (float, "random propagation: sharpens the consensus"),
    "batch_size": (int, "training vertices in a batch (default: all)"),
    "fanout": (str, "5x10,5x10: hyperedges x members drawn per layer"),
}
_SETTINGS = {**_USUAL, **_MORE}
_FLAGS = ("skip", "control_variates")
_SPEED: dict[str, tuple[Any, str]] = {
    "batch": (int, "trials that a worker trains together"),
    "jobs": (int, "parallel workers (default: threads of torch)"),
    "device": (str, "cpu, cuda, … (default: cpu)"),
    "checkpoint_every": (int, "batches (torchrun: epochs) between checkpoints"),
    "shards": (str, "under torchrun: folder with the divided data"),
}
_MODEL = "hyper-conv"
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
    parser.add_argument("--model", metavar="NAME", help=f"network, see --help-settings (default: {_MODEL})")
    parser.add_argument("--trials", type=int, default=1, metavar="N", help="number of trials (default: %(default)s)")
    parser.add_argument("--out", metavar="DIR", help="run folder (default: runs/<dataset>-<model>)")
    parser.add_argument("--resume-from", metavar="RUN", help="continue the model of RUN, a run folder or model file")
    parser.add_argument("--seed", type=int, metavar="N", help=argparse.SUPPRESS)
    parser.add_argument("--curves", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--quiet", action="store_true", help="print only the result")
    add_imports(parser, hidden=True)  # --help-settings lists it
    parser.add_argument("--json", action="store_true", help="print the result as JSON, with all records")
    parser.add_argument(
        "--help-settings", action=_SettingsHelp, nargs=0, help="list models, --hidden, --jobs, … and exit"
    )
    parser.add_argument("--help-more", action=_SettingsHelp, nargs=0, help=argparse.SUPPRESS)
    add_data(parser, labels=True)
    for name, (kind, _) in {**_SETTINGS, **_SPEED}.items():
        default = "cpu" if name == "device" else None
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default, help=argparse.SUPPRESS)
    for name in _FLAGS:
        parser.add_argument(
            f"--{name.replace('_', '-')}", action=argparse.BooleanOptionalAction, help=argparse.SUPPRESS
        )
    parser.set_defaults(run=_train)


class _SettingsHelp(argparse.Action):
    """Print the options that ``--help`` leaves out, and exit."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002
        values: str | Sequence[Any] | None,  # noqa: ARG002
        option_string: str | None = None,
    ) -> None:
        lines = ["usage: hypergnn train ... [options]", ""]
        if option_string == "--help-more":
            lines += ["settings of deep networks, random propagation, hyperedges and batches:"]
            lines += [_described(name, *option) for name, option in _MORE.items()]
            lines += [f"  {'--control-variates':<26}sample only what has changed since the last epoch"]
        else:
            names = textwrap.wrap(", ".join(model_names()), 76, break_on_hyphens=False)
            lines += ["models:", *(f"  {line}" for line in names), ""]
            lines += ["settings (default: the paper's; for new data, those for Cora):"]
            lines += [_described(name, *option) for name, option in _USUAL.items()]
            lines += [f"  {'--skip, --no-skip':<26}skip connection in all layers but the last"]
            lines += [f"  {'--import MODULE':<26}{HELP}", "speed:"]
            lines += [_described(name, *option) for name, option in _SPEED.items()]
            lines += ["others:", f"  {'--seed N':<26}seed of a random split (default: 0)"]
            lines += [f"  {'--curves':<26}store the losses of each epoch"]
            lines += ["further settings: hypergnn train --help-more"]
        print("\n".join(lines))
        parser.exit()


def _described(name: str, kind: Any, text: str) -> str:
    option = f"--{name.replace('_', '-')} {_METAVARS[kind]}"
    return f"  {option:<26}{text}"


def _train(arguments: argparse.Namespace) -> int:
    if is_one_of_several():
        from hypergnn.cli.together import train_together

        return train_together(arguments)
    if arguments.shards is not None:
        raise ValueError(
            "--shards must be used by several processes: torchrun --nproc-per-node N -m hypergnn train --shards DIR."
        )
    check_labels(arguments, "training")
    with stoppable():
        model = None if arguments.resume_from is None else earlier(arguments)
        data, config = data_and_config(arguments, model)
        out = Path("runs", f"{data.name}-{config.model}") if arguments.out is None else Path(arguments.out)
        result = _fit(data, config, out, arguments, model)
    print_result(arguments, data.name, describe_run(data, config), out, result)
    if result.failures:
        print(f"hypergnn: {counted(len(result.failures))} could not be trained:", file=sys.stderr)
        print(*(f"  {failure}" for failure in result.failures), sep="\n", file=sys.stderr)
    if not result.interrupted:
        return 2 if result.failures else 0
    finished = f"stopped: {len(result.records)} of {counted(arguments.trials)} finished, in {out}. To resume:"
    print(f"{finished}\n  {arguments.typed}", file=sys.stderr)
    return 130


def is_one_of_several() -> bool:
    """Whether ``torchrun`` has started this process; found out without loading torch."""
    return all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))


def describe_run(data: Dataset, config: Config) -> dict[str, Any]:
    """The configuration of a run as its folder stores it."""
    from hypergnn.training.description import describe

    return describe(data, config)


def print_result(
    arguments: argparse.Namespace, dataset: str, configuration: dict[str, Any], out: Path, result: Result
) -> None:
    """Print the test accuracy, or all as JSON."""
    if arguments.json:
        print(json.dumps(_as_json(dataset, configuration, out, result), indent=2))
    elif not result.interrupted:
        values = tuple(record.test_accuracy for record in result.records)
        print(f"test accuracy {accuracy(values)} ({counted(len(values))}, {out})")


def earlier(arguments: argparse.Namespace) -> SavedModel:
    """The model to continue."""
    from hypergnn.cli.predict import loaded

    model = loaded(Path(arguments.resume_from))
    if arguments.out is not None and Path(arguments.out).resolve() == Path(arguments.resume_from).resolve():
        raise ValueError(f"--out must be another folder than that of --resume-from; got {arguments.out} for both.")
    return model


def data_and_config(arguments: argparse.Namespace, model: SavedModel | None) -> tuple[Dataset, Config]:
    """The data and settings from the command line; if a model is continued, encoded as that model expects."""
    data = load_data(arguments) if model is None else _known_data(arguments, model)
    config = config_of(arguments, data.name, model)
    data = with_needed_graph(data, config.model, quiet=arguments.quiet)
    return data, config


def _known_data(arguments: argparse.Namespace, model: SavedModel) -> Dataset:
    """The selected data, encoded as the model knows it."""
    from hypergnn.cli.predict import encoder_of

    encoder = encoder_of(arguments, model)
    arguments.known_features = None  # the labels may be another column of --features
    return load_data(arguments, encode_features=encoder or False)


def config_of(arguments: argparse.Namespace, dataset: str, model: SavedModel | None = None) -> Config:
    """The settings from the command line; the others are those of the model to continue, if there is one."""
    from hypergnn.models import KINDS, paper_config

    given = {name: getattr(arguments, name) for name in (*_SETTINGS, *_FLAGS) if getattr(arguments, name) is not None}
    if "fanout" in given:
        given["fanout"] = _fanout(given["fanout"])
    if model is not None:
        own = model.network.config.model
        if arguments.model not in (None, own):
            raise ValueError(f"--model must be omitted: --resume-from continues {own}; got {arguments.model}.")
        config = replace(model.network.config, **given)
    else:
        if arguments.features is not None:  # measurements are no counts: dividing by the sum of a row makes no sense
            given = {"feature_scaling": "none", **given}
        config = replace(paper_config(dataset if arguments.dataset else "", arguments.model or _MODEL), **given)
    if "attention_dropout" in given and not KINDS[config.model].has_attention:
        raise ValueError(f"--attention-dropout must be omitted for {config.model}, which has no attention.")
    return config


def _fanout(text: str) -> tuple[tuple[int, int] | None, ...]:
    """The fan-out of each layer: ``5x10,all`` are ``(5, 10)`` and all neighbours."""
    layers: list[tuple[int, int] | None] = []
    for layer in text.split(","):
        first, _, second = layer.strip().partition("x")
        if layer.strip() == "all":
            layers.append(None)
        elif first.isdecimal() and second.isdecimal():
            layers.append((int(first), int(second)))
        else:
            raise ValueError(
                "--fanout must be hyperedges x members for each layer, such as 5x5,5x5, or all for a layer without "
                f"sampling; got {text!r}."
            )
    return tuple(layers)


def _fit(data: Dataset, config: Config, out: Path, arguments: argparse.Namespace, model: SavedModel | None) -> Result:
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
                checkpoint_every=arguments.checkpoint_every,
                on_progress=None if listener is None else _after_saying_what_was_read(data, model, listener),
                start=model,
            )
    except KeyboardInterrupt:
        before_it = read(out, curves=False).records if (out / "run.json").exists() else ()
        return Result([record for record in before_it if record.seed in seeds], interrupted=True)
    if not missing and not arguments.quiet:
        print(f"nothing to train: all of {counted(arguments.trials)} finished earlier", file=sys.stderr)
    return result


def _after_saying_what_was_read(data: Dataset, model: SavedModel | None, listener: Listener) -> Listener:
    """The listener; before its first call, when all settings have been accepted, the data is described."""
    is_said = False

    def tell(progress: Progress) -> None:
        nonlocal is_said
        if not is_said:
            say_what_was_read(data, quiet=False, encoded=encoding_of(model))
        is_said = True
        listener(progress)

    return tell


def _as_json(dataset: str, configuration: dict[str, Any], out: Path, result: Result) -> dict[str, Any]:
    several = len(result.records) > 1
    centre, spread = result.test_accuracy() if result.records else (None, None)
    return {
        "dataset": dataset,
        "model": configuration["config"]["model"],
        "out": str(out),
        "interrupted": result.interrupted,
        "trials": len(result.records),
        "test_accuracy": {
            "mean": centre,
            "std": spread if several else None,
            "interval_95": _interval([record.test_accuracy for record in result.records]),
        },
        "configuration": configuration,
        "failures": [asdict(failure) for failure in result.failures],
        "records": [record.to_json() for record in result.records],
    }


def _interval(values: list[float]) -> list[float] | None:
    from hypergnn.experiments.statistics import summarise

    interval = summarise(values).interval if values else None
    return None if interval is None else list(interval)
