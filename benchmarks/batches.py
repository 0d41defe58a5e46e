"""Mini-batches: memory of sampled training, speed against a sampler in NumPy, accuracy against the full batch.

``python -m benchmarks.batches --cases memory speed`` measures some cases and adds them to ``benchmarks/batches.json``.
The data of the large cases is written once to a folder and mapped from there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import cross_entropy

import hypergnn as hg
from benchmarks.inputs import skewed
from benchmarks.machine import describe
from benchmarks.plain_sampler import PlainSampler
from hypergnn.loader import Batch
from hypergnn.models import paper_config
from hypergnn.persistence.files import write_atomic
from hypergnn.training import fit

RESULTS = Path(__file__).parent / "batches.json"
FEATURES, CLASSES, BATCH, FANOUT = 64, 10, 1024, [(5, 5), (5, 5)]
SIZES = {"full": (1_000_000, 20_000_000), "quick": (20_000, 400_000)}
CONFIG = hg.Config(dropout=0.0)
Options = argparse.Namespace


def generated(options: Options) -> tuple[Path, Path]:
    """The files of a hypergraph with Pareto-distributed hyperedges and of its features, written if they are missing."""
    n_vertices, n_incidences = SIZES["quick" if options.quick else "full"]
    folder = options.folder / f"{n_vertices}-{n_incidences}"
    structure, features = folder / "hypergraph.safetensors", folder / "features.npy"
    if not (structure.exists() and features.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        skewed(n_vertices, n_vertices, n_incidences).save(structure)
        draw = np.random.default_rng(0)
        x = np.lib.format.open_memmap(features, mode="w+", dtype=np.float32, shape=(n_vertices, FEATURES))
        for start in range(0, n_vertices, 1 << 16):
            x[start : start + (1 << 16)] = draw.random((min(1 << 16, n_vertices - start), FEATURES), np.float32)
        x.flush()
    return structure, features


def _labels(n_vertices: int) -> npt.NDArray[np.int64]:
    return np.arange(n_vertices) % CLASSES


def train(batches: Iterator[Batch], network: hg.Network, steps: int) -> float:
    """Train on some batches, and return the seconds per step."""
    optimizer = torch.optim.Adam(network.parameters(), 0.01)
    start = time.perf_counter()
    for _ in range(steps):
        batch = next(batches)
        loss = cross_entropy(network(batch.x, hypergraph=batch.blocks), cast(torch.Tensor, batch.y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (time.perf_counter() - start) / steps


def divided(batches: Iterator[Batch], network: hg.Network, steps: int) -> tuple[float, float]:
    """Median seconds of computing time per step in this thread: for the batch, and for the layers and Adam."""
    optimizer, times = torch.optim.Adam(network.parameters(), 0.01), []
    for _ in range(steps):
        start = time.thread_time()
        batch = next(batches)
        middle = time.thread_time()
        loss = cross_entropy(network(batch.x, hypergraph=batch.blocks), cast(torch.Tensor, batch.y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        times.append((middle - start, time.thread_time() - middle))
    sampling, layers = np.median(times, axis=0).tolist()
    return sampling, layers


def _ours(structure: Path, features: Path, *, prefetch: int = 2) -> Iterator[Batch]:
    H = hg.Hypergraph.load(structure)
    y = _labels(H.n_vertices)
    return iter(hg.NeighborLoader(H, features, y, batch_size=BATCH, fanout=FANOUT, prefetch=prefetch))


def _plain(structure: Path, features: Path) -> Iterator[Batch]:
    H = hg.Hypergraph.load(structure)
    return PlainSampler(H, np.load(features, mmap_mode="r"), _labels(H.n_vertices)).batches(BATCH, FANOUT)


CONTESTANTS: dict[str, Callable[[Path, Path], Iterator[Batch]]] = {"ours": _ours, "NumPy": _plain}


def memory(options: Options) -> dict[str, Any]:
    """Peak resident memory of a process that trains on mapped files, pages of the files included."""
    structure, features = generated(options)
    program = (
        "import json, sys; from pathlib import Path; from benchmarks import batches; "
        "print(json.dumps(batches.memory_of(*map(Path, sys.argv[1:3]), int(sys.argv[3]))))"
    )
    command = [sys.executable, "-c", program, str(structure), str(features), str(3 if options.quick else 40)]
    found = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    return dict(json.loads(found.stdout))


def memory_of(structure: Path, features: Path, steps: int) -> dict[str, Any]:
    """What :func:`memory` measures, in this process."""
    torch.manual_seed(0)
    seconds = train(_ours(structure, features), hg.Network(CONFIG, FEATURES, CLASSES), steps)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak, anonymous = (int(status[name].split()[0]) * 1024 for name in ("VmHWM", "RssAnon"))
    return {"peak_bytes": peak, "anonymous_bytes": anonymous, "steps": steps, "seconds_per_step": seconds}


def speed(options: Options) -> dict[str, Any]:
    """Seconds per step of our loader and of the NumPy sampler, with the same network, taking turns.

    Each has as many threads as suit it, all or one: our loader draws in a thread of its own, which needs a processor.
    """
    files, before = generated(options), torch.get_num_threads()
    steps, turns = (2, 2) if options.quick else (10, 5)
    sources = {name: make(*files) for name, make in CONTESTANTS.items()}
    networks = {name: hg.Network(CONFIG, FEATURES, CLASSES) for name in CONTESTANTS}
    for name, batches in sources.items():
        train(batches, networks[name], 2)
    choices = sorted({1, before})
    times: dict[tuple[str, int], list[float]] = {(name, threads): [] for name in CONTESTANTS for threads in choices}
    for _ in range(turns):
        for (name, threads), own in times.items():
            torch.set_num_threads(threads)
            own.append(train(sources[name], networks[name], steps))
    torch.set_num_threads(before)
    found = {one: float(np.median(own)) for one, own in times.items()}
    best = {name: min(choices, key=lambda threads: found[name, threads]) for name in CONTESTANTS}
    medians = {name: found[name, best[name]] for name in CONTESTANTS}
    vertices = {name: BATCH / seconds for name, seconds in medians.items()}
    return {
        "threads": best,
        "seconds_per_step": medians,
        "vertices_per_second": vertices,
        "ratio": medians["NumPy"] / medians["ours"],
        **_divided_ratios(files, steps * turns),
    }


def _divided_ratios(files: tuple[Path, Path], steps: int) -> dict[str, Any]:
    """Computing time of batches and of layers on one thread, and what the layers, which both have, leave as a ratio."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        sources = {"ours": _ours(*files, prefetch=0), "NumPy": _plain(*files)}
        network = hg.Network(CONFIG, FEATURES, CLASSES)
        parts = {name: np.array(divided(batches, network, steps)) for name, batches in sources.items()}
    finally:
        torch.set_num_threads(threads)
    return {
        "thread_seconds": {name: {"sampling": one[0], "layers": one[1]} for name, one in parts.items()},
        "sampling_ratio": float(parts["NumPy"][0] / parts["ours"][0]),
        "thread_ratio": float(parts["NumPy"].sum() / parts["ours"].sum()),
        "bound_if_sampling_were_free": float(parts["NumPy"].sum() / parts["ours"][1]),
    }


def pubmed(options: Options) -> dict[str, Any]:
    """Test accuracy on Pubmed, sampled against full batch, the same trials."""
    data = hg.datasets.load("pubmed")
    trials, epochs = (1, 2) if options.quick else (options.trials, 1000)
    settings = {name: value for name, value in paper_config("pubmed").changed().items() if name != "max_epochs"}
    full = fit(data, hg.Config(**settings, max_epochs=epochs), trials=trials)
    sampled = fit(data, hg.Config(**settings, max_epochs=epochs, batch_size=60, fanout=((5, 5), (5, 5))), trials=trials)
    return _compared(full.test_accuracy(), sampled.test_accuracy(), trials)


def generated_accuracy(options: Options) -> dict[str, Any]:
    """Test accuracy on a generated hypergraph whose hyperedges tend to hold vertices of one class."""
    data = communities(2_000 if options.quick else 200_000)
    settings: dict[str, Any] = {"feature_scaling": "none", "dropout": 0.2, "learning_rate": 0.01, "patience": 10}
    full = fit(data, hg.Config(**settings, max_epochs=2 if options.quick else 150))
    few: dict[str, Any] = {"max_epochs": 1 if options.quick else 20, "batch_size": BATCH, "fanout": ((5, 5), (5, 5))}
    ways: dict[str, dict[str, Any]] = {
        "alone": {},
        "with_more_draws": {"fanout": ((10, 10), (10, 10))},
        "with_control_variates": {"control_variates": True},
    }
    found = {name: fit(data, hg.Config(**{**settings, **few, **own})) for name, own in ways.items()}
    return {name: _compared(full.test_accuracy(), one.test_accuracy(), 1) for name, one in found.items()}


def communities(n_vertices: int, *, seed: int = 0) -> hg.Dataset:
    """Vertices of ten classes with weak features, in hyperedges that prefer a class, one per vertex."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, CLASSES, n_vertices)
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.arange(CLASSES + 1))
    sizes = np.minimum(2 + draw.pareto(1.5, n_vertices) * 4, 500).astype(np.int64)
    of = np.repeat(draw.integers(0, CLASSES, n_vertices), sizes)
    inside = order[starts[of] + (draw.random(of.size) * (starts[of + 1] - starts[of])).astype(np.int64)]
    vertex = np.where(draw.random(of.size) < 0.6, inside, draw.integers(0, n_vertices, of.size))
    pairs = np.unique(np.repeat(np.arange(n_vertices), sizes) * n_vertices + vertex)
    H = hg.Hypergraph.from_incidence(pairs % n_vertices, pairs // n_vertices, n_vertices, n_vertices)
    x = draw.normal(size=(n_vertices, 16)).astype(np.float32)
    x[:, :CLASSES] += 0.5 * np.eye(CLASSES, dtype=np.float32)[y]
    train, val, test = map(np.sort, np.split(draw.permutation(n_vertices), [n_vertices // 10, n_vertices // 5]))
    names = tuple(str(one) for one in range(CLASSES))
    return hg.Dataset("communities", x, y, names, None, H, train, val, test, "generated")


def _compared(full: tuple[float, float], sampled: tuple[float, float], trials: int) -> dict[str, Any]:
    return {
        "full": {"mean": full[0], "std": full[1]},
        "sampled": {"mean": sampled[0], "std": sampled[1]},
        "difference": sampled[0] - full[0],
        "trials": trials,
    }


CASES: dict[str, Callable[[Options], dict[str, Any]]] = {
    "memory": memory,
    "speed": speed,
    "pubmed": pubmed,
    "generated": generated_accuracy,
}


def main(arguments: list[str] | None = None) -> int:
    """Measure the chosen cases, and add each to the file as soon as it is finished."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batches", description="Measure mini-batches.")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE", help="default: benchmarks/batches.json")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "hypergnn-batches"), metavar="DIR")
    parser.add_argument("--trials", type=int, default=20, metavar="N", help="trials on Pubmed (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="small sizes: a check that everything runs")
    options = parser.parse_args(arguments)
    results = json.loads(options.out.read_text()) if options.out.exists() else {"cases": {}}
    for name in options.cases:
        measured = CASES[name](options)
        results["cases"][name] = {"machine": describe(torch.get_num_threads()), "quick": options.quick, **measured}
        write_atomic(options.out, (json.dumps(results, indent=1) + "\n").encode())
        print(name, json.dumps(measured), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
