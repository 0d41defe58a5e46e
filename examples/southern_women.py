"""Find two circles of friends from one known member of each: eighteen women and the events they attended.

An event is a hyperedge over all women who came, so the data already is a hypergraph. It is that of Davis, Gardner and
Gardner (1941) and comes with NetworkX. Run with ``python examples/southern_women.py``; it takes a few seconds, prints
a table and draws ``southern_women.png``.
"""

import sys
from pathlib import Path

import networkx as nx
import numpy as np

import hypergnn as hg

KNOWN = {"Evelyn Jefferson": "first", "Nora Fayette": "second"}


def events() -> hg.Hypergraph:
    """Return the hypergraph: women are vertices, events are hyperedges."""
    graph = nx.davis_southern_women_graph()
    pairs = [(woman, event) for event in graph.graph["bottom"] for woman in graph[event]]
    table = {"woman": [woman for woman, _ in pairs], "event": [event for _, event in pairs]}
    return hg.construct.from_table(table, vertex="woman", hyperedge="event", vertices=graph.graph["top"])


def draw_circle(H: hg.Hypergraph, circle: np.ndarray, picture: str | Path) -> None:
    """Draw all events, with those highlighted that only women of the circle attended."""
    n_others = H.to_scipy().T @ ~circle  # women of each event who are not in the circle
    own = H.hyperedge_names[n_others == 0].tolist()
    figure = hg.draw(H, hyperedges=own)
    figure.axes[0].set_title(f"events of the first circle only: {', '.join(own)}")
    figure.savefig(picture, dpi=120, bbox_inches="tight")


def main(picture: str | Path = "southern_women.png") -> None:
    H = events()
    women, attended = H.vertex_names.tolist(), H.to_scipy()  # who attended what: the only features
    labels = np.array([KNOWN.get(woman) for woman in women], dtype=object)
    model = hg.HypergraphClassifier("hyper-conv", weight_decay=0.0, random_state=0).fit(attended, labels, hypergraph=H)
    print(f"{H}\n\n{'woman':18} circle  probability  events")
    rows = zip(women, model.transduction_, model.label_distributions_, attended.sum(1), strict=True)
    for woman, circle, probability, n_events in sorted(rows, key=lambda row: -row[2][0]):
        label = "given" if woman in KNOWN else ""
        print(f"{woman:18} {circle:6} {probability.max():12.2f} {n_events:7.0f}  {label}".rstrip())
    draw_circle(H, model.transduction_ == "first", picture)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
