"""Time and memory of building, saving and loading a large hypergraph, and of a training step over it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import hypergnn as hg


def draw(folder: Path, sizes: dict[str, int]) -> dict[str, Any]:
    """Write the incidences of a hypergraph with Pareto-distributed sizes as two arrays, in no order."""
    from benchmarks.inputs import skewed

    H = skewed(sizes["vertices"], sizes["hyperedges"], sizes["incidences"])
    order = np.random.default_rng(0).permutation(H.n_incidences)
    np.save(folder / "incidences.npy", np.stack([H.vertex.numpy()[order], H.hyperedge.numpy()[order]]).astype(np.int64))
    return {}


def build(folder: Path, sizes: dict[str, int]) -> dict[str, Any]:
    """Build the hypergraph and save it."""
    vertex, hyperedge = np.load(folder / "incidences.npy")
    hg.Hypergraph.from_incidence([0, 1], [0, 0], 2, 1)
    before, begun = resident("VmRSS"), time.thread_time()
    H = hg.Hypergraph.from_incidence(vertex, hyperedge, sizes["vertices"], sizes["hyperedges"])
    seconds = time.thread_time() - begun
    found = {"seconds": seconds, "peak_bytes": resident("VmHWM") - before, "bytes": resident("VmRSS") - before}
    H.save(folder / "whole.safetensors")
    return found | {"file_bytes": (folder / "whole.safetensors").stat().st_size}


def load(folder: Path, _: dict[str, int]) -> dict[str, Any]:
    """Load the file, and load it again with all checks."""
    hg.Hypergraph.from_incidence([0, 1], [0, 0], 2, 1).save(folder / "small.safetensors")
    hg.Hypergraph.load(folder / "small.safetensors", verify=True)
    before, begun = resident("VmRSS"), time.thread_time()
    H = hg.Hypergraph.load(folder / "whole.safetensors")
    found = {"seconds": time.thread_time() - begun, "bytes": resident("VmRSS") - before}
    begun = time.thread_time()
    assert hg.Hypergraph.load(folder / "whole.safetensors", verify=True).n_incidences == H.n_incidences
    return found | {"verify_seconds": time.thread_time() - begun}


def step(folder: Path, _: dict[str, int]) -> dict[str, Any]:
    """One training step of a network with two layers."""
    H = hg.Hypergraph.load(folder / "whole.safetensors")
    x, y = torch.rand(H.n_vertices, 64), torch.randint(16, (H.n_vertices,))
    network = hg.Network(hg.Config(model="hyper-conv", hidden=8, heads=8), n_features=64, n_classes=16)
    optimizer = torch.optim.Adam(network.parameters())
    torch.nn.functional.cross_entropy(network(x, hypergraph=H), y).backward()
    optimizer.step()
    return {"peak_bytes": resident("VmHWM")}


def resident(what: str) -> int:
    """Bytes of resident memory now (``VmRSS``), or at most so far (``VmHWM``)."""
    return int(Path("/proc/self/status").read_text().split(f"{what}:")[1].split()[0]) * 1024


PARTS: dict[str, Callable[[Path, dict[str, int]], dict[str, Any]]] = {
    "draw": draw,
    "build": build,
    "load": load,
    "step": step,
}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](Path(sys.argv[2]), json.loads(sys.argv[3]))), flush=True)
