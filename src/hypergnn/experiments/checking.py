"""Check the files of a reproduction, or the compact results, without changing them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hypergnn._utils.file_errors import reason_of
from hypergnn.experiments.own_cells import OWN, own_tables
from hypergnn.experiments.results import COMPACT, MEASURES, Results, measures_of
from hypergnn.experiments.run_notes import CLOCK, FAILURE, INAPPLICABLE, failure_of, inapplicable_of, seconds_of
from hypergnn.persistence.files import read_regular
from hypergnn.persistence.json_lines import parse
from hypergnn.training.checking import Checked, check_left_overs, check_run
from hypergnn.training.ledger import RUN, TRIALS


def check(folder: Path) -> Checked:
    """Check a run folder, the folder of a reproduction, or a folder with compact results.

    Raises:
        ValueError: If the folder is none of them.
        OSError: If it cannot be read.

    Example:
        >>> check(Path("nowhere"))
        Traceback (most recent call last):
        ValueError: RUN must be a folder with a run or results; nowhere is not a folder.
    """
    if not folder.is_dir():
        raise ValueError(f"RUN must be a folder with a run or results; {folder} is not a folder.")
    checked = Checked()
    if (folder / RUN).exists() or (folder / TRIALS).exists():
        check_run(folder, checked)
        return checked
    runs = sorted({path.parent for name in (RUN, TRIALS) for path in folder.glob(f"*/*/{name}")})
    if not runs and not any((folder / name).exists() for name in (COMPACT, MEASURES)):
        raise ValueError(f"RUN must be a folder with a run or results; {folder} has none.")
    for run in runs:
        check_run(run, checked)
        _try(checked, run / CLOCK, seconds_of, run)
        _try(checked, run / INAPPLICABLE, inapplicable_of, run)
        _try(checked, run / FAILURE, failure_of, run)
    if (folder / MEASURES).exists():
        _try(checked, folder / MEASURES, measures_of, folder)
    _try(checked, folder / OWN, own_tables, folder)
    if (folder / COMPACT).exists():
        _check_compact(folder / COMPACT, checked)
    check_left_overs(folder, checked)
    return checked


def _try(checked: Checked, path: Path, read: Callable[[Path], object], folder: Path) -> None:
    """Read a file; an error becomes a finding."""
    try:
        read(folder)
    except (ValueError, OSError) as error:
        checked.add(path, reason_of(error))


def _check_compact(path: Path, checked: Checked) -> None:
    """Check each line with its checksum, then the whole."""
    are_checked, is_damaged = False, False
    for number, row in enumerate(read_regular(path).splitlines(), start=1):
        try:
            _, is_checked = parse(row)
        except ValueError as error:
            checked.add(path, str(error), number)
            is_damaged = True
            continue
        if are_checked and not is_checked:
            checked.add(path, "it has no checksum, although earlier lines have one", number)
        are_checked = are_checked or is_checked
    if is_damaged:
        return
    try:
        results = Results.read(path.parent)
    except (ValueError, OSError) as error:
        checked.add(path, reason_of(error))
        return
    checked.runs += len(results.runs)
    checked.records += sum(map(len, results.runs.values()))
