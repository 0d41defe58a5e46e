"""Random changes of bytes and of what bytes mean: JSON, tables, safetensors."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import struct
from collections.abc import Callable
from random import Random
from typing import Any
from zlib import crc32

Case = dict[str, bytes]
"""The files of a case by their path in its folder."""
Mutation = Callable[[Random, bytes], bytes]

_INTEGERS = (0, 1, 2, 3, 7, 8, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**62, 2**63 - 1)
INTEGERS = (*_INTEGERS, *(-one for one in _INTEGERS), -(2**63), 2**63, 2**64, 10**30)
_DEEP: Any = 0
for _ in range(200):
    _DEEP = [_DEEP]
HOSTILE: tuple[Any, ...] = (
    *INTEGERS,
    None,
    True,
    False,
    0.5,
    -0.0,
    1e-320,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "0",
    "a",
    "nan",
    "\ud800",
    "\x00\x1b[31m",
    "=1+1",
    "é" * 50,
    [],
    {},
    [[]],
    {"": None},
    _DEEP,
)


def mutate_bytes(rng: Random, data: bytes) -> bytes:
    """Change a few bytes, numbers or slices."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        rng.choice(_BYTE_CHANGES)(rng, changed)
    return bytes(changed)


def mutate_text(rng: Random, data: bytes) -> bytes:
    """Replace a number or a word, or change bytes."""
    words = list(re.finditer(rb"-?\d+(?:\.\d+)?|\w+", data[:20_000]))
    if not words or rng.random() < 0.3:
        return mutate_bytes(rng, data)
    word = rng.choice(words)
    new = b"[" * 50_000 if rng.random() < 0.05 else str(rng.choice(HOSTILE)).encode(errors="replace")
    return data[: word.start()] + new + data[word.end() :]


def mutate_json(rng: Random, data: bytes) -> bytes:
    """Change values in a JSON document, now and then its bytes."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_bytes(rng, data)
    if rng.random() < 0.1:
        return mutate_text(rng, data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        document = mutate_value(rng, document)
    return json.dumps(document).encode()


def mutate_lines(rng: Random, data: bytes) -> bytes:
    """Change a line of JSON, or cut, repeat, swap or join lines."""
    lines = data.split(b"\n")
    place, kind = rng.randrange(len(lines)), rng.random()
    if kind < 0.6:
        lines[place] = _signed(mutate_json(rng, lines[place]))
    elif kind < 0.7:
        lines.insert(rng.randrange(len(lines)), lines[place])
    elif kind < 0.8:
        del lines[place]
    elif kind < 0.9:
        other = rng.randrange(len(lines))
        lines[place], lines[other] = lines[other], lines[place]
    else:
        return mutate_bytes(rng, data)
    return b"\n".join(lines)


def _signed(line: bytes) -> bytes:
    """The line with its checksum corrected, if it has one: the last entry, ``check``."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(entry, dict) or "check" not in entry:
        return line
    del entry["check"]
    body = json.dumps(entry, separators=(",", ":")).encode()[:-1]
    return body + f',"check":"{crc32(body):08x}"}}'.encode()


def mutate_value(rng: Random, value: Any) -> Any:
    """Change one place in a tree of lists and dictionaries."""
    value = copy.deepcopy(value)
    holders = [holder for holder in _holders(value) if holder]
    if not holders:
        return rng.choice(HOSTILE)
    holder, kind = rng.choice(holders), rng.random()
    key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    if kind < 0.6:
        holder[key] = rng.choice(HOSTILE)
    elif kind < 0.75:
        del holder[key]
    elif kind < 0.9:
        donor = rng.choice(holders)
        part = rng.choice(list(donor.values()) if isinstance(donor, dict) else donor)
        holder[key] = copy.deepcopy(part)
    elif isinstance(holder, dict):
        holder[rng.choice(("", "x", "seed", "weight", "names", str(key) * 2))] = holder.pop(key)
    else:
        holder.insert(key, copy.deepcopy(holder[key]))
    return value


def mutate_csv(rng: Random, data: bytes) -> bytes:
    """Change cells, columns and lines of a table of text."""
    rows = [line.split(b",") for line in data.split(b"\n")]
    kind, row = rng.random(), rng.choice(rows)
    if kind < 0.5:
        row[rng.randrange(len(row))] = str(rng.choice(HOSTILE)).encode(errors="replace")
    elif kind < 0.6:
        rows[0][rng.randrange(len(rows[0]))] = rng.choice(rows[0])
    elif kind < 0.7:
        row[rng.randrange(len(row))] = rng.choice(
            (b'"', b'"a\nb"', b'""', b"\r", b"a;b", b"\xff", b"\x00", b" 1 ", b"1e3")
        )
    elif kind < 0.8:
        rows.insert(rng.randrange(len(rows)), list(row))
    else:
        return mutate_bytes(rng, data)
    return b"\n".join(b",".join(one) for one in rows)


def mutate_safetensors(rng: Random, data: bytes) -> bytes:
    """Change the header, the numbers or the shapes in a file of tensors, and mostly correct its checksum."""
    if rng.random() < 0.15:
        return mutate_bytes(rng, data)
    try:
        metadata, tensors = _split(data)
        text = json.loads(metadata["hypergnn"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error):
        return mutate_bytes(rng, data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind, name = rng.random(), rng.choice(sorted(tensors) or [""])
        if kind < 0.3 or not name:
            text = mutate_value(rng, text)
        else:
            _change_tensor(rng, tensors, name, kind)
    metadata["hypergnn"] = json.dumps(text)
    if rng.random() < 0.05:
        metadata["hypergnn"] = mutate_text(rng, metadata["hypergnn"].encode()).decode(errors="replace")
    if rng.random() < 0.9:
        metadata["sha256"] = _checksum(metadata["hypergnn"], tensors)
    return _joined(metadata, tensors)


def mutate_objects(rng: Random, data: bytes) -> bytes:
    """Change a file of objects: the JSON in the tensor ``tree`` that describes them, or the numbers in their arrays."""
    try:
        metadata, tensors = _split(data)
        dtype, _, content = tensors["tree"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error):
        return mutate_bytes(rng, data)
    if rng.random() < 0.2:
        return mutate_safetensors(rng, data)
    if rng.random() < 0.5:
        content = mutate_json(rng, content)
        tensors["tree"] = dtype, [len(content)], content
    else:
        name = rng.choice(sorted(set(tensors) - {"tree"}) or ["tree"])
        kind, shape, numbers = tensors[name]
        for _ in range(rng.choice((1, 1, 8))):
            fits = [one for one in ("U8", "I32", "I64", "F64") if numbers and len(numbers) % _WIDTHS[one] == 0]
            numbers = _with_number(rng, rng.choice(fits), numbers) if fits else numbers
        tensors[name] = kind, shape, numbers
    metadata["sha256"] = _checksum(metadata["hypergnn"], tensors)
    return _joined(metadata, tensors)


_Tensors = dict[str, tuple[str, list[int], bytes]]
_WIDTHS = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "F16": 2, "BF16": 2, "I32": 4, "F32": 4, "I64": 8, "F64": 8}
_FORMATS = {"I8": "b", "U8": "B", "I16": "h", "I32": "i", "I64": "q", "F32": "f", "F64": "d"}


def _change_tensor(rng: Random, tensors: _Tensors, name: str, kind: float) -> None:
    dtype, shape, content = tensors[name]
    if kind < 0.75 and content and dtype in _FORMATS:
        tensors[name] = dtype, shape, _with_number(rng, dtype, content)
    elif kind < 0.8 and len(shape) == 1 and shape[0]:
        tensors[name] = dtype, [shape[0] - 1], content[: -_WIDTHS[dtype]]
    elif kind < 0.85 and len(shape) == 1:
        tensors[name] = dtype, [shape[0] + 1], content + bytes(_WIDTHS[dtype])
    elif kind < 0.9:
        same = [one for one, width in _WIDTHS.items() if width == _WIDTHS[dtype]]
        tensors[name] = rng.choice(same), shape, content
    elif kind < 0.94:
        tensors[name] = dtype, [1, *shape], content
    elif kind < 0.97:
        del tensors[name]
    else:
        tensors[rng.choice(("x", "centroid", "weight", name + "x"))] = tensors[rng.choice(sorted(tensors))]


def _with_number(rng: Random, dtype: str, content: bytes) -> bytes:
    """One entry of a tensor replaced: mostly by a small number, which passes more checks."""
    width, form = _WIDTHS[dtype], "<" + _FORMATS[dtype]
    place = rng.randrange(len(content) // width) * width
    (old,) = struct.unpack_from(form, content, place)
    if dtype in ("F32", "F64"):
        new = rng.choice((0.0, -1.0, 1e30, 1e-30, float("nan"), float("inf"), -old, old * 2))
    else:
        new = rng.choice((old + 1, old - 1, 0, rng.randrange(8), rng.choice(INTEGERS)))
        bits = 8 * width
        new = new % 2**bits - (2**bits if dtype != "U8" and new % 2**bits >= 2 ** (bits - 1) else 0)
    try:
        return content[:place] + struct.pack(form, new) + content[place + width :]
    except OverflowError:  # 1e30 of a half, twice the largest number
        return content


def _split(data: bytes) -> tuple[dict[str, str], _Tensors]:
    (length,) = struct.unpack_from("<Q", data)
    table = json.loads(data[8 : 8 + length])
    metadata = table.pop("__metadata__")
    body = data[8 + length :]
    if any(entry["dtype"] not in _WIDTHS for entry in table.values()):
        raise ValueError("an unknown type of numbers")
    return metadata, {
        name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])]) for name, entry in table.items()
    }


def _joined(metadata: dict[str, str], tensors: _Tensors) -> bytes:
    table: dict[str, Any] = {"__metadata__": metadata}
    body = b""
    for name, (dtype, shape, content) in sorted(tensors.items(), key=lambda one: -_WIDTHS[one[1][0]]):
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(content)]}
        body += content
    text = json.dumps(table).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def _checksum(header: str, tensors: _Tensors) -> str:
    digest = hashlib.sha256(header.encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tuple(tensors[name][1])}".encode())
        digest.update(tensors[name][2])
    return digest.hexdigest()


def _holders(value: Any) -> list[Any]:
    """All lists and dictionaries in a tree."""
    found, waiting = [], [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (dict, list)):
            found.append(one)
            waiting += one.values() if isinstance(one, dict) else one
    return found


def _flip(rng: Random, data: bytearray) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _overwrite(rng: Random, data: bytearray) -> None:
    width = rng.choice((1, 2, 4, 8))
    place = rng.randrange(len(data) + 1)
    data[place : place + width] = (rng.choice(INTEGERS) % 2 ** (8 * width)).to_bytes(width, "little")


def _insert(rng: Random, data: bytearray) -> None:
    place = rng.randrange(len(data) + 1)
    data[place:place] = rng.randbytes(rng.choice((1, 2, 8, 64)))


def _delete(rng: Random, data: bytearray) -> None:
    place = rng.randrange(len(data) + 1)
    del data[place : place + rng.choice((1, 2, 8, 64))]


def _repeat(rng: Random, data: bytearray) -> None:
    place = rng.randrange(len(data) + 1)
    data[place:place] = data[place : place + rng.choice((1, 8, 64))]


def _truncate(rng: Random, data: bytearray) -> None:
    del data[rng.randrange(len(data) + 1) :]


_BYTE_CHANGES = (_flip, _flip, _flip, _overwrite, _overwrite, _insert, _delete, _repeat, _truncate)
