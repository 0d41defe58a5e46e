"""How fitted estimators grow: rows and hyperedges that came later become part of their hypergraph."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.checks import Names
from hypergnn._utils.times import joined_times
from hypergnn.estimators.known_rows import KnownRows
from hypergnn.estimators.later import Later
from hypergnn.estimators.placing import PlacesRows
from hypergnn.estimators.row_names import placed
from hypergnn.estimators.rows import MembershipRows, Rows, with_names
from hypergnn.structures.hypergraph import Hypergraph

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Growth(NamedTuple):
    """An estimator's rows, grown; nothing of the estimator has changed yet."""

    relation: Rows
    features: Any
    place: Ids
    """The number of each given row among all rows."""
    n_rows: int
    """The number of all rows."""
    n_old: int
    """The number of rows before."""
    names: Names | None
    """The names of all rows."""

    def extended(self, old: npt.NDArray[Any], new: npt.NDArray[Any], replaces: npt.NDArray[np.bool_]) -> Any:
        """One entry per row: the old entries, some of them replaced, then those of the new rows."""
        longer = np.concatenate([old, np.repeat(new[:1], self.n_rows - len(old), axis=0)])
        chosen = replaces | (self.place >= len(old))
        longer[self.place[chosen]] = new[chosen]
        return longer

    def weights(self, old: Floats | None, new: Floats | None) -> Floats | None:
        """The weight of each row; ``None`` if all count equally."""
        if old is None and new is None:
            return None
        before = np.ones(self.n_rows) if old is None else old
        chosen: Floats = self.extended(
            before[: self.n_old],
            np.ones(self.place.size) if new is None else new,
            np.full(self.place.size, new is not None),
        )
        return chosen


class GrowsRows(PlacesRows):
    """An estimator that can take further rows and hyperedges."""

    n_neighbors: int
    construct_options: Any

    def _growth(self, X: Any, hypergraph: Hypergraph | None, memberships: Any) -> Growth:
        """Read rows that came later and make them vertices of the hypergraph.

        A row with the name of a known one is that row: its features are replaced, and it joins further hyperedges.
        """
        features, later = self._later(X, hypergraph, memberships)
        old = self.hypergraph_
        must = getattr(self, "_has_given_names", self._is_given)  # earlier versions had no others
        place, names = placed(self._names(), later.names, old.n_vertices, later.n_rows, must=must)
        n_rows = max(old.n_vertices, int(place.max(initial=-1)) + 1)
        H = grown(old, later, place, n_rows, names)
        order = np.arange(n_rows)
        order[place] = old.n_vertices + np.arange(later.n_rows)  # the rows of both tables, the later one last
        is_alone = isinstance(self._relation, MembershipRows)
        by_rule = hypergraph is None and memberships is None
        relation = self._relation.grown(
            None if is_alone else self._read_later(X), order, H, self._searched(n_rows) if by_rule else None
        )
        relation = with_names(relation, names)
        if is_alone:
            return Growth(relation, relation.features(None), place, n_rows, old.n_vertices, names)
        stack = sparse.vstack if sparse.issparse(features) else np.vstack
        both = stack([self._features, features])
        rows = sparse.csr_array(both)[order] if sparse.issparse(both) else both[order]
        return Growth(relation, rows, place, n_rows, old.n_vertices, names)

    def _searched(self, n_rows: int) -> dict[str, Any]:
        """How neighbours are found among all rows."""
        return {"k": min(self.n_neighbors, n_rows - 1), **dict(self.construct_options or {})}

    def _take(self, growth: Growth) -> None:
        """Make a growth part of the estimator."""
        self._relation, self._features = growth.relation, growth.features
        self.hypergraph_ = growth.relation.hypergraph
        self._known = KnownRows(self._features)
        self._row_names = growth.names


def is_one_network(estimator: Any) -> bool:
    """Whether an estimator trains a single network, which can go on; raise ``AttributeError`` otherwise."""
    if estimator.model == "auto":
        raise AttributeError(
            "partial_fit continues a single network; 'auto' mixes several models. Choose one, e.g. model='hyper-conv'."
        )
    return True


def check_can_continue(estimator: Any, model: str) -> None:
    """Raise unless an estimator knows all that it needs to go on."""
    if not hasattr(estimator, "_sample_weight"):
        raise ValueError(
            "the estimator was saved by an earlier version, without its labels, and cannot be continued. Fit it again."
        )
    if estimator.network_.config.model != model:
        raise ValueError(
            f"model must stay {estimator.network_.config.model!r}, which was fitted; got {model!r}. Call fit instead."
        )


def grown(H: Hypergraph, later: Later, place: Ids, n_rows: int, names: Names | None) -> Hypergraph:
    """Return the hypergraph with the rows that came later as members of known hyperedges and of new ones.

    Args:
        H: The hypergraph.
        later: The memberships of the later rows.
        place: The vertex that each later row is.
        n_rows: The number of all vertices.
        names: The names of all vertices, if they have names.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2)
        >>> brought = Hypergraph.from_hyperedges([[0, 1]], n_vertices=2)
        >>> later = Later(sparse.csr_array(np.array([[1, 0], [0, 0]])), brought)
        >>> grown(H, later, np.array([2, 0]), 3, None).to_hyperedges()
        [[0, 1, 2], [1], [0, 2]]
    """
    new = later.brought
    joined = later.memberships.tocoo()
    parts = [(H._vertex_ids.cpu().numpy(), H._hyperedge_ids.cpu().numpy()), (place[joined.row], joined.col)]
    n_hyperedges, weight = H.n_hyperedges, H.weight.cpu().numpy()
    centroid = np.full(n_hyperedges, -1) if H.centroid is None else H.centroid.cpu().numpy().astype(np.int64)
    if new is not None:
        parts.append((place[new._vertex_ids.cpu().numpy()], n_hyperedges + new._hyperedge_ids.cpu().numpy()))
        n_hyperedges += new.n_hyperedges
        weight = np.concatenate([weight, new.weight.cpu().numpy()])
        own = np.full(new.n_hyperedges, -1) if new.centroid is None else new.centroid.cpu().numpy()
        centroid = np.concatenate([centroid, np.where(own >= 0, place[own], -1)])
    vertex, hyperedge = (np.concatenate(ids) for ids in zip(*parts, strict=True))
    ones = np.ones(vertex.size, dtype=bool)
    pairs = sparse.csr_array((ones, (vertex, hyperedge)), shape=(n_rows, n_hyperedges)).tocoo()  # each pair once
    return Hypergraph.from_incidence(
        pairs.row,
        pairs.col,
        n_rows,
        n_hyperedges,
        weight=weight,
        centroid=centroid,
        vertex_names=names,
        hyperedge_names=_hyperedge_names(H, new),
        time=H.time if new is None else joined_times([H.time, new.time], [H.n_hyperedges, new.n_hyperedges]),
    )


def _hyperedge_names(H: Hypergraph, new: Hypergraph | None) -> Any:
    """The names of known hyperedges and of new ones; numbers are names where the others have some."""
    if new is None or (H.hyperedge_names is None and new.hyperedge_names is None):
        return H.hyperedge_names if new is None else None
    known = range(H.n_hyperedges) if H.hyperedge_names is None else H.hyperedge_names.tolist()
    numbers = range(H.n_hyperedges, H.n_hyperedges + new.n_hyperedges)
    own = numbers if new.hyperedge_names is None else new.hyperedge_names.tolist()
    return np.fromiter([*known, *own], dtype=object, count=len(known) + len(own))
