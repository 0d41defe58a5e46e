"""Clean stops: the first Ctrl-C or SIGTERM finishes the work in order, the second ends the process at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_BOTH = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stoppable() -> Iterator[None]:
    """Make SIGTERM raise `KeyboardInterrupt` as Ctrl-C does; after the first of either, the next ends the process."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
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
