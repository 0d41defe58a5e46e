"""A training step over a whole hypergraph, or over a shard of it, in processes of their own."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import torch

import hypergnn as hg
from hypergnn import distributed
from hypergnn.structures.base import TwoSided

FEATURES, CLASSES, STEPS = 64, 16, 5


def prepare(folder: Path, sizes: dict[str, int]) -> dict[str, Any]:
    """Write a random hypergraph with a few huge hyperedges, whole and divided in two."""
    from benchmarks.inputs import skewed

    H = skewed(sizes["vertices"], sizes["hyperedges"], sizes["incidences"])
    H.save(folder / "whole.safetensors")
    begun = time.perf_counter()
    process = distributed.partition(H, 2)
    seconds = time.perf_counter() - begun
    distributed.save_shards(H, folder / "shards", 2, process=process)
    found = distributed.cut(H, process)
    random = distributed.cut(H, torch.randint(2, (H.n_vertices,)).numpy())
    return {
        "partition_seconds": seconds,
        "cut": found.share,
        "cut_hyperedges": found.hyperedges,
        "copies": found.copies,
        "balance": found.balance,
        "random_cut": random.share,
    }


def train(H: TwoSided, total: int) -> list[float]:
    """The seconds of some training steps; the first two, which fill caches, are left out."""
    torch.manual_seed(0)
    network = hg.Network(hg.Config(dropout=0.0), n_features=FEATURES, n_classes=CLASSES)
    optimizer = torch.optim.Adam(network.parameters())
    x, y = torch.rand(H.n_vertices, FEATURES), torch.randint(CLASSES, (H.n_vertices,))
    seconds = []
    for _ in range(STEPS + 2):
        if distributed_group():
            torch.distributed.barrier()
        begun = time.perf_counter()
        optimizer.zero_grad()
        scores = network(x, hypergraph=H)
        loss = torch.nn.functional.cross_entropy(scores, y, reduction="sum") / total
        loss.backward()
        if distributed_group():
            distributed.sum_gradients(network)
        optimizer.step()
        seconds.append(time.perf_counter() - begun)
    return seconds[2:]


def distributed_group() -> bool:
    """Whether several processes train."""
    return torch.distributed.is_initialized()


def peak_bytes() -> int:
    """The largest memory of this process so far."""
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) * 1024


def one(folder: Path) -> dict[str, Any]:
    """Measure one process."""
    torch.set_num_threads(2)
    train(hg.Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3), 3)  # loads the compiled loops
    start = peak_bytes()
    H = hg.Hypergraph.load(folder / "whole.safetensors")
    return {"seconds": median(train(H, H.n_vertices)), "peak_bytes": peak_bytes(), "start_bytes": start}


def several(folder: Path) -> dict[str, Any] | None:
    """Measure one of several processes; the first returns the slowest time and the largest memory."""
    torch.set_num_threads(1)
    with distributed.start():
        shard = distributed.load_shard(folder / "shards")
        seconds = median(train(shard, shard.n_all_vertices))
        peak = peak_bytes()
        rows = torch.rand(1, shard.n_hyperedges, FEATURES)
        times = []
        for _ in range(3):
            torch.distributed.barrier()
            begun = time.perf_counter()
            shard.parts.add(rows)
            times.append(time.perf_counter() - begun)
        worst = shard.parts.highest_of_all(torch.tensor([seconds, float(peak), median(times)], dtype=torch.float64))
        if distributed.rank_and_size()[0] != 0:
            return None
        return {
            "seconds": worst[0].item(),
            "peak_bytes": int(worst[1].item()),
            "exchange_seconds": worst[2].item(),
            "bytes_sent": shard.parts.bytes_moved(FEATURES),
            "n_exchanges": 4,  # two layers, there and back
        }


def main() -> None:
    """Run what the first argument says and print the result as JSON."""
    what, folder = sys.argv[1], Path(sys.argv[2])
    result = (
        prepare(folder, json.loads(sys.argv[3]))
        if what == "prepare"
        else {"one": one, "several": several}[what](folder)
    )
    if result is not None:
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
