"""Choose the settings of the networks that are not in the paper, on the validation vertices of Cora alone.

``python tools/tune_beyond.py --trials 4`` trains each point of the grid and appends one line per point to
``results/tuning.jsonl``: the settings that vary, and the means over the trials of validation accuracy,
validation loss and epochs, nothing of the test vertices. Points that the file has are skipped, so the command resumes.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import hypergnn as hg
from hypergnn.models import paper_config
from hypergnn.models.recipes import deep_settings

GRAND = "grand+hyper-grand"
CONV = "hyper-conv"
PUBLISHED: dict[str, Any] = {
    "hidden": 32,
    "heads": 1,
    "learning_rate": 0.01,
    "weight_decay": 5e-4,
    "patience": 200,
    "dropout": 0.5,
    "input_dropout": 0.5,
    "consistency": 1.0,
    "activation": "elu",
}
"""Random propagation before anything is chosen: the published settings for graphs, with the activation of the paper."""
GRID: list[tuple[str, dict[str, Any]]] = [
    *[(GRAND, {"steps": steps}) for steps in (3, 4, 6, 8)],
    (GRAND, {"steps": 4, "hidden": 64}),
    (GRAND, {"steps": 4, "input_dropout": 0.7}),
    *[
        (GRAND, {"steps": 4, "input_dropout": 0.7, **other})
        for other in (
            {"activation": "relu"},
            {"row_dropout": 0.6},
            {"temperature": 0.3},
            {"dropout": 0.6},
            {"consistency": 1.5},
            {"consistency": 2.0},
            {"consistency": 1.5, "activation": "relu"},
            {"consistency": 1.5, "temperature": 0.3},
            {"consistency": 1.5, "learning_rate": 0.02},
            {"weight_decay": 1e-3},
            {"hidden": 64},
        )
    ],
    (GRAND, {"steps": 4, "input_dropout": 0.8}),
    (GRAND, {"steps": 6, "input_dropout": 0.7}),
    *[
        (CONV, {**deep_settings(""), "depth": 32, **other})
        for other in ({}, {"alpha": 0.2}, {"alpha": 0.3}, {"theta": 1.0}, {"dropout": 0.7}, {"layer_decay": 0.02})
    ],
]


def main() -> None:
    """Train what the record lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--out", type=Path, default=Path("results/tuning.jsonl"))
    arguments = parser.parse_args()
    lines = arguments.out.read_text().splitlines() if arguments.out.exists() else []
    done = {_key(entry) for entry in map(json.loads, lines)}
    data = hg.datasets.load("cora")
    for model, settings in GRID:
        entry = {"dataset": data.name, "model": model, "settings": settings, "trials": arguments.trials}
        if _key(entry) in done:
            continue
        base = PUBLISHED if model == GRAND else {}
        config = replace(paper_config(data.name, model), max_epochs=10_000, **{**base, **settings})
        start = time.process_time()
        records = hg.training.fit(data, config, trials=arguments.trials, jobs=1).records
        entry |= {
            name: round(mean(float(getattr(record, name)) for record in records), 4)
            for name in ("val_accuracy", "val_loss", "epochs")
        }
        with arguments.out.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print(entry, f"{time.process_time() - start:.0f} s", flush=True)


def _key(entry: dict[str, Any]) -> str:
    return json.dumps([entry["dataset"], entry["model"], entry["settings"], entry["trials"]], sort_keys=True)


if __name__ == "__main__":
    main()
