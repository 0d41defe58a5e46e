"""The plot of growth, as an SVG that depends on the numbers only."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

_STYLE: Any = {"svg.hashsalt": "growth", "svg.fonttype": "none", "font.size": 10}


def growth_plot(case: dict[str, Any]) -> bytes:
    """Seconds per step against incidences, on logarithmic axes."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.subplots()
        for name, marker, colour in (("ours", "o", "tab:blue"), ("PyG", "s", "tab:orange")):
            points = [(int(size), seconds) for size, seconds in case[name].items() if isinstance(seconds, float)]
            if points:
                axes.loglog(*zip(*points, strict=True), marker=marker, color=colour, label=name)
        axes.set_xlabel("incidences")
        axes.set_ylabel("seconds, forward and backward")
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(frameon=False)
        file = BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return b"\n".join(line.rstrip() for line in file.getvalue().splitlines()) + b"\n"
