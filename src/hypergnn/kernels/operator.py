"""A torch operator that costs little to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op
from torch.nn import Parameter


class Operator:
    """One step for autograd, ``torch.compile`` and ``torch.export``.

    Whatever traces or transforms the program sees a custom operator of torch's; plain tensors take a shortcut with the
    same rules, because calling a custom operator costs more than the work on a small hypergraph.

    Args:
        name: Name among torch's operators.
        forward: What it computes; annotated, because torch reads its signature.
        fake: Shapes of the outcome.
        save: ``setup_context`` of :class:`torch.autograd.Function`.
        backward: The gradient.
    """

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        fake: Callable[..., Any],
        save: Callable[[Any, tuple[Any, ...], Any], None] | None = None,
        backward: Callable[..., Any] | None = None,
    ) -> None:
        """Register the operator."""
        self.forward = forward
        self.traced = custom_op(f"hypergnn::{name}", forward, mutates_args=())
        self.traced.register_fake(fake)
        self.apply: Callable[..., Any] | None = None
        if save is not None and backward is not None:
            self.traced.register_autograd(backward, setup_context=save)
            self.apply = _shortcut(name, forward, save, backward)

    def __call__(self, *arguments: Any) -> Any:
        """Compute; the first argument is a tensor."""
        if not is_plain(arguments[0]):
            return self.traced(*arguments)
        if self.apply is None or not torch.is_grad_enabled():
            return self.forward(*arguments)
        return self.apply(*arguments)


def is_plain(x: Tensor) -> bool:
    """Whether nothing watches: no tracing, no transformation, no tensor that only pretends to be one."""
    if torch.compiler.is_compiling():
        return False
    return type(x) in (Tensor, Parameter) and not torch._C._are_functorch_transforms_active()


def _shortcut(name: str, forward: Callable[..., Any], save: Callable[..., None], backward: Any) -> Callable[..., Any]:
    """The same rules for autograd alone."""

    def run(ctx: Any, *inputs: Any) -> Any:
        output = forward(*inputs)
        save(ctx, inputs, output)
        return output

    methods = {"forward": staticmethod(run), "backward": staticmethod(backward)}
    function = type(name, (torch.autograd.Function,), methods)
    return function.apply  # type: ignore[attr-defined,no-any-return]
