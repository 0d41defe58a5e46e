"""Compare ensembles of ten networks with single ones on the public splits.

``python tools/measure_ensembles.py cora --ensembles 10`` trains ensembles of the trials 0 to 9, 10 to 19, … of
``grand+hyper-grand`` and appends one line for each to ``results/ensembles.jsonl``: its test accuracy, and those of its
members. The command resumes: ensembles in the file are not trained again. It ends with a one-sided test.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import mean

import torch

import hypergnn as hg
from hypergnn.experiments.paper import config_of
from hypergnn.experiments.statistics import compare
from hypergnn.models import Ensemble, Network
from hypergnn.training.engine import train
from hypergnn.training.order import near_together
from hypergnn.training.plan import Plan, Task

SIZE = 10


def main() -> None:
    """Train what the record lacks, and test."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", choices=("cora", "citeseer", "pubmed"))
    parser.add_argument("--ensembles", type=int, default=10)
    parser.add_argument("--model", default="grand+hyper-grand")
    parser.add_argument("--out", type=Path, default=Path("results/ensembles.jsonl"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    data, config = near_together(hg.datasets.load(arguments.dataset)), config_of(arguments.dataset, arguments.model)
    plan = Plan.of(Task.of(data, config), config)
    entries = [json.loads(line) for line in arguments.out.read_text().splitlines()] if arguments.out.exists() else []
    found = [one for one in entries if (one["dataset"], one["model"]) == (arguments.dataset, arguments.model)]
    for number in range(len(found), arguments.ensembles):
        trials = list(train(plan, config, range(SIZE * number, SIZE * (number + 1))))
        members = [Network.from_parameters(config, data.n_features, data.n_classes, one.parameters) for one in trials]
        task = plan.task
        with torch.no_grad():
            scores = Ensemble.of(members)(task.x, **task.structures)
        right = (scores.argmax(-1) == task.y)[task.test]
        found.append(
            {
                "dataset": arguments.dataset,
                "model": arguments.model,
                "first_seed": SIZE * number,
                "members": [one.accuracy["test"] for one in sorted(trials, key=lambda one: one.seed)],
                "ensemble": 100 * int(right.sum()) / right.numel(),
            }
        )
        with arguments.out.open("a") as file:
            file.write(json.dumps(found[-1]) + "\n")
        print(found[-1], flush=True)
    together, single = [one["ensemble"] for one in found], [value for one in found for value in one["members"]]
    print(f"ensembles {mean(together):.2f}, single networks {mean(single):.2f}", compare(together, single))


if __name__ == "__main__":
    main()
