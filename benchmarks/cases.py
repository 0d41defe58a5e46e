"""The benchmark cases by name."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks import changing, large, on_cora
from benchmarks.measuring import Say
from benchmarks.settings import Settings

CASES: dict[str, Callable[[Settings, Say], dict[str, Any]]] = {
    "train-conv-together": lambda settings, say: on_cora.train_conv(settings, say, trials=settings.trials),
    "train-conv-alone": lambda settings, say: on_cora.train_conv(settings, say, trials=1),
    "train-attention-together": lambda settings, say: on_cora.train_attention(settings, say, trials=settings.trials),
    "train-attention-alone": lambda settings, say: on_cora.train_attention(settings, say, trials=1),
    "forward-conv": on_cora.forward_conv,
    "large-conv": large.large_conv,
    "growth": large.growth,
    "bandwidth": large.bandwidth,
    "directed": changing.directed,
    "edits": changing.edits,
}
USUAL = tuple(name for name in CASES if name not in ("directed", "edits"))
"""The cases that docs/performance.md is written from; the others are measured if they are named."""


def measure(name: str, settings: Settings, start: float) -> dict[str, Any]:
    """Measure a case, and print its progress with the time since ``start``."""
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
    return CASES[name](settings, _sayer(name, start))


def _sayer(name: str, start: float) -> Say:
    def say(text: str) -> None:
        print(f"{time.monotonic() - start:5.0f} s  {name}: {text}", file=sys.stderr, flush=True)

    return say
