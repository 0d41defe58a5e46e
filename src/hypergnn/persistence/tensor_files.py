"""Tensors as files: safetensors, with JSON in the header that says what they are. Nothing in them can be executed.

A file is written tensor by tensor and mapped into memory when it is read, so that neither takes memory of its size.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hypergnn.persistence.files import replacing

_LOADERS = {"Network": "hypergnn.load", "Hypergraph": "Hypergraph.load", "Graph": "Graph.load"}
_KEY, _SUM = "hypergnn", "sha256"

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
    """What :func:`read` found in a file."""

    header: dict[str, Any]
    """What :func:`write` was told of it, and ``kind``, ``format`` and ``version``."""
    tensors: dict[str, Tensor]


def write(
    path: str | os.PathLike[str], kind: str, form: int, about: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> None:
    """Write tensors to a file, in one step: the file is the old one or the new one, never half of one.

    Args:
        path: The file.
        kind: What it holds: a network, for example.
        form: Number of the format, which changes whenever older versions could not read the file.
        about: What else is to be known, as JSON holds it.
        tensors: The tensors by their names.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(f"{folder}/pair.safetensors", "pair", 1, {"age": 7}, {"pair": torch.tensor([3, 4])})
        ...     content = read(f"{folder}/pair.safetensors", "pair", 1)
        ...     content.header["age"], content.tensors["pair"].tolist()
        (7, [3, 4])
    """
    from hypergnn import __version__

    text = json.dumps({"kind": kind, "format": form, "version": __version__, **about})
    widest_first = sorted(tensors, key=lambda name: -tensors[name].element_size())  # so that all stay aligned
    ordered = {name: tensors[name].detach().cpu().contiguous() for name in widest_first}
    with replacing(path) as file:
        file.write(_preamble({_KEY: text, _SUM: _checksum(text, ordered)}, ordered))
        for tensor in ordered.values():
            file.write(_bytes(tensor))


def read(path: str | os.PathLike[str], kind: str, form: int, *, verify: bool = True) -> Content:
    """Map a file that :func:`write` has written into memory.

    Args:
        path: The file. While the tensors are in use it may be replaced, but not be written into.
        kind: What it must hold.
        form: The format that it must have.
        verify: Whether to read all of it and compare its checksum.

    Raises:
        ValueError: If the file is not such a file, is damaged, or was written by a version with another format.
    """
    from safetensors import SafetensorError, safe_open

    with open(path, "rb"):  # so that a missing file and a folder are told as everywhere
        pass
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged or not a file of hypergnn: {error}.") from error
    if _KEY not in metadata:
        raise ValueError(f"{path} is a safetensors file, but not one that hypergnn has written.")
    if verify and _checksum(metadata[_KEY], tensors) != metadata.get(_SUM):
        raise ValueError(f"{path} is damaged: its content does not have the checksum that stands in it.")
    return Content(_header(path, metadata[_KEY], kind, form), tensors)


def _header(path: str | os.PathLike[str], text: str, kind: str, form: int) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads(text)
        version, number = header["version"], header["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged: its header cannot be read, {error!r}.") from error
    found = header.get("kind", kind)  # the first files did not say it
    if found != kind:
        raise ValueError(f"{path} must hold a {kind}; got a {found}. Load it with {_LOADERS.get(found, found)}.")
    if number != form:
        raise ValueError(
            f"{path} has format {number}, written by hypergnn {version}; this version reads format {form}. "
            "Use that version, or make the file again."
        )
    return header


def _preamble(metadata: Mapping[str, str], tensors: Mapping[str, Tensor]) -> bytes:
    """The beginning of a safetensors file: eight bytes with the length of the table, and the table, as JSON."""
    table: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, tensor in tensors.items():
        start, end = end, end + tensor.nbytes
        table[name] = {"dtype": _DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _checksum(header: str, tensors: Mapping[str, Tensor]) -> str:
    """Of all that a file says, in the order of the names: damage that leaves it readable changes this."""
    digest = hashlib.sha256(header.encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tuple(tensors[name].shape)}".encode())
        digest.update(_bytes(tensors[name]))
    return digest.hexdigest()


def _bytes(tensor: Tensor) -> Any:
    """The content of a contiguous tensor, not copied."""
    if tensor.numel() == 0:  # whose strides may be anything, which view does not take
        return b""
    return tensor.reshape(-1).view(torch.uint8).numpy().data
