"""The result of ``explain``, shown as text, as HTML, as a pandas table or as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hypergnn._utils.display import html_table, quiet_axes, shortened, text_table
from hypergnn._utils.extras import import_extra
from hypergnn.explanations.parts import Part

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHOWN = 10
_NOUNS = {"skip": "skip connection", "bias": "bias", "itself": "the vertex itself"}


class Attended(NamedTuple):
    """What a vertex attends to in one layer and head."""

    layer: int
    head: int
    kind: str
    """``"hyperedge"``, ``"link"`` or ``"itself"``."""
    name: Any
    """The name of the hyperedge, or of the vertex at the other end of the link."""
    attention: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a vertex got its score for a class, as returned by :func:`hypergnn.explain`.

    The contributions of :attr:`parts` add up to :attr:`logit`.
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
    parts: tuple[Part, ...]
    """The terms of the logit: hyperedges and links in descending order within each head, skip connection, bias."""
    names: tuple[Any, ...]
    """The name of each part's hyperedge or vertex, or its number if there are no names."""
    attention: tuple[Attended, ...]
    """The attention of the vertex in every layer and head, in descending order; empty for convolutions."""

    def records(self) -> list[dict[str, Any]]:
        """One dictionary per part, ready for JSON if the names are."""
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
        return pandas.DataFrame(rows, columns=columns)

    def plot(self, ax: Axes | None = None, *, top: int = 15) -> Figure:
        """Draw the contributions as bars. The figure is returned, not shown.

        Args:
            ax: The axes to draw on; a new figure if omitted.
            top: How many of the largest parts get their own bar; the rest share one.
        """
        shown, rest = self._largest(top)
        labels = [_label(part, name) for part, name in shown]
        heights = [part.contribution for part, _ in shown]
        if rest:
            labels.append(f"{len(rest)} others")
            heights.append(sum(part.contribution for part, _ in rest))
        with quiet_axes(ax, "plot", (6.4, 1.2 + 0.3 * len(labels))) as axes:
            colours = ["tab:blue" if height >= 0 else "tab:red" for height in heights]
            axes.barh(range(len(labels)), heights, color=colours)
            axes.set_yticks(range(len(labels)), [label.replace("$", r"\$") for label in labels])
            axes.invert_yaxis()
            axes.axvline(0, color="black", linewidth=0.8)
            axes.set_xlabel(f"contribution to the logit, {self.logit:.3f}")
            axes.set_title(f"vertex {shortened(self.vertex_name)}: {shortened(self.target_name)}".replace("$", r"\$"))
        return axes.get_figure()  # type: ignore[return-value]

    def __repr__(self) -> str:
        """The headline, the first parts by attention, and their sum."""
        rows = [*self._rows()[:_SHOWN], *self._ends()]
        attended = [
            f"\nattention in layer {layer}, head by head\n{text_table(*table)}"
            for layer, table in self._hidden_tables()
        ]
        return "\n".join([self._headline(), text_table(self._head(), rows), *attended])

    def _repr_html_(self) -> str:
        tables = [html_table(self._headline(), self._head(), [*self._rows()[:_SHOWN], *self._ends()])]
        tables += [
            html_table(f"attention in layer {layer}, head by head", *table) for layer, table in self._hidden_tables()
        ]
        return "".join(tables)

    def _headline(self) -> str:
        after = "" if self.activation is None else f", {self.score:.4f} after {self.activation}"
        odds = "" if self.probability is None else f", probability {self.probability:.4f}"
        return f"vertex {self.vertex_name}: class {self.target_name}, logit {self.logit:.4f}{after}{odds}"

    def _paths(self) -> list[tuple[Part, Any]]:
        pairs = zip(self.parts, self.names, strict=True)
        return [(part, name) for part, name in pairs if part.kind not in ("skip", "bias")]

    def _head(self) -> list[str]:
        several = len({part.head for part, _ in self._paths()}) > 1
        attends = any(part.attention is not None for part in self.parts)
        return [*(["head"] if several else []), "through", *(["attention"] if attends else []), "transition", "adds"]

    def _row(self, part: Part | None, label: str, contribution: float) -> list[Any]:
        filled = {
            "head": None if part is None else part.head,
            "through": label,
            "attention": None if part is None else part.attention,
            "transition": None if part is None else part.transition,
            "adds": contribution,
        }
        return [filled[title] for title in self._head()]

    def _rows(self) -> list[list[Any]]:
        return [self._row(part, _label(part, name), part.contribution) for part, name in self._paths()]

    def _ends(self) -> list[list[Any]]:
        """The rows after the paths: the sum of the omitted ones, skip connection, bias, total."""
        left_out = self._paths()[_SHOWN:]
        ends = [self._row(None, f"{len(left_out)} others", sum(part.contribution for part, _ in left_out))]
        ends = ends if left_out else []
        ends += [
            self._row(None, _NOUNS[part.kind], part.contribution)
            for part in self.parts
            if part.kind in ("skip", "bias")
        ]
        return [*ends, self._row(None, "sum", sum(part.contribution for part in self.parts))]

    def _hidden_tables(self) -> list[tuple[int, tuple[list[str], list[list[Any]]]]]:
        """The attention of each layer before the last: a column per head, rows sorted by the mean over heads."""
        last = max((one.layer for one in self.attention), default=0)
        tables = []
        for layer in range(last):
            found: dict[tuple[str, Any], dict[int, float]] = {}
            for one in self.attention:
                if one.layer == layer:
                    found.setdefault((one.kind, one.name), {})[one.head] = one.attention
            n_heads = 1 + max((head for heads in found.values() for head in heads), default=0)
            ordered = sorted(found.items(), key=lambda item: -sum(item[1].values()))
            rows = [[_noun(*key), *[heads.get(head) for head in range(n_heads)]] for key, heads in ordered[:_SHOWN]]
            tables.append((layer, (["to", *map(str, range(n_heads))], rows)))
        return [(layer, table) for layer, table in tables if table[1]]

    def _largest(self, top: int) -> tuple[list[tuple[Part, Any]], list[tuple[Part, Any]]]:
        ordered = sorted(zip(self.parts, self.names, strict=True), key=lambda pair: -abs(pair[0].contribution))
        return ordered[:top], ordered[top:]


def _record(part: Part, name: Any) -> dict[str, Any]:
    return {
        "kind": part.kind,
        "name": name,
        "number": part.number,
        "head": part.head,
        "attention": part.attention,
        "transition": part.transition,
        "contribution": part.contribution,
        "by_hidden_head": list(part.by_hidden_head),
    }


def _hidden(n_heads: int) -> Sequence[str]:
    return [f"from hidden head {head}" for head in range(n_heads)]


def _label(part: Part, name: Any) -> str:
    return _noun(part.kind, name)


def _noun(kind: str, name: Any) -> str:
    return _NOUNS[kind] if kind in _NOUNS else shortened(f"{kind} {name}")
