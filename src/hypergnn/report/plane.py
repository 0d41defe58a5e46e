"""Where a chart is drawn, and the marks that it is made of.

Across, places are shares of the width; down, they are pixels. On the page the width is that of the chart's place, and
the browser keeps text and dots in their size when it changes. A figure has a fixed width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hypergnn.report.scales import Scale
from hypergnn.report.svg import Attributes, Svg, number, path, tag

Place = tuple[float, float]
"""A share of the width, and pixels from the top."""

_STRETCHED = 1000
"""Units across in paths, which the page stretches to its width."""
_DIAMOND = "M0-5.5 5.5 0 0 5.5-5.5 0Z"


@dataclass(frozen=True)
class Plane:
    """The rectangle inside the axes."""

    height: float
    width: float | None = None
    """In pixels; ``None`` on the page."""

    @property
    def is_on_page(self) -> bool:
        """Whether the plane is as wide as its place on the page, and can be hovered over."""
        return self.width is None

    def across(self, share: float) -> str:
        """A share of the width as a coordinate.

        Example:
            >>> Plane(100).across(0.125), Plane(100, width=400).across(0.125)
            ('12.5%', '50')
        """
        return f"{number(100 * share)}%" if self.width is None else number(share * self.width)

    def line(self, kind: str, start: Place, end: Place) -> Svg:
        """A straight line."""
        ends: Attributes = {"x1": self.across(start[0]), "y1": start[1], "x2": self.across(end[0]), "y2": end[1]}
        return tag("line", {"class": kind, **ends})

    def dot(self, kind: str | None, place: Place, radius: float, title: str = "") -> Svg:
        """A circle, with its text when hovered over."""
        round_: Attributes = {"class": kind, "cx": self.across(place[0]), "cy": place[1], "r": radius}
        return tag("circle", round_, *titled(title))

    def diamond(self, kind: str, place: Place) -> Svg:
        """A diamond."""
        return self.group(place, tag("path", {"class": kind, "d": _DIAMOND}))

    def group(self, place: Place, *content: Svg) -> Svg:
        """Elements whose own places are pixels to the right of a place and below it."""
        corner: Attributes = {"x": self.across(place[0]), "y": place[1], "overflow": "visible"}
        return tag("svg", corner, *content)

    def curve(self, kind: str, places: Sequence[Place], *, closed: bool = False) -> Svg:
        """A line through places, or the area inside them."""
        if self.width is not None:
            points = [(share * self.width, down) for share, down in places]
            return tag("path", {"class": kind, "d": path(points, closed=closed)})
        data = path([(share * _STRETCHED, down) for share, down in places], closed=closed)
        inside = tag("path", {"class": kind, "d": data, "vector-effect": "non-scaling-stroke"})
        box = {"viewBox": f"0 0 {_STRETCHED} {number(self.height)}", "preserveAspectRatio": "none"}
        return tag("svg", {**box, "width": "100%", "height": self.height, "overflow": "visible"}, inside)

    def text(self, kind: str, place: Place, words: str, *, anchor: str = "middle", aside: float = 0) -> Svg:
        """A line of text, ``aside`` pixels to the right of its place."""
        at: Attributes = {"x": self.across(place[0]), "y": place[1], "dx": aside or None}
        return tag("text", {"class": kind, **at, "text-anchor": anchor}, words)

    def row(self, down: float, height: float, title: str, *marks: Svg) -> Svg:
        """Marks in one row across the plane; on the page, the whole row can be hovered over."""
        band = tag("rect", {"y": down - height / 2, "width": "100%", "height": height, "rx": 4})
        return self._hit(band, title, *marks)

    def columns(self, shares: Sequence[float], titles: Sequence[str]) -> list[Svg]:
        """On the page, columns to hover over, each with a line at its place; in a figure, nothing."""
        if not self.is_on_page:
            return []
        middles = [(left + right) / 2 for left, right in pairwise(shares)]
        edges = [0.0, *middles, 1.0]
        return [
            self._hit(
                tag("rect", {"x": self.across(left), "width": self.across(right - left), "height": self.height}),
                title,
                self.line("guide", (share, 0), (share, self.height)),
            )
            for share, title, (left, right) in zip(shares, titles, pairwise(edges), strict=True)
        ]

    def _hit(self, band: Svg, title: str, *marks: Svg) -> Svg:
        return tag("g", {"class": "hit"}, *([band] if self.is_on_page else []), *marks, *titled(title))


def titled(words: str) -> tuple[Svg, ...]:
    """The text of an element when it is hovered over, if there is one."""
    return (tag("title", {}, words),) if words else ()


def axis_below(plane: Plane, ticks: Sequence[tuple[float, str]], scale: Scale, title: str, *, grid: bool) -> list[Svg]:
    """The horizontal axis: labels, a title, and lines across the plane if ``grid``."""
    found = []
    for at, (value, label) in enumerate(ticks):
        share = scale(value)
        lines = [plane.line("grid", (share, 0), (share, plane.height))] if grid else []
        words = plane.text("label", (share, plane.height + 20), label)
        found.append(tag("g", {"class": "tick odd" if at % 2 else "tick"}, *lines, words))
    return [*found, plane.text("label", (0.5, plane.height + 43), title)]


def axis_left(plane: Plane, ticks: Sequence[tuple[float, str]], scale: Scale, title: str) -> list[Svg]:
    """The vertical axis: labels, a title, lines across the plane, and its lower edge."""
    found = []
    for value, label in ticks:
        down = plane.height * (1 - scale(value))
        found += [plane.line("grid", (0, down), (1, down))]
        found += [plane.text("label", (0, down + 4), label, anchor="end", aside=-8)]
    turned = {"transform": f"translate(-42 {number(plane.height / 2)}) rotate(-90)"}
    found.append(tag("text", {"class": "label", **turned, "text-anchor": "middle"}, title))
    return [*found, plane.line("base", (0, plane.height), (1, plane.height))]
