"""Tables and features as NumPy: columns as codes and values, features as a matrix.

A table is a pandas, polars or pyarrow table, or a dictionary of columns. A library is imported only once the caller
passes one of its tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils.checks import Names, as_array
from hypergnn._utils.extras import import_extra

TABLE_KINDS = "a pandas, polars or pyarrow table, or a dictionary of columns"


@dataclass(frozen=True)
class Table:
    """Columns of equal length, each in the library it came from."""

    columns: dict[Any, Any]
    n_rows: int
    row_names: Names | None
    """The index of a pandas table, if it names the rows."""

    def column(self, name: Any, *, argument: str) -> Any:
        """Return the column ``name``, or raise an error that lists the columns."""
        if name not in self.columns:
            names = ", ".join(map(repr, self.columns))
            raise ValueError(f"{argument} must name a column of the table; got {name!r}. The columns are {names}.")
        return self.columns[name]


class Encoded(NamedTuple):
    """A column, encoded: row ``i`` holds ``values[codes[i]]``."""

    codes: npt.NDArray[np.int64]
    """Position in ``values`` of each row's value, -1 if missing."""
    values: npt.NDArray[Any]
    """The distinct values, in order of first appearance."""
    is_numeric: bool
    """Whether the values are numbers and the column is not categorical."""


def read_table(table: Any) -> Table:
    """Return the columns of ``table``; raise if it is not a table."""
    if isinstance(table, Mapping):
        columns = {name: as_column(values, name=f"column {name!r}") for name, values in table.items()}
    elif _library(table) and hasattr(table, "shape") and hasattr(table, "columns"):
        columns = dict(_named_columns(table))
    else:
        raise TypeError(f"table must be {TABLE_KINDS}; got {type(table).__name__}. Collect a lazy table first.")
    if not columns:
        raise ValueError(f"table must have at least one column; got a {type(table).__name__} with none.")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"table must have columns of equal length; got {lengths}.")
    return Table(columns, next(iter(lengths.values())), row_names(table))


def as_column(values: Any, *, name: str) -> Any:
    """Return ``values`` as one column: unchanged if from pandas, polars or pyarrow, else as a NumPy array."""
    if _library(values):
        if len(getattr(values, "shape", (0,))) != 1 or not hasattr(values, "__len__"):
            raise ValueError(f"{name} must be one column, e.g. table['text']; got a {type(values).__name__}.")
        return values
    array = as_array(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, one entry per row; got shape {array.shape}.")
    return array


def encode(column: Any) -> Encoded:
    """Return the distinct values of a column, and which of them each row holds."""
    name = getattr(column, "name", None)
    try:
        return _encode(column)
    except (TypeError, NotImplementedError) as error:  # values that cannot be hashed
        raise TypeError(
            f"{'a column' if name is None else f'column {name!r}'} must hold one plain value in each row: {error}. "
            "Put each entry of a list in its own row, and each field of a struct in its own column."
        ) from error


def _encode(column: Any) -> Encoded:
    if _library(column) == "polars":
        import_extra("pyarrow", "tables", "reading a polars table")
        column = column.to_arrow()
    if _library(column) == "pandas":
        codes, index = column.factorize()
        values, is_category = np.asarray(index), column.dtype.name == "category"
    elif _library(column) == "pyarrow":
        codes, values, is_category = _encode_arrow(column)
    else:
        codes, values, is_category = *_encode_array(column), False
    unknown = values != values
    if values.dtype.kind == "O":
        unknown |= np.fromiter((value is None for value in values), dtype=bool, count=values.size)
    if unknown.any():  # pandas has already removed them
        place = np.where(unknown, -1, np.cumsum(~unknown) - 1)
        codes, values = np.where(codes < 0, -1, place[codes]), values[~unknown]
    return Encoded(codes.astype(np.int64, copy=False), values, not is_category and _all_numbers(values))


def as_numbers(column: Any) -> npt.NDArray[np.float64] | None:
    """Return a column as floats, NaN where a value is missing; ``None`` if it holds anything but numbers."""
    if _library(column) == "polars":
        import_extra("pyarrow", "tables", "reading a polars table")
        column = column.to_arrow()
    if _library(column) == "pyarrow":
        import pyarrow as pa

        types, kind = pa.types, column.type
        if not any(of(kind) for of in (types.is_boolean, types.is_integer, types.is_floating, types.is_null)):
            return None
        return np.array(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    if column.dtype.kind in "biuf":
        values = column.to_numpy(np.float64, na_value=np.nan) if _library(column) == "pandas" else column
        return np.array(values, dtype=np.float64)
    encoded = encode(column)
    if encoded.values.size and not encoded.is_numeric:
        return None
    return np.append(encoded.values.astype(np.float64), np.nan)[encoded.codes]


def as_matrix(X: Any, *, name: str = "X", may_be_empty: bool = False) -> Any:
    """Return features as a floating-point array ``(N, F)``, or as CSR if sparse; raise unless all are finite."""
    if isinstance(X, Tensor):
        X = _from_torch(X)
    if sparse.issparse(X) and X.ndim == 2:
        matrix = _with_narrow_indices(sparse.csr_array(X))
    elif _library(X) == "pyarrow":
        matrix = np.column_stack([column.to_numpy() for column in X.columns])
    else:
        matrix = X if sparse.issparse(X) else np.asarray(X)
    if matrix.ndim != 2 or (0 in matrix.shape and not may_be_empty):
        most = "" if may_be_empty else ", at least one of each"
        raise ValueError(f"{name} must have shape (points, features){most}; got {matrix.shape}.")
    if matrix.dtype.kind == "O":
        matrix = _object_as_float(matrix, name)
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers; got {matrix.dtype}. {_NOT_NUMBERS}")
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    _check_finite(matrix, name)
    return matrix


def row_names(table: Any) -> Names | None:
    """The index of a pandas table; ``None`` if it only counts the rows or repeats a name."""
    index = table.index if _library(table) == "pandas" else None
    if index is None or not index.is_unique:
        return None
    names = np.asarray(index)
    is_count = names.dtype.kind == "i" and np.array_equal(names, np.arange(names.size))
    return None if is_count else names


def quoted(names: Sequence[Any], most: int = 5) -> str:
    """The first names, for an error message.

    Example:
        >>> quoted(["a", "b", "c"], most=2)
        "'a', 'b', …"
    """
    return ", ".join(map(repr, names[:most])) + (", …" if len(names) > most else "")


_NOT_NUMBERS = "Encode text and categories first, or turn them into hyperedges with construct.from_attributes."


def _library(thing: Any) -> str:
    """The library that a table or column, or a base class of it, comes from; empty if none of the three."""
    homes = (kind.__module__.partition(".")[0] for kind in type(thing).__mro__)
    return next((home for home in homes if home in ("pandas", "polars", "pyarrow")), "")


def _named_columns(table: Any) -> Iterator[tuple[Any, Any]]:
    names = table.column_names if _library(table) == "pyarrow" else list(table.columns)
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ValueError(f"table must have unique column names; {name!r} occurs twice.")
        yield name, table.column(name) if _library(table) == "pyarrow" else table[name]


def _encode_arrow(column: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], bool]:
    import pyarrow as pa

    is_category = pa.types.is_dictionary(column.type)
    if len(column) == 0 or pa.types.is_null(column.type):
        return np.full(len(column), -1), np.empty(0, dtype=object), is_category
    if is_category:  # its dictionary may hold unused values
        column = column.cast(column.type.value_type)
    encoded = column.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes, encoded.dictionary.to_numpy(zero_copy_only=False), is_category


def _encode_array(column: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    if column.dtype.kind == "O":
        place = {value: code for code, value in enumerate(dict.fromkeys(column))}
        codes = np.fromiter(map(place.__getitem__, column), dtype=np.int64, count=column.size)
        return codes, np.fromiter(place, dtype=object, count=len(place))
    values, first, codes = np.unique(column, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    return np.argsort(by_appearance)[codes], values[by_appearance]


def _from_torch(X: Tensor) -> Any:
    X = X.detach().cpu()
    if X.dtype == torch.bfloat16:  # NumPy has no bfloat16
        X = X.float()
    if X.layout == torch.strided or X.dim() != 2 or X.dense_dim():
        return X.to_dense().numpy()
    entries = X.to_sparse_coo().coalesce()
    return sparse.coo_array((entries.values().numpy(), tuple(entries.indices().numpy())), shape=tuple(X.shape))


def _with_narrow_indices(matrix: sparse.csr_array) -> sparse.csr_array:
    """The same matrix with 32-bit indices, which scikit-learn requires, unless it is too large for them."""
    if max(matrix.nnz, *matrix.shape) >= 2**31:
        return matrix
    indices, indptr = (part.astype(np.int32, copy=False) for part in (matrix.indices, matrix.indptr))
    return sparse.csr_array((matrix.data, indices, indptr), shape=matrix.shape)


def _all_numbers(values: npt.NDArray[Any]) -> bool:
    if values.dtype.kind != "O":
        return values.dtype.kind in "iuf"
    return values.size > 0 and all(isinstance(value, Number) and not isinstance(value, bool) for value in values)


def _object_as_float(matrix: npt.NDArray[Any], name: str) -> npt.NDArray[np.float64]:
    try:
        return matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold real numbers: {error}. {_NOT_NUMBERS}") from error


def _check_finite(matrix: Any, name: str) -> None:
    stored = matrix.data if sparse.issparse(matrix) else matrix
    is_finite = np.isfinite(stored)
    if is_finite.all():
        return
    culprit = int(np.flatnonzero(~is_finite)[0])
    value = stored.flat[culprit]
    if sparse.issparse(matrix):
        row, column = int(np.searchsorted(matrix.indptr, culprit, side="right")) - 1, matrix.indices[culprit]
    else:
        row, column = divmod(culprit, matrix.shape[1])
    raise ValueError(
        f"{name} must hold finite numbers; row {row}, column {column} is {value}. Fill in or drop missing values."
    )
