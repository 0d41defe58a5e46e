"""Directed hypergraphs at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypergnn._utils.display import html_table, listed
from hypergnn.structures.hypergraph import SHOWN, name_of

if TYPE_CHECKING:
    from hypergnn.structures.directed import DirectedHypergraph


def sizes_of(H: DirectedHypergraph) -> str:
    """Its sizes in one line."""
    counts = {"vertices": H.n_vertices, "hyperedges": H.n_hyperedges}
    counts |= {"tails": H.tails.n_pairs, "heads": H.heads.n_pairs}
    parts = [f"{count} {name}" for name, count in counts.items()]
    if H.device.type != "meta" and bool((H.weight != 1).any()):
        parts.append("weighted")
    if H.centroid is not None:
        parts.append("centred" if H.is_centred else "partly centred")
    if H.device.type != "cpu":
        parts.append(f"device={str(H.device)!r}")
    return ", ".join(parts)


def as_html(H: DirectedHypergraph) -> str:
    """Its sizes, and the first hyperedges with some of their vertices."""
    if H.device.type == "meta":
        return html_table(repr(H), [], [])
    rows = []
    for number in range(min(SHOWN, H.n_hyperedges)):
        parts = []
        for pairs in (H.tails, H.heads):
            start, stop = pairs.back_offsets[number : number + 2].tolist()
            members = pairs.back_members[start : min(stop, start + 11)].tolist()
            parts.append(listed(name_of(H.vertex_names, one) for one in members))
        rows.append([str(name_of(H.hyperedge_names, number)), float(H.weight[number]), *parts])
    more = f", the first {SHOWN} hyperedges" if H.n_hyperedges > SHOWN else ""
    return html_table(f"{H!r}{more}", ["hyperedge", "weight", "tail", "head"], rows)
