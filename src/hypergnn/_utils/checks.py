"""Checks of arguments: each error says what was expected, what was passed and how to fix it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

Ids = npt.NDArray[np.integer[Any]]
Names = npt.NDArray[Any]
"""One name per vertex or hyperedge: strings, or ids of any other type."""
_MANY = 1 << 28  # vertices; fewer always fit
_MOST_TRIALS = 10_000_000
_TIMES = (int, float, date, np.datetime64)
DATE = re.compile(r"-?\d{4,}-\d\d-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d+)?)?)?)?")
"""A date as ISO 8601 writes it, without a time zone."""


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


def check_n_vertices(value: object) -> int:
    """Return a number of vertices, or raise if not even their degrees fit into the memory of this machine."""
    n_vertices = check_size("n_vertices", value)
    if n_vertices > _MANY:
        import psutil

        memory = psutil.virtual_memory().total
        if 8 * n_vertices > memory:
            raise ValueError(
                f"n_vertices must fit into memory; {n_vertices} vertices need {8 * n_vertices / 1e9:.1f} GB for their "
                f"degrees alone, and this machine has {memory / 1e9:.1f} GB. Divide them, see docs/scaling.md."
            )
    return n_vertices


def check_trials(value: object) -> int:
    """Return a number of trials, or raise: each of them has a place in memory before the first one starts.

    Example:
        >>> check_trials(10**12)
        Traceback (most recent call last):
        ValueError: trials must be at most 10000000; got 1000000000000.
    """
    trials = check_size("trials", value, minimum=1)
    if trials > _MOST_TRIALS:
        raise ValueError(f"trials must be at most {_MOST_TRIALS}; got {trials}.")
    return trials


def check_number(name: str, value: object, *, below: float = np.inf) -> float:
    """Return ``value`` as a finite ``float`` from 0 up to, but not including, ``below``; or raise."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise TypeError(f"{name} must be a number; got {value!r} of type {type(value).__name__}.")
    if not 0 <= value < below:
        raise ValueError(f"{name} must be a number from 0 up to, but not including, {below}; got {value}.")
    return float(value)


def check_flag(name: str, value: object) -> None:
    """Raise unless ``value`` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {value!r} of type {type(value).__name__}.")


def check_structure(name: str, value: object, kind: type, makers: str) -> None:
    """Raise unless ``value`` is a structure of the right kind."""
    if not isinstance(value, kind):
        raise TypeError(
            f"{name} must be a {kind.__name__}; got {type(value).__name__}. "
            f"Make one, e.g. with {kind.__name__}.{makers}."
        )


def check_has_values(name: str, tensor: Tensor) -> None:
    """Raise if a tensor has no values that could be read as an array: on the device meta, or nested.

    Example:
        >>> check_has_values("x", torch.empty(2, device="meta"))
        Traceback (most recent call last):
        TypeError: x must have values; got a tensor on the device meta, which has a shape only.
    """
    if tensor.device.type == "meta":
        raise TypeError(f"{name} must have values; got a tensor on the device meta, which has a shape only.")
    if tensor.is_nested:
        raise TypeError(
            f"{name} must be a rectangular tensor; got a nested one. Pad it, e.g. with torch.nested.to_padded_tensor."
        )


def check_sparse(name: str, matrix: Any) -> None:
    """Raise if the stored indices of a SciPy sparse matrix lead outside of its arrays: SciPy follows them unchecked.

    Example:
        >>> matrix = sparse.csr_array([[0, 1], [1, 0]])
        >>> matrix.indptr[1] = -7
        >>> check_sparse("x", matrix)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: x must be a valid sparse matrix; ...
    """
    kind = {"csr": sparse.csr_array, "csc": sparse.csc_array, "bsr": sparse.bsr_array}.get(matrix.format)
    try:
        if kind is not None and matrix.ndim == 2:  # one of its own: the check may change the type of indices
            parts = (matrix.data, matrix.indices, matrix.indptr)
            kind(parts, shape=matrix.shape).check_format(full_check=True)
        elif matrix.format == "coo":
            sparse.coo_array((matrix.data, matrix.coords), shape=matrix.shape)
    except ValueError as error:
        raise ValueError(f"{name} must be a valid sparse matrix; {str(error).rstrip('.')}.") from error


def as_ids(
    name: str, values: Any, size: int, size_name: str, *, minimum: int = 0, copies: bool = False
) -> npt.NDArray[np.int64]:
    """Return ``values`` as a 1-D array of ids from ``minimum`` (-1: none) to below ``size``, or raise.

    The result may share memory with ``values``, unless ``copies`` is true.
    """
    return check_ids(name, values, size, size_name, minimum=minimum).astype(np.int64, copy=copies)


def check_ids(name: str, values: Any, size: int, size_name: str, *, minimum: int = 0) -> npt.NDArray[np.integer[Any]]:
    """Check ids as :func:`as_ids` does, but keep their integer type: converting many ids takes memory."""
    array = as_array(values, name) if isinstance(values, Tensor) else _as_numbers(name, values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, one id per entry; got shape {array.shape}.")
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        how = "Number names from 0 first" if array.dtype.kind in "USO" else "Convert them to int64"
        if array.dtype.kind == "b":
            how = "Use numpy.flatnonzero(mask) for a mask"
        raise TypeError(f"{name} must hold integer ids; got {array.dtype}. {how}.")
    low, high = int(array.min()), int(array.max())
    if low < minimum or high >= size:
        culprit = low if low < minimum else high
        none = "" if minimum == 0 else ", or -1 for none"
        raise ValueError(
            f"{name} must hold ids from 0 to {size - 1} ({size_name}={size}){none}; got {culprit}. "
            f"Number the ids from 0 or give a larger {size_name}."
        )
    return array


def as_centroids(values: Any, n_vertices: int, n_hyperedges: int) -> Tensor | None:
    """Return the centroid of each hyperedge as a new tensor, -1 for none; ``None`` if no hyperedge has one."""
    if values is None:
        return None
    ids = as_ids("centroid", values, n_vertices, "n_vertices", minimum=-1)
    if ids.shape != (n_hyperedges,):
        raise ValueError(f"centroid must have shape ({n_hyperedges},), one vertex per hyperedge; got {ids.shape}.")
    return None if (ids < 0).all() else torch.from_numpy(ids.copy())


def as_members(members: Any) -> list[Any]:
    """Return the vertices of one hyperedge as a list, or raise if they are not ids."""
    if isinstance(members, (np.ndarray, Tensor)) and members.ndim == 1:
        return list(members.tolist())
    if not isinstance(members, Iterable) or isinstance(members, (str, bytes, np.ndarray, Tensor)):
        raise TypeError(f"hyperedges must hold a list of vertices for each hyperedge; got {members!r} for one of them.")
    listed = list(members)
    if bool in map(type, listed):
        raise TypeError(f"hyperedges must hold integer ids; got {listed!r} for one of them.")
    return listed


def as_pairs(name: str, matrix: Any, sides: str, advice: str) -> tuple[Ids, Ids, tuple[int, int]]:
    """Return the rows and columns of the ones in a sparse 0/1 matrix, and its shape, or raise."""
    if not sparse.issparse(matrix):
        raise TypeError(
            f"{name} must be a SciPy sparse matrix; got {type(matrix).__name__}. "
            f"Convert it, e.g. scipy.sparse.csr_array({name})."
        )
    check_sparse(name, matrix)
    pairs = sparse.coo_array(matrix)
    if pairs.ndim != 2:
        raise ValueError(f"{name} must have shape ({sides}); got {pairs.shape}.")
    strange = pairs.data[(pairs.data != 0) & (pairs.data != 1)]
    if strange.size:
        raise ValueError(f"{name} must hold only zeros and ones; got {strange[0]}. {advice}")
    present = pairs.data != 0
    return pairs.row[present], pairs.col[present], pairs.shape


def _as_numbers(name: str, values: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be one-dimensional; got lists of different lengths.") from error


def as_weight(values: Any, n_hyperedges: int) -> npt.NDArray[np.float64]:
    """Return hyperedge weights as a new float64 array, all ones if ``values`` is ``None``, or raise."""
    if values is None:
        return np.ones(n_hyperedges)
    if isinstance(values, Tensor) and values.requires_grad:
        raise ValueError(
            "weight must not require a gradient: a structure is fixed. Give learned weights to the functions as "
            "weight=, or use HypergraphConv(learn_weight=True)."
        )
    if isinstance(values, Tensor):
        check_has_values("weight", values)
        values = values.cpu().double().numpy()
    array = _as_numbers("weight", values)
    if not (np.issubdtype(array.dtype, np.floating) or np.issubdtype(array.dtype, np.integer)) and array.size:
        raise TypeError(f"weight must hold real numbers; got {array.dtype}.")
    if array.shape != (n_hyperedges,):
        raise ValueError(f"weight must have shape ({n_hyperedges},), one entry per hyperedge; got {array.shape}.")
    weight = np.array(array, dtype=np.float64)
    # The bounds keep quotients of degrees and their gradients finite, in float32 too.
    legal = (weight >= 1e-15) & (weight <= 1e15)
    if not legal.all():
        hyperedge = int(np.flatnonzero(~legal)[0])
        raise ValueError(
            f"weight must be positive and finite (1e-15 to 1e15); got {weight[hyperedge]} for hyperedge {hyperedge}. "
            "Remove a hyperedge instead of giving it weight 0; multiplying all weights by the same factor does not "
            "change a normalised transition."
        )
    return weight


def as_names(name: str, values: Any, size: int) -> Names | None:
    """Return ``values`` as a new array of ``size`` unique names, or raise; ``None`` if they are 0, 1, 2, …."""
    if values is None:
        return None
    if isinstance(values, (list, tuple)) and any(isinstance(one, tuple) for one in values):
        names: Names = np.fromiter(values, dtype=object, count=len(values))  # np.array would split the tuples
    else:
        names = as_array(values).copy()
    if names.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), one name each; got {names.shape}.")
    n_different = len(set(names.tolist()))
    if n_different < size:
        raise ValueError(f"{name} must all be different; {size - n_different} are repetitions.")
    names.flags.writeable = False
    are_numbers = are_integers(names) and np.array_equal(names, np.arange(size))
    return None if size == 0 or are_numbers else names


def as_times(values: Any, size: int, name: str = "time") -> Names | None:
    """Return ``values`` as a new array of ``size`` numbers or dates, one per hyperedge, or raise."""
    if values is None:
        return None
    times = as_array(values).copy()
    if times.dtype.kind == "O" and any(getattr(one, "tzinfo", None) is not None for one in times.ravel()):
        raise ValueError(f"{name} must have no time zone; convert all to one, e.g. with astimezone, and drop it.")
    if times.dtype.kind == "O" and times.size and all(isinstance(one, (date, np.datetime64)) for one in times):
        times = times.astype("datetime64[us]")
    elif (
        times.dtype.kind in "OU"
        and times.size
        and all(isinstance(one, str) and DATE.fullmatch(one) for one in times.ravel().tolist())
    ):
        times = times.astype("datetime64")
    if times.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), one entry per hyperedge; got {times.shape}.")
    if size and times.dtype.kind not in "iufM":
        odd = next((one for one in times.tolist() if isinstance(one, bool) or not isinstance(one, _TIMES)), times[0])
        raise TypeError(f"{name} must hold numbers or dates, such as '2024-05-17', all of one kind; got {odd!r}.")
    if np.isnat(times).any() if times.dtype.kind == "M" else not np.isfinite(times.astype(float)).all():
        raise ValueError(f"{name} must be known and finite; got nan, inf or no date.")
    times.flags.writeable = False
    return times


def are_integers(names: Iterable[object]) -> bool:
    """Whether all ``names`` are integers."""
    if isinstance(names, np.ndarray) and names.dtype.kind != "O":
        return names.dtype.kind in "iu"
    return all(isinstance(name, (int, np.integer)) and not isinstance(name, bool) for name in names)


def show_name(names: Names, place: Any) -> str:
    """One of the names, formatted for an error message."""
    is_date = names.dtype.kind in "mM"  # tolist() turns dates into integers
    return str(names[place]) if is_date else repr(names[place : place + 1].tolist()[0])


def as_array(values: Any, name: str = "a tensor") -> npt.NDArray[Any]:
    """Return ``values`` as an array; strings stay objects, neither padded nor merged with numbers."""
    if isinstance(values, Tensor):
        check_has_values(name, values)
        return values.detach().cpu().numpy()
    if isinstance(values, np.ndarray):
        return values.astype(object) if values.dtype.kind in "US" else values
    objects = np.array(values, dtype=object)
    holds_strings = any(issubclass(kind, (str, bytes)) for kind in set(map(type, objects.flat)))
    return objects if holds_strings else np.asarray(values)


def find_named(what: str, wanted: Any, names: Names | None, size: int) -> int:
    """Return the number of a vertex or hyperedge, given by name or by number, or raise."""
    listed = [] if names is None else names.tolist()
    if wanted in listed:
        return listed.index(wanted)
    if isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool) and 0 <= wanted < size:
        return int(wanted)
    called = f", or one of the names, such as {listed[0]!r}" if listed else ""
    raise ValueError(f"{what} must be a number from 0 to {size - 1}{called}; got {wanted!r}.")
