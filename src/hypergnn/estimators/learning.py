"""How estimators train a network on the rows that have a label."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils import check_random_state
from torch import Tensor

from hypergnn._utils.checks import check_choice, check_number
from hypergnn.estimators.compute import as_features, available, threads
from hypergnn.estimators.labels import hold_out
from hypergnn.models import Config, Network
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.training.engine import OnLosses, Trial
from hypergnn.training.engine import train as fit_trials
from hypergnn.training.plan import Plan, Task

MODELS = ("hyper-conv", "hyper-attention", "mlp")
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
    warm_start: bool
    n_jobs: int | None
    device: Any
    on_epoch: OnLosses | None
    random_state: Any
    hypergraph_: Hypergraph
    _features: Any

    def _config(self, patience: int, model: str, weight_decay: float | None = None) -> Config:
        check_choice("model", model, MODELS)
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
        )

    def _train(
        self,
        y: Values,
        n_outputs: int,
        validation_fraction: float,
        patience: int,
        weight: npt.NDArray[np.float64] | None = None,
    ) -> Trial:
        """Train the network of the estimator on the labelled rows; arguments as for :meth:`_train_one`."""
        self.network_, trial = self._train_one(
            self.model, y, n_outputs, validation_fraction, patience, weight, self.on_epoch
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
        """
        rng = generator(self.random_state)
        is_known = y >= 0 if y.ndim == 1 else ~np.isnan(y).any(1)
        labelled = np.flatnonzero(is_known if weight is None else is_known & (weight > 0))
        fraction = check_number("validation_fraction", validation_fraction, below=1)
        train, val = hold_out(y if y.ndim == 1 else np.zeros(len(y), dtype=np.int64), labelled, fraction, rng)
        config, seed = self._config(patience, model, weight_decay), int(rng.randint(2**31 - 1))
        task = self._task(y, n_outputs, train, val, weight)
        start = self._earlier_parameters(config, task)
        with threads(self.n_jobs):
            trial = next(fit_trials(Plan.of(task, config), config, [seed], on_losses=on_epoch, start=start))
        parameters = {name: one.cpu() for name, one in trial.parameters.items()}
        sizes = (task.n_features, n_outputs)
        return Network.from_parameters(config, *sizes, parameters, linear_output=y.ndim == 2), trial

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

    def _earlier_parameters(self, config: Config, task: Task) -> dict[str, Tensor] | None:
        """The parameters of the previous fit with ``warm_start``; ``None`` to draw new ones."""
        if not self.warm_start or not hasattr(self, "network_"):
            return None
        earlier = {name: one.detach() for name, one in self.network_.state_dict().items()}
        asked = Network.empty(config, task.n_features, task.n_classes).state_dict()
        shapes = [{name: tuple(one.shape) for name, one in part.items()} for part in (earlier, asked)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                "warm_start continues the previous network, which must have the same model, depth, width, number of "
                f"features and number of outputs; that had {shapes[0]}, this has {shapes[1]}. Fit with "
                "warm_start=False."
            )
        return earlier


def generator(random_state: Any) -> np.random.RandomState:
    """The random numbers of one fit; ``None`` seeds them by the operating system and leaves NumPy's own alone."""
    return np.random.RandomState() if random_state is None else check_random_state(random_state)
