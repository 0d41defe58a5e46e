"""Numbers and settings as text."""

from __future__ import annotations

from collections.abc import Sequence

from hypergnn.experiments.paper import METHODS, NAMES
from hypergnn.experiments.statistics import Summary
from hypergnn.models import Config, paper_config

MODELS = {**METHODS, "mlp": "MLP"}
"""The paper's names of the networks, and of the MLP, which it does not have."""


def network_name(dataset: str, config: Config) -> str:
    """The name of a network, its dataset, and the settings that differ from the paper's.

    Example:
        >>> network_name("cora", Config("gat", skip=True, heads=1, dropout=0))
        'GAT* on Cora, with skip connection, 1 head, dropout 0'
    """
    usual = paper_config(dataset, config.model)
    changed = {
        "skip": "with skip connection",
        "depth": counted(config.depth, "layer"),
        "heads": counted(config.heads, "head"),
        "hidden": f"width {config.hidden}",
        "dropout": f"dropout {config.dropout:g}",
        "attention_dropout": f"attention dropout {config.attention_dropout:g}",
        "feature_scaling": "unscaled features",
        "learning_rate": f"learning rate {config.learning_rate:g}",
        "weight_decay": f"λ = {config.weight_decay:g}",
        "patience": f"patience {config.patience}",
        "weights": f"{config.weights} weights",
        "hyperedge_features": f"hyperedge features by {config.hyperedge_features}",
        "pool": f"{config.pool} pool",
        "rebuild_every": f"rebuilt every {config.rebuild_every} epochs",
        "direction": "undirected" if config.direction == "undirected" else f"direction {config.direction}",
    }
    parts = [words for name, words in changed.items() if getattr(config, name) != getattr(usual, name)]
    return ", ".join([f"{MODELS.get(config.model, config.model)} on {NAMES.get(dataset, dataset)}", *parts])


def mean_and_spread(summary: Summary) -> str:
    """Mean and standard deviation.

    Example:
        >>> mean_and_spread(Summary(2, 81.0, 1.414, (68.3, 93.7)))
        '81.00 ± 1.41'
    """
    return f"{summary.mean:.2f}" if summary.sd is None else f"{summary.mean:.2f} ± {summary.sd:.2f}"


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "trial"), counted(20, "trial")
        ('1 trial', '20 trials')
    """
    return f"{number} {noun}" + "s" * (number != 1)


def span(numbers: Sequence[int], noun: str) -> str:
    """A count, or the range of several counts.

    Example:
        >>> span([100, 10, 100], "trial"), span([5, 5], "trial")
        ('10 to 100 trials', '5 trials')
    """
    low, high = min(numbers), max(numbers)
    return counted(low, noun) if low == high else f"{low} to {high} {noun}s"


def signed(difference: float) -> str:
    """A difference with its sign.

    Example:
        >>> signed(0.421), signed(-0.3)
        ('+0.42', '−0.30')
    """
    return f"{difference:+.2f}".replace("-", "−")
