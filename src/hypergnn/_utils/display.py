"""Looking at things: small tables as text and as HTML, and figures that are returned and never shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from hypergnn._utils.extras import import_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = Sequence[Sequence[Any]]


def text_table(head: Sequence[str], rows: Rows) -> str:
    """Columns side by side, numbers to the right.

    Example:
        >>> print(text_table(["name", "size"], [["a", 12], ["long", 0.25]]))
        name    size
        a         12
        long  0.2500
    """
    columns = [[str(title), *[_cell(row[place]) for row in rows]] for place, title in enumerate(head)]
    are_numbers = [bool(rows) and all(_is_number(row[place]) for row in rows) for place in range(len(head))]
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(cells, widths, are_numbers, strict=True)
        ).rstrip()
        for cells in zip(*columns, strict=True)
    ]
    return "\n".join(lines)


def html_table(caption: str, head: Sequence[str], rows: Rows) -> str:
    """The same as HTML; whatever stands in the cells is text, never markup.

    Example:
        >>> html_table("<sizes>", [], [["vertices", 4]])  # doctest: +ELLIPSIS
        '<table><caption ...>&lt;sizes&gt;</caption><tbody><tr><td ...>vertices</td><td ...>4</td></tr></tbody></table>'
    """
    caption = f'<caption style="text-align:left">{escape(caption)}</caption>'
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    above = f"<thead><tr>{titles}</tr></thead>" if titles else ""
    return f"<table>{caption}{above}<tbody>{body}</tbody></table>"


@contextmanager
def quiet_axes(ax: Axes | None, purpose: str, size: tuple[float, float]) -> Iterator[Axes]:
    """The axes given, or those of a new figure that pyplot forgets: a notebook shows it once, where it is returned."""
    pyplot = import_extra("matplotlib.pyplot", "plot", purpose)
    with pyplot.ioff():
        if ax is not None:
            yield ax
            return
        figure, axes = pyplot.subplots(figsize=size, layout="constrained")
        try:
            yield axes
        finally:
            pyplot.close(figure)


def shortened(name: Any, length: int = 40) -> str:
    """A name that fits a column or an axis."""
    text = str(name)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def listed(names: Iterable[Any], most: int = 10) -> str:
    """Some names in a cell.

    Example:
        >>> listed("abc", most=2)
        'a, b, …'
    """
    all_names = [shortened(name) for name in names]
    return ", ".join(all_names[:most]) + (", …" if len(all_names) > most else "")


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else shortened(value, 100)


def _html_cell(value: Any) -> str:
    side = "right" if _is_number(value) else "left"
    return f'<td style="text-align:{side}">{escape(_cell(value))}</td>'
