"""How estimators train a network on the rows that have a label."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils import check_random_state
from torch import Tensor

from hypergnn._utils.checks import check_choice, check_flag, check_number, check_size
from hypergnn.estimators.compute import as_features, available, threads
from hypergnn.estimators.labels import hold_out
from hypergnn.estimators.selection.budget import check_max_time
from hypergnn.loader.arguments import as_fanout
from hypergnn.models import Config, Ensemble, Network
from hypergnn.models.ensemble import mean_score
from hypergnn.models.recipes import recipe_of
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.sparse_features import SparseFeatures
from hypergnn.training.elsewhere import n_jobs_elsewhere, train_elsewhere
from hypergnn.training.engine import OnLosses, Trial
from hypergnn.training.engine import train as fit_trials
from hypergnn.training.plan import Plan, Task
from hypergnn.training.sampled import train_sampled
from hypergnn.training.schedule import Failure

MODELS = ("hyper-conv", "hyper-attention", "mlp")
OF_CLASSES = (*MODELS, "hyper-diffusion", "hyper-grand")
"""The networks that a classifier offers."""
_MOST_ESTIMATORS = 10_000
_OF_RECIPES = ("alpha", "layer_decay", "activation", "steps", "draws", "row_dropout", "consistency", "temperature")
Ids = npt.NDArray[np.int64]
Values = npt.NDArray[Any]


class LearnsFromLabels:
    """An estimator that trains a network."""

    model: str
    hidden: int
    heads: int
    depth: int
    dropout: float
    learning_rate: float
    weight_decay: float
    max_epochs: int
    batch_size: int | None = None
    fanout: Any = None
    warm_start: bool
    n_jobs: int | None
    device: Any
    on_epoch: OnLosses | None
    random_state: Any
    n_estimators: int = 1
    _models: tuple[str, ...] = MODELS
    hypergraph_: Hypergraph
    network_: Network
    _features: Any

    def _config(self, patience: int, model: str, weight_decay: float | None = None) -> Config:
        check_choice("model", model, self._models)
        self._check_options()
        recipe = recipe_of(model, "") or {}
        own = {name: recipe[name] for name in _OF_RECIPES if name in recipe}
        return Config(
            model=model,
            hidden=self.hidden,
            heads=self.heads,
            depth=self.depth,
            dropout=self.dropout,
            attention_dropout=self.dropout,
            feature_scaling="none",
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay if weight_decay is None else weight_decay,
            patience=patience,
            max_epochs=self.max_epochs,
            batch_size=self.batch_size,
            fanout=None if self.fanout is None else tuple(as_fanout(self.fanout)),
            **own,
        )

    def _check_options(self) -> None:
        """Raise unless the options that are not settings of a network are of their types."""
        for name in ("warm_start", "early_stopping"):
            if hasattr(self, name):
                check_flag(name, getattr(self, name))
        if hasattr(self, "max_time"):
            check_max_time(self.max_time)
        verbose = getattr(self, "verbose", False)
        if not isinstance(verbose, (bool, int, np.bool_, np.integer)):
            raise TypeError(f"verbose must be True or False; got {verbose!r}.")
        if self.on_epoch is not None and not callable(self.on_epoch):
            raise TypeError(f"on_epoch must be a function of an epoch and its losses, or None; got {self.on_epoch!r}.")
        if check_size("n_estimators", self.n_estimators, minimum=1) > _MOST_ESTIMATORS:
            raise ValueError(f"n_estimators must be at most {_MOST_ESTIMATORS}; got {self.n_estimators}.")

    def _train(
        self,
        y: Values,
        n_outputs: int,
        validation_fraction: float,
        patience: int,
        weight: npt.NDArray[np.float64] | None = None,
        *,
        continues: bool = False,
    ) -> Trial:
        """Train the network of the estimator on the labelled rows; arguments as for :meth:`_train_one`.

        With ``continues``, it starts from the parameters that it has.
        """
        if (self.warm_start or continues) and self.n_estimators > 1:
            raise ValueError(
                f"n_estimators must be 1 with warm_start and partial_fit, which continue one network; got "
                f"{self.n_estimators}."
            )
        start = self.network_.state_dict() if (self.warm_start or continues) and hasattr(self, "network_") else None
        if continues and start is not None:
            start = widened(start, self._features.shape[1])
        self.network_, trial = self._train_one(
            self.model, y, n_outputs, validation_fraction, patience, weight, self.on_epoch, start=start
        )
        self.loss_curve_ = trial.curves["train_loss"]
        self.validation_curve_ = trial.curves["val_loss"]
        self.n_epochs_ = trial.epochs
        return trial

    def _train_one(
        self,
        model: str,
        y: Values,
        n_outputs: int,
        validation_fraction: float,
        patience: int,
        weight: npt.NDArray[np.float64] | None,
        on_epoch: OnLosses | None,
        weight_decay: float | None = None,
        start: Mapping[str, Tensor] | None = None,
        *,
        sees_unlabelled: bool = True,
    ) -> tuple[Network, Trial]:
        """Train a network on the labelled rows, for all epochs unless some labels are for validation.

        Args:
            model: The kind of network.
            y: Classes, -1 for unlabelled rows; or targets, ``(N, n_outputs)``, NaN for unknown ones.
            n_outputs: Number of classes or of targets.
            validation_fraction: Share of the labels to hold out.
            patience: Number of epochs without a lower loss on them after which training stops.
            weight: Weight of each row in the loss; rows of weight 0 teach nothing.
            on_epoch: Called after each epoch.
            weight_decay: Factor of the L2 penalty in place of the estimator's.
            start: Parameters to start from; drawn if omitted.
            sees_unlabelled: Whether it sees all rows. One without hyperedges learns nothing from unlabelled ones, and
                is trained in less time without them; the trial then has no scores of theirs.
        """
        rng = generator(self.random_state)
        is_known = y >= 0 if y.ndim == 1 else ~np.isnan(y).any(1)
        labelled = np.flatnonzero(is_known if weight is None else is_known & (weight > 0))
        fraction = check_number("validation_fraction", validation_fraction, below=1)
        train, val = hold_out(y if y.ndim == 1 else np.zeros(len(y), dtype=np.int64), labelled, fraction, rng)
        config, seeds = self._config(patience, model, weight_decay), [int(rng.randint(2**31 - 1))]
        while len(seeds) < self.n_estimators:  # all different
            seeds += [seed for seed in [int(rng.randint(2**31 - 1))] if seed not in seeds]
        task = self._task(y, n_outputs, train, val, weight)
        if not sees_unlabelled:
            task = _of_rows(task, train)
        if start is not None:
            check_same_shapes(start, config, task)
        with threads(self.n_jobs):
            jobs = 1 if on_epoch is not None or config.batch_size is not None else n_jobs_elsewhere(self.n_jobs)
            if len(seeds) > 1 and jobs > 1 and task.y.device.type == "cpu":
                trials = _trained_elsewhere(Plan.of(task, config), config, seeds, jobs)
            elif config.batch_size is None:
                trials = list(fit_trials(Plan.of(task, config), config, seeds, on_losses=on_epoch, start=start))
            else:
                trials = [train_sampled(task, config, seed, on_losses=on_epoch, start=start) for seed in seeds]
        trials.sort(key=lambda one: seeds.index(one.seed))
        parameters = [{name: one.cpu() for name, one in trial.parameters.items()} for trial in trials]
        sizes, is_linear = (task.n_features, n_outputs), y.ndim == 2
        networks = [Network.from_parameters(config, *sizes, one, linear_output=is_linear) for one in parameters]
        if len(networks) == 1:
            return networks[0], trials[0]
        scores = mean_score(torch.stack([trial.scores for trial in trials]), is_linear=is_linear)
        return Ensemble.of(networks), replace(trials[0], scores=scores)

    def _task(self, y: Values, n_outputs: int, train: Ids, val: Ids, weight: npt.NDArray[np.float64] | None) -> Task:
        """The rows, their hypergraph and their labels as tensors on the device."""
        x, device = as_features(self._features), available(self.device)
        return Task(
            x=x.to(device),
            structures={"hypergraph": self.hypergraph_.to(device)},
            y=torch.from_numpy(y if y.ndim == 1 else np.float32(np.nan_to_num(y))).to(device),
            train=torch.from_numpy(train).to(device),
            val=torch.from_numpy(val).to(device),
            test=torch.empty(0, dtype=torch.int64, device=device),
            n_features=x.shape[-1],
            n_classes=n_outputs,
            weight=None if weight is None else torch.from_numpy(np.float32(weight)).to(device),
        )


def _of_rows(task: Task, rows: Ids) -> Task:
    """The task without other rows and without hyperedges."""
    chosen = torch.from_numpy(rows).to(task.y.device)
    return replace(
        task,
        x=task.x.select_rows(chosen) if isinstance(task.x, SparseFeatures) else task.x[chosen],
        y=task.y[chosen],
        structures={},
        train=torch.arange(chosen.numel(), device=chosen.device),
        weight=None if task.weight is None else task.weight[chosen],
    )


def _trained_elsewhere(plan: Plan, config: Config, seeds: list[int], jobs: int) -> list[Trial]:
    """Train the networks of an ensemble in the workers that joblib is connected to, as many batches as workers."""
    batches = [seeds[start::jobs] for start in range(min(jobs, len(seeds)))]
    with closing(train_elsewhere(plan, config, batches, jobs)) as messages:
        found = list(messages)
    failures = [one for one in found if isinstance(one, Failure)]
    if failures:
        raise ChildProcessError("networks could not be trained:\n  " + "\n  ".join(map(str, failures)))
    return [one for one in found if isinstance(one, Trial)]


def widened(parameters: Mapping[str, Tensor], n_features: int) -> dict[str, Tensor]:
    """Parameters of a network that takes further features; they count 0 until training finds what they are worth."""
    name = "ends.first.projection" if "ends.first.projection" in parameters else "layers.0.projection"
    missing = n_features - parameters[name].shape[0]
    if missing <= 0:
        return dict(parameters)
    further = parameters[name].new_zeros(missing, parameters[name].shape[1])
    return {**parameters, name: torch.cat([parameters[name], further])}


def check_same_shapes(start: Mapping[str, Tensor], config: Config, task: Task) -> None:
    """Raise unless a network of these settings can start from these parameters."""
    asked = Network.empty(config, task.n_features, task.n_classes).state_dict()
    shapes = [{name: tuple(one.shape) for name, one in part.items()} for part in (start, asked)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            "warm_start and partial_fit continue the previous network, which must have the same model, depth, width, "
            f"number of features and number of outputs; that had {shapes[0]}, this has {shapes[1]}. A new word, or the "
            "first gap of a column, is a new feature. Fit with warm_start=False, or use partial_fit, which takes them."
        )


def generator(random_state: Any) -> np.random.RandomState:
    """The random numbers of one fit; ``None`` seeds them by the operating system and leaves NumPy's own alone."""
    if random_state is None:
        return np.random.RandomState()
    try:
        rng: np.random.RandomState = check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be a whole number from 0 to 4294967295, a numpy.random.RandomState or None; got "
            f"{random_state!r}."
        ) from error
    return rng
