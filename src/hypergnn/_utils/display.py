"""Tables as text, Markdown and HTML from the same rows, and figures that are returned and never shown."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from hypergnn._utils.extras import import_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = Sequence[Sequence[Any]]
"""The rows of a table: text, numbers, or ``None`` for an empty cell."""
_WIDE = 100_000


def text_table(head: Sequence[str], rows: Rows, width: int | None = None) -> str:
    """A table as text: columns side by side, numbers aligned to the right.

    Args:
        head: The titles of the columns.
        rows: The rows.
        width: Characters of a line; longer cells are wrapped. As many as the table needs if omitted.

    Example:
        >>> print(text_table(["name", "size"], [["a", 12], ["long", 0.25]]))
        name    size
        a         12
        long  0.2500
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for title, is_number in zip(head, _are_numbers(head, rows), strict=True):
        table.add_column(Text(title), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    file = StringIO()
    Console(file=file, width=width or _WIDE, color_system=None, legacy_windows=False).print(table)
    return "\n".join(line.rstrip() for line in file.getvalue().rstrip("\n").split("\n"))


def terminal_width() -> int | None:
    """The width of the terminal that standard output is; ``None`` if it is a file or a pipe.

    Example:
        >>> terminal_width() is None or terminal_width() > 0
        True
    """
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console().width


def markdown_table(head: Sequence[str], rows: Rows) -> str:
    r"""A table as Markdown. Cells are text: characters with a meaning in Markdown tables are escaped.

    Example:
        >>> print(markdown_table(["name", "size"], [["GCN*", 12]]))
        | name | size |
        | --- | --- |
        | GCN\* | 12 |
    """
    body = [[_markdown_cell(value) for value in row] for row in (head, *rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (body[0], ["---"] * len(head), *body[1:]))


def html_table(caption: str, head: Sequence[str], rows: Rows) -> str:
    """A table as HTML. Cells are text, never markup.

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
    """The given axes, or those of a new figure that pyplot does not manage: a notebook shows it once, as a result."""
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
    """A name cut to the length of a column or an axis label."""
    text = str(name)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def listed(names: Iterable[Any], most: int = 10, length: int = 40) -> str:
    """The first names, for a cell or a sentence.

    Example:
        >>> listed("abc", most=2)
        'a, b, …'
    """
    all_names = [shortened(name, length) for name in names]
    return ", ".join(all_names[:most]) + (", …" if len(all_names) > most else "")


def _are_numbers(head: Sequence[str], rows: Rows) -> list[bool]:
    """Whether each column holds numbers only."""
    return [bool(rows) and all(_is_number(row[place]) for row in rows) for place in range(len(head))]


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else shortened(value, 100)


def _html_cell(value: Any) -> str:
    side = "right" if _is_number(value) else "left"
    return f'<td style="text-align:{side}">{escape(_cell(value))}</td>'


def _markdown_cell(value: Any) -> str:
    return _cell(value).replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|")
