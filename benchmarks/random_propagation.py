"""``python -m benchmarks.random_propagation``: trials of random propagation together, against a plain loop over one.

Both train the mean of graph and hypergraph on Cora with the published settings and evaluate after each epoch. The plain
loop is what a user of torch would write: features as a dense matrix, the transition as one sparse matrix, all columns
propagated in each draw. The times are seconds per epoch of a trial, measured in turns.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, cast

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout

import hypergnn as hg
from benchmarks.machine import describe
from benchmarks.measuring import Contestant, Work, interleave, prepare
from hypergnn.datasets import Dataset
from hypergnn.models import Config, paper_config
from hypergnn.persistence.files import write_atomic

RESULTS = Path(__file__).parent / "random_propagation.json"


def our_training(data: Dataset, config: Config, trials: int) -> Work:
    """Train with the public function; preparation and the final evaluation are included in the time."""

    def work(epochs: int) -> None:
        hg.training.fit(data, replace(config, max_epochs=epochs, patience=epochs + 1), trials=trials)

    return work


def plain_training(data: Dataset, config: Config) -> Work:
    """Train one trial in plain torch."""
    T, x = transition(data), torch.from_numpy(np.asarray(data.scaled("row").todense(), dtype=np.float32))
    y, train, val = (torch.from_numpy(part).long() for part in (data.y, data.train, data.val))

    def propagated(x: Tensor) -> Tensor:
        power = total = x
        for _ in range(config.steps):
            power = T @ power
            total = total + power
        return total / (config.steps + 1)

    def work(epochs: int) -> None:
        first, last = nn.Linear(x.shape[1], config.hidden), nn.Linear(config.hidden, data.n_classes)

        def scores(rows: Tensor | float, *, training: bool) -> Tensor:
            inner = dropout(propagated(rows * x), config.first_dropout, training)
            found: Tensor = last(dropout(first(inner).relu(), config.dropout, training))
            return found

        optimizer = torch.optim.Adam(
            [*first.parameters(), *last.parameters()], lr=config.learning_rate, weight_decay=config.weight_decay
        )
        best = float("inf")
        for _ in range(epochs):
            masks = [(torch.rand(len(x), 1) >= config.row_dropout).float() for _ in range(config.draws)]
            draws = [scores(mask, training=True) for mask in masks]
            shares = torch.stack([one.softmax(-1) for one in draws])
            sharp = shares.detach().mean(0) ** (1 / config.temperature)
            sharp = sharp / sharp.sum(1, keepdim=True)
            loss = torch.stack([cross_entropy(one[train], y[train]) for one in draws]).mean()
            loss = loss + config.consistency * (shares - sharp).square().sum(-1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                found = scores(1 - config.row_dropout, training=False)
                best = min(best, cross_entropy(found[val], y[val]).item())

    return work


def transition(data: Dataset) -> Tensor:
    """The mean of the transitions of graph and hypergraph as one sparse matrix."""
    graph, hypergraph = cast(hg.Graph, data.graph), cast(hg.Hypergraph, data.hypergraph)
    loops = graph.to_scipy() + sparse.eye_array(hypergraph.n_vertices)
    root = sparse.diags_array(loops.sum(1) ** -0.5)
    H = hypergraph.to_scipy()
    degree, size = (np.maximum(one, 1) for one in (H.sum(1), H.sum(0)))
    left = sparse.diags_array(degree**-0.5) @ H
    mean = sparse.csr_array((root @ loops @ root + left @ sparse.diags_array(1 / size) @ left.T) / 2)
    rows, columns = (torch.from_numpy(one.astype(np.int64)) for one in (mean.indptr, mean.indices))
    return torch.sparse_csr_tensor(rows, columns, torch.from_numpy(mean.data.astype(np.float32)), mean.shape)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the ratio and write the times."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.random_propagation", description=__doc__)
    parser.add_argument("--trials", type=int, default=32, help="trials together (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=20, help="least number of our epochs in a timing")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    data = hg.datasets.load("cora")
    config = paper_config("cora", "grand+hyper-grand")
    threads = torch.get_num_threads()
    contestants = [
        Contestant("ours", our_training(data, config, options.trials), options.trials, options.epochs, threads),
        Contestant("plain loop", plain_training(data, config), least=2, threads=None),
    ]
    ours, plain = (prepare(one, seconds=1.0, all_threads=threads) for one in contestants)
    found: dict[str, Any] = interleave(ours, [plain], repetitions=options.repetitions, say=_say)
    times = found["peers"]["plain loop"]
    ratio = median(times["theirs"]) / median(times["ours"])
    print(
        f"an epoch of a trial: {median(times['ours']):.4f} s, plain loop {median(times['theirs']):.3f} s, 1/{ratio:.0f}"
    )
    entry = {"machine": describe(threads), "trials": options.trials, "ratio": round(ratio, 1), **found}
    write_atomic(options.out, (json.dumps(entry, indent=1) + "\n").encode())
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
