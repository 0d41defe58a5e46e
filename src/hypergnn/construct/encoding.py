"""Tables of numbers, words and dates with gaps, encoded as numbers: what distances and networks need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from hypergnn._utils.checks import check_size
from hypergnn._utils.tables import Encoded, as_column, as_numbers, encode, read_table
from hypergnn.construct.table import comparable

Numbers = npt.NDArray[np.float64]
_MARK = 0.35
"""What stands for a word or a gap. Rows with different words are then half the range of a number apart: with 1, words
would hide all differences of numbers."""
_DAY = 86_400e9
"""Nanoseconds of a day."""


class TableEncoder:
    """Learns from a table how to turn its rows, and new ones, into numbers between 0 and 1.

    | column                    | becomes                                                                         |
    | ------------------------- | ------------------------------------------------------------------------------- |
    | numbers, truths, dates    | one column: the range of the table is scaled to 0 … 1, a gap gets the median     |
    | words, categories         | a column for each value that at least two rows share: 0.35 if a row has it       |
    | any column with gaps      | in addition, a column that is 0.35 where the value is missing                    |

    Distances thus count different words like numbers that differ by half of their range.

    A column that distinguishes no rows becomes nothing: constants, and words that are all different, such as names and
    ids. In new rows, an unknown word is 0 in all columns, and numbers may lie outside of 0 … 1.

    Args:
        max_values: Largest number of values of a column of words that get a column of their own: the most frequent
            ones. The others are 0 in all columns.

    Attributes:
        feature_names: What each column of the encoded table is, e.g. ``"age"``, ``"town=Rome"``, ``"age missing"``.

    Example:
        >>> import hypergnn as hg
        >>> flats = {"rooms": [2, 4, None, 3], "district": ["north", "south", "north", None]}
        >>> encoder = hg.construct.TableEncoder().fit(flats)
        >>> encoder.feature_names
        ['rooms', 'rooms missing', 'district=north', 'district missing']
        >>> encoder.transform(flats).tolist()
        [[0.0, 0.0, 0.35, 0.0], [1.0, 0.0, 0.0, 0.0], [0.5, 0.35, 0.35, 0.0], [0.5, 0.0, 0.0, 0.35]]
    """

    feature_names: list[str]

    def __init__(self, *, max_values: int = 30) -> None:
        """Store the setting."""
        self.max_values = check_size("max_values", max_values, minimum=1)

    def fit(self, table: Any) -> TableEncoder:
        """Learn ranges, medians and values of the columns.

        Args:
            table: Any table that :func:`hypergnn.construct.from_table` takes, or an array of numbers or objects, whose
                columns are called x0, x1, ….

        Raises:
            TypeError: If ``table`` is not a table, or a cell holds several values.
            ValueError: If it has no rows, a number is infinite, or no column distinguishes rows.
        """
        columns = _columns(table)
        self._rules: dict[Any, _Numeric | _Words] = {
            name: _rule(name, column, self.max_values) for name, column in columns.items()
        }
        self.feature_names = [name for rule in self._rules.values() for name in rule.feature_names]
        if not self.feature_names:
            raise ValueError(
                "X must have a column that distinguishes rows and has values that some of them share; each column is "
                "constant, or all its words are different. If it holds texts, set construct='text'."
            )
        return self

    def transform(self, table: Any) -> Numbers:
        """Return the rows as numbers, ``(rows, columns)``.

        Raises:
            ValueError: If a column is missing, or holds words where it held numbers.
        """
        columns = _columns(table)
        missing = [name for name in self._rules if name not in columns]
        if missing:
            raise ValueError(f"X must have all columns that it had when it was learned; {missing[0]!r} is missing.")
        return np.column_stack([rule.encode(columns[name]) for name, rule in self._rules.items() if rule.feature_names])

    def settings(self) -> dict[str, Any]:
        """What was learned, in JSON types; :meth:`from_settings` makes the encoder from it again.

        Raises:
            TypeError: If the name of a column or a value is neither text nor a number.

        Example:
            >>> encoder = TableEncoder().fit({"rooms": [2, 4], "town": ["Rome", "Rome"]})
            >>> TableEncoder.from_settings(encoder.settings()).transform({"rooms": [3], "town": ["Oslo"]}).tolist()
            [[0.5]]
        """
        columns = []
        for rule in self._rules.values():
            own = asdict(rule)
            if isinstance(rule, _Words):
                own["code_of"] = list(rule.code_of)
            for value in (rule.name, *own.get("code_of", ())):
                if not isinstance(value, (str, int, float)):
                    raise TypeError(
                        f"names of columns and values must be text or numbers to be stored; column {rule.name!r} has "
                        f"{value!r} of type {type(value).__name__}. Convert them with str()."
                    )
            columns.append(own)
        return {"max_values": self.max_values, "columns": columns}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> TableEncoder:
        """Make the encoder that :meth:`settings` describes.

        Raises:
            ValueError: If they describe none.
        """
        try:
            encoder = cls(max_values=settings["max_values"])
            rules = [_rule_from(dict(column)) for column in settings["columns"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"settings must be those of a TableEncoder: {error!r}.") from error
        encoder._rules = {rule.name: rule for rule in rules}
        encoder.feature_names = [name for rule in rules for name in rule.feature_names]
        return encoder

    def fit_transform(self, table: Any) -> Numbers:
        """Learn from a table and return its rows as numbers."""
        return self.fit(table).transform(table)


@dataclass(frozen=True)
class _Numeric:
    """A column of numbers or dates."""

    name: Any
    low: float
    width: float
    """From the lowest number to the highest; 0 if all are equal."""
    median: float
    has_gaps: bool

    @property
    def feature_names(self) -> list[str]:
        """What its encoded columns are."""
        own = [str(self.name)] if self.width > 0 else []
        return own + [f"{self.name} missing"] * self.has_gaps

    def encode(self, column: Any) -> Numbers:
        """The scaled numbers, and where they are missing."""
        numbers = _as_numbers(column, self.name)
        if numbers is None:
            raise ValueError(
                f"column {self.name!r} of X must hold numbers, as it did when it was learned. Leave other cells empty, "
                f"e.g. pandas.to_numeric(X[{self.name!r}], errors='coerce')."
            )
        parts = []
        if self.width > 0:
            filled = np.where(np.isnan(numbers), self.median, numbers)
            parts.append((filled - self.low) / self.width)
        if self.has_gaps:
            parts.append(np.isnan(numbers) * _MARK)
        return np.column_stack(parts)


@dataclass(frozen=True)
class _Words:
    """A column of words or categories."""

    name: Any
    code_of: dict[Any, int]
    has_gaps: bool

    @property
    def feature_names(self) -> list[str]:
        """What its encoded columns are."""
        return [f"{self.name}={value}" for value in self.code_of] + [f"{self.name} missing"] * self.has_gaps

    def encode(self, column: Any) -> Numbers:
        """A mark for the value of each row."""
        codes, values, _ = encode(column)
        n_columns = len(self.feature_names)
        place = [self.code_of.get(value, -1) for value in comparable(values)]
        column_of = np.array([*place, n_columns - 1 if self.has_gaps else -1])[codes]
        out = np.zeros((codes.size, n_columns))
        rows = np.flatnonzero(column_of >= 0)
        out[rows, column_of[rows]] = _MARK
        return out


def _rule_from(settings: dict[str, Any]) -> _Numeric | _Words:
    if "code_of" not in settings:
        return _Numeric(**settings)
    values = settings.pop("code_of")
    return _Words(code_of={value: place for place, value in enumerate(values)}, **settings)


def _rule(name: Any, column: Any, max_values: int) -> _Numeric | _Words:
    numbers = _as_numbers(column, name)
    if numbers is None:
        return _words(name, encode(column), max_values)
    if np.isinf(numbers).any():
        raise ValueError(
            f"Input X contains infinity or a value too large: column {name!r}, row {np.isinf(numbers).argmax()}."
        )
    present = numbers[~np.isnan(numbers)]
    if not present.size:
        return _Numeric(name, 0.0, 0.0, 0.0, has_gaps=False)  # nothing but gaps distinguishes no rows
    low, high = float(present.min()), float(present.max())
    return _Numeric(name, low, high - low, float(np.median(present)), has_gaps=present.size < numbers.size)


def _words(name: Any, column: Encoded, max_values: int) -> _Words:
    present = column.codes[column.codes >= 0]
    counts = np.bincount(present, minlength=column.values.size)
    n_rows, has_gaps = column.codes.size, present.size < column.codes.size
    by_frequency = np.argsort(-counts, kind="stable")
    shared = [code for code in by_frequency if 1 < counts[code] < n_rows][:max_values]
    plain = comparable(column.values)
    code_of = {plain[code]: place for place, code in enumerate(sorted(shared))}
    return _Words(name, code_of, has_gaps=has_gaps and present.size > 0)


def _as_numbers(column: Any, name: Any) -> Numbers | None:
    """A column as floats: numbers as they are, dates and durations in days; ``None`` if it holds anything else."""
    if getattr(column, "dtype", None) is not None and str(column.dtype) == "category":
        return None
    numbers = as_numbers(column, name)
    if numbers is not None:
        return numbers
    codes, values, is_numeric = encode(column)
    if is_numeric:  # a category
        return None
    plain = _plain(values)
    return None if plain is None else np.append(plain, np.nan)[codes]


def _plain(values: npt.NDArray[Any]) -> Numbers | None:
    """Truths as 0 and 1, dates as days since 1970, durations as days; ``None`` if the values are something else."""
    if values.size and all(isinstance(value, (bool, np.bool_)) for value in values):
        return values.astype(np.float64)
    if values.dtype.kind in "mM":
        unit = "datetime64[ns]" if values.dtype.kind == "M" else "timedelta64[ns]"
        return values.astype(unit).astype(np.int64) / _DAY
    if values.size and all(isinstance(value, date) for value in values):
        return np.array([_seconds(value) for value in values]) / 86_400
    return None


def _seconds(value: date) -> float:
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    return float((np.datetime64(moment.replace(tzinfo=None), "us") - np.datetime64(0, "us")) / np.timedelta64(1, "s"))


def _columns(table: Any) -> dict[Any, Any]:
    """The columns of a table by name, or those of an array by number (x0, x1, …)."""
    if isinstance(table, np.ndarray) and table.dtype.names is None:
        if table.ndim != 2:
            raise ValueError(f"X must have shape (rows, columns); got {table.shape}.")
        columns = {f"x{number}": as_column(table[:, number], name=f"x{number}") for number in range(table.shape[1])}
    else:
        columns = dict(read_table(table).columns)
    if not columns or not len(next(iter(columns.values()))):
        raise ValueError("X must have at least one row and one column; got none.")
    return columns
