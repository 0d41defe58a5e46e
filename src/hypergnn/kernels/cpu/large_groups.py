"""Groups with many members, summed by reading the rows in order if the rows do not fit into any cache.

A sum over a group fetches the rows of its members from all over memory, and fetches a row once for each group that it
belongs to. Reading the rows in order fetches each of them once, but needs the sums of all groups in the cache. This is
possible for the largest groups: they are few, and have most of the members.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hypergnn.structures.base import derived
from hypergnn.structures.incidence import Incidence

Array = npt.NDArray[Any]

CACHE = 1 << 25
"""Assumed size of the last-level cache in bytes."""
SUMS = 1 << 22
"""Bytes of sums that stay in the cache while rows are read."""
PIECE = 2048
"""Maximum number of members in one sum; longer groups are summed in pieces."""
LARGE = 64
"""Only groups with more members than this are summed by reading rows."""
BLOCKS = 8
"""Number of blocks of rows with their own sums, whatever the number of threads."""


class LargeGroups(NamedTuple):
    """The largest groups, and the ones among them that each row belongs to."""

    groups: Array
    """Their numbers, those with more than ``PIECE`` members first."""
    n_giants: int
    """How many of them have more than ``PIECE`` members."""
    most: int
    """The maximum number of members of all other groups."""
    offsets: Array
    members: Array
    bounds: Array
    """The first row of each block, and the end of the last block."""


def beyond_caches(n_bytes: int) -> bool:
    """Whether this many bytes of rows exceed the caches.

    Example:
        >>> beyond_caches(1 << 20), beyond_caches(1 << 30)
        (False, True)
    """
    return n_bytes > CACHE


def large_groups(by: Incidence, row_bytes: int) -> LargeGroups | None:
    """The groups to sum by reading rows of ``row_bytes`` bytes; computed once per grouping and number of groups."""
    if not beyond_caches(by.n_columns * row_bytes):
        return None
    found: dict[int, LargeGroups | None] = derived(by.offsets, "large groups", dict)
    n_groups = max(1, SUMS // row_bytes)
    if n_groups not in found:
        sizes = np.diff(by.offsets.numpy())
        most = _most(sizes, n_groups)
        same = (
            one for one in found.values() if one is not None and one.most == most
        )  # found for rows of another width
        found[n_groups] = next(same, None) or _find(sizes, most, by.back_offsets.numpy(), by.back_members.numpy())
    return found[n_groups]


def _most(sizes: Array, n_groups: int) -> int:
    """The smallest size, at least ``LARGE``, that no more than ``n_groups`` groups exceed."""
    is_enough = np.count_nonzero(sizes > LARGE) <= n_groups
    return LARGE if is_enough else int(np.partition(sizes, -n_groups - 1)[-n_groups - 1])


def _find(sizes: Array, most: int, back_ends: Array, back_members: Array) -> LargeGroups | None:
    groups = np.flatnonzero(sizes > most)
    groups = groups[np.argsort(sizes[groups] <= PIECE, kind="stable")]
    if 8 * int(sizes[groups].sum()) < back_members.size:
        return None
    place = np.full(sizes.size, -1, back_members.dtype)
    place[groups] = np.arange(groups.size)
    members = place[back_members]
    is_large = members >= 0
    before = np.zeros(members.size + 1, back_ends.dtype)
    np.cumsum(is_large, out=before[1:])
    offsets = before[back_ends]
    bounds = np.searchsorted(offsets, np.linspace(0, offsets[-1], BLOCKS + 1)[1:-1])
    return LargeGroups(
        groups=groups,
        n_giants=int(np.count_nonzero(sizes[groups] > PIECE)),
        most=most,
        offsets=offsets,
        members=members[is_large],
        bounds=np.array([0, *bounds, offsets.size - 1]),
    )
