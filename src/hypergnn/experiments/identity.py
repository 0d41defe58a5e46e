"""What identifies a system: its name, its settings and, for a system of the user's own, its source."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from hypergnn.models import Config
from hypergnn.persistence.json_lines import as_plain

if TYPE_CHECKING:  # systems may use the tables, whose cells this module names
    from hypergnn.experiments.systems.base import System

LEAST_TRIALS = 20
"""Trials that a system must have at least, however long they take."""
SHORT = 5.0
"""Mean seconds of processor time up to which a trial is short, so that a system has all trials."""


def identity_of(system: System) -> dict[str, Any]:
    """The name and the settings of a system in JSON types; of one that is not ours, also its class and its source.

    A change of the source makes it another system, so that trials of two versions never mix.

    Raises:
        TypeError: If the system is no dataclass, or a setting is of another type than JSON has.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Majority:
        ...     name = "majority"
        ...     weight: float = 0.5
        >>> identity_of(Majority())["settings"]
        {'weight': 0.5}
    """
    kind = type(system)
    if not is_dataclass(system):
        raise TypeError(f"{kind.__name__} must be a dataclass whose fields are its settings; add @dataclass.")
    given = {one.name: getattr(system, one.name) for one in fields(system)}
    plain = {name: one.changed() if isinstance(one, Config) else _plain(one) for name, one in given.items()}
    settings: dict[str, Any] = as_plain(f"the settings of {kind.__name__}", plain)
    is_ours = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
    source = {} if is_ours else {"class": kind.__qualname__, "source": _digest(_file(kind))}
    return {"name": system.name, "settings": settings, **source}


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def usual_trials(system: System, trials: int, spent: Sequence[float] = (), *, exactly: bool = False) -> int:
    """The number of trials of a system: one if all seeds give the same, all if they are short, else the fewest.

    Args:
        system: The system.
        trials: What is asked for.
        spent: Seconds of processor time of the trials so far, by seed; the first :data:`LEAST_TRIALS` decide whether
            they are short.
        exactly: Whether it has as many trials as are asked for, however long they take.

    Example:
        >>> from types import SimpleNamespace
        >>> system = SimpleNamespace(is_deterministic=False)
        >>> usual_trials(system, 100), usual_trials(system, 100, [0.5] * 20), usual_trials(system, 100, [50.0] * 20)
        (20, 100, 20)
    """
    if system.is_deterministic:
        return 1
    is_short = len(spent) >= LEAST_TRIALS and mean(spent[:LEAST_TRIALS]) <= SHORT
    return trials if exactly or is_short else min(trials, LEAST_TRIALS)


def folder_of(kind: type) -> str | None:
    """The folder from which the module of a class was imported; ``None`` if it has no file."""
    path = _file(kind)
    return None if path is None else str(path.parents[kind.__module__.count(".") + (path.name == "__init__.py")])


def _file(kind: type) -> Path | None:
    found = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return None if found is None else Path(found).resolve()


def _digest(path: Path | None) -> str | None:
    return None if path is None else hashlib.sha256(path.read_bytes()).hexdigest()[:16]
