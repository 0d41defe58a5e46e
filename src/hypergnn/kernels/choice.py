"""Which backend computes: compiled loops for single and double precision on a CPU, plain torch for all else.

The environment variable ``HYPERGNN_BACKEND`` overrides: ``torch`` for plain torch everywhere, ``numba`` for an error
where numba cannot be had, ``auto`` (the default) for numba where it is there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Protocol, cast

import torch
from torch import Tensor

from hypergnn.kernels import torch_backend

BACKENDS = ("auto", "numba", "torch")

wanted = os.environ.get("HYPERGNN_BACKEND", "auto")


class Backend(Protocol):
    """The kernels that each backend has; :mod:`hypergnn.kernels.torch_backend` says what each computes."""

    def segment_sum(
        self, x: Tensor, values: Tensor | None, offsets: Tensor, members: Tensor, position: Tensor | None
    ) -> Tensor:
        """Sum rows per group."""

    def incidence_dot(
        self, rows: Tensor, columns: Tensor, offsets: Tensor, members: Tensor, position: Tensor | None
    ) -> Tensor:
        """Multiply both ends of each incidence."""

    def segment_softmax(self, logits: Tensor, offsets: Tensor, position: Tensor | None) -> Tensor:
        """Softmax per group."""

    def segment_total(self, values: Tensor, offsets: Tensor, position: Tensor | None) -> Tensor:
        """Sum per group, for each incidence."""

    def matmul(self, x: Tensor, projection: Tensor) -> Tensor:
        """Multiply trial by trial."""

    def matmul_backward(self, x: Tensor, grad: Tensor) -> Tensor:
        """Gradient for the projection."""

    def adam_step(
        self, parameter: Tensor, grad: Tensor, mean: Tensor, square: Tensor, rate: float, decay: float, step: int
    ) -> None:
        """Optimise."""

    def seeded_dropout(self, x: Tensor, rate: float, keys: Tensor) -> Tensor:
        """Dropout from counters."""


def backend_for(x: Tensor) -> Backend:
    """The backend for tensors like ``x``."""
    if not is_compiled(x.device.type, x.dtype):
        return cast(Backend, torch_backend)
    from hypergnn.kernels import numba_backend

    return cast(Backend, numba_backend)


def is_compiled(device: str, dtype: torch.dtype) -> bool:
    """Whether the compiled backend computes for such tensors."""
    if device != "cpu" or dtype not in (torch.float32, torch.float64):
        return False
    return _compiled(wanted) is not None


# What torch.compiler.assume_constant_result does, without loading the compiler: it takes longer than all the rest.
is_compiled._dynamo_marked_constant = True  # type: ignore[attr-defined]


@contextmanager
def using(backend: str) -> Iterator[None]:
    """Compute with this backend in the block, in all threads."""
    global wanted
    before, wanted = wanted, backend
    try:
        yield
    finally:
        wanted = before


@cache
def _compiled(wanted: str) -> ModuleType | None:
    """The operators of the compiled backend, imported when first needed; ``None`` if not wanted or not there."""
    if wanted not in BACKENDS:
        raise ValueError(f"HYPERGNN_BACKEND must be one of {', '.join(BACKENDS)}; got {wanted!r}.")
    if wanted == "torch":
        return None
    try:
        from hypergnn.kernels import fused
    except ImportError:
        if wanted == "numba":
            raise
        return None
    return fused
