"""Scores of a network of two layers, computed from no more than the wanted vertices depend on."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from hypergnn.experiments.systems.learning import TwoLayers
from hypergnn.functional.checks import Features
from hypergnn.functional.projection import select_rows
from hypergnn.kernels.dropout import seeded
from hypergnn.loader.receptive_field import Structure, receptive_field


class _Part(NamedTuple):
    """What some vertices depend on."""

    rows: Tensor
    """The vertices."""
    place: Tensor
    """Where each of them stands in what is computed."""
    x: Features
    """The features that are read."""
    first: tuple[Any, ...]
    """What the first layer propagates over."""
    last: tuple[Any, ...]
    """What the second layer propagates over."""


class Reaching:
    """Scores of a network of two layers, of all vertices or from the receptive field of some.

    Dropout is that of our engine, which is faster than torch's; it starts from a number that torch draws.

    Args:
        network: The network.
        x: The features of all vertices.
        structure: What both layers propagate over; ``None`` if they do not.

    Example:
        >>> from hypergnn import Graph, GraphConv
        >>> graph = Graph.from_links([0, 1, 2], [1, 2, 3], n_vertices=4)
        >>> network = TwoLayers(GraphConv(5, 3), GraphConv(3, 2), dropout=0.5).eval()
        >>> scores = Reaching(network, torch.rand(4, 5), graph)
        >>> torch.testing.assert_close(scores(torch.tensor([3, 0])), scores(None)[[3, 0]])
    """

    def __init__(self, network: TwoLayers, x: Features, structure: Structure | None) -> None:
        """Draw where dropout starts."""
        self.network, self.x, self.structure = network, x, structure
        self._seed, self._step = int(torch.randint(1 << 31, ())), 0
        self._parts: list[_Part] = []

    def __call__(self, rows: Tensor | None) -> Tensor:
        """The scores of some vertices, or of all, ``(rows, n_classes)``, in the mode that the network is in."""
        if rows is None:
            whole = () if self.structure is None else (self.structure,)
            return self._scores(self.x, whole, whole)
        part = next((one for one in self._parts if one.rows is rows), None)
        if part is None:
            part = self._part(rows)
            self._parts.append(part)
        return self._scores(part.x, part.first, part.last)[part.place]

    def _scores(self, x: Features, first: tuple[Any, ...], last: tuple[Any, ...]) -> Tensor:
        scores: Tensor
        if not self.network.training:
            scores = self.network(x, *first, last=last)
            return scores
        self._step += 1
        x = x.unsqueeze(0) if isinstance(x, Tensor) else x  # an axis of trials, here of one
        with seeded([self._seed], self._step):
            scores = self.network(x, *first, last=last)
        return scores.reshape(scores.shape[-2:])

    def _part(self, rows: Tensor) -> _Part:
        made, place = rows.unique(return_inverse=True)
        if self.structure is None:
            return _Part(rows, place, select_rows(self.x, made), (), ())
        n_vertices = self.structure.n_vertices
        first, last = receptive_field({"structure": self.structure}, made.numpy(), 2, n_vertices=n_vertices)
        x = select_rows(self.x, torch.from_numpy(first.read))
        return _Part(rows, place, x, (first.blocks["structure"],), (last.blocks["structure"],))
