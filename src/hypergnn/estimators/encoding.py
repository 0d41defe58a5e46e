"""Tables of numbers and words, with gaps, as a matrix of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.tables import as_numbers, encode
from hypergnn.construct.table import comparable

Array = npt.NDArray[Any]

_MOST_VALUES = 50
"""Of a column of words, the most frequent values get a number each; the others share none."""
_WIDE = 500


@dataclass(frozen=True)
class _Numbers:
    """A column of numbers: what fills its gaps, and its scale."""

    fill: float
    centre: float
    scale: float
    has_gaps: bool

    def encode(self, column: Any) -> Array:
        values = as_numbers(column)
        if values is None:
            raise ValueError("a column that held numbers in fit must hold numbers in predict.")
        gaps = ~np.isfinite(values)
        scaled = (np.where(gaps, self.fill, values) - self.centre) / self.scale
        return np.column_stack([scaled, gaps]) if self.has_gaps else scaled[:, None]


@dataclass(frozen=True)
class _Words:
    """A column of words: the place of each value; a gap has none."""

    places: Mapping[Any, int]

    def encode(self, column: Any) -> Array:
        encoded = encode(column)
        place = [self.places.get(value, -1) for value in comparable(encoded.values)]
        codes = np.append(np.array(place, dtype=np.int64), -1)[encoded.codes]
        out = np.zeros((codes.size, len(self.places)))
        out[codes >= 0, codes[codes >= 0]] = 1.0
        return out


class TableEncoder:
    """Numbers scaled to mean 0 and variance 1 with gaps filled and marked; words one-hot.

    Args:
        columns: The columns of the table by name.

    Example:
        >>> columns = {"age": np.array([1.0, 3.0, np.nan]), "town": np.array(["a", "b", "a"], dtype=object)}
        >>> TableEncoder(columns).encode(columns).round(1).tolist()
        [[-1.2, 0.0, 1.0, 0.0], [1.2, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]]
    """

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        """Learn the scales and the values."""
        self._columns = {name: _learn(column) for name, column in columns.items()}

    def encode(self, columns: Mapping[Any, Any]) -> Any:
        """The table as numbers, ``(rows, F)``: dense, or CSR if there are many columns of words."""
        blocks = [rule.encode(columns[name]) for name, rule in self._columns.items()]
        matrix = np.hstack(blocks)
        return matrix if matrix.shape[1] <= _WIDE else sparse.csr_array(matrix)


def _learn(column: Any) -> _Numbers | _Words:
    values = as_numbers(column)
    if values is None or _is_category(column):
        encoded = encode(column)
        count = np.bincount(encoded.codes[encoded.codes >= 0], minlength=encoded.values.size)
        frequent = np.sort(np.argsort(-count, kind="stable")[:_MOST_VALUES])
        named = list(comparable(encoded.values))
        return _Words({named[code]: place for place, code in enumerate(frequent.tolist())})
    present = values[np.isfinite(values)]
    fill = float(np.median(present)) if present.size else 0.0
    filled = np.where(np.isfinite(values), values, fill)
    return _Numbers(fill, float(filled.mean()), float(filled.std()) or 1.0, bool(present.size < values.size))


def _is_category(column: Any) -> bool:
    return getattr(getattr(column, "dtype", None), "name", "") == "category"
