"""Unwrap tensors inside ``torch.func``, because structures need concrete values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.autograd import forward_ad


@contextmanager
def untransformed() -> Iterator[None]:
    """Within this block, functions of plain tensors return plain tensors, also inside ``torch.func.grad`` or ``vmap``.

    Example:
        >>> def doubled(x):
        ...     with untransformed():
        ...         two = float(torch.tensor([1.0, 1.0]).sum().numpy())
        ...     return two * x
        >>> torch.func.grad(doubled)(torch.tensor(3.0))
        tensor(2.)
    """
    if not torch._C._are_functorch_transforms_active():
        yield
        return
    from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

    with temporarily_clear_interpreter_stack():
        yield


def plain_values(name: str, x: Tensor) -> Tensor:
    """The values of a tensor, without its gradient and its tangent.

    Raises:
        ValueError: If ``torch.func.vmap`` maps over the tensor, which then has no one value.

    Example:
        >>> torch.func.grad(lambda x: x * plain_values("x", x))(torch.tensor(3.0))
        tensor(3.)
    """
    transforms = torch._C._functorch
    while transforms.is_functorch_wrapped_tensor(x):
        if transforms.is_batchedtensor(x):
            raise ValueError(f"{name} must not be mapped by torch.func.vmap: a structure needs concrete values.")
        x = transforms.get_unwrapped(x)
    if forward_ad._current_level >= 0:
        with untransformed():
            x = forward_ad.unpack_dual(x).primal
    return x.detach()
