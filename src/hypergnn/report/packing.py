"""Numbers in a page: integers in as few bytes as they need, as text that every browser can decode."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

_TYPES = {1: "u1", 2: "u2", 4: "u4"}


def pack(values: npt.ArrayLike) -> dict[str, str]:
    """Non-negative integers as base64 with the name of their type; the reader knows the shape.

    Example:
        >>> pack([0, 1, 255]), pack([256])
        ({'type': 'u1', 'data': 'AAH/'}, {'type': 'u2', 'data': 'AAE='})
    """
    array = np.asarray(values)
    if array.size and (array.min() < 0 or array.max() >= 2**32):
        raise ValueError(f"values must be from 0 to 2**32 - 1; got {array.min()} to {array.max()}.")
    largest = int(array.max(initial=0))
    size = next(size for size in _TYPES if largest < 256**size)
    data = np.ascontiguousarray(array, dtype=f"<u{size}").tobytes()
    return {"type": _TYPES[size], "data": base64.b64encode(data).decode()}


def pack_shares(values: npt.NDArray[Any], levels: int = 255) -> dict[str, str]:
    """Numbers from 0 to 1 in steps of ``1 / levels``; the default suits the grey values of an image.

    Example:
        >>> pack_shares(np.array([0.0, 0.5, 1.0]))
        {'type': 'u1', 'data': 'AID/'}
    """
    return pack(np.rint(np.clip(values, 0, 1) * levels).astype(np.int64))
