"""Tensors as the compiled kernels take them: arrays, and the lent memory that these write to."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from hypergnn.kernels.cpu import buffers
from hypergnn.kernels.cpu.jit import Array

NO_INDEX = np.empty(0, dtype=np.int32)
_NO_KEYS = np.empty((0, 2), dtype=np.uint32)

Grouping = tuple[Tensor, Tensor, Tensor | None]
"""Offsets, members and position."""


def new(like: Tensor, *shape: int) -> Tensor:
    """An empty tensor of the same dtype."""
    return buffers.empty(shape, like.dtype)


def array_of(tensor: Tensor) -> Array:
    """The numbers of a tensor, copied only where they do not lie one after the other."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    array: Array = (tensor if tensor.is_contiguous() else new(tensor, *tensor.shape).copy_(tensor)).numpy()
    return array


def ids_of(ids: Tensor) -> Array:
    """Indices of a structure, which never need a gradient and lie in order."""
    array: Array = ids.numpy()
    return array


def index_of(position: Tensor | None) -> Array:
    """Indices that may not be there: then none."""
    return NO_INDEX if position is None else ids_of(position)


def drawing_of(keys: Tensor | None, rate: float, dtype: Any) -> tuple[Array, Any, Any]:
    """Keys, threshold and scale as the kernels take them."""
    array = _NO_KEYS if keys is None else array_of(keys).view(np.uint32)
    return array, np.uint32(min(round(rate * (1 << 32)), (1 << 32) - 1)), dtype.type(1 / (1 - rate))
