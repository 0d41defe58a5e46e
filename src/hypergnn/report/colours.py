"""The colours of the page, of its charts and of figures."""

from __future__ import annotations

from typing import Literal

PALETTE = (
    "#3b6fb6",
    "#e0912f",
    "#3a9d6e",
    "#c4524a",
    "#8a63b8",
    "#45aec4",
    "#a98232",
    "#d673a5",
    "#7d8f3a",
    "#868c96",
)
"""Colours of the classes, legible on light and dark backgrounds."""

UNKNOWN = "#9aa1a8"
"""Colour of vertices without a class."""

COLOURS: dict[Literal["light", "dark"], dict[str, str]] = {
    "light": {
        "paper": "#fbfaf7",
        "card": "#ffffff",
        "ink": "#1c2126",
        "soft": "#5b646c",
        "line": "#e3e0d8",
        "accent": "#0b6a72",
        "other": "#b8693a",
        "wash": "#eef4f3",
        "warn": "#9a4a12",
        "warn-wash": "#fbf1e6",
        "heat": "55%",
    },
    "dark": {
        "paper": "#13171a",
        "card": "#1a2024",
        "ink": "#e8e6e1",
        "soft": "#a2abb2",
        "line": "#2d353a",
        "accent": "#5fc3bd",
        "other": "#e3a06c",
        "wash": "#1c2b2c",
        "warn": "#eba35c",
        "warn-wash": "#2d241b",
        "heat": "45%",
    },
}
"""Colours of the page and its charts on a light and a dark background; ``heat`` is the largest share of accent in a
cell, chosen so that text stays legible on it."""
