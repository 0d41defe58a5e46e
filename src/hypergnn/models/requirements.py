"""The one check that a model has the structures that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypergnn.models.catalogue import KINDS


def check_structures(
    model: str, given: Mapping[str, object], source: str | None = None, needed: Sequence[str] | None = None
) -> None:
    """Raise unless all structures that a model needs are given.

    Args:
        model: The name of the model, one of ``KINDS``.
        given: The structures by name, ``"graph"`` and ``"hypergraph"``; ``None`` if there is none.
        source: The dataset that they belong to; omit it if the caller passes structures as arguments.
        needed: The structures that it needs, if not those of its kind.

    Raises:
        ValueError: If a structure that the model needs is missing.

    Example:
        >>> check_structures("mlp", {})
        >>> check_structures("gcn", {"graph": None}, "digits")
        Traceback (most recent call last):
        ...
        ValueError: the model 'gcn' needs a graph, and digits has none. Add one, or choose another model.
    """
    for name in KINDS[model].structures if needed is None else needed:
        if given.get(name) is None:
            where = "none was passed" if source is None else f"{source} has none"
            fix = f"Pass {name}=…" if source is None else "Add one"
            raise ValueError(f"the model {model!r} needs a {name}, and {where}. {fix}, or choose another model.")
