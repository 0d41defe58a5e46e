"""The run folder: one configuration, one record per finished trial; whatever kills a run, no finished trial is lost.

| file | holds |
|---|---|
| ``run.json`` | format, configuration, and each environment that it was started or added to in |
| ``trials.jsonl`` | a record per finished trial, one JSON object with a ``seed`` per line |
| ``curves.jsonl`` | the curves of trials that kept them, one JSON object per line |
| ``run.lock`` | the process id of the last one that wrote |

A line is on the disk before `Ledger.append` returns, and the curves of a trial before its record, so that a record
never lacks its curves. A record counts once its line is whole; what a killed process has left of a line, and curves
that have no record, are cut off when the run is opened again.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hypergnn._utils.checks import check_size
from hypergnn.persistence.files import append, cut, locked, sync_folder, write_atomic
from hypergnn.persistence.json_lines import as_plain, differences, line, whole_lines
from hypergnn.training.environment import environment

FORMAT = 1
"""The format of run folders that this version reads and writes."""
RUN, TRIALS, CURVES, LOCK = "run.json", "trials.jsonl", "curves.jsonl", "run.lock"

Record = dict[str, Any]
Curves = dict[str, list[float | None]]

_log = logging.getLogger(__name__)


class Run:
    """What a run folder holds, to look at: made by `read`; a `Ledger` is one that can be added to.

    Attributes:
        folder: The run folder.
        configuration: What the run was started with.
        environments: That in which the run was started, and each other one that trials were recorded in.
    """

    def __init__(
        self, folder: Path, head: Mapping[str, Any], records: dict[int, Record], curves: dict[int, Curves]
    ) -> None:
        """Hold what was read from ``folder``; `read` and `Ledger.open` do the reading."""
        self.folder = folder
        self.configuration: dict[str, Any] = head["configuration"]
        self.environments: tuple[dict[str, Any], ...] = tuple(head["environments"])
        self._records = records
        self._curves = curves

    @property
    def records(self) -> tuple[Record, ...]:
        """The records of the finished trials in the order of their seeds, whatever order they finished in."""
        return tuple(self._records[seed] for seed in sorted(self._records))

    @property
    def seeds(self) -> frozenset[int]:
        """The seeds of the finished trials."""
        return frozenset(self._records)

    def missing(self, seeds: Iterable[int]) -> list[int]:
        """Those of ``seeds`` that have no record yet, in the order given."""
        return [seed for seed in seeds if seed not in self._records]

    def curves(self, seed: int) -> Curves:
        """The curves of a finished trial by their names; empty if the trial kept none.

        Raises:
            ValueError: If the run has no record of ``seed``.
        """
        if seed not in self._records:
            raise ValueError(f"seed must be one of a finished trial of {self.folder}; got {seed}. See Run.seeds.")
        return self._curves.get(seed, {})


class Ledger(Run):
    """A run folder to write to, by one process at a time; made by `Ledger.open`, and a context manager.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> with Ledger.open(folder.name, {"model": "gcn"}) as ledger:
        ...     ledger.append({"seed": 1, "test_accuracy": 0.8}, curves={"val_loss": [1.5, 1.25]})
        >>> with Ledger.open(folder.name, {"model": "gcn"}) as ledger:
        ...     ledger.missing(range(3)), ledger.records, ledger.curves(1)
        ([0, 2], ({'seed': 1, 'test_accuracy': 0.8},), {'val_loss': [1.5, 1.25]})
        >>> folder.cleanup()
    """

    _sizes: dict[str, int]  # of the files as far as they are whole
    _held: ExitStack  # the lock
    _is_open: bool = False
    _here: dict[str, Any] | None  # this environment, until run.json names it

    @classmethod
    def open(cls, folder: str | os.PathLike[str], configuration: Mapping[str, Any]) -> Self:
        """Start a run in ``folder``, or go on with the one that it holds.

        Args:
            folder: The run folder: of this very run, empty, or still to be made.
            configuration: What the run does, in JSON's types.

        Raises:
            ValueError: If the folder holds a run of another configuration, something that is no run, or a corrupt file.
            TypeError: If the configuration has values that JSON does not know.
            LockedError: If the run is open already, here or in another process.
        """
        folder = Path(folder)
        plain = as_plain("configuration", configuration)
        _check_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)
        with ExitStack() as stack:
            stack.enter_context(locked(folder / LOCK))
            here = environment()
            head = _start_or_continue(folder, plain, here)
            records, curves, sizes = _load(folder)
            for name, size in sizes.items():
                if surplus := cut(folder / name, size):
                    _log.warning("%s: cut off %d bytes of an unfinished trial", folder / name, surplus)
            ledger = cls(folder, head, records, curves)
            ledger._here = here if head["environments"][-1] != here else None
            ledger._sizes, ledger._held, ledger._is_open = sizes, stack.pop_all(), True
        return ledger

    def append(self, record: Mapping[str, Any], *, curves: Mapping[str, Sequence[float | None]] | None = None) -> None:
        """Add the record of a finished trial; it is on the disk when the function returns.

        Args:
            record: What came out, in JSON's types; ``"seed"`` says of which trial. ``None`` stands for a number that
                there is not: NaN and infinity are refused.
            curves: Values per epoch, by name. They keep nine significant digits: all that float32 has.

        Raises:
            ValueError: If the seed has a record already or is missing, a number is not finite, or the ledger is closed.
            TypeError: If a value is not of JSON's types.
            OSError: If the disk is full or broken; the run is then as it was before, and the record can be given again.
        """
        self._check_open()
        plain: Record = as_plain("record", record)
        seed = check_size('record["seed"]', plain.get("seed"))
        if seed in self._records:
            raise ValueError(
                f'record["seed"] must be new to the run; {self.folder} has a record of seed {seed} already. '
                "Ledger.missing tells which seeds have none."
            )
        kept = _as_curves(curves or {})
        self._note_environment()
        if kept:
            self._sizes[CURVES] = append(self.folder / CURVES, line({"seed": seed, **kept}), at=self._sizes[CURVES])
        self._sizes[TRIALS] = append(self.folder / TRIALS, line(plain), at=self._sizes[TRIALS])
        self._records[seed], self._curves[seed] = plain, kept

    def _note_environment(self) -> None:
        """Add this environment to those of the run before its first record: to look at a run adds nothing to it."""
        if self._here is not None:
            self.environments = (*self.environments, self._here)
            head = {"format": FORMAT, "configuration": self.configuration, "environments": self.environments}
            _write_head(self.folder, head)
            self._here = None

    def close(self) -> None:
        """Release the folder; what was read and written can still be looked at."""
        self._is_open = False
        self._held.close()

    def _check_open(self) -> None:
        if not self._is_open:
            raise ValueError(f"the ledger of {self.folder} must be open to write; it is closed. Use Ledger.open again.")

    def __enter__(self) -> Self:
        """Return the ledger, open since `Ledger.open`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the ledger."""
        self.close()


def read(folder: str | os.PathLike[str], *, curves: bool = True) -> Run:
    """Read a run folder without a lock and without a change to it, even while another process adds to it.

    Args:
        folder: The run folder.
        curves: Whether the curves are wanted, too; they are a hundred times as large as the rest.

    Returns:
        The run with the trials that are finished by now; a line that is being written is left out.

    Raises:
        ValueError: If the folder holds no run, or a corrupt file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Ledger.open(folder, {"model": "gcn"}) as ledger:
        ...     ledger.append({"seed": 0, "test_accuracy": 0.8})
        ...     read(folder).records
        ({'seed': 0, 'test_accuracy': 0.8},)
    """
    head = _read_head(Path(folder))
    records, found, _ = _load(Path(folder), with_curves=curves)
    return Run(Path(folder), head, records, found)


def is_left_over(name: str) -> bool:
    """Whether a file of that name is all that a run which was stopped at its start may leave in its folder."""
    return name == LOCK or name.startswith(f".{RUN}.")


def _check_folder(folder: Path) -> None:
    """Raise if ``folder`` holds things, but no run; what a start that was killed has left is no matter."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"folder must be a folder, or a name that is free; {folder} is a file.")
    names = set(os.listdir(folder)) if folder.exists() else set()
    others = sorted(name for name in names if not is_left_over(name))
    if others and RUN not in names:
        raise ValueError(
            f"folder must be empty, new, or hold a run; {folder} has no {RUN}, but {others[0]!r}. Take another folder."
        )


def _start_or_continue(folder: Path, configuration: dict[str, Any], here: dict[str, Any]) -> dict[str, Any]:
    """Return the content of ``run.json``, written if it is new, or raise."""
    for left_over in folder.glob(f".{RUN}.*"):
        left_over.unlink()
    if (folder / RUN).exists():
        head = _read_head(folder)
        if changes := differences(head["configuration"], configuration):
            raise ValueError(
                f"configuration must be that of the run in {folder}; it differs:\n  "
                + "\n  ".join(changes)
                + "\nTake another folder for the new configuration, or go on with the old one."
            )
        return head
    head = {"format": FORMAT, "configuration": configuration, "environments": [here]}
    _write_head(folder, head)
    return head


def _write_head(folder: Path, head: Mapping[str, Any]) -> None:
    write_atomic(folder / RUN, json.dumps(head, indent=2, allow_nan=False).encode() + b"\n")


def _read_head(folder: Path) -> dict[str, Any]:
    path = folder / RUN
    if not path.exists():
        raise ValueError(f"folder must hold a run; {folder} has no {RUN}.")
    try:
        head: dict[str, Any] = json.loads(path.read_bytes())
        made = head["format"], head["configuration"], head["environments"][-1]
    except (ValueError, TypeError, LookupError) as error:
        raise ValueError(f"{path} must describe a run; it is corrupt. Restore it from a copy.") from error
    if made[0] != FORMAT:
        raise ValueError(f"{path} must be of format {FORMAT}; got {made[0]!r}. Use the version of hypergnn it names.")
    return head


def _load(folder: Path, *, with_curves: bool = True) -> tuple[dict[int, Record], dict[int, Curves], dict[str, int]]:
    """Records, their curves, and how far each file is whole; trials first: a record's curves were there before it."""
    trials = whole_lines(folder / TRIALS)
    records: dict[int, Record] = {}
    for number, (record, _) in enumerate(trials, start=1):
        if record["seed"] in records:
            raise ValueError(
                f"{folder / TRIALS}, line {number}: each seed must have one record; "
                f"seed {record['seed']} has one before. Take one of the lines out."
            )
        records[record["seed"]] = record
    lines = whole_lines(folder / CURVES) if with_curves else []
    drawn = [(entry, end) for entry, end in lines if entry["seed"] in records]
    curves = {entry.pop("seed"): entry for entry, _ in drawn}
    return records, curves, {TRIALS: trials[-1][1] if trials else 0, CURVES: drawn[-1][1] if drawn else 0}


def _as_curves(curves: Mapping[str, Sequence[float | None]]) -> Curves:
    """Curves as JSON will give them back, in the nine significant digits that tell all float32 numbers apart."""
    if "seed" in curves:
        raise ValueError("curves must not have the name 'seed', which says whose they are. Take another name.")
    rounded = {
        name: [None if value is None else float(f"{float(value):.9g}") for value in values]
        for name, values in curves.items()
    }
    plain: Curves = as_plain("curves", rounded)
    return plain
