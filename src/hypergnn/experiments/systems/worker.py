"""The process of a system: it gets the system and the data, then one seed after the other, and sends probabilities.

It is a new process, so that no system can crash, slow down or change another, and its processor time and its memory are
those of the system alone. What a system prints does not reach the channel to the parent. The process ends, with those
that the system has started, when the parent closes its input, or is gone.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import pickle
import queue
import random
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from hypergnn.experiments.systems.base import DoesNotApplyError

if TYPE_CHECKING:
    from hypergnn.experiments.systems.base import Probabilities, System

_STATUS, _REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_TOLERANCE = 1e-3


def main() -> None:
    """Fit the system that standard input holds with each seed that follows."""
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # from now on, prints go to standard error
    try:
        system, data = pickle.load(sys.stdin.buffer)
    except Exception as error:
        _send(channel, {"error": f"could not be sent to a process of its own: {described(error)}"})
        return
    seeds: queue.SimpleQueue[int] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(seeds,), daemon=True).start()
    while True:
        _send(channel, *_trial(system, data, seeds.get()))


def _listen(seeds: queue.SimpleQueue[int]) -> None:
    """Pass on the seeds that arrive; end the process with its input, even while it computes."""
    for line in sys.stdin.buffer:
        seeds.put(int(line))
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)  # with the processes that the system has started
    os._exit(0)


def _trial(system: System, data: Any, seed: int) -> tuple[dict[str, Any], bytes]:
    """One trial: what it cost and its probabilities, or what went wrong."""
    _seed_all(seed)
    base = _memory_at_rest()
    with suppress(OSError):
        _REFERENCES.write_text("5")  # forget the peak of earlier trials
    start, used = time.perf_counter(), _processor_time()
    try:
        found = system.fit(data, seed)
        cost = {
            "seconds": time.perf_counter() - start,
            "cpu_seconds": _processor_time() - used,
            "peak_megabytes": max(_memory("VmHWM") - base, 0.0),
        }
        probabilities = checked(found, data.hypergraph.n_vertices, data.n_classes)
    except (Exception, SystemExit) as error:
        if os.environ.get("HYPERGNN_TRACEBACK"):
            traceback.print_exc()
        if isinstance(error, DoesNotApplyError):
            return {"inapplicable": _first_line(error)}, b""
        what = str(error) if isinstance(error, WrongProbabilitiesError) else f"raised {described(error)}"
        return {"error": what}, b""
    return {"shape": probabilities.shape, **cost}, probabilities.tobytes()


class WrongProbabilitiesError(ValueError):
    """What a system returned are not probabilities; the message completes the sentence "the system …"."""


def checked(found: Any, n_vertices: int, n_classes: int) -> Probabilities:
    """What a system returned as an array; raise unless it holds a probability of each class for every vertex.

    Example:
        >>> checked([[0.25, 0.75], [1, 0]], 2, 2).sum()
        np.float64(2.0)
        >>> checked([[0.25, 0.75]], 2, 2)
        Traceback (most recent call last):
        hypergnn.experiments.systems.worker.WrongProbabilitiesError: returned the shape (1, 2); it must be (2, 2), ...
    """
    import numpy as np

    try:
        array = np.asarray(found, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise WrongProbabilitiesError(f"returned {type(found).__name__}; it must be an array of numbers.") from error
    if array.shape != (n_vertices, n_classes):
        wanted = f"{(n_vertices, n_classes)}, a row per vertex and a column per class"
        raise WrongProbabilitiesError(f"returned the shape {array.shape}; it must be {wanted}.")
    if n_bad := int((~np.isfinite(array)).any(axis=1).sum()):
        raise WrongProbabilitiesError(f"returned NaN or infinity for {n_bad} of {n_vertices} vertices.")
    sums = array.sum(axis=1)
    wrong = (np.abs(sums - 1) > _TOLERANCE) | (array < -_TOLERANCE).any(axis=1)
    if wrong.any():
        first = int(wrong.argmax())
        raise WrongProbabilitiesError(
            f"returned numbers from {array[first].min():.3g} to {array[first].max():.3g} for vertex {first}, which sum "
            f"to {sums[first]:.3g}; probabilities must be at least 0 and sum to 1. Use a softmax, or divide by the sum."
        )
    return array


def described(error: BaseException) -> str:
    r"""An error in one line.

    Example:
        >>> described(ValueError("x must be finite.\nSee above."))
        'ValueError: x must be finite.'
    """
    first = _first_line(error)
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _first_line(error: BaseException) -> str:
    """The first line of the message that is not empty."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")


def _seed_all(seed: int) -> None:
    """Seed the generators of the process, for systems that use them instead of one of their own."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def _memory_at_rest() -> float:
    """Megabytes of this process without garbage: the data, and the libraries that earlier trials have loaded."""
    gc.collect()
    with suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
    return _memory("VmRSS")


def _processor_time() -> float:
    """Seconds of all threads of this process, and of the processes that it has started and that have ended."""
    return time.process_time() + sum(os.times()[2:4])


def _memory(entry: str) -> float:
    """``VmRSS``, the memory of this process now, or ``VmHWM``, its peak, in megabytes."""
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(entry):
                return int(line.split()[1]) / 1024
    import psutil

    now = psutil.Process().memory_info()
    return float(getattr(now, "peak_wset", now.rss) if entry == "VmHWM" else now.rss) / 2**20


def _send(channel: BinaryIO, head: dict[str, Any], body: bytes = b"") -> None:
    channel.write(json.dumps(head).encode() + b"\n" + body)
    channel.flush()
