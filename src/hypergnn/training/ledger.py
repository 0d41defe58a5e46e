"""The run folder: one configuration and one record per finished trial. A killed run loses no finished trial.

| file | content |
|---|---|
| ``run.json`` | format, configuration, and every environment that recorded trials |
| ``trials.jsonl`` | one JSON object per finished trial, see :class:`hypergnn.training.records.TrialRecord` |
| ``curves.jsonl`` | the curves of trials that were trained with them, one JSON object per line |
| ``run.lock`` | the process id of the last writer |

`Ledger.append` returns after the line is on the disk. It writes the curves of a trial before its record, so a record
never lacks its curves. A record counts once its line is complete. When a run is opened again, an incomplete last line
and curves without a record are removed. Each line ends with a checksum of itself; a line that does not match it is an
error, unless it is the last one, which counts as incomplete. The files must not be symbolic links: the ledger appends
to them and truncates them.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hypergnn._utils.file_errors import FileError
from hypergnn.persistence.files import (
    append,
    cut,
    make_folder,
    read_regular,
    refuse_link,
    remove_left_overs,
    sync_folder,
    write_atomic,
)
from hypergnn.persistence.json_lines import CHECK, as_plain, differences, line, whole_lines
from hypergnn.persistence.locks import locked
from hypergnn.training.environment import environment
from hypergnn.training.records import TrialRecord

FORMAT = 1
"""The format of run folders that this version reads and writes."""
RUN, TRIALS, CURVES, LOCK = "run.json", "trials.jsonl", "curves.jsonl", "run.lock"

Curves = dict[str, list[float | None]]
"""Values per epoch by name, such as ``val_loss``."""

_log = logging.getLogger(__name__)


class Run:
    """The content of a run folder, read by `read`. A `Ledger` is a run that can be added to.

    Attributes:
        folder: The run folder.
        configuration: The data and the settings that the run was started with.
        environments: The environment that started the run, then every other one that recorded trials.
    """

    def __init__(
        self, folder: Path, head: Mapping[str, Any], records: dict[int, TrialRecord], curves: dict[int, Curves]
    ) -> None:
        """Hold what was read from ``folder``; use `read` or `Ledger.open`."""
        self.folder = folder
        self.configuration: dict[str, Any] = head["configuration"]
        self.environments: tuple[dict[str, Any], ...] = tuple(head["environments"])
        self._records = records
        self._curves = curves

    @property
    def records(self) -> tuple[TrialRecord, ...]:
        """The records of the finished trials, in the order of their seeds."""
        return tuple(self._records[seed] for seed in sorted(self._records))

    @property
    def seeds(self) -> frozenset[int]:
        """The seeds of the finished trials."""
        return frozenset(self._records)

    def missing(self, seeds: Iterable[int]) -> list[int]:
        """Those of ``seeds`` that have no record yet, in the given order."""
        return [seed for seed in seeds if seed not in self._records]

    def curves(self, seed: int) -> Curves:
        """The curves of a finished trial by name; empty if it was trained without them.

        Raises:
            ValueError: If the run has no record of ``seed``.
        """
        if seed not in self._records:
            raise ValueError(f"seed must be that of a finished trial of {self.folder}; got {seed}. See Run.seeds.")
        return self._curves.get(seed, {})


class Ledger(Run):
    """A run folder to write to, by one process at a time. Use `Ledger.open` as a context manager.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> record = TrialRecord(seed=1, epochs=2, best_epoch=1, seconds=0.5, test_accuracy=80.0)
        >>> with Ledger.open(folder.name, {"model": "gcn"}) as ledger:
        ...     ledger.append(record, curves={"val_loss": [1.5, 1.25]})
        >>> with Ledger.open(folder.name, {"model": "gcn"}) as ledger:
        ...     ledger.missing(range(3)), ledger.records == (record,), ledger.curves(1)
        ([0, 2], True, {'val_loss': [1.5, 1.25]})
        >>> folder.cleanup()
    """

    _sizes: dict[str, int]  # of the files, up to their last complete line
    _held: ExitStack  # the lock
    _is_open: bool = False
    _here: dict[str, Any] | None  # this environment, until run.json names it

    @classmethod
    def open(cls, folder: str | os.PathLike[str], configuration: Mapping[str, Any]) -> Self:
        """Start a run in ``folder``, or continue the one that it holds.

        Args:
            folder: The run folder: one with this configuration, an empty one, or one to be created.
            configuration: The data and the settings, in JSON types.

        Raises:
            ValueError: If the folder holds a run with another configuration, other files, or a corrupt file.
            TypeError: If the configuration has values that JSON cannot hold.
            LockedError: If the run is already open, in this or another process.
            OSError: If the files cannot be written, or are symbolic links.
        """
        folder = Path(folder)
        plain = as_plain("configuration", configuration)
        _check_folder(folder)
        make_folder(folder)
        with ExitStack() as stack:
            stack.enter_context(locked(folder / LOCK))
            for name in (RUN, TRIALS, CURVES):
                refuse_link(folder / name)
            remove_left_overs(folder)
            here = environment()
            head = _start_or_continue(folder, plain, here)
            records, curves, sizes = _load(folder)
            for name, size in sizes.items():
                if surplus := cut(folder / name, size):
                    _log.warning("%s: removed %d bytes of an unfinished trial", folder / name, surplus)
            sync_folder(folder)  # a killed process may have created files whose names are not on disk yet
            ledger = cls(folder, head, records, curves)
            ledger._here = here if head["environments"][-1] != here else None
            ledger._sizes, ledger._held, ledger._is_open = sizes, stack.pop_all(), True
        return ledger

    def append(self, record: TrialRecord, *, curves: Mapping[str, Sequence[float | None]] | None = None) -> None:
        """Add the record of a finished trial. It is on the disk when the function returns.

        Args:
            record: The record. NaN and infinity are refused; use ``None`` for a missing number.
            curves: Values per epoch by name, stored with the nine significant digits that float32 has.

        Raises:
            ValueError: If the seed already has a record, a number is not finite, or the ledger is closed.
            TypeError: If a value is not of a JSON type.
            OSError: If the disk is full or broken. The run is then unchanged, and the record can be added again.
        """
        self._check_open()
        plain = as_plain("record", record.to_json())
        seed = record.seed
        if seed in self._records:
            raise ValueError(
                f"record.seed must be new to the run; {self.folder} already has a record of seed {seed}. "
                "Ledger.missing lists the seeds that have none."
            )
        rounded = _as_curves(curves or {})
        self._note_environment()
        if rounded:
            self._sizes[CURVES] = append(self.folder / CURVES, line({"seed": seed, **rounded}), at=self._sizes[CURVES])
        self._sizes[TRIALS] = append(self.folder / TRIALS, line(plain), at=self._sizes[TRIALS])
        self._records[seed], self._curves[seed] = record, rounded

    def _note_environment(self) -> None:
        """Add this environment before its first record. A run that is only opened stays unchanged."""
        if self._here is not None:
            environments = (*self.environments, self._here)
            _write_head(
                self.folder, {"format": FORMAT, "configuration": self.configuration, "environments": environments}
            )
            self.environments, self._here = environments, None

    def close(self) -> None:
        """Release the folder. Records and curves can still be read from this object."""
        self._is_open = False
        self._held.close()

    def _check_open(self) -> None:
        if not self._is_open:
            raise ValueError(f"the ledger of {self.folder} must be open for writing; it is closed. Use Ledger.open.")

    def __enter__(self) -> Self:
        """Return the ledger, which `Ledger.open` has opened."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the ledger."""
        self.close()


def read(folder: str | os.PathLike[str], *, curves: bool = True) -> Run:
    """Read a run folder without locking or changing it, even while another process adds to it.

    Args:
        folder: The run folder.
        curves: Whether to read the curves too; they are a hundred times as large as the rest.

    Returns:
        The run with the trials finished so far. A line that is still being written is left out.

    Raises:
        ValueError: If the folder holds no run, or a corrupt file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Ledger.open(folder, {"model": "gcn"}) as ledger:
        ...     ledger.append(TrialRecord(seed=0, epochs=2, best_epoch=1, seconds=0.5, test_accuracy=80.0))
        ...     [record.test_accuracy for record in read(folder).records]
        [80.0]
    """
    head = read_head(Path(folder))
    records, found, _ = _load(Path(folder), with_curves=curves)
    return Run(Path(folder), head, records, found)


def read_curves(folder: str | os.PathLike[str], seeds: Collection[int]) -> dict[int, Curves]:
    """Read only the curves of some trials, by seed; trials without curves are left out.

    Example:
        >>> import tempfile
        >>> record = TrialRecord(seed=0, epochs=2, best_epoch=1, seconds=0.5, test_accuracy=80.0)
        >>> with tempfile.TemporaryDirectory() as folder, Ledger.open(folder, {"model": "gcn"}) as ledger:
        ...     ledger.append(record, curves={"val_loss": [1.5, 1.25]})
        ...     read_curves(folder, [0, 1])
        {0: {'val_loss': [1.5, 1.25]}}
    """
    lines = whole_lines(Path(folder) / CURVES)
    return {entry.pop("seed"): entry for entry, _ in lines if entry["seed"] in seeds}


def is_left_over(name: str) -> bool:
    """Whether a file of this name may remain in the folder of a run that was stopped while starting."""
    return name == LOCK or name.startswith(f".{RUN}.")


def _check_folder(folder: Path) -> None:
    """Raise if ``folder`` holds files but no run. Files of a start that was killed do not count."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"folder must be a folder or a new name; {folder} is a file.")
    names = set(os.listdir(folder)) if folder.exists() else set()
    others = sorted(name for name in names if not is_left_over(name))
    if others and RUN not in names:
        raise ValueError(
            f"folder must be new, empty, or hold a run; {folder} has {others[0]!r} but no {RUN}. Use another folder."
        )


def _start_or_continue(folder: Path, configuration: dict[str, Any], here: dict[str, Any]) -> dict[str, Any]:
    """Return the content of ``run.json``, written if it is new, or raise."""
    for left_over in folder.glob(f".{RUN}.*"):  # of an earlier start: this process holds the lock of the folder
        left_over.unlink()
    if (folder / RUN).exists():
        head = read_head(folder)
        if changes := differences(head["configuration"], configuration):
            raise ValueError(
                f"configuration must be that of the run in {folder}; it differs:\n  "
                + "\n  ".join(changes)
                + "\nUse another folder for the new configuration, or continue with the old one."
            )
        return head
    head = {"format": FORMAT, "configuration": configuration, "environments": [here]}
    _write_head(folder, head)
    return head


def _write_head(folder: Path, head: Mapping[str, Any]) -> None:
    write_atomic(folder / RUN, json.dumps(head, indent=2, allow_nan=False).encode() + b"\n")


def read_head(folder: Path) -> dict[str, Any]:
    """Read ``run.json``: format, configuration and environments.

    Raises:
        ValueError: If there is none, it is corrupt, or another version wrote it.
    """
    path = folder / RUN
    if not path.exists():
        raise ValueError(f"folder must hold a run; {folder} has no {RUN}.")
    try:
        head: dict[str, Any] = json.loads(read_regular(path))
        written = head["format"], head["configuration"], head["environments"][-1]
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise FileError(path, "must describe a run; it is corrupt. Restore it from a copy.") from error
    if written[0] != FORMAT:
        raise FileError(
            path, f"must have format {FORMAT}; got {written[0]!r}. Use the version of hypergnn that it names."
        )
    _check_head(path, head)
    return head


def _load(
    folder: Path, *, with_curves: bool = True
) -> tuple[dict[int, TrialRecord], dict[int, Curves], dict[str, int]]:
    """Records, curves, and the size of each file up to its last complete line.

    Trials are read first: the curves of a record were written before it.
    """
    trials = whole_lines(folder / TRIALS)
    records: dict[int, TrialRecord] = {}
    for number, (entry, _) in enumerate(trials, start=1):
        if entry["seed"] in records:
            raise ValueError(
                f"{folder / TRIALS}, line {number}: each seed must have one record; "
                f"seed {entry['seed']} already has one. Remove one of the lines."
            )
        try:
            records[entry["seed"]] = TrialRecord.from_json(entry)
        except ValueError as error:
            raise ValueError(
                f"{folder / TRIALS}, line {number}: {error} Remove the line to repeat the trial."
            ) from error
    lines = whole_lines(folder / CURVES) if with_curves else []
    drawn = [(entry, end) for entry, end in lines if entry["seed"] in records]
    curves = {entry.pop("seed"): entry for entry, _ in drawn}
    return records, curves, {TRIALS: trials[-1][1] if trials else 0, CURVES: drawn[-1][1] if drawn else 0}


def _as_curves(curves: Mapping[str, Sequence[float | None]]) -> Curves:
    """Curves as JSON gives them back, with the nine significant digits that distinguish all float32 numbers."""
    for name in ("seed", CHECK):
        if name in curves:
            raise ValueError(f"curves must not be named {name!r}: that key is the trial's own. Use another name.")
    rounded = {
        name: [None if value is None else float(f"{float(value):.9g}") for value in values]
        for name, values in curves.items()
    }
    plain: Curves = as_plain("curves", rounded)
    return plain


def _check_head(path: Path, head: Mapping[str, Any]) -> None:
    """Raise unless the configuration and each environment are objects, without NaN or infinity."""
    configuration, environments = head["configuration"], head["environments"]
    if not isinstance(configuration, dict) or not all(isinstance(one, dict) for one in environments):
        raise FileError(path, "must describe a run by objects; it is corrupt. Restore it from a copy.")
    as_plain(f"what {path} says", [configuration, list(environments)])
