"""The forms in which candidates see rows: as they are, propagated over the hypergraph, beside their memberships."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from hypergnn.estimators.later import Later
from hypergnn.estimators.selection.counts import Counts
from hypergnn.estimators.selection.diffusion import rarity, reweighted
from hypergnn.estimators.selection.tails import Tails
from hypergnn.functional import hypergraph_conv
from hypergnn.structures.hypergraph import Hypergraph

Array = npt.NDArray[Any]

WIDE = 128
"""Wider sparse rows are reduced to this many numbers where a candidate needs dense ones."""
_DENSE = 1000  # wider dense rows are reduced too
_STEPS = 2


class Views:
    """The rows of training in all forms; each is made when it is first asked for.

    Args:
        own: What each row is without the hypergraph, ``(N, F)``, dense and scaled, or CSR.
        hypergraph: The hypergraph of the rows.
        has_members: Whether memberships say something that ``own`` does not.
        seed: Seed of the reduction of wide rows.
        draws_in: Whether to draw in the long tails of dense columns; networks see the rows as they are.
        counts: Whether it says something in how many hyperedges a row is, and how large these are: if they are given.
    """

    def __init__(
        self,
        own: Any,
        hypergraph: Hypergraph,
        *,
        has_members: bool,
        seed: int,
        draws_in: bool = False,
        counts: bool = False,
    ) -> None:
        """Store what the forms are made from."""
        self.hypergraph = hypergraph
        self.has_members = has_members
        size = hypergraph.hyperedge_degree().numpy()
        self.has_structure = bool((size > 1).any())
        self.has_rarity = bool(size.size and size.max() > 2 * max(1.0, float(np.median(size))))
        self._rarity = rarity(hypergraph)
        self.weighted = reweighted(hypergraph, self._rarity) if self.has_rarity else hypergraph
        self._seed = seed
        self._counts = Counts(hypergraph) if counts else None
        self.given = own
        self._tails = Tails(own) if draws_in and not sparse.issparse(own) else None
        self._reductions: dict[str, Any] = {}
        self._scales: dict[str, list[float]] = {}
        self._made: dict[str, Any] = {}

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""
        return bool(sparse.issparse(self.given))

    @property
    def is_counts(self) -> bool:
        """Whether the rows are sparse and nowhere negative."""
        return self.is_sparse and bool((self.given.data >= 0).all())

    @property
    def has_further(self) -> bool:
        """Whether ``"members"`` has more columns than ``"own"``: memberships, or their counts."""
        return self.has_members or self._counts is not None

    def get(self, name: str) -> Any:
        """The rows in one of the forms ``"own"``, ``"dense"``, ``"spread"`` and ``"members"``."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def forget(self) -> None:
        """Drop the forms that can be made again."""
        self._made = {name: one for name, one in self._made.items() if name == "dense"}

    def of_new(self, own: Any, later: Later) -> NewViews:
        """New rows in the same forms, from what they are and the hyperedges that they are in."""
        return NewViews(self, own, later)

    def drawn_in(self, own: Any) -> Any:
        """Rows whose long tails are drawn in."""
        return own if self._tails is None else self._tails.drawn_in(own)

    def _make(self, name: str) -> Any:
        if name == "own":
            return self.drawn_in(self.given)
        if name == "dense":
            return self.dense(self.get("own"))
        members = self.hypergraph.to_scipy()
        if name == "members":
            return self.beside(self.get("own"), members, None)
        with torch.no_grad():
            x = torch.tensor(self.get("dense"), dtype=torch.float32)
            steps = [x]
            for _ in range(_STEPS):
                steps.append(hypergraph_conv(steps[-1], self.weighted, normalization="row"))
        return self.together([one.double().numpy() for one in steps], members, None)

    def dense(self, own: Any) -> Array:
        """Rows as dense numbers, wide ones reduced."""
        if not sparse.issparse(own) and own.shape[1] <= _DENSE:
            return np.asarray(own, dtype=np.float64)
        if own.shape[1] <= WIDE:
            return np.asarray(own.toarray(), dtype=np.float64)
        return self._reduced("own", own, WIDE)

    def beside(self, own: Any, members: sparse.csr_array, brought: Hypergraph | None) -> sparse.csr_array:
        """Rows beside their memberships, rare ones with more weight, and the counts of these, as CSR."""
        blocks = [sparse.csr_array(own)]
        if self.has_members:
            blocks.append(self._scaled_members(members))
        if self._counts is not None:
            blocks.append(sparse.csr_array(self._counts.of(members, brought)))
        return sparse.csr_array(sparse.hstack(blocks, format="csr"))

    def together(self, steps: list[Array], members: sparse.csr_array, brought: Hypergraph | None) -> Array:
        """Rows, what they receive in one step and in two, their reduced memberships and counts, as dense numbers."""
        blocks = list(steps)
        if self.has_members:
            scaled = self._scaled_members(members)
            blocks.append(scaled.toarray() if scaled.shape[1] <= 32 else self._reduced("members", scaled, 64))
        if "together" not in self._scales:
            self._scales["together"] = [float(np.sqrt(np.mean(np.var(block, axis=0)))) or 1.0 for block in blocks]
        scaled_blocks = [block / scale for block, scale in zip(blocks, self._scales["together"], strict=True)]
        if self._counts is not None:
            scaled_blocks.append(self._counts.of(members, brought))
        return np.hstack(scaled_blocks)

    def _scaled_members(self, members: sparse.csr_array) -> sparse.csr_array:
        return sparse.csr_array(normalize(sparse.csr_array(members * self._rarity)))

    def _reduced(self, name: str, matrix: Any, width: int) -> Array:
        if name not in self._reductions:
            width = min(width, *(size - 1 for size in matrix.shape))
            reduction: Callable[..., Any] = TruncatedSVD(max(1, width), random_state=self._seed)
            self._reductions[name] = reduction.fit(matrix)  # type: ignore[attr-defined]
        return np.asarray(self._reductions[name].transform(matrix), dtype=np.float64)


class NewViews:
    """New rows in the forms of the rows of training."""

    def __init__(self, views: Views, own: Any, later: Later) -> None:
        """Store what the forms are made from."""
        self._views, self._given, self.later = views, own, later
        self._own = views.drawn_in(own)

    def structure(self, *, rare: bool) -> Hypergraph:
        """The hypergraph of the rows of training, rare hyperedges with more weight if asked for."""
        return self._views.weighted if rare else self._views.hypergraph

    def with_training(self) -> Any:
        """What the rows of training are, followed by what the new rows are."""
        stack = sparse.vstack if self._views.is_sparse else np.vstack
        return stack([self._views.given, self._given])

    def get(self, name: str) -> Any:
        """As :meth:`Views.get`."""
        views = self._views
        if name == "own":
            return self._own
        if name == "dense":
            return views.dense(self._own)
        if name == "members":
            return views.beside(self._own, self.later.memberships, self.later.brought)
        new = views.dense(self._own)
        with torch.no_grad():
            x = torch.tensor(np.vstack([views.get("dense"), new]), dtype=torch.float32)
            steps = [new]
            for block in self.later.blocks(views.weighted, _STEPS):
                x = hypergraph_conv(x, block, normalization="row")
                steps.append(x[-new.shape[0] :].double().numpy())
        return views.together(steps, self.later.memberships, self.later.brought)
