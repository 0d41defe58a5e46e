"""The data of the page's explorer: the structure of a dataset, and what each network predicts for its vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn.datasets import Dataset
from hypergnn.models import KINDS
from hypergnn.report.insight import Insight
from hypergnn.report.packing import pack, pack_shares

STEPS = 65535
"""Steps between 0 and 1 for places, probabilities and attention, which is small where hyperedges are many."""

_NOUNS = {
    "cora": "article",
    "citeseer": "article",
    "pubmed": "article",
    "20news": "posting",
    "digits": "image",
    "wine": "wine",
    "cora-directed": "article",
}
_PARTS = ("train", "val", "test")


def structure(data: Dataset) -> dict[str, Any]:
    """A dataset for the explorer: memberships, true classes and the split.

    Packed numbers have no sign: unknown classes and missing centroids are 0, known ones start at 1.

    Example:
        >>> import hypergnn as hg
        >>> digits = structure(hg.datasets.load("digits"))
        >>> digits["noun"], digits["classes"][:3], digits["hyperedge"]["type"]
        ('image', ['0', '1', '2'], 'u2')
    """
    H = data.hypergraph.undirected()
    part = np.zeros(H.n_vertices, dtype=np.int64)
    for number, name in enumerate(_PARTS, start=1):
        part[getattr(data, name)] = number
    found: dict[str, Any] = {
        "noun": _NOUNS.get(data.name, "vertex"),
        "n": H.n_vertices,
        "m": H.n_hyperedges,
        "classes": [name.replace("_", " ") for name in data.class_names],
        "truth": pack(data.y + 1),
        "part": pack(part),
        "offsets": pack(H.incidence.offsets.numpy()),
        "hyperedge": pack(H._hyperedge_ids.numpy()),
    }
    if H.centroid is not None:
        found["centroid"] = pack(H.centroid.numpy().astype(np.int64) + 1)
    if H.hyperedge_names is not None:
        found["hyperedge_names"] = [str(name) for name in H.hyperedge_names]
    if data.name == "digits":
        found["pictures"] = pack_shares(np.asarray(data.x))
    return found


def network(insight: Insight, places: npt.NDArray[np.float32], label: str) -> dict[str, Any]:
    """The data of one network: map, probabilities, attention.

    Args:
        insight: The network's hidden features, probabilities and attention.
        places: Its map, ``(N, 2)`` between 0 and 1.
        label: Its name on the page.
    """
    config = insight.model.network.config
    kind = config.model
    found: dict[str, Any] = {
        "label": label,
        "dataset": insight.data.name,
        "model": kind,
        "reads": KINDS[kind].structures,
        "attends": KINDS[kind].has_attention,
        "structural": config.weighs_by_structure,
        "seed": insight.model.about["seed"],
        "accuracy": round(insight.accuracy, 1),
        "places": pack_shares(places, STEPS),
        "probability": pack_shares(insight.probability, STEPS),
        "heads": list(insight.heads),
    }
    if insight.attention is not None:
        found["attention"] = pack_shares(insight.attention, STEPS)
    return found
