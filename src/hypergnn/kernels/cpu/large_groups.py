"""Groups with many members, which are summed by walking the rows where these are too many for any cache.

A sum over a group fetches the rows of its members from wherever they lie, and a row is fetched as often as it is a
member. Walking the rows in their order reads each of them once, but wants the sums of all groups at hand: those of the
largest groups, few as they are, stay in a cache, and hold most of the members.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hypergnn.structures.base import derived
from hypergnn.structures.incidence import Incidence

Array = npt.NDArray[Any]

CACHE = 1 << 25
"""Bytes that the last cache of a processor holds."""
SUMS = 1 << 22
"""Bytes of the sums that are kept at hand."""
PIECE = 2048
"""Members that are added up before another sum begins."""
LARGE = 64
"""Members that a group must have more than to be worth a place among them."""
BLOCKS = 8
"""Stretches of rows with sums of their own, however many threads there are."""


class LargeGroups(NamedTuple):
    """The largest groups, and for each row which of them it belongs to."""

    groups: Array
    """Those with more than ``PIECE`` members first."""
    n_giants: int
    """How many these are."""
    most: int
    """Members of any other group at most."""
    offsets: Array
    members: Array
    bounds: Array
    """Where the blocks of rows begin, and where the last one ends."""


def beyond_caches(n_bytes: int) -> bool:
    """Whether so many bytes of rows come from the memory whenever they are wanted.

    Example:
        >>> beyond_caches(1 << 20), beyond_caches(1 << 30)
        (False, True)
    """
    return n_bytes > CACHE


def large_groups(by: Incidence, row_bytes: int) -> LargeGroups | None:
    """The groups that are summed by walking rows of so many bytes; found once for each grouping."""
    if not beyond_caches(by.n_columns * row_bytes):
        return None
    found: dict[int, LargeGroups | None] = derived(by.offsets, "large groups", dict)
    n_groups = max(1, SUMS // row_bytes)
    if n_groups not in found:
        sizes = np.diff(by.offsets.numpy())
        most = _most(sizes, n_groups)
        same = (one for one in found.values() if one is not None and one.most == most)  # of rows of another width
        found[n_groups] = next(same, None) or _find(sizes, most, by.back_offsets.numpy(), by.back_members.numpy())
    return found[n_groups]


def _most(sizes: Array, n_groups: int) -> int:
    """The least size that no more than so many groups surpass, from ``LARGE`` on."""
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
