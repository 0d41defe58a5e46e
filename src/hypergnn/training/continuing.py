"""Training that goes on from a saved model, with data that has changed since."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np

from hypergnn._utils.table_sources import quoted
from hypergnn.datasets import Dataset
from hypergnn.models import Config, Ensemble
from hypergnn.persistence.models import SavedModel
from hypergnn.training.prediction import in_order

OF_TRAINING = frozenset(
    {
        "dropout",
        "attention_dropout",
        "input_dropout",
        "draws",
        "consistency",
        "temperature",
        "learning_rate",
        "weight_decay",
        "layer_decay",
        "patience",
        "max_epochs",
        "batch_size",
        "fanout",
        "control_variates",
        "rebuild_every",
    }
)
"""The settings that may differ when a model is continued: its network is the same with any of them."""


def continuing(model: SavedModel, data: Dataset, config: Config | None = None) -> tuple[Dataset, Config]:
    """Return the data with the features and classes of a model, and the settings to continue it with.

    Args:
        model: The model.
        data: The data, with the features of the model in any order, and none but its classes.
        config: The settings; those of the model if omitted. They must describe the same network.

    Raises:
        TypeError: If ``model`` is not a loaded model.
        ValueError: If features, classes or settings do not fit the model.
    """
    if not isinstance(model, SavedModel):
        raise TypeError(f"start must be a model loaded with hypergnn.load; got {type(model).__name__}.")
    if isinstance(model.network, Ensemble):
        raise ValueError("start must be a single network; got an ensemble. Continue one of its members.")
    config = model.network.config if config is None else config
    check_same_network(model, config)
    return with_classes(in_order(data, model), model.class_names), config


def check_same_network(model: SavedModel, config: Config) -> None:
    """Raise unless settings describe the network of a model."""
    own, asked = asdict(model.network.config), asdict(config)
    different = [name for name in own if name not in OF_TRAINING and own[name] != asked[name]]
    if different:
        found = "; ".join(f"{name} is {own[name]!r}, got {asked[name]!r}" for name in different)
        raise ValueError(f"the settings of the network cannot change: {found}. Omit them.")


def with_classes(data: Dataset, class_names: tuple[str, ...]) -> Dataset:
    """Return the dataset with its classes numbered as in a list of names that holds all of them."""
    unknown = [name for name in data.class_names if name not in class_names]
    if unknown:
        raise ValueError(
            f"the classes of {data.name} must be those of the model, {quoted(list(class_names))}; it also has "
            f"{quoted(unknown)}. Train a new model to learn new classes."
        )
    number = np.array([*map(class_names.index, data.class_names), -1])
    return replace(data, y=number[data.y], class_names=class_names)
