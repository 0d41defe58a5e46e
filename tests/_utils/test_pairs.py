"""Pairs in both orders are read in stretches, and every wrong id is noticed in each of them."""

import numpy as np
import pytest

from hypergnn import Hypergraph
from hypergnn.structures import Incidence


@pytest.mark.parametrize("n_groups", [3, 40])
def test_pairs_are_read_in_stretches(n_groups, monkeypatch):
    monkeypatch.setattr("hypergnn._utils.pairs.STRETCH", 7)
    rng = np.random.default_rng(0)
    H = Hypergraph.from_hyperedges([np.unique(rng.integers(0, 30, 9)) for _ in range(n_groups)], n_vertices=30)
    fresh = Incidence(*[None if one is None else one.clone() for one in H.incidence])
    fresh.check()
    for place in range(0, H.n_incidences, 5):
        members = H.incidence.members.clone()
        members[place] = (members[place] + 1) % n_groups
        with pytest.raises(ValueError, match="must"):
            fresh._replace(members=members).check()
