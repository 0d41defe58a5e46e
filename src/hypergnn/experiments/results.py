"""The records of a reproduction, read from its folder or from the compact file under version control."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from hypergnn._utils.file_errors import FileError
from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.run_notes import failure_of, inapplicable_of, seconds_of
from hypergnn.persistence.files import read_regular, write_atomic
from hypergnn.persistence.json_lines import as_plain, line, parse
from hypergnn.training import ledger
from hypergnn.training.records import TrialRecord

COMPACT = "results.jsonl"
"""The file of the compact form. It is a single file, so that it is written completely or not at all."""
MEASURES = "measures.json"
"""The file of a reproduction with counts and times, which need no trials."""
MEASURED = "measures"
FORMAT = 3
_COLUMNS = ["seed", "epochs", "best_epoch", "val_accuracy", "test_accuracy", "seconds"]
"""The fields of a trial in the compact form."""
_COST = ["cpu_seconds", "peak_megabytes"]
"""Those that trials of systems have too."""
_REASONS = ("inapplicable", "failure")
"""What only some runs have."""


@dataclass(frozen=True)
class Origin:
    """Where a run was measured, and how long it took."""

    environments: list[dict[str, Any]] = field(default_factory=list)
    """All versions, processors and platforms that recorded trials of it."""
    seconds: float | None = None
    """Elapsed time of all sessions; a killed session counts up to its last finished trial. ``None`` if unknown."""
    configuration: dict[str, Any] | None = None
    """The data and the settings, as in ``run.json``; ``None`` for what is not a run."""
    inapplicable: str | None = None
    """Why the system of the run cannot run on such data; ``None`` if it can."""
    failure: str | None = None
    """Why a trial of the run failed, in one line; ``None`` if none did. The next call tries it again."""


@dataclass(frozen=True)
class Results:
    """Everything that was measured, by run.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> Results({}, {}).trials(TABLES["baselines"].cell("cora/gcn"))
        []
    """

    runs: Mapping[str, list[TrialRecord]]
    """The trials of each run, by :attr:`Cell.run`, in the order of their seeds."""
    measures: Mapping[str, float]
    """Counts and times, by ``table:name`` of their cell."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """The origin of each run; that of counts and times under ``MEASURED``."""
    folders: Mapping[str, Path] = field(default_factory=dict)
    """The run folders with curves and models; the compact form has none."""

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Results:
        """Read the compact form, or the folder of a reproduction, even while it is running.

        Raises:
            ValueError: If the folder holds neither, or a corrupt file.
        """
        folder = Path(folder)
        results = _read_compact(folder / COMPACT) if (folder / COMPACT).exists() else _read_folders(folder)
        _check(results, folder)
        return results

    @property
    def environments(self) -> list[dict[str, Any]]:
        """Every version, processor and platform that measured something."""
        return _different(one for origin in self.origins.values() for one in origin.environments)

    @property
    def failures(self) -> dict[str, str]:
        """Why a trial failed, in one line, by run."""
        return {run: one.failure for run, one in self.origins.items() if one.failure is not None}

    def trials(self, cell: Cell) -> list[TrialRecord]:
        """The finished trials of a cell in the order of their seeds; empty for a cell without trials.

        Also empty if a trial of the cell failed: the mean of the others would be that of a selection.
        """
        return [] if self.failure(cell) is not None else self.finished(cell)

    def finished(self, cell: Cell) -> list[TrialRecord]:
        """The finished trials of a cell, even if another one failed."""
        return list(self.runs.get(cell.run, [])) if cell.is_trained else []

    def trials_alone(self, cell: Cell) -> list[TrialRecord]:
        """The trials of a cell's network in a process of their own, which say what a trial costs."""
        return [] if cell.run_alone is None else list(self.runs.get(cell.run_alone, []))

    def accuracies(self, cell: Cell) -> list[float]:
        """The test accuracies of a cell's trials, in percent."""
        return [trial.test_accuracy for trial in self.trials(cell)]

    def measured(self, cell: Cell) -> float | None:
        """The count or time of a cell; ``None`` if it was not measured."""
        return self.measures.get(_name(cell))

    def run_folder(self, cell: Cell) -> Path | None:
        """The run folder of a cell, with curves and the best model, if there is one."""
        return self.folders.get(cell.run) if cell.is_trained else None

    def first(self, trials: int) -> Results:
        """Only the trials with seeds below a number. The elapsed time of a run that loses trials becomes unknown.

        Example:
            >>> trial = TrialRecord(seed=7, epochs=300, best_epoch=199, seconds=2.5, test_accuracy=81.5)
            >>> Results({"cora/gcn-00000000": [trial]}, {}).first(7).runs
            {'cora/gcn-00000000': []}
        """
        runs = {run: [one for one in records if one.seed < trials] for run, records in self.runs.items()}
        cut = {run for run, records in runs.items() if len(records) < len(self.runs[run])}
        origins = {name: replace(one, seconds=None) if name in cut else one for name, one in self.origins.items()}
        return replace(self, runs=runs, origins=origins)

    def of(self, tables: Iterable[Table], datasets: Collection[str] | None = None) -> Results:
        """Only what some tables need, for all datasets or for some.

        Example:
            >>> Results({"cora/gcn-00000000": []}, {"timing:cora/ratio": 9.0}).of([])
            Results(runs={}, measures={}, origins={}, folders={})
        """
        cells = [one for table in tables for one in table.cells if datasets is None or one.dataset in datasets]
        runs = {one.run for one in cells if one.is_trained}
        runs |= {one.run_alone for one in cells if one.run_alone is not None}
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
        """Earlier results, updated with these. A run replaces an earlier one unless that has more trials.

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

    def failure(self, cell: Cell) -> str | None:
        """Why a trial of a cell failed, in one line; ``None`` if none did."""
        return self.origins.get(cell.run, Origin()).failure if cell.is_trained else None

    def failure_alone(self, cell: Cell) -> str | None:
        """Why the trials that measure the cost of a cell's network failed; ``None`` if they did not."""
        return None if cell.run_alone is None else self.origins.get(cell.run_alone, Origin()).failure

    def inapplicable(self, cell: Cell) -> str | None:
        """Why the system of a cell cannot run on its data; ``None`` if it can, or was not tried."""
        if cell.system is None or self.runs.get(cell.run):  # it may have learned to
            return None
        return self.origins.get(cell.run, Origin()).inapplicable

    def with_run(self, name: str, run: ledger.Run) -> Results:
        """These results with one run added or replaced.

        Args:
            name: The name of the run, :attr:`Cell.run`.
            run: The content of its folder.
        """
        origin = Origin(
            environments=list(run.environments),
            seconds=seconds_of(run.folder),
            configuration=run.configuration,
            inapplicable=inapplicable_of(run.folder),
            failure=failure_of(run.folder),
        )
        return replace(
            self,
            runs={**self.runs, name: list(run.records)},
            origins={**self.origins, name: origin},
            folders={**self.folders, name: run.folder},
        )

    def with_failure(self, name: str, why: str) -> Results:
        """These results with the reason why a run failed."""
        origin = replace(self.origins.get(name, Origin()), failure=why)
        return replace(self, runs={name: [], **self.runs}, origins={**self.origins, name: origin})

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the compact form: one line of JSON for what all runs share, then one line per run.

        Args:
            folder: Its folder, created if missing.

        Example:
            >>> import tempfile
            >>> trial = TrialRecord(seed=0, epochs=300, best_epoch=199, seconds=2.5, test_accuracy=81.5)
            >>> runs = {"cora/gcn-00000000": [trial]}
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
            known = asdict(origin) | {"environments": [environments.index(one) for one in origin.environments]}
            return {key: value for key, value in known.items() if key not in _REASONS or value is not None}

        head = {
            "format": FORMAT,
            "runs": len(self.runs),
            "columns": _COLUMNS,
            "environments": environments,
            MEASURED: {"environments": described(MEASURED)["environments"], "numbers": dict(self.measures)},
        }
        runs = (_described_run(run, described(run), records) for run, records in sorted(self.runs.items()))
        write_atomic(folder / COMPACT, b"".join(map(line, (head, *runs))))


def _described_run(run: str, origin: dict[str, Any], records: Sequence[TrialRecord]) -> dict[str, Any]:
    """A run in the compact form; trials whose cost was measured have columns of their own."""
    has_cost = any(getattr(record, name) is not None for record in records for name in _COST)
    columns = [*_COLUMNS, *_COST] if has_cost else _COLUMNS
    own = {"columns": columns} if has_cost else {}
    return {"run": run, **origin, **own, "trials": [_rounded(record, columns) for record in records]}


def _rounded(record: TrialRecord, columns: Sequence[str]) -> list[float | None]:
    """A trial in the compact form, rounded to four decimals."""
    values = [getattr(record, name) for name in columns]
    return [round(value, 4) if isinstance(value, float) else value for value in values]


def recorded(folder: str | os.PathLike[str]) -> Results:
    """The compact form in a folder; empty results if there is none yet.

    Raises:
        ValueError: If the folder is a file, or its content is incomplete.

    Example:
        >>> recorded("nowhere").runs
        {}
    """
    if Path(folder).is_file():
        raise ValueError(f"the place for records must be a folder; {folder} is a file.")
    return Results.read(folder) if Path(folder, COMPACT).exists() else Results({}, {})


def _read_compact(path: Path) -> Results:
    try:
        head, *found = (parse(row)[0] for row in read_regular(path).splitlines())
        if (head["format"], head["columns"]) != (FORMAT, _COLUMNS):
            raise ValueError(f"format {head['format']!r} with columns {head['columns']}; this version reads {FORMAT}")

        def origin(entry: Mapping[str, Any]) -> Origin:
            environments = [head["environments"][one] for one in entry["environments"]]
            known = {name: entry.get(name) for name in ("seconds", "configuration", *_REASONS)}
            return Origin(environments, **known)

        runs = {
            entry["run"]: [_trial(values, entry.get("columns", _COLUMNS)) for values in entry["trials"]]
            for entry in found
        }
        if not head["runs"] == len(found) == len(runs):
            raise ValueError(f"{len(runs)} different runs in {len(found)} lines instead of {head['runs']}")
        origins = {entry["run"]: origin(entry) for entry in found}
        return Results(runs, dict(head[MEASURED]["numbers"]), origins | {MEASURED: origin(head[MEASURED])})
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(path, f"must hold complete results; got {error}. Restore it from a copy.") from error


def _check(results: Results, folder: Path) -> None:
    """Raise unless what a file says has the types of results."""
    origins = results.origins.values()
    numbers = [*results.measures.values(), *(one.seconds for one in origins if one.seconds is not None)]
    odd = [
        *(name for name in (*results.runs, *results.measures) if not isinstance(name, str)),
        *(one for one in numbers if isinstance(one, bool) or not isinstance(one, (int, float)) or not isfinite(one)),
        *(one for origin in origins for one in origin.environments if not isinstance(one, dict)),
        *(one.configuration for one in origins if not isinstance(one.configuration, (dict, type(None)))),
        *(why for one in origins for why in (one.inapplicable, one.failure) if not isinstance(why, (str, type(None)))),
    ]
    for origin in origins:
        as_plain(f"what {folder} says about its runs", [origin.environments, origin.configuration])  # no NaN
    if odd:
        raise FileError(
            folder,
            f"must hold results: names, numbers, environments and settings; got {odd[0]!r:.60}. Restore it "
            "from a copy.",
        )


def _trial(values: list[Any], columns: Sequence[str]) -> TrialRecord:
    return TrialRecord.from_json(dict(zip(columns, values, strict=True)))


def _read_folders(folder: Path) -> Results:
    if not folder.is_dir():
        raise ValueError(f"folder must be that of a reproduction, or hold {COMPACT}; {folder} does not exist.")
    found = {path.parent.relative_to(folder).as_posix(): path.parent for path in folder.glob(f"*/*/{ledger.RUN}")}
    if not found and not (folder / MEASURES).exists():
        raise ValueError(f"folder must be that of a reproduction, or hold {COMPACT}; {folder} holds no run.")
    noted = measures_of(folder)
    results = Results({}, noted["measures"], {MEASURED: Origin(noted["environments"])})
    for run, path in sorted(found.items()):
        results = results.with_run(run, ledger.read(path, curves=False))
    return results


def note(folder: Path, results: Results, measures: Mapping[str, float], environment: dict[str, Any]) -> Results:
    """Add counts and times to results, and write all of them to the folder of the reproduction."""
    before = results.origins.get(MEASURED, Origin())
    origin = Origin(_different([*before.environments, environment]))
    both = {**results.measures, **measures}
    noted = {"environments": origin.environments, "measures": both}
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / MEASURES, json.dumps(noted, indent=2, allow_nan=False).encode() + b"\n")
    return replace(results, measures=both, origins={**results.origins, MEASURED: origin})


def measures_of(folder: Path) -> dict[str, Any]:
    """The counts and times that :func:`note` wrote, with their environments; none if there is no file."""
    path = folder / MEASURES
    if not path.exists():
        return {"environments": [], "measures": {}}
    try:
        noted = json.loads(path.read_bytes())
        return {"environments": list(noted["environments"]), "measures": dict(noted["measures"])}
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise FileError(path, "must hold counts and times; it is corrupt. Remove it to measure again.") from error


def _name(cell: Cell) -> str:
    return f"{cell.table}:{cell.name}"


def _different(environments: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for one in environments:
        found += [one] * (one not in found)
    return found
