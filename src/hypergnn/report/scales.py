"""From numbers to places on an axis, and the ticks of the axis."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_STEPS = (1, 2, 5, 10)


@dataclass(frozen=True)
class Scale:
    """An axis from ``low`` to ``high``, linear or logarithmic."""

    low: float
    high: float
    is_logarithmic: bool = False

    @classmethod
    def over(cls, values: Iterable[float | None], *, margin: float = 0.05, is_logarithmic: bool = False) -> Scale:
        """The axis that holds all values, with a margin on both sides; ``None`` is skipped.

        Example:
            >>> Scale.over([81.0, None, 83.0], margin=0.5)
            Scale(low=80.0, high=84.0, is_logarithmic=False)
            >>> Scale.over([3.0]), Scale.over([])
            (Scale(low=2.5, high=3.5, is_logarithmic=False), Scale(low=0.0, high=1.0, is_logarithmic=False))
        """
        known = [value for value in values if value is not None and math.isfinite(value)]
        if not known:
            return cls(0.0, 1.0)
        low, high = min(known), max(known)
        if is_logarithmic:
            room = (high / low) ** margin if high > low else 2.0
            return cls(low / room, high * room, True)
        room = margin * (high - low) if high > low else 0.5
        return cls(low - room, high + room)

    def __call__(self, value: float) -> float:
        """The place of a value: 0 at the low end, 1 at the high end.

        Example:
            >>> Scale(80, 84)(81), Scale(1, 16, is_logarithmic=True)(4)
            (0.25, 0.5)
        """
        if self.is_logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, most: int = 7) -> list[tuple[float, str]]:
        """Round values of a linear axis, at most ``most``, with their labels.

        Example:
            >>> Scale(81.7, 83.6).ticks()
            [(82.0, '82.0'), (82.5, '82.5'), (83.0, '83.0'), (83.5, '83.5')]
            >>> Scale(0, 830).ticks(5)
            [(0.0, '0'), (200.0, '200'), (400.0, '400'), (600.0, '600'), (800.0, '800')]
        """
        power = math.floor(math.log10((self.high - self.low) / most))
        for step in (base * 10.0**power for base in _STEPS):
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            if last - first < most:
                break
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        values = [float(f"{place * step:.{digits}f}") for place in range(first, last + 1)]
        return [(value, f"{value:.{digits}f}" if step < 1e5 else f"{value:.3g}") for value in values]
