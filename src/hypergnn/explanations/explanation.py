"""The result of ``explain``, shown as text, as HTML, as a pandas table or as a plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hypergnn._utils.display import html_table, quiet_axes, shortened, text_table
from hypergnn._utils.extras import import_extra
from hypergnn.explanations.parts import Part
from hypergnn.structures.base import Direction

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHOWN = 10
_OF_SCORES = "+ speaks for the class, - against it; the sum is the score of the class"
_OF_PROBABILITIES = "+ speaks for the class, - against it; the sum is the probability of the class"
_OF_NUMBERS = "+ raises the prediction, - lowers it; the sum is the prediction"


class Attended(NamedTuple):
    """What a vertex attends to in one layer and head."""

    layer: int
    head: int
    kind: str
    """``"hyperedge"``, ``"link"`` or ``"itself"``."""
    name: Any
    """The name of the hyperedge, or of the vertex at the other end of the link."""
    attention: float
    direction: Direction | None = None
    """Which way the hyperedge was followed, in a layer that follows both; ``None`` in all others."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a vertex got its score for a class, as returned by :func:`hypergnn.explain`.

    The contributions of :attr:`parts` add up to :attr:`logit`. As text and in a notebook: the class, its probability,
    and what speaks for it (+) and against it (-), largest first.
    """

    vertex: int
    vertex_name: Any
    target: int
    target_name: str
    """The class that is explained."""
    logit: float
    """Its score from the last layer, before the activation."""
    score: float
    """Its score after the activation, as the network returns it."""
    activation: str | None
    """The name of the activation after the last layer; ``None`` without one."""
    probability: float | None
    """Its probability if the model is a network; ``None`` for a single layer."""
    predicted: int
    """The class with the highest score, which is the one explained unless you asked for another."""
    predicted_name: str
    predicted_probability: float | None
    parts: tuple[Part, ...]
    """The terms of the logit: hyperedges and links in descending order within each head, skip connection, bias."""
    names: tuple[Any, ...]
    """The name of each part's hyperedge or vertex, or its number if there are no names."""
    labels: tuple[str, ...]
    """Each part in words: the name of a hyperedge, or for example ``"neighbours of 7"`` or ``"link to ann"``."""
    attention: tuple[Attended, ...]
    """The attention of the vertex in every layer and head, in descending order; empty for convolutions."""
    is_class: bool = True
    """Whether a class is explained, not the number that a regressor predicts."""
    is_probability: bool = False
    """Whether the contributions add up to the probability of the class, not to its score."""

    def records(self) -> list[dict[str, Any]]:
        """One dictionary per part, ready for JSON if the names are.

        Parts of a layer that follows both directions have ``direction`` as well.
        """
        return [_record(part, name) for part, name in zip(self.parts, self.names, strict=True)]

    def to_pandas(self) -> pandas.DataFrame:
        """The parts as a pandas table; ``by_hidden_head`` becomes a column per head."""
        pandas = import_extra("pandas", "plot", "to_pandas")
        n_heads = max((len(part.by_hidden_head) for part in self.parts), default=0)
        rows = [
            {key: value for key, value in record.items() if key != "by_hidden_head"}
            | dict(zip(_hidden(n_heads), record["by_hidden_head"], strict=False))
            for record in self.records()
        ]
        columns = ["kind", "name", "number", "head", "attention", "transition", "contribution", *_hidden(n_heads)]
        if any(part.direction is not None for part in self.parts):
            columns.append("direction")
        return pandas.DataFrame(rows, columns=columns)

    def plot(self, ax: Axes | None = None, *, top: int = 15) -> Figure:
        """Draw the contributions as bars. The figure is returned, not shown.

        For a number, the axis says where the bars start: the prediction for a row of which nothing is known.

        Args:
            ax: The axes to draw on; a new figure if omitted.
            top: How many of the largest parts get their own bar; the rest share one.
        """
        drawn = [cause for cause in self._causes() if self.is_class or cause.kind != "bias"]
        shown, rest = drawn[:top], drawn[top:]
        labels = [shortened(cause.label) for cause in shown]
        heights = [cause.contribution for cause in shown]
        if rest:
            labels.append(_others(rest))
            heights.append(sum(cause.contribution for cause in rest))
        with quiet_axes(ax, "plot", (6.4, 1.2 + 0.3 * len(labels))) as axes:
            colours = ["tab:blue" if height >= 0 else "tab:red" for height in heights]
            axes.barh(range(len(labels)), heights, color=colours)
            axes.set_yticks(range(len(labels)), [label.replace("$", r"\$") for label in labels])
            axes.invert_yaxis()
            axes.axvline(0, color="black", linewidth=0.8)
            title = f"vertex {shortened(self.vertex_name)}: {shortened(self.target_name)}"
            if self.is_class:
                axes.set_xlabel(f"for (+) or against (−) the class; sum {self.logit:.3f}")
            else:
                title = f"{title} {self.score:.6g}"
                axes.set_xlabel(f"raises (+) or lowers (−) the prediction, from {self.logit - sum(heights):.6g}")
            axes.set_title(title.replace("$", r"\$"))
        return axes.get_figure()  # type: ignore[return-value]

    def __repr__(self) -> str:
        """The class, its probability, and what speaks for it and against it."""
        return "\n".join([self._headline(), self._how_to_read(), "", text_table(self._head(), self._rows())])

    def _repr_html_(self) -> str:
        return html_table(f"{self._headline()}. {self._how_to_read()}.", self._head(), self._rows())

    def _how_to_read(self) -> str:
        if not self.is_class:
            return _OF_NUMBERS
        return _OF_PROBABILITIES if self.is_probability else _OF_SCORES

    def _headline(self) -> str:
        if not self.is_class:
            return f"vertex {self.vertex_name}: {self.target_name} {self.score:.6g}"
        text = f"vertex {self.vertex_name}: class {self.target_name}"
        if self.probability is None or self.predicted_probability is None:
            return f"{text}, score {self.score:.4f}"
        text = f"{text}, probability {_percent(self.probability)}"
        if self.predicted == self.target:
            return text
        return f"{text}; predicted is {self.predicted_name}, probability {_percent(self.predicted_probability)}"

    def _head(self) -> list[str]:
        attends = any(part.attention is not None for part in self.parts)
        return ["because of", "contribution", *(["attention"] if attends else [])]

    def _rows(self) -> list[list[Any]]:
        """The largest contributions, the sum of the others, and the sum of all."""
        causes = self._causes()
        shown, rest = causes[:_SHOWN], causes[_SHOWN:]
        rows: list[tuple[str, float, float | None]] = [(one.label, one.contribution, one.attention) for one in shown]
        if rest:
            rows.append((_others(rest), sum(one.contribution for one in rest), None))
        rows.append(("sum", sum(part.contribution for part in self.parts), None))
        width = len(self._head())
        largest = max((abs(contribution) for _, contribution, _ in rows), default=0.0)
        fits = not self.is_class and 0 < largest < math.inf
        decimals = max(0, 4 - math.floor(math.log10(largest))) if fits else 4
        return [
            [label, _Signed(contribution, decimals), None if attention is None else _Share(attention)][:width]
            for label, contribution, attention in rows
        ]

    def _causes(self) -> list[_Cause]:
        """The causes, the largest contributions first; the heads of the last layer are put together."""
        found: dict[tuple[str, int | None, str | None], list[tuple[Part, str]]] = {}
        for part, label in zip(self.parts, self.labels, strict=True):
            found.setdefault((part.kind, part.number, part.direction), []).append((part, label))
        causes = [_Cause.of(own) for own in found.values()]
        return sorted(causes, key=lambda cause: -abs(cause.contribution))


def _others(rest: Sequence[_Cause]) -> str:
    return "1 other" if len(rest) == 1 else f"{len(rest)} others"


class _Cause(NamedTuple):
    """A hyperedge, a link or another part, with all heads of the last layer."""

    label: str
    contribution: float
    attention: float | None
    kind: str

    @classmethod
    def of(cls, parts: Sequence[tuple[Part, str]]) -> _Cause:
        attention = [part.attention for part, _ in parts if part.attention is not None]
        mean = sum(attention) / len(attention) if attention else None
        return cls(parts[0][1], sum(part.contribution for part, _ in parts), mean, parts[0][0].kind)


class _Signed(float):
    """A number that is shown with its sign and so many decimals."""

    decimals: int

    def __new__(cls, value: float, decimals: int) -> _Signed:
        own = super().__new__(cls, value)
        own.decimals = decimals
        return own

    def __format__(self, spec: str) -> str:
        return super().__format__(f"+.{self.decimals}f")


class _Share(float):
    """A number that is shown in per cent."""

    def __format__(self, spec: str) -> str:
        return _percent(self)


def _percent(share: float) -> str:
    return f"{100 * float(share):.1f} %"


def _record(part: Part, name: Any) -> dict[str, Any]:
    record = {
        "kind": part.kind,
        "name": name,
        "number": part.number,
        "head": part.head,
        "attention": part.attention,
        "transition": part.transition,
        "contribution": part.contribution,
        "by_hidden_head": list(part.by_hidden_head),
    }
    return record if part.direction is None else {**record, "direction": part.direction}


def _hidden(n_heads: int) -> Sequence[str]:
    return [f"from hidden head {head}" for head in range(n_heads)]
