"""``fit`` for several processes: each trains on its own vertices, process 0 writes the run folder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hypergnn._utils.checks import Names
from hypergnn.datasets.dataset import scaled_rows
from hypergnn.distributed.checking import check_run, check_same_run
from hypergnn.distributed.checkpoints import FolderCheckpoints
from hypergnn.distributed.files import ShardedDataset, read_names
from hypergnn.distributed.groups import agreed, on_first, rank_and_size, sum_gradients, sum_of_all
from hypergnn.distributed.heads import Head
from hypergnn.distributed.shards import Shard
from hypergnn.models import KINDS, Config, Network, paper_config
from hypergnn.structures.sparse_features import SparseFeatures
from hypergnn.training import Result
from hypergnn.training.description import digest_of
from hypergnn.training.engine import train
from hypergnn.training.ledger import Ledger
from hypergnn.training.plan import Part, Plan, Task
from hypergnn.training.session import Progress, Session

SILENCE = 0.2
"""Minimum number of seconds between two reports of progress."""


def fit(
    data: ShardedDataset,
    config: Config | None = None,
    *,
    trials: int = 1,
    out: str | os.PathLike[str] | None = None,
    batch: int = 1,
    device: str | torch.device = "cpu",
    checkpoint_every: int = 10,
    curves: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    start: Mapping[str, Tensor] | None = None,
) -> Result:
    """Train a network ``trials`` times, all processes together; the run folder is that of :func:`training.fit`.

    With shards that ``hypergnn train`` has written, a trial is the one that a single process trains, up to the
    rounding of sums; dropout of sparse features is drawn differently. A run that was killed continues from its last
    checkpoint, and ends with the same results as one that was not, with the same number of processes.

    Args:
        data: What this process holds, from :func:`load_data`.
        config: The settings; the paper's for this dataset if omitted. The model must need a hypergraph only, or none.
        trials: The number of trials.
        out: Run folder, which process 0 writes.
        batch: Number of trials to train together.
        device: The device of this process.
        checkpoint_every: Number of epochs after which the state is saved in the run folder.
        curves: Whether to store the losses of each epoch in the run folder.
        on_progress: Called in process 0 several times a second and after each finished trial.
        start: Parameters that every trial starts from, the same in all processes; drawn from its seed if omitted.

    Raises:
        ValueError: If the settings do not fit shards, a part of the split is empty, or processes differ in settings.

    Example:
        >>> import tempfile, hypergnn as hg
        >>> with tempfile.TemporaryDirectory() as folder, hg.distributed.start():
        ...     _ = hg.distributed.save_shards(hg.datasets.load("digits"), f"{folder}/shards", n=1)
        ...     hg.distributed.fit(hg.distributed.load_data(f"{folder}/shards"), Config(max_epochs=3)).records[0].epochs
        3
    """
    about, split = _about(data.head), _split(data.head)
    config = paper_config(about.name) if config is None else config
    sizes = {"trials": trials, "batch": batch, "checkpoint_every": checkpoint_every}
    agreed(lambda: check_run(about.name, split, config, **sizes))
    check_same_run(config, trials, batch, start)
    with ExitStack() as stack:
        session, checkpoints = _opened(stack, about, config, trials, out, curves, on_progress, checkpoint_every, start)
        batches: list[list[int]] = on_first(lambda: _batches(session, checkpoints, batch))
        if batches:
            plan = replace(shard_plan(data, config, torch.device(device)), start=start)
            _train(plan, config, batches, session, checkpoints)
        records = on_first(lambda: None if session is None else _records(session, trials))
    return Result(records or [], interrupted=False)


def _opened(
    stack: ExitStack,
    about: About,
    config: Config,
    trials: int,
    out: str | os.PathLike[str] | None,
    curves: bool,
    on_progress: Callable[[Progress], None] | None,
    checkpoint_every: int,
    parameters: Mapping[str, Tensor] | None,
) -> tuple[Session | None, FolderCheckpoints]:
    """In process 0, the session with its ledger; in all, where checkpoints are."""
    rank, _ = rank_and_size()
    opened: list[Session] = []

    def start() -> None:
        configuration: dict[str, Any] = {"data": about.description, "config": config.settings()}
        if parameters is not None:
            configuration["start"] = digest_of(parameters)
        ledger = None if out is None else stack.enter_context(Ledger.open(out, configuration))
        listeners = [] if on_progress is None else [on_progress]
        opened.append(Session(about, config, ledger, trials, curves, listeners))

    on_first(start)
    folder = Path(out) if out is not None and rank == 0 else None
    return (opened[0] if opened else None), FolderCheckpoints(folder, checkpoint_every)


def _batches(session: Session | None, checkpoints: FolderCheckpoints, size: int) -> list[list[int]]:
    """The seeds to train, those of a checkpoint first."""
    seeds = [] if session is None else session.to_train()
    begun = [seed for seed in checkpoints.seeds() if seed in seeds]  # others of the batch may have finished since
    rest = [seed for seed in seeds if seed not in begun]
    batches = [rest[start : start + size] for start in range(0, len(rest), size)]
    return [begun, *batches] if begun else batches


def _train(
    plan: Plan, config: Config, batches: list[list[int]], session: Session | None, checkpoints: FolderCheckpoints
) -> None:
    last = time.monotonic()

    def report(_: int, running: int) -> None:
        nonlocal last
        if session is None:
            return
        session.running = running
        session.epochs += running
        if time.monotonic() - last > SILENCE:
            session.report()
            last = time.monotonic()

    for batch in batches:
        for trial in train(plan, config, batch, on_epoch=report, checkpoints=checkpoints):
            if session is not None:
                session.finish(trial)
        checkpoints.remove()


def _records(session: Session, trials: int) -> list[Any]:
    return [session.records[seed] for seed in sorted(session.records) if seed < trials]


class _Together:
    """The processes of this run; see :class:`hypergnn.training.plan.Together`."""

    def total(self, value: Tensor) -> Tensor:
        """The sum over all processes."""
        return sum_of_all(value)

    def add_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Give each process the sum of the gradients of all."""
        sum_gradients(parameters)


def shard_plan(data: ShardedDataset, config: Config, device: torch.device) -> Plan:
    """The plan of one process: its rows, and their positions in the whole, which dropout needs."""
    task = _task(data, config, device)
    shard: Any = task.structures["hypergraph"]
    takes = bool(KINDS[config.model].structures)
    step: tuple[Any, ...] = (shard,) if takes else ()
    rows = shard.vertices.int()
    places = {id(step): rows, id(shard): rows, id(shard.senders): shard.places.int()}
    split = _split(data.head)
    known = _known(task, config, shard) if takes else None

    def part(name: str, first: Tensor | None) -> Part:
        chosen: Tensor = getattr(task, name)
        steps = [step] * config.depth if first is None else [(), *[step] * (config.depth - 1)]
        share = chosen.numel() / split[name]
        return Part(task.x, steps, task.y, chosen, first, places=_all_places(places, steps, rows), share=share)

    training = part("train", known if config.first_dropout == 0 else None)
    return Plan(task, training, part("val", known), _Together())


def _all_places(places: dict[int, Tensor], steps: list[Any], rows: Tensor) -> dict[int, Tensor]:
    return {**places, id(steps[0]): rows, id(steps): rows}  # the list stands for the rows that its last step makes


def _known(task: Task, config: Config, shard: Shard) -> Tensor | None:
    """``T X`` of the first layer for dense features, if ``T`` is fixed; every process decides alike."""
    if config.depth == 1 or KINDS[config.model].has_attention or isinstance(task.x, SparseFeatures):
        return None
    if config.is_residual:  # a dense layer comes first
        return None
    first: Any = Network.empty(config, task.n_features, task.n_classes).layers[0]
    if not hasattr(first, "_propagate"):
        return None
    with torch.no_grad():
        known: Tensor = first._propagate(task.x, shard)
    return known


def _task(data: ShardedDataset, config: Config, device: torch.device) -> Task:
    about = _about(data.head)
    scaled = scaled_rows(data.x, config.feature_scaling)
    x: Any
    if hasattr(scaled, "indptr"):
        x = replace(SparseFeatures.from_scipy(scaled), shift=data.entries_before)
    else:
        x = torch.from_numpy(scaled)
    ids = {name: torch.from_numpy(getattr(data, name)).to(device) for name in ("train", "val", "test")}
    return Task(
        x=x.to(device),
        structures={"hypergraph": data.shard.to(device)},  # type: ignore[dict-item]
        y=torch.from_numpy(data.y).to(device),
        **ids,
        n_features=about.n_features,
        n_classes=about.n_classes,
    )


@dataclass(frozen=True)
class _Sizes:
    n_vertices: int
    n_hyperedges: int
    n_incidences: int
    folder: Path

    @property
    def vertex_names(self) -> Names | None:
        """The names of the vertices, read when a model is saved."""
        return read_names(self.folder)


@dataclass(frozen=True)
class About:
    """What the head of the shards says of the data."""

    name: str
    n_features: int
    n_classes: int
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...] | None
    construction: str | None
    source: str
    encoding: dict[str, Any] | None
    hypergraph: _Sizes
    description: dict[str, Any]


def _split(head: Head) -> dict[str, int]:
    """Number of vertices of each part, in all processes together."""
    data: Any = head.data
    return dict(data["split"])


def _about(head: Head) -> About:
    data: Any = head.data
    names = data["feature_names"]
    return About(
        name=data["name"],
        n_features=int(data["description"]["features"]),
        n_classes=len(data["class_names"]),
        class_names=tuple(data["class_names"]),
        feature_names=None if names is None else tuple(names),
        construction=data["construction"],
        source=data["source"],
        encoding=data.get("encoding"),
        hypergraph=_Sizes(head.sizes["vertices"], head.sizes["hyperedges"], head.sizes["incidences"], head.folder),
        description=data["description"],
    )
