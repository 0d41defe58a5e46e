"""What identifies a system: its name, its settings and, for a system of the user's own, its source."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass
from functools import lru_cache
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

_SHARED = ("site-packages", "dist-packages")
"""Folders in which packages of others are, too."""


def identity_of(system: System) -> dict[str, Any]:
    """The name and the settings of a system in JSON types; of one that is not ours, also its class and its source.

    The source is the file of the class and all files of its own package or folder that it imports, directly or not,
    even within functions. A change of one makes it another system, so that trials of two versions do not mix. Other
    packages, data files and modules that are imported by a computed name are not looked at.

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
    source = {} if is_ours else {"class": kind.__qualname__, "source": _source(kind)}
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


def _source(kind: type) -> str | None:
    """A digest of the file of a class and of what it imports from its own package or folder."""
    path, folder = _file(kind), folder_of(kind)
    if path is None or folder is None:
        return None
    root = Path(folder)
    own = root / kind.__module__.partition(".")[0] if root.name in _SHARED else root
    found, todo = {path: path.read_bytes()}, [path]
    while todo:
        one = todo.pop()
        for imported in _imported(one, found[one], root):
            if imported not in found and imported.is_relative_to(own):
                found[imported] = imported.read_bytes()
                todo.append(imported)
    contents = [found.pop(path), *(found[one] for one in sorted(found))]  # its own first: alone, it is what it was
    parts = contents if len(contents) == 1 else [hashlib.sha256(one).digest() for one in contents]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


@lru_cache(maxsize=1024)
def _imported(path: Path, content: bytes, root: Path) -> tuple[Path, ...]:
    """The files below a folder that a file imports, those of the packages around them included."""
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError):
        return ()
    found: list[Path] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            wanted = [(root, one.name) for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = path.parents[node.level - 1] if 0 < node.level <= len(path.parents) else root
            wanted = [(start, ".".join(filter(None, (node.module, one.name)))) for one in node.names]
        else:
            continue
        for start, name in wanted:
            parts = name.split(".")
            places = [start.joinpath(*parts[:length]) for length in range(len(parts) + 1)]
            files = [file for one in places for file in (one.with_suffix(".py"), one / "__init__.py")]
            found += [file.resolve() for file in files if file.is_file()]
    return tuple(dict.fromkeys(found))
