"""The records of a reproduction: read from its folder, or from the compact form that is kept under version control."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from hypergnn.experiments.paper import Cell
from hypergnn.files import write_atomic
from hypergnn.training import ledger
from hypergnn.training.json_lines import whole_lines

INDEX = "results.json"
"""The file of the compact form that names its runs; the trials of each dataset stand beside it."""
MEASURES = "measures.json"
"""The file of a reproduction that holds what is not found by trials: counts and times."""
FORMAT = 1


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
class Results:
    """All that was measured, by the runs of the cells.

    Example:
        >>> from hypergnn.experiments.paper import TABLES
        >>> Results({}, {}, [], {}).trials(TABLES["baselines"].cell("cora/gcn"))
        []
    """

    runs: Mapping[str, list[TrialRecord]]
    """The trials of each run, by :attr:`Cell.run`, in the order of their seeds."""
    measures: Mapping[str, float]
    """Numbers that are not found by trials, by ``table:name`` of their cell."""
    environments: list[dict[str, Any]]
    """Each version, processor and platform that something was measured with."""
    folders: Mapping[str, Path]
    """The run folders, with curves and models; the compact form has none."""

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Results:
        """Read the folder of a reproduction, also while it is running, or the compact form.

        Raises:
            ValueError: If the folder holds neither, or a corrupt file.
        """
        folder = Path(folder)
        if (folder / INDEX).exists():
            return _read_compact(folder)
        return _read_folders(folder)

    @property
    def environment(self) -> dict[str, Any]:
        """The last of the environments; empty if nothing was measured."""
        return self.environments[-1] if self.environments else {}

    def trials(self, cell: Cell) -> list[TrialRecord]:
        """The finished trials of a cell in the order of their seeds; none for one that is not trained."""
        return [] if cell.config is None else list(self.runs.get(cell.run, []))

    def accuracies(self, cell: Cell) -> list[float]:
        """The test accuracies of a cell's trials, in percent."""
        return [trial.test_accuracy for trial in self.trials(cell)]

    def measured(self, cell: Cell) -> float | None:
        """The number of a cell that is not trained: a count or a time; ``None`` if it was not taken."""
        return self.measures.get(f"{cell.table}:{cell.name}")

    def run_folder(self, cell: Cell) -> Path | None:
        """The run folder of a cell with curves and the best model, where there is one."""
        return None if cell.config is None else self.folders.get(cell.run)

    def write(self, folder: str | os.PathLike[str], *, trials: int | None = None) -> None:
        """Write the compact form: an index, and a CSV file for each dataset with a line per trial.

        Args:
            folder: Where to; made if missing.
            trials: Only those with seeds below this.

        Example:
            >>> import tempfile
            >>> runs = {"cora/gcn-00000000": [TrialRecord(0, 300, 199, 79.0, 81.5, 2.5)]}
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     Results(runs, {}, [], {}).write(folder)
            ...     Results.read(folder).runs == runs
            True
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        chosen = {
            run: [record for record in records if trials is None or record.seed < trials]
            for run, records in sorted(self.runs.items())
        }
        for dataset in sorted({run.partition("/")[0] for run in chosen}):
            own = {run: records for run, records in chosen.items() if run.startswith(f"{dataset}/")}
            write_atomic(folder / f"{dataset}.csv", _as_csv(own))
        index = {
            "format": FORMAT,
            "environments": self.environments,
            "measures": dict(self.measures),
            "runs": {run: len(records) for run, records in chosen.items()},
        }
        write_atomic(folder / INDEX, json.dumps(index, indent=2, allow_nan=False).encode() + b"\n")


_COLUMNS = [field.name for field in fields(TrialRecord)]
_KINDS = {"seed": int, "epochs": int, "best_epoch": int}


def _as_csv(runs: Mapping[str, Iterable[TrialRecord]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["run", *_COLUMNS])
    for run, records in runs.items():
        writer.writerows([run, *astuple(record)] for record in records)
    return text.getvalue().encode()


def _read_compact(folder: Path) -> Results:
    try:
        index = json.loads((folder / INDEX).read_bytes())
        if index["format"] != FORMAT:
            raise ValueError(f"format {index['format']!r}, and this version reads {FORMAT}")
        runs: dict[str, list[TrialRecord]] = {run: [] for run in index["runs"]}
        for dataset in {run.partition("/")[0] for run in runs}:
            with open(folder / f"{dataset}.csv", encoding="utf-8", newline="") as file:
                for line in csv.DictReader(file):
                    run = line.pop("run")
                    runs[run].append(_as_record({name: _KINDS.get(name, float)(line[name]) for name in _COLUMNS}))
        short = [run for run, count in index["runs"].items() if len(runs[run]) != count]
        if short:
            raise ValueError(f"{short[0]} has {len(runs[short[0]])} trials, and not {index['runs'][short[0]]}")
        return Results(runs, index["measures"], index["environments"], {})
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise ValueError(f"{folder} must hold whole results; {INDEX} and its tables do not agree: {error}.") from error


def _read_folders(folder: Path) -> Results:
    if not folder.is_dir():
        raise ValueError(f"folder must be that of a reproduction, or hold {INDEX}; there is no {folder}.")
    found = {path.parent.relative_to(folder).as_posix(): path.parent for path in folder.glob(f"*/*/{ledger.RUN}")}
    measures_file = folder / MEASURES
    if not found and not measures_file.exists():
        raise ValueError(f"folder must be that of a reproduction, or hold {INDEX}; {folder} has no run in it.")
    runs = {run: _read_trials(path) for run, path in sorted(found.items())}
    noted = json.loads(measures_file.read_bytes()) if measures_file.exists() else {"environments": [], "measures": {}}
    environments = [one for path in found.values() for one in _read_environments(path)] + noted["environments"]
    return Results(
        runs=runs,
        measures=noted["measures"],
        environments=[one for place, one in enumerate(environments) if one not in environments[:place]],
        folders=found,
    )


def _read_trials(folder: Path) -> list[TrialRecord]:
    """The finished trials of a run, without their curves, which are a hundred times larger."""
    records = [_as_record(record) for record, _ in whole_lines(folder / ledger.TRIALS)]
    return sorted(records, key=lambda record: record.seed)


def _read_environments(folder: Path) -> list[dict[str, Any]]:
    try:
        environments: list[dict[str, Any]] = json.loads((folder / ledger.RUN).read_bytes())["environments"]
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(
            f"{folder / ledger.RUN} must describe a run; it is corrupt. Restore it from a copy."
        ) from error
    return environments


def _as_record(record: Mapping[str, Any]) -> TrialRecord:
    return TrialRecord(**{name: record[name] for name in _COLUMNS})


def note(folder: Path, measures: Mapping[str, float], environment: dict[str, Any]) -> None:
    """Add numbers that are not found by trials to the folder of a reproduction."""
    path = folder / MEASURES
    before = json.loads(path.read_bytes()) if path.exists() else {"environments": [], "measures": {}}
    environments = before["environments"] + [environment] * (environment not in before["environments"])
    content = {"environments": environments, "measures": {**before["measures"], **measures}}
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.dumps(content, indent=2, allow_nan=False).encode() + b"\n")
