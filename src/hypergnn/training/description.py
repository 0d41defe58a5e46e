"""The configuration of a run: its data and settings, in a form that can be compared with another run."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from hypergnn.datasets import Dataset
from hypergnn.models import Config


def describe(data: Dataset, config: Config) -> dict[str, Any]:
    """Everything that determines the results of a run, in JSON types, as stored in ``run.json``."""
    split = {"train": data.train, "val": data.val, "test": data.test}
    return {
        "data": {
            "name": data.name,
            "vertices": data.hypergraph.n_vertices,
            "hyperedges": data.hypergraph.n_hyperedges,
            "incidences": data.hypergraph.n_incidences,
            "links": None if data.graph is None else data.graph.n_links,
            "features": data.n_features,
            "classes": list(data.class_names),
            "split": {name: _digest(ids) for name, ids in split.items()},
            "content": _content(data),
        },
        "config": config.settings(),
    }


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
