"""What we found out about systems that differ from their published numbers, shown while the difference is there."""

from __future__ import annotations

FINDINGS: dict[str, str] = {
    "Multilayer Perceptron": (
        "Ours has the settings of GCN. The published number comes from a program that stops by the loss with the L2 "
        "penalty, which on Citeseer ends some trials before they have learned anything; ours stops by the "
        "cross-entropy. How much of the difference this explains, we have not measured."
    ),
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
    "DeepWalk": (
        "The published settings are unknown. The penalty of the classifier does not explain the difference: it changes "
        "validation accuracies by one to three points (results/systems_grid.jsonl). Length and number of walks, "
        "dimensions and window were not varied."
    ),
    "Iterative Classification Algorithm": (
        "On Pubmed, shares of the neighbours' labels reach validation accuracies of 77 to 79, counts of 51 to 56; "
        "elsewhere counts are better (results/systems_grid.jsonl). Which ones the published number has, we do not know."
    ),
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
