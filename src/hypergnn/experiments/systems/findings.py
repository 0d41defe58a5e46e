"""What we found out about systems that differ from their published numbers, shown while the difference is there."""

from __future__ import annotations

FINDINGS: dict[str, str] = {
    "Multilayer Perceptron": "Ours has the settings of GCN. Why it differs, we do not know.",
    "Manifold Regularization": (
        "The published strengths are unknown. On Cora and Citeseer, weak smoothing takes validation accuracies to "
        "about the published numbers (results/systems_grid.jsonl)."
    ),
    "Semi-supervised Embedding": (
        "The published settings are unknown. With a weak neighbour loss, validation accuracies lie near the published "
        "numbers; with the strength that validation vertices choose, far above them (results/systems_grid.jsonl)."
    ),
    "Label Propagation": (
        "Class mass normalisation decides on Pubmed and matters little elsewhere (results/systems_grid.jsonl). Whether "
        "the published ones iterate or use other weights of the links, we do not know."
    ),
    "DeepWalk": "The published settings are unknown; ours are those usual for such graphs.",
    "Iterative Classification Algorithm": "The published classifier is unknown; ours is chosen on validation vertices.",
    "Planetoid": (
        "The authors' program keeps the parameters with the best accuracy on the vertices that it is evaluated on; "
        "ours has only the validation vertices to choose them. Its defaults are for Citeseer, and the settings for "
        "Cora and Pubmed are unknown; ours are chosen on validation vertices (results/systems_grid.jsonl)."
    ),
    "Graph Attention Network": (
        "The authors' program predicts with the last epoch that is best in validation loss and accuracy at once, ours "
        "with the lowest validation loss."
    ),
}
"""By the title of the system."""
UNKNOWN = "Why, we do not know."
"""For a system without a finding."""
