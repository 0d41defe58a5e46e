"""Names of vertices and hyperedges as tensors: numbers and dates by value, everything else as a JSON list."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import torch
from torch import Tensor

from hypergnn._utils.checks import Names

_JSON = "json"
_JSON_TYPES = {str, int, float, bool, type(None)}
_WIDTHS = (1, 2, 4, 8)


class _Kind(NamedTuple):
    to_json: Callable[[Any], Any]
    from_json: Callable[[Any], Any]


# Other types become JSON objects with one entry: {"bytes": "00ff"}.
_KINDS: dict[type, _Kind] = {
    bytes: _Kind(bytes.hex, bytes.fromhex),
    date: _Kind(date.isoformat, date.fromisoformat),
    datetime: _Kind(datetime.isoformat, datetime.fromisoformat),
    Decimal: _Kind(str, Decimal),
    UUID: _Kind(str, UUID),
    tuple: _Kind(lambda parts: [_encoded(part) for part in parts], tuple),
}
_NAMED = {kind.__name__: rules for kind, rules in _KINDS.items()}


def to_tensor(names: Names) -> tuple[Tensor, str]:
    """Return names as a tensor, and their encoding, which :func:`from_tensor` needs.

    Raises:
        TypeError: If a name is not text, bytes, a number, a date or a tuple of those.

    Example:
        >>> tensor, how = to_tensor(np.array(["Ann", 7, (1, "b")], dtype=object))
        >>> from_tensor(tensor, how).tolist()
        ['Ann', 7, (1, 'b')]
    """
    if names.dtype.kind in "biufmM" and names.dtype.itemsize in _WIDTHS:
        native = np.ascontiguousarray(names, dtype=names.dtype.newbyteorder("="))
        return torch.from_numpy(native.view(f"i{native.itemsize}").copy()), native.dtype.str
    if names.dtype.kind != "O":
        raise TypeError(_cannot_hold(names.dtype))
    listed = names.tolist()
    if not set(map(type, listed)) <= _JSON_TYPES:
        listed = [_encoded(name) for name in listed]
    return torch.from_numpy(np.frombuffer(json.dumps(listed).encode(), dtype=np.uint8).copy()), _JSON


def from_tensor(tensor: Tensor, how: str) -> Names:
    """Return the names that :func:`to_tensor` encoded; numbers are not copied.

    Raises:
        ValueError: If the tensor does not have the encoding ``how``.
    """
    array = tensor.numpy()
    try:
        if how != _JSON:
            dtype = np.dtype(how)
            if dtype.kind not in "biufmM" or dtype.itemsize != array.itemsize:
                raise ValueError(f"{dtype} does not fit {array.dtype}")
            return array.view(dtype)
        listed = json.loads(array.tobytes(), object_hook=_decoded)
        return np.fromiter(listed, dtype=object, count=len(listed))
    except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"names cannot be read: {error!r}") from error


def _encoded(name: Any) -> Any:
    if isinstance(name, (np.number, np.bool_, np.str_, np.bytes_)):
        name = name.item()
    if type(name) in _JSON_TYPES:
        return name
    if type(name) not in _KINDS:
        raise TypeError(_cannot_hold(type(name).__name__, f" such as {name!r:.60}"))
    return {type(name).__name__: _KINDS[type(name)].to_json(name)}


def _decoded(entry: dict[str, Any]) -> Any:
    ((kind, value),) = entry.items()
    return _NAMED[kind].from_json(value)


def _cannot_hold(kind: object, example: str = "") -> str:
    return (
        f"names must be text, bytes, numbers, dates or tuples of those to be saved; got {kind}{example}. "
        "Convert them to text first, e.g. with map(str, names)."
    )
