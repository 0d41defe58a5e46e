"""Adam for parameters with an axis of trials. It works entry by entry, so no trial depends on the others.

The Adam of torch is several times slower, and its fused version rounds the last entries of a tensor differently, so a
trial would depend on the size of its batch.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from hypergnn.kernels import AdamStep, adam_step


class Adam:
    """Adam with betas 0.9 and 0.999 and an L2 penalty.

    Args:
        parameters: The parameters by name, each ``(trials, ...)``; updated in place.
        rate: The learning rate.
        decay: The factor of the L2 penalty, of all parameters or of each by name.
    """

    def __init__(self, parameters: Mapping[str, Tensor], rate: float, decay: float | Mapping[str, float]) -> None:
        """Start with moments of zero."""
        self.parameters, self.rate, self.decay, self.steps = parameters, rate, decay, 0
        self.means = {name: torch.zeros_like(one) for name, one in parameters.items()}
        self.squares = {name: torch.zeros_like(one) for name, one in parameters.items()}
        self._steps: list[tuple[Tensor, float, AdamStep]] | None = None

    @torch.no_grad()
    def step(self) -> None:
        """Take one step along the gradients, then clear them."""
        self.steps += 1
        for parameter, decay, step in self._prepared():
            if parameter.grad is not None:
                step(parameter.grad, self.rate, decay, self.steps)
                parameter.grad = None

    def _prepared(self) -> list[tuple[Tensor, float, AdamStep]]:
        """Each parameter with its penalty and its step function, created at the first step."""
        if self._steps is None:
            self._steps = [
                (one, self._decay_of(name), adam_step(one, self.means[name], self.squares[name]))
                for name, one in self.parameters.items()
            ]
        return self._steps

    def _decay_of(self, name: str) -> float:
        return self.decay[name] if isinstance(self.decay, Mapping) else self.decay

    def select(self, parameters: Mapping[str, Tensor], chosen: Tensor) -> Adam:
        """The optimiser of some of the trials, with its moments.

        Args:
            parameters: The parameters of these trials.
            chosen: The positions of the trials.
        """
        selected = Adam(parameters, self.rate, self.decay)
        selected.steps = self.steps
        selected.means = {name: one[chosen] for name, one in self.means.items()}
        selected.squares = {name: one[chosen] for name, one in self.squares.items()}
        return selected
