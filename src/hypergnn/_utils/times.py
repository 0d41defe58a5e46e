"""Times of hyperedges, in the forms that other structures, files and tables hold them in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np

from hypergnn._utils.checks import DATE, Names, as_times


def joined_times(times: Sequence[Names | None], sizes: Sequence[int]) -> Names | None:
    """The times of several sets of hyperedges, one after the other; ``None`` if none has any.

    Args:
        times: The times of each set.
        sizes: The number of hyperedges of each set; one without hyperedges needs no times.

    Raises:
        ValueError: If some have times and others do not, or some have dates and others numbers.

    Example:
        >>> joined_times([np.array([1, 2]), None, np.array([5])], [2, 0, 1]).tolist()
        [1, 2, 5]
    """
    there = [one for one, size in zip(times, sizes, strict=True) if size]
    known = [one for one in there if one is not None]
    if not known:  # no times, or times of no hyperedge
        return next((one for one in times if one is not None), None) if not there else None
    if len(known) < len(there):
        raise ValueError(
            "time must be given for all hyperedges, new and old, or for none. Give time=… to all, or drop the given "
            "times with dataclasses.replace(H, time=None)."
        )
    if len({one.dtype.kind == "M" for one in known}) > 1:
        kinds = " and ".join(dict.fromkeys(str(one.dtype) for one in known))
        raise ValueError(f"time must be numbers for all hyperedges or dates for all; got {kinds}.")
    joined = np.concatenate(known)
    if joined.dtype.kind == "f" and any(
        one.dtype.kind in "iu" and not np.array_equal(one.astype(float).astype(one.dtype), one) for one in known
    ):
        raise ValueError(
            "time must be whole numbers for all hyperedges: some are too large for numbers with a fraction."
        )
    return as_times(joined, joined.size)


def plain_times(times: Names) -> list[Any]:
    """Each time as a Python number, or as a NumPy date in days or a finer unit.

    Example:
        >>> plain_times(np.array(["2024-05"], dtype="datetime64[M]"))
        [np.datetime64('2024-05-01')]
    """
    if times.dtype.kind != "M":
        return list(times.tolist())
    if np.datetime_data(times.dtype)[0] in ("Y", "M", "W"):
        times = times.astype("datetime64[D]")
    return list(times)


def read_times(values: Sequence[Any]) -> Names | None:
    """The times that some attributes are, ``(M,)``; ``None`` unless all are finite numbers, or all are dates.

    Text counts as a date if it is written as ISO 8601 says, without a time zone: ``2024-05-17`` or
    ``2024-05-17T12:30``.

    Example:
        >>> read_times([1, 2.5]).tolist(), read_times(["2024-05-17"]), read_times(["soon"])
        ([1.0, 2.5], array(['2024-05-17'], dtype='datetime64[D]'), None)
    """
    if not values:
        return None
    try:
        if all(isinstance(one, (int, float, np.integer, np.floating)) and not isinstance(one, bool) for one in values):
            return as_times(np.array(values), len(values))
        if all(isinstance(one, str) and DATE.fullmatch(one) for one in values):
            return as_times(np.array(values, dtype="datetime64"), len(values))
        if all(isinstance(one, (date, np.datetime64)) and getattr(one, "tzinfo", None) is None for one in values):
            are_exact = all(isinstance(one, np.datetime64) for one in values)
            return as_times(np.array(values, dtype="datetime64" if are_exact else object), len(values))
    except (OverflowError, TypeError, ValueError):  # an integer that is too large, a date that does not exist
        return None
    return None
