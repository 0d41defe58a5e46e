"""Explain the most confident mistake of a network: how much each finding contributed to it.

The 569 tumours of scikit-learn's breast cancer data are the vertices. A finding, such as a radius in the largest
quarter, is a hyperedge over all tumours that have it. The network learns from 40 labels. Run with ``python
examples/diagnosis.py``; it takes a few seconds, prints the explanation and draws it to ``diagnosis.png``.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

import hypergnn as hg
from hypergnn.persistence.models import SavedModel


def findings() -> hg.datasets.Dataset:
    """Return the data: tumours in the same quarter of a measurement share a hyperedge."""
    cancer = load_breast_cancer(as_frame=True)
    tumours = [f"tumour {number}" for number in range(len(cancer.data))]
    H = hg.construct.from_attributes(cancer.data.filter(like="worst").set_axis(tumours), bins=4)
    rng = np.random.default_rng(0)
    split = np.full(len(tumours), "test", dtype=object)
    for kind in range(2):
        split[rng.choice(np.flatnonzero(cancer.target == kind), 40, replace=False)] = ["train"] * 20 + ["val"] * 20
    return hg.datasets.from_tables(
        incidences={"tumour": H.vertex_names[H.vertex], "finding": H.hyperedge_names[H.hyperedge]},
        labels={"tumour": tumours, "kind": cancer.target_names[cancer.target], "split": split},
        label="kind",
        name="breast cancer",
    )


def surest_mistake(model: SavedModel, data: hg.datasets.Dataset) -> int:
    """Return the vertex of the test set whose wrong class has the highest probability."""
    probability = hg.training.predict(model, data)[data.test]  # (test, classes)
    is_wrong = probability.argmax(1) != data.y[data.test]
    return int(data.test[np.where(is_wrong, probability.max(1), 0).argmax()])


def main(picture: str | Path = "diagnosis.png", trials: int = 3) -> None:
    data = findings()
    with tempfile.TemporaryDirectory() as folder:
        config = hg.models.Config(model="hyper-attention", max_epochs=300)
        run = hg.training.fit(data, config, trials=trials, out=folder)
        best = hg.load(Path(folder, "model.safetensors"))
    vertex = surest_mistake(best, data)
    why = hg.explain(best, data, vertex)
    print(f"{data}\n{run}\n")
    print(f"in truth {data.class_names[data.y[vertex]]}:")
    print(why)
    why.plot(top=8).savefig(picture, dpi=120, bbox_inches="tight")
    print(f"picture: {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
