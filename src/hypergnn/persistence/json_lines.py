"""The JSON of a run folder: plain values, one object per line with a checksum, and the differences between two objects.

The checksum of a line is its last entry, ``"check"``: the CRC-32, in eight hexadecimal digits, of all bytes before it.
Lines written before there were checksums have none; they are read as they are.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from hypergnn.persistence.files import read_regular

CHECK = "check"
"""The key of the checksum."""
_ENDING = re.compile(rb',"check":"([0-9a-f]{8})"}$')


def as_plain(name: str, value: object) -> Any:
    """Return ``value`` as JSON would return it after a round trip; raise if JSON cannot hold it.

    Example:
        >>> as_plain("configuration", {"hidden": (8, 8), "dropout": 0.6})
        {'hidden': [8, 8], 'dropout': 0.6}
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{name} must be finite; got {value}. Give None for a missing number.")
        return float(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: as_plain(f"{name}[{json.dumps(key)}]", entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(f"{name}[{place}]", entry) for place, entry in enumerate(value)]
    raise TypeError(
        f"{name} must be of JSON types, with strings for keys; got {value!r} of type {type(value).__name__}. "
        "Convert it, e.g. with .item(), .tolist() or str()."
    )


class Line(NamedTuple):
    """A line of a file, and what is wrong with it."""

    number: int
    """Counted from 1."""
    end: int
    """Offset in the file at which the line ends, newline included."""
    entry: dict[str, Any]
    """Its object, without the checksum; empty if the line is damaged."""
    damage: str | None = None
    """What is wrong, or ``None``."""
    is_whole: bool = True
    """Whether it was written completely: it is a JSON object and matches its checksum, if it has one."""
    is_checked: bool = False
    """Whether it has a checksum."""


def line(entry: Mapping[str, Any]) -> bytes:
    r"""Encode a plain object as one line of JSON, checksum and newline included.

    Example:
        >>> line({"seed": 0, "val_loss": None})
        b'{"seed":0,"val_loss":null,"check":"fddd0c3b"}\n'
    """
    body = json.dumps(entry, separators=(",", ":"), allow_nan=False).encode()[:-1]
    return body + f',"{CHECK}":"{crc32(body):08x}"}}\n'.encode()


def parse(row: bytes) -> tuple[dict[str, Any], bool]:
    """Decode a line without its newline; return its object and whether it has a checksum.

    Raises:
        ValueError: If it is not a JSON object, or does not match its checksum.

    Example:
        >>> parse(line({"seed": 0}).strip())
        ({'seed': 0}, True)
        >>> parse(line({"seed": 0}).strip().replace(b"0", b"1", 1))
        Traceback (most recent call last):
        ValueError: it does not match its checksum: it was damaged or changed
    """
    try:
        entry = json.loads(row.decode())
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict):
        raise ValueError(f"it must be a JSON object; got {row[:40]!r}")
    if CHECK not in entry:
        return entry, False
    found = _ENDING.search(row)
    if found is None or int(found[1], 16) != crc32(row[: found.start()]):
        raise ValueError("it does not match its checksum: it was damaged or changed")
    del entry[CHECK]
    return entry, True


def all_lines(path: Path) -> tuple[list[Line], bytes]:
    r"""Read a file of lines with a seed each, and what follows the last newline.

    Args:
        path: The file; a missing file counts as empty.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "trials.jsonl")
        ...     _ = path.write_bytes(b'{"seed":0}\n[1]\n{"se')
        ...     lines, torn = all_lines(path)
        >>> lines[0].entry, lines[1].damage, torn
        ({'seed': 0}, "it must be a JSON object; got b'[1]'", b'{"se')
    """
    *rows, torn = (read_regular(path) if path.exists() else b"").split(b"\n")
    found: list[Line] = []
    end = 0
    for number, row in enumerate(rows, start=1):
        end += len(row) + 1
        try:
            entry, is_checked = parse(row)
        except ValueError as error:
            found.append(Line(number, end, {}, str(error), is_whole=False))
            continue
        damage = None if type(entry.get("seed")) is int else f"it must have a seed; got {row[:40]!r}"
        found.append(Line(number, end, {} if damage else entry, damage, is_checked=is_checked))
    return found, torn


def whole_lines(path: Path) -> list[tuple[dict[str, Any], int]]:
    r"""Read the complete lines of a file: each object with the offset at which its line ends.

    Args:
        path: The file; a missing file counts as empty.

    Raises:
        ValueError: If a line is damaged. Only the last line may be incomplete; it is skipped.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "trials.jsonl")
        ...     _ = path.write_bytes(b'{"seed":0}\n{"seed":1}\n{"se')
        ...     whole_lines(path)
        [({'seed': 0}, 11), ({'seed': 1}, 22)]
    """
    lines, torn = all_lines(path)
    if lines and not lines[-1].is_whole and not torn:
        lines.pop()
    for one in lines:
        if one.damage is not None:
            raise ValueError(
                f"{path}, line {one.number}: {one.damage}. Restore the file from a backup, or delete the line to run "
                "its trial again."
            )
    return [(one.entry, one.end) for one in lines]


def differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Describe each key whose values differ, one line each; nested keys are joined by dots, after ``prefix``.

    Example:
        >>> differences({"model": {"hidden": 8, "heads": 8}}, {"model": {"hidden": 16, "heads": 8}, "lr": 0.1})
        ['lr: missing in the run, 0.1 now', 'model.hidden: 8 in the run, 16 now']
    """
    lines = []
    for key in sorted(old.keys() | new.keys()):
        if key not in new:
            lines.append(f"{prefix}{key}: {old[key]!r} in the run, missing now")
        elif key not in old:
            lines.append(f"{prefix}{key}: missing in the run, {new[key]!r} now")
        elif isinstance(old[key], dict) and isinstance(new[key], dict):
            lines += differences(old[key], new[key], f"{prefix}{key}.")
        elif old[key] != new[key]:
            lines.append(f"{prefix}{key}: {old[key]!r} in the run, {new[key]!r} now")
    return lines
