"""Training in this process and thread, so that a callback sees the losses of each epoch."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from hypergnn.models import Config
from hypergnn.training.engine import OnLosses, train
from hypergnn.training.losses import Losses, is_true
from hypergnn.training.plan import Plan
from hypergnn.training.session import Session

SILENCE = 0.2
"""Minimum number of seconds between two reports of progress."""


class _StoppedError(Exception):
    """The callback wants the run to stop."""


def train_here(
    plan: Plan, config: Config, batches: Sequence[Sequence[int]], session: Session, on_epoch: OnLosses
) -> bool:
    """Train all batches; return whether a keyboard interrupt or the callback stopped it.

    Args:
        plan: The data, with everything that was computed before training.
        config: The settings.
        batches: The seeds of the trials to train together, batch by batch.
        session: Records finished trials and reports progress.
        on_epoch: Called after each epoch.
    """
    last = time.monotonic()

    def report(_: int, running: int) -> None:
        nonlocal last
        session.running = running
        session.epochs += running
        if time.monotonic() - last > SILENCE:
            session.report()
            last = time.monotonic()

    def tell(epoch: int, losses: Losses) -> None:
        if is_true(on_epoch(epoch, losses)):
            raise _StoppedError

    before = torch.get_num_threads()
    torch.set_num_threads(1)  # as in a worker: no sum depends on where it is computed
    try:
        for batch in batches:
            for trial in train(plan, config, batch, on_epoch=report, on_losses=tell):
                session.finish(trial)
    except (KeyboardInterrupt, _StoppedError):
        return True
    finally:
        session.running = 0
        torch.set_num_threads(before)
    return False
