"""What a conversion cannot hold: an error, unless the caller allows it to be dropped.

Every function that might lose something takes ``ignore``, a tuple of the words below. Writing to a format that cannot
hold every part of a :class:`~hypergnn.Hypergraph` may lose

- ``"names"``: the names of vertices and hyperedges; their numbers are written instead,
- ``"centroids"``: the vertices around which hyperedges were built,
- ``"times"``: when hyperedges are,
- ``"isolated"``: vertices without a hyperedge,
- ``"empty"``: hyperedges without a vertex,
- ``"incidence_weights"``, ``"attrs"``, ``"metadata"`` and ``"asc"`` of an :class:`~hypergnn.io.AttributedHypergraph`.

Reading a format that holds more than a hypergraph may lose the following. With ``attributes=True``, readers return an
:class:`~hypergnn.io.AttributedHypergraph`, which holds all of it.

- ``"direction"``: which vertices are the tail and which the head of a hyperedge; a directed hypergraph is read as a
  :class:`~hypergnn.DirectedHypergraph` otherwise,
- ``"asc"``: that the hyperedges are the faces of an abstract simplicial complex; only the listed ones are read,
- ``"vertex_weights"`` and ``"incidence_weights"``: weights of vertices or of incidences other than 1,
- ``"attrs"``: all other attributes of vertices, hyperedges or incidences,
- ``"metadata"``: attributes of the hypergraph as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.hypergraph import Hypergraph

READING = ("direction", "asc", "vertex_weights", "incidence_weights", "attrs", "metadata")


def refuse(
    where: str, lost: Mapping[str, str], ignore: Collection[str], allowed: Collection[str], *, or_else: str = ""
) -> None:
    """Raise if anything would be ``lost`` that is not in ``ignore``.

    Args:
        where: What cannot hold it; the start of the message.
        lost: For each word, a description of what would be lost; empty if nothing.
        ignore: The words that the caller passed.
        allowed: The words that the caller may pass.
        or_else: What the caller may give instead to lose nothing.
    """
    check_ignore(ignore, allowed)
    refused = {word: what for word, what in lost.items() if what and word not in ignore}
    if refused:
        words = tuple(word for word in allowed if word in refused or word in ignore)
        instead = f", or {or_else}" if or_else else ""
        listed = "; ".join(refused.values())
        raise ValueError(f"{where} cannot hold {listed}. Give ignore={words!r} to drop it{instead}.")


def check_ignore(ignore: Collection[str], allowed: Collection[str]) -> None:
    """Raise unless ``ignore`` is a collection of ``allowed`` words."""
    choices = ", ".join(map(repr, allowed))
    if isinstance(ignore, str):
        raise TypeError(f"ignore must be a tuple of some of {choices}; got the string {ignore!r}. Write ({ignore!r},).")
    for word in ignore:
        if word not in allowed:
            raise ValueError(f"ignore must hold only {choices} here; got {word!r}.")


def check_undirected(H: object, holder: str) -> None:
    """Raise if ``H`` is directed, which ``holder`` cannot be."""
    bare = getattr(H, "hypergraph", H)
    if isinstance(bare, DirectedHypergraph):
        raise TypeError(f"{holder} cannot hold tails and heads. Give H.undirected() to unite them.")


def check_holds(
    H: Hypergraph | DirectedHypergraph, holder: str, cannot_hold: tuple[str, ...], ignore: Collection[str]
) -> None:
    """Raise if ``H`` has something that ``holder`` cannot hold and that is not in ``ignore``."""
    sides = (H.tails, H.heads) if isinstance(H, DirectedHypergraph) else (H.incidence,)
    has: dict[str, tuple[Any, str]] = {
        "names": (H.vertex_names is not None or H.hyperedge_names is not None, "the names of vertices and hyperedges"),
        "centroids": (H.centroid is not None, "the centroids of hyperedges"),
        "times": (H.time is not None, "the times of hyperedges"),
        "isolated": (_are_any_empty(pairs.offsets for pairs in sides), "vertices without a hyperedge"),
        "empty": (_are_any_empty(pairs.back_offsets for pairs in sides), "hyperedges without a vertex"),
    }
    refuse(holder, {word: has[word][1] if has[word][0] else "" for word in cannot_hold}, ignore, cannot_hold)


def _are_any_empty(offsets: Iterable[Tensor]) -> bool:
    """Whether there is a row that no side has a pair of."""
    return bool((torch.stack([one.diff() for one in offsets]).sum(0) == 0).any())
