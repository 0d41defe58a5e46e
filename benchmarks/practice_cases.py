"""The cases of ``benchmarks.practice``, and which of them were put aside before anything was tuned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from benchmarks import practice_data as data

Share = int | float
"""Labels per class if it is whole, else the share of rows with a label."""


@dataclass(frozen=True)
class Case:
    """One kind of data, and how many of its labels are known."""

    name: str
    kind: str
    load: Callable[[], data.Data]
    shares: tuple[Share, ...]


CASES = (
    Case("digits", "neighbours", data.digits, (2, 10)),
    Case("breast cancer", "neighbours", data.breast_cancer, (5, 0.2)),
    Case("pima", "neighbours", data.pima, (0.5,)),
    Case("midwest", "neighbours", data.midwest, (0.5,)),
    Case("fishing", "neighbours", data.fishing, (0.1, 0.5)),
    Case("diamonds", "neighbours", data.diamonds, (0.05,)),
    Case("computers", "neighbours", data.computers, (0.02, 0.2)),
    Case("wine", "clusters", data.wine, (3,)),
    Case("biopsy", "clusters", data.biopsy, (0.05,)),
    Case("males", "clusters", data.males, (0.2,)),
    Case("chile", "attributes", data.chile, (0.05, 0.5)),
    Case("free light chains", "attributes", data.free_light_chains, (0.05,)),
    Case("mexico", "attributes", data.mexico, (0.2,)),
    Case("personality", "attributes", data.personality, (0.1, 0.5)),
    Case("std reinfection", "attributes", data.std_reinfection, (0.5,)),
    Case("votes 1992", "attributes", data.votes_1992, (0.1,)),
    Case("docstrings", "words", data.docstrings, (2, 10)),
    Case("libraries", "words", data.classes_of_libraries, (0.05,)),
    Case("movie titles", "words", data.movie_titles, (0.1,)),
    Case("newsgroups", "words", data.newsgroups, (0.01, 0.1)),
    Case("lecturers", "memberships", data.lecturers, (0.1, 0.5)),
    Case("players", "memberships", data.players, (0.1,)),
    Case("planes", "memberships", data.planes, (0.05,)),
    Case("aggression", "memberships", data.aggression, (0.1,)),
    Case("cora", "given", data.cora, (5,)),
    Case("citeseer", "given", data.citeseer, (20,)),
    Case("pubmed", "given", data.pubmed, (20,)),
    Case("catsup", "given", data.catsup, (0.2,)),
    Case("crackers", "given", data.crackers, (0.05, 0.5)),
    Case("yogurt", "given", data.yogurt, (0.2,)),
)


def put_aside() -> set[str]:
    """The names of every second case of each kind, in the order of a hash of the names: nobody chose them."""
    kinds = dict.fromkeys(case.kind for case in CASES)
    aside: set[str] = set()
    for kind in kinds:
        names = [case.name for case in CASES if case.kind == kind]
        aside |= set(sorted(names, key=lambda name: sha256(name.encode()).hexdigest())[1::2])
    return aside


def known_labels(y: Any, share: Share, seed: int) -> Any:
    """Which rows have a known label: at least two of each class, drawn at random.

    Example:
        >>> known_labels(np.array([0, 0, 0, 1, 1, 1]), 2, seed=0).tolist()
        [False, True, True, True, False, True]
    """
    rng = np.random.default_rng(seed)
    known = np.zeros(len(y), dtype=bool)
    for one in np.unique(y[has_class(y)]):
        rows = np.flatnonzero(y == one)
        wanted = share if isinstance(share, int) else max(2, round(share * rows.size))
        known[rng.choice(rows, min(wanted, rows.size - 1), replace=False)] = True
    return known


def has_class(y: Any) -> Any:
    """Which rows have a class at all."""
    return y >= 0 if y.dtype.kind in "if" else np.ones(len(y), dtype=bool)
