"""Which trained networks the explorer shows, and what it needs of them, within the weight that a page may have."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn.datasets import Dataset, available, load
from hypergnn.experiments.runner import with_graph
from hypergnn.models import KINDS
from hypergnn.persistence.models import load as load_model
from hypergnn.report.embedding import embed
from hypergnn.report.explorer import network, structure
from hypergnn.report.insight import Insight, look
from hypergnn.report.page import as_json
from hypergnn.training.description import describe
from hypergnn.training.ledger import read
from hypergnn.training.session import MODEL_FILE


@dataclass(frozen=True)
class Trained:
    """A run folder with a model, and what to call it."""

    folder: Path
    label: str


@dataclass
class Shown:
    """What the explorer gets."""

    datasets: dict[str, Any] = field(default_factory=dict)
    networks: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    maps: list[tuple[Insight, npt.NDArray[np.float32], str]] = field(default_factory=list)
    """Each network with its map and label, for figures."""


def show(
    trained: Sequence[Trained],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    budget: int,
    all_maps: bool = False,
    on_step: Callable[[str], None] | None = None,
) -> Shown:
    """Look into networks, first come first served, until the page is full.

    Args:
        trained: The networks, the most important first.
        data_dir: Where to look for datasets first.
        seed: Which split was drawn, where it was drawn.
        budget: Bytes that they may take.
        all_maps: Whether to make the maps of networks that have no room in the page as well, for figures.
        on_step: Told what is being done: a map of many vertices takes a minute.
    """
    shown = Shown()
    fetch = cache(partial(_load, data_dir=data_dir, seed=seed))
    for one in trained:
        try:
            insight = _insight(one.folder, fetch)
        except (ValueError, OSError) as error:
            shown.left_out.append(f"{one.label} is not in the explorer: {error}")
            continue
        data = insight.data
        n_vertices = data.hypergraph.n_vertices
        blank = np.ones((n_vertices, 2), dtype=np.float32)  # packed, it is as long as the map
        new = {} if data.name in shown.datasets else {data.name: structure(data)}
        weight = _weight(network(insight, blank, one.label), *new.values())
        if fits := weight <= budget:
            budget -= weight
        else:
            shown.left_out.append(f"{one.label} is not in the explorer: the page would become too heavy.")
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


def _insight(folder: Path, fetch: Callable[[str], Dataset]) -> Insight:
    """The network of a run folder, looked at with the data that it was trained on, or raise if that is not at hand."""
    run = read(folder)
    name = run.configuration["data"]["name"]
    model = load_model(folder / MODEL_FILE)
    if name not in available() or model.about.get("feature_names") is not None:
        raise ValueError("it was trained on tables of one's own, which a run folder does not keep.")
    data = fetch(name)
    if "graph" in KINDS[model.network.config.model].structures:
        data = with_graph(data)
    here, there = describe(data, model.network.config)["data"], run.configuration["data"]
    if here["content"] != there["content"]:
        raise ValueError(f"it was trained on other data than what {name} is here.")
    if here["split"] != there["split"]:
        raise ValueError("it was trained on another split; --seed says which one was drawn.")
    return look(model, data)


def _load(name: str, *, data_dir: str | os.PathLike[str] | None, seed: int | None) -> Dataset:
    is_drawn = name in ("20news", "digits")
    return load(name, data_dir=None if name == "digits" else data_dir, seed=seed if is_drawn else None, quiet=True)


def _weight(*parts: dict[str, Any]) -> int:
    """Bytes of parts of the page, with the names and commas around them."""
    return sum(len(as_json(part).encode()) + 30 for part in parts)
