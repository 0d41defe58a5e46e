"""The JSON of a run folder: plain values, one object per line, and the differences between two objects."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any


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


def line(entry: Mapping[str, Any]) -> bytes:
    r"""Encode a plain object as one line of JSON, newline included.

    Example:
        >>> line({"seed": 0, "val_loss": None})
        b'{"seed":0,"val_loss":null}\n'
    """
    return json.dumps(entry, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def whole_lines(path: Path) -> list[tuple[dict[str, Any], int]]:
    r"""Read the complete lines of a file: each object with the offset at which its line ends.

    Args:
        path: The file; a missing file counts as empty.

    Raises:
        ValueError: If a line is not a JSON object with a seed. Only the last line may be incomplete; it is skipped.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "trials.jsonl")
        ...     _ = path.write_bytes(b'{"seed":0}\n{"seed":1}\n{"se')
        ...     whole_lines(path)
        [({'seed': 0}, 11), ({'seed': 1}, 22)]
    """
    *rows, torn = (path.read_bytes() if path.exists() else b"").split(b"\n")
    found: list[tuple[dict[str, Any], int]] = []
    end = 0
    for number, row in enumerate(rows, start=1):
        end += len(row) + 1
        try:
            entry = json.loads(row.decode())
        except ValueError:
            if number == len(rows) and not torn:
                break
            entry = None
        if not isinstance(entry, dict) or type(entry.get("seed")) is not int:
            raise ValueError(
                f"{path}, line {number}: each line must be a JSON object with a seed; got {row[:40]!r}. "
                "Restore the file from a backup, or delete the line to run its trial again."
            )
        found.append((entry, end))
    return found


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
