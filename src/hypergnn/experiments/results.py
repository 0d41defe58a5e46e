"""The records of a reproduction: read from its folder, or from the compact form that is kept under version control."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hypergnn.experiments.paper import Cell, Table
from hypergnn.persistence.files import write_atomic
from hypergnn.persistence.json_lines import line
from hypergnn.training import ledger

KEPT = "results.jsonl"
"""The file of the compact form: one, so that it is written whole or not at all."""
MEASURES = "measures.json"
"""The file of a reproduction that holds what is not found by trials: counts and times."""
CLOCK = "clock.json"
"""The file of a run folder that says how long the run has taken."""
MEASURED = "measures"
FORMAT = 3


@dataclass(frozen=True)
class TrialRecord:
    """A finished trial; accuracies in percent."""

    seed: int
    epochs: int
    best_epoch: int
    val_accuracy: float
    test_accuracy: float
    seconds: float


@dataclass(frozen=True)
class Origin:
    """Where a run was measured, and how long that took."""

    environments: list[dict[str, Any]] = field(default_factory=list)
    """The versions, processors and platforms that it may have been measured with: nothing was with any other."""
    seconds: float | None = None
    """By the clock, all sessions together, each up to its last finished trial if it was killed; ``None`` where nobody
    looked."""
    configuration: dict[str, Any] | None = None
    """The data and the settings, as a run folder describes them; of no run, ``None``."""


@dataclass(frozen=True)
class Results:
    """All that was measured, by the runs of the cells.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> Results({}, {}).trials(TABLES["baselines"].cell("cora/gcn"))
        []
    """

    runs: Mapping[str, list[TrialRecord]]
    """The trials of each run, by :attr:`Cell.run`, in the order of their seeds."""
    measures: Mapping[str, float]
    """Numbers that are not found by trials, by ``table:name`` of their cell."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """Where each run comes from; of what is not found by trials, under ``MEASURED``."""
    folders: Mapping[str, Path] = field(default_factory=dict)
    """The run folders, with curves and models; the compact form has none."""

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Results:
        """Read the folder of a reproduction, also while it is running, or the compact form.

        Raises:
            ValueError: If the folder holds neither, or a corrupt file.
        """
        folder = Path(folder)
        return _read_compact(folder / KEPT) if (folder / KEPT).exists() else _read_folders(folder)

    @property
    def environments(self) -> list[dict[str, Any]]:
        """Each version, processor and platform that something was measured with."""
        return _different(one for origin in self.origins.values() for one in origin.environments)

    def trials(self, cell: Cell) -> list[TrialRecord]:
        """The finished trials of a cell in the order of their seeds; none for one that is not trained."""
        return [] if cell.config is None else list(self.runs.get(cell.run, []))

    def accuracies(self, cell: Cell) -> list[float]:
        """The test accuracies of a cell's trials, in percent."""
        return [trial.test_accuracy for trial in self.trials(cell)]

    def measured(self, cell: Cell) -> float | None:
        """The number of a cell that is not trained: a count or a time; ``None`` if it was not taken."""
        return self.measures.get(_name(cell))

    def run_folder(self, cell: Cell) -> Path | None:
        """The run folder of a cell with curves and the best model, where there is one."""
        return None if cell.config is None else self.folders.get(cell.run)

    def first(self, trials: int) -> Results:
        """The same without trials whose seeds are not below a number; how long the others took is then not known.

        Example:
            >>> Results({"cora/gcn-00000000": [TrialRecord(7, 300, 199, 79.0, 81.5, 2.5)]}, {}).first(7).runs
            {'cora/gcn-00000000': []}
        """
        runs = {run: [one for one in records if one.seed < trials] for run, records in self.runs.items()}
        cut = {run for run, records in runs.items() if len(records) < len(self.runs[run])}
        origins = {name: replace(one, seconds=None) if name in cut else one for name, one in self.origins.items()}
        return replace(self, runs=runs, origins=origins)

    def of(self, tables: Iterable[Table], datasets: Collection[str] | None = None) -> Results:
        """What some tables want of it, all or only the cells of some datasets.

        Example:
            >>> Results({"cora/gcn-00000000": []}, {"timing:cora/ratio": 9.0}).of([])
            Results(runs={}, measures={}, origins={}, folders={})
        """
        cells = [one for table in tables for one in table.cells if datasets is None or one.dataset in datasets]
        runs = {one.run for one in cells if one.config is not None}
        named = {_name(one) for one in cells}
        measures = {name: number for name, number in self.measures.items() if name in named}
        names = runs | ({MEASURED} if measures else set())
        return Results(
            runs={run: records for run, records in self.runs.items() if run in runs},
            measures=measures,
            origins={name: one for name, one in self.origins.items() if name in names},
            folders={run: folder for run, folder in self.folders.items() if run in runs},
        )

    def over(self, before: Results) -> Results:
        """What was measured before, with these in the place of the same numbers, and of runs with no more trials.

        Example:
            >>> Results({}, {"timing:cora/ratio": 9.0}).over(Results({"cora/gcn-00000000": []}, {})).runs
            {'cora/gcn-00000000': []}
        """
        runs = {run: own for run, own in self.runs.items() if len(own) >= len(before.runs.get(run, []))}
        origins = {run: self.origins.get(run, Origin()) for run in runs}
        sources = (before, self) if before.measures.keys() - self.measures.keys() else (self,)
        measured = (one.origins.get(MEASURED, Origin()).environments for one in sources)
        origins[MEASURED] = Origin(_different(one for own in measured for one in own))
        return replace(
            self,
            runs={**before.runs, **runs},
            measures={**before.measures, **self.measures},
            origins={**before.origins, **origins},
        )

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the compact form: one file of JSON, a line for what all runs share and a line for each run.

        Args:
            folder: Where to; made if missing.

        Example:
            >>> import tempfile
            >>> runs = {"cora/gcn-00000000": [TrialRecord(0, 300, 199, 79.0, 81.5, 2.5)]}
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     Results(runs, {}).write(folder)
            ...     Results.read(folder).runs == runs
            True
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        environments = self.environments

        def described(name: str) -> dict[str, Any]:
            origin = self.origins.get(name, Origin())
            return asdict(origin) | {"environments": [environments.index(one) for one in origin.environments]}

        head = {
            "format": FORMAT,
            "runs": len(self.runs),
            "columns": _COLUMNS,
            "environments": environments,
            MEASURED: {"environments": described(MEASURED)["environments"], "numbers": dict(self.measures)},
        }
        runs = (
            {"run": run, **described(run), "trials": [_rounded(record) for record in records]}
            for run, records in sorted(self.runs.items())
        )
        write_atomic(folder / KEPT, b"".join(map(line, (head, *runs))))


_COLUMNS = [field.name for field in fields(TrialRecord)]


def _rounded(record: TrialRecord) -> list[float]:
    """A trial without the digits that binary fractions of a percent have after the fourth."""
    return [value if isinstance(value, int) else round(value, 4) for value in astuple(record)]


def kept(folder: str | os.PathLike[str]) -> Results:
    """The compact form that is kept in a folder; nothing if there is none yet.

    Raises:
        ValueError: If there is a file in the folder's place, or what is in it is not whole.

    Example:
        >>> kept("nowhere").runs
        {}
    """
    if Path(folder).is_file():
        raise ValueError(f"records must be kept in a folder; {folder} is a file.")
    return Results.read(folder) if Path(folder, KEPT).exists() else Results({}, {})


def _read_compact(path: Path) -> Results:
    try:
        head, *found = map(json.loads, path.read_bytes().splitlines())
        if (head["format"], head["columns"]) != (FORMAT, _COLUMNS):
            raise ValueError(f"format {head['format']!r} with columns {head['columns']}; this version reads {FORMAT}")

        def origin(entry: Mapping[str, Any]) -> Origin:
            environments = [head["environments"][one] for one in entry["environments"]]
            return Origin(environments, entry.get("seconds"), entry.get("configuration"))

        runs = {entry["run"]: [TrialRecord(*trial) for trial in entry["trials"]] for entry in found}
        if not head["runs"] == len(found) == len(runs):
            raise ValueError(f"{len(runs)} different runs in {len(found)} lines, and not {head['runs']}")
        origins = {entry["run"]: origin(entry) for entry in found}
        return Results(runs, head[MEASURED]["numbers"], origins | {MEASURED: origin(head[MEASURED])})
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path} must hold kept results; it does not: {error}. Restore it from a copy.") from error


def _read_folders(folder: Path) -> Results:
    if not folder.is_dir():
        raise ValueError(f"folder must be that of a reproduction, or hold {KEPT}; there is no {folder}.")
    found = {path.parent.relative_to(folder).as_posix(): path.parent for path in folder.glob(f"*/*/{ledger.RUN}")}
    if not found and not (folder / MEASURES).exists():
        raise ValueError(f"folder must be that of a reproduction, or hold {KEPT}; {folder} has no run in it.")
    runs, origins = {}, {}
    for run, path in sorted(found.items()):
        read = ledger.read(path, curves=False)
        runs[run] = [_as_record(path, record) for record in read.records]
        origins[run] = Origin(list(read.environments), seconds_of(path), read.configuration)
    noted = _noted(folder)
    return Results(runs, noted["measures"], origins | {MEASURED: Origin(noted["environments"])}, found)


def _as_record(folder: Path, record: Mapping[str, Any]) -> TrialRecord:
    try:
        return TrialRecord(**{name: record[name] for name in _COLUMNS})
    except KeyError as error:
        name = folder / ledger.TRIALS
        raise ValueError(f"{name} must hold whole trials; that of seed {record['seed']} has no {error}.") from error


def note(folder: Path, measures: Mapping[str, float], environment: dict[str, Any]) -> None:
    """Add numbers that are not found by trials to the folder of a reproduction."""
    noted = _noted(folder)
    noted["measures"].update(measures)
    noted["environments"] = _different([*noted["environments"], environment])
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / MEASURES, json.dumps(noted, indent=2, allow_nan=False).encode() + b"\n")


def _noted(folder: Path) -> dict[str, Any]:
    path = folder / MEASURES
    if not path.exists():
        return {"environments": [], "measures": {}}
    try:
        noted = json.loads(path.read_bytes())
        return {"environments": list(noted["environments"]), "measures": dict(noted["measures"])}
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path} must hold what was counted and timed; it is corrupt. Remove it.") from error


def note_seconds(folder: Path, seconds: float) -> None:
    """Write into a run folder how long the run has taken by the clock, all sessions together."""
    write_atomic(folder / CLOCK, json.dumps({"seconds": round(seconds, 3)}).encode() + b"\n")


def seconds_of(folder: Path) -> float | None:
    """What :func:`note_seconds` wrote; ``None`` if it wrote nothing."""
    path = folder / CLOCK
    try:
        return float(json.loads(path.read_bytes())["seconds"]) if path.exists() else None
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path} must say how many seconds a run took; it is corrupt. Remove it.") from error


def _name(cell: Cell) -> str:
    return f"{cell.table}:{cell.name}"


def _different(environments: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for one in environments:
        found += [one] * (one not in found)
    return found
