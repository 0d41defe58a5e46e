"""The choice of the backend: compiled loops for float32 and float64 on the CPU, plain torch for everything else.

The environment variable ``HYPERGNN_BACKEND`` overrides it: ``torch`` uses plain torch everywhere, ``numba`` raises an
error if numba is not available, and ``auto`` (the default) uses numba if it is available.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Protocol, cast

import torch
from torch import Tensor

from hypergnn.kernels import portable
from hypergnn.structures.incidence import Incidence

BACKENDS = ("auto", "numba", "torch")

wanted = os.environ.get("HYPERGNN_BACKEND", "auto")


AdamStep = Callable[[Tensor, float, float, int], None]


class Backend(Protocol):
    """The kernels of a backend; :mod:`hypergnn.kernels.portable` documents what each computes."""

    def segment_sum(self, x: Tensor, values: Tensor | None, by: Incidence) -> Tensor:
        """Sum rows per group."""

    def incidence_dot(self, rows: Tensor, columns: Tensor, by: Incidence) -> Tensor:
        """Inner product of both ends of each incidence."""

    def segment_argmax(self, x: Tensor, by: Incidence) -> Tensor:
        """Which member has the largest entry."""

    def segment_softmax(self, logits: Tensor, by: Incidence) -> Tensor:
        """Softmax per group."""

    def segment_total(self, values: Tensor, by: Incidence) -> Tensor:
        """The sum of its group for each incidence."""

    def matmul(self, x: Tensor, projection: Tensor) -> Tensor:
        """Multiply trial by trial."""

    def matmul_backward(self, x: Tensor, grad: Tensor) -> Tensor:
        """Gradient for the projection."""

    def adam(self, parameter: Tensor, mean: Tensor, square: Tensor) -> AdamStep:
        """Create the step function of Adam for a parameter."""

    def seeded_dropout(self, x: Tensor, rate: float, keys: Tensor, places: Tensor | None) -> Tensor:
        """Dropout from counters."""


def backend_for(x: Tensor) -> Backend:
    """The backend for tensors like ``x``."""
    return cast(Backend, compiled.backend if is_compiled(x.device.type, x.dtype) else portable)


def is_compiled(device: str, dtype: torch.dtype) -> bool:
    """Whether the compiled backend is used for tensors of this device and dtype."""
    if device != "cpu" or dtype not in (torch.float32, torch.float64):
        return False
    return _is_available(wanted)


# The effect of torch.compiler.assume_constant_result without importing the compiler, which takes longer than the rest.
is_compiled._dynamo_marked_constant = True  # type: ignore[attr-defined]


class _Compiled:
    """The modules of the compiled backend, imported when first needed."""

    backend: ModuleType
    fused: ModuleType
    partition_loops: ModuleType
    sampling_loops: ModuleType

    def __getattr__(self, name: str) -> ModuleType:
        """Import the module and store it as an attribute."""
        if name not in ("backend", "fused", "partition_loops", "sampling_loops"):
            raise AttributeError(name)
        module = import_module(f"hypergnn.kernels.cpu.{name}")
        setattr(self, name, module)
        return module


compiled = _Compiled()


@contextmanager
def using(backend: str) -> Iterator[None]:
    """Use this backend within the block, in all threads."""
    global wanted
    before, wanted = wanted, backend
    try:
        yield
    finally:
        wanted = before


@cache
def _is_available(wanted: str) -> bool:
    """Whether the compiled backend is wanted and available."""
    if wanted not in BACKENDS:
        raise ValueError(f"HYPERGNN_BACKEND must be one of {', '.join(BACKENDS)}; got {wanted!r}.")
    if wanted == "torch":
        return False
    try:
        return compiled.fused is not None
    except ImportError:
        if wanted == "numba":
            raise
        return False
