"""Predictions of a trained network for a dataset, its own or another with the same features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils.table_sources import quoted
from hypergnn.datasets import Dataset
from hypergnn.models import Network, check_structures
from hypergnn.persistence.models import SavedModel
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.training.plan import Task


def predict(
    model: SavedModel | Network, data: Dataset, *, device: str | torch.device = "cpu"
) -> npt.NDArray[np.float32]:
    """The probability of each class for each vertex, ``(N, n_classes)``; labels and split are ignored.

    Args:
        model: A model loaded with :func:`hypergnn.load`, or a network or ensemble.
        data: A dataset with the features that the network was trained on. Features with names may be in any order.
        device: Where to compute.

    Raises:
        ValueError: If the features differ, or the data lacks a structure that the network needs.

    Example:
        >>> import tempfile, hypergnn as hg
        >>> data = hg.datasets.load("digits")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = hg.training.fit(data, hg.models.Config(max_epochs=3), out=folder)
        ...     hg.training.predict(hg.load(f"{folder}/model.safetensors"), data).shape
        (1797, 10)
    """
    if not isinstance(data, Dataset):
        raise TypeError(
            f"data must be a Dataset; got {type(data).__name__}. For a hypergraph, call model.network(x, hypergraph=H)."
        )
    if isinstance(model, Network):
        model = SavedModel(model, tuple(map(str, range(model.n_classes))), {})
    config = model.network.config
    check_structures(config.model, {"graph": data.graph, "hypergraph": data.hypergraph}, data.name)
    task = Task.of(in_order(data, model), config, device)
    with torch.no_grad():
        scores = model.network.to(device).eval()(task.x, **task.structures)  # (N, n_classes)
    check_scores(scores)
    probability: npt.NDArray[np.float32] = scores.softmax(-1).cpu().numpy()
    return probability


def check_scores(scores: Tensor) -> None:
    """Raise unless the scores of all vertices are finite: others have no class.

    Example:
        >>> check_scores(torch.tensor([[1.0, 2.0], [float("nan"), 0.0]]))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: scores must be finite; not so for vertex 1. Look for very large features, and for ...
    """
    wrong = (~scores.isfinite()).any(-1).nonzero().flatten()
    if wrong.numel():
        others = " and others" if wrong.numel() > 1 else ""
        raise ValueError(
            f"scores must be finite; not so for vertex {int(wrong[0])}{others}. Look for very large features, and for "
            "parameters of the model that are not finite."
        )


def in_order(data: Dataset, model: SavedModel) -> Dataset:
    """The dataset with its features in the order of training.

    Features that are memberships have the columns that the model knows: hyperedges without members are zeros, and new
    hyperedges are in the structure only.

    Raises:
        ValueError: If the features differ, or the hyperedges of one point and those of the other do not.
    """
    _check_directions(data, model)
    trained: Sequence[str] | None = model.about.get("feature_names")
    if trained is None or data.feature_names is None:
        if data.n_features != model.network.n_features:
            raise ValueError(
                f"the model takes {model.network.n_features} features per vertex; {data.name} has {data.n_features}."
            )
        return data
    if not isinstance(trained, (list, tuple)) or not all(isinstance(name, str) for name in trained):
        raise ValueError(f"the feature names of a model must be a list of text; its file has {trained!r:.60}.")
    place = {name: number for number, name in enumerate(data.feature_names)}
    missing, extra = [name for name in trained if name not in place], sorted(place.keys() - set(trained))
    if data.has_memberships and model.about.get("memberships", True) and len(missing) < len(trained):
        return _with_known_hyperedges(data, trained)
    if missing or extra:
        raise ValueError(
            f"the features of {data.name} must be those that the model was trained on; "
            + "; ".join(f"{what}: {quoted(names)}" for what, names in (("missing", missing), ("new", extra)) if names)
        )
    return replace(data, x=data.x[:, [place[name] for name in trained]], feature_names=tuple(trained))


def _check_directions(data: Dataset, model: SavedModel) -> None:
    """Raise unless the hyperedges of the data are directed exactly if those of training were."""
    points, pointed = isinstance(data.hypergraph, DirectedHypergraph), model.about.get("directed")
    if pointed is None or points == pointed or model.network.config.direction == "undirected":
        return
    if pointed:
        raise ValueError(
            f"the model was trained on hyperedges that point, and those of {data.name} do not: name the column of tail "
            "and head, --role COLUMN or role=…, or give a DirectedHypergraph."
        )
    raise ValueError(
        f"the model was trained on hyperedges that do not point, and those of {data.name} do: omit --role or role=…, "
        "or give H.undirected()."
    )


def _with_known_hyperedges(data: Dataset, known: Sequence[str]) -> Dataset:
    """Data whose features are its memberships with the columns that a model knows."""
    place = {name: number for number, name in enumerate(data.feature_names or ())}
    chosen = [(place[name], column) for column, name in enumerate(known) if name in place]
    rows, columns = np.array(chosen, dtype=np.int64).reshape(-1, 2).T
    ones = np.ones(rows.size, dtype=np.float32)
    select = sparse.csr_array((ones, (rows, columns)), shape=(len(place), len(known)))
    return replace(data, x=sparse.csr_array(sparse.csr_array(data.x) @ select), feature_names=tuple(known))
