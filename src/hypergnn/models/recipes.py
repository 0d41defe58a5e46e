"""Settings for networks that are not in the paper: those of the literature, or chosen on validation vertices."""

from __future__ import annotations

from typing import Any

_GRAND: dict[str, Any] = {
    "hidden": 32,
    "heads": 1,
    "learning_rate": 0.01,
    "weight_decay": 5e-4,
    "patience": 200,
    "dropout": 0.5,
    "input_dropout": 0.7,
}
_OF_GRAND: dict[str, dict[str, Any]] = {
    "cora": {"consistency": 1.5, "activation": "relu"},
    "citeseer": {
        "steps": 2,
        "draws": 2,
        "consistency": 0.7,
        "temperature": 0.3,
        "dropout": 0.2,
        "input_dropout": 0.0,
    },
    "pubmed": {
        "steps": 4,
        "temperature": 0.2,
        "dropout": 0.8,
        "input_dropout": 0.6,
        "norm": "batch",
        "activation": "relu",
        "learning_rate": 0.2,
        "patience": 100,
    },
}


def deep_settings(dataset: str) -> dict[str, Any]:
    """Settings of a deep network with an initial residual: published ones for graphs, with a width of 64.

    Example:
        >>> deep_settings("citeseer")["theta"]
        0.6
    """
    return {**_DEEP, **_OF_DEEP.get(dataset, {})}


def recipe_of(model: str, dataset: str) -> dict[str, Any] | None:
    """The settings of a model for a dataset, or the general ones; ``None`` if the model has no recipe.

    Example:
        >>> recipe_of("grand", "citeseer")["steps"], recipe_of("gcn", "cora")
        (2, None)
    """
    recipes = _RECIPES.get(model)
    return None if recipes is None else {**recipes[""], **recipes.get(dataset, {})}


_DEEP: dict[str, Any] = {
    "residual": "initial",
    "activation": "relu",
    "hidden": 64,
    "heads": 1,
    "dropout": 0.6,
    "attention_dropout": 0.6,
    "learning_rate": 0.01,
    "weight_decay": 5e-4,
    "layer_decay": 0.01,
    "patience": 100,
}
_OF_DEEP: dict[str, dict[str, Any]] = {
    "citeseer": {"theta": 0.6, "dropout": 0.7},
    "pubmed": {"theta": 0.4, "dropout": 0.5, "weight_decay": 5e-4, "layer_decay": 5e-4},
}

_DIFFUSION: dict[str, Any] = {
    "hidden": 64,
    "heads": 1,
    "depth": 2,
    "dropout": 0.5,
    "learning_rate": 0.005,
    "weight_decay": 5e-4,
    "layer_decay": 5e-4,
    "alpha": 0.5,
    "patience": 100,
}

_RECIPES: dict[str, dict[str, dict[str, Any]]] = {
    "hyper-diffusion": {"": _DIFFUSION},
    "grand": {"": _GRAND, **_OF_GRAND},
    "hyper-grand": {"": _GRAND, **_OF_GRAND},
    "grand+hyper-grand": {"": _GRAND, **_OF_GRAND},
}
