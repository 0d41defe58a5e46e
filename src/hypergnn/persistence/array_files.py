"""Safetensors files of NumPy arrays, for processes without PyTorch; :mod:`tensor_files` reads them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hypergnn.persistence.files import replacing

KEY, SUM = "hypergnn", "sha256"
_DTYPES = {"|b1": "BOOL", "|u1": "U8", "|i1": "I8", "<i4": "I32", "<i8": "I64", "<f4": "F32", "<f8": "F64"}


class Stored(NamedTuple):
    """An array or a tensor as a file holds it."""

    dtype: str
    shape: tuple[int, ...]
    data: Any
    """Its bytes."""
    itemsize: int


def write(
    path: str | os.PathLike[str], kind: str, form: int, about: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> str:
    """Write arrays to a file atomically, and return the checksum; arguments as for :func:`tensor_files.write`.

    Example:
        >>> import tempfile
        >>> from hypergnn.persistence import tensor_files
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = write(f"{folder}/pair.safetensors", "pair", 1, {"age": 7}, {"pair": np.array([3, 4])})
        ...     tensor_files.read(f"{folder}/pair.safetensors", "pair", 1).tensors["pair"].tolist()
        [3, 4]
    """
    return write_stored(path, kind, form, about, {name: _stored(array) for name, array in arrays.items()})


def write_stored(
    path: str | os.PathLike[str], kind: str, form: int, about: Mapping[str, Any], parts: Mapping[str, Stored]
) -> str:
    """Write arrays that are already in the form in which files store them, and return the checksum."""
    from hypergnn import __version__

    text = json.dumps({"kind": kind, "format": form, "version": __version__, **about})
    ordered = {name: parts[name] for name in sorted(parts, key=lambda name: -parts[name].itemsize)}  # all aligned
    found = checksum(text, parts)
    with replacing(path) as file:
        file.write(_preamble({KEY: text, SUM: found}, ordered))
        for part in ordered.values():
            file.write(part.data)
    return found


def checksum(header: str, parts: Mapping[str, Stored]) -> str:
    """A digest of the header and of all parts in the order of their names; it detects damage that parses."""
    digest = hashlib.sha256(header.encode())
    for name in sorted(parts):
        digest.update(f"{name} {parts[name].shape}".encode())
        digest.update(parts[name].data)
    return digest.hexdigest()


def _stored(array: npt.NDArray[Any]) -> Stored:
    flat = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    data = flat.reshape(-1).view(np.uint8).data if flat.size else b""
    return Stored(_DTYPES[flat.dtype.str], tuple(array.shape), data, flat.itemsize)


def _preamble(metadata: Mapping[str, str], parts: Mapping[str, Stored]) -> bytes:
    """The start of a safetensors file: the length of the table in eight bytes, then the table as JSON."""
    table: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, part in parts.items():
        start, end = end, end + len(part.data)
        table[name] = {"dtype": part.dtype, "shape": list(part.shape), "data_offsets": [start, end]}
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
