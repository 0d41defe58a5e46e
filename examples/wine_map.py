"""Map 178 wines by their measurements, by measurements propagated over a hypergraph, and by learned features.

Each wine and its nearest neighbours form a hyperedge. Run with ``python examples/wine_map.py``; it takes a few seconds,
prints how well each map separates the growers, and draws the three maps to ``wine_map.png``.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import StandardScaler

import hypergnn as hg


def main(picture: str | Path = "wine_map.png") -> None:
    X, y = load_wine(return_X_y=True)
    few = np.where(np.arange(len(y)) % 12 == 0, y, -1)  # every twelfth label
    learned = hg.HypergraphEmbedding(trained=True, random_state=0).fit_transform(X, few)
    spaces = {
        "measured": StandardScaler().fit_transform(X),
        "propagated": hg.HypergraphEmbedding().fit_transform(X),
        f"learned from {(few >= 0).sum()} labels": learned,
    }
    figure = Figure(figsize=(12, 4), layout="constrained")
    print(f"{'features':24} columns  silhouette of the growers")
    for axes, (name, space) in zip(figure.subplots(1, 3), spaces.items(), strict=True):
        across, up = PCA(2).fit_transform(space).T
        for grower in range(3):
            axes.scatter(across[y == grower], up[y == grower], s=12, label=f"grower {grower}")
        axes.set(title=name, xticks=[], yticks=[])
        print(f"{name:24} {space.shape[1]:7} {silhouette_score(space, y):26.2f}")
    axes.legend()
    figure.savefig(picture, dpi=120)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
