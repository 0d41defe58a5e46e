"""Time limits that do not depend on whether the kernels are already compiled on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from hypergnn.kernels.dispatch import is_compiled


class Stopwatch:
    """Measures seconds of work, without the time that compiling or loading kernels takes.

    Example:
        >>> with stopwatch() as watch:
        ...     pass
        >>> 0 <= watch.worked() < 60, watch.compiling
        (True, 0.0)
    """

    def __init__(self, compiler: Any = None) -> None:
        """Start; ``compiler`` is numba's timer of the compiler, if there is one."""
        self._start = time.perf_counter()
        self._compiler = compiler

    @property
    def compiling(self) -> float:
        """Seconds in which kernels were compiled, or loaded from the cache."""
        is_used = self._compiler is not None and self._compiler.done
        return float(self._compiler.duration) if is_used else 0.0

    def worked(self) -> float:
        """Seconds since the start, without :attr:`compiling`."""
        return time.perf_counter() - self._start - self.compiling


@contextmanager
def stopwatch(on_compile: Callable[[], None] | None = None) -> Iterator[Stopwatch]:
    """Yield a running stopwatch.

    Args:
        on_compile: Called once, when a kernel has to be compiled because the cache does not hold it.
    """
    if not is_compiled("cpu", torch.float32):  # this imports the kernels, before the start
        yield Stopwatch()
        return
    from numba.core.event import TimingListener, install_listener

    class First(TimingListener):
        is_told = on_compile is None

        def on_start(self, event: Any) -> None:
            super().on_start(event)  # type: ignore[no-untyped-call]
            if on_compile is not None and not self.is_told:
                self.is_told = True
                on_compile()

    timer, first = TimingListener(), First()  # type: ignore[no-untyped-call]
    with install_listener("numba:compiler_lock", timer), install_listener("numba:compile", first):
        yield Stopwatch(timer)
