"""Senders and receivers: what a transition of a hypergraph runs over.

    T = D_R^-a · R · W B^-1 · Sᵀ · D_S^-b

Hyperedges gather from the vertices of ``S`` and give to those of ``R``. The two share the hyperedges and need share
nothing else: in a hypergraph they are the same object, in a :class:`~hypergnn.structures.block.Block` they are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hypergnn.structures.base import Structure
from hypergnn.structures.incidence import Incidence


class TwoSided(Structure):
    """A structure with senders and receivers; a layer makes a row for each receiver of a row for each sender."""

    centroid: Tensor | None = None
    """Row of the sender around which each hyperedge was built, ``(M,)``, -1 where there is none."""
    is_centred: bool = False
    """Whether every hyperedge has a centroid."""
    rows: Tensor | None = None
    """Which sender each receiver is, ``(n_receivers,)``; ``None`` if they are the same in the same order."""
    shares_pairs: bool = True
    """Whether each receiver is a sender with the same incidences, so that both have the same attention."""

    if TYPE_CHECKING:  # fields of the dataclasses, or properties of theirs

        @property
        def senders(self) -> Incidence:
            """``S``: senders × hyperedges."""

        @property
        def receivers(self) -> Incidence:
            """``R``: receivers × hyperedges."""

        @property
        def weight(self) -> Tensor:
            """Weight of each hyperedge, ``W``, ``(M,)`` float64."""

        @property
        def _sender_degree(self) -> Tensor:
            """``D_S``, ``(n_vertices,)`` float64."""

        @property
        def _receiver_degree(self) -> Tensor:
            """``D_R``, ``(n_receivers,)`` float64."""

        @property
        def _hyperedge_degree(self) -> Tensor:
            """``B``, ``(M,)`` float64."""

    @property
    def n_vertices(self) -> int:
        """Number of senders, isolated ones included: the rows that a layer reads."""
        return self.senders.n_rows

    @property
    def n_receivers(self) -> int:
        """Number of receivers, isolated ones included: the rows that a layer makes."""
        return self.receivers.n_rows

    @property
    def n_hyperedges(self) -> int:
        """Number of hyperedges, empty ones included (``M``)."""
        return self.senders.n_columns

    @property
    def n_incidences(self) -> int:
        """Number of (sender, hyperedge) pairs."""
        return self.senders.n_pairs

    @property
    def n_terms(self) -> int:
        """Terms of each feature in a product with the transition, there and back: what it costs."""
        return self.senders.n_pairs + self.receivers.n_pairs

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.weight.device

    def hyperedge_degree(self) -> Tensor:
        """Number of senders of each hyperedge, ``B`` of the paper, ``(M,)`` float64."""
        return self._hyperedge_degree.clone()
