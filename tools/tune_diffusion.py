"""Choose the settings of ``hyper-diffusion`` on generated hypergraphs, by their validation loss.

``python tools/tune_diffusion.py`` trains each setting on hypergraphs with small and large hyperedges and with classes
that are smooth or mixed within them, and appends a line per setting to ``results/tuning.jsonl``. The features are a
noisy one-hot code of the class among columns of noise. The command resumes: settings in the file are skipped.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

import hypergnn as hg
from hypergnn.datasets import Dataset
from hypergnn.models import Config, paper_config

CASES: dict[str, dict[str, Any]] = {
    "small, smooth": {"same": 0.8, "sizes": (3, 8)},
    "small, mixed": {"same": 0.3, "sizes": (3, 8), "noise": 0.6},
    "large, mixed": {"same": 0.15, "sizes": (20, 80), "n_hyperedges": 300, "noise": 0.6},
    "large, five classes": {"same": 0.4, "sizes": (10, 60), "n_hyperedges": 500, "n_classes": 5, "noise": 0.8},
}
SETTINGS: list[dict[str, Any]] = [{}, {"depth": 1}, {"alpha": 0.1}, {"alpha": 0.0}, {"dropout": 0.7}, {"dropout": 0.2}]


def generated(
    same: float,
    sizes: tuple[int, int],
    *,
    n_vertices: int = 800,
    n_hyperedges: int = 600,
    n_classes: int = 2,
    noise: float = 1.0,
    seed: int = 0,
) -> Dataset:
    """A hypergraph whose hyperedges have a share ``same`` of members of one class, the others of any class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_vertices)
    hyperedges = []
    for _ in range(n_hyperedges):
        size, own = rng.integers(*sizes), rng.integers(n_classes)
        is_own = rng.random(size) < same
        members = np.where(is_own, rng.choice(np.flatnonzero(y == own), size), rng.integers(0, n_vertices, size))
        hyperedges.append(np.unique(members).tolist())
    code = np.concatenate([np.eye(n_classes)[y], np.zeros((n_vertices, 20))], 1)
    order = rng.permutation(n_vertices)
    train, val, test = (np.sort(part) for part in np.split(order, [n_vertices // 2, 3 * n_vertices // 4]))
    return Dataset(
        name="generated",
        x=(code + noise * rng.normal(size=code.shape)).astype(np.float32),
        y=y,
        hypergraph=hg.Hypergraph.from_hyperedges(hyperedges, n_vertices=n_vertices),
        graph=None,
        train=train,
        val=val,
        test=test,
        class_names=tuple(map(str, range(n_classes))),
        source="generated",
    )


def main() -> None:
    """Train what the record lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results/tuning.jsonl"))
    arguments = parser.parse_args()
    lines = arguments.out.read_text().splitlines() if arguments.out.exists() else []
    done = [(entry["model"], entry["settings"]) for entry in map(json.loads, lines) if entry["dataset"] == "generated"]
    base = replace(paper_config("", "hyper-diffusion"), feature_scaling="none")
    plain = Config("hyper-conv", feature_scaling="none")
    todo: list[tuple[Config, dict[str, Any]]] = [
        (plain, {}),
        (replace(plain, model="mlp", dropout=0.5, learning_rate=0.01), {}),
    ]
    for config, settings in [*todo, *((replace(base, **one), one) for one in SETTINGS)]:
        if (config.model, settings) in done:
            continue
        losses = {}
        for name, case in CASES.items():
            records = hg.training.fit(generated(**case), config, trials=arguments.trials, jobs=1).records
            losses[name] = round(mean(float(record.val_loss or 0) for record in records), 4)
        entry = {"dataset": "generated", "model": config.model, "settings": settings, "trials": arguments.trials}
        with arguments.out.open("a") as file:
            file.write(json.dumps({**entry, "val_loss": losses}) + "\n")
        print(entry, losses, flush=True)


if __name__ == "__main__":
    main()
