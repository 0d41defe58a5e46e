"""Counts of what the tests did to the package, for the table of docs/reliability.md.

A test asks for the fixture ``tally`` and calls it after each attempt. ``python -m benchmarks.reliability`` runs these
tests with the variable ``HYPERGNN_TALLY``, which names the file for the counts.
"""

import json
import os
from collections import defaultdict
from pathlib import Path

VARIABLE = "HYPERGNN_TALLY"
_counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])


class Tally:
    """Counts the attempts of a test."""

    def __init__(self, test: str) -> None:
        self.test = test

    def __call__(self, kind: str, *, attempts: int = 1, survived: int = 1, lost: int = 0) -> None:
        """Count attempts of a kind: how many were survived, and how many lost something that was acknowledged."""
        assert attempts == survived + lost
        row = _counts[kind, self.test]
        for place, number in enumerate((attempts, survived, lost)):
            row[place] += number


def write() -> None:
    """Write the counts of this process, if a file for them is named."""
    path = os.environ.get(VARIABLE)
    if path and _counts:
        rows = [
            {"kind": kind, "test": test, "attempts": attempts, "survived": survived, "lost": lost}
            for (kind, test), (attempts, survived, lost) in sorted(_counts.items())
        ]
        Path(path).write_text(json.dumps(rows, indent=1) + "\n")
