"""Ensembles against the single networks that they are made of, from the records that ``measure_ensembles`` adds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from hypergnn._utils.display import markdown_table
from hypergnn.experiments.paper import NAMES
from hypergnn.experiments.statistics import compare
from hypergnn.experiments.text import p_value

FILE = "ensembles.jsonl"
"""The file of these records, among the others."""
_HEAD = ("", "", "ensembles", "their members", "single networks", "difference", "p (Welch)")
_NOTE = (
    "Each ensemble averages the probabilities of its members. An ensemble is not a trial: no other table counts it. p "
    "is that of a one-sided test of the ensembles against all their members."
)


class Measured(NamedTuple):
    """One ensemble: test accuracies in percent."""

    dataset: str
    model: str
    first_seed: int
    members: tuple[float, ...]
    ensemble: float


def read_ensembles(folder: str | os.PathLike[str]) -> list[Measured]:
    """The recorded ensembles; none if there is no such file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     read_ensembles(folder)
        []
    """
    path = Path(folder, FILE)
    if not path.exists():
        return []
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Measured(**{**entry, "members": tuple(entry["members"])}) for entry in entries]


def ensembles_section(found: Iterable[Measured]) -> str:
    """The part of ``docs/results.md`` about ensembles; empty if none was measured.

    Example:
        >>> one, other = (Measured("cora", "grand", seed, (84.0, 85.0), 85.0 + seed) for seed in (0, 2))
        >>> print(ensembles_section([one, other]).splitlines()[-1])
        | grand | Cora | 86.00 (2) | 2 | 84.50 (4) | +1.50 | 0.1801 |
    """
    groups: dict[tuple[str, str], list[Measured]] = {}
    for one in found:
        groups.setdefault((one.model, one.dataset), []).append(one)
    rows = []
    for (model, dataset), ensembles in groups.items():
        together = [one.ensemble for one in ensembles]
        single = [value for one in ensembles for value in one.members]
        test = compare(together, single)
        sizes = sorted({len(one.members) for one in ensembles})
        rows.append(
            (
                model,
                NAMES.get(dataset, dataset),
                f"{mean(together):.2f} ({len(together)})",
                ", ".join(map(str, sizes)),
                f"{mean(single):.2f} ({len(single)})",
                f"{test.difference:+.2f}",
                p_value(test.p_welch),
            )
        )
    if not rows:
        return ""
    title = "## Beyond the paper: ensembles\n\n`python tools/measure_ensembles.py cora`\n"
    return f"{title}\n{_NOTE}\n\n{markdown_table(_HEAD, rows)}\n"
