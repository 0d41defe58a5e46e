"""Trials on two Dask workers of one thread each, against the local pool of two, in turn."""

from __future__ import annotations

import json
import sys
import time
from statistics import median
from typing import Any

import joblib
from distributed import Client, LocalCluster

import hypergnn as hg

ROUNDS = 3


def main(trials: int) -> dict[str, Any]:
    """Seconds of both, and whether their results are the same."""
    data = hg.datasets.load("digits")
    config = hg.Config(max_epochs=200)

    def run(trials: int = trials) -> tuple[float, list[float | None]]:
        begun = time.perf_counter()
        result = hg.training.fit(data, config, trials=trials, jobs=2)
        return time.perf_counter() - begun, [record.val_loss for record in result.records]

    workers: Any = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**workers) as cluster, Client(cluster):
        run(2)
        with joblib.parallel_config(backend="dask"):
            run(4)  # imports and compiles in the workers
        local, there = [], []
        for _ in range(ROUNDS):
            local.append(run())
            with joblib.parallel_config(backend="dask"):
                there.append(run())
    seconds = [median(one for one, _ in runs) for runs in (local, there)]
    return {
        "trials": trials,
        "seconds": {"local": seconds[0], "dask": seconds[1]},
        "times": seconds[1] / seconds[0],
        "same": all(losses == local[0][1] for _, losses in (*local, *there)),
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))), flush=True)
