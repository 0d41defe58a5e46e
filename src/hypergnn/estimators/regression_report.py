"""What a regressor tried: ``report_`` of a fitted regressor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from hypergnn._utils.display import text_table
from hypergnn.estimators.selection.budget import last_lines


class RegressionReport(Sequence[dict[str, Any]]):
    """A dictionary for each model; prints as a table.

    Args:
        entries: For each model its name (``candidate``), ``r2`` (``None`` if it was not tried, with the ``reason``),
            ``weight`` and ``seconds``.
        gain: What the hypergraph adds to R².
        gain_std: Its standard error.
        seconds: Duration of the selection and the final fit, without ``compiling``.
        compiling: Seconds in which kernels were compiled or loaded.

    Example:
        >>> tried = {"candidate": "ridge", "r2": 0.5, "weight": 1.0, "seconds": 0.25}
        >>> print(RegressionReport([tried], 0.02, 0.01, 0.5))
        model  R²     weight  seconds
        ridge  0.500  1.00    0.25
        <BLANKLINE>
        structure adds 0.020 ± 0.010 to R²
        0.5 seconds in all
    """

    def __init__(
        self,
        entries: Sequence[dict[str, Any]],
        gain: float,
        gain_std: float,
        seconds: float = 0.0,
        compiling: float = 0.0,
    ) -> None:
        """Store the entries."""
        self.entries = list(entries)
        self.gain = gain
        self.gain_std = gain_std
        self.seconds = seconds
        self.compiling = compiling

    @property
    def skipped(self) -> dict[str, str]:
        """Models that were not tried, each with the reason."""
        return {one["candidate"]: one.get("reason", "no time") for one in self.entries if one["r2"] is None}

    @property
    def out_of_time(self) -> list[str]:
        """The models that were not tried because there was no time."""
        return [one["candidate"] for one in self.entries if one.get("is_late")]

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """An entry, or several."""
        return self.entries[place]

    def __len__(self) -> int:
        """The number of entries."""
        return len(self.entries)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The entries."""
        return iter(self.entries)

    def __str__(self) -> str:
        """The table, followed by what the structure adds."""
        rows = [
            [
                one["candidate"],
                f"{one['r2']:.3f}",
                f"{one['weight']:.2f}" if one["weight"] else "",
                f"{one['seconds']:.2f}" if one["seconds"] else "",
            ]
            for one in self.entries
            if one["r2"] is not None
        ]
        lines = [
            text_table(["model", "R²", "weight", "seconds"], rows),
            "",
            f"structure adds {self.gain:.3f} ± {self.gain_std:.3f} to R²",
            *last_lines(self.skipped, self.seconds, self.compiling),
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        """The same as printed."""
        return str(self)
