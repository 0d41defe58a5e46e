"""Tables as NumPy: columns as codes and values, or as numbers.

A table is any of :data:`TABLE_KINDS`. A library is imported only once the caller passes one of its tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Number
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hypergnn._utils.checks import Names, as_array
from hypergnn._utils.extras import import_extra, library_of
from hypergnn._utils.table_sources import Source, quoted


@dataclass(frozen=True)
class Table:
    """Columns of equal length, each in the library it came from."""

    columns: dict[Any, Any]
    n_rows: int
    row_names: Names | None
    """The index of a pandas table, if it names the rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, len(self.columns)

    def __len__(self) -> int:
        """Rows."""
        return self.n_rows


EXACT = 2**53
"""Up to here, every whole number is a floating-point number."""


class Encoded(NamedTuple):
    """A column, encoded: row ``i`` holds ``values[codes[i]]``."""

    codes: npt.NDArray[np.int64]
    """Position in ``values`` of each row's value, -1 if missing."""
    values: npt.NDArray[Any]
    """The distinct values, in order of first appearance."""
    is_numeric: bool
    """Whether the values are numbers and the column is not categorical."""


def read_table(table: Any, needed: Iterable[tuple[str, Any]] | None = None, *, text: Sequence[Any] = ()) -> Table:
    """Return the columns of ``table``; raise if it is not a table.

    Args:
        table: Any kind of table, see :data:`TABLE_KINDS`.
        needed: The columns to read, each with the argument that names it; all columns if omitted.
        text: Columns of a CSV file to read as text, even if they look like numbers.

    Raises:
        TypeError: If ``table`` is not a table.
        ValueError: If a needed column does not exist, a name occurs twice, or the columns differ in length.

    Example:
        >>> rows = [{"item": "tea", "price": 2.0}, {"item": "milk"}]
        >>> read_table(rows).columns["price"].tolist()
        [2.0, None]
    """
    source = Source(table)
    asked = [("columns", name) for name in source.names] if needed is None else list(needed)
    for argument, name in asked:
        if name not in source.names:
            known = quoted(source.names, 20)
            raise ValueError(f"{argument} must name a column of the table; got {name!r}. The columns are {known}.")
    if not source.names:
        raise ValueError(f"table must have at least one column; got a {type(table).__name__} with none.")
    wanted = list(dict.fromkeys(name for _, name in asked))
    columns = {name: as_column(column, name=f"column {name!r}") for name, column in source.read(wanted, text).items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"table must have columns of equal length; got {lengths}.")
    return Table(columns, next(iter(lengths.values())), row_names(table))


def as_column(values: Any, *, name: str) -> Any:
    """Return ``values`` as one column: unchanged if from pandas, polars or pyarrow, else as a NumPy array."""
    if library_of(values):
        if len(getattr(values, "shape", (0,))) != 1 or not hasattr(values, "__len__"):
            raise ValueError(f"{name} must be one column, e.g. table['text']; got a {type(values).__name__}.")
        return values
    array = as_array(values)
    if array.ndim != 1:
        hint = " A single row is a list with one dictionary." if array.ndim == 0 else ""
        raise ValueError(f"{name} must be one-dimensional, one entry per row; got shape {array.shape}.{hint}")
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
    if library_of(column) == "polars":
        import_extra("pyarrow", "tables", "reading a polars table")
        column = column.to_arrow()
    if library_of(column) == "pandas":
        codes, index = column.factorize()
        values, is_category = np.asarray(index), column.dtype.name == "category"
    elif library_of(column) == "pyarrow":
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


def as_numbers(column: Any, name: Any = None) -> npt.NDArray[np.float64] | None:
    """Return a column as floats, NaN where a value is missing; ``None`` if it holds anything but numbers.

    Raises:
        ValueError: If a whole number is too large to be stored exactly as a float (beyond 2**53); ``name`` is the
        column.
    """
    if library_of(column) == "polars":
        import_extra("pyarrow", "tables", "reading a polars table")
        column = column.to_arrow()
    if library_of(column) == "pyarrow":
        import pyarrow as pa

        types, kind = pa.types, column.type
        if not any(of(kind) for of in (types.is_boolean, types.is_integer, types.is_floating, types.is_null)):
            return None
        if types.is_integer(kind):
            _check_exact(pa.compute.min_max(column).as_py().values(), name)
        return np.array(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    if column.dtype.kind in "biuf":
        if column.dtype.kind in "iu" and len(column):
            _check_exact((column.min(), column.max()), name)
        values = column.to_numpy(np.float64, na_value=np.nan) if library_of(column) == "pandas" else column
        return np.array(values, dtype=np.float64)
    encoded = encode(column)
    if encoded.values.size and not encoded.is_numeric:
        return None
    _check_exact((value for value in encoded.values if isinstance(value, Integral)), name)
    return np.append(encoded.values.astype(np.float64), np.nan)[encoded.codes]


def _check_exact(numbers: Iterable[Any], name: Any) -> None:
    """Raise if a whole number is too large to be stored exactly as a float."""
    for number in numbers:
        if number is not None and abs(int(number)) > EXACT:
            raise ValueError(
                f"{'a column' if name is None else f'column {name!r}'} holds the whole number {number}, which has no "
                "floating-point number of its own. Convert the column to text if it holds ids, or to floats if it "
                "holds measurements."
            )


def as_text(values: npt.NDArray[Any], name: Any) -> list[str]:
    """Ids or classes as text. An integer that became 7.0 because another value is missing is "7".

    Example:
        >>> as_text(np.array([7.0, 8.0]), "customer")
        ['7', '8']
    """
    plain = values.tolist()
    if values.dtype.kind in "fO":
        check_not_rounded(plain, name)
        plain = [int(value) if isinstance(value, float) and value.is_integer() else value for value in plain]
    odd = next((value for value in plain if not isinstance(value, (str, int))), None)
    if odd is not None:
        raise TypeError(f"column {name!r} must hold text or integers; got {odd!r} of type {type(odd).__name__}.")
    return [str(value) for value in plain]


def row_names(table: Any) -> Names | None:
    """The index of a pandas table; ``None`` if it only counts the rows or repeats a name."""
    index = table.index if library_of(table) == "pandas" else None
    if index is None or not index.is_unique:
        return None
    names = np.asarray(index)
    is_count = names.dtype.kind == "i" and np.array_equal(names, np.arange(names.size))
    return None if is_count else names


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


def _all_numbers(values: npt.NDArray[Any]) -> bool:
    if values.dtype.kind != "O":
        return values.dtype.kind in "iuf"
    return values.size > 0 and all(isinstance(value, Number) and not isinstance(value, bool) for value in values)


def check_not_rounded(values: Sequence[Any], name: Any) -> None:
    """Raise if an id is a whole number that was rounded: as a float, it may stand for several."""
    rounded = next((value for value in values if isinstance(value, float) and EXACT <= abs(value) < np.inf), None)
    if rounded is not None:
        raise ValueError(
            f"column {name!r} must hold ids as whole numbers or text; {rounded:.0f} is a floating-point number, which "
            "may be rounded. Read the column as integers or text, e.g. with dtype={" + repr(name) + ": 'Int64'}."
        )
