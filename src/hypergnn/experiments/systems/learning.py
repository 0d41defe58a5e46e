"""The training loop that the networks of the comparison share: Adam, L2 penalties by layer, three ways to stop.

All draws come from torch's global generator, which :func:`seeded` seeds for a block and restores after it, so that
dropout of torch and layers of any library are reproducible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from hypergnn.datasets import Dataset
from hypergnn.experiments.systems.base import Probabilities
from hypergnn.functional.checks import Features
from hypergnn.functional.projection import drop
from hypergnn.kernels.memory import reused_buffers

Groups = Sequence[dict[str, Any]]
"""Groups of parameters with their L2 penalties, as optimisers of torch take them."""
Scores = Callable[[Tensor | None], Tensor]
"""Returns the scores of some vertices, or of all, ``(rows, n_classes)``, in the mode that the network is in."""


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generator for a block, and restore it afterwards.

    Example:
        >>> with seeded(0):
        ...     first = torch.rand(1)
        >>> with seeded(0):
        ...     second = torch.rand(1)
        >>> bool(first == second)
        True
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


class Stopping(Protocol):
    """When training ends, and with which parameters."""

    def is_over(self, loss: float, accuracy: float, network: nn.Module) -> bool:
        """Take note of an epoch on the validation vertices, and say whether it is the last."""

    def restore(self, network: nn.Module) -> None:
        """Give the network the parameters to predict with."""


class Window:
    """Stop when the validation loss exceeds the mean of the last ``size`` ones; predict with the last parameters.

    The loss is the cross-entropy, as Kipf and Welling write. Their program adds the L2 penalty, which grows in the
    first epochs: on Citeseer some trials then stop before they have learned anything, also by their validation
    accuracy.

    Example:
        >>> window = Window(2)
        >>> [window.is_over(loss, 0.0, nn.Identity()) for loss in (3.0, 2.0, 1.0, 0.5, 2.0)]
        [False, False, False, False, True]
    """

    def __init__(self, size: int) -> None:
        """Start without losses."""
        self.size = size
        self.losses: list[float] = []

    def is_over(self, loss: float, accuracy: float, network: nn.Module) -> bool:  # noqa: ARG002
        """Compare the loss with the mean of the last ones, once there are more than ``size + 1`` losses."""
        before = self.losses[-self.size :]
        self.losses.append(loss)
        return len(self.losses) > self.size + 1 and loss > sum(before) / self.size

    def restore(self, network: nn.Module) -> None:
        """Leave the parameters as they are."""


class Patience:
    """Stop after ``epochs`` epochs with neither a lower loss nor a higher accuracy on the validation vertices.

    Predict with the parameters of the lowest loss or, with ``by_both``, of the last epoch that was best in both.
    """

    def __init__(self, epochs: int, *, by_both: bool = False) -> None:
        """Start with nothing seen."""
        self.epochs, self.waited, self.by_both = epochs, 0, by_both
        self.loss, self.accuracy = math.inf, -math.inf
        self.best: dict[str, Tensor] | None = None

    def is_over(self, loss: float, accuracy: float, network: nn.Module) -> bool:
        """Store the parameters if they are the best so far."""
        if loss > self.loss and accuracy < self.accuracy:
            self.waited += 1
            return self.waited >= self.epochs
        if loss <= self.loss and (accuracy >= self.accuracy or not self.by_both):
            self.best = _copied(network)
        self.loss, self.accuracy, self.waited = min(loss, self.loss), max(accuracy, self.accuracy), 0
        return False

    def restore(self, network: nn.Module) -> None:
        """Load the stored parameters."""
        if self.best is not None:
            network.load_state_dict(self.best)


class BestAccuracy:
    """Never stop; predict with the parameters of the first epoch with the highest accuracy on the validation vertices.

    Example:
        >>> best, network = BestAccuracy(), nn.Linear(1, 1)
        >>> [best.is_over(1.0, accuracy, network) for accuracy in (0.5, 0.7, 0.6)], best.accuracy
        ([False, False, False], 0.7)
    """

    def __init__(self) -> None:
        """Start with nothing seen."""
        self.accuracy, self.best = -math.inf, dict[str, Tensor]()

    def is_over(self, loss: float, accuracy: float, network: nn.Module) -> bool:  # noqa: ARG002
        """Store the parameters if the accuracy is the best so far."""
        if accuracy > self.accuracy:
            self.accuracy, self.best = accuracy, _copied(network)
        return False

    def restore(self, network: nn.Module) -> None:
        """Load the stored parameters."""
        if self.best:
            network.load_state_dict(self.best)


def _copied(network: nn.Module) -> dict[str, Tensor]:
    return {name: one.detach().clone() for name, one in network.state_dict().items()}


class TwoLayers(nn.Module):
    """Dropout, a layer, an activation, dropout and a second layer."""

    def __init__(
        self, first: nn.Module, second: nn.Module, dropout: float, activation: Callable[[Tensor], Tensor] = torch.relu
    ) -> None:
        """Put the layers together."""
        super().__init__()
        self.first, self.second, self.dropout, self.activation = first, second, dropout, activation

    def forward(self, x: Features, *structure: Any, last: Sequence[Any] | None = None) -> Tensor:
        """Scores of each vertex, ``(N, n_classes)``; with ``last``, the second layer has a structure of its own."""
        return self.scored(self.hidden(x, *structure), *(structure if last is None else last))

    def hidden(self, x: Features, *structure: Any) -> Tensor:
        """The hidden features of each vertex, ``(N, hidden)``."""
        return self.activation(self.first(self._dropped(x), *structure))

    def scored(self, hidden: Tensor, *structure: Any) -> Tensor:
        """Scores from hidden features."""
        scores: Tensor = self.second(self._dropped(hidden), *structure)
        return scores

    def decayed(self, rate: float) -> list[dict[str, Any]]:
        """Adam's groups of parameters with an L2 penalty on those of the first layer only."""
        return [
            {"params": list(self.first.parameters()), "weight_decay": rate},
            {"params": list(self.second.parameters()), "weight_decay": 0.0},
        ]

    def _dropped(self, x: Features) -> Features:
        return drop(x, self.dropout) if self.training else x


def of_all(scores: Callable[[], Tensor]) -> Scores:
    """The scores of some vertices as rows of those of all."""
    return lambda rows: scores() if rows is None else scores()[rows]


def learn(
    network: nn.Module,
    scores: Scores,
    data: Dataset,
    *,
    groups: Groups,
    learning_rate: float,
    epochs: int,
    stopping: Stopping,
    losses: Callable[[], Iterable[Tensor]] | None = None,
    optimizer: type[torch.optim.Adam | torch.optim.SGD] = torch.optim.Adam,
) -> Probabilities:
    """Train a network and return its probabilities.

    Args:
        network: The network, with parameters as drawn.
        scores: Returns its scores of some vertices.
        data: The dataset; its test labels are not read.
        groups: Groups of parameters, with their L2 penalties.
        learning_rate: The learning rate.
        epochs: The maximum number of epochs.
        stopping: Decides after each epoch from the validation vertices, if there are any.
        losses: Returns the losses of an epoch, with a step for each; by default the cross-entropy of the training
            vertices.
        optimizer: Adam or plain gradient descent.
    """
    y, train, val = (torch.from_numpy(one) for one in (data.y, data.train, data.val))
    descent = optimizer(list(groups), lr=learning_rate)
    with reused_buffers():
        for _ in range(epochs):
            network.train()
            for loss in [nn.functional.cross_entropy(scores(train), y[train])] if losses is None else losses():
                descent.zero_grad()
                loss.backward()
                descent.step()
            if val.numel():
                network.eval()
                with torch.no_grad():
                    seen = scores(val)
                accuracy = (seen.argmax(-1) == y[val]).float().mean()
                if stopping.is_over(float(nn.functional.cross_entropy(seen, y[val])), float(accuracy), network):
                    break
        stopping.restore(network)
        network.eval()
        with torch.no_grad():
            return as_probabilities(scores(None))


def as_probabilities(scores: Tensor) -> Probabilities:
    """The softmax of scores, float64."""
    probabilities: Probabilities = scores.double().softmax(-1).numpy()
    return probabilities
