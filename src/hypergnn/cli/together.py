"""``torchrun … -m hypergnn train``: all processes train together; process 0 writes and prints, the others are quiet."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hypergnn._utils.progress import shown
from hypergnn.cli.arguments import check_device, check_labels, encoding_of, say_what_was_read
from hypergnn.cli.signals import stoppable
from hypergnn.cli.train import config_of, data_and_config, describe_run, earlier, print_result

if TYPE_CHECKING:
    from torch import Tensor

    from hypergnn.datasets import Dataset
    from hypergnn.distributed.heads import Head
    from hypergnn.models import Config
    from hypergnn.persistence.models import SavedModel
    from hypergnn.training import Result


def train_together(arguments: argparse.Namespace) -> int:
    """Train as one of several processes; return the exit code."""
    from hypergnn import distributed

    first = os.environ["RANK"] == "0"
    try:
        with stoppable(), distributed.start(check_device(arguments.device)) as device:
            return _train(arguments, str(device))
    except distributed.OtherProcessError as error:
        if first:
            print(f"hypergnn: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if first:
            print(f"hypergnn: stopped. To resume from the last checkpoint:\n  {arguments.typed}", file=sys.stderr)
        return 130


def _train(arguments: argparse.Namespace, device: str) -> int:
    from hypergnn import distributed
    from hypergnn.distributed.groups import on_first

    rank, size = distributed.rank_and_size()
    if on_first(lambda: _is_sampled(arguments)):
        return _train_batches(arguments, device)
    folder, config, out, start = on_first(lambda: _prepared(arguments, size))
    data = distributed.load_data(folder)
    with shown(quiet=arguments.quiet or rank != 0) as listener:
        result: Result = distributed.fit(
            data,
            config,
            out=out,
            **_sizes(arguments),
            device=device,
            curves=arguments.curves,
            on_progress=listener,
            start=start,
        )
    if rank == 0 and data.head.data is not None:
        configuration = {"data": data.head.data["description"], "config": config.settings()}
        print_result(arguments, data.head.data["name"], configuration, out, result)
    return 0


def _is_sampled(arguments: argparse.Namespace) -> bool:
    """Whether to train on sampled batches: as the command line says, or the model that is trained further."""
    if arguments.jobs is not None:
        raise ValueError("--jobs must be omitted under torchrun, whose processes are the workers.")
    size = arguments.batch_size
    if size is None and arguments.resume_from is not None:
        size = earlier(arguments).network.config.batch_size
    if size is None:
        return False
    if arguments.shards is not None:
        raise ValueError("--shards must be omitted with --batch-size: each process draws from the whole hypergraph.")
    if arguments.batch is not None:
        raise ValueError("--batch must be omitted with --batch-size: trials are trained one by one.")
    return True


def _train_batches(arguments: argparse.Namespace, device: str) -> int:
    """Train on sampled batches: every process reads all of the data."""
    from hypergnn import distributed
    from hypergnn.distributed.groups import agreed

    rank, _ = distributed.rank_and_size()
    arguments.quiet = arguments.quiet or rank != 0
    agreed(lambda: check_labels(arguments, "training"))
    model = agreed(lambda: None if arguments.resume_from is None else earlier(arguments))
    if rank != 0:
        agreed(lambda: None)  # wait for process 0, which may have to fetch the data
    data, config = agreed(lambda: data_and_config(arguments, model))
    if rank == 0:
        agreed(lambda: None)
    out = _run_folder(arguments, data.name, config)
    if not arguments.quiet:
        say_what_was_read(data, quiet=False, encoded=encoding_of(model))
    with shown(quiet=arguments.quiet) as listener:
        result = distributed.fit_batches(
            data,
            config,
            trials=arguments.trials,
            out=out,
            device=device,
            checkpoint_every=arguments.checkpoint_every,
            curves=arguments.curves,
            on_progress=listener,
            start=model,
        )
    if rank == 0:
        print_result(arguments, data.name, describe_run(data, config), out, result)
    return 0


def _prepared(arguments: argparse.Namespace, size: int) -> tuple[Path, Config, Path, dict[str, Tensor] | None]:
    """In process 0: the folder of the shards, divided now if it is not there, the settings and the run folder.

    Also the parameters of the model that is trained further.
    """
    model = None if arguments.resume_from is None else earlier(arguments)
    start = None if model is None else model.network.state_dict()
    if arguments.shards is not None:
        return *_given(arguments, model), start
    check_labels(arguments, "training")
    data, config = data_and_config(arguments, model)
    if model is not None:
        from hypergnn.training.continuing import continuing

        data, config = continuing(model, data, config)
    _check(arguments, data.name, {part: getattr(data, part).size for part in ("train", "val", "test")}, config)
    out = _run_folder(arguments, data.name, config)
    if not arguments.quiet:
        say_what_was_read(data, quiet=False, encoded=encoding_of(model))
    return _divided(data, out, size, quiet=arguments.quiet), config, out, start


def _given(arguments: argparse.Namespace, model: SavedModel | None) -> tuple[Path, Config, Path]:
    from hypergnn.distributed.heads import read_head
    from hypergnn.training.continuing import check_same_network

    if arguments.dataset is not None or arguments.incidences is not None:
        raise ValueError("--shards must not be combined with DATASET or --incidences: the shards hold the data.")
    head = read_head(arguments.shards)
    if head.data is None:
        raise ValueError(f"--shards must hold a dataset; {arguments.shards} holds a hypergraph only.")
    config = config_of(arguments, head.data["name"], model)
    _check(arguments, head.data["name"], head.data["split"], config)
    if model is not None:
        check_same_network(model, config)
        own = [list(model.class_names), model.network.n_features, model.about.get("feature_names")]
        names = head.data["feature_names"]
        if own != [list(head.data["class_names"]), head.data["description"]["features"], names and list(names)]:
            raise ValueError(
                f"--shards must hold the features and classes of the model of --resume-from, in its order; "
                f"{arguments.shards} holds others. Train from the tables instead, without --shards."
            )
    return Path(arguments.shards), config, _run_folder(arguments, head.data["name"], config)


def _check(arguments: argparse.Namespace, dataset: str, split: Mapping[str, int], config: Config) -> None:
    """Raise before anything is divided if it could not be trained afterwards."""
    from hypergnn.distributed.checking import check_run

    check_run(dataset, split, config, **_sizes(arguments))


def _sizes(arguments: argparse.Namespace) -> dict[str, int]:
    return {
        "trials": arguments.trials,
        "batch": 1 if arguments.batch is None else arguments.batch,
        "checkpoint_every": 10 if arguments.checkpoint_every is None else arguments.checkpoint_every,
    }


def _run_folder(arguments: argparse.Namespace, dataset: str, config: Config) -> Path:
    return Path("runs", f"{dataset}-{config.model}") if arguments.out is None else Path(arguments.out)


def _divided(data: Dataset, out: Path, size: int, *, quiet: bool) -> Path:
    """The folder with the shards of this data, beside the run folder; divided once."""
    from hypergnn.distributed.files import save_for_training
    from hypergnn.distributed.heads import read_head
    from hypergnn.models import Config
    from hypergnn.training.description import describe

    folder = out.with_name(f"{out.name}-shards-{size}")
    if folder.exists():
        head = read_head(folder)
        if head.data is None or head.data["description"] != describe(data, Config())["data"]:
            raise ValueError(
                f"{folder} must hold the shards of {data.name}; it holds those of other data. Remove it, or use "
                "another --out."
            )
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    head = save_for_training(data, folder, size)
    if not quiet:
        print(_said(head), file=sys.stderr)
    return folder


def _said(head: Head) -> str:
    n_cut, n_all = head.cut["hyperedges"], max(head.sizes["hyperedges"], 1)
    return f"divided among {head.n} processes: {n_cut / n_all:.1%} of the hyperedges cut ({head.folder})"
