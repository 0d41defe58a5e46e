"""Dropout that can be drawn again: the same trial drops the same entries alone, among others, and after a restart.

Inside :func:`seeded` every dropout is a pure function of (seed, epoch, number of the dropout in the forward pass,
position); outside, it is torch's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

import numpy as np
import torch
from torch import Tensor

from hypergnn.kernels import Dropout, elu_dropout, relu_dropout, seeded_dropout
from hypergnn.kernels.dispatch import is_compiled
from hypergnn.kernels.ops import is_plain

_MASK = (1 << 64) - 1
_MANY = 1 << 31  # entries that 32 bits do not number


class _Draws:
    """The dropouts of one forward pass of some trials, in their order."""

    def __init__(self, seeds: Sequence[int], epoch: int, places: Mapping[int, Tensor]) -> None:
        self.seeds = seeds
        self.epoch = epoch
        self.places = places
        self.number = 0  # of the next dropout

    def next_keys(self) -> Tensor:
        """Two 32-bit keys per trial, ``(trials, 2)``."""
        keys = [hash_of(seed, self.epoch, self.number) for seed in self.seeds]
        self.number += 1
        halves = np.array([(key >> 32, key & 0xFFFFFFFF) for key in keys], np.uint32)
        return torch.from_numpy(halves.view(np.int32))


_current: ContextVar[_Draws | None] = ContextVar("draws", default=None)


@contextmanager
def seeded(seeds: Sequence[int], epoch: int, places: Mapping[int, Tensor] | None = None) -> Iterator[None]:
    """Make every :func:`dropout` in the block that of the trials with these seeds in this epoch.

    Args:
        seeds: One per trial; what is dropped must then have a leading axis of trials.
        epoch: Which epoch.
        places: By the ``id`` of what is computed in part only, such as a block or its senders: where its rows stand in
            the whole, so that they are dropped as there.

    Example:
        >>> with seeded([37], epoch=5):
        ...     alone = dropout(torch.ones(1, 4, 6), 0.5)
        >>> with seeded([3, 37], epoch=5):
        ...     together = dropout(torch.ones(2, 4, 6), 0.5)
        >>> bool((together[1] == alone[0]).all())
        True
    """
    token = _current.set(_Draws(seeds, epoch, places or {}))
    try:
        yield
    finally:
        _current.reset(token)


def resumable() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Two contexts for a part of a forward pass: the first to compute it, the second to compute it again.

    Inside the second, dropouts are those inside the first, also after :func:`seeded` has ended.

    Example:
        >>> with seeded([37], epoch=5):
        ...     first, second = resumable()
        ...     with first:
        ...         before = dropout(torch.ones(1, 4, 6), 0.5)
        >>> with second:
        ...     again = dropout(torch.ones(1, 4, 6), 0.5)
        >>> bool((again == before).all())
        True
    """
    draws = _current.get()
    return nullcontext(), nullcontext() if draws is None else _resumed(draws, draws.number)


@contextmanager
def _resumed(draws: _Draws, number: int) -> Iterator[None]:
    again = _Draws(draws.seeds, draws.epoch, draws.places)
    again.number = number
    token = _current.set(again)
    try:
        yield
    finally:
        _current.reset(token)


def dropout(x: Tensor, rate: float, of: object = None) -> Tensor:
    """Zero each entry of ``x`` with probability ``rate`` and scale the others by ``1 / (1 - rate)``.

    Args:
        x: ``(..., rows, ...)``, with an axis of trials before the rows inside :func:`seeded`.
        rate: The probability.
        of: What ``x`` has a row for each of, if it may be a part of a whole: see ``places`` of :func:`seeded`.
    """
    if rate == 0:
        return x
    drawn = draw(rate, of)
    return torch.nn.functional.dropout(x, rate) if drawn is None else seeded_dropout(_of_trials(x, drawn), drawn)


def unseeded_dropout(x: Tensor, rate: float) -> Tensor:
    """Dropout that torch's generator draws, whatever :func:`seeded` says.

    Where loops are compiled, the generator draws two keys, and these decide by the position what is dropped; elsewhere
    this is torch's own dropout. So the same seed drops other entries on another backend.
    """
    if not is_plain(x) or not is_compiled(x.device.type, x.dtype) or not 0 < x.numel() < _MANY:
        return torch.nn.functional.dropout(x, rate)
    keys = torch.randint(-_MANY, _MANY, (1, 2), dtype=torch.int32)
    return seeded_dropout(x.reshape(1, -1), Dropout(rate, keys)).view(x.shape)


def activate(x: Tensor, bias: Tensor | None, rate: float, of: object = None, *, by: str = "elu") -> Tensor:
    """ELU of ``x`` plus ``bias``, or ReLU, then :func:`dropout`, in one step if that is seeded."""
    activated = relu_dropout if by == "relu" else elu_dropout
    drawn = draw(rate, of) if rate > 0 else None
    if x.dim() > 3 and bias is not None:  # the trials of the bias come last of the axes before the rows
        x, bias = x + bias.unsqueeze(-2), None
    if drawn is None:
        return dropout(activated(x, bias), rate)
    return activated(_of_trials(x, drawn), bias, drawn)


def draw(rate: float, of: object = None) -> Dropout | None:
    """The next dropout of the trials in training; ``None`` outside :func:`seeded` and in a compiled program."""
    if torch.compiler.is_compiling():  # it cannot see a context variable, and trials in training are not compiled
        return None
    draws = _current.get()
    return None if draws is None else Dropout(rate, draws.next_keys(), draws.places.get(id(of)))


def _of_trials(x: Tensor, drawn: Dropout) -> Tensor:
    trials = drawn.keys.shape[0]
    if x.shape[0] != trials:
        raise ValueError(f"x must have a leading axis of {trials} trials, one per seed; got {tuple(x.shape)}.")
    return x


def hash_of(*numbers: int) -> int:
    """Mix whole numbers into one of 64 bits (a Weyl sequence with the finaliser of splitmix64 after each)."""
    state = 0
    for number in numbers:
        state = (state + number + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state
