"""The trained networks in the explorer, as many as fit into a page."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn.datasets import Dataset, available, load
from hypergnn.persistence.models import load as load_model
from hypergnn.report.embedding import embed
from hypergnn.report.explorer import network, structure
from hypergnn.report.insight import Insight, look
from hypergnn.report.page import as_json
from hypergnn.training.best_model import MODEL_FILE
from hypergnn.training.description import describe
from hypergnn.training.pairwise import with_graph


@dataclass(frozen=True)
class Trained:
    """A run folder with a model."""

    folder: Path
    label: str
    """Its name on the page."""
    configuration: Mapping[str, Any]
    """The data and the settings, as in ``run.json``."""


@dataclass
class Shown:
    """The content of the explorer."""

    datasets: dict[str, Any] = field(default_factory=dict)
    networks: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    maps: list[tuple[Insight, npt.NDArray[np.float32], str]] = field(default_factory=list)
    """Each network with its map and label, for figures."""


class Datasets:
    """Loads each dataset once, unless it is already loaded."""

    def __init__(
        self,
        loaded: Mapping[str, Dataset] | None = None,
        *,
        data_dir: str | os.PathLike[str] | None = None,
        seed: int | None = None,
    ) -> None:
        """Start with datasets that are loaded already.

        Args:
            loaded: Datasets by name.
            data_dir: Folder to search first.
            seed: The seed of the random split, for datasets that have one.
        """
        self._loaded = dict(loaded or {})
        self._data_dir, self._seed = data_dir, seed

    def get(self, name: str, model: str) -> Dataset:
        """A dataset, with a graph if the model needs one."""
        if name not in self._loaded:
            has_random_split = name in ("20news", "digits")
            self._loaded[name] = load(
                name,
                data_dir=None if name == "digits" else self._data_dir,
                seed=self._seed if has_random_split else None,
                quiet=True,
            )
        return with_graph(self._loaded[name], model)


def show(
    trained: Sequence[Trained],
    datasets: Datasets,
    *,
    budget: int,
    all_maps: bool = False,
    on_step: Callable[[str], None] | None = None,
) -> Shown:
    """Collect the data of networks, in the given order, until the page is full.

    Args:
        trained: The networks, the most important first.
        datasets: Where to get the data that they were trained on.
        budget: Bytes that they may take.
        all_maps: Whether to also make the maps of networks that do not fit into the page, for figures.
        on_step: Called with what is being done: the map of many vertices takes a minute.
    """
    shown = Shown()
    for one in trained:
        try:
            insight = _insight(one, datasets)
        except (ValueError, OSError) as error:
            shown.left_out.append(f"{one.label} is not in the explorer: {error}")
            continue
        data = insight.data
        n_vertices = data.hypergraph.n_vertices
        blank = np.ones((n_vertices, 2), dtype=np.float32)  # as long as the map once packed
        new = {} if data.name in shown.datasets else {data.name: structure(data)}
        weight = _weight(network(insight, blank, one.label), *new.values())
        if fits := weight <= budget:
            budget -= weight
        else:
            shown.left_out.append(f"{one.label} is not in the explorer: the page would become too large.")
        if not fits and not all_maps:
            continue
        if on_step is not None:
            on_step(f"map of {n_vertices} vertices: {one.label}")
        places = embed(insight.hidden)
        shown.maps.append((insight, places, one.label))
        if fits:
            shown.datasets |= new
            shown.networks.append(network(insight, places, one.label))
    return shown


def _insight(trained: Trained, datasets: Datasets) -> Insight:
    """The network of a run folder on the data that it was trained on; raise if that is not available."""
    configured = trained.configuration["data"]
    model = load_model(trained.folder / MODEL_FILE)
    name = configured["name"]
    if name not in available() or model.about.get("feature_names") is not None:
        raise ValueError("it was trained on your own tables, which a run folder does not contain.")
    data = datasets.get(name, model.network.config.model)
    here = describe(data, model.network.config)["data"]
    if here["content"] != configured["content"]:
        raise ValueError(f"it was trained on a different version of {name}.")
    if here["split"] != configured["split"]:
        raise ValueError("it was trained on another split; choose it with --seed.")
    return look(model, data)


def _weight(*parts: dict[str, Any]) -> int:
    """Bytes of parts of the page, with the punctuation around them."""
    return sum(len(as_json(part).encode()) + 30 for part in parts)
