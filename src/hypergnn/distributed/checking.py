"""Whether several processes can train a run, checked before anything is divided or written."""

from __future__ import annotations

import json
from collections.abc import Mapping

from torch import Tensor

from hypergnn._utils.checks import check_size, check_trials
from hypergnn.distributed.groups import agreed, check_same
from hypergnn.models import KINDS, Config
from hypergnn.training.description import digest_of
from hypergnn.training.trainer import check_split


def check_run(
    name: str, split: Mapping[str, int], config: Config, *, trials: int, batch: int = 1, checkpoint_every: int = 10
) -> None:
    """Raise if shards cannot be trained like this.

    Args:
        name: The name of the dataset.
        split: Number of vertices of each part.
        config: The settings.
        trials: The number of trials.
        batch: Number of trials to train together.
        checkpoint_every: Number of epochs between two checkpoints.

    Raises:
        ValueError: If a number is too small, a part is empty or the network needs more than given hyperedges.

    Example:
        >>> check_run("digits", {"train": 5, "val": 5, "test": 5}, Config(), trials=1)
    """
    check_trials(trials)
    for argument, number in (("batch", batch), ("checkpoint_every", checkpoint_every)):
        check_size(argument, number, minimum=1)
    check_split(name, split)
    _check_network(config)


def check_same_run(config: Config, trials: int, batch: int, start: Mapping[str, Tensor] | None) -> None:
    """Raise unless all processes train the same trials: one of them the reason, the others that it has failed."""
    own = {"config": config.settings(), "trials": trials, "batch": batch, "start": start and digest_of(start)}
    agreed(lambda: check_same("the settings", json.dumps(own, sort_keys=True)))


def _check_network(config: Config) -> None:
    if config.batch_size is not None:
        raise ValueError(
            "batch_size must be omitted for shards, which train on all vertices. To train on sampled batches with "
            "several processes, use distributed.fit_batches with the whole dataset."
        )
    if not set(KINDS[config.model].structures) <= {"hypergraph"} or config.direction != "forward":
        raise ValueError(
            f"the model must need a hypergraph only, without a direction, to be trained by several processes; got "
            f"{config.model!r}, direction={config.direction!r}. Choose another model, or train in one process."
        )
    refused = {
        f"model={config.model!r}, whose hyperedges follow the features": KINDS[config.model].is_dynamic,
        f"model={config.model!r} with random propagation": config.is_random,
        f"norm={config.norm!r}": config.norm != "none",
        f"weights={config.weights!r}": config.weights != "given",
        f"hyperedge_features={config.hyperedge_features!r}": config.hyperedge_features != "members",
    }
    if given := [what for what, is_given in refused.items() if is_given]:
        raise ValueError(
            "several processes train networks whose rows depend on given hyperedges only; got "
            f"{', '.join(given)}. Choose other settings, or train in one process."
        )
