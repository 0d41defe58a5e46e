"""Mixed work for a while, and whether memory, threads, descriptors and files stay flat: ``python -m benchmarks.load``.

Eight threads fit, predict, save, load and fork at random, in one process. Every second the process is measured; the
second quarter of the time is compared with the last one. The first quarter is for caches to fill.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil
import torch
from scipy import sparse

import hypergnn as hg
from hypergnn.training import fit, predict

THREADS = 8
CONFIG = hg.Config(hidden=4, heads=2, patience=5, max_epochs=10)
MEMORY = 32 << 20
"""Bytes by which the process may grow, beyond a twentieth of its size."""
DESCRIPTORS = 8
"""Descriptors by which the median may grow: how many are open differs from moment to moment."""


def points() -> hg.Dataset:
    """Three groups of points with sparse features."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    x = (rng.random((120, 30)) < 0.05 + 0.5 * (np.arange(30) % 3 == y[:, None])).astype(np.float32)
    order = rng.permutation(120)
    return hg.Dataset(
        name="points",
        x=sparse.csr_array(x),
        y=y,
        class_names=("a", "b", "c"),
        graph=None,
        hypergraph=hg.construct.from_knn(x, 4),
        train=np.sort(order[:24]),
        val=np.sort(order[24:60]),
        test=np.sort(order[60:]),
        source="drawn at random",
    )


class Work:
    """The kinds of work, each a method without arguments; all raise if a result is wrong."""

    def __init__(self, folder: Path) -> None:
        """Compute once what every repetition must give."""
        self.folder, self.data = folder, points()
        self.path = folder / "shared.safetensors"
        self.expected = [replace(one, seconds=0.0) for one in fit(self.data, CONFIG, trials=2, jobs=1).records]
        fit(self.data, CONFIG, trials=1, jobs=1, out=folder / "run")
        self.model = hg.load(folder / "run" / "model.safetensors")
        self.probability = predict(self.model, self.data)
        hg.save(self.model.network, self.path)

    def fit(self) -> None:
        """Train two trials in this process."""
        self._check(fit(self.data, CONFIG, trials=2, jobs=1).records)

    def fit_in_forks(self) -> None:
        """Train two trials in forked workers, recorded in a run folder."""
        with tempfile.TemporaryDirectory(dir=self.folder) as out:
            self._check(fit(self.data, CONFIG, trials=2, jobs=2, batch=1, out=out, curves=True).records)

    def estimate(self) -> None:
        """Fit an estimator and predict."""
        rows = sparse.csr_array(self.data.x).toarray()
        classifier = hg.HypergraphClassifier(max_epochs=3, random_state=0)
        assert classifier.fit(rows, self.data.y).predict(rows).shape == (120,)

    def predict(self) -> None:
        """Predict with a loaded model."""
        assert np.array_equal(predict(self.model, self.data), self.probability)

    def save_and_load(self) -> None:
        """Replace a file that other threads replace and read, too."""
        hg.save(self.model.network, self.path)
        loaded = hg.load(self.path).network.state_dict()
        assert all(torch.equal(loaded[name], one) for name, one in self.model.network.state_dict().items())

    def save_structure(self) -> None:
        """Save a hypergraph, load it and multiply."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            self.data.hypergraph.save(Path(folder, "H.safetensors"))
            H = hg.Hypergraph.load(Path(folder, "H.safetensors"))
        x = torch.ones(120, 3)
        assert torch.equal(hg.functional.hypergraph_conv(x, H), hg.functional.hypergraph_conv(x, self.data.hypergraph))

    def fork(self) -> None:
        """Fork a child that ends at once."""
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)

    def _check(self, records: list[Any]) -> None:
        assert [replace(one, seconds=0.0) for one in records] == self.expected

    def kinds(self) -> list[Callable[[], None]]:
        """All kinds of work; cheap ones more often."""
        often = [self.predict, self.save_and_load] * 3
        return [self.fit, self.fit_in_forks, self.estimate, self.save_structure, self.fork, *often]


def run(seconds: float) -> dict[str, Any]:
    """Work for some seconds; return counts of the work, medians of two quarters, and complaints."""
    errors: list[str] = []
    done: Counter[str] = Counter()
    samples: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as name:
        work = Work(Path(name))
        start = time.monotonic()
        end = start + seconds

        def repeat(seed: int) -> None:
            chance = random.Random(seed)
            try:
                while time.monotonic() < end and not errors:
                    kind = chance.choice(work.kinds())
                    kind()
                    done[kind.__name__] += 1
            except BaseException:
                errors.append(traceback.format_exc())

        threads = [threading.Thread(target=repeat, args=(seed,), daemon=True) for seed in range(THREADS)]
        for thread in threads:
            thread.start()
        while time.monotonic() < end and not errors:
            time.sleep(min(1.0, seconds / 40))
            samples.append(_sample(time.monotonic() - start))
        for thread in threads:
            thread.join(120)
        errors += [f"{thread.name} hangs" for thread in threads if thread.is_alive()]
        gc.collect()
        left = sorted(path.name for path in Path(name).iterdir() if path.name not in ("run", "shared.safetensors"))
    children = len(psutil.Process().children(recursive=True))
    quarters = {"second": _medians(samples, seconds, 1), "last": _medians(samples, seconds, 3)}
    figures = {"seconds": round(seconds), "work": dict(sorted(done.items())), "quarters": quarters}
    figures |= {"files_left": len(left), "processes_left": children, "samples": len(samples)}
    return figures | {"complaints": errors + _complaints(quarters, left, children)}


def _sample(at: float) -> dict[str, float]:
    process = psutil.Process()
    return {
        "at": at,
        "memory": process.memory_info().rss,
        "threads": process.num_threads(),
        "descriptors": process.num_fds(),
    }


def _medians(samples: list[dict[str, float]], seconds: float, quarter: int) -> dict[str, float]:
    bounds = seconds * quarter / 4, seconds * (quarter + 1) / 4
    chosen = [one for one in samples if bounds[0] <= one["at"] <= bounds[1]] or samples
    return {name: median(one[name] for one in chosen) for name in ("memory", "threads", "descriptors")}


def _complaints(quarters: dict[str, dict[str, float]], left: list[str], children: int) -> list[str]:
    before, after = quarters["second"], quarters["last"]
    room = {"memory": MEMORY + before["memory"] / 20, "threads": THREADS, "descriptors": DESCRIPTORS}
    found = [
        f"{name} grew from {before[name]:g} to {after[name]:g}"
        for name, most in room.items()
        if after[name] - before[name] > most
    ]
    found += [f"{len(left)} files were left, such as {left[0]}"] if left else []
    return found + ([f"{children} processes were left"] if children else [])


def main(arguments: list[str]) -> int:
    """Work for the given number of seconds, print the figures as JSON, and fail if something grew."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--seconds", type=float, default=900)
    figures = run(parser.parse_args(arguments).seconds)
    print(json.dumps(figures, indent=1))
    return 1 if figures["complaints"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
