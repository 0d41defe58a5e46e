"""From vertices to whole hypergraphs."""

from __future__ import annotations

from torch import Tensor, nn

from hypergnn import functional
from hypergnn._utils.checks import check_choice
from hypergnn.functional.checks import Features
from hypergnn.functional.readouts import REDUCE, Reduce
from hypergnn.structures.batches import HypergraphBatch


class Readout(nn.Module):
    """One row of features per member of a batch, for networks that classify hypergraphs.

    Args:
        reduce: ``"sum"``, ``"mean"`` or ``"max"`` over the vertices of each member.

    Shapes:
        ``x`` ``(..., N, F)`` → ``(..., n_members, F)``.

    Example:
        >>> import torch, hypergnn as hg
        >>> H = hg.batch([hg.Hypergraph.from_hyperedges([[0, 1, 2]], n_vertices=3)] * 2)
        >>> Readout("max")(torch.rand(6, 4), H).shape
        torch.Size([2, 4])
    """

    def __init__(self, reduce: Reduce = "mean") -> None:
        """Remember how to reduce."""
        super().__init__()
        check_choice("reduce", reduce, REDUCE)
        self.reduce = reduce

    def forward(self, x: Features, H: HypergraphBatch) -> Tensor:
        """Reduce the vertices of each member of ``H`` to one row."""
        return functional.readout(x, H, reduce=self.reduce)

    def extra_repr(self) -> str:
        """Options, as ``print(layer)`` shows them."""
        return f"reduce={self.reduce!r}"
