"""The settings of a network and of its training; the defaults are the paper's."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from hypergnn._utils.checks import check_choice, check_flag, check_number, check_size
from hypergnn.models.catalogue import KINDS
from hypergnn.structures.base import DIRECTIONS, Direction

LATER = frozenset({"direction"})
"""Settings that the first files of models and runs lack."""


@dataclass(frozen=True)
class Config:
    """All that decides what a trial gives, apart from its data and its seed. The defaults are the paper's, for Cora.

    Example:
        >>> Config(model="gat", hidden=16).changed()
        {'model': 'gat', 'hidden': 16}
    """

    model: str = "hyper-conv"
    """One of :data:`KINDS`."""
    hidden: int = 8
    """Features of each head in all layers but the last."""
    heads: int = 8
    """Heads of all layers but the last, concatenated; the last has one."""
    depth: int = 2
    """Number of layers."""
    skip: bool = False
    """Whether all layers but the last have a skip connection: with two layers, the first."""
    dropout: float = 0.6
    """Dropout of the input of each layer. How the paper's words on dropout are read: ``docs/paper_map.md``."""
    attention_dropout: float = 0.6
    """Dropout of the learned transition and of the features it propagates; without effect where nothing is learned."""
    direction: Direction = "forward"
    """Which way layers follow the hyperedges of a directed hypergraph; ``"both"`` doubles the hidden width."""
    feature_scaling: Literal["row", "none"] = "row"
    """Whether each vertex's features are divided by their sum."""
    learning_rate: float = 0.005
    weight_decay: float = 3e-4
    """The factor λ of the L2 penalty."""
    patience: int = 100
    """Epochs without a new lowest validation loss after which a trial ends."""
    max_epochs: int = 1000
    """Epochs after which a trial ends in any case; the paper names no such limit."""

    def __post_init__(self) -> None:
        """Refuse settings that cannot be."""
        check_choice("model", self.model, tuple(KINDS))
        check_choice("direction", self.direction, DIRECTIONS)
        if self.direction != "forward" and not KINDS[self.model].has_direction:
            known = ", ".join(name for name, kind in KINDS.items() if kind.has_direction)
            raise ValueError(f"direction={self.direction!r} needs one of the models {known}; got {self.model!r}.")
        check_choice("feature_scaling", self.feature_scaling, ("row", "none"))
        for name in ("hidden", "heads", "depth", "patience", "max_epochs"):
            check_size(name, getattr(self, name), minimum=1)
        for name in ("dropout", "attention_dropout"):
            check_number(name, getattr(self, name), below=1)
        check_flag("skip", self.skip)
        check_number("weight_decay", self.weight_decay)
        if check_number("learning_rate", self.learning_rate) == 0:
            raise ValueError("learning_rate must be positive; got 0.")

    def settings(self) -> dict[str, Any]:
        """All settings, as files hold them: those of :data:`LATER` only where they differ from the default.

        Example:
            >>> "direction" in Config().settings(), "direction" in Config(direction="both").settings()
            (False, True)
        """
        changed = self.changed()
        return {name: value for name, value in asdict(self).items() if name not in LATER or name in changed}

    def changed(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        default = Config()
        return {name: value for name, value in asdict(self).items() if value != getattr(default, name)}


_PAPER: dict[str, dict[str, Any]] = {
    "cora": {},
    "citeseer": {},
    "pubmed": {"learning_rate": 0.01, "weight_decay": 1e-3},
    "20news": {},
}
"""Where the paper's settings for a dataset differ from those for Cora."""


def paper_config(dataset: str, model: str = "hyper-conv") -> Config:
    """The paper's settings for a dataset; for data that is not in the paper, those for Cora.

    Example:
        >>> paper_config("pubmed").learning_rate
        0.01
    """
    return replace(Config(model=model), **_PAPER.get(dataset, {}))


def config_from(settings: dict[str, Any]) -> Config:
    """A configuration from what :meth:`Config.settings` made of one, or raise if it has settings unknown here."""
    unknown = settings.keys() - {field.name for field in fields(Config)}
    if unknown:
        raise ValueError(f"unknown settings {', '.join(sorted(unknown))}: made by another version?")
    return Config(**settings)
