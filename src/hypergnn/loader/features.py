"""Features of vertices that need not fit in memory: rows are read when a batch asks for them."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils.checks import check_has_values, check_sparse
from hypergnn.functional.checks import Features
from hypergnn.kernels import id_loops
from hypergnn.persistence import scratch
from hypergnn.persistence.files import Identity, check_identity, check_regular, identity_of
from hypergnn.structures.sparse_features import SparseFeatures

Ids = npt.NDArray[np.int64]
_LARGE = 1 << 22
"""Bytes from which memory is used again."""
_NATIVE = (np.dtype(np.float32), np.dtype(np.float64))
_NUMBERS = "fiub"


class Rows(Protocol):
    """A matrix whose rows can be taken."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""

    def take(self, ids: Ids) -> Features:
        """Some rows, in any order."""


def rows_of(x: Any) -> Rows:
    """Features as rows: a tensor, an array, a SciPy sparse matrix, or a file.

    Args:
        x: Dense or sparse features of any kind; or the path of an ``.npy``, ``.safetensors`` or ``.parquet`` file. The
            first two are mapped into memory. Parquet cannot be read row by row: it is copied once, part by part, into a
            temporary file (in ``TMPDIR``), which is mapped and disappears with the process.

    Raises:
        TypeError: If it is nothing of that kind.
        ValueError: If it has no two dimensions, or the file holds something else.

    Example:
        >>> rows_of(np.arange(6.0).reshape(3, 2)).take(np.array([0, 2]))
        tensor([[0., 1.],
                [4., 5.]], dtype=torch.float64)
    """
    if isinstance(x, (str, os.PathLike)):
        return _of_file(Path(x))
    if isinstance(x, SparseFeatures):
        return _Prepared(x)
    if isinstance(x, Tensor):
        return _of_tensor(x.detach())
    if sparse.issparse(x):
        return _Sparse(x)
    if isinstance(x, np.ndarray):
        return _Dense(_two_dimensional(x))
    raise TypeError(
        f"x must be a tensor, an array, a SciPy sparse matrix or the path of a file; got {type(x).__name__}. "
        "Convert a table, e.g. with frame.to_numpy()."
    )


def _of_tensor(x: Tensor) -> Rows:
    check_has_values("x", x)
    if x.device.type != "cpu" or x.layout not in (torch.strided, torch.sparse_csr):
        raise TypeError(f"x must be dense or sparse CSR and on the CPU; got {x.layout} on {x.device}.")
    if x.dtype == torch.bfloat16:  # NumPy has no bfloat16
        x = x.float()
    try:
        if x.layout == torch.strided:
            return _Dense(_two_dimensional(x).resolve_neg().resolve_conj().numpy())
        parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    except TypeError as error:
        raise TypeError(f"x must hold numbers of a type that NumPy has; got {x.dtype}. Convert them first.") from error
    return _Sparse(sparse.csr_array(parts, shape=tuple(x.shape)))


class _Dense:
    """A dense matrix, in memory or mapped from a file."""

    def __init__(self, matrix: npt.NDArray[Any]) -> None:
        _check_numbers(matrix)
        self.matrix = matrix
        name = getattr(matrix, "filename", None) if isinstance(matrix, np.memmap) else None
        self._file = None if name is None else (os.fspath(name), identity_of(name))
        self.shape = (matrix.shape[0], matrix.shape[1])
        self._buffers = _Buffers(matrix.dtype if matrix.dtype in _NATIVE else np.dtype(np.float32))

    def take(self, ids: Ids) -> Tensor:
        """Copy some rows; the type is float64 if theirs is, else float32."""
        _check_range(ids, self.shape[0])
        out = self._buffers.room(ids.size, self.shape[1])
        if self.matrix.dtype in _NATIVE and self.matrix.flags.c_contiguous:
            id_loops.gather_rows(np.asarray(self.matrix), ids, out)
        else:
            out[:] = self.matrix[ids]
        return torch.from_numpy(out)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name of a mapped file and not its content, so that each worker maps it."""
        mapped = self.matrix
        if self._file is not None and mapped.flags.c_contiguous:
            name, identity = self._file
            if identity is not None and identity == identity_of(name):
                return _mapped, (name, mapped.dtype, mapped.shape, cast(Any, mapped).offset, identity)
        return _Dense, (np.asarray(mapped),)


class _Buffers:
    """Memory for the rows of batches, used again once no tensor is in it: new pages take longer than the copy."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._all: list[npt.NDArray[Any]] = []
        self._lock = threading.Lock()

    def room(self, n_rows: int, n_columns: int) -> npt.NDArray[Any]:
        """A matrix to write into; it belongs to the caller as long as an array or tensor of it lives."""
        size = n_rows * n_columns
        if size * self.dtype.itemsize < _LARGE:
            return np.empty((n_rows, n_columns), self.dtype)
        if not self._lock.acquire(blocking=False):  # two threads must not find the same memory free
            return np.empty((n_rows, n_columns), self.dtype)
        try:
            return self._free(size)[:size].reshape(n_rows, n_columns)
        finally:
            self._lock.release()

    def _free(self, size: int) -> npt.NDArray[Any]:
        is_free = [sys.getrefcount(self._all[place]) == 2 for place in range(len(self._all))]  # the list and the call
        fits = [size <= one.size <= 2 * size for one in self._all]
        found = [one for one, free, fit in zip(self._all, is_free, fits, strict=True) if free and fit][:1]
        self._all = [one for one, free, fit in zip(self._all, is_free, fits, strict=True) if fit or not free]
        if not found:
            found = [np.empty(size + size // 8, self.dtype)]
            self._all += found
        return found[0]


class _Sparse:
    """A SciPy matrix."""

    def __init__(self, given: Any) -> None:
        _check_numbers(_two_dimensional(given))
        check_sparse("x", given)
        self.matrix = matrix = sparse.csr_array(given)
        self.shape = (matrix.shape[0], matrix.shape[1])

    def take(self, ids: Ids) -> SparseFeatures:
        """Some rows as sparse features."""
        _check_range(ids, self.shape[0])
        chosen = self.matrix[ids]
        return SparseFeatures.from_scipy(chosen, torch.float64 if chosen.dtype == np.float64 else torch.float32)


class _Prepared:
    """Sparse features that are ready for products."""

    def __init__(self, x: SparseFeatures) -> None:
        self.x = x
        self.shape = (x.shape[0], x.shape[1])

    def take(self, ids: Ids) -> SparseFeatures:
        """Some rows, with values of their own."""
        entries, position = self.x.entries, self.x.entries.position
        places, sizes = entries.pairs_of(ids)
        columns = entries.members.numpy()[places]
        values = self.x.values.numpy()[places if position is None else position.numpy()[places]]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        chosen = sparse.csr_array((values, columns, ends), shape=(ids.size, self.shape[1]))
        return SparseFeatures.from_scipy(chosen, self.x.dtype)


def _of_file(path: Path) -> Rows:
    check_regular(path)
    kind = path.suffix.lower()
    if kind == ".npy":
        return _Dense(_two_dimensional(_array_of(path)))
    if kind == ".safetensors":
        return rows_of(_only_matrix(path))
    if kind == ".parquet":
        return _Dense(_from_parquet(path))
    raise ValueError(f"x must be a file of the kind .npy, .safetensors or .parquet; got {path.name!r}.")


def _mapped(name: str, dtype: np.dtype[Any], shape: tuple[int, int], start: int, identity: Identity) -> _Dense:
    check_identity(name, identity)
    return _Dense(np.memmap(name, dtype, "r", start, shape))


def _array_of(path: Path) -> npt.NDArray[Any]:
    """The array of an ``.npy`` file, mapped; nothing in the file is executed."""
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except OSError:
        raise
    except Exception as error:  # damaged headers make NumPy raise almost anything
        raise ValueError(f"{path} is damaged or not an .npy file of numbers: {error}") from error


def _check_numbers(matrix: Any) -> None:
    if matrix.dtype.kind not in _NUMBERS:
        raise TypeError(f"x must hold numbers; got {matrix.dtype}.")


def _check_range(ids: Ids, n_rows: int) -> None:
    if ids.size and not 0 <= ids.min() <= ids.max() < n_rows:
        raise ValueError(f"vertices must be from 0 to {n_rows - 1}, one per row of x; got {ids.min()} to {ids.max()}.")


def _two_dimensional(matrix: Any) -> Any:
    if matrix.ndim != 2:
        raise ValueError(f"x must have two dimensions, vertices and features; got shape {tuple(matrix.shape)}.")
    return matrix


def _only_matrix(path: Path) -> Tensor:
    """The matrix of a safetensors file, mapped: the one called ``x``, or the only one."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())
            name = "x" if "x" in names else names[0] if len(names) == 1 else None
            if name is None:
                raise ValueError(f"{path} must hold one tensor, or one called 'x'; got {', '.join(names) or 'none'}.")
            return cast(Tensor, file.get_tensor(name))
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged or not a safetensors file: {error}.") from error


def _from_parquet(path: Path) -> npt.NDArray[Any]:
    """Copy the columns of numbers into a temporary file that is mapped, a part of the rows at a time."""
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            return _copied(path, file)
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the disk; those of Arrow have no number
            raise
        raise ValueError(f"{path} is damaged or not a Parquet file: {error}") from error


def _copied(path: Path, file: Any) -> npt.NDArray[Any]:
    import pyarrow as arrow

    fields = file.schema_arrow
    if wrong := [one for one in fields if not _is_number(one.type)]:
        raise ValueError(
            f"{path} must hold numbers only, one column per feature and one row per vertex; got {wrong[0].name!r} of "
            f"type {wrong[0].type}. Remove that column."
        )
    is_double = all(one.type == arrow.float64() for one in fields)
    n_rows, n_columns = file.metadata.num_rows, len(fields)
    if n_rows < 1 or n_columns < 1:
        raise ValueError(f"{path} must have rows and columns; got {n_rows} and {n_columns}.")
    matrix = scratch.matrix(n_rows, n_columns, np.float64 if is_double else np.float32)
    start = 0
    for part in file.iter_batches(1 << 16):
        if start + part.num_rows > n_rows or len(part.columns) != n_columns:
            raise ValueError(f"{path} is damaged: it has more rows or other columns than it says.")
        for column, values in enumerate(part.columns):
            if values.null_count:
                raise ValueError(f"{path} must have a number for each vertex; {fields[column].name!r} has nulls.")
            matrix[start : start + part.num_rows, column] = values.to_numpy(zero_copy_only=False)
        start += part.num_rows
    if start < n_rows:
        raise ValueError(f"{path} is damaged: it must have {n_rows} rows; got {start}.")
    matrix.flags.writeable = False
    return matrix


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind))
