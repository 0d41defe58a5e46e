"""Train a trial on mini-batches with sampled neighbours, one step per batch; evaluation is exact.

A trial depends on its seed only. The order of the vertices, the neighbours and the dropout of a batch are functions of
the seed, the epoch and the number of the batch, so that a trial that continues from a checkpoint ends with the same
bits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from hypergnn.kernels.dropout import seeded
from hypergnn.layers import Layer
from hypergnn.loader import Batch, NeighborLoader
from hypergnn.models import KINDS, Config, ControlVariates, Network, infer
from hypergnn.structures.sparse_features import SparseFeatures
from hypergnn.training import engine
from hypergnn.training.checkpoints import Checkpoints, Moment, check_curves, check_numbers, check_tensors
from hypergnn.training.engine import OnLosses, Trial
from hypergnn.training.losses import losses_of
from hypergnn.training.plan import Task

AT_ONCE = 1 << 24
"""Activations of a layer up to which all vertices are evaluated at once, and not part by part."""


class Processes(Protocol):
    """Several processes that train together: each takes its share of the batches, and gradients are averaged."""

    rank: int
    size: int

    def total(self, value: Tensor) -> Tensor:
        """The sum over all processes."""

    def average_gradients(self, parameters: list[Tensor]) -> None:
        """Give each process the mean of the gradients of all."""


def train_sampled(
    task: Task,
    config: Config,
    seed: int,
    *,
    checkpoints: Checkpoints | None = None,
    on_batch: Callable[[int], None] | None = None,
    on_epoch: Callable[[], None] | None = None,
    on_losses: OnLosses | None = None,
    start: Mapping[str, Tensor] | None = None,
    processes: Processes | None = None,
) -> Trial:
    """Train one trial on batches of its training vertices.

    Args:
        task: The data.
        config: The settings, with ``batch_size`` and ``fanout``.
        seed: The seed.
        checkpoints: Where to save the state every few batches, and to continue from.
        on_batch: Called after each batch with its number of vertices.
        on_epoch: Called after each epoch.
        on_losses: As for :func:`hypergnn.training.engine.train`.
        start: Parameters to start from; drawn from the seed if omitted.
        processes: The processes that train together; this one alone if omitted.
    """
    run = _Run(task, config, seed, start, processes)
    moment = None if checkpoints is None else checkpoints.read(seed)
    if checkpoints is not None and moment is not None:
        try:
            run.restore(moment)
        except ValueError as error:
            checkpoints.refuse(seed, error)
    while True:
        began = time.perf_counter()
        for batch in run.loader.batches(run.epoch, run.number):
            run.step(batch)
            run.spend(began)
            began = time.perf_counter()
            if checkpoints is not None and run.n_steps % checkpoints.every == 0:
                checkpoints.write(seed, run.moment())
            if on_batch is not None:
                on_batch(batch.vertices.shape[0])
        run.end_epoch()
        run.spend(began)
        is_last = engine._is_stopped(on_losses, run.state, run.epoch - 1) or run.is_over()
        if on_epoch is not None:
            on_epoch()
        if is_last:
            return run.finished()


class _Run:
    """A trial in training: the state that checkpoints store, and what was prepared from the data."""

    def __init__(
        self,
        task: Task,
        config: Config,
        seed: int,
        start: Mapping[str, Tensor] | None,
        processes: Processes | None,
    ) -> None:
        self.network = engine._empty(task, config)
        task = task.seen_by(self.network)
        self.task, self.config, self.processes = task, config, processes
        self.state = engine._start(self.network, config, [seed], task.y.device, start)
        engine._use(self.network, self.state.parameters)
        self.epoch, self.number, self.total, self.share = 0, 0, 0.0, 0.0
        self.loader = NeighborLoader(
            task.structures["hypergraph"].to("cpu"),  # type: ignore[arg-type]
            task.x.to("cpu"),
            vertices=task.train.cpu(),
            batch_size=config.batch_size or task.train.numel(),
            fanout=config.fanout,
            depth=config.depth,
            seed=seed,
            attention=KINDS[config.model].has_attention or config.weights == "learned",
            direction=config.direction,
        )
        if processes is not None:
            self.loader = self.loader.shard(processes.rank, processes.size)
        self.weight = _whole_weight(task)
        self.variates = ControlVariates(self.network, self.loader) if config.control_variates else None
        self.anchor: dict[str, Tensor] = {}
        self.refresh()

    @property
    def n_steps(self) -> int:
        """Number of steps so far."""
        return self.epoch * len(self.loader) + self.number

    def step(self, batch: Batch) -> None:
        """Train on one batch."""
        task, device = self.task, self.task.y.device
        batch = batch if device.type == "cpu" else batch.to(device)
        x: Any = batch.x if isinstance(batch.x, SparseFeatures) else batch.x.expand(1, *batch.x.shape)
        with seeded(self.state.seeds, self.epoch * self.loader.n_batches + batch.number):
            if self.variates is None:
                scores = self.network._scores(x, [(block,) for block in batch.blocks])
            else:
                scores = self.variates(replace(batch, x=x))
        rows = torch.arange(scores.shape[1], device=device)
        weight = None if task.weight is None else task.weight[batch.vertices]
        share = batch.vertices.shape[0] / task.train.numel() if weight is None else float(weight.sum()) / self.weight
        loss = losses_of(scores, task.y[batch.vertices], rows, weight)
        loss.sum().backward()
        own = torch.tensor([share * float(loss.detach()), share], dtype=torch.float64)
        if self.processes is not None:
            self.processes.average_gradients(list(self.state.parameters.values()))
            own = self.processes.total(own.to(device)).cpu()
        self.state.optimizer.step()
        engine._check_losses("training", own[:1].tolist(), self.state, self.epoch)
        self.total += float(own[0])
        self.share += float(own[1])
        self.number += 1

    def refresh(self) -> Tensor | None:
        """Store the activations of control variates, and the parameters that they belong to; return the scores."""
        if self.variates is None:
            return None
        self.anchor = {name: one.detach().clone() for name, one in self.state.parameters.items()}
        return self.variates.refresh().to(self.task.y.device)

    def end_epoch(self) -> None:
        """Note the losses of an epoch, and the parameters if they are the best so far."""
        state, curve = self.state, self.state.curves[0]
        several = self.processes is not None and self.processes.size > 1  # which may repeat some batches
        curve["train_loss"].append(self.total / self.share if several else self.total)
        known = self.refresh()
        if self.task.val.numel():
            scores = (self._scores(state.parameters) if known is None else known).unsqueeze(0)
            found = losses_of(scores, self.task.y, self.task.val, self.task.weight)
            if self.processes is not None:  # the same number everywhere, so that all stop together
                found = self.processes.total(found) / self.processes.size
            loss = float(found)
            engine._check_losses("validation", [loss], state, self.epoch)
            engine._keep_best(state, [loss], self.epoch)
            curve["val_loss"].append(loss)
        else:
            state.best, state.best_epoch = state.parameters, [self.epoch]
        self.epoch, self.number, self.total, self.share = self.epoch + 1, 0, 0.0, 0.0

    def is_over(self) -> bool:
        """Whether the trial has trained for all epochs, or its patience is over."""
        waited = self.epoch - 1 - self.state.best_epoch[0]
        return self.epoch == self.config.max_epochs or waited >= self.config.patience

    def finished(self) -> Trial:
        """Evaluate the best parameters on all vertices."""
        task, state = self.task, self.state
        scores = self._scores(state.best)
        if not bool(scores.isfinite().all()):
            engine._check_losses("final", [math.nan], state, self.epoch - 1)
        rows = {"train": task.train, "val": task.val, "test": task.test}
        right = None if task.y.is_floating_point() else scores.argmax(-1) == task.y
        losses = {name: losses_of(scores[None], task.y, chosen, task.weight) for name, chosen in rows.items()}
        return Trial(
            seed=state.seeds[0],
            epochs=self.epoch,
            best_epoch=state.best_epoch[0],
            accuracy={name: engine._percent(right, chosen) for name, chosen in rows.items()},
            loss={name: float(loss) for name, loss in losses.items()},
            seconds=state.seconds[0],
            curves=state.curves[0],
            parameters={name: one[0].detach().clone() for name, one in state.best.items()},
            scores=scores,
        )

    def spend(self, since: float) -> None:
        """Count the time since a moment as time of this trial."""
        self.state.seconds[0] += time.perf_counter() - since

    def _scores(self, parameters: Mapping[str, Tensor]) -> Tensor:
        """Scores of all vertices without dropout and without sampling, ``(N, n_classes)``."""
        task, own = self.task, {name: one.detach()[0] for name, one in parameters.items()}
        linear = task.y.is_floating_point()
        network = Network.from_parameters(self.config, task.n_features, task.n_classes, own, linear_output=linear)
        H: Any = task.structures["hypergraph"]
        widest = max(cast(Layer, layer).width for layer in network.layers)
        is_large = H.n_vertices * widest > AT_ONCE and task.y.device.type == "cpu" and network._form is None
        with torch.no_grad():
            if not is_large:
                return network(task.x, hypergraph=H)  # type: ignore[no-any-return]
            return infer(network, H, task.x)  # type: ignore[return-value]

    def moment(self) -> Moment:
        """All that decides how the trial continues."""
        state = self.state
        numbers = {
            "epoch": self.epoch,
            "number": self.number,
            "total": self.total,
            "share": self.share,
            "steps": state.optimizer.steps,
            "best_loss": None if math.isinf(state.best_loss[0]) else state.best_loss[0],
            "best_epoch": state.best_epoch[0],
            "seconds": state.seconds[0],
            "curves": state.curves[0],
        }
        parts = {
            "parameters": state.parameters,
            "best": state.best,
            "means": state.optimizer.means,
            "squares": state.optimizer.squares,
            "anchor": self.anchor,
        }
        tensors = {f"{part}.{name}": one.detach() for part, values in parts.items() for name, one in values.items()}
        return Moment(numbers, tensors)

    def restore(self, moment: Moment) -> None:
        """Continue from a checkpoint; raise ``ValueError`` and change nothing if it does not fit."""
        self._check(moment)
        state, numbers, tensors = self.state, moment.numbers, moment.tensors
        with torch.no_grad():
            if self.variates is not None:
                for name, parameter in state.parameters.items():
                    parameter.copy_(tensors[f"anchor.{name}"])
                self.refresh()
            for name, parameter in state.parameters.items():
                parameter.copy_(tensors[f"parameters.{name}"])
                state.best[name].copy_(tensors[f"best.{name}"])
                state.optimizer.means[name].copy_(tensors[f"means.{name}"])
                state.optimizer.squares[name].copy_(tensors[f"squares.{name}"])
        state.optimizer.steps = numbers["steps"]
        state.best_loss = [math.inf if numbers["best_loss"] is None else numbers["best_loss"]]
        state.best_epoch, state.seconds = [numbers["best_epoch"]], [numbers["seconds"]]
        state.curves = [numbers["curves"]]
        self.epoch, self.number = numbers["epoch"], numbers["number"]
        self.total, self.share = numbers["total"], numbers.get("share", 0.0)

    def _check(self, moment: Moment) -> None:
        now, numbers = self.moment(), moment.numbers
        check_tensors(moment.tensors, now.tensors)
        missing = now.numbers.keys() - numbers.keys() - {"share"}  # which earlier files, of one process, do not have
        if missing:
            raise ValueError(f"the checkpoint is damaged: it has no {min(missing)}.")
        counts = [numbers.get(name) for name in ("epoch", "number", "steps", "best_epoch")]
        check_numbers("epochs, batches and steps", counts, lowest=0, whole=True)
        epoch, number, _, best = cast(list[int], counts)
        if epoch >= self.config.max_epochs or number > len(self.loader) or best > epoch:
            raise ValueError("the checkpoint is damaged: it has more epochs or batches than the run.")
        best_loss = numbers.get("best_loss")
        sums = [numbers.get("total"), numbers.get("share", 0.0), numbers.get("seconds")]
        check_numbers("losses and seconds", sums + ([] if best_loss is None else [best_loss]), lowest=0)
        check_curves(numbers.get("curves"), {"train_loss": epoch, "val_loss": epoch if self.task.val.numel() else 0})


def _whole_weight(task: Task) -> float:
    """The weight of all training vertices together."""
    return float(task.train.numel()) if task.weight is None else float(task.weight[task.train].sum())
