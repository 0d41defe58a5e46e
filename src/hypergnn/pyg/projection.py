"""The projection of PyG's layers: a weight of shape ``(out, in)`` without a bias, drawn from Glorot's distribution."""

from __future__ import annotations

from torch import Tensor, nn


class Projection(nn.Linear):
    """``x Θᵀ``, drawn as PyG draws it."""

    def __init__(self, in_features: int, out_features: int) -> None:
        """Create and draw the weight."""
        super().__init__(in_features, out_features, bias=False)

    def reset_parameters(self) -> None:
        """Draw a new weight."""
        glorot(self.weight)


class LazyProjection(nn.LazyLinear):
    """The same; its number of features is taken from the first input."""

    cls_to_become = Projection  # type: ignore[assignment]

    def __init__(self, out_features: int) -> None:
        """Wait for the first input."""
        super().__init__(out_features, bias=False)

    def reset_parameters(self) -> None:
        """Draw a new weight, if its shape is known."""
        if not self.has_uninitialized_params() and self.in_features > 0:
            glorot(self.weight)


def glorot(parameter: Tensor) -> None:
    """Draw a parameter from Glorot's uniform distribution, its last two axes being its fans."""
    bound = (6 / (parameter.shape[-2] + parameter.shape[-1])) ** 0.5
    nn.init.uniform_(parameter, -bound, bound)
