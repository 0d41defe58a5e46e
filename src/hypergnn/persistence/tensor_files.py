"""Tensors in safetensors files, described by JSON in the header. Nothing in a file can be executed.

A file is written tensor by tensor and mapped into memory when it is read, so neither needs memory of the file's size.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hypergnn._utils.file_errors import FileError
from hypergnn.persistence import array_files
from hypergnn.persistence.array_files import KEY, SUM, Stored
from hypergnn.persistence.files import check_regular

_LOADERS = {
    "Network": "hypergnn.load",
    "Estimator": "hypergnn.load",
    "Hypergraph": "Hypergraph.load",
    "Graph": "Graph.load",
}

_DTYPES = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.int16: "I16",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int32: "I32",
    torch.float32: "F32",
    torch.int64: "I64",
    torch.float64: "F64",
}


class Content(NamedTuple):
    """The content of a file, as returned by :func:`read`."""

    header: dict[str, Any]
    """The dictionary passed to :func:`write`, and ``kind``, ``format`` and ``version``."""
    tensors: dict[str, Tensor]


def write(
    path: str | os.PathLike[str], kind: str, form: int, about: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> None:
    """Write tensors to a file atomically: the file is the old one or the new one, never a part of either.

    Args:
        path: The file.
        kind: What the file contains, such as ``"Network"``.
        form: The number of the format, increased whenever older versions could not read the file.
        about: The description of the tensors, in JSON types.
        tensors: The tensors by name.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(f"{folder}/pair.safetensors", "pair", 1, {"age": 7}, {"pair": torch.tensor([3, 4])})
        ...     content = read(f"{folder}/pair.safetensors", "pair", 1)
        ...     content.header["age"], content.tensors["pair"].tolist()
        (7, [3, 4])
    """
    array_files.write_stored(path, kind, form, about, {name: _stored(tensor) for name, tensor in tensors.items()})


def read(path: str | os.PathLike[str], kind: str, form: int, *, verify: bool = True) -> Content:
    """Map a file written by :func:`write` into memory.

    Args:
        path: The file. While the tensors are in use, it may be replaced but not written into.
        kind: What the file must contain.
        form: The format that it must have.
        verify: Whether to read the whole file and compare its checksum.

    Raises:
        ValueError: If the file is of another kind, is damaged, or has another format.
    """
    from safetensors import SafetensorError, safe_open

    check_regular(path)
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise FileError(path, f"is damaged or not a file of hypergnn: {error}.") from error
    if KEY not in metadata:
        raise FileError(path, "is a safetensors file, but was not written by hypergnn.")
    if verify and _checksum(metadata[KEY], tensors) != metadata.get(SUM):
        raise FileError(path, "is damaged: its content does not match its checksum.")
    return Content(_header(path, metadata[KEY], kind, form), tensors)


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """What a file contains, without reading its tensors; ``None`` if :func:`read` would refuse it or not tell.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(f"{folder}/pair.safetensors", "pair", 1, {}, {"pair": torch.tensor([3, 4])})
        ...     kind_of(f"{folder}/pair.safetensors")
        'pair'
    """
    from safetensors import SafetensorError, safe_open

    check_regular(path)
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {}).get(KEY)
        found = json.loads(text or "{}").get("kind")
    except (SafetensorError, ValueError, AttributeError, RecursionError, MemoryError):
        return None
    return found if isinstance(found, str) else None


def _header(path: str | os.PathLike[str], text: str, kind: str, form: int) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads(text)
        version, number = header["version"], header["format"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileError(path, f"is damaged: its header cannot be read, {error!r}.") from error
    found = header.get("kind", kind)  # the first files did not have a kind
    if not isinstance(found, str):
        raise FileError(path, f"is damaged: the kind in its header must be text; got a {type(found).__name__}.")
    if found != kind:
        how = f" Load it with {_LOADERS[found]}." if isinstance(found, str) and found in _LOADERS else ""
        raise FileError(path, f"must contain a {kind}; got a {found!s:.60}.{how}")
    if number != form:
        raise FileError(
            path,
            f"has format {number}, written by hypergnn {version}; this version reads format {form}. "
            "Use that version, or create the file again.",
        )
    return header


def _checksum(header: str, tensors: Mapping[str, Tensor]) -> str:
    return array_files.checksum(header, {name: _stored(tensor) for name, tensor in tensors.items()})


def _stored(tensor: Tensor) -> Stored:
    own = tensor.detach().cpu().contiguous()
    return Stored(_DTYPES[own.dtype], tuple(own.shape), _bytes(own), own.element_size())


def _bytes(tensor: Tensor) -> Any:
    """The bytes of a contiguous tensor, without a copy."""
    if tensor.numel() == 0:  # an empty tensor may have strides that view refuses
        return b""
    return tensor.reshape(-1).view(torch.uint8).numpy().data
