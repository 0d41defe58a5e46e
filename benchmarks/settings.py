"""The sizes of a benchmark run: full, or quick to check that everything runs."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Settings:
    """The sizes of a benchmark run."""

    quick: bool = False
    repetitions: int = 7
    seconds: float = 1.0
    """Approximate duration of the work between two readings of the clock."""
    trials: int = 32
    least_epochs: int = 10
    n_large: int = 2_000_000
    """Incidences of the large convolution, with a tenth as many vertices and hyperedges."""
    growth: tuple[int, ...] = (10_000, 100_000, 1_000_000, 10_000_000)
    stream_floats: int = 1 << 27
    """Size of each array in the measurement of the memory bandwidth."""
    patience: float = 30.0
    """Sizes expected to take longer than this are not measured for a peer in the growth case."""
    child_seconds: float = 240.0
    """Seconds after which a measuring process is stopped."""
    threads: int = torch.get_num_threads()

    @classmethod
    def quickly(cls) -> Settings:
        """Small sizes and few repetitions; the numbers mean little."""
        return cls(
            quick=True,
            repetitions=3,
            seconds=0.1,
            trials=8,
            least_epochs=2,
            n_large=200_000,
            growth=(10_000, 100_000, 1_000_000),
            stream_floats=1 << 25,
            child_seconds=40.0,
        )
