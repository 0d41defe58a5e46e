"""Adam for parameters with an axis of trials: entry by entry, so that no trial depends on its neighbours.

torch's own Adam is either several times slower, or fused into vectors whose last entries it rounds otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from hypergnn.kernels.choice import backend_for


class Adam:
    """Adam with betas 0.9 and 0.999 and an L2 penalty.

    Args:
        parameters: What is trained, by name, each ``(trials, ...)``; changed in place.
        rate: The learning rate.
        decay: The factor of the L2 penalty.
    """

    def __init__(self, parameters: Mapping[str, Tensor], rate: float, decay: float) -> None:
        """Start with no memory."""
        self.parameters, self.rate, self.decay, self.steps = parameters, rate, decay, 0
        self.means = {name: torch.zeros_like(one) for name, one in parameters.items()}
        self.squares = {name: torch.zeros_like(one) for name, one in parameters.items()}

    @torch.no_grad()
    def step(self) -> None:
        """Follow the gradients and forget them."""
        self.steps += 1
        for name, parameter in self.parameters.items():
            if parameter.grad is None:
                continue
            memory = (self.means[name], self.squares[name])
            backend_for(parameter).adam_step(parameter, parameter.grad, *memory, self.rate, self.decay, self.steps)
            parameter.grad = None

    def select(self, parameters: Mapping[str, Tensor], chosen: Tensor) -> Adam:
        """The same for some of the trials."""
        selected = Adam(parameters, self.rate, self.decay)
        selected.steps = self.steps
        selected.means = {name: one[chosen] for name, one in self.means.items()}
        selected.squares = {name: one[chosen] for name, one in self.squares.items()}
        return selected
