"""The settings of a network and of its training; the defaults are the paper's."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from hypergnn._utils.checks import check_choice, check_flag, check_number, check_size
from hypergnn.loader.arguments import MOST_LAYERS, as_fanout
from hypergnn.models.catalogue import KINDS
from hypergnn.models.recipes import recipe_of
from hypergnn.structures.base import DIRECTIONS, Direction

Residual = Literal["none", "initial"]
Norm = Literal["none", "pair", "batch"]
Activation = Literal["elu", "relu"]
_MOST = {"hidden": 1 << 24, "heads": 1 << 24, "depth": MOST_LAYERS, "steps": 10_000, "draws": 10_000}
"""Larger networks cannot be made, or not in a reasonable time."""
_OF_RESIDUAL = ("alpha", "theta", "layer_decay")
_OF_RANDOM = ("steps", "draws", "row_dropout", "consistency", "temperature")
_OF_BATCHES = ("batch_size", "fanout", "control_variates")
_POOLS = ("mean", "max", "attention")
_OF_OPEN_POINTS = ("weights", "hyperedge_features", "rebuild_every")
LATER = frozenset(
    {
        "direction",
        "residual",
        "norm",
        "activation",
        "input_dropout",
        "pool",
        *_OF_RESIDUAL,
        *_OF_RANDOM,
        *_OF_BATCHES,
        *_OF_OPEN_POINTS,
    }
)
"""Settings that the first files of models and runs lack."""


@dataclass(frozen=True)
class Config:
    """All settings of a trial. With the data and the seed, they determine its result.

    The defaults are the paper's, for Cora.

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
    residual: Residual = "none"
    """``"initial"``: a dense layer before the layers and one after them, and around each of the layers an initial
    residual and an identity mapping: ``x' = σ(((1-α) T x + α x₀)((1-β) I + β W))``, ``β = ln(theta/layer + 1)``."""
    alpha: float = 0.1
    """The share α of the first features ``x₀`` in the input of each layer, with ``residual="initial"``."""
    theta: float = 0.5
    """How fast the share β of the learned ``W`` falls with the number of the layer, with ``residual="initial"``."""
    layer_decay: float = 0.01
    """The L2 penalty of the layers between the dense ones, with ``residual="initial"``."""
    norm: Norm = "none"
    """``"pair"``: centre the rows before each activation and scale them to a mean squared length of 1 (PairNorm).
    ``"batch"``, for random propagation: normalise the columns before each dense layer (batch normalisation);
    ``input_dropout`` is then that of the propagated features."""
    activation: Activation = "elu"
    """``"relu"`` for networks whose scores come from a dense layer: deep ones and random propagation."""
    input_dropout: float | None = None
    """Dropout of the features in place of ``dropout``, which is then that of the layers after the first."""
    steps: int = 4
    """Random propagation: the largest power K of the transition."""
    draws: int = 4
    """Random propagation: how many sets of dropped vertices are drawn in a training step. With ``norm="batch"`` and
    half of the vertices dropped, each second set is the rest of the one before."""
    row_dropout: float = 0.5
    """Random propagation: the share of the vertices whose features are dropped in a draw."""
    consistency: float = 1.0
    """Random propagation: the weight of the squared distance of each draw's probabilities to their consensus."""
    temperature: float = 0.5
    """Random propagation: the exponent ``1 / temperature`` sharpens the consensus, the mean of the probabilities."""
    feature_scaling: Literal["row", "none"] = "row"
    """Whether each vertex's features are divided by their sum."""
    weights: Literal["given", "inverse-frequency", "learned"] = "given"
    """Weights of the hyperedges: those of the data, ``log((N + 1) / |e|)``, or learned from the features."""
    hyperedge_features: Literal["members", "co-occurrence"] = "members"
    """What attention compares a vertex with: centroid or mean of the members, or an embedding of its own."""
    rebuild_every: int = 25
    """Epochs after which hyperedges that follow the features are built again."""
    pool: Literal["mean", "max", "attention"] = "mean"
    """How a vertex pools its hyperedges in the model hyper-sage; see :class:`~hypergnn.layers.HypergraphSAGE`."""
    learning_rate: float = 0.005
    weight_decay: float = 3e-4
    """The factor λ of the L2 penalty."""
    patience: int = 100
    """Epochs without a new lowest validation loss after which a trial ends."""
    max_epochs: int = 1000
    """Epochs after which a trial ends in any case; the paper names no such limit."""
    batch_size: int | None = None
    """Training vertices in a batch, with a step for each batch; a step for all of them in each epoch if ``None``."""
    fanout: tuple[tuple[int, int] | None, ...] | None = None
    """Hyperedges of each vertex and members of each hyperedge to draw in each layer; ``None`` for all."""
    control_variates: bool = False
    """Whether layers sample only what has changed since the last epoch; see :class:`ControlVariates`."""

    def __post_init__(self) -> None:
        """Raise if a setting is invalid, or has no effect on this model."""
        check_choice("model", self.model, tuple(KINDS))
        check_choice("direction", self.direction, DIRECTIONS)
        if self.direction != "forward" and not KINDS[self.model].has_direction:
            known = ", ".join(name for name, kind in KINDS.items() if kind.has_direction)
            raise ValueError(f"direction={self.direction!r} needs one of the models {known}; got {self.model!r}.")
        check_choice("feature_scaling", self.feature_scaling, ("row", "none"))
        _check_open_points(self)
        for name in ("hidden", "heads", "depth", "steps", "draws", "patience", "max_epochs", "rebuild_every"):
            if check_size(name, getattr(self, name), minimum=1) > _MOST.get(name, math.inf):
                raise ValueError(f"{name} must be at most {_MOST[name]}; got {getattr(self, name)}.")
        for name in ("dropout", "attention_dropout", "alpha", "row_dropout"):
            check_number(name, getattr(self, name), below=1)
        if self.input_dropout is not None:
            check_number("input_dropout", self.input_dropout, below=1)
        check_flag("skip", self.skip)
        for name in ("weight_decay", "theta", "layer_decay", "consistency"):
            check_number(name, getattr(self, name))
        if check_number("temperature", self.temperature) == 0:
            raise ValueError("temperature must be positive; got 0.")
        self._check_form()
        if check_number("learning_rate", self.learning_rate) == 0:
            raise ValueError("learning_rate must be positive; got 0.")
        self._check_batches()

    def _check_batches(self) -> None:
        check_flag("control_variates", self.control_variates)
        if self.control_variates:
            self._check_control_variates()
        if self.batch_size is None:
            if self.fanout is not None:
                raise ValueError("fanout needs batch_size: neighbours are drawn for batches. Give both, or neither.")
            return
        check_size("batch_size", self.batch_size, minimum=1)
        if not KINDS[self.model].can_sample:
            known = ", ".join(name for name, kind in KINDS.items() if kind.can_sample)
            raise ValueError(f"batch_size needs one of the models {known}; got {self.model!r}.")
        if self.needs_all_vertices or self.hyperedge_features != "members" or self.weights == "learned":
            raise ValueError(
                "batch_size needs a network whose rows depend on given hyperedges only: no PairNorm, learned weights "
                "or features of hyperedges."
            )
        if self.direction == "both":
            raise ValueError("batch_size needs one direction; got direction='both'.")
        if self.fanout is not None:
            fanout = as_fanout(self.fanout)
            if len(fanout) != self.depth:
                raise ValueError(f"fanout must have {self.depth} entries, one per layer; got {len(fanout)}.")
            object.__setattr__(self, "fanout", tuple(fanout))  # lists in files

    def _check_control_variates(self) -> None:
        if self.batch_size is None or self.fanout is None or all(one is None for one in self.fanout):
            raise ValueError(
                "control_variates needs batch_size and a fanout that samples: they lower the variance of what is drawn."
            )
        if self.model != "hyper-conv" or self.is_residual or self.weights == "learned":
            raise ValueError(
                "control_variates needs the model hyper-conv with fixed weights and without residual: the transition "
                f"is applied before it is sampled; got {self.model!r}."
            )

    def _check_form(self) -> None:
        """Refuse settings without effect in the form of this network."""
        check_choice("residual", self.residual, ("none", "initial"))
        check_choice("norm", self.norm, ("none", "pair", "batch"))
        check_choice("activation", self.activation, ("elu", "relu"))
        if self.activation != "elu" and not (self.is_residual or self.is_random):
            raise ValueError(
                f"activation={self.activation!r} needs residual='initial' or a model of random propagation: other "
                f"networks have an activation after their scores too; got {self.model!r}."
            )
        changed, kind = self.changed(), KINDS[self.model]
        if self.residual != "none" and not kind.can_be_deep:
            known = ", ".join(name for name, one in KINDS.items() if one.can_be_deep)
            raise ValueError(f"residual={self.residual!r} needs one of the models {known}; got {self.model!r}.")
        if self.norm == "batch" and not self.is_random:
            known = ", ".join(name for name, one in KINDS.items() if one.form == "random")
            raise ValueError(f"norm='batch' needs one of the models {known}; got {self.model!r}.")
        if self.norm == "pair" and (self.is_random or kind.is_dynamic or kind.layers is not None):
            raise ValueError(f"norm='pair' needs layers of one kind over given structures; got {self.model!r}.")
        if not self.is_residual:
            _refuse(changed, _OF_RESIDUAL, 'residual="initial"')
        if not self.is_random:
            _refuse(changed, _OF_RANDOM, "a model of random propagation, such as hyper-grand")
        if self.skip and (self.is_residual or self.is_random):
            raise ValueError(
                f"skip must be False: the layers of this network ({self.model!r}) have no skip connection."
            )

    @property
    def is_random(self) -> bool:
        """Whether the network is one of random propagation."""
        return KINDS[self.model].form == "random"

    @property
    def is_residual(self) -> bool:
        """Whether the layers have an initial residual and stand between two dense layers."""
        return self.residual == "initial" or KINDS[self.model].form == "residual"

    @property
    def weighs_by_structure(self) -> bool:
        """Whether structure and given weights alone decide how much a hyperedge counts.

        Example:
            >>> Config().weighs_by_structure, Config("hyper-attention").weighs_by_structure
            (True, False)
        """
        is_fixed = self.weights != "learned" and self.pool == "mean"
        return KINDS[self.model].weighs_by_structure and is_fixed

    @property
    def n_steps(self) -> int:
        """How many transitions follow each other: the number of blocks that a network takes.

        Example:
            >>> Config(depth=3).n_steps, Config(model="hyper-grand", steps=5).n_steps
            (3, 5)
        """
        return self.steps if self.is_random else self.depth

    @property
    def first_dropout(self) -> float:
        """The dropout of the features."""
        return self.dropout if self.input_dropout is None else self.input_dropout

    @property
    def needs_all_vertices(self) -> bool:
        """Whether a training step needs every vertex: for their mean, or for the consensus about them."""
        return self.norm == "pair" or self.is_random

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
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) != one.default}


def _refuse(changed: dict[str, Any], names: tuple[str, ...], needed: str) -> None:
    for name in names:
        if name in changed:
            raise ValueError(f"{name} must be left at its default without {needed}; got {changed[name]!r}.")


_PAPER: dict[str, dict[str, Any]] = {
    "cora": {},
    "citeseer": {},
    "pubmed": {"learning_rate": 0.01, "weight_decay": 1e-3},
    "20news": {},
}
"""Where the paper's settings for a dataset differ from those for Cora."""


def _check_open_points(config: Config) -> None:
    """Refuse settings of what the paper leaves open for models that do not have them."""
    kind = KINDS[config.model]
    check_choice("weights", config.weights, ("given", "inverse-frequency", "learned"))
    check_choice("hyperedge_features", config.hyperedge_features, ("members", "co-occurrence"))
    check_choice("pool", config.pool, _POOLS)
    needs = {
        "weights='learned'": (config.weights == "learned", config.model == "hyper-conv", "the model hyper-conv"),
        "weights": (config.weights != "given", "hypergraph" in kind.structures, "a model that takes a hypergraph"),
        "hyperedge_features": (
            config.hyperedge_features != "members",
            config.model == "hyper-attention" and config.direction == "forward",
            "the model hyper-attention, with direction='forward'",
        ),
        "pool": (config.pool != "mean", config.model == "hyper-sage", "the model hyper-sage"),
        "rebuild_every": (config.rebuild_every != 25, kind.is_dynamic, "the model dynamic-hyper-conv"),
    }
    for name, (is_set, is_known, what) in needs.items():
        if is_set and not is_known:
            raise ValueError(f"{name} needs {what}; got {config.model!r}.")


def paper_config(dataset: str, model: str = "hyper-conv") -> Config:
    """The paper's settings for a dataset; for data that is not in the paper, those for Cora.

    For a model that is not in the paper, the settings of :mod:`hypergnn.models.recipes`.

    Example:
        >>> paper_config("pubmed").learning_rate, paper_config("cora", "grand+hyper-grand").steps
        (0.01, 4)
    """
    recipe = recipe_of(model, dataset)
    return replace(Config(model=model), **(_PAPER.get(dataset, {}) if recipe is None else recipe))


def config_from(settings: dict[str, Any]) -> Config:
    """The configuration with settings that :meth:`Config.settings` returned; raise if some are unknown."""
    unknown = settings.keys() - {field.name for field in fields(Config)}
    if unknown:
        raise ValueError(f"unknown settings {', '.join(sorted(unknown))}: made by another version?")
    return Config(**settings)
