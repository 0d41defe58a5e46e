"""SVG elements as text. Every text and attribute is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WIDTHS = {"ijlIJ'": 0.3, "frt!(),-./:;[\\]| ": 0.38, 'ckszFL"*?_`': 0.54, "mwMW#%+<=>@^~": 0.92}
_WIDTH_OF = {letter: width for letters, width in _WIDTHS.items() for letter in letters}
"""Widths of narrow and wide letters in units of the font's size."""


Attributes = Mapping[str, str | float | None]


class Svg(str):
    """Text that is SVG already, and is not escaped again."""

    __slots__ = ()


def tag(name: str, attributes: Attributes, *content: str) -> Svg:
    """An element; attributes that are ``None`` are left out.

    Example:
        >>> tag("text", {"x": 1.50, "class": None}, "a < b", tag("title", {}, "more"))
        '<text x="1.5">a &lt; b<title>more</title></text>'
    """
    own = "".join(f' {key}="{_attribute(value)}"' for key, value in attributes.items() if value is not None)
    inside = "".join(one if isinstance(one, Svg) else _escaped(one) for one in content)
    return Svg(f"<{name}{own}>{inside}</{name}>" if inside else f"<{name}{own}/>")


def number(value: float, digits: int = 2) -> str:
    """A number with as few digits as it needs.

    Example:
        >>> number(1.504), number(2.0), number(-0.001), number(41.26, 1)
        ('1.5', '2', '0', '41.3')
    """
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def path(points: Iterable[tuple[float, float]], *, closed: bool = False) -> str:
    """The data of a path through points.

    Example:
        >>> path([(0, 1), (2.25, 3)]), path([(0, 0), (1, 0), (1, 1)], closed=True)
        ('M0 1L2.2 3', 'M0 0L1 0L1 1Z')
    """
    text = "L".join(f"{number(x, 1)} {number(y, 1)}" for x, y in points)
    return f"M{text}Z" if closed else f"M{text}"


def text_width(text: str, size: float = 12) -> float:
    """The room that a text takes in a sans-serif font, estimated for the wider ones.

    Example:
        >>> text_width("mill") < text_width("comma")
        True
    """
    return size * sum(_WIDTH_OF.get(letter, 0.65) for letter in text)


def shortened(text: str, width: float, size: float = 12) -> str:
    """A text that takes no more room than ``width``, cut if it is longer.

    Example:
        >>> shortened("Hyper-Conv.", 200), shortened("Hyper-Conv.", 40)
        ('Hyper-Conv.', 'Hype…')
    """
    if text_width(text, size) <= width:
        return text
    while text and text_width(f"{text}…", size) > width:
        text = text[:-1]
    return f"{text}…"


def _attribute(value: str | float) -> str:
    return _escaped(value) if isinstance(value, str) else number(value)


def _escaped(text: str) -> str:
    """Text for an element or a quoted attribute; characters that XML does not allow are replaced."""
    return escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))
