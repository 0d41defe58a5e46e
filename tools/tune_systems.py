"""Choose the settings of the systems of the comparison that are not published, by their validation accuracy.

``python tools/tune_systems.py`` fits each setting of :data:`GRIDS` on each dataset and appends a line per setting to
``results/systems_grid.jsonl``: dataset, system, settings, mean validation accuracy in percent, and trials. It reads no
test label. The command resumes: settings in the file are skipped. ``settings_of`` of each system holds the best line,
the first of equal ones; a test compares both.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import hypergnn as hg
from hypergnn.datasets import Dataset
from hypergnn.experiments.systems import SYSTEMS, System

GRIDS: dict[str, dict[str, list[Any]] | list[dict[str, list[Any]]]] = {
    "label-propagation": {"class_mass": [False, True]},
    "manifold-regularization": {"ambient": [1e-4, 1e-3, 1e-2], "intrinsic": [1e2, 1e3, 1e4]},
    "ica": {"neighbours": ["count", "share"], "inverse_penalty": [0.1, 1.0, 10.0]},
    "chebyshev": {"order": [2, 3]},
    "semi-supervised-embedding": {"strength": [0.1, 1.0, 10.0, 100.0]},
    "planetoid": [{"negative": [0], "graph_batches": [70]}, {"negative": [5], "graph_batches": [70, 400, 2000]}],
    "monet": {"weight_decay": [5e-4, 1e-3, 5e-3]},
    "deepwalk": {"inverse_penalty": [0.1, 1.0]},
}
"""Values of each setting of a system that is chosen; all combinations are tried. A list holds several grids."""


def settings_of(name: str) -> Iterator[dict[str, Any]]:
    """The combinations of the grids of a system."""
    own = GRIDS[name]
    for grid in own if isinstance(own, list) else [own]:
        for values in product(*grid.values()):
            yield dict(zip(grid, values, strict=True))


def without_test_labels(data: Dataset) -> Dataset:
    """The dataset with unknown labels, and no split, for its test vertices."""
    y = data.y.copy()
    y[data.test] = -1
    return replace(data, y=y, test=data.test[:0])


def validation_accuracy(system: System, data: Dataset, trials: int) -> float:
    """The mean over trials, in percent."""
    found = [system.fit(data, seed)[data.val].argmax(axis=1) == data.y[data.val] for seed in range(trials)]
    return round(mean(100 * float(one.mean()) for one in found), 2)


def main() -> None:
    """Fit what the record lacks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer", "pubmed"])
    parser.add_argument("--systems", nargs="+", default=list(GRIDS), choices=list(GRIDS))
    parser.add_argument("--trials", type=int, default=2, help="for systems that draw")
    parser.add_argument("--out", type=Path, default=Path("results/systems_grid.jsonl"))
    arguments = parser.parse_args()
    lines = arguments.out.read_text().splitlines() if arguments.out.exists() else []
    done = [(entry["dataset"], entry["system"], entry["settings"]) for entry in map(json.loads, lines)]
    for name, dataset in product(arguments.systems, arguments.datasets):
        data = without_test_labels(hg.datasets.load(dataset))
        for settings in settings_of(name):
            if (dataset, name, settings) in done:
                continue
            kind = SYSTEMS[name]
            system = kind(**settings)
            trials = 1 if kind.is_deterministic else arguments.trials
            entry = {"dataset": dataset, "system": name, "settings": settings}
            entry |= {"val_accuracy": validation_accuracy(system, data, trials), "trials": trials}
            with arguments.out.open("a") as file:
                file.write(json.dumps(entry) + "\n")
            print(entry, flush=True)


if __name__ == "__main__":
    main()
