"""Compare ensembles of ten networks with single ones on the public splits.

``python tools/measure_ensembles.py cora --ensembles 10 --out runs/best`` trains the trials 0 to 9, 10 to 19, … of a
network of the table ``best``, in the run folder that ``hypergnn reproduce best --out runs/best`` uses too. For each ten
it appends a line to ``results/ensembles.jsonl``: the test accuracy of their ensemble, and theirs. The command resumes
after a finished ten, and ends with a one-sided test. A run folder has the network of its best trial only, so trials
that it already had are trained again here.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import mean

import hypergnn as hg
from hypergnn.experiments.beyond import BEYOND
from hypergnn.experiments.paper import config_of
from hypergnn.experiments.statistics import compare
from hypergnn.training.engine import train
from hypergnn.training.here import one_thread
from hypergnn.training.order import near_together
from hypergnn.training.plan import Plan, Task

SIZE = 10


def main() -> None:
    """Train what the record lacks, and test."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", choices=("cora", "citeseer", "pubmed"))
    parser.add_argument("--ensembles", type=int, default=10)
    parser.add_argument("--model", default="grand+hyper-grand")
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path("runs/best"), help="the folder of the runs")
    parser.add_argument("--record", type=Path, default=Path("results/ensembles.jsonl"))
    arguments = parser.parse_args()
    cell, data = BEYOND["best"].cell(f"{arguments.dataset}/{arguments.model}"), hg.datasets.load(arguments.dataset)
    config = config_of(arguments.dataset, arguments.model)
    lines = arguments.record.read_text().splitlines() if arguments.record.exists() else []
    found = [one for one in map(json.loads, lines) if (one["dataset"], one["model"]) == (data.name, arguments.model)]
    for number in range(len(found), arguments.ensembles):
        seeds = range(SIZE * number, SIZE * (number + 1))
        run = hg.training.fit(
            data, config, trials=seeds.stop, out=arguments.out / cell.run, jobs=arguments.jobs, curves=True
        )
        if run.interrupted or run.failures:
            sys.exit("stopped; the same command resumes" if run.interrupted else str(run.failures[0]))
        networks = dict(run.networks)
        missing = [seed for seed in seeds if seed not in networks]
        if missing:
            ordered = near_together(data)
            with one_thread():  # as in a worker
                for trial in train(Plan.of(Task.of(ordered, config), config), config, missing):
                    networks[trial.seed] = hg.Network.from_parameters(
                        config, data.n_features, data.n_classes, trial.parameters
                    )
        ensemble = hg.models.Ensemble.of([networks[seed] for seed in seeds])
        right = hg.training.predict(ensemble, data).argmax(1)[data.test] == data.y[data.test]
        found.append(
            {
                "dataset": data.name,
                "model": arguments.model,
                "first_seed": seeds.start,
                "members": [record.test_accuracy for record in run.records if record.seed in seeds],
                "ensemble": 100 * int(right.sum()) / right.size,
            }
        )
        with arguments.record.open("a") as file:
            file.write(json.dumps(found[-1]) + "\n")
        print(found[-1], flush=True)
    together, single = [one["ensemble"] for one in found], [value for one in found for value in one["members"]]
    print(f"ensembles {mean(together):.2f}, single networks {mean(single):.2f}", compare(together, single))


if __name__ == "__main__":
    main()
