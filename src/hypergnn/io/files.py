"""Files that are either the old or the new, never half of one, and libraries that are loaded when they are needed."""

from __future__ import annotations

import importlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when the block ends, and leaves no trace if the block fails."""
    target = Path(path).resolve()
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def needed(module: str, *, extra: str) -> Any:
    """Import an optional ``module``, or say which extra of this package brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ImportError(
            f"this needs {library}, which could not be imported ({error}). "
            f"Install it, e.g. pip install 'hypergnn[{extra}]'."
        ) from error
