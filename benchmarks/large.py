"""One convolution over large hypergraphs: time, memory, growth with size, and share of the memory bandwidth."""

from __future__ import annotations

from functools import cache
from statistics import median
from typing import Any

import numpy as np
import torch

import hypergnn as hg
from benchmarks import isolated
from benchmarks.inputs import skewed
from benchmarks.measuring import Contestant, Ready, Say, Work, interleave, prepare
from benchmarks.peers import DHG, DHGPlus, Peer, PyG, TorchSparse
from benchmarks.settings import Settings
from hypergnn import DirectedHypergraph, Hypergraph
from hypergnn.kernels.cpu.large_groups import large_groups
from hypergnn.structures.incidence import Incidence

FEATURES = 64
PEERS: dict[str, Peer] = {peer.name: peer for peer in (PyG(), TorchSparse("row"), DHGPlus(), DHG())}
TIMED = (PyG.name, TorchSparse.name, DHGPlus.name)  # DHG's HGNNConv does not fit into memory


def sized(n_incidences: int) -> Hypergraph:
    """A skewed hypergraph with ten incidences per vertex and per hyperedge on average."""
    return skewed(n_incidences // 10, n_incidences // 10, n_incidences)


def pointing(H: Hypergraph) -> DirectedHypergraph:
    """A directed hypergraph with the incidences of H as its tails, and as many others as its heads."""
    heads = skewed(H.n_vertices, H.n_hyperedges, H.n_incidences, seed=1)
    return DirectedHypergraph.from_scipy(H.to_scipy(), heads.to_scipy())


def conv_step(name: str, H: Hypergraph) -> Work:
    """A forward and backward pass of one row-normalised convolution, 64 to 64 features, without bias.

    Args:
        name: ``"ours"``, ``"directed"`` for us over a directed hypergraph, or the name of a peer.
        H: The hypergraph, which is converted to the structure of the peer here.
    """
    structure: Any = H
    if name == "directed":
        structure = pointing(H)
    elif name != "ours":
        structure = PEERS[name].structure(H)
    if name in ("ours", "directed"):
        layer: Any = hg.HypergraphConv(FEATURES, FEATURES, bias=False, normalization="row")
    else:
        layer = PEERS[name].conv(FEATURES, FEATURES, bias=False)
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(H.n_vertices, FEATURES, generator=generator).requires_grad_()
    gradient = torch.rand(H.n_vertices, FEATURES, generator=generator)

    def work(times: int) -> None:
        for _ in range(times):
            layer.zero_grad()
            x.grad = None
            layer(x, structure).backward(gradient)

    return work


def large_conv(settings: Settings, say: Say) -> dict[str, Any]:
    """Time of a step for us and each peer, and the peak memory of each in its own process."""
    say("generating the hypergraph")
    H = _large(settings.n_large)
    say("warming up")
    ours, *others = (
        prepare(Contestant(name, conv_step(name, H)), seconds=0.0, all_threads=settings.threads)
        for name in ("ours", *TIMED)
    )
    timed = interleave(ours, others, repetitions=settings.repetitions, say=say)
    del ours, others  # their memory is needed below
    memory = {}
    for name in ("ours", *PEERS):
        memory[name] = isolated.run(name, settings.n_large, threads=settings.threads, seconds=settings.child_seconds)
        say(f"memory of {name}: {memory[name]}")
    sizes = H.hyperedge_degree()
    return {
        "unit": "step",
        "incidences": H.n_incidences,
        "vertices": H.n_vertices,
        "hyperedges": H.n_hyperedges,
        "largest_hyperedge": int(sizes.max()),
        "features": FEATURES,
        **timed,
        "memory": memory,
    }


def growth(settings: Settings, say: Say) -> dict[str, Any]:
    """Seconds per step for sizes ten times apart, and our two largest sizes in turn."""
    steps: dict[int, Ready] = {}
    ours: dict[str, float] = {}
    for size in settings.growth:
        contestant = Contestant(f"{size} incidences", conv_step("ours", sized(size)))
        steps[size] = prepare(contestant, seconds=settings.seconds / 4, all_threads=settings.threads)
        ours[str(size)] = median([steps[size].seconds_per_unit() for _ in range(settings.repetitions)])
        say(f"{size} incidences: ours {ours[str(size)]:.3g} s")
    smaller, larger = list(steps.values())[-2:]
    pair = interleave(smaller, [larger], repetitions=settings.repetitions, say=say)["peers"][larger.contestant.name]
    del steps, contestant, smaller, larger  # their memory is needed below
    return {"features": FEATURES, "ours": ours, "PyG": _growth_of_pyg(settings, say), "last_step": pair}


def bandwidth(settings: Settings, say: Say) -> dict[str, Any]:
    """Seconds per byte of a copy, a triad and the large convolution, in turn."""
    H = _large(settings.n_large)
    moved = bytes_moved(H)
    a, b, c = (torch.rand(settings.stream_floats) for _ in range(3))
    size = 4 * settings.stream_floats

    def copy(times: int) -> None:
        for _ in range(times):
            a.copy_(b)

    def triad(times: int) -> None:
        for _ in range(times):
            torch.add(b, c, alpha=0.5, out=a)

    say("warming up")
    contestants = (
        Contestant("ours", conv_step("ours", H), units=moved),
        Contestant("copy", copy, units=2 * size, threads=settings.threads),
        Contestant("triad", triad, units=3 * size, threads=settings.threads),
    )
    ours, *streams = (prepare(one, seconds=settings.seconds / 4, all_threads=settings.threads) for one in contestants)
    timed = interleave(ours, streams, repetitions=settings.repetitions, say=say)
    return {"unit": "byte", "bytes": moved, "array_bytes": size, **timed}


def bytes_moved(H: Hypergraph, features: int = FEATURES) -> int:
    """Bytes that the sums of a step must move: two sums forward and two backward.

    A sum reads a row and an index for each incidence, and writes each of its rows once. Large groups that are summed
    by reading rows in order read each row once, not once per incidence.

    Example:
        >>> bytes_moved(Hypergraph.from_hyperedges([[0, 1, 2]], n_vertices=3), features=2)
        208
    """
    return 2 * sum(_bytes_of_a_sum(by, 4 * features) for by in (H.incidence.T, H.incidence))


def _bytes_of_a_sum(by: Incidence, row: int) -> int:
    found = large_groups(by, row)
    n_gathered, n_walked = by.n_pairs, 0
    if found is not None:
        n_gathered, n_walked = n_gathered - found.members.size, int(np.count_nonzero(np.diff(found.offsets)))
    return (n_gathered + n_walked + by.n_rows) * row + by.n_pairs * by.members.element_size()


def _growth_of_pyg(settings: Settings, say: Say) -> dict[str, Any]:
    """Seconds per step, each size in its own process, until a size fails or the next would take too long."""
    found: dict[str, Any] = {}
    for size in settings.growth:
        before = found.get(str(size // 10))
        if isinstance(before, float) and 10 * before > settings.patience:
            found[str(size)] = f"not tried: {settings.patience:g} s or more expected"
        elif isinstance(before, str):
            found[str(size)] = "not tried: the size before was too much"
        else:
            result = isolated.run(
                PyG.name, size, threads=settings.threads, seconds=settings.child_seconds, repetitions=3
            )
            found[str(size)] = median(result["seconds"]) if "seconds" in result else result["outcome"]
        say(f"{size} incidences: PyG {found[str(size)]}")
    return found


@cache
def _large(n_incidences: int) -> Hypergraph:
    return sized(n_incidences)
