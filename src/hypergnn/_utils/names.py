"""Names that help texts list, because help must not wait for torch. A test compares them with the catalogues."""

from __future__ import annotations

import sys
from typing import Any

MODELS = (
    "hyper-conv",
    "hyper-attention",
    "gcn",
    "gat",
    "gcn+hyper-conv",
    "gat+hyper-attention",
    "mlp",
    "hyper-sage",
    "hyper-monet",
    "dynamic-hyper-conv",
    "hyper-diffusion",
    "grand",
    "hyper-grand",
    "grand+hyper-grand",
)
"""The keys of :data:`hypergnn.models.KINDS`."""
TABLES = (
    "datasets",
    "baselines",
    "skip",
    "hidden",
    "sota",
    "newsgroup",
    "depth",
    "timing",
    "directed",
    "families",
    "dynamic",
    "open",
    "deep",
    "best",
    "systems",
)
"""The keys of :data:`hypergnn.experiments.beyond.ALL`."""


def model_names() -> tuple[str, ...]:
    """The kinds of networks: those in the catalogue, including kinds that a script added; ours if it is not loaded.

    Example:
        >>> model_names()[:2]
        ('hyper-conv', 'hyper-attention')
    """
    catalogue: Any = sys.modules.get("hypergnn.models.catalogue")
    return MODELS if catalogue is None else tuple(catalogue.KINDS)
