"""Check the files of a run folder without changing them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from hypergnn._utils.file_errors import reason_of
from hypergnn.persistence.json_lines import Line, all_lines
from hypergnn.training.best_model import MODEL_FILE, problem
from hypergnn.training.ledger import CURVES, RUN, TRIALS, read_head
from hypergnn.training.records import TrialRecord

_LEFT_OVER = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")
_REPAIRED = "the next run removes it"


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a file.

    Example:
        >>> print(Finding(Path("trials.jsonl"), "it must have a seed", line=3))
        trials.jsonl, line 3: it must have a seed
    """

    path: Path
    what: str
    line: int | None = None

    def __str__(self) -> str:
        """One line with everything."""
        return f"{self.path}{'' if self.line is None else f', line {self.line}'}: {self.what}"


@dataclass
class Checked:
    """What was checked, and what was found."""

    findings: list[Finding] = field(default_factory=list)
    runs: int = 0
    records: int = 0
    curves: int = 0
    models: int = 0

    def add(self, path: Path, what: str, line: int | None = None) -> None:
        """Add a finding."""
        self.findings.append(Finding(path, what, line))


def check_run(folder: Path, checked: Checked) -> None:
    """Check records, curves and model of a run folder; add the findings to ``checked``.

    Example:
        >>> checked = Checked()
        >>> check_run(Path("nowhere"), checked)
        >>> print(*checked.findings)
        nowhere/run.json: folder must hold a run; nowhere has no run.json
    """
    checked.runs += 1
    try:
        read_head(folder)
    except (ValueError, OSError) as error:
        checked.add(folder / RUN, reason_of(error))
    records = _check_records(folder / TRIALS, checked)
    _check_curves(folder / CURVES, records, checked)
    if (wrong := problem(folder, list(records.values()))) is not None:
        checked.add(folder / MODEL_FILE, f"{wrong}; run `hypergnn train` as before to train it again")
    elif (folder / MODEL_FILE).exists():
        checked.models += 1
    check_left_overs(folder, checked)


def check_left_overs(folder: Path, checked: Checked) -> None:
    """Find temporary files in a folder."""
    for path in sorted(folder.glob(".*.tmp")):
        if _LEFT_OVER.fullmatch(path.name):
            checked.add(path, "a file of a writer that was killed; the next run or write to the same file removes it")


def _lines(path: Path, checked: Checked) -> list[Line]:
    """The lines of a file; damaged ones, and an incomplete end, become findings."""
    if path.is_symlink():
        checked.add(path, "it must not be a symbolic link, because runs append to it; put the file itself here")
    try:
        lines, torn = all_lines(path)
    except OSError as error:
        checked.add(path, f"it cannot be read: {error.strerror}")
        return []
    are_checked = False
    for line in lines:
        if line.damage is not None:
            checked.add(path, line.damage, line.number)
        elif are_checked and not line.is_checked:
            checked.add(path, "it has no checksum, although earlier lines have one", line.number)
        are_checked = are_checked or line.is_checked
    if torn:
        checked.add(path, f"the {len(torn)} bytes at the end are an incomplete line; {_REPAIRED}")
    return lines


def _check_records(path: Path, checked: Checked) -> dict[int, TrialRecord]:
    records: dict[int, TrialRecord] = {}
    for line in _lines(path, checked):
        if line.damage is not None:
            continue
        try:
            record = TrialRecord.from_json(line.entry)
        except (ValueError, TypeError) as error:
            checked.add(path, str(error).rstrip("."), line.number)
            continue
        for what in _implausible(record):
            checked.add(path, what, line.number)
        if record.seed in records:
            checked.add(path, f"seed {record.seed} already has a record; remove one of the lines", line.number)
        records.setdefault(record.seed, record)
    checked.records += len(records)
    return records


def _implausible(record: TrialRecord) -> Iterator[str]:
    """What cannot be true of a record."""
    for name, value in record.to_json().items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value) or value < 0:
            yield f"{name} must be a number of at least 0; got {value!r}"
        elif name.endswith("accuracy") and value > 100:
            yield f"{name} must be at most 100 percent; got {value!r}"
    if isinstance(record.epochs, int) and isinstance(record.best_epoch, int) and record.best_epoch >= record.epochs > 0:
        yield f"best_epoch must be below epochs, {record.epochs}; got {record.best_epoch}"


def _check_curves(path: Path, records: dict[int, TrialRecord], checked: Checked) -> None:
    lines = [line for line in _lines(path, checked) if line.damage is None]
    last = {line.entry["seed"]: line for line in lines}  # an append that failed may have left an earlier one
    for seed, line in last.items():
        if seed not in records:
            if line is lines[-1]:
                checked.add(path, f"curves of seed {seed}, which has no record; {_REPAIRED}", line.number)
            continue
        checked.curves += 1
        for name, curve in line.entry.items():
            if name != "seed" and (wrong := _wrong(curve, records[seed], name)):
                checked.add(path, f"{name} of seed {seed}: {wrong}", line.number)


def _wrong(curve: Any, record: TrialRecord, name: str) -> str | None:
    """What is wrong with a curve of a trial."""
    if not isinstance(curve, list) or not all(one is None or isinstance(one, (int, float)) for one in curve):
        return "it must be a list of numbers"
    if len(curve) != record.epochs:
        return f"it must have {record.epochs} values, one per epoch; got {len(curve)}"
    known = [one for one in curve if one is not None]
    if name == "val_loss" and known and curve.index(min(known)) != record.best_epoch:
        return f"its minimum must be at the best epoch, {record.best_epoch}; it is at {curve.index(min(known))}"
    return None
