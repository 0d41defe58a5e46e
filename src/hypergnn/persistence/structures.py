"""Structures as files, mapped into memory when they are loaded: nothing is sorted, copied or counted again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from hypergnn.persistence import name_tensors, tensor_files
from hypergnn.structures.incidence import Grouped, Structure


@dataclass(frozen=True, eq=False, repr=False)
class StoredStructure(Structure):
    """A structure that files can hold; its first six tensors are those of ``Grouped``."""

    FORMAT: ClassVar[int] = 1
    """Number of the format of its files."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, in one step: the file is the old one or the new one, never half of one.

        Args:
            path: The file, by custom ``*.safetensors``.

        Raises:
            TypeError: If names are neither text, bytes, numbers, dates nor tuples of those.
            ValueError: If it is a part of another, as training makes them.

        Example:
            >>> import tempfile
            >>> from hypergnn import Hypergraph
            >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4, vertex_names=list("abcd"))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     H.save(f"{folder}/small.safetensors")
            ...     Hypergraph.load(f"{folder}/small.safetensors").equals(H)
            True
        """
        told = {name: value for name, value in vars(self.to("cpu")).items() if value is not None}
        if "vertex_places" in told:
            raise ValueError(f"a part of a {type(self).__name__}, with degrees of the whole, cannot be saved.")
        derived = self._derive(told)
        tensors = {name: told[name] for name in self._kept() if name in told}
        tensors = {name: tensor for name, tensor in tensors.items() if not _is_same(tensor, derived.get(name))}
        how = {}
        for name in self._names("Names"):
            if name in told:
                tensors[name], how[name] = name_tensors.to_tensor(told[name])
        tensor_files.write(path, type(self).__name__, self.FORMAT, {"names": how}, tensors)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = False) -> Self:
        """Map a file that :meth:`save` has written into memory: parts of it are read when they are needed.

        Sizes, offsets, weights, centroids and names are checked in any case, the incidences only on demand.

        Args:
            path: The file. While the structure is in use it may be replaced by another, but not be written into.
            verify: Whether to read all of it, compare its checksum, and build the structure again to see that it is
                what it should be: for files that may be damaged or come from people one does not trust.

        Raises:
            ValueError: If the file is not such a file, is damaged, or was written by a version with another format.

        Example:
            >>> from hypergnn import Graph
            >>> Graph.load("links.safetensors")
            Traceback (most recent call last):
            FileNotFoundError: [Errno 2] No such file or directory: 'links.safetensors'
        """
        content = tensor_files.read(path, cls.__name__, cls.FORMAT, verify=verify)
        try:
            structure = cls._restored(content)
            if verify:
                structure._verify()
        except (AttributeError, KeyError, TypeError, ValueError, RuntimeError, IndexError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else error
            raise ValueError(f"{path} is damaged, or no file of hypergnn's: {what}") from error
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
        mine, yours = ([_on_cpu(getattr(one, field.name)) for field in fields(one)] for one in (self, other))
        return all((a is None) == (b is None) and np.array_equal(a, b) for a, b in zip(mine, yours, strict=True))

    @classmethod
    def _kept(cls) -> list[str]:
        """Names of the tensors that a file may hold."""
        return [name for name in cls._names("Tensor") if not name.endswith("_places")]

    @classmethod
    def _derive(cls, parts: Mapping[str, Any]) -> dict[str, Any]:
        """What fields are, as far as offsets and the like tell, unless a file says otherwise."""
        raise NotImplementedError

    @classmethod
    def _check(cls, parts: Mapping[str, Any]) -> None:
        """Raise unless sizes and what there is per vertex or hyperedge fit each other; incidences are not read."""
        _check_grouping(Grouped(*(parts[name] for name in cls._names("Tensor")[:6])))

    @classmethod
    def _restored(cls, content: tensor_files.Content) -> Self:
        parts: dict[str, Any] = dict(content.tensors)
        if unknown := parts.keys() - {*cls._kept(), *cls._names("Names")}:
            raise ValueError(f"it holds {', '.join(sorted(unknown))}, which is not kept of a {cls.__name__}.")
        for name, how in content.header["names"].items():
            parts[name] = name_tensors.from_tensor(content.tensors[name], how)
        for name, usual in cls._derive(parts).items():
            told = parts.setdefault(name, usual)
            if isinstance(usual, Tensor) and (told.shape, told.dtype) != (usual.shape, usual.dtype):
                raise ValueError(f"{name} must be {usual.dtype} {tuple(usual.shape)}; got {told.dtype} {told.shape}.")
        cls._check(parts)
        return cls(**parts)

    def _rebuilt(self) -> Self:
        """The same made of its incidences, which are not known to be right."""
        raise NotImplementedError

    def _verify(self) -> None:
        """Raise unless all fields are as they are when it is built again, but for the rounding of sums."""
        again = self._rebuilt()
        for name in self._names("Tensor"):
            told, built = getattr(self, name), getattr(again, name)
            same = torch.allclose if name.endswith("degree") else torch.equal
            if (told is None) != (built is None) or (built is not None and not same(told, built)):
                raise ValueError(f"its {name} does not fit its incidences.")


def _on_cpu(value: Any) -> Any:
    return value.cpu().numpy() if isinstance(value, Tensor) else value


def _is_same(tensor: Tensor, other: Any) -> bool:
    return isinstance(other, Tensor) and torch.equal(tensor, other)


def _check_grouping(grouped: Grouped) -> None:
    for tensor in grouped:
        if tensor.dim() != 1 or tensor.dtype != grouped.rows.dtype or tensor.dtype not in (torch.int32, torch.int64):
            raise ValueError(f"ids must be int32 or int64, all alike; got {tensor.dtype} {tuple(tensor.shape)}.")
    n_incidences = grouped.rows.shape[0]
    lengths = {tensor.shape[0] for tensor in (grouped.columns, grouped.column_members, grouped.column_position)}
    if lengths != {n_incidences}:
        raise ValueError(f"there must be {n_incidences} ids in each order; got {sorted(lengths)}.")
    for offsets in (grouped.row_offsets, grouped.column_offsets):
        first, last = int(offsets[0]), int(offsets[-1])
        if first != 0 or last != n_incidences or bool((offsets.diff() < 0).any()):
            raise ValueError(f"offsets must ascend from 0 to {n_incidences}; got {first} to {last}.")
