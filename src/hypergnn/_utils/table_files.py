"""Files with tables: CSV and Parquet, one file, a list of files or a folder of them."""

from __future__ import annotations

import csv
import os
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypergnn._utils.checks import check_choice
from hypergnn._utils.extras import import_extra
from hypergnn._utils.separators import separator_of

if TYPE_CHECKING:
    import pyarrow

ENDINGS = (".csv", ".parquet")
AnyPath = str | os.PathLike[str]
Files = AnyPath | Sequence[AnyPath]
"""A file, a list of files, or a folder."""
_START = 1 << 20
"""Characters of a file that decide about its separator."""


def is_file(table: Any) -> bool:
    """Whether ``table`` is a path, or a list of paths.

    Example:
        >>> is_file("orders.csv"), is_file([Path("2023.csv"), Path("2024.csv")]), is_file([{"a": 1}])
        (True, True, False)
    """
    if isinstance(table, (list, tuple)):
        return bool(table) and all(isinstance(one, (str, os.PathLike)) for one in table)
    return isinstance(table, (str, os.PathLike))


def suffix_of(path: AnyPath) -> str:
    """The ending of a file, ``.csv`` or ``.parquet``; raise if it has another."""
    suffix = Path(path).suffix
    check_choice("the ending of path", suffix, ENDINGS)
    return suffix


def header(path: AnyPath) -> list[str]:
    r"""Read the column names of a ``.csv`` file and nothing else; for its separator, see :func:`separator`.

    Raises:
        ValueError: If the file is not text in UTF-8, or a name occurs twice.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "papers.csv")
        ...     _ = path.write_text('author,"paper, or book"\nAnn,p1\n')
        ...     header(path)
        ['author', 'paper, or book']
    """
    check_file(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader(file, delimiter=separator(path)), [])
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{os.fspath(path)} must be text in UTF-8; {error}. Save it as UTF-8 (in Excel: CSV UTF-8)."
        ) from error
    except csv.Error as error:
        raise ValueError(f"{os.fspath(path)} must start with the names of its columns: {error}.") from error
    check_unique(names)
    return names


def separator(path: AnyPath) -> str:
    r"""What separates the columns of a ``.csv`` file: a comma, a semicolon or a tab, see :func:`separator_of`.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "kunden.csv")
        ...     _ = path.write_text("Kunde;Ort\nAnn;Ulm\n")
        ...     separator(path), header(path)
        (';', ['Kunde', 'Ort'])
    """
    check_file(path)
    with open(path, encoding="utf-8-sig", newline="") as file:
        start = file.read(_START)
    if len(start) == _START:  # the last line may be cut
        start = start.rpartition("\n")[0] or start
    return separator_of(start)


def check_file(path: AnyPath) -> None:
    """Raise the usual ``OSError`` unless a path is a file that can be read, and refuse pipes and devices.

    They might never answer, or never end, and a table is read more than once.
    """
    if not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):
        raise ValueError(f"{os.fspath(path)} must be a file, not a pipe or a device. Write it to a file first.")
    with open(path, "rb"):
        pass


def check_unique(names: Iterable[Any]) -> None:
    """Raise if a column name occurs twice."""
    for name, occurrences in Counter(names).items():
        if occurrences > 1:
            times = "twice" if occurrences == 2 else f"{occurrences} times"
            raise ValueError(f"table must have unique column names; {name!r} occurs {times}. Rename one of them.")


def column_names(path: Files) -> list[str]:
    """The names of the columns of a file, of a list of files or of a folder, without reading the rows."""
    files, is_csv = _files(path)
    if is_csv:
        return list(dict.fromkeys(name for file in files for name in header(file)))
    return list(_dataset(path, files).schema.names)


def is_csv(path: Files) -> bool:
    """Whether a file, or the files of a list or folder, are CSV; raise if they are of both kinds or of another."""
    return _files(path)[1]


def shown(path: Files) -> str:
    """The path, or the first of several, for an error message.

    Example:
        >>> shown(["2023.csv", "2024.csv"])
        '2023.csv, …'
    """
    if isinstance(path, (str, os.PathLike)):
        return os.fspath(path)
    return os.fspath(path[0]) + (", …" if len(path) > 1 else "")


def read_file(path: Files, *, text: Sequence[str] = (), columns: Sequence[str] | None = None) -> pyarrow.Table:
    r"""Read ``.csv`` or ``.parquet`` files; an empty field is a missing value.

    Where semicolons separate the columns of a CSV file, a comma is the decimal point: ``1,234`` is 1.234.

    Args:
        path: A file; a list of files of one kind, whose rows follow each other; or a folder of such files, in the order
            of their names. A folder ``year=2024`` in a folder of Parquet files adds a column ``year``.
        text: Columns of a CSV file to read as text, even if they look like numbers: "007" is not 7.
        columns: The columns to read; all if omitted.

    Raises:
        FileNotFoundError: If a file does not exist.
        ValueError: If a file is damaged, is neither CSV nor Parquet, or names a column twice.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "films.csv")
        ...     _ = path.write_text("title,year\n007,\n1984,1956\n")
        ...     read_file(path, text=["title"]).to_pydict()
        {'title': ['007', '1984'], 'year': [None, 1956]}
    """
    pyarrow = import_extra("pyarrow", "tables", "reading a table from a file")
    files, is_csv = _files(path)
    if is_csv:
        parts = [_read_csv(pyarrow, file, text, columns) for file in files]
        return parts[0] if len(parts) == 1 else pyarrow.concat_tables(parts, promote_options="permissive")
    source = _dataset(path, files)
    try:
        return source.to_table(columns=columns)
    except (OSError, NotImplementedError) as error:
        raise ValueError(str(error)) from error


def _files(path: Files) -> tuple[list[Path], bool]:
    """The files, and whether they are CSV; raise if there is none, or if they are of both kinds."""
    if isinstance(path, (str, os.PathLike)):
        folder = Path(path)
        if not folder.is_dir():
            return [folder], suffix_of(folder) == ".csv"
        files = sorted(one for one in folder.rglob("*") if one.suffix in ENDINGS and _is_data(one, folder))
        if not files:
            raise ValueError(f"{folder} must hold .csv or .parquet files; got none.")
    else:
        files = [Path(one) for one in path]
    kinds = {suffix_of(one) for one in files}
    if len(kinds) > 1:
        raise ValueError(f"files of one table must be all .csv or all .parquet; got both: {files[0]}, {files[-1]}, ….")
    return files, kinds == {".csv"}


def _is_data(file: Path, folder: Path) -> bool:
    """Whether a file holds rows: names that start with . or _ are those of logs and files in progress."""
    return file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def _dataset(path: Files, files: Sequence[Path]) -> Any:
    """Parquet files whose columns are read on demand."""
    filesystem = import_extra("pyarrow.fs", "tables", "reading a table from a file").LocalFileSystem()
    make = import_extra("pyarrow.dataset", "tables").dataset
    for file in files:
        check_file(file)
    try:
        names = import_extra("pyarrow.parquet", "tables").read_schema(files[0]).names
    except (OSError, ValueError, NotImplementedError) as error:  # the last for types that pyarrow does not know
        raise ValueError(f"{files[0]} must be a Parquet file: {error}") from error
    check_unique(names)
    try:
        if isinstance(path, (str, os.PathLike)) and Path(path).is_dir():
            return make(str(Path(path)), format="parquet", filesystem=filesystem, partitioning="hive")
        return make(list(map(str, files)), format="parquet", filesystem=filesystem)
    except (OSError, NotImplementedError) as error:
        raise ValueError(str(error)) from error


def _read_csv(pyarrow: Any, path: Path, text: Sequence[str], columns: Sequence[str] | None) -> pyarrow.Table:
    names, between = set(header(path)), separator(path)
    reader = import_extra("pyarrow.csv", "tables")
    # On POSIX a name need not be valid UTF-8, which pyarrow asks of text.
    with pyarrow.OSFile(str(path) if os.name == "nt" else os.fsencode(path)) as file:
        # Memory of pyarrow, neither a Python file nor bytes: its threads may let go of them while the interpreter
        # exits, and must not need it then, or the process aborts.
        content = file.read_buffer()
    table = reader.read_csv(
        pyarrow.BufferReader(content),
        parse_options=reader.ParseOptions(newlines_in_values=True, delimiter=between),
        convert_options=reader.ConvertOptions(
            column_types=dict.fromkeys(text, pyarrow.large_string()),
            include_columns=None if columns is None else [name for name in columns if name in names],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )
    return _with_decimal_commas(pyarrow, table, text) if between == ";" else table


def _with_decimal_commas(pyarrow: Any, table: pyarrow.Table, text: Sequence[str]) -> pyarrow.Table:
    """Turn columns of text such as 3,5 into numbers: where semicolons separate columns, a comma may be the point.

    Text in which no cell has a comma stays text, and so does what starts with a plus, such as numbers of telephones.
    """
    compute = import_extra("pyarrow.compute", "tables")
    for place, field in enumerate(table.schema):
        if field.name in text or not pyarrow.types.is_string(field.type):
            continue
        column = table.column(place)
        is_number = compute.match_substring_regex(column, r"^-?[0-9]*,?[0-9]+$")
        if compute.all(is_number).as_py() and compute.any(compute.match_substring(column, ",")).as_py():
            numbers = compute.cast(compute.replace_substring(column, ",", "."), pyarrow.float64())
            table = table.set_column(place, field.name, numbers)
    return table
