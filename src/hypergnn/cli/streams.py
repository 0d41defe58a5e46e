"""Standard error may be closed, full or broken: a message that cannot be written must not stop the command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


@contextmanager
def tolerant_stderr() -> Iterator[None]:
    """Let writing to standard error never fail while the block runs."""
    before = sys.stderr
    with open(os.devnull, "w") as nowhere:
        sys.stderr = _Tolerant(nowhere if before is None else before)
        try:
            yield
        finally:
            sys.stderr = before


class _Tolerant:
    """A stream that drops what it cannot write."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text, or drop it."""
        try:
            return self._stream.write(text)
        except OSError:
            self._give_up()
        return len(text)

    def flush(self) -> None:
        """Write what is buffered, or drop it."""
        try:
            self._stream.flush()
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        """Discard all further output, including what Python flushes at exit."""
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        """All else is as in the stream."""
        return getattr(self._stream, name)
