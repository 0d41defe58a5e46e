"""Divide the vertices of a hypergraph among processes so that few hyperedges are cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hypergnn._utils.checks import check_size
from hypergnn.distributed.division import Division
from hypergnn.kernels import id_loops
from hypergnn.structures.hypergraph import Hypergraph

SLACK = 1.03
"""How much more than its even share a process may hold, in incidences and vertices together."""
_PASSES = 8
_FOLLOWED = 256  # members up to which a hyperedge says that its vertices are near each other
_ENOUGH = 0.002  # share of the vertices that must move in a pass for another one to be worth it

Processes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Cut:
    """What a division of the vertices costs."""

    hyperedges: int
    """Hyperedges with vertices in several processes."""
    share: float
    """The same as a share of all hyperedges."""
    copies: int
    """Rows of sums that are held more than once: for each hyperedge its processes but one, added up."""
    balance: float
    """The incidences of the process with the most, over an even share of them."""

    def __str__(self) -> str:
        """One line with everything."""
        return f"{self.share:.1%} of the hyperedges cut, {self.copies} copies, balance {self.balance:.2f}"


def partition(H: Hypergraph, n: int) -> Processes:
    """Divide the vertices among ``n`` processes so that few hyperedges have vertices in several of them.

    Vertices are taken breadth first, each to the process where its hyperedges have most of their members, as long as
    that has room; then in passes each goes where fewer hyperedges are cut. This takes time linear in ``n`` times the
    number of incidences, and memory for a count per hyperedge and process. The result depends on ``H`` and ``n`` only.

    Args:
        H: The hypergraph.
        n: Number of processes.

    Returns:
        The process of each vertex, ``(N,)``.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 2, 4], [2, 4], [1, 3, 5], [3, 5]], n_vertices=6)
        >>> process = partition(H, 2)
        >>> cut(H, process).hyperedges, len(set(process[[0, 2, 4]]))
        (0, 1)
    """
    check_size("n", n, minimum=1)
    if not isinstance(H, Hypergraph):
        raise TypeError(f"H must be a Hypergraph; got {type(H).__name__}. Take H.undirected() of a directed one.")
    H.check()
    offsets, members = (one.cpu().numpy() for one in (H.incidence.offsets, H.incidence.members))
    back_offsets, back_members = (one.cpu().numpy() for one in (H.incidence.back_offsets, H.incidence.back_members))
    order = np.empty(H.n_vertices, np.int64)
    id_loops.breadth_first(offsets, members, back_offsets, back_members, _FOLLOWED, order)
    counts = np.zeros((H.n_hyperedges, n), np.int32)
    process, load = np.full(H.n_vertices, -1, np.int32), np.zeros(n)
    largest = int(np.diff(offsets).max(initial=0)) + 1
    most = max(SLACK * (H.n_vertices + H.n_incidences) / n, (H.n_vertices + H.n_incidences) / n + largest)
    for number in range(_PASSES if n > 1 else 1):
        moved = id_loops.stream(order, offsets, members, back_offsets, counts, process, load, most, number > 0)
        if number > 0 and moved <= _ENOUGH * H.n_vertices:
            break
    return process


def cut(H: Hypergraph, process: npt.ArrayLike) -> Cut:
    """What a division of the vertices costs.

    Args:
        H: The hypergraph.
        process: The process of each vertex, ``(N,)``.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2], [2, 3]], n_vertices=4)
        >>> print(cut(H, [0, 0, 1, 1]))
        33.3% of the hyperedges cut, 1 copies, balance 1.00
    """
    processes = as_processes(process, H.n_vertices)
    n = int(processes.max(initial=0)) + 1
    division = Division(H, processes, n)
    degree = np.diff(H.incidence.offsets.cpu().numpy())
    held = np.bincount(processes, weights=degree, minlength=n)
    even = max(H.n_incidences / n, 1e-300)
    n_cut = division.n_cut()
    return Cut(n_cut, n_cut / max(H.n_hyperedges, 1), division.n_copies(), float(held.max(initial=0) / even))


def as_processes(process: npt.ArrayLike, n_vertices: int, n: int | None = None) -> Processes:
    """The process of each vertex, or raise."""
    found = np.asarray(process)
    if found.shape != (n_vertices,) or found.dtype.kind not in "iu":
        raise ValueError(
            f"process must be whole numbers of shape ({n_vertices},), the process of each vertex; got {found.dtype} "
            f"{found.shape}."
        )
    if found.size and (found.min() < 0 or (n is not None and found.max() >= n)):
        most = "" if n is None else f" and below {n}, the number of processes"
        raise ValueError(f"process must be at least 0{most}; got {found.min()} to {found.max()}.")
    return found.astype(np.int32)
