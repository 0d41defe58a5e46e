"""Stopping in good order: Ctrl-C and SIGTERM alike, and a second time at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_BOTH = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM raise `KeyboardInterrupt` as Ctrl-C does; after the first of either, the next ends the process."""
    if threading.current_thread() is not threading.main_thread():  # which alone may say what signals do
        yield
        return
    before = [signal.signal(one, _stop) for one in _BOTH]
    try:
        yield
    finally:
        for one, handler in zip(_BOTH, before, strict=True):
            signal.signal(one, handler)


def _stop(_: int, __: FrameType | None) -> None:
    for one in _BOTH:
        signal.signal(one, signal.SIG_DFL)
    raise KeyboardInterrupt
