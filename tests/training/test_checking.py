"""``hypergnn check`` finds every kind of damage, and changes nothing."""

import json
import os
import re

import pytest
from support.points import grouped_points

from hypergnn.cli import main
from hypergnn.models import Config
from hypergnn.persistence.json_lines import line, parse
from hypergnn.training import fit
from hypergnn.training.checking import Checked, check_run

SMALL = Config(hidden=4, heads=2, patience=6, max_epochs=16)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    fit(grouped_points(), SMALL, trials=3, out=folder, jobs=1, curves=True)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def run(whole, tmp_path):
    for name, content in whole.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def findings(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    checked = Checked()
    check_run(folder, checked)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    return [str(finding).removeprefix(f"{folder}{os.sep}") for finding in checked.findings]


def test_a_whole_run_has_no_findings(run, capsys):
    assert findings(run) == []
    assert main(["check", str(run)]) == 0
    assert capsys.readouterr().out == "1 run, 3 records, 3 sets of curves, 1 model checked: no findings\n"
    assert main(["check", str(run), "--quiet"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trials.jsonl", "curves.jsonl"])
def test_every_flipped_bit_of_a_line_is_found(run, name, tally):
    """Any bit: of the JSON, of the checksum, or a newline that makes two lines of one."""
    path, attempts = run / name, 0
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    end = content.index(b"\n", first)
    for place in range(first, end, 1 if name == "trials.jsonl" else 17):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        assert any(one.startswith(f"{name}, line 2: ") for one in findings(run)), damaged[first:end]
        attempts += 1
    tally("corrupt bytes: records and curves", attempts=attempts, survived=attempts)


@pytest.mark.slow
def test_every_torn_end_is_found(run, tally):
    content = (run / "trials.jsonl").read_bytes()
    keep = content.rindex(b"\n", 0, -1) + 1
    for size in range(keep + 1, len(content)):
        (run / "trials.jsonl").write_bytes(content[:size])
        found = findings(run)
        assert found[0] == (
            f"trials.jsonl: the {size - keep} bytes at the end are an incomplete line; the next run removes it"
        )
        assert found[1].startswith("curves.jsonl, line 3: curves of seed")
    tally("corrupt bytes: records and curves", attempts=len(content) - keep - 1, survived=len(content) - keep - 1)


def changed(run, number, **fields):
    """Replace fields of a record, checksum included."""
    rows = (run / "trials.jsonl").read_bytes().splitlines(keepends=True)
    rows[number] = line({**parse(rows[number].strip())[0], **fields})
    (run / "trials.jsonl").write_bytes(b"".join(rows))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"test_accuracy": 101.0}, "test_accuracy must be at most 100 percent; got 101.0"),
        ({"val_loss": -1.0}, "val_loss must be a number of at least 0; got -1.0"),
        ({"test_accuracy": "80"}, "test_accuracy must be a finite number; got '80'"),
        ({"best_epoch": 900}, "best_epoch must be below epochs"),
        ({"seed": -1}, "seed must be a whole number of at least 0; got -1"),
        ({"seconds": None}, "lacks seconds"),
    ],
)
def test_records_that_cannot_be_true_are_found(run, fields, message):
    changed(run, 1, **fields)
    found = findings(run)
    assert found[0].startswith("trials.jsonl, line 2: ")
    assert message in found[0]


def test_curves_that_do_not_fit_their_record_are_found(run):
    rows = (run / "curves.jsonl").read_bytes().splitlines(keepends=True)
    entry, _ = parse(rows[1].strip())
    for wrong, message in [
        ({"val_loss": entry["val_loss"][:-1]}, "val_loss of seed .*: it must have 16 values, one per epoch; got 15"),
        ({"val_loss": "abc"}, "it must be a list of numbers"),
        ({"val_loss": [0.0, *entry["val_loss"][1:]]}, "its minimum must be at the best epoch"),
    ]:
        (run / "curves.jsonl").write_bytes(b"".join([rows[0], line({**entry, **wrong}), rows[2]]))
        (found,) = findings(run)
        assert re.search(message, found), found


def test_two_records_of_a_seed_and_a_line_without_a_checksum_are_found(run):
    rows = (run / "trials.jsonl").read_bytes().splitlines(keepends=True)
    entry, _ = parse(rows[0].strip())
    (run / "trials.jsonl").write_bytes(b"".join([*rows, rows[0], json.dumps({**entry, "seed": 9}).encode() + b"\n"]))
    assert findings(run) == [
        "trials.jsonl, line 5: it has no checksum, although earlier lines have one",
        f"trials.jsonl, line 4: seed {entry['seed']} already has a record; remove one of the lines",
    ]


def test_a_run_without_checksums_is_whole(run):
    for name in ("trials.jsonl", "curves.jsonl"):
        rows = [parse(row)[0] for row in (run / name).read_bytes().splitlines()]
        (run / name).write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    assert findings(run) == []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda run: (run / "model.safetensors").unlink(), "model.safetensors: it is missing; run `hypergnn train`"),
        (lambda run: (run / "model.safetensors").write_bytes(b"x"), "model.safetensors: is damaged or not a file"),
        (lambda run: (run / "run.json").write_bytes(b"{"), "run.json: must describe a run; it is corrupt"),
        (lambda run: (run / "run.json").unlink(), "run.json: folder must hold a run"),
        (lambda run: (run / f".run.json.{'0' * 16}.tmp").touch(), "a file of a writer that was killed"),
        (
            lambda run: (run / "trials.jsonl").rename(run / "a") and (run / "trials.jsonl").symlink_to("a"),
            "trials.jsonl: it must not be a symbolic link",
        ),
        (
            lambda run: (run / "curves.jsonl").unlink() or os.mkfifo(run / "curves.jsonl"),
            "curves.jsonl: it cannot be read: must be a regular file",
        ),
    ],
)
def test_other_damage_is_found(run, damage, message, capsys):
    damage(run)
    assert main(["check", str(run)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert message in printed[0]
    assert printed[-1].endswith("checked: 1 finding")


def test_what_cannot_be_checked_is_an_error_of_the_command(tmp_path, capsys):
    assert main(["check", str(tmp_path)]) == 2
    assert main(["check", str(tmp_path / "nowhere")]) == 2
    assert "has none" in capsys.readouterr().err
