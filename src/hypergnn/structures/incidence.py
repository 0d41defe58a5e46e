"""Pairs (row, column) grouped both ways: what every sparse product of the package runs over.

A hypergraph's incidences and a graph's links are both such pairs. They have one *canonical* order, sorted by row and
then by column; per-incidence tensors (attention scores, for example) always follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor
from torch.utils import _pytree as pytree

Ids = npt.NDArray[np.integer[Any]]
T = TypeVar("T")


class Segments(NamedTuple):
    """Incidences grouped by one side, with the grouping by the other side for the way back (the gradient).

    Group ``g`` holds the entries ``offsets[g]:offsets[g + 1]`` of ``members``. ``position`` says where each entry
    stands in the canonical order; ``None`` means that the grouping is in that order already.
    """

    offsets: Tensor  # (groups + 1,)
    members: Tensor  # (n_incidences,) the other side of each incidence
    position: Tensor | None  # (n_incidences,)
    back_offsets: Tensor
    back_members: Tensor
    back_position: Tensor | None

    def reversed(self) -> Segments:
        """The same incidences grouped by the other side."""
        return Segments(*self[3:], *self[:3])

    @property
    def n_groups(self) -> int:
        """Number of groups, empty ones included."""
        return self.offsets.shape[0] - 1


@dataclass(frozen=True, eq=False, repr=False)
class Structure:
    """A frozen set of tensors that move together and that ``torch.export`` can see into."""

    def __init_subclass__(cls) -> None:
        """Make each kind of structure known to torch's pytrees: tensors are leaves, flags context, names left out."""
        pytree.register_pytree_node(
            cls,
            cls._flatten,
            cls._unflatten,
            serialized_type_name=f"hypergnn.{cls.__name__}",
            to_dumpable_context=list,
            from_dumpable_context=tuple,
            flatten_with_keys_fn=cls._flatten_with_keys,
        )
        torch.serialization.add_safe_globals(
            [cls]
        )  # it holds tensors only: torch.load and torch.export.load may make it

    def to(self, device: torch.device | str) -> Self:
        """The same structure with its tensors on ``device``."""
        device = torch.device(device)
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        moved = {name: value.to(device) for name, value in values.items() if isinstance(value, Tensor)}
        return type(self)(**{**values, **moved})

    @classmethod
    def _names(cls, kind: str) -> list[str]:
        return [field.name for field in fields(cls) if str(field.type).startswith(kind)]

    def _flatten(self) -> tuple[list[Any], tuple[bool, ...]]:
        leaves = [getattr(self, name) for name in self._names("Tensor")]
        return leaves, tuple(getattr(self, name) for name in self._names("bool") + self._names("float"))

    def _flatten_with_keys(self) -> tuple[list[tuple[pytree.KeyEntry, Any]], tuple[bool, ...]]:
        leaves, context = self._flatten()
        # Numbered, because torch.export takes the name of one field for the beginning of another's.
        return list(zip(map(pytree.SequenceKey, range(len(leaves))), leaves, strict=True)), context

    @classmethod
    def _unflatten(cls, leaves: Iterable[Any], context: tuple[bool, ...]) -> Self:
        tensors = dict(zip(cls._names("Tensor"), leaves, strict=True))
        return cls(**tensors, **dict(zip(cls._names("bool") + cls._names("float"), context, strict=True)))

    def derived(self, key: Any, make: Callable[[], T]) -> T:
        """What ``make`` makes of this structure, kept for the next time unless a program is being traced."""
        if torch.compiler.is_compiling():
            return make()
        kept: dict[Any, Any] = self.__dict__.setdefault("_derived", {})
        if key not in kept:
            with torch.inference_mode(False), torch.no_grad():  # whoever comes next may want a gradient
                kept[key] = make()
        made: T = kept[key]
        return made


class Grouped(NamedTuple):
    """What :func:`group` returns: the pairs in canonical order and both groupings of them."""

    rows: Tensor  # (n_incidences,) in canonical order
    columns: Tensor  # (n_incidences,) in canonical order
    row_offsets: Tensor  # (n_rows + 1,)
    column_offsets: Tensor  # (n_columns + 1,)
    column_members: Tensor  # (n_incidences,) rows, grouped by column
    column_position: Tensor  # (n_incidences,) canonical position of each of those


def group(rows: Ids, columns: Ids, n_rows: int, n_columns: int) -> Grouped:
    """Sort pairs of ids into both orders, in time linear in their number.

    Beside what it returns it holds at most one more array of that size: ids are narrowed here and not by the caller, so
    that nobody keeps the narrowed ones once they are sorted.

    Raises:
        ValueError: If a pair occurs twice.
    """
    fits = max(n_rows, n_columns, rows.size) < np.iinfo(np.int32).max
    index = np.int32 if fits else np.int64
    shape = (n_rows, n_columns)
    by_row = _by_row(rows.astype(index, copy=False), columns.astype(index, copy=False), shape, np.int8)
    if by_row.nnz < rows.size:
        raise ValueError(_repetition(rows, columns, shape))
    by_row.data = np.arange(rows.size, dtype=index)
    by_column = by_row.tocsc()
    row_of = np.repeat(np.arange(n_rows, dtype=index), np.diff(by_row.indptr))
    return Grouped(
        rows=torch.from_numpy(row_of),
        columns=torch.from_numpy(by_row.indices.astype(index, copy=False)),
        row_offsets=torch.from_numpy(by_row.indptr.astype(index, copy=False)),
        column_offsets=torch.from_numpy(by_column.indptr.astype(index, copy=False)),
        column_members=torch.from_numpy(by_column.indices.astype(index, copy=False)),
        column_position=torch.from_numpy(by_column.data),
    )


def _by_row(rows: Ids, columns: Ids, shape: tuple[int, int], count: type[np.integer[Any]]) -> sparse.csr_array:
    """How often each pair occurs."""
    return sparse.coo_array((np.ones(rows.size, dtype=count), (rows, columns)), shape=shape).tocsr()


def _repetition(rows: Ids, columns: Ids, shape: tuple[int, int]) -> str:
    counts = _by_row(rows, columns, shape, np.int64)
    place = counts.data.argmax()
    vertex = np.searchsorted(counts.indptr, place, side="right") - 1
    return (
        f"incidences must be unique; vertex {vertex} stands {counts.data[place]} times in hyperedge "
        f"{counts.indices[place]}. Remove the repetitions, e.g. with numpy.unique(pairs, axis=0)."
    )
