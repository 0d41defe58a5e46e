"""Where a table comes from: memory, files, or a query that has not run yet. Only the needed columns are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hypergnn._utils import table_files
from hypergnn._utils.extras import import_extra, library_of

TABLE_KINDS = (
    "a pandas, polars or pyarrow table, or a dictionary of columns, a list of dictionaries, a polars LazyFrame, a "
    "pyarrow dataset, or a .csv or .parquet file, folder or list of files"
)


class Source:
    """A table that has not been read yet, except for the names of its columns; :meth:`read` reads columns.

    Example:
        >>> source = Source([{"item": "tea", "price": 2.0}, {"item": "milk", "weight": 1.5}])
        >>> list(source.names)
        ['item', 'price', 'weight']
        >>> source.read(["weight"])
        {'weight': [None, 1.5]}
    """

    def __init__(self, table: Any) -> None:
        """Find the names of the columns; raise if ``table`` is not a table, or names a column twice."""
        if not library_of(table) and isinstance(getattr(table, "columns", None), Mapping):  # read before
            table = table.columns
        self._table = table
        names = _names(table)
        if names is None:
            raise TypeError(f"table must be {TABLE_KINDS}; got {type(table).__name__}.")
        table_files.check_unique(names)
        self.names = dict.fromkeys(names)

    def read(self, columns: Sequence[Any], text: Sequence[Any] = ()) -> dict[Any, Any]:
        """Return columns by name, each in the library it comes from.

        Args:
            columns: Names of the columns.
            text: Columns of a CSV file to read as text, even if they look like numbers.
        """
        table = self._table
        if _is_columns(table) or _is_records(table):
            return {name: table[name] for name in columns}
        if _is_rows(table):
            return {name: [row.get(name) for row in table] for name in columns}
        if len(columns) == len(self.names) and library_of(table) == "pandas":
            return dict(table.items())  # one by one, each takes longer in a table of many columns
        found = _collected(table, list(columns), text)
        if library_of(found) == "pyarrow":
            return dict(zip(found.column_names, found.columns, strict=True))
        return {name: found[name] for name in columns}


def is_read_here(table: Any) -> bool:
    """Whether a table is of a kind that other libraries do not take: columns, rows, files or a lazy frame.

    Example:
        >>> is_read_here({"item": ["tea"]}), is_read_here([{"item": "tea"}]), is_read_here([[1.0], [2.0]])
        (True, True, False)
    """
    if _is_columns(table) or _is_rows(table) or _is_records(table) or table_files.is_file(table):
        return True
    return _is_lazy(table) or _is_dataset(table) or (not library_of(table) and _is_stream(table))


def quoted(names: Any, most: int = 5) -> str:
    """The first names, for an error message.

    Example:
        >>> quoted(["a", "b", "c"], most=2)
        "'a', 'b', …"
    """
    return ", ".join(map(repr, list(names)[:most])) + (", …" if len(names) > most else "")


def _names(table: Any) -> list[Any] | None:
    """The names of the columns; ``None`` if it is not a table."""
    if _is_columns(table):
        return list(table)
    if table_files.is_file(table):
        return list(table_files.column_names(table))
    if _is_rows(table):
        return list(dict.fromkeys(name for row in table for name in row))
    if _is_records(table):
        return list(table.dtype.names)
    if _is_lazy(table):
        return list(table.collect_schema().names())
    if _is_dataset(table):
        return list(table.schema.names)
    if library_of(table) and hasattr(table, "shape") and hasattr(table, "columns"):
        return list(table.column_names if library_of(table) == "pyarrow" else table.columns)
    if _is_stream(table):
        return list(table.columns)
    return None


def _is_columns(table: Any) -> bool:
    """Whether it is a dictionary of columns; some sparse matrices are dictionaries too."""
    return isinstance(table, Mapping) and not hasattr(table, "shape")


def _is_rows(table: Any) -> bool:
    """Whether it is a list of dictionaries, one per row."""
    return isinstance(table, (list, tuple)) and bool(table) and all(isinstance(row, Mapping) for row in table)


def _is_records(table: Any) -> bool:
    """Whether it is a structured NumPy array."""
    return isinstance(table, np.ndarray) and table.dtype.names is not None


def _is_lazy(table: Any) -> bool:
    return library_of(table) == "polars" and hasattr(table, "collect")


def _is_dataset(table: Any) -> bool:
    """Whether it is a dataset of pyarrow."""
    return library_of(table) == "pyarrow" and hasattr(table, "to_table")


def _is_stream(table: Any) -> bool:
    """Whether it is a relation of duckdb, or another stream of Arrow tables."""
    return hasattr(table, "__arrow_c_stream__") and hasattr(table, "columns")


def _collected(table: Any, columns: list[Any], text: Sequence[Any]) -> Any:
    """A table in memory with the named columns and perhaps others."""
    if table_files.is_file(table):
        return table_files.read_file(table, text=text, columns=columns)
    if _is_lazy(table):
        return table.select(columns).collect()
    if _is_dataset(table):
        return table.to_table(columns=columns)
    if library_of(table) == "pyarrow":
        return table.select(columns)
    if not library_of(table):
        pyarrow = import_extra("pyarrow", "tables", "reading this table")
        if hasattr(table, "project"):  # duckdb: names are SQL
            table = table.project(", ".join('"' + str(name).replace('"', '""') + '"' for name in columns))
        return pyarrow.RecordBatchReader.from_stream(table).read_all().select(columns)
    return table
