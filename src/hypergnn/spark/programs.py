"""What blocks of vertices and blocks of hyperedges do in turn: the equations of propagation, in plain NumPy.

A program starts at the vertices, which send sums to their hyperedges. In each round, the hyperedges combine the sums of
all blocks and send them back, and the vertices proceed. Executors run programs, so nothing here may import torch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import numpy as np

from hypergnn.spark.blocks import HyperedgeBlock, VertexBlock
from hypergnn.spark.messages import Array

Normalization = Literal["symmetric", "row", "none"]


class Sent(NamedTuple):
    """What a block of vertices sends to the hyperedges, and what it must remember until the answer comes."""

    sums: Array  # (n_slots, F)
    state: dict[str, Array]


class Program(Protocol):
    """A computation in rounds. All rows of ``x`` beyond those of the block belong to isolated vertices."""

    @property
    def rounds(self) -> int:
        """How often hyperedges combine sums."""

    def begin(self, block: VertexBlock, x: Array) -> Sent:
        """Start with the features."""

    def combine(self, number: int, block: HyperedgeBlock, total: Array) -> Array:
        """What hyperedges make of the sums over all their members."""

    def proceed(self, number: int, block: VertexBlock, received: Array, state: dict[str, Array]) -> Sent:
        """Go on after a round that is not the last."""

    def end(self, block: VertexBlock, received: Array, state: dict[str, Array]) -> Array:
        """The rows of the vertices after the last round."""


@dataclass(frozen=True)
class Propagation:
    """``T X``, some times over."""

    normalization: Normalization
    rounds: int

    def begin(self, block: VertexBlock, x: Array) -> Sent:
        """Sum the features."""
        state = {"shape": np.array(x.shape), "like": np.empty(0, x.dtype)}
        return Sent(block.gathered(self._sent(block, x)), state)

    def combine(self, number: int, block: HyperedgeBlock, total: Array) -> Array:  # noqa: ARG002
        """Scale by ``W B^-1``."""
        return scaled(total, middle(self.normalization, block))

    def proceed(self, number: int, block: VertexBlock, received: Array, state: dict[str, Array]) -> Sent:  # noqa: ARG002
        """Sum the rows that the round has made."""
        return Sent(block.gathered(self._sent(block, self._made(block, received))), state)

    def end(self, block: VertexBlock, received: Array, state: dict[str, Array]) -> Array:
        """The rows that the last round has made; isolated vertices receive 0."""
        out = np.zeros(tuple(state["shape"]), state["like"].dtype)
        if block.n:
            out[: block.n] = self._made(block, received)
        return out

    def _sent(self, block: VertexBlock, x: Array) -> Array:
        return scaled(x[: block.n], right(self.normalization, block.degree))

    def _made(self, block: VertexBlock, received: Array) -> Array:
        return scaled(block.spread(received), left(self.normalization, block.degree))


def left(normalization: Normalization, degree: Array) -> Array | None:
    """``D^-1`` or ``D^-1/2`` of what vertices receive; ``None`` is 1."""
    if normalization == "none":
        return None
    return inverse(degree, 1.0 if normalization == "row" else 0.5)


def right(normalization: Normalization, degree: Array) -> Array | None:
    """``D^-1/2`` of what vertices send; ``None`` is 1."""
    return inverse(degree, 0.5) if normalization == "symmetric" else None


def middle(normalization: Normalization, block: HyperedgeBlock) -> Array:
    """``W B^-1``, or ``W``."""
    return block.weight if normalization == "none" else block.weight * inverse(block.size)


def inverse(degree: Array, power: float = 1.0) -> Array:
    """``degree^-power``; 0 where there is no degree, as in :func:`hypergnn.functional.convolution.inverse`."""
    least = np.finfo(np.float32).tiny ** 0.5 if degree.dtype == np.float32 else np.finfo(np.float64).tiny ** 0.5
    is_there = degree > least
    return np.where(is_there, np.where(is_there, degree, 1) ** -power, 0).astype(degree.dtype)


def scaled(x: Array, factor: Array | None) -> Array:
    """``x`` with its rows multiplied by a factor each."""
    return x if factor is None else x * factor.astype(x.dtype)[:, None]


@dataclass(frozen=True)
class LayerParameters:
    """One layer of a trained network as arrays."""

    projection: Array  # (F, heads * F')
    bias: Array | None
    heads: int
    aggregate: str
    normalization: Normalization
    skip: bool
    skip_projection: Array | None
    is_activated: bool
    scores: tuple[Array, Array] | None = None
    """``a_vertex`` and ``a_hyperedge`` of an attention, ``(heads, F')`` each."""
    negative_slope: float = 0.0

    @property
    def rounds(self) -> int:
        """Attention needs the scores of hyperedges first."""
        return 1 if self.scores is None else 2

    def skipped(self, x: Array) -> dict[str, Array]:
        """What of the input the skip connection adds to the output."""
        if not self.skip:
            return {}
        return {"skip": x if self.skip_projection is None else x @ self.skip_projection}

    def finished(self, out: Array, state: dict[str, Array]) -> Array:
        """Heads aggregated, with skip connection, bias and activation."""
        if self.aggregate == "mean":
            out = out.reshape(len(out), self.heads, -1).mean(1)
        if self.skip:
            out = out + state["skip"]
        if self.bias is not None:
            out = out + self.bias
        return elu(out) if self.is_activated else out


@dataclass(frozen=True)
class Pointwise:
    """The scores of a network that looks at each vertex by itself: no round at all."""

    layers: tuple[LayerParameters, ...]
    scales_rows: bool
    rounds: int = 0

    def begin(self, block: VertexBlock, x: Array) -> Sent:
        """All layers at once."""
        if self.scales_rows:
            x = rows_scaled(x)
        for layer in self.layers:
            x = layer.finished(x @ layer.projection, layer.skipped(x))
        return Sent(np.zeros((block.n_slots, 0), np.float32), {"scores": x})

    def combine(self, number: int, block: HyperedgeBlock, total: Array) -> Array:  # noqa: ARG002
        """Nothing is sent."""
        return total

    def proceed(self, number: int, block: VertexBlock, received: Array, state: dict[str, Array]) -> Sent:  # noqa: ARG002
        """Nothing is received."""
        return Sent(received, state)

    def end(self, block: VertexBlock, received: Array, state: dict[str, Array]) -> Array:  # noqa: ARG002
        """The scores."""
        return state["scores"]


def rows_scaled(x: Array) -> Array:
    """Each row divided by the sum of its magnitudes; rows of zeros stay."""
    total = np.abs(x).sum(1)
    scale: Array = np.divide(1, total, out=np.zeros_like(total), where=total > 0)
    return x * scale[:, None]


@dataclass(frozen=True)
class Inference:
    """The scores of a network, layer by layer."""

    layers: tuple[LayerParameters, ...]
    scales_rows: bool
    """Whether each row of features is divided by its sum first."""
    steps: tuple[tuple[int, int], ...] = field(init=False)
    """Of each round, the number of the layer and of the round within it."""

    def __post_init__(self) -> None:
        """Lay out the rounds."""
        steps = [(number, phase) for number, layer in enumerate(self.layers) for phase in range(layer.rounds)]
        object.__setattr__(self, "steps", tuple(steps))

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return len(self.steps)

    def begin(self, block: VertexBlock, x: Array) -> Sent:
        """Scale the features and start the first layer."""
        return self._start(0, block, rows_scaled(x) if self.scales_rows else x)

    def combine(self, number: int, block: HyperedgeBlock, total: Array) -> Array:
        """Scale the sums as the layer wants them."""
        place, phase = self.steps[number]
        layer = self.layers[place]
        if layer.scores is None:
            return scaled(total, middle(layer.normalization, block))
        if phase == 0:
            return scaled(total, inverse(block.size))  # u_e is the mean of the members
        width = total.shape[1] - layer.heads
        sums, size = total[:, :width].reshape(block.n, layer.heads, -1), total[:, width:]  # Hᵀ x P and B, attended
        factor = block.weight.astype(total.dtype)[:, None]
        if layer.normalization != "none":
            factor = factor * inverse(size)
        out: Array = (sums * factor[:, :, None]).reshape(block.n, width)
        return out

    def proceed(self, number: int, block: VertexBlock, received: Array, state: dict[str, Array]) -> Sent:
        """Attend, or finish a layer and start the next."""
        place, phase = self.steps[number]
        layer = self.layers[place]
        if layer.scores is not None and phase == 0:
            return _attend(layer, block, received, state)
        return self._start(place + 1, block, _finish(layer, block, received, state))

    def end(self, block: VertexBlock, received: Array, state: dict[str, Array]) -> Array:
        """The scores."""
        return _finish(self.layers[-1], block, received, state)

    def _start(self, place: int, block: VertexBlock, x: Array) -> Sent:
        layer = self.layers[place]
        state = layer.skipped(x) | {"rows": np.array([len(x)])}
        if layer.scores is None:
            narrow = x @ layer.projection if layer.projection.shape[1] <= layer.projection.shape[0] else x
            sent = scaled(narrow[: block.n], right(layer.normalization, block.degree))
            return Sent(block.gathered(sent), state)
        own = (x[: block.n] @ layer.projection).reshape(block.n, layer.heads, -1)  # x P  (n, heads, F')
        vertex, hyperedge = (np.einsum("nhf,hf->nh", own, vector) for vector in layer.scores)
        return Sent(block.gathered(hyperedge), state | {"own": own.reshape(block.n, -1), "score": vertex})


def _attend(layer: LayerParameters, block: VertexBlock, received: Array, state: dict[str, Array]) -> Sent:
    """The attended incidence, and the sums of projected features and of the incidence itself at each hyperedge."""
    slot = np.repeat(np.arange(block.n_slots), np.diff(block.offsets))
    logits = state["score"][block.members] + received[slot]  # (n_pairs, heads)
    logits = np.where(logits < 0, layer.negative_slope * logits, logits)
    incidence = softmax(logits, block.members, block.n)
    degree = sums_by(incidence * block.weight.astype(incidence.dtype)[slot][:, None], block.members, block.n)
    own = state["own"].reshape(block.n, layer.heads, -1)
    if layer.normalization == "symmetric":
        own = own * inverse(degree, 0.5)[:, :, None]
    sums = [block.matrix(incidence[:, head]) @ own[:, head] for head in range(layer.heads)]
    size = sums_by(incidence, slot, block.n_slots)
    rest = {name: state[name] for name in ("skip", "rows") if name in state}
    return Sent(np.concatenate([*sums, size], axis=1), rest | {"incidence": incidence, "degree": degree})


def _finish(layer: LayerParameters, block: VertexBlock, received: Array, state: dict[str, Array]) -> Array:
    """The output of a layer; isolated vertices receive 0, and then bias, skip connection and activation."""
    n_rows = int(state["rows"][0])
    if layer.scores is None:
        narrow = min(layer.projection.shape[1], layer.projection.shape[0])
        out = np.zeros((n_rows, narrow), np.float32)
        if block.n:
            out[: block.n] = scaled(block.spread(received), left(layer.normalization, block.degree))
        if layer.projection.shape[1] > layer.projection.shape[0]:
            out = out @ layer.projection
    else:
        out = np.zeros((n_rows, layer.projection.shape[1]), np.float32)
        if block.n:
            out[: block.n] = _spread_by_head(layer, block, received, state)
    return layer.finished(out, state)


def _spread_by_head(layer: LayerParameters, block: VertexBlock, received: Array, state: dict[str, Array]) -> Array:
    sums = received.reshape(block.n_slots, layer.heads, -1)
    incidence, factor = state["incidence"], left(layer.normalization, state["degree"])
    made = [block.matrix(incidence[:, head]).T @ sums[:, head] for head in range(layer.heads)]
    out = np.stack(made, axis=1)  # (n, heads, F')
    if factor is not None:
        out = out * factor[:, :, None]
    return np.asarray(out.reshape(block.n, -1))


def softmax(logits: Array, group: Array, n_groups: int) -> Array:
    """Softmax of each column within the rows of each group."""
    order = np.argsort(group, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))[:-1]])
    highest = np.maximum.reduceat(logits[order], offsets, axis=0) if len(group) else logits
    powers: Array = np.exp(logits - highest[group])
    return powers / sums_by(powers, group, n_groups)[group]


def sums_by(values: Array, group: Array, n_groups: int) -> Array:
    """The sum of each column over the rows of each group, ``(n_groups, columns)``."""
    columns = [np.bincount(group, column, minlength=n_groups) for column in values.T]
    return np.stack(columns, axis=1).astype(values.dtype) if columns else np.zeros((n_groups, 0), values.dtype)


def elu(x: Array) -> Array:
    """``x`` where it is positive, ``exp(x) - 1`` elsewhere."""
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
