"""Train a batch of trials together, in one thread.

Parameters have a leading axis of trials. The results of a trial depend on its seed and not on the other trials: each
product is computed trial by trial, dropout is drawn from counters, and the optimiser works entry by entry.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter

from hypergnn.kernels.dropout import seeded
from hypergnn.kernels.memory import reused_buffers
from hypergnn.models import KINDS, Config, Network
from hypergnn.models.network import draws, followed
from hypergnn.structures.sparse_features import SparseFeatures
from hypergnn.training.adam import Adam
from hypergnn.training.losses import Losses, disagreement, is_true, losses_of, sum_of
from hypergnn.training.plan import Part, Plan, Task, Together

Parameters = dict[str, Parameter]
OnLosses = Callable[[int, Losses], object]
"""Called after each epoch with its number and the losses; training stops if it returns ``True``."""


@dataclass(frozen=True)
class Trial:
    """A finished trial, evaluated with the parameters of its epoch with the lowest validation loss."""

    seed: int
    epochs: int
    best_epoch: int
    accuracy: dict[str, float]
    """In percent, for ``train``, ``val`` and ``test``; NaN for an empty part of the split, and in a regression."""
    loss: dict[str, float]
    seconds: float
    curves: dict[str, list[float]]
    """``train_loss`` and ``val_loss`` of each epoch; ``val_loss`` is empty without validation vertices."""
    parameters: dict[str, Tensor]
    scores: Tensor
    """Class scores or predicted numbers of every vertex, ``(N, n_classes)``."""


@dataclass
class _State:
    """The state of a batch of trials; the first axis of every tensor is the trial."""

    seeds: list[int]
    parameters: Parameters
    best: Mapping[str, Tensor]
    optimizer: Adam
    best_loss: list[float]
    best_epoch: list[int]
    seconds: list[float]
    curves: list[dict[str, list[float]]] = field(default_factory=list)


class Checkpoints(Protocol):
    """Where the state of trials in training is saved, and restored from."""

    def load(self, state: _State) -> int:
        """Restore the state, in place, if it was saved; return the epoch to continue with."""

    def save(self, state: _State, epoch: int) -> None:
        """Save the state, if it is time, with the epoch to continue with."""


def train(
    plan: Plan,
    config: Config,
    seeds: Sequence[int],
    *,
    on_epoch: Callable[[int, int], None] | None = None,
    on_losses: OnLosses | None = None,
    start: Mapping[str, Tensor] | None = None,
    checkpoints: Checkpoints | None = None,
) -> Iterator[Trial]:
    """Train one trial per seed together, and yield each as soon as it ends.

    Args:
        plan: The data, with everything that was computed before training.
        config: The settings.
        seeds: One per trial, all different.
        on_epoch: Called after each epoch with its number and the number of trials still in training.
        on_losses: Called after each epoch with its number and the losses of the trials still in training. If it returns
            ``True``, they all end with this epoch.
        start: Parameters to start from, the same for each trial; if omitted, those of the plan, or else drawn from the
            seed.
        checkpoints: Where to save the state after an epoch, and to continue from.
    """
    given = plan.start if start is None else start
    with reused_buffers():
        yield from _train(plan, config, seeds, on_epoch, on_losses, given, checkpoints)


def _train(
    plan: Plan,
    config: Config,
    seeds: Sequence[int],
    on_epoch: Callable[[int, int], None] | None,
    on_losses: OnLosses | None,
    start_from: Mapping[str, Tensor] | None,
    checkpoints: Checkpoints | None = None,
) -> Iterator[Trial]:
    task = plan.task
    # One network per mode: switching the mode of a network takes longer than some layers.
    network, evaluator = (_empty(task, config) for _ in range(2))
    evaluator.eval()
    state = _start(network, config, seeds, task.y.device, start_from)
    for one in (network, evaluator):
        _use(one, state.parameters)
    first = 0 if checkpoints is None else checkpoints.load(state)
    follows, now = KINDS[config.model].is_dynamic, plan
    for epoch in range(first, config.max_epochs):
        start = time.perf_counter()
        if follows and epoch % config.rebuild_every == 0:
            now = plan.with_steps(followed(evaluator, plan.training.x, plan.training.steps))
        train_losses = _step(network, now, state, epoch).tolist()
        _check_losses("training", train_losses, state, epoch)
        for curve, loss in zip(state.curves, train_losses, strict=True):
            curve["train_loss"].append(loss)
        if now.validation is not None:
            val_loss = _total(_losses(_scores(evaluator, now.validation), now.validation), plan.together).tolist()
            _check_losses("validation", val_loss, state, epoch)
            _keep_best(state, val_loss, epoch)
            for curve, loss in zip(state.curves, val_loss, strict=True):
                curve["val_loss"].append(loss)
        else:
            state.best, state.best_epoch = state.parameters, [epoch] * len(state.seeds)
        share = (time.perf_counter() - start) / len(state.seeds)
        state.seconds = [seconds + share for seconds in state.seconds]
        is_last = _is_stopped(on_losses, state, epoch) or epoch + 1 == config.max_epochs
        over = [is_last or epoch - best >= config.patience for best in state.best_epoch]
        if on_epoch is not None:
            on_epoch(epoch, len(state.seeds))
        if any(over):
            yield from _finish(evaluator, plan, state, [place for place, ends in enumerate(over) if ends], epoch + 1)
            places = [place for place, ends in enumerate(over) if not ends]
            state = _select(state, places)
            if follows and places:
                now = plan.with_steps([tuple(one.of_trials(places) for one in step) for step in now.training.steps])
            for one in (network, evaluator):
                _use(one, state.parameters)
        if not state.seeds:
            return
        if checkpoints is not None:
            checkpoints.save(state, epoch + 1)


def _check_losses(kind: str, losses: Sequence[float], state: _State, epoch: int, first: int = 0) -> None:
    """Raise if a loss is no longer a number: no later one would be."""
    for place, loss in enumerate(losses, first):
        if not math.isfinite(loss):
            raise ValueError(
                f"training has diverged: the {kind} loss of seed {state.seeds[place]} is {loss} in epoch {epoch}. Use "
                f"a smaller learning_rate than {state.optimizer.rate:g}, and look for very large features."
            )


def _check_finite(parameters: Parameters, state: _State, place: int) -> None:
    """Raise if a parameter is not finite although all losses were: a normalisation turns infinite variances into 0."""
    for name, one in parameters.items():
        if not bool(one.isfinite().all()):
            raise ValueError(
                f"training has diverged: {name} of seed {state.seeds[place]} is not finite. Look for very large "
                "features."
            )


def _is_stopped(on_losses: OnLosses | None, state: _State, epoch: int) -> bool:
    """Report the losses of an epoch, and return whether the listener wants training to end."""
    if on_losses is None:
        return False
    last = {name: [curve[name][-1] for curve in state.curves if curve[name]] for name in ("train_loss", "val_loss")}
    val = np.array(last["val_loss"]) if last["val_loss"] else None
    return is_true(on_losses(epoch, Losses(tuple(state.seeds), np.array(last["train_loss"]), val)))


def _empty(task: Task, config: Config) -> Network:
    return Network.empty(config, task.n_features, task.n_classes, linear_output=task.y.is_floating_point())


def _start(
    network: Network,
    config: Config,
    seeds: Sequence[int],
    device: torch.device,
    given: Mapping[str, Tensor] | None,
) -> _State:
    drawn = []
    # Not Module.to_empty: for meta tensors it imports sympy, which takes 0.7 seconds and adds a warning filter.
    network.load_state_dict({name: torch.empty(one.shape) for name, one in network.named_parameters()}, assign=True)
    for seed in seeds:
        network.reset_parameters(torch.Generator().manual_seed(seed))
        if given is not None:
            network.load_state_dict(dict(given))
        drawn.append({name: parameter.detach().clone() for name, parameter in network.named_parameters()})
    parameters = {name: Parameter(torch.stack([one[name] for one in drawn]).to(device)) for name in drawn[0]}
    return _State(
        seeds=list(seeds),
        parameters=parameters,
        best={name: parameter.detach().clone() for name, parameter in parameters.items()},
        optimizer=Adam(parameters, config.learning_rate, network.decays()),
        best_loss=[math.inf] * len(seeds),
        best_epoch=[0] * len(seeds),
        seconds=[0.0] * len(seeds),
        curves=[{"train_loss": [], "val_loss": []} for _ in seeds],
    )


def _step(network: Network, plan: Plan, state: _State, epoch: int) -> Tensor:
    """Train for one epoch and return the loss of each trial, ``(trials,)``."""
    part = plan.training
    x = part.x if isinstance(part.x, SparseFeatures) else part.x.expand(len(state.seeds), *part.x.shape)
    config = network.config
    with seeded(state.seeds, epoch, part.places):
        drawn = draws(network, x, part.steps, part.known)
    losses = sum_of([_losses(scores, part) for scores in drawn]) / len(drawn)
    if len(drawn) > 1 and config.consistency > 0:
        losses = losses + config.consistency * disagreement(
            drawn, None if part.y.is_floating_point() else config.temperature
        )
    losses.sum().backward()
    if plan.together is not None:
        plan.together.add_gradients(state.parameters.values())
    state.optimizer.step()
    return _total(losses.detach(), plan.together)


def _use(network: Network, parameters: Parameters) -> None:
    """Make the network use these parameters, which have a leading axis of trials."""
    for name, parameter in parameters.items():
        layer, _, own = name.rpartition(".")
        setattr(network.get_submodule(layer), own, parameter)


def _losses(scores: Tensor, part: Part) -> Tensor:
    """The loss of each trial or, with several processes, the share of this process."""
    if part.rows.numel() == 0:  # of several processes: the gradient still has to pass through
        return 0 * scores.sum(dim=(1, 2))
    losses = losses_of(scores, part.y, part.rows, part.weight)
    return losses if part.share == 1 else losses * part.share


def _total(value: Tensor, together: Together | None) -> Tensor:
    return value if together is None else together.total(value)


def _scores(network: Network, part: Part) -> Tensor:
    """Scores of a part without dropout, ``(trials, rows, n_classes)``."""
    with torch.no_grad():
        return network._scores(part.x, part.steps, part.known)


def _keep_best(state: _State, val_loss: Sequence[float], epoch: int) -> None:
    better = [place for place, loss in enumerate(val_loss) if loss < state.best_loss[place]]
    if not better:
        return
    for place in better:
        state.best_loss[place], state.best_epoch[place] = val_loss[place], epoch
    with torch.no_grad():
        for name, parameter in state.parameters.items():
            if len(better) == len(val_loss):
                state.best[name].copy_(parameter)
                continue
            for place in better:
                state.best[name][place].copy_(parameter[place])


def _finish(network: Network, plan: Plan, state: _State, places: Sequence[int], epochs: int) -> Iterator[Trial]:
    task = plan.task
    for place in places:
        parameters: Parameters = {
            name: Parameter(best.detach()[place : place + 1]) for name, best in state.best.items()
        }
        _check_finite(parameters, state, place)
        _use(network, parameters)
        with torch.no_grad():
            scores = network(task.x, **task.structures)  # (1, N, n_classes)
        if float(_total((~scores.isfinite()).sum(), plan.together)):
            _check_losses("final", [math.nan], state, epochs - 1, place)
        rows = {"train": task.train, "val": task.val, "test": task.test}
        right = None if task.y.is_floating_point() else scores[0].argmax(-1) == task.y
        yield Trial(
            seed=state.seeds[place],
            epochs=epochs,
            best_epoch=state.best_epoch[place],
            accuracy={name: _percent(right, chosen, plan.together) for name, chosen in rows.items()},
            loss={name: _loss(scores, task, chosen, plan.together) for name, chosen in rows.items()},
            seconds=state.seconds[place],
            curves=state.curves[place],
            parameters={name: parameter[0].detach().clone() for name, parameter in parameters.items()},
            scores=scores[0],
        )


def _percent(right: Tensor | None, rows: Tensor, together: Together | None = None) -> float:
    """The percentage of true entries, computed so that it prints as 71.4 and not as 71.39999999999999."""
    if right is None:
        return math.nan
    counts = torch.stack([right[rows].sum(), torch.tensor(rows.numel(), device=rows.device)])
    n_right, n_rows = _total(counts, together).tolist()
    return 100 * n_right / n_rows if n_rows else math.nan


def _loss(scores: Tensor, task: Task, rows: Tensor, together: Together | None) -> float:
    """The loss over some rows, of all processes; NaN if there are none."""
    if together is None:
        return float(losses_of(scores, task.y, rows, task.weight))
    own = losses_of(scores, task.y, rows, task.weight) * rows.numel() if rows.numel() else scores.new_zeros(1)
    loss, n_rows = together.total(torch.stack([own[0].double(), own.new_tensor(rows.numel()).double()])).tolist()
    return loss / n_rows if n_rows else math.nan


def _select(state: _State, places: Sequence[int]) -> _State:
    """The state of the trials that continue, optimiser included."""
    chosen = torch.tensor(places, dtype=torch.int64)
    parameters = {name: Parameter(one.detach()[chosen]) for name, one in state.parameters.items()}
    return _State(
        seeds=[state.seeds[place] for place in places],
        parameters=parameters,
        best={name: best.detach()[chosen] for name, best in state.best.items()},
        optimizer=state.optimizer.select(parameters, chosen),
        best_loss=[state.best_loss[place] for place in places],
        best_epoch=[state.best_epoch[place] for place in places],
        seconds=[state.seconds[place] for place in places],
        curves=[state.curves[place] for place in places],
    )
