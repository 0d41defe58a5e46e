"""Which trained networks the explorer shows, and what it needs of them, within the weight that a page may have."""

from __future__ import annotations

import json
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
from hypergnn.report.embedding import embed
from hypergnn.report.explorer import network, structure
from hypergnn.report.insight import Insight, look
from hypergnn.saving import load as load_model
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
    on_step: Callable[[str], None] | None = None,
) -> Shown:
    """Look into networks, first come first served, until the page is full.

    Args:
        trained: The networks, the most important first.
        data_dir: Where to look for datasets first.
        seed: Which split was drawn, where it was drawn.
        budget: Bytes that they may take.
        on_step: Told what is being done: a map of many vertices takes a minute.
    """
    shown = Shown()
    fetch = cache(partial(_load, data_dir=data_dir, seed=seed))
    weight = 0
    for one in trained:
        try:
            insight = _insight(one.folder, fetch)
        except (ValueError, OSError) as error:
            shown.left_out.append(f"{one.label} is not in the explorer: {error}")
            continue
        if on_step is not None:
            on_step(f"map of {insight.data.hypergraph.n_vertices} vertices: {one.label}")
        data = insight.data
        expected = _weight(insight) + (0 if data.name in shown.datasets else _weight_of_structure(data))
        if weight + expected > budget:
            shown.left_out.append(f"{one.label} is not in the explorer: the page would become too heavy.")
            continue
        places = embed(insight.hidden)
        parts = [network(insight, places, one.label)]
        if data.name not in shown.datasets:
            shown.datasets[data.name] = structure(data)
            parts.append(shown.datasets[data.name])
        weight += sum(len(json.dumps(part)) for part in parts)
        shown.networks.append(parts[0])
        shown.maps.append((insight, places, one.label))
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


def _weight(insight: Insight) -> int:
    """Bytes of a network in the page, base64 included."""
    H = insight.data.hypergraph
    numbers = 2 * H.n_incidences * len(insight.heads) + H.n_vertices * (insight.data.n_classes + 4)
    return 4 * numbers // 3 + 500


def _weight_of_structure(data: Dataset) -> int:
    H = data.hypergraph
    size = 2 if H.n_hyperedges < 2**16 else 4
    names = [list(names) for names in (H.vertex_names, H.hyperedge_names) if names is not None]
    pictures = H.n_vertices * data.n_features if data.name == "digits" else 0
    numbers = size * H.n_incidences + 8 * H.n_vertices + 4 * H.n_hyperedges + pictures
    return 4 * numbers // 3 + len(json.dumps(names))
