"""Structures as files, mapped into memory when they are loaded: nothing is sorted, copied or counted again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from hypergnn._utils.pairs import check_ids_alike, check_offsets
from hypergnn.persistence import name_tensors, tensor_files
from hypergnn.structures.base import Structure
from hypergnn.structures.incidence import Incidence

AT_ONCE = 1 << 20
"""Files with at most this many entries are checked when they are loaded."""


class StoredStructure(Structure):
    """A structure that files can hold."""

    FORMAT: ClassVar[int] = 1
    """Number of the format of its files."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file atomically: the file is the old one or the new one, never a part of either.

        Args:
            path: The file, by convention ``*.safetensors``.

        Raises:
            TypeError: If names are not text, bytes, numbers, dates or tuples of those.

        Example:
            >>> import tempfile
            >>> from hypergnn import Hypergraph
            >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4, vertex_names=list("abcd"))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     H.save(f"{folder}/small.safetensors")
            ...     Hypergraph.load(f"{folder}/small.safetensors").equals(H)
            True
        """
        tensors = self.to("cpu")._to_tensors()
        how = {}
        for name in self._names("label"):
            if (names := getattr(self, name)) is not None:
                tensors[name], how[name] = name_tensors.to_tensor(names)
        tensor_files.write(path, type(self).__name__, self.FORMAT, {"names": how}, tensors)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = False) -> Self:
        """Map a file that :meth:`save` has written into memory: parts of it are read when they are needed.

        Sizes, offsets, weights, centroids and names are checked now. The incidences are checked before anything uses
        them: now if they are few, else when an operator or a method first needs them (:meth:`check`).

        Args:
            path: The file. While the structure is in use, it may be replaced but not written into.
            verify: Whether to read all of it now, compare its checksum and build the structure again. Without it, a
                file can still not make an operator read or write outside of its arrays; but wrong ids that fit each
                other, and names that occur twice, go unnoticed.

        Raises:
            ValueError: If the file is not such a file, is damaged, or was written by a version with another format.

        Example:
            >>> from hypergnn import Graph
            >>> Graph.load("links.safetensors")
            Traceback (most recent call last):
            FileNotFoundError: [Errno 2] No such file or directory: 'links.safetensors'
        """
        content = tensor_files.read(path, cls.__name__, cls.FORMAT, verify=verify)
        n_entries = sum(one.numel() for one in content.tensors.values())
        with _damage_of(path):
            labels = {
                name: name_tensors.from_tensor(content.tensors.pop(name), how)
                for name, how in content.header["names"].items()
            }
            for names in labels.values():
                names.flags.writeable = False
            structure = cls._from_tensors(_Stored(cls.__name__, content.tensors), labels)
        structure._comes_from(os.fspath(path))
        if verify or n_entries <= AT_ONCE:
            structure.check()
        if verify:
            with _damage_of(path):
                structure._verify()
        return structure

    def equals(self, other: object) -> bool:
        """Whether both have the same sizes, incidences, weights, centroids and names.

        Example:
            >>> from hypergnn import Hypergraph
            >>> H = Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
            >>> H.equals(Hypergraph.from_scipy(H.to_scipy()))
            True
        """
        if not isinstance(other, type(self)):
            return False
        return all(_are_equal(getattr(self, one.name), getattr(other, one.name)) for one in fields(self) if one.compare)

    def _to_tensors(self) -> dict[str, Tensor]:
        """What a file stores of it: all but what follows from its offsets."""
        raise NotImplementedError

    @classmethod
    def _from_tensors(cls, stored: _Stored, labels: Mapping[str, Any]) -> Self:
        """The structure from the tensors of a file; sizes are checked, incidences are not read."""
        raise NotImplementedError

    def _rebuilt(self) -> Self:
        """The same structure built again from its pairs, which are not known to be valid."""
        raise NotImplementedError

    def _verify(self) -> None:
        """Raise unless all fields are equal, up to rounding, to those of a structure built from the same pairs."""
        again = self._rebuilt()
        for name in self._names():
            stored, built = getattr(self, name), getattr(again, name)
            is_same = _are_close if name.endswith("degree") else _are_equal
            if not is_same(stored, built):
                raise ValueError(f"its {name} does not fit its incidences.")


class _Stored:
    """The tensors of a file, taken out one by one and checked as they are."""

    def __init__(self, kind: str, tensors: Mapping[str, Tensor]) -> None:
        self._kind, self._tensors = kind, dict(tensors)

    def take(self, name: str, usual: Tensor | None = None) -> Tensor:
        """A tensor of the file with the shape and dtype of ``usual``; ``usual`` itself if the file does not have it."""
        found = self._tensors.pop(name) if usual is None else self._tensors.pop(name, usual)
        if usual is not None and (found.shape, found.dtype) != (usual.shape, usual.dtype):
            raise ValueError(f"{name} must be {usual.dtype} {tuple(usual.shape)}; got {found.dtype} {found.shape}.")
        return found

    def take_any(self, name: str) -> Tensor | None:
        """A tensor that the file may have."""
        return self._tensors.pop(name, None)

    def finish(self) -> None:
        """Raise if the file has more tensors than were taken."""
        if self._tensors:
            raise ValueError(f"it holds {', '.join(sorted(self._tensors))}, which is not part of a {self._kind}.")


@contextmanager
def _damage_of(path: str | os.PathLike[str]) -> Iterator[None]:
    """Report any error in the content of a file as a damaged file."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{path} is damaged, or not a file of hypergnn: {what}") from error


def check_pairs(pairs: Incidence, rows: Tensor) -> None:
    """Raise unless sizes and offsets of an incidence, and the row of each pair, fit each other; no id is read."""
    check_ids_alike([rows, *(one for one in pairs if one is not None)])
    n_pairs = rows.shape[0]
    lengths = {one.shape[0] for one in (pairs.members, pairs.back_members, pairs.back_position) if one is not None}
    if lengths != {n_pairs}:
        raise ValueError(f"there must be {n_pairs} ids in each order; got {sorted(lengths)}.")
    for offsets in (pairs.offsets, pairs.back_offsets):
        check_offsets(offsets, n_pairs)


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, Incidence) and isinstance(other, Incidence):
        return all(map(_are_equal, one, other))
    mine, yours = (value.cpu().numpy() if isinstance(value, Tensor) else value for value in (one, other))
    return (mine is None) == (yours is None) and bool(np.array_equal(mine, yours))


def _are_close(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other)
