"""The parts of directed hyperedges as callers give them, and as matrices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from hypergnn.structures.incidence import Incidence

ROLES = ("tail", "head")


def as_pair(number: int, hyperedge: Any) -> tuple[Any, Any]:
    """Tail and head of a hyperedge, or raise unless it has both."""
    try:
        tail, head = hyperedge
    except (TypeError, ValueError):
        raise ValueError(
            f"hyperedge {number} must be a pair of lists, the vertices of its tail and those of its head; got "
            f"{hyperedge!r}."
        ) from None
    return tail, head


def as_list_of_pairs(hyperedges: Any) -> list[tuple[Any, Any]]:
    """Tail and head of each hyperedge, or raise."""
    if not isinstance(hyperedges, Iterable):
        raise TypeError(
            "hyperedges must be a list of pairs, the vertices of a tail and those of a head; got "
            f"{type(hyperedges).__name__}."
        )
    return [as_pair(number, one) for number, one in enumerate(hyperedges)]


def tails_of(role: Any) -> npt.NDArray[np.bool_]:
    """Which incidences are those of tails, or raise for roles that are neither."""
    roles = np.asarray(role)
    if roles.ndim != 1:
        raise ValueError(f"role must have one entry per incidence; got shape {roles.shape}.")
    is_tail = roles == "tail"
    known = is_tail | (roles == "head")
    if not np.all(known):
        wrong = roles[~known].tolist()[0] if isinstance(known, np.ndarray) else role
        raise ValueError(f"role must be 'tail' or 'head' for each incidence; got {wrong!r}.")
    return np.asarray(is_tail, dtype=bool)


def are_the_same(tails: Incidence, heads: Incidence) -> bool:
    """Whether tails and heads are the same pairs."""
    if tails is heads:
        return True
    return torch.equal(tails.offsets, heads.offsets) and torch.equal(tails.members, heads.members)


def as_matrix(pairs: Incidence) -> sparse.csr_array:
    """The incidence matrix of zeros and ones."""
    indices, offsets = pairs.members.cpu().numpy(), pairs.offsets.cpu().numpy()
    return sparse.csr_array((np.ones(pairs.n_pairs), indices.copy(), offsets.copy()), (pairs.n_rows, pairs.n_columns))
