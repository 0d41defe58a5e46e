"""Directed hypergraphs against undirected ones, and edits against building everything again."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import isolated
from benchmarks.inputs import skewed
from benchmarks.large import FEATURES, conv_step, sized
from benchmarks.measuring import Contestant, Say, Work, interleave, prepare
from benchmarks.settings import Settings
from hypergnn import Hypergraph

ADDED = 0.01
"""Share of the incidences that is added."""


def directed(settings: Settings, say: Say) -> dict[str, Any]:
    """Time and peak memory of a step over a directed hypergraph and an undirected one with as many terms to sum.

    The undirected hypergraph has as many incidences as the directed one has tails, and as it has heads.
    """
    say("generating the hypergraphs")
    H = sized(settings.n_large)
    both = [
        prepare(Contestant(name, conv_step(name, H)), seconds=0.0, all_threads=settings.threads)
        for name in ("ours", "directed")
    ]
    timed = interleave(both[0], both[1:], repetitions=settings.repetitions, say=say)
    del both  # the memory is needed below
    memory = {}
    for name in ("ours", "directed"):
        memory[name] = isolated.run(name, settings.n_large, threads=settings.threads, seconds=settings.child_seconds)
        say(f"memory of {name}: {memory[name]}")
    sizes = {"incidences": H.n_incidences, "vertices": H.n_vertices, "hyperedges": H.n_hyperedges}
    return {"unit": "step", **sizes, "features": FEATURES, **timed, "memory": memory}


def edits(settings: Settings, say: Say) -> dict[str, Any]:
    """Time to build a hypergraph, and to add a hundredth of its incidences, remove them or select a window."""
    size = settings.growth[-1]
    say("generating the hypergraph")
    H = skewed(size // 10, size // 10, size)
    n_new = int(ADDED * H.n_hyperedges)
    rng = np.random.default_rng(1)
    order = rng.permutation(H.n_incidences)  # data does not come in the order of a structure
    vertex, hyperedge = H.vertex.numpy()[order], H.hyperedge.numpy()[order]
    new: list[Any] = [rng.choice(H.n_vertices, 10, replace=False) for _ in range(n_new)]
    timed_H = Hypergraph.from_incidence(vertex, hyperedge, H.n_vertices, H.n_hyperedges, time=np.arange(H.n_hyperedges))
    gone = np.arange(n_new)

    def repeated(one: Any) -> Work:
        def work(times: int) -> None:
            for _ in range(times):
                one()

        return work

    contestants = {
        "building": lambda: Hypergraph.from_incidence(vertex, hyperedge, H.n_vertices, H.n_hyperedges),
        "adding": lambda: H.add(new),
        "removing": lambda: H.remove(gone),
        "window": lambda: timed_H.window(n_new),
    }
    ready = [
        prepare(Contestant(name, repeated(one)), seconds=0.0, all_threads=settings.threads)
        for name, one in contestants.items()
    ]
    timed = interleave(ready[0], ready[1:], repetitions=settings.repetitions, say=say)
    return {"unit": "edit", "incidences": H.n_incidences, "added": 10 * n_new, **timed}
