"""The configuration of a run: its data and settings, in a form that can be compared with another run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from hypergnn.datasets import Dataset
from hypergnn.models import Config


def describe(data: Dataset, config: Config, start: Mapping[str, Tensor] | None = None) -> dict[str, Any]:
    """Everything that determines the results of a run, in JSON types, as stored in ``run.json``.

    Args:
        data: The data.
        config: The settings.
        start: The parameters that trials start from, if they are not drawn.
    """
    described = {"data": describe_data(data), "config": config.settings()}
    return described if start is None else {**described, "start": digest_of(start)}


def describe_data(data: Dataset) -> dict[str, Any]:
    """The data of a run, in JSON types: sizes, classes, and digests of the split and of the content.

    Example:
        >>> import hypergnn as hg
        >>> describe_data(hg.datasets.load("digits"))["features"]
        64
    """
    split = {"train": data.train, "val": data.val, "test": data.test}
    return {
        "name": data.name,
        "vertices": data.hypergraph.n_vertices,
        "hyperedges": data.hypergraph.n_hyperedges,
        "incidences": data.hypergraph.n_incidences,
        "links": None if data.graph is None else data.graph.n_links,
        "features": data.n_features,
        "classes": list(data.class_names),
        "split": {name: _digest(ids) for name, ids in split.items()},
        "content": _content(data),
    }


def digest_of(start: Mapping[str, Tensor]) -> str:
    """A digest of parameters."""
    digest = hashlib.sha256()
    for name in sorted(start):
        digest.update(name.encode())
        digest.update(start[name].detach().cpu().numpy().astype("<f4").tobytes())
    return digest.hexdigest()[:16]


def _content(data: Dataset) -> str:
    """A digest of features, labels and structures."""
    x, H, graph = data.x, data.hypergraph, data.graph
    matrix = [x] if isinstance(x, np.ndarray) else [x.data, x.indices, x.indptr]
    links = () if graph is None else graph.content
    digest = hashlib.sha256()
    for part in (*matrix, data.y, *H.content, *links):
        array = np.ascontiguousarray(part)
        digest.update(array.astype("<i8" if array.dtype.kind == "i" else "<f4").tobytes())
    return digest.hexdigest()[:16]


def _digest(ids: Any) -> str:
    return f"{len(ids)} vertices, {hashlib.sha256(ids.astype('<i8').tobytes()).hexdigest()[:16]}"
