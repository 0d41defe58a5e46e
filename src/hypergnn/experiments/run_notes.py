"""Notes beside the records of a run: how long it took, why its system does not apply, and why it failed."""

from __future__ import annotations

import json
from pathlib import Path

from hypergnn._utils.file_errors import FileError
from hypergnn.persistence.files import read_regular, write_atomic

CLOCK = "clock.json"
"""The file of a run folder with the elapsed time of the run."""
INAPPLICABLE = "inapplicable.json"
"""The file of a run folder that says why its system cannot run on such data."""
FAILURE = "failure.json"
"""The file of a run folder that says why a trial failed."""


def note_seconds(folder: Path, seconds: float) -> None:
    """Write the elapsed time of a run, all sessions together, into its folder."""
    write_atomic(folder / CLOCK, json.dumps({"seconds": round(seconds, 3)}).encode() + b"\n")


def seconds_of(folder: Path) -> float | None:
    """The elapsed time that :func:`note_seconds` wrote; ``None`` if there is none."""
    path = folder / CLOCK
    try:
        return float(json.loads(read_regular(path))["seconds"]) if path.exists() else None
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
        raise FileError(path, "must hold the seconds that a run took; it is corrupt. Remove it.") from error


def note_inapplicable(folder: Path, why: str) -> None:
    """Write into the folder of a run why its system cannot run on such data."""
    _note_reason(folder / INAPPLICABLE, why)
    (folder / FAILURE).unlink(missing_ok=True)


def inapplicable_of(folder: Path) -> str | None:
    """The reason that :func:`note_inapplicable` wrote; ``None`` if there is none."""
    return _reason(folder / INAPPLICABLE, "a system cannot run")


def note_failure(folder: Path, why: str | None) -> None:
    """Write into the folder of a run why a trial failed; ``None`` removes what was written."""
    if why is None:
        (folder / FAILURE).unlink(missing_ok=True)
    else:
        _note_reason(folder / FAILURE, why)


def failure_of(folder: Path) -> str | None:
    """The reason that :func:`note_failure` wrote; ``None`` if there is none."""
    return _reason(folder / FAILURE, "a trial failed")


def _note_reason(path: Path, why: str) -> None:
    write_atomic(path, json.dumps({"why": why}).encode() + b"\n")


def _reason(path: Path, what: str) -> str | None:
    try:
        return str(json.loads(read_regular(path))["why"]) if path.exists() else None
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise FileError(path, f"must say why {what}; it is corrupt. Remove it.") from error
