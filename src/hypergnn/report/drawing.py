"""A chart that can be drawn on the page and as a figure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from hypergnn.report.colours import COLOURS
from hypergnn.report.plane import Plane, titled
from hypergnn.report.svg import Attributes, Svg, tag, text_width

STEP = 10
"""The room for names at the left is a multiple of this, in pixels: the page has a style for each."""
WIDEST = 22
"""The largest multiple."""

_BELOW = 50
_LEGEND = 28
_SWATCH = 18
_MARGIN = 14
_TITLE, _KEY = 14, 11.5


@dataclass(frozen=True)
class Drawing:
    """A chart: what is inside its axes, and the room around it."""

    kind: str
    """Its name in the style sheet."""
    height: float
    """Pixels inside the axes."""
    left: int
    """Room at the left for names or numbers, in multiples of :data:`STEP`."""
    paint: Callable[[Plane], Sequence[Svg]]
    """Draws the marks and the axes."""
    summary: str
    """The numbers in words, for those who do not see them."""
    legend: Sequence[tuple[str, str]] = ()
    """The style and the name of each series, for a legend above the chart."""
    right: float = 6
    """Room at the right in a figure, in pixels."""
    has_axis: bool = True
    """Whether there is an axis below."""

    def inline(self, label: str) -> Svg:
        """The chart for the page, as wide as its place."""
        height = self._above + self.height + (_BELOW if self.has_axis else 0)
        attributes: Attributes = {
            "class": "plot",
            "width": "100%",
            "height": height,
            "role": "img",
            "aria-label": label,
        }
        return tag("svg", attributes, tag("desc", {}, self.summary), *self._content(Plane(self.height)))

    def figure(self, title: str, key: str, width: float) -> str:
        """The chart as an SVG file on a white background, with a title and what its marks mean.

        Args:
            title: The title.
            key: What the marks mean, in one line.
            width: Pixels inside the axes.
        """
        left, top = _MARGIN + STEP * self.left, 34 + (22 if key else 0)
        words = max(text_width(title, _TITLE), text_width(key, _KEY)) + 2 * _MARGIN
        below = _BELOW - 6 if self.has_axis else 0
        wide = math.ceil(max(left + width + self.right + _MARGIN, words))
        high = math.ceil(top + self._above + self.height + below + _MARGIN)
        head = [tag("text", {"class": "title", "x": _MARGIN, "y": 26, "font-size": _TITLE}, title)]
        head += [tag("text", {"x": _MARGIN, "y": 46, "font-size": _KEY}, key)] if key else []
        content = self._content(Plane(self.height, width))
        return tag(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "class": "plot",
                "width": wide,
                "height": high,
                "viewBox": f"0 0 {wide} {high}",
            },
            *titled(title),
            tag("desc", {}, f"{key}. {self.summary}" if key else self.summary),
            tag("style", {}, Svg(_style())),
            tag("rect", {"width": "100%", "height": "100%", "fill": "#ffffff"}),
            *head,
            tag("g", {"transform": f"translate({left} {top})"}, *content),
        )

    @property
    def _above(self) -> float:
        return _LEGEND if self.legend else 0

    def _content(self, plane: Plane) -> list[Svg]:
        inside = tag("g", {"transform": f"translate(0 {self._above})"} if self._above else {}, *self.paint(plane))
        return [*self._legend(), inside]

    def _legend(self) -> list[Svg]:
        found, along = [], 0.0
        for style, name in self.legend:
            swatch = tag("line", {"class": "line", "x1": 0, "x2": 12, "y1": 0, "y2": 0})
            words = tag("text", {"class": "label", "x": _SWATCH, "y": 4}, name)
            found.append(tag("g", {"class": style, "transform": f"translate({along:.0f} 8)"}, swatch, words))
            along += _SWATCH + text_width(name) + 14
        return found


@cache
def marks_style() -> str:
    """The style of the marks, with the page's colours as variables."""
    return (files("hypergnn.report") / "marks.css").read_text(encoding="utf-8")


@cache
def _style() -> str:
    """The style of the marks for a figure: the light colours in place of variables, which not every program knows."""
    light = {**COLOURS["light"], "sans": "Helvetica, Arial, Liberation Sans, sans-serif"}
    return re.sub(r"var\(--([\w-]+)\)", lambda found: light[found[1]], marks_style())
