"""What a worker does: it trains batch after batch, and sends each trial, its progress and its errors."""

from __future__ import annotations

import time
import traceback
from multiprocessing.reduction import ForkingPickler
from typing import Any, Protocol

import torch

from hypergnn.models import Config
from hypergnn.training.engine import train
from hypergnn.training.plan import Plan

SILENCE = 0.2
"""Minimum number of seconds between two progress messages of a worker."""


class Channel(Protocol):
    """A worker's connection to the process or thread that started it."""

    def next_batch(self) -> list[int]:
        """Wait for the seeds to train next; raise ``EOFError`` if there are no more."""
        ...

    def send(self, message: Any) -> None:
        """Send a `Trial`, a pair of epochs and running trials, an exception, or ``None`` after a batch."""
        ...

    def is_closed(self) -> bool:
        """Whether the other side has closed the channel."""
        ...


def work(channel: Channel, plan: Plan, config: Config) -> None:
    """Train batches until the channel closes; with one torch thread, so that no sum depends on ``jobs``."""
    torch.set_num_threads(1)
    trained, last_sent = 0, 0.0

    def report(_: int, running: int) -> None:
        nonlocal trained, last_sent
        trained += running
        if (now := time.monotonic()) - last_sent > SILENCE:  # a message costs as much as a short kernel
            if channel.is_closed():
                raise EOFError
            channel.send((trained, running))
            trained, last_sent = 0, now

    try:
        while True:
            for trial in train(plan, config, channel.next_batch(), on_epoch=report):
                channel.send(trial)
            channel.send((trained, 0))
            channel.send(None)
            trained = 0
    except (EOFError, ConnectionError):
        pass
    except BaseException as error:  # raised again on the other side
        channel.send(portable(error))


def portable(error: BaseException) -> BaseException:
    """The error with its traceback as a note; a ``RuntimeError`` with the traceback if it cannot be pickled."""
    trace = traceback.format_exc()
    error.add_note(f"In a worker:\n{trace}")
    try:
        ForkingPickler.dumps(error)
    except Exception:
        return RuntimeError(trace)
    return error
