"""Checks of what a caller gives: each raises before any work and says what must be, what was given, how to mend it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hypergnn.features import SparseFeatures

Names = npt.NDArray[Any]
"""One name per vertex or hyperedge: strings, or whatever the caller's ids are."""


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    if value not in choices:
        allowed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {allowed}; got {value!r}.")


def check_size(name: str, value: object, *, minimum: int = 0) -> int:
    """Return ``value`` as an ``int`` of at least ``minimum``, or raise."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number; got {value!r} of type {type(value).__name__}.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}; got {value}.")
    return int(value)


def as_ids(name: str, values: Any, size: int, size_name: str) -> npt.NDArray[np.int64]:
    """Return ``values`` as a 1-D array of ids below ``size``, or raise."""
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, one id per entry; got shape {array.shape}.")
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} must hold integer ids; got {array.dtype}. Convert them, e.g. ids.astype('int64').")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= size:
        culprit = low if low < 0 else high
        raise ValueError(
            f"{name} must hold ids from 0 to {size - 1} ({size_name}={size}); got {culprit}. "
            f"Number the ids from 0 or give a larger {size_name}."
        )
    return array.astype(np.int64, copy=False)


def as_weight(values: Any, n_hyperedges: int) -> npt.NDArray[np.float64]:
    """Return hyperedge weights as a new float64 array, ones where ``values`` is ``None``, or raise."""
    if values is None:
        return np.ones(n_hyperedges)
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if not (np.issubdtype(array.dtype, np.floating) or np.issubdtype(array.dtype, np.integer)) and array.size:
        raise TypeError(f"weight must hold real numbers; got {array.dtype}.")
    if array.shape != (n_hyperedges,):
        raise ValueError(f"weight must have shape ({n_hyperedges},), one entry per hyperedge; got {array.shape}.")
    weight = np.array(array, dtype=np.float64)
    # The bounds keep quotients of degrees, and the gradients of these, finite in float32 as well.
    legal = (weight >= 1e-15) & (weight <= 1e15)
    if not legal.all():
        hyperedge = int(np.flatnonzero(~legal)[0])
        raise ValueError(
            f"weight must be positive and finite (1e-15 to 1e15); got {weight[hyperedge]} for hyperedge {hyperedge}. "
            "Leave a hyperedge out instead of giving it no weight; a common factor of all weights changes nothing."
        )
    return weight


def as_names(name: str, values: Any, size: int) -> Names | None:
    """Return ``values`` as a new array of ``size`` different names, or raise."""
    if values is None:
        return None
    names = as_array(values).copy()
    if names.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), one name each; got {names.shape}.")
    n_different = len(set(names.tolist()))
    if n_different < size:
        raise ValueError(f"{name} must all be different; {size - n_different} are repetitions.")
    return names


def show_name(names: Names, place: Any) -> str:
    """One of the names as an error quotes it."""
    return repr(names[place : place + 1].tolist()[0])


def as_array(values: Any) -> npt.NDArray[Any]:
    """Return ``values`` as an array; strings stay objects, neither padded to the longest nor mixed up with numbers."""
    if isinstance(values, Tensor):
        return values.detach().cpu().numpy()
    if isinstance(values, np.ndarray):
        return values.astype(object) if values.dtype.kind in "US" else values
    objects = np.array(values, dtype=object)
    holds_strings = any(issubclass(kind, (str, bytes)) for kind in set(map(type, objects.flat)))
    return objects if holds_strings else np.asarray(values)


def check_features(
    x: object, n_rows: int, device: torch.device, *, name: str = "x", rows: str = "vertex", width: int | None = None
) -> None:
    """Raise unless ``x`` is a floating-point tensor with ``n_rows`` rows, on ``device``."""
    if not isinstance(x, (Tensor, SparseFeatures)):
        raise TypeError(f"{name} must be a torch tensor; got {type(x).__name__}. Convert it, e.g. torch.as_tensor(x).")
    if not x.dtype.is_floating_point:
        raise TypeError(f"{name} must be of a floating-point dtype; got {x.dtype}. Convert it, e.g. x.float().")
    if isinstance(x, Tensor) and x.layout not in (torch.strided, torch.sparse_csr):
        raise TypeError(f"{name} must be dense or sparse CSR; got {x.layout}. Convert it, e.g. x.to_sparse_csr().")
    if len(x.shape) < 2 or x.shape[-2] != n_rows:
        raise ValueError(f"{name} must have shape (..., {n_rows}, features), one row per {rows}; got {tuple(x.shape)}.")
    if width is not None and x.shape[-1] != width:
        raise ValueError(f"{name} must have {width} features per {rows}; got {x.shape[-1]}.")
    if x.device != device:
        raise ValueError(f"{name} is on {x.device} but the structure is on {device}: move one of them with .to().")


def check_like(name: str, tensor: object, x: Tensor | SparseFeatures, shape: tuple[int, ...], meaning: str) -> None:
    """Raise unless ``tensor`` ends in ``shape`` and has the dtype and device of ``x``."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch tensor; got {type(tensor).__name__}.")
    if tuple(tensor.shape[-len(shape) :]) != shape:
        raise ValueError(f"{name} must have shape {shape}, {meaning}; got {tuple(tensor.shape)}.")
    if tensor.dtype != x.dtype:
        raise TypeError(f"{name} must have the dtype of x, {x.dtype}; got {tensor.dtype}. Convert one with .to().")
    if tensor.device != x.device:
        raise ValueError(f"{name} must be on the device of x, {x.device}; got {tensor.device}. Move one with .to().")
