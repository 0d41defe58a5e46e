"""Training that goes on from a saved model, with data that has changed since."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hypergnn._utils.table_sources import quoted
from hypergnn.datasets import Dataset
from hypergnn.models import Config, Ensemble, Network
from hypergnn.persistence.models import SavedModel
from hypergnn.training.prediction import in_order


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
    n_features, n_classes = model.network.n_features, len(model.class_names)
    asked, own = Network.empty(config, n_features, n_classes).state_dict(), model.network.state_dict()
    shapes = [{name: tuple(one.shape) for name, one in part.items()} for part in (own, asked)]
    if model.network.config.model != config.model or shapes[0] != shapes[1]:
        raise ValueError(
            "a model continues with the same kind of network, width, depth, heads, skip connection, direction, "
            f"residual and norm; it is {_described(model.network.config)}, got {_described(config)}. Omit these "
            "settings."
        )


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


def _described(config: Config) -> str:
    names = ("depth", "heads", "hidden", "skip", "direction", "residual", "norm")
    return ", ".join((config.model, *(f"{name} {getattr(config, name)}" for name in names)))
